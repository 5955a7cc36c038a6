"""The rows of `tilebase plan`: what a command expects when it begins, with its own options.

The cores are a parameter: with more threads than this machine has processors, a row is for a machine of so
many cores that are as fast.  Where memory or disk do not fit, they say so in their columns, and the time is
what it would take with enough; what is not possible says so there.  The reason is a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tilebase.costs import reachable
from tilebase.costs.estimate import NO_FIT, Estimate, number_in_words, shortages, within_disk
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import ResourceError, StorageError, UsageError
from tilebase.game.game import Game
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective, check_goal_fits
from tilebase.runtime.measured import duration
from tilebase.runtime.paths import runs_folder
from tilebase.runtime.resources import OVERHEAD, Allowance
from tilebase.runtime.system import processors

SPACES = ("reachable", "all", "auto")
"""On which boards a game is solved or counted."""
COUNT_ALL = "count over all boards"
NOTHING_SHARED = (
    "no layer is large enough to be shared out, so the workers would do nothing: leave --cluster out; "
    "tilebase explain cluster says how large they have to be"
)
"""What is said of workers for small layers alone."""


def counted_space(game: Game, space: str, up_to: int | None, *, only_reachable: bool) -> str:
    """Return on which boards a game may be counted up to a sum: auto only where this is a choice.

    With `only_reachable` something is asked for that a pass over all boards does not do.  Raises `UsageError`
    unless the space is one of `SPACES`, and for a negative sum.
    """
    if up_to is not None and up_to < 0:
        raise UsageError(f"the sum to count to must be 0 or more, not {up_to}")
    if space not in SPACES:
        raise UsageError(f"space {space!r} does not exist: choose one of {', '.join(SPACES)}")
    if space == "all" and only_reachable:
        raise UsageError("a pass over all boards has no lookahead, no workers, and keeps counts only")
    return "reachable" if space == "auto" and (only_reachable or not game.is_plain) else space


def expected(
    space: str,
    objectives: Sequence[Objective],
    allowed: Allowance,
    *,
    down_to: int | None = None,
    keep: bool | None = False,
    shared: bool = False,
) -> Callable[[Game], Estimate]:
    """Return the estimate for solving a game on the boards of a space.

    `keep`: a table is written, or one that leaves boards out with None.
    """
    if space == "all":
        from tilebase.costs.passes import passing  # the other engine is loaded if it is asked

        return partial(
            passing, objectives=objectives, allowed=allowed, sums=(down_to or 0, None), keep=bool(keep)
        )
    return partial(
        reachable.solving, objectives=objectives, allowed=allowed, down_to=down_to, table=keep, shared=shared
    )


def estimate_of(space: str, allowed: Allowance, keep: str = "counts") -> Callable[..., Estimate]:
    """Return the estimate for counting a game, and perhaps `up_to` a sum, on the boards of a space."""
    if space == "all":
        from tilebase.costs.passes import counting_all  # the other engine is loaded if it is asked

        return partial(counting_all, allowed=allowed)
    return partial(reachable.counting, allowed=allowed, keep=keep)


class Machine(Allowance):
    """A machine that has a core for each thread."""

    @property
    def cores(self) -> int:
        """The cores that the threads keep busy: all."""
        return self.threads


def everything(game: Game, objective: Objective, allowed: Allowance) -> list[dict[str, Any]]:
    """Return the rows of all that can be asked about a game.

    Raises `UsageError` if the objective does not fit the game.
    """
    rows = counting(game, allowed) + solving(game, [objective], "reachable", allowed)
    try:
        rows += solving(game, [objective], "all", allowed)
    except UsageError as error:
        rows.append(_impossible(game, _all(objective), _named(allowed), str(error)))
    return rows + (forcing(game, allowed) if game.can_win else [])


def counting(
    game: Game,
    allowed: Allowance,
    *,
    up_to: int | None = None,
    lookahead: bool = False,
    keep: str = "counts",
    space: str = "auto",
    folder: Path | None = None,
    cluster: str | None = None,
) -> list[dict[str, Any]]:
    """Return the rows for counting the reachable states, in a folder, perhaps by the workers of a cluster.

    `keep` says what stays in the folder, as for `count`.  With ``"auto"`` a second row is of a pass over all
    boards, where `count` may choose it.
    """
    plain = not lookahead and keep == "counts" and cluster is None
    space = counted_space(game, space, up_to, only_reachable=not plain)
    workers, rows = _workers(cluster, space), []
    machine = _machine(allowed, workers)
    if space != "all":
        found = estimate_of("reachable", machine, keep)(game, up_to=up_to)
        shared = reachable.is_shared(game, up_to, solved=False)
        rows.append(_row("count", found, allowed, folder, workers, shared))
        if space == "auto":
            from tilebase.costs.passes import counted_sooner  # the other engine is loaded if it is asked

            space = space if counted_sooner(game, machine, found, up_to) else "reachable"
    if space != "reachable":
        try:
            found = estimate_of("all", machine)(game, up_to=up_to)
            rows.append(_row(COUNT_ALL, found, allowed, folder, workers=None, shared=False))
        except ResourceError as error:
            rows.append(_impossible(game, COUNT_ALL, _named(allowed), str(error)))
    return rows


def solving(
    game: Game,
    objectives: Sequence[Objective],
    space: str,
    allowed: Allowance,
    *,
    keep: bool | None = False,
    down_to: int | None = None,
    folder: Path | None = None,
    cluster: str | None = None,
) -> list[dict[str, Any]]:
    """Return the row for solving the reachable boards, or of a pass over all for each objective.

    It is what `solve` expects with the same options.  With ``"auto"`` the rows of both, unless a table is
    kept or workers are named, which hold or share the reachable ones.  Without a folder, the disk is that of
    runs without one.  Raises `UsageError` if workers do not share the boards of the space.
    """
    if space == "auto" and (keep or cluster is not None):
        space = "reachable"
    for one in objectives:
        one.check(game)
        if one.is_bound:
            check_goal_fits(game)
    workers, rows = _workers(cluster, space), []
    machine = _machine(allowed, workers)
    if space != "all":
        shared = workers is not None
        within = within_disk(machine, folder or _of_runs())
        found = expected("reachable", objectives, within, down_to=down_to, keep=keep, shared=shared)(game)
        kept = "table kept" if keep else "no table"
        what = f"solve for {', '.join(one.label for one in objectives)}, {kept}"
        rows.append(_row(what, found, allowed, folder, workers, reachable.is_shared(game)))
    if space != "reachable":
        from tilebase.costs.passes import passing
        from tilebase.dense.sizes import check_rules

        for one in objectives:
            try:
                check_rules(game)
                found = passing(
                    game, [one], machine, sums=(down_to or 0, None), keep=bool(keep), thorough=True
                )
            except ResourceError as error:
                rows.append(_impossible(game, _all(one), _named(allowed), str(error)))
            except UsageError:
                if space == "all":
                    raise
            else:
                rows.append(_row(_all(one), found, allowed, folder, workers=None, shared=False))
    return rows


def forcing(game: Game, allowed: Allowance, *, search_only: bool = False) -> list[dict[str, Any]]:
    """Return the row of a search for a forced win: a rough guess, since nobody knows what it opens.

    Unless there is only to be a search, a second row is for the pass that replaces it where it takes long.
    """
    from tilebase.costs import passes  # the other engine is loaded if it is asked

    allowed = _machine(allowed, None)
    opened, on = passes.opened_afterstates(game), _named(allowed)
    table = passes.OPENED_BYTES * opened
    search = _cells(
        "force by search", on, f"roughly {number_in_words(opened)} afterstates",
        f"roughly {duration(passes.search_seconds(game, allowed))}", byte_text(OVERHEAD + table),
        byte_text(table),
    )  # fmt: skip
    plan = None if search_only else passes.replacing_pass(game, allowed)
    if plan is None:
        return [search]
    after = duration(passes.FIRST_PATIENCE + passes.patience_of(plan, allowed))
    seconds = passes.plan_seconds(plan, allowed)
    compiling = passes.compile_seconds()
    compiled = f", after {duration(compiling)} of compiling" if compiling else ""
    in_place = _cells(
        "force by a pass in its place", on, f"{plan.boards:,} boards", f"about {duration(seconds)}{compiled}",
        byte_text(plan.whole_bytes), "0 B",
    )  # fmt: skip
    search["time"] += f"; if it takes over {after}, a pass replaces it"
    return [search, in_place]


def _workers(cluster: str | None, space: str) -> int | None:
    """Return how many workers on this machine the text of ``--cluster`` names; None without them.

    Raises `UsageError` if they do not share the boards of a space.
    """
    if cluster is None:
        return None
    from tilebase.cluster.runs import check_shared, workers_here

    check_shared(cluster, space)
    return workers_here(cluster)


def _machine(allowed: Allowance, workers: int | None) -> Allowance:
    """Return a machine with a core for each thread; or this one with workers, and the memory of one."""
    if workers is not None:
        return Allowance(memory=allowed.memory // workers, threads=workers, disk=allowed.disk)
    return Machine(memory=allowed.memory, threads=allowed.threads, disk=allowed.disk)


def _named(allowed: Allowance, workers: int | None = None) -> str:
    """Name this machine, or one with more cores that are as fast."""
    if workers is not None:
        return f"this machine, {workers} worker{'s' * (workers > 1)}, --cluster"
    if allowed.threads > processors():
        return f"{allowed.threads} such cores"
    return f"this machine, {allowed.threads} thread{'s' * (allowed.threads > 1)}"


def _all(objective: Objective) -> str:
    return f"solve all boards for {objective.label}"


def _row(
    what: str, found: Estimate, allowed: Allowance, folder: Path | None, workers: int | None, shared: bool
) -> dict[str, Any]:
    """Return the row of a run in a folder, or in that of runs without a name.

    `shared` says whether workers do a part of it.
    """
    known = found.spread == 1
    size = f"{found.bound:,}" if known else f"about {number_in_words(found.positions)}"
    time = duration(found.seconds, 3) if known else f"about {duration(found.seconds)}{found.span}"
    size, time = (f"{'at most ' * found.upper}{text}" for text in (size, time))
    row = _cells(
        what, _named(allowed, workers), f"{size} {found.unit}", time, found.memory_text,
        byte_text(int(found.disk)), byte_text(int(found.moved)) if found.moved else "",
    )  # fmt: skip
    few = shortages(found, _machine(allowed, workers), folder or _of_runs())
    if workers is not None:
        row["memory"] += " a worker"
        few |= {"memory": f"{few['memory']} by each worker"} if "memory" in few else {}
    reasons = [*few.values(), *([] if workers is None or shared else [NOTHING_SHARED])]
    reasons += [found.hint] if found.hint else []
    return row | {name: f"{row[name]}, too much" for name in few} | {"reason": "; ".join(reasons)}


def _of_runs() -> Path | None:
    """Return the folder of runs without one; None if there is no home: then the command asks for one."""
    try:
        return runs_folder()
    except StorageError:
        return None


def _impossible(game: Game, what: str, on: str, reason: str) -> dict[str, Any]:
    """Return the row of a pass that a machine cannot do, with the reason."""
    boards = f"{sum(boards_by_sum(game).values()):,} boards"
    return _cells(what, on, boards, NO_FIT) | {"reason": reason}


def _cells(
    what: str, on: str, boards: str, time: str, memory: str = "", disk: str = "", moved: str = ""
) -> dict[str, Any]:
    """Return a row, without a reason."""
    return {
        "what": what, "on": on, "boards": boards, "time": time, "memory": memory, "disk": disk,
        "moved": moved, "reason": "",
    }  # fmt: skip
