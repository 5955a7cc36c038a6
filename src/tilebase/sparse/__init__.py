"""The sparse engine: reachable states only, layer by layer, stored as sorted canonical keys.

Modules, those that the others import first:

    sizes       how many bytes it takes for what it holds in memory
    halves      how a board is cut into half boards
    index       ranks of canonical boards within a layer
    arenas      where threads collect ranks, and how a layer is cut into blocks and windows
    mailbox     ranks on their way to a window that is not in memory, here or at a worker
    bitset      sets of boards as one bit per rank, larger than memory if need be
    maps        the two maps of the forward pass, cut into tasks for threads
    sharing     what a pass asks of those who share its layers out
    forward     the forward pass: every reachable state
    shared_forward   the forward pass shared out to workers
    folds       objectives as arrays and kernels
    backward    the backward pass: what every reachable position is worth
    shared_backward  the backward pass shared out to workers
    reading     solved layers brought back from disk
    choosing    the best slides of many states at once
    flow        the states that games meet, sum by sum
"""
