"""Tables: probing values, and verifying a table, without a solver.

slides    the rules for single boards, with cached lines
probe     the value of a position, and its best slides
verify    compares every byte with its checksum, and values with those that follow
sums      SHA-256 sums of the files of a table
"""
