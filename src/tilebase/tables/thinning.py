"""Thinned tables: small tables of the states that optimal play visits.

Under optimal play the game is a Markov chain.  The probability that it visits a state is computed
forward over the layers, exact up to rounding: a game visits at most one state of each sum.  For
states that are visited with at least a given probability, the values of all slides are kept.  So
probing these states gives the same results as the whole table.  Other boards are not found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from tilebase.errors import UsageError
from tilebase.files.keys import KEYS, Columns, write_subset
from tilebase.files.store import LayerStore
from tilebase.objectives.encoding import FIRST, NONE, WON
from tilebase.objectives.objective import Objective
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use
from tilebase.sparse.flow import Walk, best_slides, even, ratings
from tilebase.sparse.reading import LayerReader, distinct
from tilebase.tables.probe import Table, open_table
from tilebase.tables.pruning import write_part

Array = npt.NDArray[Any]

ROUNDING = 1e-12
"""The largest relative rounding error of the probability of a visit."""


@dataclass(frozen=True)
class Thinning:
    """The contents of a thinned table.

    Attributes
    ----------
    above:
        The least probability of a visit for which a state was kept.
    states, visited:
        States kept, and all that optimal play can visit.
    afterstates, before:
        Afterstates stored, and those of the whole table.
    left_out:
        The probability that an optimally played game comes to a state that was not kept.
    objective, table:
        The label of the objective of optimal play, and a checksum of the whole table's manifest.
    """

    above: float
    states: int
    visited: int
    afterstates: int
    before: int
    left_out: float
    objective: str
    table: str

    def __repr__(self) -> str:
        return f"<Thinning above {self.above:g}: {self.states:,} of {self.visited:,} states>"

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return dict(self.__dict__)


def thin(
    table: Table | Path | str,
    output: Path | str,
    *,
    above: float,
    objective: str | None = None,
    **use: Unpack[Use],
) -> Thinning:
    """Write a smaller table of the states that optimal play visits.

    Parameters
    ----------
    table:
        A whole table in a folder on this machine.
    output:
        A new folder, or one in which an earlier call was stopped.  If an earlier call was finished, the
        folder is not changed.
    above:
        Keep states that are visited with at least this probability, up to rounding; 0 keeps all that optimal
        play can visit.
    objective:
        The objective of optimal play; None for the first.  The values of all objectives are kept.
    use:
        The keywords of `Use`; one thread does the work.

    Raises
    ------
    UsageError
        If `above` is not a probability or the table is not whole.
    WrongGameError, StorageError
        If the output holds files or cannot be written.
    """
    allowed = Allowance.of(**use)
    if not 0 <= above <= 1:
        raise UsageError(f"the probability must be 0 to 1, such as 1e-7, not {above}")
    opened = open_table(table)
    chosen = opened.objective(objective)
    query = {"above": above, "objective": chosen.label, "table": opened.manifest.check}
    write = partial(_write, opened, chosen, above, allowed)
    return write_part(opened, Path(output), query, Thinning, write, allowed, visits=True)


def _write(
    table: Table,
    objective: Objective,
    above: float,
    allowed: Allowance,
    stores: Mapping[str, LayerStore],
    sizes: dict[int, int],
) -> dict[str, Any]:
    reader = LayerReader(table.name, table.game, table.layers, objective)
    # Probabilities to visit a state in any way, and only through kept states.
    flow, least = Walk(reader.compiled).begin(2), above * (1 - ROUNDING)
    states = visited = kept = 0
    left_out = 0.0
    pace, slack = Pace(allowed.progress, "states"), table.slack(objective)
    while flow:
        total, (keys, visit, inside) = flow.pop()
        if table.game.reached(total):
            continue
        layer = reader.layer(total)
        links = layer.link(keys)
        stays = visit >= least
        states, visited = states + int(stays.sum()), visited + len(keys)
        left_out += float(inside[~stays].sum())
        slides = (links.slots[:, stays] != NONE) & (links.slots[:, stays] != WON)
        wanted = distinct(links.slots[:, stays][slides].astype(np.int64))
        if len(wanted):
            kept += _write_layer(table, stores, total, wanted)
        best = best_slides(ratings(objective, layer, links), slack)
        going, shares = best & (links.slots != WON), even(best)
        weights = (visit * shares, np.where(stays, inside, 0.0) * shares)
        flow.spread(total, links.afters[going], *(weight[going] for weight in weights))
        done = (total + 1) / (max(sizes, default=total) + 1)
        if pace.due() or done == 1:
            pace.report(total, "thin", visited, done)
    return {"states": states, "visited": visited, "afterstates": kept, "left_out": left_out}


def _write_layer(table: Table, stores: Mapping[str, LayerStore], total: int, slots: Array) -> int:
    """Write the chosen afterstates of a layer and their values; return how many."""
    positions = slots - FIRST

    def choose(first: int, columns: Columns) -> Array:
        begin, end = np.searchsorted(positions, (first, first + len(columns[KEYS])))
        return positions[begin:end] - first

    return write_subset(table.layers, stores, total, choose)
