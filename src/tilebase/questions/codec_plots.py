"""A picture of ways to store a layer: size against speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tilebase.errors import UsageError
from tilebase.files.format import LEVEL
from tilebase.questions.drawing import INK, formatter, head, number, picture
from tilebase.questions.plots import DASHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CODEC_COLOURS = {"raw": "#6b6b76", "zstd": "#1c6fa8", "brotli": "#c1571a", "xz": "#3d8a4f"}
RING: dict[str, Any] = {
    "color": INK, "linestyle": "", "marker": "o", "markersize": 11, "markerfacecolor": "none", "zorder": 4
}  # fmt: skip
"""The circle around the codec of layer files."""


class _Measured(Protocol):
    """The drawn properties of a `tilebase.questions.codecs.CodecRow`."""

    @property
    def codec(self) -> str: ...
    @property
    def level(self) -> int | None: ...
    @property
    def delta(self) -> bool: ...
    @property
    def keys(self) -> int: ...
    @property
    def bits_per_key(self) -> float: ...
    @property
    def compress_mb_per_s(self) -> float: ...
    @property
    def decompress_mb_per_s(self) -> float: ...
    @property
    def pareto(self) -> bool: ...
    @property
    def pareto_read(self) -> bool: ...


@dataclass(frozen=True)
class _Point:
    """A row in one panel."""

    row: _Measured
    speed: float
    best: bool


def plot_pareto(rows: Sequence[_Measured], path: Path | str) -> None:
    """Draw size against the speed of writing and of reading, as an SVG, PDF, EPS or PNG file.

    In each of the two panels, a line joins the rows that are marked as Pareto-optimal.  Raises
    `UsageError` for another suffix or without rows, `MissingExtraError`, `StorageError`.
    """
    if not rows:
        raise UsageError("no codec was measured: there is nothing to draw")
    with picture(path, 10.4, 5.2) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        _speed_panel(left, [_Point(row, row.compress_mb_per_s, row.pareto) for row in rows])
        _speed_panel(right, [_Point(row, row.decompress_mb_per_s, row.pareto_read) for row in rows])
        left.set_ylabel("bits a key")
        left.set_xlabel("compression, MB of keys a second")
        right.set_xlabel("decompression, MB of keys a second")
        _codec_legend(right, rows)
        head(
            left,
            "Size and speed of the ways to store a layer",
            f"{rows[0].keys:,} keys of 8 bytes, one thread",
        )


def _speed_panel(axes: Axes, points: Sequence[_Point]) -> None:
    best = sorted((point for point in points if point.best), key=lambda point: point.speed)
    _join(axes, best, color=INK, linewidth=1, linestyle=DASHES, zorder=2)
    for codec, delta in dict.fromkeys((point.row.codec, point.row.delta) for point in points):
        own = [point for point in points if (point.row.codec, point.row.delta) == (codec, delta)]
        own.sort(key=lambda point: point.row.level or 0)
        _join(axes, own, zorder=3, alpha=0.9, **_look(codec, delta))
    of_files = ("zstd", LEVEL, True)
    rings = [one for one in points if (one.row.codec, one.row.level, one.row.delta) == of_files]
    _join(axes, rings, **RING)
    _label_levels(axes, best)
    _log_axes(axes)


def _join(axes: Axes, points: Sequence[_Point], **style: Any) -> None:
    axes.plot([point.speed for point in points], [point.row.bits_per_key for point in points], **style)


def _look(codec: str, delta: bool) -> dict[str, Any]:
    """Return the style of the levels of a codec: filled if its input was deltas."""
    colour = CODEC_COLOURS.get(codec, INK)
    face = colour if delta else "white"
    return {"color": colour, "marker": "o", "markersize": 5.5, "markerfacecolor": face, "linewidth": 0.8}


def _label_levels(axes: Axes, points: Sequence[_Point]) -> None:
    last = 0.0
    for point in points:
        # Labels closer to each other could not be read.
        if point.row.level is not None and point.speed > 1.08 * last:
            last = point.speed
            axes.annotate(
                str(point.row.level),
                (point.speed, point.row.bits_per_key),
                (0, -13),
                textcoords="offset points",
                fontsize=8,
                color=CODEC_COLOURS.get(point.row.codec, INK),
                ha="center",
            )


def _log_axes(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.margins(0.08)
    axes.grid(which="major")
    axes.xaxis.set_major_formatter(formatter(number))
    axes.yaxis.set_major_formatter(formatter(number))
    axes.yaxis.set_minor_formatter(formatter(lambda value: f"{value:g}" if f"{value:g}"[0] in "2345" else ""))


def _codec_legend(axes: Axes, rows: Sequence[_Measured]) -> None:
    from matplotlib.lines import Line2D

    names = [name for name in CODEC_COLOURS if any(row.codec == name for row in rows)]
    handles = [Line2D([], [], label=name, **_look(name, True)) for name in names]
    for label, delta in (("with deltas", True), ("without", False)):
        handles.append(Line2D([], [], label=label, **_look("", delta) | {"linewidth": 0}))
    handles.append(Line2D([], [], label="layer files", **RING))
    handles.append(Line2D([], [], label="not beaten", color=INK, linewidth=1, linestyle=DASHES))
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.005, 1.02), alignment="left")
