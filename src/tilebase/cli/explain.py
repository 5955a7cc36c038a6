"""``tilebase explain``: what a word means."""

from __future__ import annotations

import inspect
import re
from textwrap import fill
from typing import Annotated

from cyclopts import App, Parameter

from tilebase.cli.library import is_board_alone, offer
from tilebase.cli.options import ShownOptions
from tilebase.errors import UsageError

MOST_HELPS = 8
"""Commands whose help speaks of a word; of a common word, which more have, none is named."""


def explain(
    *word: Annotated[
        str,
        Parameter(
            help="Objectives, types, rules, formations or FILE.toml, terms, columns, benchmarks, a board; "
            "default: all."
        ),
    ],
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Explain a word: objectives, rules, formations, benchmarks.

    Without a word, lists all words. Of a board, lists the games that have it.

    tilebase explain guaranteed

    tilebase explain masks

    tilebase explain 442
    """
    from tilebase.game.formations import formation
    from tilebase.questions.explain import Explanation, described, words
    from tilebase.questions.explain import explain as ask

    show = shown.checked()
    if len(word) == 1 and is_board_alone(word[0]):
        offer(word[0], show)
        return 0
    if len(word) == 1 and word[0].endswith(".toml"):
        found: tuple[Explanation, ...] = (Explanation(word[0], "formation", described(formation(word[0]))),)
    else:
        try:
            found = ask(" ".join(word)) if word else words()
        except UsageError as error:
            if not (helps := _helps(" ".join(word).lower())):
                raise
            raise UsageError(f"{error}; --help of these speaks of it: {', '.join(helps)}") from error
    rows = [vars(one) for one in found]
    if not word:
        kinds = dict.fromkeys(one.kind for one in found)
        lines = [
            fill(
                ", ".join(one.word for one in found if one.kind == kind), 100, initial_indent=f"{kind:9}  ",
                subsequent_indent=" " * 11, break_on_hyphens=False,
            )
            for kind in kinds
        ]  # fmt: skip
    else:
        lines = [f"{one.word} ({one.kind}): {one.text}" for one in found]
    show.write(rows, rows, text="\n".join(lines) + "\n", game=None)
    return 0


def _helps(word: str) -> list[str]:
    """Return the commands whose help, without that of options, has a word or its plural."""
    from tilebase.cli.commands import app, load_commands

    load_commands()
    pages: list[tuple[tuple[str, ...], App]] = [((name,), app[name]) for name in app]
    pages += [((*names, more), one[more]) for names, one in pages for more in one if more[0] != "-"]
    there = re.compile(rf"(?<!\w){re.escape(word)}s?(?!\w)", re.IGNORECASE)
    found = [
        " ".join(("tilebase", *names))
        for names, one in pages
        if there.search(inspect.getdoc(one.default_command) or "")
    ]
    return found if len(found) <= MOST_HELPS else []
