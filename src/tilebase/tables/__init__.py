"""Tables: probing values, and verifying a table, without a solver.

Modules, those that the others import first:

    slides    the rules for single boards, with remembered lines
    probe     what a position is worth, and which slides are best
    winning   winning sets of one side
    verify    every byte against its checksum, every value against those that follow
    sums      SHA-256 sums of the files of a table
"""
