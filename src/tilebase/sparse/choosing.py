"""The best slides of many states at once, as `Answer.best` has those of one, and optimal play.

Slides whose values differ by at most the slack of a table are equally good (`Table.slack`).  Optimal play
makes each of the best slides of a state with the same probability (`even`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.objectives.encoding import NONE, slide_gains
from tilebase.objectives.objective import Objective
from tilebase.sparse.reading import MISSING, Links, ReadLayer

Array = npt.NDArray[Any]


def ratings(objective: Objective, layer: ReadLayer, links: Links) -> Array:
    """Return ``q[k, x]``: the value of slide k of state x, without a discount.

    -inf if the slide is not allowed, or if the layer does not hold the board after it (`MISSING`).
    """
    q: Array = layer.values[0][links.slots]
    if objective.merge or objective.slide:
        added = slide_gains(objective, links.gains)
        q = q + (np.repeat(added, 2, axis=0) if objective.merge else added)
    q[(links.slots == NONE) | (links.slots == MISSING)] = -np.inf
    return q


def gains(objective: Objective, links: Links, chosen: Array) -> Array | int:
    """Return what the slide ``chosen[x]`` of each state x adds to the value of the board after it."""
    added = slide_gains(objective, links.gains)
    return added if isinstance(added, int) else added[chosen // 2, np.arange(len(chosen))]


def best_slides(q: Array, slack: float) -> Array:
    """``best[k, x]``: whether slide k of state x is one of the best; a state without a slide has no best."""
    most = q.max(axis=0)
    with np.errstate(invalid="ignore"):  # a state without a slide has the value -inf
        best: Array = (q >= most - slack * np.abs(most)) & (q != -np.inf)
    return best


def largest(scores: Array, allowed: Array, axis: int = 0) -> Array:
    """Return which allowed slides have the largest score of their state; the axes are those of `even`."""
    found = np.where(allowed, scores, -np.inf)
    chosen: Array = allowed & (found == found.max(axis=axis, keepdims=True))
    return chosen


def even(chosen: Array, axis: int = 0) -> Array:
    """Return equal probabilities of the slides that are chosen in each state; 0 where none is.

    ``chosen[k, x]``: whether slide k of state x is; with the axis 1, ``chosen[x, k]``.
    """
    shared: Array = chosen / np.maximum(chosen.sum(axis=axis, keepdims=True), 1)
    return shared


def drawn_slides(best: Array, rng: np.random.Generator) -> Array:
    """Return ``k[x]``: one of the best slides of state x at random; 0 in a state without a slide."""
    ways = best.cumsum(axis=0)
    drawn: Array = (ways > rng.random(best.shape[1]) * ways[-1]).argmax(axis=0)
    return drawn
