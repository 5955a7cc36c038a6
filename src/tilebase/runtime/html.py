"""Results as HTML, as notebooks show them: tables without styles of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any


def table_html(caption: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a table with a caption; whole numbers have thousands separators.

    >>> table_html("2x2", [{"sum": 4, "states": 1200}])
    '<table><caption>2x2</caption><tr><th>sum</th><th>states</th></tr><tr><td>4</td><td>1,200</td></tr></table>'
    """
    heads = "".join(f"<th>{escape(str(name))}</th>" for name in (rows[0] if rows else ()))
    lines = "".join(
        f"<tr>{''.join(f'<td>{escape(_text(value))}</td>' for value in row.values())}</tr>" for row in rows
    )
    return f"<table><caption>{escape(caption)}</caption><tr>{heads}</tr>{lines}</table>"


def _text(value: Any) -> str:
    return f"{value:,}" if type(value) is int else str(value)
