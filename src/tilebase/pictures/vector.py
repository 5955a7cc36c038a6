"""Pictures of boards, which are SVG (`small.layered`), in files: as they are, or drawn by matplotlib.

Of SVG it knows what these graphs have: rectangles, circles, text, paths of lines and curves, moved groups,
and pictures within the picture.  An attribute of an outer picture holds for the text in it, as in SVG.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from tilebase.pictures.drawing import picture, with_metadata
from tilebase.runtime.storage import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Patch

POINTS = 72
"""Points in an inch: a unit of SVG is drawn as a point."""
NARROW = 0.92
"""The font size of matplotlib's font, which is wider than the one that SVG names."""
ANCHORS = {"start": "left", "middle": "center", "end": "right"}
_STEP = re.compile(r"([MmLHhVvCz])([^MmLHhVvCz]*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def draw_svg(svg: str, file: Path) -> tuple[float, float]:
    """Draw a picture into a file, in the format of its suffix; return its width and height in inches.

    Raises as `drawing.picture` does.
    """
    root = ElementTree.fromstring(svg)
    width, height = _numbers(root.attrib["viewBox"])[2:]
    if file.suffix.lower() == ".svg":
        write_whole(file, with_metadata(svg))
        return width / POINTS, height / POINTS
    with picture(file, width / POINTS, height / POINTS) as figure:
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        axes.axis("off")
        _draw(root, _Pen(axes, width, height))
    return width / POINTS, height / POINTS


def _numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(text)]


@dataclass(frozen=True)
class _Pen:
    """Where an element is drawn: the size of its picture, its origin, its scale, and what it inherits."""

    axes: Axes
    width: float
    height: float
    left: float = 0.0
    top: float = 0.0
    scale: float = 1.0
    given: Mapping[str, str] = field(default_factory=dict)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return a place of the element on the axes."""
        return self.left + self.scale * x, self.top + self.scale * y

    def moved(self, x: float, y: float, scale: float, width: float, height: float, given: Any) -> _Pen:
        """Return the pen of an inner element."""
        return _Pen(self.axes, width, height, *self.at(x, y), self.scale * scale, {**self.given, **given})

    def style(self, element: ElementTree.Element) -> dict[str, Any]:
        """Return the colours and the line of a shape."""
        stroke = element.get("stroke", "none")
        dashes = [self.scale * length for length in _numbers(element.get("stroke-dasharray", ""))]
        return {
            "facecolor": element.get("fill", "black"),
            "edgecolor": (stroke, float(element.get("stroke-opacity", 1))) if stroke != "none" else "none",
            "linewidth": self.scale * float(element.get("stroke-width", 1)),
            "linestyle": (0, dashes) if dashes else "-",
        }


def _draw(element: ElementTree.Element, pen: _Pen) -> None:
    """Draw an element, and the elements in it."""
    name = element.tag.rpartition("}")[2]
    if name in SHAPES:
        pen.axes.add_patch(SHAPES[name](element, pen))
    elif name == "text":
        _write(element, pen)
    elif name in ("svg", "g"):
        inner = _inside(element, pen)
        for child in element:
            _draw(child, inner)


def _inside(element: ElementTree.Element, pen: _Pen) -> _Pen:
    """Return the pen in a group, or in a picture."""
    if "viewBox" in element.attrib:
        width, height = _numbers(element.attrib["viewBox"])[2:]
        x, y = (float(element.get(name, 0)) for name in ("x", "y"))
        return pen.moved(x, y, float(element.attrib["width"]) / width, width, height, element.attrib)
    x, y = _numbers(element.get("transform", "0 0"))
    return pen.moved(x, y, 1.0, pen.width, pen.height, {})


def _write(element: ElementTree.Element, pen: _Pen) -> None:
    about = {**pen.given, **element.attrib}
    pen.axes.text(
        *pen.at(float(about["x"]), float(about["y"])), "".join(element.itertext()), color=about["fill"],
        fontsize=NARROW * pen.scale * float(about["font-size"]), weight=about.get("font-weight", "normal"),
        ha=ANCHORS[about.get("text-anchor", "start")], va="baseline", parse_math=False,
    )  # fmt: skip


def _rectangle(element: ElementTree.Element, pen: _Pen) -> Patch:
    from matplotlib.patches import BoxStyle, FancyBboxPatch

    x, y = (float(element.get(name, 0)) for name in ("x", "y"))
    whole = {"width": pen.width, "height": pen.height}
    width, height = (
        whole[name] if element.attrib[name] == "100%" else float(element.attrib[name]) for name in whole
    )
    box = BoxStyle("Round", pad=0, rounding_size=pen.scale * float(element.get("rx", 0)))
    return FancyBboxPatch(
        pen.at(x, y), pen.scale * width, pen.scale * height, boxstyle=box, **pen.style(element)
    )


def _circle(element: ElementTree.Element, pen: _Pen) -> Patch:
    from matplotlib.patches import Circle

    x, y, radius = (float(element.attrib[name]) for name in ("cx", "cy", "r"))
    return Circle(pen.at(x, y), pen.scale * radius, **pen.style(element))


def _path(element: ElementTree.Element, pen: _Pen) -> Patch:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Line

    codes = {"M": Line.MOVETO, "L": Line.LINETO, "C": Line.CURVE4, "z": Line.CLOSEPOLY}
    steps = list(_steps(element.attrib["d"]))
    places = [pen.at(*place) for _, place in steps]
    return PathPatch(Line(places, [codes[letter] for letter, _ in steps]), **pen.style(element))


def _steps(text: str) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield the steps of a path: M, L, C for each of three places, or z, and the place that each leads to."""
    x = y = 0.0
    for letter, rest in _STEP.findall(text):
        numbers = _numbers(rest)
        if letter in "hmv":  # relative to the last place
            right, down = {"h": (*numbers, 0), "v": (0, *numbers), "m": numbers}[letter]
            x, y = x + right, y + down
            yield ("M" if letter == "m" else "L"), (x, y)
        elif letter in "HV":
            x, y = (numbers[0], y) if letter == "H" else (x, numbers[0])
            yield "L", (x, y)
        elif letter == "z":
            yield "z", (x, y)
        else:
            for x, y in zip(numbers[::2], numbers[1::2], strict=True):
                yield letter, (x, y)


SHAPES: dict[str, Callable[[ElementTree.Element, _Pen], Patch]] = {
    "rect": _rectangle, "circle": _circle, "path": _path,
}  # fmt: skip
"""The elements that are shapes, and what each is for matplotlib."""
