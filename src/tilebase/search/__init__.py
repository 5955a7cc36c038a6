"""The search for forced wins, and the certificates that prove them.

Modules, those that the others import first:

    search          depth first over afterstates on all threads
    certificates    strategies and refutations as files; `tilebase.check` verifies them alone
"""
