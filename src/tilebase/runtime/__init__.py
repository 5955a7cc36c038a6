"""The system below a run: files that are whole or absent, memory, threads, progress, bounded JSON.

Modules, those that the others import first:

    paths       where files that nobody named go
    system      where systems differ: open files, limits, processors, child processes
    storage     files written whole or not at all, locks, flushing
    documents   JSON that a stranger may have written, read with bounds
    rows        rows as text: tab-separated, aligned, Markdown, LaTeX, HTML, CSV
    measured    times as text, when to save, and what a run took
    progress    how far a run is, and when it will end
    resources   how much memory a run may take, and how many processors; what a question is allowed
    threads     work shared out to threads, with the results in order; a cache that they share

No module here imports a module of the game.
"""
