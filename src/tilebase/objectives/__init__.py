"""Objectives: what a value means, how it is computed, stored, read back and printed.

Modules, those that the others import first:

    types       the types in which values are kept
    numbers     how numbers, differences and parts are printed
    values      exact and rounded values, bounds and intervals as different types
    objective   an objective and all that depends on its name
    rounding    how far a value computed with floats can be from the optimum, and what is certain
    results     the results of solving: the value of the start, and summaries of layers
    encoding    values as arrays: sentinels, stored types, summaries, and how kernels combine them over spawns
"""
