"""Pictures of results, for files and notebooks.

    drawing   the style of figures of Matplotlib, the files of pictures and what these say of themselves
    plots     counts, sizes of layers, values, losses and distributions
    graphs    decision diagrams of winning sets, and rows that can become a checkerboard

Matplotlib is loaded only when something is drawn.  Boards draw themselves (`game.board`), and written games
are drawn in `patterns.strips`.
"""

PICTURES = (".svg", ".pdf", ".eps", ".png")
"""The suffixes of plots, which Matplotlib draws."""
DRAWINGS = PICTURES[:1]
"""The suffixes of drawings of boards and graphs."""
CONVERTED = "and convert an .svg with rsvg-convert or inkscape"
"""How to get a drawing in another format."""
