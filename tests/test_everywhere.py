"""Every objective and every field of a game is known wherever users meet them.

The rules of both stand in one place, `MEANINGS` and `Game`.  These tests fail if one is added there and is
missing in the documentation, in the attacks or in what is written as JSON; tests/test_page.py asks the page.
"""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from attack import rules, tables
from conformance.games import GAMES
from tilebase.game.game import Game
from tilebase.objectives.objective import DISCOUNTED, MEANINGS, Meaning, Objective

DOCS = Path(__file__).parents[1] / "docs"
FIELDS = [field.name for field in dataclasses.fields(Game)]
FILED = {"spawn": "four"}
"""Fields that have another name in files."""
OPTIONS = FIELDS[2:]  # a shape and a goal are given without a name


def cells(name: str, row: str) -> list[str]:
    """The row of an objective in the table of a page that ends with its types, cell by cell."""
    lines = [line for line in (DOCS / name).read_text("utf-8").splitlines() if line.startswith("| `")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    (found,) = [one for one in rows if f"`{row}`" in one[0] and Objective(row).dtype in one[-1]]
    return found


@pytest.mark.parametrize(("name", "meaning"), MEANINGS.items())
def test_the_docs_know_an_objective(name: str, meaning: Meaning) -> None:
    assert cells("solving.md", name)[-1] == ", ".join(meaning.types)
    *_, end, spawns, types = cells("format.md", name)
    won = (
        "1 if it is won, else 0"
        if meaning.win
        else f"0 if it is won, else {meaning.lost}"
        if meaning.lost
        else "0"
    )
    assert (end, spawns) == (
        {"largest": "the largest tile on the board, x aside"}.get(meaning.end, won),
        meaning.spawns,
    )
    assert types == ", ".join(f"`{one}`" for one in meaning.types)


def test_engines_add_merges_in_means_only() -> None:
    """An objective of other parts needs more than its line: `ExtremeFold` and its kernels add no merges."""
    assert {meaning.spawns for meaning in MEANINGS.values() if meaning.merge} == {"mean"}


def test_the_attacks_solve_every_objective_in_every_type() -> None:
    asked = {Objective(*word.partition(":")[::2]) for word in (*tables.WINNING, *tables.ALWAYS)}
    assert asked == {Objective(name, one) for name, meaning in MEANINGS.items() for one in meaning.types}
    assert set(tables.MEANS) == set(DISCOUNTED)
    assert {*rules.MEASURES, "lower", "upper"} == set(MEANINGS)


@pytest.mark.parametrize("name", MEANINGS)
def test_json_knows_an_objective(name: str) -> None:
    for one in MEANINGS[name].types:
        objective = Objective(name, one)
        assert Objective.from_identity(json.loads(json.dumps(objective.identity))) == objective


@pytest.mark.parametrize("field", OPTIONS)
def test_the_docs_and_json_know_a_field_of_a_game(field: str) -> None:
    option = f"--{field.replace('_', '-')}"
    assert f"{option} " in (DOCS / "cli.md").read_text("utf-8")
    assert f"`{FILED.get(field, field)}`" in (DOCS / "format.md").read_text("utf-8")
    assert re.search(rf"{option}\b|`{field}`", (DOCS / "game.md").read_text("utf-8"))
    default = {one.name: one.default for one in dataclasses.fields(Game)}[field]
    games = [game for game in GAMES if getattr(game, field) != default]
    assert games
    for game in games:
        identity = json.loads(json.dumps(game.identity))
        assert Game.from_identity(identity) == game
