"""``tilebase cite``: results as statements, with an entry of BibTeX."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import DEFAULT_SHOWN, ShownOptions
from tilebase.errors import UsageError


def cite(
    result: Annotated[
        str | None,
        Parameter(
            help="The name of a result, or how it begins, or a JSON file that solve, count or force wrote; "
            "all names if left out."
        ),
    ] = None,
    *,
    group: Annotated[
        str | None, Parameter(help="List one group: published, recomputed, improved, new or open.")
    ] = None,
    shown: ShownOptions = DEFAULT_SHOWN,
) -> int:
    """Print a result as a statement that can be cited, with its command and version, and as BibTeX.

    docs/results.md lists them all in five groups.

    tilebase cite new-3x3-to-64-probability-to-lose-under

    tilebase cite --group open
    """
    show = shown.checked()
    from tilebase.questions.results import GROUPS, find_result, results

    if group is not None and group not in GROUPS:
        raise UsageError(f"group {group!r} does not exist: choose one of {', '.join(GROUPS)}")
    if result is None:
        found = [one for one in results() if group in (None, one.group)]
        rows = [{"result": one.name, "group": one.group, "value": one.value} for one in found]
        show.write(rows, [one.as_dict() for one in found], game=None)
        return 0
    one = find_result(result)
    text = f"{one.text()}\n\n{one.bibtex()}"
    show.write([one.as_dict()], one.as_dict() | {"bibtex": one.bibtex()}, text=text, game=None)
    return 0
