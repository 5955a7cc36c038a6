"""Pictures of counts, sizes of layers, values, regret, distributions and decision diagrams.

`draw_counts`, `draw_values`, `draw_regret` and `draw_distribution` draw on axes of matplotlib that the caller
made; `plot_counts` and the others write SVG, PDF, EPS or PNG.
The metadata of a picture name the command and the version of the program.  Apart from these, the same numbers
give the same SVG, byte for byte: it does not depend on settings of the user, dates or random identifiers.
Larger tiles are darker; the shade of a tile depends on its rank among the drawn tiles.  matplotlib is
imported when a picture is drawn.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from tilebase.counting.combinatorics import BoundResult
from tilebase.counting.counts import FIELDS, CountResult, shown_names
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.game.names import title_of
from tilebase.objectives.numbers import digits_text, short_number
from tilebase.objectives.objective import Objective, find_objective
from tilebase.objectives.results import Solution
from tilebase.objectives.values import NEVER
from tilebase.pictures.drawing import (
    GREY,
    GRID,
    INK,
    SHADES,
    head,
    number,
    picture,
    shades,
    whole_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tilebase.bdd.strategies import Line, Method
    from tilebase.policies import Judgement
    from tilebase.policies.distributions import Distribution
    from tilebase.tables.probe import Table

KINDS = ("auto", "stacked", "lines")

NAMES = {
    "states": "states up to symmetry",
    "live": "live states up to symmetry",
    "losing": "losing states up to symmetry",
    "winning": "states up to symmetry that can win at once",
    "afterstates": "afterstates up to symmetry",
    "raw_states": "states without symmetry",
    "raw_live": "live states without symmetry",
}
"""The names of `FIELDS` in a picture."""

DASHES = (0, (4, 3))
LABELLED_SHARE = 0.08
"""The share of the largest layer that has room for a number in it."""
LINEAR_SHARE = 0.02
"""The share of the largest layer that is visible on a linear axis: about five pixels."""


# -- counts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bands:
    """The counts that are drawn, without gaps between the layers."""

    sums: npt.NDArray[np.int64]  # sums[i] is the sum of layer i, equally spaced
    tiles: list[int]  # largest tiles that occur, ascending; 1 stands for a board without tiles
    counts: npt.NDArray[np.int64]  # counts[t, i] is the count of layer i with largest tile tiles[t]

    @property
    def step(self) -> int:
        """The distance between layers."""
        return int(self.sums[1] - self.sums[0]) if len(self.sums) > 1 else 2

    @property
    def total(self) -> npt.NDArray[np.int64]:
        """The counts of whole layers."""
        return self.counts.sum(axis=0)

    def span(self, tile: int) -> slice:
        """Return the layers from the first to the last in which row `tile` is not 0."""
        held = np.flatnonzero(self.counts[tile])
        return slice(int(held[0]), int(held[-1]) + 1)


def bands(result: CountResult, field: str = "states") -> Bands:
    """Return one of `FIELDS` by sum and largest tile, ready to be drawn.

    Raises `UsageError` if the field does not exist, or its counts are all 0.
    """
    if field not in FIELDS:
        raise UsageError(f"{field!r} was not counted: choose one of {', '.join(FIELDS)}")
    table: npt.NDArray[np.int64] = getattr(result, field)
    layers, exponents = np.flatnonzero(table.any(axis=1)), np.flatnonzero(table.any(axis=0))
    if not len(layers):
        raise UsageError(f"no {_name(result, field)} were counted in {result.game}: there is nothing to draw")
    held = result.sums[layers]
    step = reduce(math.gcd, np.diff(held).tolist(), 0) or 2
    sums = np.arange(held[0], held[-1] + 1, step, dtype=np.int64)
    counts = np.zeros((len(exponents), len(sums)), dtype=np.int64)
    counts[:, (held - held[0]) // step] = table[np.ix_(layers, exponents)].T
    return Bands(sums, [2 ** int(e) for e in exponents], counts)


def _name_tiles(axes: Axes, drawn: Bands) -> None:
    """Write the largest tile where it has most states, if there is room."""
    tops = np.cumsum(drawn.counts[::-1], axis=0)[::-1]
    stacked = axes.get_yscale() == "linear"
    for tile, (counts, colour) in enumerate(zip(drawn.counts, shades(len(drawn.tiles)), strict=True)):
        at = int(counts.argmax())
        if stacked and counts[at] < LABELLED_SHARE * drawn.total.max():
            continue
        height = tops[tile][at] - counts[at] / 2 if stacked else counts[at]
        axes.annotate(
            f"{drawn.tiles[tile]:,}", (drawn.sums[at], height), (0, 0 if stacked else -5),
            textcoords="offset points", fontsize=9, ha="center", va="center" if stacked else "top",
            color=("white" if sum(colour) < 1.8 else INK) if stacked else colour,
        )  # fmt: skip


def plot_counts(result: CountResult, path: Path | str, *, kind: str = "auto", field: str = "states") -> None:
    """Draw how many states each layer holds, by largest tile, as an SVG, PDF, EPS or PNG file.

    Parameters
    ----------
    result:
        The counts, complete or not.
    path:
        The file; its suffix, one of `PICTURES`, determines the format.
    kind:
        ``"stacked"``: the largest tiles on top of each other, on a linear axis;
        ``"lines"``: one line per largest tile, and the total in black, on a logarithmic axis;
        ``"auto"``: stacked if most layers are visible on a linear axis.
    field:
        One of `tilebase.counting.counts.FIELDS`.

    Raises
    ------
    UsageError
        For another suffix, kind or field, or if all counts are 0.
    MissingExtraError
        If matplotlib is not installed.
    StorageError
        If the file cannot be written.
    """
    drawn = bands(result, field)
    with picture(path, 9.6, 5.2) as figure:
        axes = figure.add_subplot()
        _draw_bands(axes, result, drawn, kind, field)
        _legend(axes, drawn)
        head(axes, _title(result, drawn, field), _game_lines(result))


def draw_counts(axes: Axes, result: CountResult, *, kind: str = "auto", field: str = "states") -> None:
    """Draw what `plot_counts` draws, on axes of matplotlib; see there.

    Largest tiles are named beside their lines, or in their bands; there is no title and no legend.  The label
    of the y axis says whether counts are stacked.  Raises `UsageError` for another kind or
    field, or if all counts are 0.
    """
    drawn = bands(result, field)
    _draw_bands(axes, result, drawn, kind, field)
    _name_tiles(axes, drawn)


def _draw_bands(axes: Axes, result: CountResult, drawn: Bands, kind: str, field: str) -> None:
    if kind not in KINDS:
        raise UsageError(f"kind {kind!r} does not exist: choose one of {', '.join(KINDS)}")
    if kind == "auto":
        kind = "stacked" if np.median(drawn.total) >= LINEAR_SHARE * drawn.total.max() else "lines"
    {"stacked": _stack, "lines": _lines}[kind](axes, drawn)
    how = "largest tiles stacked" if kind == "stacked" else "not stacked"
    axes.set_ylabel(f"{_name(result, field)} per sum, {how}")
    _sum_axis(axes)


def _stack(axes: Axes, drawn: Bands) -> None:
    margin = drawn.step / 2
    # The largest tile is at the bottom, so that its counts begin at zero and can be compared.
    tops = np.cumsum(drawn.counts[::-1], axis=0)[::-1]
    # Each band is drawn from zero, over the band above it.  If bands only touched each other, the
    # background would be visible between them.
    for tile, colour in enumerate(shades(len(drawn.tiles))):
        span = drawn.span(tile)
        edges = np.append(drawn.sums[span] - margin, drawn.sums[span][-1] + margin)
        axes.stairs(tops[tile][span], edges, fill=True, color=colour, linewidth=0, snap=False)
    _grid(axes)
    axes.set_xlim(drawn.sums[0] - margin, drawn.sums[-1] + margin)
    axes.set_ylim(0, 1.04 * float(drawn.total.max()))
    whole_ticks(axes.yaxis, steps=[1, 2, 2.5, 5, 10])
    axes.yaxis.set_major_formatter(number)


def _lines(axes: Axes, drawn: Bands) -> None:
    alone = "o" if len(drawn.sums) == 1 else ""
    for counts, colour in zip(drawn.counts, shades(len(drawn.tiles)), strict=True):
        axes.plot(drawn.sums, _positive(counts), color=colour, linewidth=1.8, marker=alone)
    axes.plot(drawn.sums, _positive(drawn.total), color="black", linewidth=1.4, zorder=3, marker=alone)
    axes.set_yscale("log")
    _grid(axes)
    axes.minorticks_off()
    axes.margins(x=0.01)
    axes.set_ylim(0.7 * float(drawn.counts[drawn.counts > 0].min()), 2 * float(drawn.total.max()))
    axes.yaxis.set_major_formatter(number)


def _sum_axis(axes: Axes) -> None:
    axes.set_xlabel("sum of tiles")
    # Sums are even, so ticks are too.
    whole_ticks(axes.xaxis, steps=[1, 2, 4, 10])
    axes.xaxis.set_major_formatter("{x:,.0f}")


def _positive(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the counts as floats, with NaN for 0, which a logarithmic axis cannot show."""
    return np.where(counts > 0, counts.astype(np.float64), np.nan)


