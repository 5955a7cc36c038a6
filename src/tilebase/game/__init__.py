"""The game: its rules in plain Python, boards, symmetries, and the arrays that kernels take.

Modules, those that the others import first:

    grid          the cells of a board: lines, neighbours, symmetries, rows as text
    notation      how tiles, numbers, boards and the parameters of a game are written and read
    spawns        which tiles are spawned, with which probabilities
    boards        the parameters of a game, and the boards that they allow: as text, as keys, checked
    game          how play goes; every engine must agree with it
    symmetry      the permutations of cells that keep a game the same
    formations    where large tiles stand in endgames, by name, and the games that follow
    names         a game in words: titles, options, how play begins
    findings      what a result found, and the sentence and the document that follow from it
    board         one board as a value, drawn and written
    records       written games: saved games, replays, lists of positions
    compiled      a game as arrays for the kernels on packed keys, permutations of cells in few operations
"""
