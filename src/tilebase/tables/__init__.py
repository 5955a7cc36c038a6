"""Tables: probing values, verifying a table, and leaving boards out, without a solver.

Modules, those that the others import first:

    slides        the rules for single boards, with remembered lines, and the values that follow from others
    large_tiles   which tiles of a real board stand for x, and which images fit the masks
    real_boards   boards with real tiles, and how they slide
    answers       what is said of a board: its value, and those of its slides
    solved        what tables, winning sets and certificates have in common: what can be asked
    prober        values of single positions, from files
    probe         tables: what a position is worth, and which slides are best
    playing       random starts and spawns, and games of optimal play
    layers        how the values of one sum spread
    certificates  certificates to play against
    folders       which tables of a folder fit a board
    winning       winning sets of one side
    pruning       the part of a table that is worth at least a bound
    thinning      the part of a table that optimal play visits
    verify        every byte against its checksum, every value against those that follow
"""