def _legend(axes: Axes, drawn: Bands) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    words = [f"{tile:,}" if tile > 1 else "none" for tile in drawn.tiles]
    stacked = axes.get_yscale() == "linear"
    handles: list[Any] = [
        Patch(color=colour, label=word)
        if stacked
        else Line2D([], [], color=colour, linewidth=2.5, label=word)
        for colour, word in zip(shades(len(words)), words, strict=True)
    ]
    if not stacked:
        handles.append(Line2D([], [], color="black", linewidth=1.6, label="all"))
    axes.legend(
        handles=handles if stacked else handles[::-1],
        title="largest tile",
        loc="upper left",
        bbox_to_anchor=(1.005, 1.02),
        alignment="left",
    )


def _name(result: CountResult, field: str) -> str:
    """Return the name of a field in a picture.

    Raw counts of a start that is not symmetric say what they count.
    """
    images = shown_names(result.game)[field] != field
    return NAMES[field] + " from all images of the start" * images


def _words(game: Game) -> tuple[str, list[str]]:
    """Return the board and the goals, as a title names them, and the other parameters of the game."""
    board, *others = title_of(game).split(", ")
    goals = [word for word in others if word.startswith("to ")]
    return " ".join([board, *goals]), [word for word in others if word not in goals]


def _title(result: CountResult, drawn: Bands, field: str) -> str:
    end = "" if result.complete else f" up to sum {result.sums[-1]:,}"
    return f"{_words(result.game)[0]}: {int(drawn.total.sum()):,} {_name(result, field)}{end}"


