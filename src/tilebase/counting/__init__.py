"""Counting: how many boards there are, by formula or by enumeration.

Modules, those that the others import first:

    combinatorics   how many boards there could be, without playing
    tiles           the boards with the same tiles, and the slides that tiles need
    counts          the result of counting reachable states
"""
