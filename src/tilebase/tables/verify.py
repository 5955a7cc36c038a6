"""Verifying a table: compare every byte with its checksum, and values with their successors.

Values are computed again from their successors by the rules of `Game`, in plain Python, without
kernels and without a solver.  If all values agree with their successors, the table is right, by
induction from the positions that end the game.
"""

from __future__ import annotations

import itertools
import math
import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from tilebase.cluster.pieces import Executor, Piece
from tilebase.cluster.runs import open_cluster
from tilebase.costs.estimate import Estimate, admit
from tilebase.costs.reachable import verifying
from tilebase.errors import MissingBoardError, UsageError
from tilebase.files import places
from tilebase.files.format import Layer
from tilebase.files.layers import same_boards
from tilebase.files.run import Findings, Query, StopCheckError, check_query, verify_run
from tilebase.files.solved import identity_of, verify_solved
from tilebase.files.source import Folder, mode_of
from tilebase.game.game import Cells
from tilebase.objectives.objective import Objective
from tilebase.objectives.rounding import Rounding
from tilebase.objectives.values import Exact, Interval, Lower, Number, Rounded, Upper, Value
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use
from tilebase.tables.probe import Table, open_table
from tilebase.tables.slides import Evaluator

PIECE_POSITIONS = 1000
"""Afterstates of which a worker computes the values at a time: about a second of plain Python."""


@dataclass(frozen=True)
class Verification:
    """The result of a check: what was checked, and one sentence for each fault.

    `unread` has a sentence for each file that could not be read, as without permission or from a server
    that fails.  These files may be right.
    """

    layers: int
    values: int
    skipped: int  # values whose successors a thinned table does not hold, or of which no error is proved
    wrong: tuple[str, ...]
    unread: tuple[str, ...] = ()

    def __repr__(self) -> str:
        verdict = f"{len(self.wrong):,} wrong" if self.wrong else "nothing wrong"
        unread = f", {len(self.unread):,} not read" if self.unread else ""
        return f"<Verification: {verdict}{unread}, {self.layers:,} layers, {self.values:,} values>"


def verify_table(
    location: Table | Path | str,
    *,
    sample: int | None = 1000,
    seed: int = 0,
    cluster: str | Executor | None = None,
    **use: Unpack[Use],
) -> Verification:
    """Check a table: all bytes, and `sample` random values of each objective, or with None all values.

    `cluster` names workers that compute all values again, as in `solve`; bytes are compared here.  `use` are
    the keywords of `Use`; one thread does what workers do not.  Raises `MissingLayerError` if there is no
    manifest, `CorruptError` if it is damaged, `ResourceError` if all values would take more than a week,
    `UsageError` for a negative sample.
    """
    if sample is not None and sample < 0:
        raise UsageError(f"check 0 values or more, not {sample}")
    allowed = Allowance.of(**use)
    with open_cluster(cluster) as executor, open_table(location) as table:
        found = Findings()
        layers = values = skipped = 0
        with suppress(StopCheckError):
            layers = _check_files(table, found, Pace(allowed.progress, "layers"))
            if found.sound:
                expected = expected_cost(table, sample, executor)
                admit(expected, allowed, lambda _: "verify a sample, without --all (sample=1000)")
                with found.checking():
                    positions = _positions(table, sample, seed)
                    found.wrong += _check_starts(table)
                    for wrong, checked, left in _check_values(table, positions, executor):
                        found.wrong += wrong
                        values, skipped = values + checked, skipped + left
            if isinstance(table.location, Folder):
                _check_run(table, table.location.path, found)
        faults = (tuple(dict.fromkeys(sentences)) for sentences in (found.wrong, found.unread))
        return Verification(layers, values, skipped, *faults)


def expected_cost(table: Table, sample: int | None, executor: Executor | None = None) -> Estimate:
    """Estimate what verifying a table takes."""
    threads = 1 if executor is None else executor.threads
    return verifying(table.game, sum(table.prober.sizes().values()), table.objectives, sample, threads)


def _positions(table: Table, sample: int | None, seed: int) -> Sequence[int]:
    """The positions whose values are derived again: all, or some at random."""
    size = sum(table.prober.sizes().values())
    if sample is None or sample >= size:
        return range(size)
    return sorted(random.Random(seed).sample(range(size), sample))


def _check_positions(table: Table, positions: Iterable[int]) -> tuple[list[str], int, int]:
    """Compute values again: a sentence for each wrong one, how many were computed, how many could not be."""
    wrong = []
    values = skipped = 0
    for after in _at(table, positions):
        for objective in table.objectives:
            sentence = _check_value(table, after, objective)
            if sentence is None:
                skipped += 1
            elif sentence:
                wrong.append(sentence)
            values += sentence is not None
    return wrong, values, skipped


