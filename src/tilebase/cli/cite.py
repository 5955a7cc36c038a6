"""``tilebase cite``: results as statements, with an entry of BibTeX."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tilebase.cli.limits import sooner
from tilebase.cli.options import ShownOptions
from tilebase.errors import UsageError
from tilebase.game.grid import is_shape
from tilebase.runtime.rows import table_text

if TYPE_CHECKING:
    from tilebase.claims.results import Result

FEW = 5
"""Of at most so many results, the first is cited."""
MORE = "The first is cited above; tilebase cite RESULT cites one of the others."
FEWER = (
    "tilebase cite RESULT cites one, also as BibTeX; more words, as in tilebase cite 3x4 256 win, list fewer"
)


def cite(
    *result: Annotated[
        str,
        Parameter(
            help="The name of a result or its beginning; words from its board, question, group or authors, "
            "such as 3x4 256; a JSON file that --record wrote; or tilebase, which cites the program. "
            "Default: all results are listed."
        ),
    ],
    group: Annotated[
        str | None, Parameter(help="List one group: published, recomputed, improved, new or open.")
    ] = None,
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Print a result as a sentence to cite.

    Also prints its command and version, and an entry for BibTeX. If several results match the words, they are
    listed; if they are few, the first is cited, improved results before others. The page Results of the
    documentation has all results, in five groups.

    tilebase cite new-3x3-to-64-probability-to-lose-under

    tilebase cite 3x4 256

    tilebase cite --group open

    tilebase cite tilebase
    """
    show = shown.checked()
    from tilebase.claims.results import GROUPS, cited_program, find_results, results

    if group is not None and group not in GROUPS:
        raise UsageError(f"group {group!r} does not exist: choose one of {', '.join(GROUPS)}")
    if result == ("tilebase",) and group is None:
        rows = [{"bibtex": cited_program()}]
        show.write(rows, rows[0], text=rows[0]["bibtex"], game=None)
        return 0
    found = find_results(*result) if result else results()
    if len(found) > 1 or not result:
        found = tuple(one for one in found if group in (None, one.group))
    if len(found) != 1:
        few = result and 0 < len(found) <= FEW
        if few:
            found = tuple(sorted(found, key=lambda one: one.group != "improved"))
        rows = [{"result": one.name, "group": one.group, "value": one.answer} for one in found]
        first = f"{_cited(found[0])}\n" if few else ""
        text = f"{first}{table_text(rows)}\n{MORE if first else FEWER}\n"
        show.write(rows, [one.as_dict() for one in found], text=text, game=None)
        return 0
    (one,) = found
    show.write([one.as_dict()], one.as_dict() | {"bibtex": one.bibtex()}, text=_cited(one), game=None)
    return 0


def _cited(one: Result) -> str:
    """Return a result as a statement and as BibTeX, and how to learn what computing it again takes."""
    from tilebase.cli.commands import is_planned

    words = shlex.split(one.command or "")
    plan = shlex.join(["tilebase", "plan", *words[1:]])
    again = f"\n{plan} says what this takes here\n" if is_planned(words[1:]) else ""
    bound = one.kind in ("lower", "interval") and "--limits" not in words
    if bound and words[1:2] == ["solve"] and is_shape(words[2]) and words[3].isdecimal():
        again += sooner(" ".join(words[2:4]))
    return f"{one.text()}\n\n{one.bibtex()}{again}"
