"""The queries of a user, one module for each command.

Modules, those that the others import first:

    running      what is asked, on which boards, what a run may use, and what remains of it
    count        how many states are reachable
    solve        the values of a game under optimal play
    prove        proved bounds of the probability to win
    exact        the values of small games as fractions
    symbolic     which side wins, by sets of boards as decision diagrams
    again        the layers of a dense verdict, counted by a second engine
    force        which goals can be forced against every spawn
    alternatives what can be asked where a query is refused
    borders      the border between limits within which the goal is forced and others
    lemma        whether a pattern is a forced win, and within how many slides
    limits       limits that give the best bound
    fitting      which games have a board, and what solving them takes
    review       which slides of a written game lost how much
    mdp          a game as a Markov decision process
    mdp_files    such a process as files for PRISM and Storm, and as sparse matrices
    explain      what a word of this program means
    reproduce    published numbers, computed again
"""
