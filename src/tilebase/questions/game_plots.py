"""A picture of a game for papers: the strip of `patterns.strips` as PDF, EPS or PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilebase.errors import UsageError
from tilebase.game.board import DARK, EMPTY, GRID, ink_color, tile_color
from tilebase.patterns.replays import Replay
from tilebase.patterns.rules import Drop
from tilebase.patterns.strips import PAPER, Scale, Strip, StripBoard, strip_of
from tilebase.questions.drawing import STYLE, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path as Outline

PIXELS = 96
"""Pixels of a strip in an inch, as of SVG."""
TALLEST = 200
"""Inches of the tallest picture: PDF readers show no more."""
Point = tuple[float, float]


def plot_game(game: Replay, path: Path | str) -> None:
    """Draw the boards after each drop as a PDF, EPS or PNG file, as `Replay.strip` does as SVG.

    Raises `UsageError` for another suffix, or if the game is too long or the board too large for a picture;
    `MissingExtraError`, `StorageError`.
    """
    strip = strip_of(game.rules, game.moves)
    if strip.height > TALLEST * PIXELS:
        raise UsageError(
            f"a strip of {len(strip.boards):,} boards is {strip.height / PIXELS:.0f} inches tall, more than "
            f"{TALLEST}: write it as .svg, or give fewer moves"
        )
    with picture(path, strip.width / PIXELS, strip.height / PIXELS) as figure:
        figure.set_layout_engine("none")
        figure.set_facecolor(PAPER)
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, strip.width), ylim=(strip.height, 0))
        axes.set_axis_off()
        _draw(axes, strip)


def _draw(axes: Axes, strip: Strip) -> None:
    """Draw all boards: everything of one look at once, as a strip may have 200,000 cells."""
    scale = strip.scale
    tiles: dict[int, list[Point]] = {}
    for board in strip.boards:
        axes.text(board.x, board.y - 7, board.word, color=DARK, fontsize=_points(13), fontweight="bold")
        for cell, exponent in enumerate(board.position):
            tiles.setdefault(exponent, []).append(_middle(scale, board, cell))
    _put(
        axes, _rounded(scale.width, scale.height, scale.gap + 2),
        [(board.x + scale.width / 2, board.y + scale.height / 2) for board in strip.boards], facecolor=GRID,
    )  # fmt: skip
    square = _rounded(scale.side, scale.side, scale.side // 10)
    for exponent, where in sorted(tiles.items()):
        fill = tile_color(exponent) if exponent else EMPTY
        _put(axes, square, where, facecolor=fill)
        if exponent:
            _put(axes, _text(*scale.text(exponent)), where, facecolor=ink_color(fill))
    inner = scale.side - scale.ring
    drops = [_middle(scale, board, board.move.cell) for board in strip.boards if isinstance(board.move, Drop)]
    _put(
        axes, _rounded(inner, inner, scale.side // 10), drops,
        facecolor="none", edgecolor=DARK, linewidth=_points(scale.ring),
    )  # fmt: skip


def _middle(scale: Scale, board: StripBoard, cell: int) -> Point:
    """Return the middle of a cell."""
    left, top = scale.middle(cell)
    return board.x + left, board.y + top


def _points(pixels: float) -> float:
    """Return a length in points, 72 to an inch."""
    return pixels * 72 / PIXELS


def _rounded(width: float, height: float, radius: float) -> Outline:
    """Return the outline of a rectangle around 0 with round corners."""
    from matplotlib.patches import FancyBboxPatch

    style = f"round,pad=0,rounding_size={radius}"
    return FancyBboxPatch((-width / 2, -height / 2), width, height, boxstyle=style).get_path()


def _text(word: str, size: float) -> Outline:
    """Return the outline of a text, with its middle at 0."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    font = FontProperties(family=STYLE["font.sans-serif"], weight="bold")
    outline = TextPath((0, 0), word, size=size, prop=font)
    box = outline.get_extents()
    move = Affine2D().translate(-(box.x0 + box.x1) / 2, -(box.y0 + box.y1) / 2)
    return outline.transformed(move)


def _put(axes: Axes, outline: Outline, points: Sequence[Point], **look: Any) -> None:
    """Draw an outline in pixels at each of some points."""
    from matplotlib.collections import PathCollection
    from matplotlib.transforms import Affine2D

    if not points:
        return
    drawn = PathCollection(
        [outline], offsets=points, offset_transform=axes.transData, **({"linewidth": 0} | look)
    )
    assert axes.figure is not None
    drawn.set_transform(Affine2D().scale(1 / PIXELS) + axes.figure.dpi_scale_trans)
    axes.add_collection(drawn, autolim=False)
