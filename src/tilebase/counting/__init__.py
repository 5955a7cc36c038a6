"""Counting: how many boards there are, by formula or by enumeration.

Modules, those that the others import first:

    combinatorics   how many boards there could be, without playing
    groups          the boards of a layer that hold the same tiles
    tiles           the slides of a game without a board
    counts          the result of counting reachable states
"""
