"""Executors: who works the steps of a dense pass.

threads     values in memory, on all threads
bits        Boolean values, 64 boards at a time
cuda        values on a CUDA device, one thread per board
"""
