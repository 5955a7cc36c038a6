"""Rows as text: read from tables of the package, written as aligned columns, Markdown, LaTeX, HTML or CSV.

A row maps the names of columns to values; all rows of a table have the columns of the first one.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]
NOTHING = "nothing to show\n"
"""What stands for a table without rows."""
_SIGNS = {
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "≈": r"$\approx$", "≤": r"$\leq$", "≥": r"$\geq$", "±": r"$\pm$", "×": r"$\times$", "−": "$-$",
}  # fmt: skip


def read_rows(package: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a file of tab-separated columns in a package, as ``read_rows("game", "words.tsv")``.

    >>> read_rows("game", "formations.tsv")[0]["name"]
    'L3'
    """
    text = files("tilebase").joinpath(package, name).read_text("utf-8")
    return [row for _, row in numbered_rows(text)]


def numbered_rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of tab-separated text, each with the number of its line, from 1.

    The first line names the columns.  Blank lines and those that begin with # do not count.  A row may lack
    its last columns.

    >>> list(numbered_rows("# tiles\\nsum\\tnote\\n4\\n"))
    [(3, {'sum': '4'})]
    """
    names: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split("\t")
        if names:
            yield number, dict(zip(names, words, strict=False))
        names = names or words


def table_text(rows: Sequence[Row]) -> str:
    """Return aligned columns, with thousands separators.

    >>> print(table_text([{"sum": 4, "states": 1200}]), end="")
    sum  states
      4   1,200
    """
    if not rows:
        return NOTHING
    lines = _lines(rows)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numeric = _are_numbers(rows)
    return "".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        + "\n"
        for line in lines
    )


def markdown_text(rows: Sequence[Row]) -> str:
    """Return a table of Markdown, numbers to the right.

    >>> print(markdown_text([{"sum": 4, "states": 1200}]), end="")
    | sum | states |
    |---:|---:|
    | 4 | 1,200 |
    """
    if not rows:
        return NOTHING
    sides = ("---:" if right else "---" for right in _are_numbers(rows))
    head, *rest = (
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in _lines(rows)
    )
    return "\n".join([head, f"|{'|'.join(sides)}|", *rest]) + "\n"


def latex_text(rows: Sequence[Row]) -> str:
    """Return a table of LaTeX, a ``tabular`` without packages.

    >>> print(latex_text([{"sum": 4, "share": "50 %"}]), end="")
    \\begin{tabular}{rl}
    sum & share \\\\
    \\hline
    4 & 50 \\% \\\\
    \\end{tabular}
    """
    if not rows:
        return NOTHING
    columns = "".join("r" if right else "l" for right in _are_numbers(rows))
    head, *rest = (" & ".join(latex_escaped(cell) for cell in line) + r" \\" for line in _lines(rows))
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", head, r"\hline", *rest, r"\end{tabular}"]) + "\n"


def latex_escaped(text: str) -> str:
    """Return text with the signs escaped that LaTeX reads otherwise, or does not have.

    >>> print(latex_escaped("≈ 5 %, 2^32"))
    $\\approx$ 5 \\%, 2\\textasciicircum{}32
    """
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def html_text(caption: str, rows: Sequence[Row]) -> str:
    """Return a table of HTML with a caption, as notebooks show it, without styles of its own.

    >>> html_text("2x2", [{"sum": 4, "states": 1200}])
    '<table><caption>2x2</caption><tr><th>sum</th><th>states</th></tr><tr><td>4</td><td>1,200</td></tr></table>'
    """
    head, *rest = _lines(rows) if rows else [[]]
    lines = [[f"<th>{escape(cell)}</th>" for cell in head]]
    lines += [[f"<td>{escape(cell)}</td>" for cell in line] for line in rest]
    body = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
    return f"<table><caption>{escape(caption)}</caption>{body}</table>"


def csv_text(rows: Sequence[Row]) -> str:
    """Return comma-separated values, with a line that names the columns; nothing if there are no rows.

    >>> csv_text([{"sum": 4, "board": "2,2"}])
    'sum,board\\n4,"2,2"\\n'
    """
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return out.getvalue()


def _lines(rows: Sequence[Row]) -> list[list[str]]:
    """Return the names of the columns and the cells of each row, as text on one line."""
    names = list(rows[0])
    return [names, *([_cell(row[name]) for name in names] for row in rows)]


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else " ".join(str(value).splitlines())


def _are_numbers(rows: Sequence[Row]) -> list[bool]:
    return [isinstance(value, int | float) and not isinstance(value, bool) for value in rows[0].values()]