def _game_lines(result: CountResult) -> str:
    """Return the other parameters of the game, in one or two lines."""
    words = ["by sum and largest tile", *_words(result.game)[1]]
    if result.lookahead:
        words.append("without states that are decided within one move")
    return "\n".join(textwrap.wrap(", ".join(words), 110, max_lines=2, placeholder=" ..."))


# -- sizes of layers ---------------------------------------------------------------------------


def plot_sizes(result: BoundResult, path: Path | str) -> None:
    """Draw how many boards each sum has, with the largest layer, as an SVG, PDF, EPS or PNG file.

    This is figure 2 of Slizkov.  Raises `UsageError` for another suffix, `MissingExtraError`, `StorageError`.
    """
    sums, boards = map(np.array, zip(*sorted(result.boards_by_sum.items()), strict=True))
    peak = int(boards.argmax())
    with picture(path, 9.6, 4.4) as figure:
        axes = figure.add_subplot()
        axes.fill_between(sums, boards.astype(np.float64), color=SHADES[0], linewidth=0)
        axes.plot(sums, boards, color=SHADES[4], linewidth=1.8)
        axes.plot(sums[peak], boards[peak], "o", color=SHADES[5], markersize=5)
        axes.annotate(
            f"largest layer: sum {sums[peak]:,}, {boards[peak]:,}", (sums[peak], boards[peak]), (9, 4),
            textcoords="offset points", fontsize=10, color=SHADES[5],
            bbox={"fc": "white", "ec": "none", "pad": 1},
        )  # fmt: skip
        _grid(axes)
        axes.margins(x=0)
        axes.set_ylim(0, 1.12 * float(boards[peak]))
        axes.set_ylabel("boards per sum, without symmetry")
        axes.yaxis.set_major_formatter(number)
        whole_ticks(axes.yaxis, steps=[1, 2, 2.5, 5, 10])
        _sum_axis(axes)
        head(axes, f"{_words(result.game)[0]}: {result.boards:,} boards by sum", f"in {len(sums):,} layers")


