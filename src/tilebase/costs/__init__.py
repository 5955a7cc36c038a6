"""What a query costs: time, memory, disk and files, before it begins.

Modules, those that the others import first:

    estimate    an estimate in words; queries that take too long are refused
    rates       how fast this machine is: factors that are kept, and rates that are fixed
    shares      which share of the boards play reaches: counted, or estimated
    reachable   counting and solving the reachable boards
    cores       counting and solving on many cores and machines
    batches     a pass over all boards within the limits on many cores and machines
    boards      such a pass on one machine
    machines    such a pass on a CUDA device
    forcing     a search for forced wins
    measuring   the factors, measured with small games
    spaces      solving on the boards of a space: what `solve` and its row expect
    rows        the rows of `tilebase plan`
    tables      evaluating, thinning and verifying a finished table
    cases       decision diagrams and patterns: what was measured
    formations  tables of formations: their size, measured or estimated, and what solving them takes

The sizes of what an engine works with stand in its modules and are read here.
"""
