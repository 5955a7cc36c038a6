"""Pruned tables: the boards that are worth at least a bound under one objective.

Boards after a slide whose value is less than the bound are left out, with all their values.  The manifest
says so.  A probe of such a board says that its value is below the bound, and never gives a number.  The
values of the start stay in the manifest, whatever they are.

A finished table is pruned by `prune`.  `Pruning` prunes while a game is solved: a layer is pruned as soon as
it is solved, and the whole values of a layer are deleted when the layers below no longer need them.

    above.jsonl    one line per pruned layer: how many boards were kept, and the checksums of its layers
    work/          the folder of the run: all keys, and whole values of the last layers
    values/        the pruned layers

When the start is solved, the manifest is written, and the work folder is deleted.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, Unpack

import numpy.typing as npt

from tilebase.costs.estimate import admit
from tilebase.costs.reachable import thinning
from tilebase.errors import StorageError, UsageError, WrongGameError
from tilebase.files import places
from tilebase.files.format import Contents
from tilebase.files.keys import Columns, write_subset
from tilebase.files.manifest import LEAST, Manifest
from tilebase.files.run import Journal, delete_run
from tilebase.files.solved import StoredValues
from tilebase.files.source import Closing
from tilebase.files.store import LayerStore
from tilebase.game.game import Game
from tilebase.objectives.encoding import as_floats
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import Solution, StartValues
from tilebase.runtime.documents import mapping, text, to_json, understood, whole
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use
from tilebase.runtime.storage import FileLock, make_folder, part_path, refuse_link, storage_errors
from tilebase.tables.probe import Table, afterstate_counts, local_folder, open_table

JOURNAL, WORK = "above.jsonl", "work"
"""Names in the folder of a table that is pruned while it is solved."""
Summary = TypeVar("Summary")
UNFINISHED = "thin.json"
"""The name of a file that marks an unfinished folder; it holds the arguments of the call."""


@dataclass(frozen=True)
class Pruned:
    """What a pruned table holds.

    Attributes
    ----------
    least_value:
        The least value of its afterstates.
    objective:
        The label of the objective of that value.
    afterstates, before:
        Afterstates that it holds, and those of the whole table.
    table:
        A checksum of the manifest of the whole table; empty if there was none.
    """

    least_value: float
    objective: str
    afterstates: int
    before: int
    table: str = ""

    def __repr__(self) -> str:
        return (
            f"<Pruned to {self.objective} {self.least_value:g} and more: {self.afterstates:,} of "
            f"{self.before:,} afterstates>"
        )

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return dict(self.__dict__)


def check_bound(objective: Objective, above: float) -> float:
    """Return the least value.  Raises `UsageError` unless it is one of an objective from 0 to 1."""
    if not objective.is_win:
        raise UsageError(
            f"only values from 0 to 1 can be compared with {above}: {objective.label} is not one of win, "
            "lower, upper and guaranteed"
        )
    try:
        bound = float(above)
    except (TypeError, ValueError):
        bound = 0.0
    if not 0 < bound <= 1:
        raise UsageError(f"the least value must be above 0 and at most 1, such as 0.5, not {above}")
    return bound


def prune(
    table: Table | Path | str,
    output: Path | str,
    *,
    above: float,
    objective: str | None = None,
    **use: Unpack[Use],
) -> Pruned:
    """Write the boards of a table that are worth at least a bound, with all their values.

    Parameters are those of `tilebase.thin`, but for these.

    Parameters
    ----------
    above:
        Afterstates of this value or more are kept; above 0 and at most 1.
    objective:
        The objective of this value, one whose values are from 0 to 1; None for the first.

    Raises
    ------
    UsageError
        If `above` or the objective are not as said, or the table is not whole.
    WrongGameError, StorageError
        If the output holds files or cannot be written.
    """
    allowed, opened = Allowance.of(**use), open_table(table)
    chosen = opened.objective(objective)
    bound = check_bound(chosen, above)
    query = {LEAST: bound, "objective": chosen.label, "table": opened.manifest.check}

    def write(stores: Mapping[str, LayerStore], sizes: dict[int, int]) -> dict[str, Any]:
        kept, pace, most = 0, Pace(allowed.progress, "afterstates"), sum(sizes.values())
        seen = 0
        for total in sorted(sizes, reverse=True):  # in the order in which a game is solved
            kept += write_subset(opened.layers, stores, total, _at_least(chosen, bound))
            seen += sizes[total]
            if pace.due() or seen == most:
                pace.report(total, "prune", seen, seen / most)
        return {"afterstates": kept}

    return write_part(opened, Path(output), query, Pruned, write, allowed, visits=False)


def _at_least(objective: Objective, bound: float) -> Callable[[int, Columns], npt.NDArray[Any]]:
    """Return what chooses the boards of a chunk for `write_subset`."""

    def choose(_: int, columns: Columns) -> npt.NDArray[Any]:
        return as_floats(objective, columns[objective.label]) >= bound

    return choose


# -- while a game is solved ------------------------------------------------------------------------


class Pruning(Closing):
    """The folder of a table that is pruned while it is solved.  The run in `work` holds the lock.

    Raises `UsageError` as `prune`, `WrongGameError` if the folder holds other files.
    """

    def __init__(self, target: Path, game: Game, objectives: Sequence[Objective], above: float) -> None:
        self.target, self.game, self.objectives = target, game, tuple(objectives)
        self.bound = check_bound(objectives[0], above)
        self.work = target / WORK
        self._query = {LEAST: self.bound, "objective": objectives[0].label, "table": ""}
        identity = {"game": game.identity, "objectives": [one.identity for one in objectives]}
        self._journal = Journal(target / JOURNAL, identity | self._query)
        self._lines: dict[int, dict[str, Any]] = {}
        self._stores: dict[str, LayerStore] = {}
        self._whole: dict[str, LayerStore] = {}
        self._refuse_others()

    def _refuse_others(self) -> None:
        with storage_errors(self.target, "use"):
            refuse_link(self.work)
            names = {entry.name for entry in self.target.iterdir()} if self.target.exists() else set()
        manifest = self.target / places.TABLE  # or what a kill left of it
        known = {WORK, JOURNAL, places.VALUES, manifest.name, part_path(manifest).name}
        begun = WORK in names or self.finished() is not None
        if names and (not begun or not names <= known):
            raise WrongGameError(f"{self.target} holds files: choose a new folder")

    def finished(self) -> Solution | None:
        """Return the result of an earlier call with the same arguments, without layers, or None."""
        manifest = Manifest.of_folder(self.target)
        if manifest is None:
            return None
        thinned = manifest.thinned or {}
        same = manifest.game == self.game and manifest.objectives == self.objectives
        if not same or any(thinned.get(name) != value for name, value in self._query.items()):
            raise WrongGameError(f"{self.target} holds another table: choose a new folder")
        starts = StartValues(self.objectives, [manifest.starts[one.label] for one in self.objectives])
        with understood(f"{self.target}/{places.TABLE}"):
            before = whole(thinned["before"], "the afterstates of the whole table")
        return Solution(self.game, self.objectives, tuple(() for _ in self.objectives), starts, before)

    def stored(self) -> list[StoredValues]:
        """Return the whole values in the folder of the run.  The last ones prune a layer when all have it."""
        return [
            StoredValues(
                self.work / places.values_folder(one.label), self.game, one, release=True,
                before=self._prune if number == len(self.objectives) else None,
            )
            for number, one in enumerate(self.objectives, 1)
        ]  # fmt: skip

    def begin(self, stored: Sequence[StoredValues]) -> None:
        """Continue with the pruned layers of an earlier call; begin anew unless all are there and sound."""
        with storage_errors(self.target, "use"):
            make_folder(self.target / places.VALUES)
        for objective in self.objectives:
            folder = self.target / places.values_folder(objective.label)
            self._stores[objective.label] = LayerStore(folder, Contents(self.game, objective=objective))
        with understood(str(self._journal.path)):
            lines = {line["sum"]: line for line in map(self._checked, self._journal.read())}
        solved = set.intersection(*(set(one.layers) for one in stored))
        if all(total in lines and self._is_sound(lines[total]) for total in solved):
            self._lines = {total: lines[total] for total in solved}
        else:
            for one in stored:
                one.layers.clear()
        self._whole = {one.objective.label: one.files for one in stored}
        for label, store in self._stores.items():
            store.keep({s: line["files"][label] for s, line in self._lines.items() if line["kept"]})

    def _checked(self, line: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is needed of a line of the journal, which anybody may have written."""
        kept, files = whole(line["kept"], "the boards that are kept"), mapping(line["files"], "the checksums")
        checksums = {label: text(files[label], "a checksum") for label in self._stores if kept}
        return {"sum": whole(line["sum"], "a sum"), "kept": kept, "files": checksums}

    def _is_sound(self, line: Mapping[str, Any]) -> bool:
        total = line["sum"]
        return all(
            self._stores[label].is_sound(total, line["kept"], one) for label, one in line["files"].items()
        )

    def _prune(self, total: int, durable: bool) -> None:
        """Write the part of a solved layer that is kept, and a line in the journal."""
        choose = _at_least(self.objectives[0], self.bound)
        kept = write_subset(self._whole, self._stores, total, choose, durable=durable)
        files = {label: store.records[total].text for label, store in self._stores.items() if kept}
        self._lines[total] = {"sum": total, "kept": kept, "files": files}
        self._journal.append(self._lines[total], durable=durable)

    def finish(self, counts: Mapping[str, int], starts: StartValues, before: int) -> None:
        """Write the manifest, which makes the table complete."""
        kept = sum(line["kept"] for line in self._lines.values())
        pruned = Pruned(self.bound, self.objectives[0].label, kept, before)
        manifest = Manifest(
            game=self.game, counts=counts, objectives=self.objectives, starts=dict(starts), layers={},
            thinned=pruned.as_dict(),
        )  # fmt: skip
        write_manifest(self.target, manifest, self._stores)

    def close(self) -> None:
        """Close the files."""
        self._journal.close()
        for store in self._stores.values():
            store.close()

    def clean(self) -> None:
        """Delete the work folder of a finished table, after the run in it was closed."""
        if self.work.exists():
            delete_run(self.work)
        (self.target / JOURNAL).unlink(missing_ok=True)


