"""Values as arrays: sentinels in front of a layer, stored types read as floats, and summaries of chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import backup, coded, fold
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import ChunkSummary
from tilebase.objectives.values import NEVER

Array = npt.NDArray[Any]
NONE, WON, FIRST = backup.NONE, backup.WON, backup.FIRST


def sentinels(game: Game, objective: Objective) -> tuple[float, float]:
    """Return what a slide that is not allowed and one that wins are worth: the best is then the maximum."""
    if objective.counts_end:
        return 0.0, float(1 << game.goal_exponent) if game.goal_exponent else 0.0
    if objective.is_win:
        return 0.0, 1.0
    # What a slide adds is added to these, too: for a slide that is not allowed, the sum must not
    # exceed what a lost game is worth.
    return (-np.inf if objective.merge else float(objective.lost - objective.slide)), 0.0


def slide_gains(objective: Objective, merges: Mapping[str, Array]) -> Array | int:
    """Return what slides add, if their merges add ``merges[merge]`` under each `Objective.merge`."""
    return merges[objective.merge] + objective.slide if objective.merge else objective.slide


def end_values(objective: Objective, tops: Array) -> Array:
    """`Objective.end` of boards that are not won, as floats, from the largest exponent of each."""
    if not objective.counts_end:
        return np.full(len(tops), float(objective.lost))
    return np.where(tops, np.exp2(tops, dtype=np.float64), 0.0)


def stored_sentinels(game: Game, objective: Objective) -> tuple[Any, Any]:
    """Return the same as they lie before a layer in memory: bounds in units, coded floats as their codes."""
    none, won = sentinels(game, objective)
    if objective.is_bound:
        return 0, objective.most
    if objective.type.is_coded:
        codes = encoded(np.array([none, won]), objective.type.kept)
        return int(codes[0]), int(codes[1])
    return (none, won) if objective.is_float else (int(none), int(won))


def decoded(codes: Array) -> Array:
    """Coded floats as numbers."""
    numbers = np.empty(len(codes))
    coded.decode(codes, numbers)
    return numbers


def encoded(numbers: Array, kept: Any) -> Array:
    """Return numbers of [0, 1] as codes, integers of the type `kept`."""
    codes = np.empty(len(numbers), dtype=kept)
    coded.encode(numbers, codes)
    return codes


def as_floats(objective: Objective, stored: Array) -> Array:
    """Stored values as float64: bounds as fractions of 1, Boolean values as 0 and 1."""
    values: Array = stored.astype(np.float64)
    if objective.rounds_up:
        values[stored == objective.most] = objective.one
    values /= objective.one
    return values


def summarise(objective: Objective, stored: Array, size: int) -> list[ChunkSummary]:
    """Return the summaries of chunks of `size` stored values.

    They do not depend on how the work was divided.  Of a cost, they are of the values that users see.
    """
    stored, one = objective.told(stored), objective.one
    lost = NEVER if objective.counts_to_win else one  # what a lost game costs, or a won one is worth
    if objective.type.is_coded:
        stored, one = decoded(stored), 1
    full = objective.most if objective.rounds_up else one  # the stored integer that is read as 1
    found = np.empty((-(-len(stored) // size), 5))
    fold.summaries(stored, size, float(full if lost == one else lost), float(lost), found)
    found[:, :3] /= one  # a power of two
    return [
        (least, largest, total, *_won_and_lost(objective, int(ones), int(zeros)))
        for least, largest, total, ones, zeros in found.tolist()
    ]


def summarise_cut(
    objective: Objective, stored: Array, cuts: Sequence[tuple[int, int]], size: int
) -> list[ChunkSummary]:
    """Do so from each cut on; at once if all but the last have the size, as they mostly do."""
    if all(end - at == size for at, end in cuts[:-1]):
        return summarise(objective, stored, size)
    return [piece for at, end in cuts for piece in summarise(objective, stored[at:end], size)]


def _won_and_lost(objective: Objective, ones: int, zeros: int) -> tuple[int, int]:
    """Return how many values are those of won and of lost games; none is won if a win is worth nothing."""
    if objective.counts_to_win:
        return 0, ones
    if objective.is_cost:
        return zeros, ones
    return (ones if objective.is_win else 0), zeros
