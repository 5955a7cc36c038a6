"""Objectives: what a value means, how it is computed, stored, read back and printed.

Modules, those that the others import first:

    objective   an objective and all that depends on its name
    encoding    values as arrays: sentinels, stored types, summaries
    values      exact values, bounds and intervals as different types, and as people read them
    results     the results of solving: the value of the start, and summaries of layers
"""