# -- folders of tables that leave boards out, also of thinned ones ---------------------------------


def write_part(
    table: Table,
    target: Path,
    query: Mapping[str, Any],
    summary: Callable[..., Summary],
    write: Callable[[Mapping[str, LayerStore], dict[int, int]], dict[str, Any]],
    allowed: Allowance,
    *,
    visits: bool,
) -> Summary:
    """Write a part of a table, unless an earlier call with the same `query` did; return its summary.

    ``write(stores, sizes)`` gets the number of afterstates by sum, and returns what the summary says beside
    `query` and that of the whole table.  Raises as `prune`.
    """
    local_folder(table)
    sizes, whole_table = afterstate_counts(table), table.manifest
    manifest = None if (target / UNFINISHED).exists() else Manifest.of_folder(target)
    thinned = {} if manifest is None else manifest.thinned or {}
    if all(thinned.get(name) == value for name, value in query.items()):
        with understood(f"{target}/{places.TABLE}"):
            return summary(**thinned)
    takes = thinning(table.game, sizes, table.objectives, visits=visits)
    admit(takes, allowed, lambda _: "name another disk or a smaller table", target)
    with unfinished(target, to_json(query)), ExitStack() as stack:
        stores = {
            label: stack.enter_context(
                LayerStore(target / places.values_folder(label), whole_table.contents(label))
            )
            for label in whole_table.labels
        }
        found = summary(**query, before=sum(sizes.values()), **write(stores, sizes))
        write_manifest(target, replace(whole_table, thinned=vars(found)), stores)
    return found


