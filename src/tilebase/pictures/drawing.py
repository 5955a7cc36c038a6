"""What all pictures share: colours, fonts, the file that is written, and its metadata."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np

from tilebase._version import version
from tilebase.errors import MissingExtraError, UsageError
from tilebase.files.source import check_output
from tilebase.pictures import PICTURES
from tilebase.runtime.measured import COMMAND
from tilebase.runtime.storage import atomic_file, write_whole
from tilebase.runtime.system import library_errors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

INK, GREY, GRID = "#2b2b33", "#6b6b76", "#e3e3e8"
SHADES = ("#cfe8bd", "#97d2b5", "#58b4bd", "#2e8ac0", "#2f579e", "#18194b")
"""Equally spaced colours from the smallest to the largest tile; colours between them are interpolated."""
UNITS = ((12, "trillion"), (9, "billion"), (6, "million"))

STYLE: dict[str, Any] = {
    "svg.hashsalt": "tilebase",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.title_fontsize": 9,
    "legend.fontsize": 9,
    "savefig.dpi": 160,
}

MATPLOTLIB = ("matplotlib", ("MPL", "MATPLOTLIB", "SOURCE_DATE_EPOCH"), "matplotlibrc")
"""The arguments of `library_errors`: matplotlib reads a file of the current folder when it is loaded."""


_DATE = re.compile(rb"%%CreationDate:.*\n")


@contextmanager
def picture(path: Path | str, width: float, height: float) -> Iterator[Figure]:
    """An empty figure, which is written to the file at the end of the block."""
    file = check_picture(path)
    import matplotlib.style
    from matplotlib.figure import Figure

    with matplotlib.style.context(["default", STYLE]):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        form = file.suffix.lower()[1:]
        with atomic_file(file) as whole, library_errors(*MATPLOTLIB):
            drawn = BytesIO()
            figure.savefig(drawn, format=form, metadata=_metadata(form))
            # Of EPS, matplotlib writes the second in which it was made.
            whole.write(_DATE.sub(b"", drawn.getvalue(), count=1) if form == "eps" else drawn.getvalue())


def _metadata(form: str) -> dict[str, str | None]:
    """Return the metadata of a picture: the program with its version, and the command; no date."""
    program, command = f"tilebase {version()}", COMMAND.get()
    names: dict[str, dict[str, str | None]] = {
        "svg": {"Creator": program, "Description": command, "Date": None},
        "pdf": {"Creator": program, "Subject": command, "Producer": None, "CreationDate": None},
        "eps": {"Creator": f"{program}: {command}"},
        "png": {"Software": program, "Description": command},
    }
    return names[form]


def write_svg(svg: str, file: Path) -> None:
    """Write an SVG document that names the program, its version and the command as matplotlib does.

    Raises `StorageError`.
    """
    told = _metadata("svg")
    names = {one: escape(str(told[one])) for one in ("Creator", "Description")}
    about = (
        '<metadata><rdf:RDF xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:cc="http://creativecommons.org/ns#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f"<cc:Work><dc:description>{names['Description']}</dc:description><dc:format>image/svg+xml</dc:format>"
        f"<dc:creator><cc:Agent><dc:title>{names['Creator']}</dc:title></cc:Agent></dc:creator>"
        "</cc:Work></rdf:RDF></metadata>"
    )
    write_whole(file, svg.replace("</title>", f"</title>{about}", 1))


def check_picture(path: Path | str) -> Path:
    """Return the path of a picture that can be drawn and written.

    Raises `UsageError` for another suffix, `StorageError`, `MissingExtraError` without matplotlib.
    """
    file = Path(path)
    if file.suffix.lower() not in PICTURES:
        raise UsageError(f"{file} is no picture: give it the suffix {', '.join(PICTURES[:-1])} or .png")
    check_output(file)
    try:
        with library_errors(*MATPLOTLIB):
            import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of("pictures need matplotlib", "plot") from error
    return file


def head(axes: Axes, title: str, below: str) -> None:
    """Write a title, and smaller lines below it."""
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", pad=14 + 11 * (below.count("\n") + 1))
    axes.annotate(
        below, (0, 1), (0, 12), xycoords="axes fraction", textcoords="offset points", fontsize=9, color=GREY
    )


def shades(count: int) -> list[tuple[float, float, float]]:
    """Colours from light to dark, equally spaced."""
    from matplotlib.colors import LinearSegmentedColormap

    ramp = LinearSegmentedColormap.from_list("tiles", SHADES)
    positions: Iterable[float] = np.linspace(0, 1, count) if count > 1 else [0.55]
    return [ramp(float(position))[:3] for position in positions]


def whole_ticks(axis: Axis, steps: Sequence[float] | None = None) -> None:
    """Put ticks at whole numbers only, for an axis of counts."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", steps=steps, integer=True, min_n_ticks=1))


def number(value: float, _: object = None) -> str:
    """Return the text of a tick, for axes: all digits to 999,999, then as 2.5 million.  A fraction stays one.

    >>> [number(value) for value in (0, 2.5, 20_000, 2.5e6, 1e12)]
    ['0', '2.5', '20,000', '2.5 million', '1 trillion']
    """
    for exponent, unit in UNITS:
        if value >= 10**exponent:
            return f"{value / 10**exponent:,g} {unit}"
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"
