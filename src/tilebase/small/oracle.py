"""The oracle: the results that every engine must equal, computed slowly with dictionaries and fractions.

The code is neither fast nor clever, so that a reader can check it.  It is meant for small boards:
it counts about five thousand states per second.

Notation
--------
x is a state (the player to move), a is an afterstate (a spawn follows), s is a sum.  ``slides(x)``
are the boards that the allowed slides of x lead to.  ``spawns(a)`` are the states that a spawn leads
to, each with its probability p.  A board that holds the goal is won: it ends the game and is
neither a state nor an afterstate.  A state without an allowed slide is a losing state.

Reachable positions
-------------------
A slide keeps the sum and a spawn adds 2 or 4, so layers are finished in ascending order::

    states[s]      = { starts of sum s } + { x of spawns(a) : a in afterstates[s - 2], afterstates[s - 4] }
    afterstates[s] = { a in slides(x) : x in states[s], a not won }

If the start is ``empty``, or boards after a slide, the first spawn comes before the first slide: then
these boards are afterstates.  Afterstates whose sum has reached the horizon have no spawns.  With
symmetry, each board stands for its orbit by its canonical board.

With lookahead, a state is collapsed, that is neither counted nor slid, if it is decided
within one move: some slide wins, or every slide leads to an afterstate all of whose spawns
lead to losing states (so a losing state is collapsed too).  Hence a state whose sum has reached the
horizon is always collapsed: its next slide wins, or is the last one.  The partial 4x4 build of the source
counts in this way.  Start states are collapsed by the same rule.

Values
------
Going down from the largest sum, with discount d::

    W(a) = sum of p V(x) over spawns(a)                      mean over the spawns, or
    W(a) = min of V(x) over spawns(a)                        if the spawns are adversarial, or
    W(a) = max of V(x) over spawns(a)                        if the spawns help
    W(a) = end                                               without a spawn, at the horizon
    V(x) = d * max over slides of  worth + W(a)              with W(a) = end if a is won
    V(x) = end                                               without an allowed slide, or if the sum of x wins

where a slide is worth

    ``win``         0: V is the probability to win
    ``loss``        0: -V is the probability to lose
    ``guaranteed``  0, with adversarial spawns: V is 1 if a win can be forced
    ``score``       the sum of the tiles that it makes by merging: V is the expected score
    ``merges``      the number of its merges: V is the expected number of merges
    ``moves``       1: V is the expected number of slides to the end of the game
    ``largest``     0: V is the expected largest tile at the end of the game
    ``survival``    1, with adversarial spawns: V is the number of slides that can be forced
    ``longest``     1, with spawns that help: V is the number of slides of the longest game
    ``highest``     as under ``score``, with spawns that help: V is the highest score of a game
    ``fewest``      -1, with spawns that help: -V is the least number of slides to a win

each under the play that makes V largest.  The end of a game is worth 1 under ``win`` and ``guaranteed`` if it
is won, -1 under ``loss`` and minus infinity under ``fewest`` (-2**30, and no less) if it is not won, under
``largest`` the largest tile on the board, unmergeable tiles aside, else 0.  Every slide, the
last one included, multiplies by the discount once.  So for ``win``, V is the expectation of d to the power of
the number of slides for won games, and 0 for lost games.

Sources
-------
Lees-Miller, The Mathematics of 2048: Counting States by Exhaustive Enumeration (2017) and
Optimal Play with Markov Decision Processes (2018); Slizkov, Computational bounds for the 2048
game, arXiv:2303.07266, section 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from tilebase.counting.counts import STORED, CountResult
from tilebase.errors import UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.notation import fraction_of
from tilebase.game.symmetry import canonical, orbit_size

Objective: TypeAlias = Literal[
    "win",
    "loss",
    "guaranteed",
    "score",
    "merges",
    "moves",
    "largest",
    "survival",
    "longest",
    "highest",
    "fewest",
]
"""What a value means; see the module."""

NEVER = 2**30
"""Stands for infinity under ``fewest``."""

Node: TypeAlias = Cells | Literal["win", "lose"]
"""A live state, or how the game ends."""
Transition: TypeAlias = tuple[Cells, str, Node]
"""A state, a direction, and a state that may follow, or how the game ends."""


class Layer(NamedTuple):
    """The reachable positions of one sum."""

    states: set[Cells]
    afterstates: set[Cells]


@dataclass(frozen=True)
class Values:
    """Exact values of all reachable positions, by canonical board."""

    game: Game  # this and the next two are the arguments of `values`
    objective: Objective
    discount: Fraction
    states: dict[Cells, Fraction]  # V of the module
    afterstates: dict[Cells, Fraction]  # W of the module
    # The mean of V over the start states with their probabilities.  For adversarial spawns it is the least V,
    # since the adversary also chooses the start; for spawns that help, the largest.
    start: Fraction


def reachable(game: Game, *, lookahead: bool = False, symmetric: bool = True) -> dict[int, Layer]:
    """Return the states and afterstates of each sum, ascending; sums that hold neither are left out.

    Without `symmetric`, exactly the reachable boards; with it, one canonical board per orbit.

    >>> [len(layer.states) for layer in reachable(Game("2x2", 8)).values()]
    [2, 3, 4, 3, 3, 1]
    """
    layers: dict[int, Layer] = {}
    for board, _ in game.starts():
        _layer(layers, game.sum(board)).states.add(representative(game, board, symmetric))
    for after in game.start_afters:
        _layer(layers, game.sum(after)).afterstates.add(representative(game, after, symmetric))
    total = min(layers)
    while total <= max(layers):
        if total in layers:
            _finish(game, layers, total, lookahead, symmetric)
        total += 2
    return {total: layers[total] for total in sorted(layers) if any(layers[total])}


@lru_cache(maxsize=8)
def _layers(game: Game, *, lookahead: bool) -> dict[int, Layer]:
    """`reachable` with a cache, for several objectives of one game.  Callers must not change the result."""
    return reachable(game, lookahead=lookahead)


def _layer(layers: dict[int, Layer], total: int) -> Layer:
    return layers.setdefault(total, Layer(set(), set()))


def representative(game: Game, board: Cells, symmetric: bool) -> Cells:
    """Return the board that stands for a board: the canonical one if it stands for its orbit."""
    return canonical(game, board) if symmetric else board


def _finish(game: Game, layers: dict[int, Layer], total: int, lookahead: bool, symmetric: bool) -> None:
    """Slide the states of a complete layer, and add the spawned states to the layers above."""
    states, afterstates = layers[total]
    if lookahead:
        states -= {state for state in states if decided(game, state)}
    for state in states:
        slid = (after for after in game.slides(state).values() if not game.wins(after))
        afterstates |= {representative(game, after, symmetric) for after in slid}
    for after in afterstates:
        for state, _ in game.spawns(after):
            if game.has_goal_sum(state):
                continue  # won: not a state
            _layer(layers, game.sum(state)).states.add(representative(game, state, symmetric))


def decided(game: Game, state: Cells) -> bool:
    """Return whether a state is won or lost within one move, and so collapsed by lookahead.

    >>> decided(Game("2x2", 8), (2, 2, 0, 1))
    True
    """
    afters = game.slides(state).values()
    return any(game.wins(after) for after in afters) or all(_dooms(game, after) for after in afters)


def _dooms(game: Game, after: Cells) -> bool:
    return not any(game.slides(state) or game.has_goal_sum(state) for state, _ in game.spawns(after))


def count(game: Game, *, lookahead: bool = False) -> CountResult:
    """Return the counts of `CountResult`, by enumeration.

    >>> count(Game("2x2", 32)).total("live")
    57
    """
    layers = _layers(game, lookahead=lookahead)
    tables = {name: np.zeros((len(layers), game.bounds.code + 1), dtype=np.int64) for name in STORED}
    for row, layer in enumerate(layers.values()):
        for state in layer.states:
            for name, weight in _weights(game, state).items():
                tables[name][row, game.max_exponent(state)] += weight
        for after in layer.afterstates:
            tables["afterstates"][row, game.max_exponent(after)] += 1
    sums = np.array(list(layers), dtype=np.int64)
    states, live, winning, afterstates, raw_states, raw_live = (tables[name] for name in STORED)
    return CountResult(game, lookahead, sums, states, live, winning, afterstates, raw_states, raw_live)


def _weights(game: Game, state: Cells) -> dict[str, int]:
    """Return what one canonical state adds to each count."""
    afters, size = game.slides(state).values(), orbit_size(game, state)
    return {
        "states": 1,
        "live": bool(afters),
        "winning": any(game.wins(after) for after in afters),
        "raw_states": size,
        "raw_live": size * bool(afters),
    }


def values(
    game: Game, objective: Objective = "win", *, discount: Fraction | int | str = Fraction(1)
) -> Values:
    """Return the exact value of every reachable position, by backward induction.

    Raises `UsageError` for an unknown objective or a discount that is not between 0 and 1.

    >>> values(Game("2x2", 8)).start
    Fraction(1, 1)
    """
    factor = _check_arguments(objective, discount)
    V: dict[Cells, Fraction] = {}
    W: dict[Cells, Fraction] = {}
    layers = _layers(game, lookahead=False)
    for total in sorted(layers, reverse=True):
        for after in layers[total].afterstates:
            spawns = game.spawns(after)  # none at the horizon, which ends the game
            W[after] = _fold(game, objective, V, spawns) if spawns else _end(game, objective, after, False)
        for state in layers[total].states:
            worths = _worths(game, objective, W, state).values()
            V[state] = factor * max(worths) if worths else _end(game, objective, state, False)
    return Values(game, objective, factor, V, W, _fold(game, objective, V, game.starts()))


def played(game: Game, objective: Objective, play: Literal["worst", "fastest", "undo"]) -> Fraction:
    """Return the value of the start under another play than the best, by recursion, without a discount.

    ``worst``: the largest over slides is replaced by the least.  ``undo``: a spawn may be taken back once,
    W'(a) = sum of p max(V'(x), W(a)), where V' and W' are values while it may be taken back.  ``fastest``:
    the expected slides of a won game, which is T/V of the start with the recurrence
    T(x) = min over slides with W(a) = V(x) of  V(x) + T(a),  T(a) = sum of p T(x).
    """
    exact = values(game, objective)

    def over(after: Cells) -> Fraction:
        """Return the value of a board after a slide."""
        if game.wins(after) or not game.spawns(after):
            return Fraction(0) if play == "fastest" else _end(game, objective, after, game.wins(after))
        least = exact.afterstates[canonical(game, after)] if play == "undo" else Fraction(-NEVER)
        return sum((p * max(of(state), least) for state, p in game.spawns(after)), Fraction(0))

    @cache
    def of(state: Cells) -> Fraction:
        """Return the value of a state."""
        slides = {} if game.has_goal_sum(state) else game.slides(state)
        if not slides:
            ended = _end(game, objective, state, game.has_goal_sum(state))
            return Fraction(0) if play == "fastest" else ended
        if play == "fastest":
            found = worths(exact, state)
            best = max(found.values())
            return best + min(over(after) for way, after in slides.items() if found[way] == best)
        here = [_worth(game, objective, state, after) + over(after) for after in slides.values()]
        return min(here) if play == "worst" else max(here)

    start = sum((p * of(board) for board, p in game.starts()), Fraction(0))
    return start / exact.start if play == "fastest" else start


def _check_arguments(objective: str, discount: Any) -> Fraction:
    if objective not in get_args(Objective):
        raise UsageError(f"{objective!r} is not an objective: choose {', '.join(get_args(Objective))}")
    try:
        factor = fraction_of(discount)
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"{str(discount)[:40]!r} is not a discount: write a fraction, as in 99/100"
        ) from error
    if not 0 <= factor <= 1:
        raise UsageError(f"the discount is {discount}, but must lie between 0 and 1")
    return factor


def _fold(
    game: Game, objective: Objective, V: dict[Cells, Fraction], spawns: Iterable[tuple[Cells, Fraction]]
) -> Fraction:
    worths = [
        (_end(game, objective, state, True) if game.has_goal_sum(state) else V[canonical(game, state)], p)
        for state, p in spawns
    ]
    if objective in ("guaranteed", "survival"):
        return min(value for value, _ in worths)
    if objective in ("longest", "highest", "fewest"):
        return max(value for value, _ in worths)
    return sum((value * p for value, p in worths), Fraction(0))


def worths(exact: Values, state: Cells) -> dict[str, Fraction]:
    """Return the value of each slide of a reachable state, in the order of the directions, not discounted."""
    return _worths(exact.game, exact.objective, exact.afterstates, state)


def _worths(game: Game, objective: Objective, W: dict[Cells, Fraction], state: Cells) -> dict[str, Fraction]:
    worths = {
        direction: _worth(game, objective, state, after)
        + (_end(game, objective, after, True) if game.wins(after) else W[canonical(game, after)])
        for direction, after in game.slides(state).items()
    }
    if objective == "fewest":  # what is never won stays so
        return {direction: max(worth, Fraction(-NEVER)) for direction, worth in worths.items()}
    return worths


def _end(game: Game, objective: Objective, board: Cells, won: bool) -> Fraction:
    """Return the value of a board on which the game ends."""
    if objective == "largest":
        return Fraction(max((2**e for e in board if e and not game.is_x(e)), default=0))
    if objective in ("loss", "fewest"):
        return (Fraction(won) - 1) * (1 if objective == "loss" else NEVER)
    return Fraction(won and objective in ("win", "guaranteed"))


def _worth(game: Game, objective: Objective, state: Cells, after: Cells) -> Fraction:
    if objective in ("score", "highest"):
        return Fraction(_potential(game, after) - _potential(game, state))
    if objective == "merges":
        return Fraction(after.count(0) - state.count(0))  # a merge leaves one empty cell more
    return Fraction(-1 if objective == "fewest" else objective in ("moves", "survival", "longest"))


def _potential(game: Game, board: Cells) -> int:
    """Return the score of making all tiles of a board by merges from 2s.

    Merging two tiles 2**e adds e * 2**(e + 1) - 2 * (e - 1) * 2**e = 2**(e + 1), the tile made.
    """
    return sum((e - 1) * 2**e for e in board if e and not game.is_x(e))


def transitions(game: Game) -> set[Transition]:
    """Return the distinct (state, direction, successor) triples of a game, without symmetry.

    A successor is the state after the spawn; it is ``"win"`` if the slide wins, and ``"lose"``
    if no slide is allowed in it, or if the game ends at the horizon.  States that win or lose have no
    transitions here.

    >>> len(transitions(Game("2x2", 8)))
    528
    """
    return {
        (state, direction, successor)
        for layer in reachable(game, symmetric=False).values()
        for state in layer.states
        for direction, after in game.slides(state).items()
        for successor in successors(game, after, symmetric=False)
    }


def successors(game: Game, after: Cells, *, symmetric: bool, lookahead: bool = False) -> list[Node]:
    """Return what can follow a slide that leads to a board, as `node` has it."""
    if game.wins(after):
        return ["win"]
    if game.ended(game.sum(after)):
        return ["lose"]
    return [node(game, state, symmetric=symmetric, lookahead=lookahead) for state, _ in game.spawns(after)]


def node(game: Game, state: Cells, *, symmetric: bool, lookahead: bool = False) -> Node:
    """Return a state, or how the game ends there; with `lookahead`, how it ends within one move."""
    if game.has_goal_sum(state):
        return "win"
    afters = game.slides(state).values()
    if not afters:
        return "lose"
    if lookahead and decided(game, state):
        return "win" if any(game.wins(after) for after in afters) else "lose"
    return representative(game, state, symmetric)
