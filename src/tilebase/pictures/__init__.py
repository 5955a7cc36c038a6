"""Pictures of results, for files and notebooks.

    drawing   figures of Matplotlib: their style, their files and what these say of themselves
    plots     counts, sizes of layers, values, losses and distributions
    graphs    decision diagrams of winning sets, and rows that can become a checkerboard
    vector    graphs as PDF, EPS or PNG

Matplotlib is loaded only when something is drawn.  Boards draw themselves (`game.board`), and written games
are drawn in `patterns.strips`.
"""

PICTURES = (".svg", ".pdf", ".eps", ".png")
"""The suffixes of pictures."""