# -- values and regret -------------------------------------------------------------------------


def draw_values(axes: Axes, solved: Solution | Table, objective: str | None = None) -> None:
    """Draw the values of afterstates by their sum: the mean, and the range from the least to the largest.

    `solved` is what `solve` returned, or a table of reachable positions, whose layers are all read.
    `objective` is a label; None for the first.  An infinite cost (`NEVER`) is left out; a solution does not
    say what is the largest without it.  Raises `UsageError` if the objective was not solved for.
    """
    chosen, rows = _ranges(solved, objective)
    sums, least, mean, largest = np.array(rows).T
    axes.fill_between(sums, least, largest, color=SHADES[0], linewidth=0)
    axes.plot(sums, mean, color=SHADES[4], linewidth=1.8)
    _direct(axes, sums, mean, "mean", SHADES[4])
    if not np.isnan(largest).all():
        _direct(axes, sums, np.nan_to_num(largest), "least to largest", SHADES[3], share=0.3)
        axes.margins(y=0.12)  # so that this name stays inside the frame
    axes.set_ylabel(f"value of afterstates ({chosen})")
    _grid(axes)
    _sum_axis(axes)


def _chosen(solved: Solution | Table, label: str | None) -> Objective:
    """Return the objective of a label; the first for None.  Raises `UsageError`."""
    chosen = solved.objectives[0] if label is None else find_objective(solved.objectives, label)
    if chosen is None:
        held = ", ".join(one.label for one in solved.objectives)
        raise UsageError(f"{label} was not solved for: choose one of {held}")
    return chosen


def _ranges(
    solved: Solution | Table, label: str | None
) -> tuple[Objective, list[tuple[float, float, float, float]]]:
    """Return the objective, and sum, least, mean and largest value of each layer."""
    chosen = _chosen(solved, label)
    if isinstance(solved, Solution):
        layers = solved.layers[solved.objectives.index(chosen)]
        return chosen, [
            (one.sum, one.least, one.mean, math.nan if one.largest == NEVER else one.largest)
            for one in layers
            if one.least != NEVER
        ]
    from tilebase.arrays import TableArrays  # it loads the compiler

    rows: list[tuple[float, float, float, float]] = []
    for layer in TableArrays(solved, chosen.label).iter_layers():
        held = layer.value[layer.value != NEVER]
        if len(held):
            rows.append((layer.sum, float(held.min()), float(held.mean()), float(held.max())))
    return chosen, rows


def draw_regret(axes: Axes, judged: Judgement, *, by: str = "sum") -> None:
    """Draw what an agent loses, by the sum or by the largest tile (``tile``) of the states where it loses.

    The bars add up to the regret.  Raises `UsageError` for another word.
    """
    if by not in ("sum", "tile"):
        raise UsageError(f"regret is drawn by sum or by tile, not by {by!r}")
    found = judged.by_sum if by == "sum" else judged.by_tile
    lost = [regret for _, regret in found.values()]
    if by == "sum":
        sums = np.array(list(found))
        axes.bar(sums, lost, width=2, color=SHADES[3], linewidth=0)
        _sum_axis(axes)
    else:
        axes.bar(range(len(lost)), lost, color=shades(len(lost)), width=0.8)
        axes.set_xticks(range(len(lost)), [f"{tile:,}" for tile in found])
        axes.set_xlabel("largest tile")
        axes.margins(y=0.1)  # the share above the highest bar stays inside the frame
        total = sum(lost)
        for place, one in enumerate(lost):
            if total and one >= 0.005 * total:
                axes.annotate(
                    f"{one / total:.0%}", (place, one), (0, 2), textcoords="offset points", fontsize=9,
                    color=GREY, ha="center",
                )  # fmt: skip
    axes.set_ylabel(f"regret ({judged.objective})")
    _grid(axes)


