"""Queries: what a user asks, one module for each command.

Modules, those that the others import first:

    count        how many states can occur
    solve        how well a game can be played
    prove        proved bounds of the probability to win
    force        what can be forced against the adversary
    borders      the limits at which a forced win ends
    lemma        whether a pattern is won within so many slides
    limits       limits that give the best bound
    policies     what a policy is worth
    simulation   games played by a table's policy
    thinning     the part of a table that optimal play visits
    reproduce    published numbers, computed again
    plots        pictures of counts and codecs
    codecs       size and speed of ways to store a layer
"""
