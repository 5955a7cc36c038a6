"""The rows of `tilebase plan`: what a command takes on this machine, on a larger one, and on many.

Every row has the same columns.  Those of this machine are what the command itself expects when it begins,
with threads in one process.  So is that of one machine with more cores: threads exchange nothing, so they
are faster than as many workers.  Many machines share the work with ``--cluster``, as workers on this one do
if they are asked for; they have no row where one machine is as fast.  Where memory or disk do not fit, they
say so in their columns, and the time is what it would take with enough; what is not possible says so there.
The reason is a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tilebase.costs import cores, machines, reachable
from tilebase.costs.boards import passing, planned_index
from tilebase.costs.cores import MACHINE_CORES, MOST_CORES, Scale
from tilebase.costs.estimate import Estimate, number_in_words, shortages
from tilebase.costs.forcing import (
    FIRST_PATIENCE,
    compile_seconds,
    opened_afterstates,
    patience_of,
    replacing_pass,
    replacing_seconds,
    search_seconds,
)
from tilebase.costs.machines import this_machine
from tilebase.costs.reachable import Work, layers_of
from tilebase.costs.spaces import check_space, expected
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.dense import shared as dense_shared
from tilebase.dense.index import PerfectIndex
from tilebase.errors import ResourceError, StorageError, UsageError
from tilebase.game.game import Game
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective, check_goal_fits
from tilebase.runtime.measured import duration
from tilebase.runtime.paths import runs_folder
from tilebase.runtime.resources import Allowance
from tilebase.runtime.system import processors

_NOTHING_SHARED = {
    "moved": "0 B",
    "reason": "no layer is large enough to be shared out, so the workers would do nothing: leave --cluster "
    "out; tilebase explain cluster says how large they have to be",
}
"""What is said of workers for small layers alone."""
COLUMNS = ("what", "on", "boards", "time", "memory", "disk", "moved", "reason")


def everything(game: Game, objective: Objective, allowed: Allowance) -> list[dict[str, Any]]:
    """Return the rows of all that can be asked about a game, those of this machine first.

    Raises `UsageError` if the objective does not fit the game.
    """
    _check(objective, game)
    rows = counting(game, allowed) + solving(game, [objective], "reachable", allowed)
    rows += _passes_or_reason(game, objective, allowed)
    rows += forcing(game, allowed) if game.can_win else []
    return sorted(rows, key=lambda row: not row["on"].startswith("this machine"))


def counting(
    game: Game,
    allowed: Allowance,
    *,
    up_to: int | None = None,
    keep: str = "counts",
    folder: Path | None = None,
    workers: int | None = None,
) -> list[dict[str, Any]]:
    """Return the rows for counting the reachable states, in a folder, also by so many workers here.

    `keep` says what stays in the folder, as for `count`.
    """
    layers = layers_of(game).by_sum(up_to)

    def shared(number: int, each: int) -> Scale:
        return cores.counting(game, number, layers, each)

    here = reachable.counting(game, allowed, up_to=up_to, keep=keep)
    work = reachable.count_work(game, up_to)
    return _reachable("count", here, work, shared, allowed, folder, workers)


def solving(
    game: Game,
    objectives: Sequence[Objective],
    space: str,
    allowed: Allowance,
    *,
    keep: bool = False,
    down_to: int | None = None,
    lean: bool | None = None,
    summaries: bool = True,
    backend: str = "threads",
    folder: Path | None = None,
    workers: int | None = None,
) -> list[dict[str, Any]]:
    """Return the rows for solving the reachable boards, or for a pass over all for each objective.

    Those of this machine are what `solve` expects with the same options.  With ``"auto"`` the rows of both,
    unless a table is kept, which holds the reachable ones.  Without a folder, the disk is that of runs
    without one.

    Raises `UsageError` or `ResourceError` if there cannot be such a pass.
    """
    check_space(space)
    for one in objectives:
        _check(one, game)
    passes = partial(
        _passes, game, objectives, allowed, folder, keep=keep, down_to=down_to, summaries=summaries,
        backend=backend, workers=workers,
    )  # fmt: skip
    if space == "all":
        return passes()
    layers = layers_of(game).by_sum()
    solved = {total: layer for total, layer in layers.items() if total >= (down_to or 0)}

    def shared(number: int, each: int) -> Scale:
        first = cores.counting(game, number, layers, each)
        return _together(first, cores.solving(game, objectives, number, solved, each))

    here = expected("reachable", objectives, allowed, down_to=down_to, keep=keep, lean=lean)(game)
    work = reachable.count_work(game) + reachable.solve_work(game, objectives, down_to)
    rows = _reachable(f"solve for {_labels(objectives)}", here, work, shared, allowed, folder, workers)
    if space == "auto" and not keep:
        with suppress(ResourceError, UsageError):  # then the reachable boards are solved
            rows += passes()
    return rows


def _check(objective: Objective, game: Game) -> None:
    """Raise `UsageError` if the objective does not fit the game, as the command would."""
    objective.check(game)
    if objective.is_bound:
        check_goal_fits(game)


def forcing(game: Game, allowed: Allowance, *, search_only: bool = False) -> list[dict[str, Any]]:
    """Return the row of a search for a forced win: a rough guess, since nobody knows what it opens.

    Unless there is only to be a search, a second row is for the pass that replaces it where it takes long.
    """
    opened, on = opened_afterstates(game), this_machine(allowed)
    takes, size = f"roughly {duration(search_seconds(game, allowed))}", byte_text(16 * opened)
    plan = None if search_only else replacing_pass(game, allowed)
    search = {
        "what": "force by search",
        "on": on,
        "boards": f"roughly {number_in_words(opened)} afterstates",
        "time": takes,
    }
    sizes = {"memory": size, "disk": size, "moved": "", "reason": ""}
    if plan is None:
        return [search | sizes]
    after = duration(FIRST_PATIENCE + patience_of(plan, allowed))
    seconds = replacing_seconds(plan, allowed)
    compiled = f", after {duration(compile_seconds())} of compiling" if compile_seconds() else ""
    in_place = {
        "what": "force by a pass in its place", "on": on, "boards": f"{plan.boards:,} boards",
        "time": f"about {duration(seconds)}{compiled}", "memory": byte_text(plan.whole_bytes), "disk": "0 B",
        "moved": "0 B", "reason": "",
    }  # fmt: skip
    return [search | {"time": f"{takes}; if it takes over {after}, a pass replaces it"} | sizes, in_place]


def _passes_or_reason(game: Game, objective: Objective, allowed: Allowance) -> list[dict[str, Any]]:
    """Return the rows of a pass over all boards.

    Where there are too many boards, what it would take by size.
    """
    boards = f"{sum(boards_by_sum(game).values()):,} boards"
    try:
        return _passes(game, [objective], allowed, None)
    except ResourceError as error:
        row = machines.row_by_size(game, objective, allowed, error)
        row |= {"what": _all(objective), "boards": boards}
        return [{name: row[name] for name in COLUMNS}]
    except UsageError as error:
        none = {"on": this_machine(allowed), "boards": boards, "time": "not possible"}
        return [
            {"what": _all(objective)} | none | {"memory": "", "disk": "", "moved": "", "reason": str(error)}
        ]


def _passes(
    game: Game,
    objectives: Sequence[Objective],
    allowed: Allowance,
    folder: Path | None,
    *,
    keep: bool = False,
    down_to: int | None = None,
    summaries: bool = True,
    backend: str = "threads",
    workers: int | None = None,
) -> list[dict[str, Any]]:
    from tilebase.costs import batches  # the other engine is loaded if it is asked
    from tilebase.dense.values import Wanted

    index, wanted, lowest = planned_index(game), Wanted(summaries, keep), down_to or 0
    rows = []
    for one in objectives:
        boards = f"{sum(n for s, n in index.sizes().items() if s >= lowest):,} boards"
        alone = [machines.device_row(index, one, lowest=lowest)]
        if backend != "cuda":
            alone.insert(0, _pass_here(index, one, allowed, folder, keep=keep, down_to=down_to))
        for row in alone:
            row |= {"what": _all(one), "boards": boards}
            rows.append({name: row[name] for name in COLUMNS})
        if backend == "cuda":
            continue
        if workers is not None:
            each = Allowance(memory=allowed.memory // workers, threads=1)
            found = batches.passing(index, one, workers, wanted=wanted, machine=each, lowest=lowest)
            row = _shared(_all(one), boards, found) | {"on": _workers_here(workers)}
            large = max(index.sizes().values()) >= dense_shared.SHARED_BOARDS
            rows.append(row if large else row | _NOTHING_SHARED)
        scales = [
            batches.passing(index, one, number, wanted=wanted, lowest=lowest)
            for number in (MACHINE_CORES, MOST_CORES)
        ]
        faster = scales[1].seconds < scales[0].seconds
        rows += [_shared(_all(one), boards, found) for found in scales[: 1 + faster]]
    return rows


def _pass_here(
    index: PerfectIndex, one: Objective, allowed: Allowance, folder: Path | None, **options: Any
) -> dict[str, Any]:
    """Return the row of a pass on this machine, without what it is and its boards."""
    row = {"on": this_machine(allowed)}
    try:
        found = passing("", index.game, [one], allowed, index=index, **options)
    except ResourceError as error:
        return row | machines.no_fit(error)
    row |= {"time": duration(found.seconds, 3), "memory": byte_text(found.memory)}
    row |= {"disk": byte_text(int(found.disk)), "moved": byte_text(int(found.moved))}
    return _fitting(row, found, allowed, folder)


def _all(objective: Objective) -> str:
    return f"solve all boards for {objective.label}"


def _labels(objectives: Sequence[Objective]) -> str:
    return ", ".join(one.label for one in objectives)


def _here(what: str, found: Estimate, allowed: Allowance, folder: Path | None) -> dict[str, Any]:
    """Return the row of this machine, for a run in a folder, or in that of runs without a name."""
    return _fitting(_alone(what, this_machine(allowed), found), found, allowed, folder)


def _alone(what: str, on: str, found: Estimate) -> dict[str, Any]:
    """Return the row of one machine, whose threads exchange nothing."""
    time = f"about {duration(found.seconds)}{found.span}"
    size = f"{found.bound:,}" if found.spread == 1 else f"about {number_in_words(found.positions)}"
    return {
        "what": what, "on": on, "boards": f"{size} {found.unit}",
        "time": time, "memory": f"at least {byte_text(found.memory)}", "disk": found.disk_text,
        "moved": "", "reason": "",
    }  # fmt: skip


def _fitting(row: dict[str, Any], found: Estimate, allowed: Allowance, folder: Path | None) -> dict[str, Any]:
    """Return the row of a run in a folder, with what does not fit said in its column, and in words."""
    if folder is None:
        with suppress(StorageError):  # no home: then the command asks for a folder
            folder = runs_folder()
    few = shortages(found, allowed.memory, folder)
    named = {name: f"{row[name]}, too much" for name in few}
    return row | named | {"reason": "; ".join(few.values())}


def _reachable(
    what: str,
    here: Estimate,
    work: Work,
    shared: Callable[[int, int], Scale],
    allowed: Allowance,
    folder: Path | None,
    workers: int | None,
) -> list[dict[str, Any]]:
    """Return the rows of a pass over the reachable boards, which takes so much work in one process.

    `shared` says what so many cores take, with so many in each machine.
    """
    rows = [_here(what, here, allowed, folder)]
    boards = rows[0]["boards"]
    if workers is not None:
        on = _workers_here(workers)
        row = _shared(what, boards, shared(workers, 1), kept=here.disk)
        row |= {"on": on, "time": duration(shared(min(workers, processors()), 1).seconds)}
        rows.append(row if shared(max(workers, 2), 1).shared else row | _NOTHING_SHARED)
    one = replace(here, seconds=work.seconds(MACHINE_CORES))
    rows.append(_alone(what, _cores(MACHINE_CORES, 1), one))
    many = shared(MOST_CORES, MACHINE_CORES)
    return [*rows, _shared(what, boards, many, kept=here.disk)] if many.seconds < one.seconds else rows


def _shared(what: str, boards: str, found: Scale, *, kept: float = 0.0) -> dict[str, Any]:
    """Return the row of many cores, whose workers exchange files beside those that one process has."""
    each = " a worker" if found.machines > 1 else ""
    return {
        "what": what, "on": _cores(found.cores, found.machines), "boards": boards,
        "time": duration(found.seconds), "memory": byte_text(int(found.memory)) + each,
        "disk": byte_text(int(found.disk + kept)), "moved": byte_text(int(found.read + found.written)),
        "reason": "",
    }  # fmt: skip


def _workers_here(workers: int) -> str:
    return f"this machine, {workers} worker{'s' * (workers > 1)}, --cluster"


def _cores(cores: int, machines: int) -> str:
    """Name cores that are as fast as those here."""
    if machines == 1:
        return f"{cores} such cores, 1 machine"
    return f"{machines} x {cores // machines} such cores, --cluster"


def _together(first: Scale, then: Scale) -> Scale:
    """Return what two steps take, one after the other."""
    return replace(
        then, seconds=first.seconds + then.seconds, memory=max(first.memory, then.memory),
        disk=max(first.disk, then.disk), shared=first.shared + then.shared,
        read=first.read + then.read, written=first.written + then.written, files=max(first.files, then.files),
    )  # fmt: skip