def _grid(axes: Axes) -> None:
    """Draw thin lines behind the picture, also on axes of another style."""
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=GRID, linewidth=0.8)


def plot_values(solved: Solution | Table, path: Path | str, objective: str | None = None) -> None:
    """Draw what `draw_values` draws, as an SVG, PDF, EPS or PNG file; it raises the same errors.

    And `UsageError` for another suffix, `MissingExtraError`, `StorageError`.
    """
    with picture(path, 9.6, 4.4) as figure:
        axes = figure.add_subplot()
        draw_values(axes, solved, objective)
        of = "that can be won" if _chosen(solved, objective).counts_to_win else ""
        told = f"by sum: the mean of all afterstates {of}".rstrip()
        head(axes, title_of(solved.game), f"{told}, and from the least to the largest")


def plot_regret(judged: Judgement, path: Path | str, title: str) -> None:
    """Draw what an agent loses, by sum and by largest tile, as an SVG, PDF, EPS or PNG file.

    Raises `UsageError` for another suffix, `MissingExtraError`, `StorageError`.
    """
    with picture(path, 9.6, 4.4) as figure:
        left, right = figure.subplots(1, 2)
        draw_regret(left, judged, by="sum")
        draw_regret(right, judged, by="tile")
        right.set_ylabel("")
        head(left, title, f"{judged.objective} {judged.text}, regret {judged.regret_text}")


def _direct(
    axes: Axes, xs: npt.NDArray[Any], ys: npt.NDArray[Any], text: str, colour: str, share: float = 0.6
) -> None:
    """Write the name of a series above its line, where this is high near a share of its length.

    The name stands beside a line that falls or rises there, over none that is below it.
    """
    first = int((share - 0.1) * len(xs))
    near = ys[first : max(int((share + 0.1) * len(xs)), first + 1)]
    side = "left" if near[0] > near[-1] else "right" if near[0] < near[-1] else "center"
    at = first + int(near.argmax())
    axes.annotate(
        text, (xs[at], ys[at]), (0, 5), textcoords="offset points", fontsize=9, color=colour, ha=side
    )


# -- distributions ---------------------------------------------------------------------------------

SEEN = 2e-3
"""A bar is drawn if it is this part of the highest one, or stands between such bars."""


def plot_distributions(found: Sequence[Distribution], path: Path | str, title: str) -> None:
    """Draw distributions side by side, with their means, as an SVG, PDF, EPS or PNG file.

    The title says what is played and by whom.  Raises `UsageError` for another suffix or without
    distributions, `MissingExtraError`, `StorageError`.
    """
    if not found:
        raise UsageError("no distribution was computed: there is nothing to draw")
    with picture(path, max(4.6 * len(found), 6.4), 4.4) as figure:
        panels = list(np.atleast_1d(figure.subplots(1, len(found))))
        for axes, one in zip(panels, found, strict=True):
            draw_distribution(axes, one)
        for axes in panels[1:]:
            axes.set_ylabel("")
        head(panels[0], title, "")