@dataclass(frozen=True)
class VerifyJob:
    """Computes the values of some positions again in a worker process: a `cluster.pieces.Job`."""

    folder: str

    def do(self, piece: Piece) -> tuple[list[str], int, int]:
        """Check the positions [begin, end) of all layers, one after the other."""
        with open_table(self.folder) as table:
            return _check_positions(table, range(piece.begin, piece.end))


def _check_values(
    table: Table, positions: Sequence[int], executor: Executor | None
) -> Iterator[tuple[list[str], int, int]]:
    """Compute values again, all of them by workers; yield what `_check_positions` returns.

    Raises `UsageError` if workers are to read a table that is not a folder here.
    """
    if executor is None or not isinstance(positions, range):
        yield _check_positions(table, positions)
        return
    if not isinstance(table.location, Folder):
        raise UsageError(
            "workers verify a table in a folder that all machines see, not one in a file or at a URL"
        )
    folder, size = table.location.path.resolve(), len(positions)
    pieces = (
        Piece("verify", 0, at, min(at + PIECE_POSITIONS, size), (), "")
        for at in range(0, size, PIECE_POSITIONS)
    )
    executor.attach(folder)
    try:
        yield from executor.map(VerifyJob(str(folder)), pieces)
    finally:
        executor.detach()


def _check_files(table: Table, found: Findings, pace: Pace) -> int:
    """Add each layer that is damaged to `found`, and return how many layers there are."""
    sums: dict[str, list[int]] = {}
    for objective in table.objectives:
        layers = table.layers[objective.label]
        with found.checking():
            layers.check_headers()
            sums[objective.label] = layers.sums()
            if sums[objective.label] != next(iter(sums.values())):
                first = table.layers[next(iter(sums))].name
                found.wrong.append(f"{layers.name} has layers of other sums than {first}")
    totals = sorted(set().union(*sums.values()))
    for done, total in enumerate(totals):
        _check_layer(table, total, [label for label in sums if total in sums[label]], found)
        pace.report(total, "check", done + 1, (done + 1) / len(totals))
    return len(totals)


def _check_run(table: Table, folder: Path, found: Findings) -> None:
    """Check what a folder keeps of the run that made its table: all of it, or nothing if it was copied."""
    question, counts = folder / places.QUERY, folder / places.COUNTS
    journals: dict[Path, tuple[dict[str, Any], dict[int, str]]] = {}
    for one in table.objectives:
        with found.checking():
            layers = table.layers[one.label]
            sums = {total: layers.record(total).text for total in layers.sums()}
            identity = identity_of(table.game, one, table.manifest.space)
            identity |= {"folder": one.label} if table.dense else {}
            if sums:  # else nothing was written
                journals[folder / places.values_folder(one.label) / places.SOLVED] = identity, sums
    expected = [question, *([] if table.dense else [counts]), *journals]
    there = [path for path in expected if mode_of(path)]
    if there:
        missing = "is missing, but other files of the run are there: copy it, too, or delete them"
        found.wrong += [f"{path} {missing}" for path in expected if path not in there]
    if question in there:
        with found.checking():
            check_query(question, Query(table.game, keep="counts" if table.dense else "afterstates"))
            boards = table.prober.sizes()
            verify_run(folder, found, boards if counts in there else None)
    for journal in sorted(journals.keys() & set(there)):
        with found.checking():
            found.wrong += verify_solved(journal, *journals[journal])


def _check_layer(table: Table, total: int, labels: Iterable[str], found: Findings) -> None:
    """Add a sentence for each of some objectives whose layer of one sum is not what it should be."""
    first: Layer | None = None
    for objective in table.objectives:
        if objective.label not in labels:
            continue
        with found.checking():
            layer = table.prober.layer(total, objective)
            layer.verify()
            if not table.dense and first is not None and not _has_boards_of(layer, first):
                found.wrong.append(f"{layer.name} does not hold the boards of {first.name}")
            first = first or layer


def _has_boards_of(layer: Layer, other: Layer) -> bool:
    return same_boards(layer, other) and all(
        np.array_equal(layer.keys(k), other.keys(k)) for k in range(layer.chunks)
    )


def _check_starts(table: Table) -> Iterator[str]:
    """Yield a sentence for each objective whose start value does not follow from the layers.

    A thinned table may lack the needed layers; then the objective is not checked.
    """
    for objective in table.objectives:
        try:
            found = table.prober.start(objective)
        except MissingBoardError:
            if table.manifest.thinned is None:
                raise
            continue
        recorded = table.manifest.starts[objective.label]
        rounding = table.rounding(objective)
        if not _close_start(rounding, found, recorded):
            words = rounding.start(found)
            yield f"the start under {objective.label} is {words}, but the manifest says {recorded}"


