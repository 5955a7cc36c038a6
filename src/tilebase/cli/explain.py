"""``tilebase explain``: what a word means."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from itertools import chain
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from tilebase.cli.library import is_board_alone, offer
from tilebase.cli.options import ShownOptions
from tilebase.errors import UsageError

if TYPE_CHECKING:
    from tilebase.questions.explain import Explanation

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
    """Explain words: objectives, rules, formations, benchmarks.

    Without a word, lists all words. Of a board, lists the games that have it.

    tilebase explain guaranteed

    tilebase explain masks

    tilebase explain 442
    """
    from tilebase.game.formations import formation
    from tilebase.questions.explain import Explanation, described, words

    show = shown.checked()
    if len(word) == 1 and is_board_alone(word[0]):
        offer(word[0], show)
        return 0
    found, unknown = list(words()), []
    if len(word) == 1 and word[0].endswith(".toml"):
        found = [Explanation(word[0], "formation", described(formation(word[0])))]
    elif word:
        found, unknown = _asked(word)
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
    if found:
        show.write(rows, rows, text="\n".join(lines) + "\n", game=None)
    if unknown:
        raise UsageError("; ".join(unknown))
    return 0


def _asked(words: Sequence[str]) -> tuple[list[Explanation], list[str]]:
    """Return the meanings of words, as one name or else of each alone, and why others have none."""
    from tilebase.questions.explain import explain as ask

    try:
        return list(ask(" ".join(words))), []
    except UsageError as error:
        if len(words) == 1:
            helps = _helps(words[0].lower())
            spoken = f"; --help of these speaks of it: {', '.join(helps)}" if helps else ""
            return [], [f"{error}{spoken}"]
    found, unknown = zip(*(_asked([one]) for one in words), strict=True)
    return list(dict.fromkeys(chain.from_iterable(found))), list(chain.from_iterable(unknown))


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
