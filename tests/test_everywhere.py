"""Every objective, every field of a game and every printed label is known wherever users meet them.

The rules of both stand in one place, `MEANINGS` and `Game`.  These tests fail if one is added there and is
missing in the documentation, in the attacks or in what is written as JSON; tests/test_page.py asks the page.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from pathlib import Path

import pytest

import second_reader
from attack import rules
from conformance.games import GAMES
from pages import DOCS, TABLES
from tilebase.cli import main, output
from tilebase.cli.commands import NAMES
from tilebase.cli.options import RARE_RULES
from tilebase.costs.rows import SPACES
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.objectives.objective import DISCOUNTED, MEANINGS, Meaning, Objective
from tilebase.objectives.types import TYPES
from tilebase.policies import BUILT_IN
from tilebase.questions.exact import PLAYS
from tilebase.questions.explain import explain
from tilebase.questions.force import ENGINES
from tilebase.runtime.paths import VARIABLES

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
    lost = f"0 if it is won, else {meaning.lost}" if meaning.lost else "0"
    won = "1 if it is won, else 0" if meaning.win else lost
    assert end == {"largest": "the largest tile on the board, x aside"}.get(meaning.end, won)
    assert spawns == meaning.spawns
    assert types == ", ".join(f"`{one}`" for one in meaning.types)


def test_engines_add_no_merges_to_the_least() -> None:
    """An objective of other parts needs more than its line: in `TakeLargest` a lost state is the least."""
    assert {meaning.spawns for meaning in MEANINGS.values() if meaning.merge} == {"mean", "largest"}


def test_the_second_reader_and_the_rules_of_the_attacks_know_every_objective() -> None:
    assert {*rules.MEASURES, "lower", "upper"} == set(MEANINGS)
    assert {*rules.DISCOUNTED, "lower", "upper"} == set(DISCOUNTED)
    assert {
        name: (one.win, one.lost, one.slide, one.merge, bool(one.end), one.spawns, one.rounding)
        for name, one in MEANINGS.items()
    } == second_reader.MEANINGS


@pytest.mark.parametrize("name", MEANINGS)
def test_json_knows_an_objective(name: str) -> None:
    for one in MEANINGS[name].types:
        objective = Objective(name, one)
        assert Objective.from_identity(json.loads(json.dumps(objective.identity))) == objective


@pytest.mark.parametrize("field", OPTIONS)
def test_the_docs_and_json_know_a_field_of_a_game(field: str) -> None:
    option = f"--{field.replace('_', '-')}"
    assert f"{option} " in TABLES["shared_options"]() or option[2:] in RARE_RULES
    assert f"`{FILED.get(field, field)}`" in (DOCS / "format.md").read_text("utf-8")
    assert re.search(
        rf"{option}\b|`{field}`|^{option[2:]} = ", (DOCS / "game.md").read_text("utf-8"), re.MULTILINE
    )
    default = {one.name: one.default for one in dataclasses.fields(Game)}[field]
    games = [game for game in GAMES if getattr(game, field) != default]
    assert games
    for game in games:
        assert Game.from_identity(json.loads(json.dumps(game.identity))) == game


SOURCES = Path(output.__file__).parents[1]
LABELLED = """
solve 2x2 32 -o t --objective win,lower,upper,score
solve exact 2x2 16
count 2x2 32
count 2x2 32 --by sum,max
plan count 2x2 32
plan formations
plan formations 128
rank 2x2 32
force largest 2x2
rank 2x2 32 --at 30,17
force 2x2 8 -c c.cert
force diagrams 2x2 8
limits 2x2 8 --minimal --start empty
limits 2x3 16 --budget 0.1s
lemma 2x3 64
probe t 2,4/0,8
evaluate t greedy
evaluate t t --distribution length
thin t --above 0.1 -o smaller
verify t
verify c.cert
review t game.txt
export page t -o page
export values t --states -o v.csv
reach lemmas 2x2
reach checkerboard 2x3
cite 3x4 256
reproduce endgames --budget 0.01s
runs
explain
"""
"""A command of each name that prints a table, and options that print another one."""
UNLABELLED = {"play", "serve"}
"""Commands that print no table."""


def test_each_label_that_a_command_prints_is_explained(folder, monkeypatch, capsys) -> None:
    """Titles of games, formations, tiles and numbers have digits, and are no words."""
    labels: set[str] = set()
    write = output.Shown.write

    def collect(show, rows, *rest, **options):
        for row in rows:
            labels.update(row)
            labels.add(str(row.get("", "")))
        write(show, rows, *rest, **options)

    monkeypatch.setattr(output.Shown, "write", collect)
    commands = [shlex.split(line) for line in LABELLED.strip().splitlines()]
    assert {words[0] for words in commands} == NAMES - UNLABELLED
    (folder / "game.txt").write_text("2,4/0,8\n0,4/2,8\n")
    for words in commands:
        assert main(words) == 0, (words, capsys.readouterr().err)
    words = {label.strip() for label in labels if label.strip() and not re.search(r"\d", label)}
    assert {"regret", "optimal", "boards", "afterstates", "at_least"} <= words
    assert not [word for word in sorted(words) if not _explained(word)]


@pytest.mark.parametrize(
    "names", [MEANINGS, TYPES, VARIABLES, BUILT_IN, ENGINES, SPACES, PLAYS, OPTIONS], ids=len
)
def test_each_name_that_an_option_takes_is_explained(names) -> None:
    assert [name for name in names if not _explained(name)] == []


def _explained(word: str) -> bool:
    try:
        return bool(explain(word))
    except UsageError:
        return False


def test_each_variable_that_the_program_reads_is_explained() -> None:
    read = {
        name
        for path in SOURCES.rglob("*.py")
        for name in re.findall(r"TILEBASE_[A-Z]+(?:_[A-Z]+)*", path.read_text("utf-8"))
    }
    assert read == set(VARIABLES)
