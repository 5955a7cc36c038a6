"""What a query costs: time, memory, disk and files, before it begins.

Modules, those that the others import first:

    estimate    an estimate in words; queries that take too long are refused
    rates       how fast a machine is
    reachable   counting and solving the reachable boards
    boards      a pass over all boards within the limits
    forcing     a search for forced wins
    cores       the same on many cores and machines: the rows of `--plan`
    formations  tables of formations: their size, measured or estimated, and what solving them takes

The sizes of what an engine works with stand in its modules and are read here.
"""
