"""What can be asked where a query is refused because it takes too long: commands, and what each answers.

A command is named only if it is accepted: it passes the checks that it makes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from tilebase.claims.results import board_of, find_results, results
from tilebase.costs.estimate import Estimate
from tilebase.counting.tiles import least_slides
from tilebase.errors import ResourceError, UsageError
from tilebase.game.formations import formation_of, formations
from tilebase.game.game import Game
from tilebase.game.names import game_text
from tilebase.game.spawns import ORIGINAL
from tilebase.objectives.objective import Objective
from tilebase.questions.force import check_ways

SOON = 60.0
"""Seconds: a look-ahead or a count that is proposed takes at most so long."""
OF_WINS = frozenset(("win", "loss", "lower", "upper", "guaranteed"))
"""The objectives for which only a win or a loss counts."""


def instead_of_solving(
    game: Game,
    objectives: Sequence[Objective],
    takes: Callable[[Game], Estimate],
    fits: Callable[[Estimate], bool],
) -> Iterator[str]:
    """Yield what can be asked instead of the values of a game.

    `takes` estimates the time to solve a game; `fits` says whether a run of this estimate is accepted.
    """
    names = [one.name for one in objectives]
    if "fewest" in names and (least := least_slides(game)) is not None:
        yield f"no play wins in fewer than {least} slides (Dabish 2026)"
    asked = tuple(objective.text.partition(",")[0] for objective in objectives)
    yield from _recorded(game, lambda question: question.startswith(asked))
    if formation_of(game) is None and "fewest" not in names:
        yield from _look_ahead(game, objectives, takes, fits)
    if OF_WINS.intersection(names):
        with suppress(UsageError):
            check_ways(game, None, None, None)
            spawned = ",".join(str(2**e) for e in game.spawn_exponents)
            named = game_text(game.changed(spawn=ORIGINAL))
            named += "" if spawned == "2,4" else f" --spawns {spawned}"
            named += " --start two-tiles" if game.start == "two-tiles" else ""
            yield f"whether the goal can be forced: tilebase force {named} --budget 10min"
        goal = game.goal or 0
        plain = game.changed(start="two-tiles") == Game("4x4", game.goal or 2048)
        if plain and any(one.least_goal <= goal <= one.largest_goal for one in formations()):
            yield f"endgames in which large tiles keep to a corner: tilebase plan formations {goal}"


def _look_ahead(
    game: Game,
    objectives: Sequence[Objective],
    takes: Callable[[Game], Estimate],
    fits: Callable[[Estimate], bool],
) -> Iterator[str]:
    """Yield the longest game from a start board that is solved soon, or else that a board may be named."""
    values = ",".join(
        f"{one.name}:{one.dtype}" + (f"@{one.discount}" if one.discount != 1 else "") for one in objectives
    )
    asked = f"--objective {values}"
    if game.start_board is None:
        last = game.largest_sum
        named = game_text(game.changed(start="two-tiles", horizon=last))
        named = named.replace(f"horizon = {last}", "horizon = SUM")
        yield f"the value of a board if the game ends at a sum: tilebase solve {named} {asked} --start BOARD"
        return
    first = game.sum(game.start_board)
    sums = range(first + 4, game.horizon or first + 1024, 4)
    total = _last(sums, lambda horizon: takes(game.changed(horizon=horizon)), fits)
    if total is not None:
        named = game_text(game.changed(horizon=total))
        yield f"the value if the game ends at the sum {total}: tilebase solve {named} {asked}"


def instead_of_counting(
    game: Game, takes: Callable[[int], Estimate], fits: Callable[[Estimate], bool]
) -> Iterator[str]:
    """Yield what can be asked instead of the counts of a game; `takes` estimates those up to a sum."""
    yield from _recorded(game, is_count)
    yield f"an upper bound: tilebase rank {game_text(game)}"
    first = min(game.sum(board) for board, _ in game.starts())
    total = _last(range(first + 4, first + 1024, 4), takes, fits)
    if total is not None:
        yield f"the counts up to the sum {total}: tilebase count {game_text(game)} --up-to {total}"


def is_count(question: str) -> bool:
    """Return whether a question asks how many states can occur."""
    return question in ("states", "states up to symmetry")


def recorded(game: Game, asked: Callable[[str], bool]) -> str:
    """Return what is recorded of a game under a question that is `asked`; empty without it."""
    board = board_of(game)
    for one in results():
        if one.board == board and one.group != "open" and asked(one.question):
            return f"{one.question}, {one.value}: tilebase cite {one.name}"
    return ""


def _recorded(game: Game, asked: Callable[[str], bool]) -> Iterator[str]:
    """Yield what is recorded of a game, or else of the game on its board to its goal."""
    words = board_of(game).partition(",")[0].replace(" to ", " ")
    with suppress(UsageError):
        find_results(*words.split())
        yield recorded(game, asked) or f"what is recorded of this game: tilebase cite {words}"


def _last(
    sums: Iterable[int], takes: Callable[[int], Estimate], fits: Callable[[Estimate], bool]
) -> int | None:
    """Return the last of ascending sums up to which a run is accepted and takes at most `SOON`."""
    last = None
    for total in sums:
        try:
            estimate = takes(total)
        except (ResourceError, UsageError):
            break
        if estimate.seconds > SOON or not fits(estimate):
            break
        last = total
    return last
