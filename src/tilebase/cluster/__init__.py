"""Work shared out to worker processes, here or on other machines, piece by piece.

Modules, those that the others import first:

    pieces      what a piece of work is, where workers write, and what executors do
    dask        workers of Dask distributed
    local       worker processes on this machine, and the program that starts them
    runs        what a question may use that works in a folder, perhaps with workers

A piece reads files and writes one file, all in a folder that every worker sees.  No bulk data goes
through the network connections of an executor.  No module here knows the game.
"""
