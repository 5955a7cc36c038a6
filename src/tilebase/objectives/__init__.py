"""Objectives: what a value means, how it is folded, stored, read back and printed.

objective   an objective and all that depends on its name
encoding    values as arrays: sentinels, stored types, summaries
values      exact values, bounds and intervals as different types
results     what each layer and the start are worth
"""
