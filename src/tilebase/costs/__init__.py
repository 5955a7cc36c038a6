"""Estimates: the time, memory, disk and files of a query, before it begins.

The work of an engine (states, spawns, boards) times one rate is the time; memory and disk come from the plans
and sizes of the engines themselves.  Modules, those that the others import first:

    rates       seconds for a unit of work: from the last runs of this machine, or fixed
    estimate    an estimate in words, and the refusal of queries that take too long
    shares      which share of the boards play reaches: counted, or estimated
    reachable   counting and solving the reachable boards, tables, and formations
    passes      passes over all boards within the limits, and searches for forced wins
    rows        the rows of `tilebase plan`
"""
