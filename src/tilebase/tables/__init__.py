"""Tables: probing values, and verifying a table, without a solver.

Modules, those that the others import first:

    slides        the rules for single boards, with remembered lines
    large_tiles   which tiles of a real board stand for x, and which images fit the masks
    answers       the results of probing
    probe         what a position is worth, and which slides are best
    real_boards   the same for a board with real tiles, rotated or mirrored
    playing       random starts and spawns, and games by the optimal policy
    layers        how the values of one sum spread
    certificates  certificates to play against
    folders       which tables of a folder fit a board
    winning       winning sets of one side
    verify        every byte against its checksum, every value against those that follow
    sums          SHA-256 sums of the files of a table
"""
