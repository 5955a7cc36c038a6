"""The sparse engine: reachable states only, layer by layer, stored as sorted canonical keys.

Modules, those that the others import first:

    sizes       how many bytes it takes for what it holds in memory
    halves      how a board is cut into half boards
    lines       what slides of lines add to ranks
    windows     sets of boards as one bit per rank, larger than memory if need be
    index       ranks of canonical boards within a layer, and from ranks to positions
    maps        the two maps of the forward pass, cut into tasks for threads
    shared_forward   the forward pass shared out to workers
    forward     the forward pass: every reachable state
    recount     the layers that the forward pass leaves; those that were given up, made once more
    folds       objectives as arrays and kernels
    reading     solved layers brought back from disk
    backward    the backward pass: what every reachable position is worth
    shared_backward  the backward pass shared out to workers
    flow        the best slides of many states at once, and the states that games meet
"""
