"""How far a value function is from the exact values of a table, over the states that matter.

>>> from tempfile import TemporaryDirectory
>>> from tilebase import Game, open_table, solve
>>> with TemporaryDirectory() as folder:
...     solution = solve(Game("2x2", 32), table=folder)
...     with open_table(folder) as table:
...         found = value_error(table, lambda boards: np.full(len(boards), 0.1), weights="optimal")
>>> f"{found.absolute:.6f}", found.states
('0.032623', 57)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.arrays import BATCH, Floats, Keys, TableArrays, as_array
from tilebase.errors import UsageError
from tilebase.game.board import Board
from tilebase.policies.following import PIECE, Symmetry, checked_rows, visited_states
from tilebase.tables.probe import Table

ValueFunction = Callable[[npt.NDArray[np.uint8]], npt.ArrayLike]
"""``function(boards)``: exponents ``uint8[n, *shape]`` to values ``float[n]``."""
REPEATED = 1e-4
"""How far an answer may be from the first one, in relation to the largest: networks round."""


@dataclass(frozen=True)
class ValueErrors:
    """The errors of a value function: what it says less the value of the table.

    Attributes
    ----------
    states:
        The number of states that were compared.
    bias, absolute, squared:
        The mean error, the mean of its size, and the root of the mean of its square, by weight.
    largest, board:
        The error that is the largest in size, and where it is.
    by_sum:
        ``by_sum[s]``: the weight of the states of sum s, and the mean size of their errors.
    """

    states: int
    bias: float
    absolute: float
    squared: float
    largest: float
    board: Board
    by_sum: dict[int, tuple[float, float]] = field(repr=False)


def value_error(
    table: Table | Path | str,
    function: ValueFunction,
    *,
    weights: Any = "uniform",
    objective: str | None = None,
    symmetry: Symmetry = "check",
    batch: int = BATCH,
) -> ValueErrors:
    """Compare a value function with a table, on states in which a slide is allowed.

    Parameters
    ----------
    table:
        A table of reachable positions, or where `open_table` finds it.
    function:
        A `ValueFunction`; it is asked on canonical boards, and on all boards with the symmetry ``none``.
        As of an agent, some boards are asked again.
    weights:
        ``uniform``: each state of the table up to symmetry has the weight 1; ``optimal``: how often optimal
        play meets it; or a policy, as `judge` takes it: how often this meets it.
    objective:
        Label of an objective of the table; None for the first.
    symmetry, batch:
        As in `judge`, of the policy.

    Raises
    ------
    UsageError
        If the function answers with a wrong shape or NaN, does not repeat its answers, or as `judge` does.
    """
    arrays, boards = TableArrays(table, objective), 0
    total = bias = absolute = squared = 0.0
    worst, where = 0.0, np.uint64(0)
    by_sum: dict[int, tuple[float, float]] = {}
    for at, keys, value, weight in _weighed(arrays, weights, symmetry, batch):
        given = _asked(function, arrays, keys, batch)
        some = checked_rows(np.random.default_rng(at), len(keys))
        differ = np.abs(_asked(function, arrays, keys[some], batch) - given[some])
        if differ.max() > REPEATED * np.abs(given).max():
            board = arrays.game.format(arrays.game.unpack(int(keys[some[differ.argmax()]])))
            raise UsageError(
                f"the value function answers otherwise when it is asked again about {board}: switch off what "
                "is random in it, such as dropout"
            )
        error = given - value
        size = np.abs(error)
        if boards == 0 or size.max() > abs(worst):
            worst, where = float(error[size.argmax()]), keys[size.argmax()]
        boards += len(keys)
        here, lost = float(weight.sum()), float((weight * size).sum())
        before = by_sum.get(at, (0.0, 0.0))
        by_sum[at] = before[0] + here, before[1] + lost
        total, absolute = total + here, absolute + lost
        bias, squared = bias + float((weight * error).sum()), squared + float((weight * error**2).sum())
    if not total:
        raise UsageError(f"{arrays.table.location.name} has no state in which a slide is allowed")
    return ValueErrors(
        boards, bias / total, absolute / total, math.sqrt(squared / total), worst,
        Board(arrays.game, arrays.game.unpack(int(where))),
        {at: (here, lost / here if here else 0.0) for at, (here, lost) in by_sum.items()},
    )  # fmt: skip


def _weighed(
    arrays: TableArrays, weights: Any, symmetry: Symmetry, batch: int
) -> Iterator[tuple[int, Keys, Floats, Floats]]:
    """Yield sums, states, their values and weights, in pieces."""
    if isinstance(weights, str) and weights == "uniform":
        for layer in arrays.iter_layers("states", most=PIECE):
            live = layer.allowed.any(axis=1)
            if live.any():
                yield layer.sum, layer.keys[live], layer.value[live], np.ones(int(live.sum()))
        return
    for met in visited_states(arrays, weights, symmetry=symmetry, batch=batch):
        yield met.sum, met.keys, met.value, met.visits


def _asked(function: ValueFunction, arrays: TableArrays, keys: Keys, batch: int) -> Floats:
    """Return the values that a function gives to states.  Raises `UsageError`."""
    found = []
    for at in range(0, len(keys), batch):
        part = keys[at : at + batch]
        try:
            answer = as_array(function(arrays.boards.unpack(part)))
        except Exception as error:  # the user's function may raise anything
            raise UsageError(
                f"the value function fails on {len(part)} boards: {type(error).__name__}: {error}"
            ) from error
        if answer.dtype.kind not in "iuf" or answer.shape != (len(part),):
            raise UsageError(
                f"the value function answers an array {list(answer.shape)} of {answer.dtype}; "
                f"{len(part)} boards need {len(part)} numbers"
            )
        if np.isnan(answer).any():
            raise UsageError("the value function answers NaN")
        found.append(answer.astype(np.float64))
    return np.concatenate(found)
