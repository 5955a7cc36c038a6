"""Counting: how many boards there are, by formula or by enumeration, and what a query will take.

Modules, those that the others import first:

    combinatorics   how many boards there could be, without playing
    counts          the result of counting reachable states
    estimates       time, memory and disk of a query, before it begins
    formation_sizes tables of formations: their size, measured or estimated, and what solving them takes
"""
