"""The dense engine: every board within the limits, reachable or not, in the order of the perfect index.

Modules, those that the others import first:

    index        the perfect index: rank and unrank without gaps
    steps        the steps of a layer as plain values, and how they are cut into batches
    sizes        how many bytes a pass takes for what it has in memory
    tables       tables of half boards, layers in memory, and jobs for threads
    backends     who works the steps: threads, bits, a CUDA device
    layers       layers in memory and in files, and the journal from which a pass goes on
    plan         what a pass will take
    values       what is kept of afterstates: summaries and values
    workspace    the layers of a pass while it runs, in memory or in files
    passes       the pass itself
    reached      another pass, in bits: the boards that play reaches
    sweep        another one: the lines of a sweep
"""
