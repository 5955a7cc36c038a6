"""Pictures of what was found, for files and notebooks.

    drawing   figures of Matplotlib: their style, their files and what these say of themselves
    plots     counts, values, losses and distributions

Matplotlib is loaded only when something is drawn.  Boards draw themselves (`game.board`), and written games
are drawn in `patterns.strips`.
"""
