"""The sparse engine: reachable states only, layer by layer, stored as sorted canonical keys.

index       ranks of canonical boards within a layer
bitset      sets of boards as one bit per rank, larger than memory if need be
maps        the two maps of the forward pass, divided into tasks for threads
forward     the forward pass: every reachable state
folds       objectives as arrays and kernels
backward    the backward pass: the value of every reachable afterstate
reading     solved layers, read from disk
"""
