"""The dense engine: every board within the limits, reachable or not, in the order of the perfect index.

index       the perfect index: rank and unrank without gaps
tables      tables of half boards, layers in memory, and pieces of work
stores      layers in memory or in files
executors   who works the steps of a layer: threads, bits, a CUDA device
plan        what a pass will take, and how its layers are cut into batches
passes      the pass itself
"""
