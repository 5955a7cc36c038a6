"""The search for forced wins, and the certificates that prove them.

search          depth-first search of afterstates on all threads
certificates    strategies and refutations as files; `tilebase.check` checks them without other modules
"""
