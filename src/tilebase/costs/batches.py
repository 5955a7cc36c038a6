"""What a pass over all boards takes on many cores: a model of time, memory, bytes and files.

The bytes are those of the batches into which each layer is cut (`dense.steps`, `dense.shared`); of many
layers some are cut, and the others are taken to be alike.  With n boards, and `above` those of the layers
above that its batches read, a layer takes, in values,

    above + 3 n    read: above for the fold, W and the states after rows for columns, states for the checksum
    3 n            written: W, the states after rows, and the states
    n              read once more to sum up or to encode W, if it is kept
    2 n            read and written for a discount

On one machine a single process does the pass with its threads (`alone`).  It moves nothing if the layers fit
into memory; else it needs no second reading of W.  With bits in windows, both layers above are read and the
states written, and what does not fit into a window is written and read, none of it beside the work.  The time
of workers is the largest of

    n / cores × (rate + `shared_boards`)      computing
    the same for the largest batch of a step, by the threads that do one batch
    bytes / (machines × `disk`)               reading and writing

plus `piece` for each piece and `step` for each step, with the rates of `costs.rates`.  Layers of fewer than
`SHARED_BOARDS` boards take the time of one machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tilebase.costs.cores import MACHINE_CORES, Scale
from tilebase.costs.rates import pass_seconds, rates
from tilebase.dense import shared
from tilebase.dense.index import PerfectIndex
from tilebase.dense.passes import NOTHING
from tilebase.dense.plan import Plan
from tilebase.dense.steps import Blocks, Cut, Step
from tilebase.dense.values import Wanted
from tilebase.errors import ResourceError
from tilebase.files.format import stored_bytes
from tilebase.game.game import Game
from tilebase.objectives.backup import discounts_states
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import Allowance

MACHINE = Allowance(memory=64 << 30, threads=MACHINE_CORES)
"""A machine; where its memory is too little, it has so many times twice as much as is enough."""
SAMPLES = 12
"""So many layers are cut; a layer between two of them reads per board what lies between."""
MOVED = 11
"""So often a layer in batches is read or written where they are not known: 8 to 14 times otherwise."""
FILES = 5
"""The states of two layers above, and the afterstates, the states after rows and the states of one."""


@dataclass(frozen=True)
class _Cuts:
    """What a layer that is cut takes.

    Attributes
    ----------
    above:
        Boards of the layers above that its batches read, per board.
    largest:
        The share of the largest batch of fold and rows, and of columns.
    pieces:
        Batches of both.
    held:
        The most values that are in memory for one batch.
    """

    above: float
    largest: tuple[float, float]
    pieces: int
    held: float

    @classmethod
    def of(cls, cut: Cut, size: int) -> _Cuts:
        """Make it of a layer of so many boards."""
        above = held = 0.0
        for top in cut.tops:
            batch = size * cut.share(Blocks(tops=top))
            for step in cut.of_top(top):
                if step.kind is Step.FOLD:
                    read = cut.boards_above(step)
                    above += read
                    held = max(held, batch + read + 2 * size * cut.share(step.writes.blocks))
        tops = max(cut.share(Blocks(tops=top)) for top in cut.tops)
        lefts = max(cut.share(Blocks(lefts=left)) for left in cut.lefts)
        return cls(above / size, (tops, lefts), len(cut.tops) + len(cut.lefts), held)


def passing(
    index: PerfectIndex,
    objective: Objective,
    cores: int,
    *,
    wanted: Wanted = NOTHING,
    machine: Allowance = MACHINE,
    lowest: int = 0,
) -> Scale:
    """Return what a pass takes on so many cores of machines with so much memory, or more if needed.

    Raises `ResourceError` if there are too many boards.
    """
    threads, machines = machine.threads, -(-cores // machine.threads)
    if machines == 1:
        machine = replace(machine, threads=cores)
        plan = _with_enough(partial(_plan_alone, index, objective, keep=wanted.files, lowest=lowest), machine)
        return alone(plan, index, objective, cores, keep=wanted.files, lowest=lowest)
    plan = _with_enough(partial(shared.worker_plan, index, objective, lowest=lowest), machine)
    slots = machines * plan.at_once  # batches in work at the same time
    sizes, cuts = {s: n for s, n in index.sizes().items() if s >= lowest}, {}
    large = {total: size for total, size in sizes.items() if size >= shared.SHARED_BOARDS}
    for total in _sample(sorted(large)):
        cuts[total] = _Cuts.of(shared.cut_for(plan, index, total, slots), sizes[total])
    here = rates("dense")
    value, again = plan.value_bytes, _again(index.game, objective)
    seconds = read = written = 0.0
    files = FILES
    for total, size in sizes.items():
        above = sum(sizes.get(total + 2**e, 0) for e in index.game.spawn_exponents) / size
        if total not in large:
            here_read, here_written = _moved(value * size, above, again)
            read, written = read + here_read, written + here_written
            seconds += size * here.boards / (threads if size > 1 << 20 else 1) + FILES * here.step / 10
            continue
        found, ranges = _between(cuts, total), shared.range_count(size, cores)
        pieces = found.pieces + (1 + again + any(wanted)) * ranges
        here_read, here_written = _moved(value * size, found.above + any(wanted), again)
        work = size * (here.boards + here.shared_boards)
        tops, lefts = found.largest
        slowest = (shared.FOLD_SHARE * tops + shared.COLUMNS_SHARE * lefts) * work * plan.at_once / threads
        moving = (here_read + here_written) / (machines * here.disk)
        seconds += max(work / cores, slowest, moving) + pieces * here.piece + 4 * here.step
        read, written = read + here_read, written + here_written
        files = max(files, FILES + (ranges + 1 if wanted.files else 0))
    stored = stored_bytes([objective]) * sum(sizes.values()) if wanted.files else 0.0
    moved = stored_bytes([objective]) * sum(large.values()) if wanted.files else 0.0  # chunks on their way
    held = max((found.held for found in cuts.values()), default=2.0 * max(sizes.values()))
    needed = plan.base + value * plan.at_once * held
    return Scale(
        cores,
        machines,
        seconds,
        needed,
        plan.disk_bytes + stored,
        read + moved,
        written + moved + stored,
        files,
        len(large),
    )


def alone(
    plan: Plan, index: PerfectIndex | None, objective: Objective, cores: int, *, keep: bool, lowest: int = 0
) -> Scale:
    """Return what one process takes with a thread for each core, in memory or through files.

    `keep` says that the values from the sum `lowest` on are kept.  Without an index, the layers of batches
    are read and written `MOVED` times.  Raises `ResourceError` if a batch does not fit.
    """
    stored = stored_bytes([objective]) * plan.boards if keep else 0.0
    read = written = 0.0
    if plan.batched and index is None:
        read = written = MOVED / 2 * plan.value_bytes * plan.boards
    elif plan.window and index is not None:
        read, written = _moved_in_windows(plan, index, lowest)
    elif plan.batched and index is not None:
        again = _again(index.game, objective)
        sizes = {total: size for total, size in index.sizes().items() if total >= lowest}
        cuts = {total: _Cuts.of(plan.cut(index, total), sizes[total]) for total in _sample(sorted(sizes))}
        moves = [_moved(plan.value_bytes * n, _between(cuts, s).above, again) for s, n in sizes.items()]
        read, written = sum(one for one, _ in moves), sum(one for _, one in moves)
    seconds = pass_seconds(plan.boards, cores, bits=plan.as_bits, moved=read + written)
    if keep:
        seconds += rates("dense").kept * objective.value_bytes * plan.boards / cores
    memory, files = min(plan.whole_bytes, plan.memory), FILES - 1 if plan.batched else 1
    return Scale(cores, 1, seconds, memory, plan.disk_bytes + stored, read, written + stored, files)


def _moved(nbytes: float, above: float, again: int) -> tuple[float, float]:
    """Return the bytes that a layer of values of so many bytes reads and writes (see the module)."""
    return nbytes * (above + 3 + again), nbytes * (3 + again)


def _moved_in_windows(plan: Plan, index: PerfectIndex, lowest: int) -> tuple[float, float]:
    """Return the bytes that a pass over bits in windows reads and writes."""
    sizes = {total: plan.value_bytes * n for total, n in index.sizes().items() if total >= lowest}
    spilled = sum(max(size - 8 * plan.window, 0.0) for size in sizes.values())
    above = sum(sizes.get(total + 2**e, 0.0) for total in sizes for e in index.game.spawn_exponents)
    return above + spilled, sum(sizes.values()) + spilled


def _with_enough(planned: Callable[[Allowance], Plan], machine: Allowance) -> Plan:
    """Return a plan for a machine with enough memory."""
    while True:
        try:
            return planned(machine)
        except ResourceError:
            machine = replace(machine, memory=2 * machine.memory)


def _plan_alone(
    index: PerfectIndex, objective: Objective, machine: Allowance, *, keep: bool, lowest: int
) -> Plan:
    """Return the plan of one process, of which the largest layer is cut.  Raises `ResourceError`."""
    plan = Plan.outline(index, objective, machine, bits=not keep, lowest=lowest)
    if plan.batched:
        plan.cut(index, max(index.sizes(), key=index.sizes().__getitem__))
    return plan


def _again(game: Game, objective: Objective) -> int:
    """Return how often the states are read and written once more, for the discount."""
    return int(discounts_states(game, objective))


def _sample(totals: Sequence[int]) -> Iterator[int]:
    """At most `SAMPLES` of some sums, the first and the last included."""
    if totals:
        at = np.linspace(0, len(totals) - 1, min(SAMPLES, len(totals))).round().astype(int)
        yield from (totals[k] for k in at.tolist())


def _between(cuts: dict[int, _Cuts], total: int) -> _Cuts:
    """Return what a layer takes that was cut, or the nearest one that was."""
    return cuts[min(cuts, key=lambda other: abs(other - total))]
