"""Text for LaTeX and BibTeX."""

from __future__ import annotations

_SIGNS = {
    **{sign: "\\" + sign for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "≈": r"$\approx$", "≤": r"$\leq$", "≥": r"$\geq$", "±": r"$\pm$", "×": r"$\times$", "−": "$-$",
}  # fmt: skip


def latex_escaped(text: str) -> str:
    """Return text with the signs escaped that LaTeX reads otherwise, or does not have.

    >>> print(latex_escaped("≈ 5 %, 2^32"))
    $\\approx$ 5 \\%, 2\\textasciicircum{}32
    """
    return "".join(_SIGNS.get(sign, sign) for sign in text)