def write_manifest(target: Path, manifest: Manifest, stores: Mapping[str, LayerStore]) -> None:
    """Flush all layers of a table, and write its manifest, with their pages."""
    for store in stores.values():
        store.sync()
    pages = {label: store.pages() for label, store in stores.items()}
    replace(manifest, layers=pages).write(target)


@contextmanager
def unfinished(target: Path, query: str) -> Iterator[None]:
    """Mark a folder as unfinished inside the block.

    An error empties the folder.  After a kill, a call with the same arguments takes the folder over.

    Raises `WrongGameError` if the folder holds other files, `StorageError` if another process writes it.
    """
    with storage_errors(target, "use"):
        lock = _claim(target, query)
        try:
            _empty(target)  # delete what a killed call left
            make_folder(target / places.VALUES)
            yield
        except BaseException:
            _empty(target)
            lock.release(delete=not any(path.name != UNFINISHED for path in target.iterdir()))
            raise
        lock.release(delete=True)


def _claim(target: Path, query: str) -> FileLock:
    """Take the lock on the marker of a folder, which holds the arguments of the call."""
    target.mkdir(parents=True, exist_ok=True)
    marker = target / UNFINISHED
    if not marker.exists() and any(target.iterdir()):
        raise WrongGameError(f"{target} holds files: choose a new folder")
    lock = FileLock.take(marker)
    if lock is None:
        raise StorageError(f"another process is writing {target}: wait for it or stop it")
    if not query.startswith(lock.file.read().decode(errors="replace")):  # a kill may have cut it off
        lock.release()
        raise WrongGameError(f"{target} holds another unfinished table: delete it, or choose a new folder")
    lock.file.seek(0)
    lock.file.write(query.encode())
    lock.file.flush()
    return lock


def _empty(target: Path) -> None:
    """Delete an unfinished table, the manifest first."""
    (target / places.TABLE).unlink(missing_ok=True)
    shutil.rmtree(target / places.VALUES, ignore_errors=True)
