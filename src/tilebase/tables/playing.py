"""Playing with a table: random starts, spawns of chance or of an adversary, games of optimal play."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeVar

from tilebase.errors import MissingBoardError, UsageError, check_first
from tilebase.game.board import Board
from tilebase.game.records import Move, Record
from tilebase.objectives.values import Found
from tilebase.tables.answers import LOST, WON
from tilebase.tables.probe import Table
from tilebase.tables.real_boards import AnyBoard
from tilebase.tables.solved import Solved

State = TypeVar("State", bound=AnyBoard)
MOST_TRIES = 200
"""How often a random position is looked for before none is said to exist."""
MOST_GAMES = 8
"""Most games that are played for a position: one that lasts meets nine sums in ten."""


def worth(solved: Solved, state: AnyBoard, objective: str | None = None) -> float:
    """Return the value of a state as a number; infinite if it is won, or if nothing is known of it.

    So an adversary, who takes the least, spawns what leads there only if nothing else is left.
    """
    answer = None if state.won else solved.get(state, None, objective)
    return float("inf") if answer is None else answer.rank


def choose_state(
    solved: Solved,
    states: Sequence[tuple[State, Fraction]],
    rng: random.Random,
    *,
    worst: bool = False,
    objective: str | None = None,
) -> State:
    """Return one of some states: at random by their probabilities, or (`worst`) the one that is worth least.

    Of several that are worth least, it is a random one.
    """
    found = [state for state, _ in states]
    if not worst:
        return rng.choices(found, [float(p) for _, p in states])[0]
    worths = [worth(solved, state, objective) for state in found]
    least = min(worths)
    return rng.choice([state for state, value in zip(found, worths, strict=True) if value == least])


@dataclass(frozen=True)
class Played:
    """A game of optimal play.

    Attributes
    ----------
    record:
        The start and the moves.
    states, values:
        The states in which a slide was made, and their values.
    end:
        `WON`, `LOST` or `ENDED`; empty if the table does not hold the last state.
    """

    record: Record
    states: tuple[Board, ...]
    values: tuple[Found, ...]
    end: str


def play_game(
    table: Table,
    rng: random.Random,
    *,
    objective: str | None = None,
    start: Board | None = None,
    worst: bool = False,
    last: int | None = None,
) -> Played:
    """Play a whole game optimally, against chance or (`worst`) against the adversary.

    With `last` the game is left at a state of this sum or a larger one, whose value is not asked.
    Raises the errors of `Table.probe` for the start.
    """
    check_first(table, Table, "an open table: open_table(...)")
    state = start or choose_state(table, table.start_states(), rng, worst=worst, objective=objective)
    first, end = state, ""
    states: list[Board] = []
    values: list[Found] = []
    moves: list[Move] = []
    while not end:
        if state.won:
            end = WON
            break
        if last is not None and state.sum >= last:
            states.append(state)
            break
        answer = table.probe(state, objective) if not states else table.get(state, None, objective)
        if answer is None:
            break
        slide = answer.slide(answer.draw(rng))
        if slide is None:
            end = "" if answer.slides else LOST
            break
        after, end = Board(table.game, slide.cells), slide.end
        states.append(state)
        values.append(answer.value)
        if end:
            moves.append(Move(slide.direction))
            break
        state = choose_state(table, after.spawns(), rng, worst=worst, objective=objective)
        cell = next(cell for cell, e in enumerate(state.cells) if e != after.cells[cell])
        moves.append(Move(slide.direction, cell, state.cells[cell]))
    return Played(Record(first.cells, tuple(moves)), tuple(states), tuple(values), end)


def random_position(
    table: Table,
    rng: random.Random,
    total: int | None = None,
    *,
    by: Literal["uniform", "optimal"] = "uniform",
    objective: str | None = None,
) -> Board:
    """Return a random state in which a slide is allowed.

    Parameters
    ----------
    total:
        The sum of its tiles; None for a random one.
    by:
        ``"uniform"``: a random stored afterstate with a random spawn on it, each afterstate of the sum with
        the same probability; ``"optimal"``: one from a random game of optimal play.

    Raises
    ------
    UsageError
        If there is no such way to choose.
    MissingBoardError
        If no state of this sum was found in 200 attempts (8 games).
    """
    check_first(table, Table, "an open table: open_table(...)")
    if by not in ("uniform", "optimal"):
        raise UsageError(f"a random position is chosen uniform or optimal, not {by!r}")
    found = _stored_states(table, rng, total) if by == "uniform" else _met(table, rng, total, objective)
    for state in found:
        if not state.won and state.slides():
            return state
    where = "" if total is None else f" of sum {total}"
    raise MissingBoardError(f"{table.location.name} has no position{where} to begin with: try another sum")


def _stored_states(table: Table, rng: random.Random, total: int | None) -> Iterator[Board]:
    """Yield states that a spawn makes of random stored afterstates."""
    game = table.game
    layers = table.prober.sums()
    sums = [s for s in layers if not game.ended(s)]
    boards = [table.prober.count(s) for s in sums] if total is None else []
    exponents = [e for e in game.spawn_exponents if total is None or total - (1 << e) in layers]
    if not exponents or (total is None and not any(boards)):
        return
    chances = [float(game.spawn.chance(e)) for e in exponents]
    for _ in range(MOST_TRIES):
        chosen = rng.choices(sums, boards)[0] if total is None else 0
        exponent = rng.choices(exponents, chances)[0]
        before = chosen if total is None else total - (1 << exponent)
        count = table.prober.count(before)
        if not count or game.ended(before):
            continue
        after = table.prober.at(before, rng.randrange(count))
        empty = [cell for cell, e in enumerate(after) if not e and cell not in game.walls]
        if empty:
            cell = rng.choice(empty)
            yield Board(game, (*after[:cell], exponent, *after[cell + 1 :]))


def _met(table: Table, rng: random.Random, total: int | None, objective: str | None) -> Iterator[Board]:
    """Yield states of random games of optimal play."""
    for _ in range(MOST_GAMES):
        states = play_game(table, rng, objective=objective, last=total).states
        fitting = [state for state in states if total is None or state.sum == total]
        if fitting:
            yield rng.choice(fitting)