def draw_distribution(axes: Axes, one: Distribution) -> None:
    """Draw one of the distributions that `tilebase.policies.distributions` computes, with its mean.

    Lengths and scores at both ends whose bars would be too low to be seen are left out; their probability
    stands in the caption.
    """
    values, chances = np.array(list(one.chances), dtype=np.float64), np.array(list(one.chances.values()))
    seen = np.flatnonzero(chances >= SEEN * chances.max() * (one.name != "tile"))
    first, end = int(seen[0]), int(seen[-1]) + 1
    rest = math.fsum([*chances[:first], *chances[end:]])
    values, chances = values[first:end], chances[first:end]
    if one.name == "tile":
        axes.bar(range(len(values)), chances, color=shades(len(values)), width=0.8)
        axes.set_xticks(range(len(values)), [f"{value:,.0f}" for value in values])
    else:
        edges = np.append(values, values[-1] + one.resolution)
        # Values that no game has lie between entries: each entry is as wide as what it stands for.
        axes.bar(edges[:-1], chances, width=one.resolution, align="edge", color=SHADES[3], linewidth=0)
        axes.axvline(one.mean, color=INK, linewidth=1, linestyle=DASHES)
        whole_ticks(axes.xaxis)
        axes.xaxis.set_major_formatter(number)
    axes.set_xlabel({"tile": "largest tile at the end", "length": "slides", "score": "score"}[one.name])
    axes.set_ylabel("probability")
    _grid(axes)
    axes.set_ylim(bottom=0)
    note = f"mean {digits_text(one.mean, 6)}"
    if rest:
        note = f"not drawn: {short_number(rest, 'probability')} of games beyond the axis; {note}"
    axes.annotate(
        note, (1, 1), (0, 4), xycoords="axes fraction", textcoords="offset points",
        fontsize=9, color=GREY, ha="right",
    )  # fmt: skip


# -- decision diagrams -----------------------------------------------------------------------------


class _Symbolic(Protocol):
    @property
    def statement(self) -> str: ...
    @property
    def method(self) -> Method: ...
    @property
    def lines(self) -> Sequence[Line]: ...


def plot_lines(found: _Symbolic, path: Path | str) -> None:
    """Draw the iterations, seconds and nodes of each layer or sweep line, as an SVG, PDF, EPS or PNG file.

    Sweep lines (k, l) are drawn by l, one curve for each k, as in Edixhoven's figures 11 to 13.  Raises
    `UsageError` for another suffix or without lines, `MissingExtraError`, `StorageError`.
    """
    if not found.lines:
        raise UsageError("no layer was finished: there is nothing to draw")
    fields = ("seconds", "nodes") if found.method.strategy == "sum" else ("iterations", "seconds", "nodes")
    with picture(path, 4.6 * len(fields), 4.4) as figure:
        panels = list(np.atleast_1d(figure.subplots(1, len(fields))))
        for axes, field in zip(panels, fields, strict=True):
            _lines_panel(axes, found, field)
        head(panels[0], "Work by layer" if found.method.strategy == "sum" else "Work by sweep line", "")
        text = "\n".join(textwrap.wrap(found.statement, 60 * len(fields)))
        figure.supxlabel(text, fontsize=9, color=GREY)


def _lines_panel(axes: Axes, found: _Symbolic, field: str) -> None:
    curves: dict[int, list[tuple[float, float]]] = {}
    for line in found.lines:
        k, _, name = line.name.strip("()").rpartition(",")
        place = 0.0 if name == "all" else float(name)
        curves.setdefault(int(k or 0), []).append((place, getattr(line, field)))
    for (k, points), shade in zip(sorted(curves.items()), shades(len(curves)), strict=True):
        points.sort()
        xs, ys = zip(*points, strict=True)
        mark = "" if found.method.strategy == "sum" else "o"
        axes.plot(xs, ys, color=shade, marker=mark, markersize=4, label=f"k = {k}", linewidth=1.4)
    if field == "iterations":
        whole_ticks(axes.yaxis)
    else:
        axes.set_yscale("log", nonpositive="clip")
    whole_ticks(axes.xaxis)
    axes.set_ylabel(field)
    axes.set_xlabel("sum" if found.method.strategy == "sum" else "l: tiles of exponent k")
    axes.grid(which="major")
    axes.yaxis.set_major_formatter(number)
    if len(curves) > 1 and field == "nodes":
        axes.legend(loc="upper left", bbox_to_anchor=(1.005, 1.02), alignment="left")
