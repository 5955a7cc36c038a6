"""``tilebase explain``: what a word means."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import DEFAULT_SHOWN, ShownOptions


def explain(
    word: Annotated[
        str | None,
        Parameter(help="An objective, a type, a rule, a formation or FILE.toml, or a term; all if left out."),
    ] = None,
    *,
    shown: ShownOptions = DEFAULT_SHOWN,
) -> int:
    """Say what a word means: an objective, a type of values, a rule of a game, a formation or a term.

    Without a word, all words are listed.

    tilebase explain guaranteed

    tilebase explain masks

    tilebase explain 442
    """
    from tilebase.game.formations import formation
    from tilebase.questions.explain import Explanation, described, words
    from tilebase.questions.explain import explain as ask

    show = shown.checked()
    if word is not None and word.endswith(".toml"):
        found: tuple[Explanation, ...] = (Explanation(word, "formation", described(formation(word))),)
    else:
        found = words() if word is None else ask(word)
    rows = [one.as_dict() for one in found]
    if word is None:
        kinds = dict.fromkeys(one.kind for one in found)
        lines = [f"{kind:9}  {', '.join(one.word for one in found if one.kind == kind)}" for kind in kinds]
    else:
        lines = [f"{one.word} ({one.kind}): {one.text}" for one in found]
    show.write(rows, rows, text="\n".join(lines) + "\n", game=None)
    return 0
