"""Every engine against the oracle, on every game and every query that it can take.

    games     the list of games
    queries   the list of queries: what the oracle says, and how an answer is compared with it
    engines   the list of engines, and which games and queries each can take

A new game, query or engine is one entry of its list.  An engine that cannot be loaded is a failure.
Passes on a CUDA device are compared with those of threads, which are an engine of this list: tests/cuda.
"""
