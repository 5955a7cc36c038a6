"""What a computed value must be, given the exact one; and journals that promise other files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path

import pytest

import cached_oracle as oracle
from stored import journal
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Exact, Interval, Lower, Rounded, Upper, Value
from tilebase.tables.answers import Answer


def is_near(objective: Objective, value: object, exact: Fraction) -> bool:
    """Whether a value is as near to the exact one as its type allows, and on the right side."""
    number = Fraction(value)  # type: ignore[arg-type]
    if objective.is_bound:
        slack = {"uint16": Fraction(1, 10**3), "uint32": Fraction(1, 10**8), "uint64": Fraction(1, 10**13)}
        low, high = (number, exact) if objective.name == "lower" else (exact, number)
        return low <= high < low + slack[objective.dtype]
    if objective.dtype in ("bit", "int32"):
        return number == exact
    tolerance = {"float64": 1e-13, "float32": 1e-6, "float16": 5e-3}[objective.dtype]
    # A probability to lose is near to the exact one relative to itself, however small.
    return abs(number - exact) <= tolerance * (abs(exact) if objective.is_cost else max(1, exact))


def check(objective: Objective, value: object, exact: Fraction) -> None:
    """Assert that a value `is_near` the exact one."""
    assert is_near(objective, value, exact), f"{objective.label}: {value}, and exactly {exact}"


def check_boards(game: Game, objective: Objective, values: Iterable[tuple[Cells, object, Fraction]]) -> None:
    """Assert it of boards, each with its value and the exact one.

    The failure names the wrong board of the largest sum: values follow from those of larger sums, so this one
    was not made wrong by another.
    """
    wrong = [entry for entry in values if not is_near(objective, *entry[1:])]
    if wrong:
        board, value, exact = max(wrong, key=lambda entry: game.sum(entry[0]))
        pytest.fail(
            f"{objective.label} of {game}: {len(wrong)} boards are wrong. In the layer of the largest sum, "
            f"{game.sum(board)}, {game.format(board)} has {value}, and exactly {exact}",
            pytrace=False,
        )


def agrees(value: Value, exact: Fraction) -> bool:
    """Whether a probed value in the first type of its objective is the exact one, or bounds it."""
    if isinstance(value, Interval):
        return value.low <= exact <= value.high and value.width < Fraction(1, 10**12)
    if isinstance(value, Lower):
        return exact - Fraction(1, 10**12) < value.bound <= exact
    if isinstance(value, Upper):
        return exact <= value.bound < exact + Fraction(1, 10**12)
    if isinstance(value, Rounded):
        wrong = abs(Fraction(value.value) - exact)
        return wrong <= Fraction(value.error) and wrong <= Fraction(1, 10**13) * max(1, exact)
    return value.value == exact


def check_answer(answer: Answer, exact: oracle.Values, board: Cells) -> None:
    """Everything that an answer says of a board."""
    game = exact.game
    afters = game.slides(board)
    worths = {name: exact.discount * worth for name, worth in oracle.worths(exact, board).items()}
    told = Objective(exact.objective).told
    most = max(worths.values(), default=oracle._end(game, exact.objective, board, False))
    assert answer.board.cells == board
    assert most == exact.states[canonical(game, board)]
    assert agrees(answer.value, told(most))
    assert {slide.direction: slide.cells for slide in answer.slides} == afters
    for slide in answer.slides:
        assert agrees(slide.value, told(worths[slide.direction]))
        assert slide.wins == game.wins(slide.cells)
        check_spawns(game, slide.cells, slide.wins, [(b.cells, p) for b, p in slide.spawns()])
    best = [direction for direction in afters if worths[direction] == most]
    if isinstance(answer.value, Exact | Rounded):
        assert list(answer.best) == best
    else:
        assert set(best) <= set(answer.best)
        assert all(most - worths[direction] < Fraction(1, 10**12) for direction in answer.best)


def check_spawns(game: Game, after: Cells, wins: bool, spawns: list[tuple[Cells, Fraction]]) -> None:
    """The states that a spawn may lead to, with their probabilities."""
    free = [cell for cell in range(game.cells) if after[cell] == 0 and cell not in game.walls]
    four = Fraction(str(game.spawn))
    chances = {e: p for e, p in ((1, 1 - four), (2, four)) if p}
    expected = {
        (*after[:cell], e, *after[cell + 1 :]): p / len(free) for cell in free for e, p in chances.items()
    }
    over = wins or game.ended(game.sum(after))
    assert dict(spawns) == ({} if over else expected)
    assert len(dict(spawns)) == len(spawns)
    assert over or sum(p for _, p in spawns) == 1


def promise(file: Path, checksums: Mapping[int, str]) -> None:
    """Make a journal promise files with these checksums: of the afterstates of a sum, or of its values."""
    lines = [json.loads(line.partition("\t")[0]) for line in file.read_text().splitlines()]
    for line in lines:
        if line.get("sum") in checksums:
            files, name = (line["files"], "afterstates") if "files" in line else (line, "file")
            files[name] = checksums[line["sum"]]
    file.write_text(journal(*lines))
