"""Backends: the classes that work the steps of a dense pass.

Modules, those that the others import first:

    protocol    what a backend is
    threads     values in memory, on all threads
    bits        Boolean values, 64 boards at a time
    cuda        values on a CUDA device, one thread per board
"""