def _close_start(rounding: Rounding, found: Number, recorded: Value) -> bool:
    """Return whether the start value in a manifest follows from the layers, up to rounding.

    A pass over all boards also rounds the values of states, which a table does not hold.  So a float may
    differ as after a step, and a bound by two units, to the safe side only.
    """
    objective = rounding.objective
    if isinstance(recorded, Exact | Rounded):
        return not objective.is_bound and _close(rounding, recorded.value, objective.told(found), 0)
    if not objective.is_bound or isinstance(recorded, Interval):
        return False
    safe = recorded.bound - Fraction(found) if objective.rounds_up else Fraction(found) - recorded.bound
    expected = Upper if objective.rounds_up else Lower
    return isinstance(recorded, expected) and 0 <= safe <= Fraction(2, objective.one)


def _close(rounding: Rounding, found: Number, expected: Number, total: int) -> bool:
    """Return whether a value is the expected one, up to the rounding of a step at this sum."""
    if not rounding.objective.is_float:
        return found == expected
    tolerance = rounding.step_error(float(expected), total)
    return abs(float(found) - float(expected)) <= tolerance


def _at(table: Table, positions: Iterable[int]) -> Iterator[Cells]:
    """Yield the afterstates at some positions, where those of all layers are numbered by ascending sums."""
    sizes = table.prober.sizes()
    ends = list(itertools.accumulate(sizes.values()))
    totals = list(sizes)
    for position in positions:
        layer = bisect_right(ends, position)
        yield table.prober.at(totals[layer], position - (ends[layer] - sizes[totals[layer]]))


def _check_value(table: Table, after: Cells, objective: Objective) -> str | None:
    """Return a sentence if a value is wrong, else an empty text.

    None if successors are not in the table, or no error of a step is proved.
    """
    stored = table.prober.stored(after, objective)
    try:
        expected = _derive(table, after, objective)
    except MissingBoardError as error:
        if table.manifest.thinned is not None:
            return None
        return f"{objective.label} of {table.game.format(after)} follows from nothing: {error}"
    found = int(stored) if objective.is_bound else objective.read(stored)
    rounding, total = table.rounding(objective), table.game.sum(after)
    if objective.is_float and rounding.step_error(float(expected), total) == math.inf:
        return None
    if _close(rounding, found, expected, total):
        return ""
    return (
        f"{objective.label} of {table.game.format(after)} is {found}, but its successors make it {expected}"
    )


def _derive(table: Table, after: Cells, objective: Objective) -> Number:
    """Return the value of an afterstate, computed from its successors; a bound as its fixed-point integer."""
    game, evaluator = table.game, table.prober.evaluator(objective)
    if table.dense and game.wins(after):
        return _stored(objective, evaluator.end(after, won=True))
    if game.ended(game.sum(after)):
        return _stored(objective, evaluator.end(after, won=False))
    spawns = game.spawns(after)
    if not spawns:
        return 0  # a full board is not an afterstate, but has a rank
    spawned = [
        (None if game.has_goal_sum(board) else _best(table, board, evaluator), p) for board, p in spawns
    ]
    if objective.is_bound:
        empty = [cell for cell, e in enumerate(after) if not e and cell not in game.walls]
        return _bound(len(empty), game.spawn.denominator, spawned, objective)
    return objective.over_spawns(
        (evaluator.end(board, won=True) if value is None else objective.discounted(value), p)
        for (board, _), (value, p) in zip(spawns, spawned, strict=True)
    )


_Spawned = Sequence[tuple[Number | None, Fraction]]
"""The value of the best slide of each spawned state, not discounted; None if its sum wins."""


def _bound(weight: int, denominator: int, spawned: _Spawned, objective: Objective) -> int:
    """Return the mean, rounded as the solver does: the discount first, then the mean.

    `weight` is that of all empty cells together.
    """
    one, most, up = objective.one, objective.most, objective.rounds_up

    def divide(above: int, below: int) -> int:
        return -(-above // below) if up else above // below

    full = one if up else most
    total = 0
    for value, p in spawned:
        whole = full if value is None else min(int(Fraction(value) * one), full)
        if value is not None:
            whole = divide(whole * objective.discount.numerator, objective.discount.denominator)
        total += whole * int(p * weight * denominator)
    return min(divide(total, weight * denominator), most)


def _stored(objective: Objective, value: Number) -> Number:
    return min(int(value * objective.one), objective.most) if objective.is_bound else value


def _best(table: Table, board: Cells, evaluator: Evaluator) -> Number:
    """Return the value of a state from the stored values of its slides, not discounted."""
    missing: MissingBoardError | None = None

    def value_of(after: Cells) -> Number | None:
        nonlocal missing
        try:
            return table.prober.afterstate(after, evaluator.objective)
        except MissingBoardError as error:
            missing = error
            return None

    best = evaluator.best(board, value_of)
    # A slide to a board that was left out for its low value is worse than one to a board that is there.
    least = table.prober.least
    if missing is not None and (best is None or least is None or least.label != evaluator.objective.label):
        raise missing
    return evaluator.end(board, won=False) if best is None else best
