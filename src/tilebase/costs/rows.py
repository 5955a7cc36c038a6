"""The rows of `tilebase plan`: what a command takes on this machine, and on many cores with ``--cluster``.

Every row has the same columns.  Those of this machine are what the command itself expects when it begins,
with threads in one process, which is faster than as many workers that exchange files.  Where something
does not fit, or is not possible, the time says so in two words, and the reason in a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilebase.costs import cores, machines, reachable
from tilebase.costs.boards import passing
from tilebase.costs.cores import CORES, Scale
from tilebase.costs.estimate import NO_FIT, Estimate, duration, number_in_words, shortage
from tilebase.costs.forcing import (
    FIRST_PATIENCE,
    compile_seconds,
    opened_afterstates,
    pass_seconds,
    patience_of,
    replacing_pass,
    search_seconds,
)
from tilebase.costs.groups import row_by_groups
from tilebase.costs.reachable import layers_of
from tilebase.counting.combinatorics import boards_by_sum, layers_together
from tilebase.errors import ResourceError, StorageError, UsageError
from tilebase.game.game import Game
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective, check_goal_fits
from tilebase.runtime.paths import runs_folder
from tilebase.runtime.resources import Allowance

COLUMNS = ("what", "on", "boards", "time", "memory", "disk", "moved", "reason")


def everything(game: Game, objective: Objective, allowed: Allowance) -> list[dict[str, Any]]:
    """Return the rows of all that can be asked about a game, those of this machine first.

    Raises `UsageError` if the objective does not fit the game.
    """
    _check(objective, game)
    rows = counting(game, allowed) + solving(game, [objective], "reachable", allowed)
    rows += _passes_or_reason(game, objective, allowed) + _by_groups(game, objective, allowed)
    rows += forcing(game, allowed) if game.can_win else []
    return sorted(rows, key=lambda row: not row["on"].startswith("this machine"))


def counting(
    game: Game, allowed: Allowance, *, up_to: int | None = None, folder: Path | None = None
) -> list[dict[str, Any]]:
    """Return the rows for counting the reachable states, in a folder."""
    layers = layers_of(game).by_sum(up_to)
    here = reachable.counting(game, allowed, up_to=up_to)
    many = [_shared("count", cores.counting(game, number, layers), kept=here.disk) for number in CORES]
    return [_here("count", here, allowed, folder), *many]


def solving(
    game: Game,
    objectives: Sequence[Objective],
    space: str,
    allowed: Allowance,
    *,
    keep: bool = False,
    summaries: bool = True,
    folder: Path | None = None,
) -> list[dict[str, Any]]:
    """Return the rows for solving the reachable boards, or for a pass over all for each objective.

    With ``"auto"`` the rows of both, unless a table is kept, which holds the reachable ones.  Without a
    folder, the disk is that of runs without one.

    Raises `UsageError` or `ResourceError` if there cannot be such a pass.
    """
    if space not in ("reachable", "all", "auto"):
        raise UsageError(f"space {space!r} does not exist: choose one of reachable, all, auto")
    for one in objectives:
        _check(one, game)
    if space == "all":
        return _passes(game, objectives, allowed, folder, keep=keep, summaries=summaries)
    what, layers = f"solve for {_labels(objectives)}", layers_of(game).by_sum()
    here = reachable.solving(game, objectives, allowed, table=keep)
    rows = [_here(what, here, allowed, folder)]
    for number in CORES:
        first, then = cores.counting(game, number, layers), cores.solving(game, objectives, number, layers)
        rows.append(_shared(what, _together(first, then), kept=here.disk))
    if space == "auto" and not keep:
        with suppress(ResourceError, UsageError):  # then the reachable boards are solved
            rows += _passes(game, objectives, allowed, folder, keep=keep, summaries=summaries)
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
    opened, on = opened_afterstates(game), _threads(allowed.threads)
    takes, size = f"roughly {duration(search_seconds(game, allowed))}", byte_text(16 * opened)
    plan = None if search_only else replacing_pass(game, allowed)
    search = {"what": "force by search", "on": on, "boards": f"roughly {opened:,} afterstates", "time": takes}
    sizes = {"memory": size, "disk": size, "moved": "", "reason": ""}
    if plan is None:
        return [search | sizes]
    after = duration(FIRST_PATIENCE + patience_of(plan, allowed))
    seconds = pass_seconds(plan, allowed)
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
        return _passes(game, [objective], allowed, None, keep=False, summaries=True)
    except ResourceError as error:
        row = machines.row_by_size(game, objective, allowed, error)
        row |= {"what": _all(objective), "on": row.pop("machine"), "boards": boards}
        return [{name: row[name] for name in COLUMNS}]
    except UsageError as error:
        none = {"on": _threads(allowed.threads), "boards": boards, "time": "not possible"}
        return [
            {"what": _all(objective)} | none | {"memory": "", "disk": "", "moved": "", "reason": str(error)}
        ]


def _by_groups(game: Game, objective: Objective, allowed: Allowance) -> list[dict[str, Any]]:
    """Return the row of a pass by groups of equal tiles, where layers do not fit into memory."""
    if objective.value_bytes * max(layers_together(boards_by_sum(game)).values()) < allowed.memory:
        return []
    with suppress(UsageError, ResourceError):  # cells differ, or there are too many groups
        row = row_by_groups(game, objective, allowed)
        return [{"what": f"{_all(objective)}, by groups", "on": _threads(allowed.threads)} | row]
    return []


def _passes(
    game: Game,
    objectives: Sequence[Objective],
    allowed: Allowance,
    folder: Path | None,
    *,
    keep: bool,
    summaries: bool,
) -> list[dict[str, Any]]:
    from tilebase.costs import batches  # the other engine is loaded if it is asked
    from tilebase.dense.tables import check_index
    from tilebase.dense.values import Wanted

    index = machines.planned_index(game)
    check_index(index)
    wanted = Wanted(summaries, keep)
    rows = []
    for one in objectives:
        boards = f"{sum(index.sizes().values()):,} boards"
        here = passing(_all(one), game, [one], allowed, keep=keep)
        for row in machines.rows(index, one, allowed):
            row = {"what": _all(one), "on": row.pop("machine"), "boards": boards} | row
            if row["on"].startswith("this machine") and not row["reason"]:
                row |= {"time": duration(here.seconds), "disk": byte_text(int(here.disk))} if keep else {}
                row |= _shortage(here, row["time"], allowed, folder)
            rows.append({name: row[name] for name in COLUMNS})
        rows += [_shared(_all(one), batches.passing(index, one, number, wanted=wanted)) for number in CORES]
    return rows


def _all(objective: Objective) -> str:
    return f"solve all boards for {objective.label}"


def _labels(objectives: Sequence[Objective]) -> str:
    return ", ".join(one.label for one in objectives)


def _threads(threads: int) -> str:
    return f"this machine, {threads} thread{'s' * (threads > 1)}"


def _here(what: str, found: Estimate, allowed: Allowance, folder: Path | None) -> dict[str, Any]:
    """Return the row of this machine, for a run in a folder, or in that of runs without a name."""
    time = f"about {duration(found.seconds)}"
    if found.spread != 1:
        low, high = duration(found.seconds / found.spread), duration(found.seconds * found.spread)
        time += f" ({low} to {high})"
    size = f"{found.bound:,}" if found.spread == 1 else f"about {number_in_words(found.positions)}"
    return {
        "what": what, "on": _threads(found.threads), "boards": f"{size} {found.unit}",
        "time": time, "memory": f"at least {byte_text(found.memory)}", "disk": byte_text(int(found.disk)),
        "moved": "", "reason": "",
    } | _shortage(found, time, allowed, folder)  # fmt: skip


def _shortage(found: Estimate, time: str, allowed: Allowance, folder: Path | None) -> dict[str, str]:
    """Return what a row says of a run in a folder that does not fit; nothing if it fits."""
    if folder is None:
        with suppress(StorageError):  # no home: then the command asks for a folder
            folder = runs_folder()
    reason = shortage(found, allowed.memory, folder)
    return {"time": NO_FIT, "reason": f"{reason}; with enough it would take {time}"} if reason else {}


def _shared(what: str, found: Scale, *, kept: float = 0.0) -> dict[str, Any]:
    """Return the row of many cores, whose workers exchange files beside those that one process has."""
    many = f"{found.machines} machines" if found.machines > 1 else "1 machine"
    return {
        "what": what, "on": f"{found.cores} cores, {many}, --cluster", "boards": "",
        "time": duration(found.seconds), "memory": f"{byte_text(int(found.memory))} a worker",
        "disk": byte_text(int(found.disk + kept)), "moved": byte_text(int(found.read + found.written)),
        "reason": "",
    }  # fmt: skip


def _together(first: Scale, then: Scale) -> Scale:
    """Return what two steps take, one after the other."""
    return replace(
        then, seconds=first.seconds + then.seconds, memory=max(first.memory, then.memory),
        disk=max(first.disk, then.disk),
        read=first.read + then.read, written=first.written + then.written, files=max(first.files, then.files),
    )  # fmt: skip
