"""The dense pass by groups: the values of all boards, one multiset of tiles at a time.

    W of a group       fold over spawns of V of the groups with one more tile 2 or 4
    V of a group       best over slides of W of the groups that its merges make, itself included

The values are those of `dense.passes`, bit for bit: both use the same backup, and means are added in the
order of the perfect index, whose parts say on which cell a tile is spawned first.

*Order.*  Sums descend.  Within a sum, groups descend in the order of their counts of tiles, the largest tile
first: a merge makes a larger tile, so W of all that a slide of a group leads to is there before V of the
group.  Values that no later group reads are released at once: V of a group after W of the groups with a 2 and
with a 4 less, W of a group after V of the last group whose merges may lead to it.  Without the order of sums
W of a group would be read until its largest tile has been taken apart: on 3x3 to 64 this would hold 4,259,394
values instead of 619,074.

*Memory.*  In work are W of a group with V of those that its spawns lead to, or V of a group with W of one
group more.  The other values that are held are in memory, too, or with a folder in a file for each group
(`dense.held`), from which a stopped pass goes on.  Workers do the large groups (`dense.shared_groups`).

Ranks need no stored boards: `Ranking` has a table of a few thousand entries for each group.
"""

from __future__ import annotations

import logging
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.cluster.executors import Executor
from tilebase.dense import shared_groups
from tilebase.dense.group_rules import GroupRules, Step, alone, by_threads, group_in, name_of
from tilebase.dense.held import WAITING_BYTES, Held, HeldValues
from tilebase.dense.passes import CHECKPOINT_SECONDS, CHECKPOINT_TIMES, SPARE_BYTES
from tilebase.errors import CorruptError, StorageError
from tilebase.files import places
from tilebase.files.run import Journal
from tilebase.files.solved import identity_of
from tilebase.game.game import Cells, Game
from tilebase.objectives.backup import state_value
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Number
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance
from tilebase.runtime.saving import SaveClock
from tilebase.runtime.storage import make_folder, storage_errors
from tilebase.runtime.threads import Pool

LOG = logging.getLogger(__name__)
Array = npt.NDArray[Any]


class GroupPass:
    """One objective over all boards within the limits, by groups.  `solve_by_groups` is enough for most.

    With a folder the pass is saved there, and goes on from there; with `in_files` the values that are not in
    work are in its files only.  Workers need a folder that is attached to them, and `in_files`.  `callback`
    is called with the tiles of each group that is solved and its states, in the order of `Ranking`; not with
    workers.  ``solved`` are the numbers of the groups: those whose sum is not less than that of
    the start.
    """

    def __init__(
        self,
        game: Game,
        objective: Objective,
        allowed: Allowance,
        *,
        folder: Path | None = None,
        in_files: bool = False,
        cluster: Executor | None = None,
        callback: Callable[[Cells, Array], None] | None = None,
    ) -> None:
        self.game, self.objective, self._folder, self._in_files = game, objective, folder, in_files
        self.rules = GroupRules(game, objective)
        self.groups = self.rules.groups
        self.solved = np.flatnonzero(self.groups.sums >= self.rules.first)
        self._threads, self._callback = allowed.threads, callback
        self._pace = Pace(allowed.progress, "boards")
        self.values = HeldValues(
            self.rules.backup.dtype, bits=objective.is_boolean, folder=folder, memory=not in_files
        )
        self._journal = None
        if folder is not None:
            self._journal = Journal(folder / places.SOLVED, identity_of(game, objective, "groups"))
        self._shared = None
        if cluster is not None:
            assert folder is not None
            self._shared = shared_groups.SharedGroups(cluster, folder, game, objective)
        self._starts = [board for board, _ in game.starts()]
        self._clock = SaveClock()
        self._steps = 0  # that are done
        self._whole = True  # the values are those after `_steps`, and not between two
        self._done = self._had = 0.0  # boards, and those of earlier calls

    @property
    def held(self) -> Held:
        """The most that was held at once so far."""
        return self.values.held

    def run(self) -> Number:
        """Solve all groups; return the value of the start.

        Raises `StorageError`, `CorruptError` or `ClusterError`.
        """
        before, steps = self._go_on(), self.schedule()
        every = int(self.groups.sizes[self.solved].sum())
        for step in islice(steps, before):
            self._done += int(self.groups.sizes[step.group]) / 2
        self._had = self._done
        self._pace.start(self._had / every)
        with Pool(self._threads) as pool:
            try:
                for step in steps:
                    self._step(pool, step, every)
            except KeyboardInterrupt:
                if self._whole:
                    self._save()
                raise
        if self._steps > before:
            self._save()
        if self._journal is not None:
            self._journal.close()
        values = {
            board: state_value(self.objective, self.rules.backup, self.rules.backup.dtype.type(stored))
            for board, stored in zip(self._starts, self._start_values(), strict=True)
        }
        return self.objective.over_spawns((values[board], p) for board, p in self.game.starts())

    def _start_values(self) -> Iterator[float]:
        for at in range(len(self._starts)):
            if at not in self.values.starts:
                raise CorruptError(f"a pass by groups in {self._folder} lacks the start: delete the folder")
            yield self.values.starts[at]

    def schedule(self) -> Iterator[Step]:
        """Yield all steps in their order."""
        rules, sums = self.rules, self.groups.sums
        for total in np.unique(sums[self.solved])[::-1].tolist():
            here = np.flatnonzero(sums == total)
            order = here[np.lexsort(self.groups.counts[here].T)][::-1].tolist()
            after = {group: self.groups.after_slides(group) for group in order}
            readers = Counter(target for targets in after.values() for target in targets)
            for group in order:
                yield Step("fold", group, total, rules.folds(group, total), readers[group])
                reads = tuple(name_of("fold", target) for target in after[group])
                yield Step("slide", group, total, reads, rules.readers_of_states(group, total))

    # -- one step ----------------------------------------------------------------------------

    def _step(self, pool: Pool, step: Step, every: int) -> None:
        size, before = int(self.groups.sizes[step.group]), self._done

        def tell(share: float) -> None:
            self._done = before + share * size / 2
            if self._pace.due() or self._done == every:
                done = int(self._done)
                self._pace.report(step.total, "solve", done, done / every, new=int(self._done - self._had))

        if self._shared is not None and size >= shared_groups.SHARED_BOARDS:
            self._do_shared(step, size, tell)
        else:
            self._do_here(pool, step, size, tell)
        self._steps += 1
        self._whole = True
        tell(1)
        due = self._clock.is_due(CHECKPOINT_SECONDS, CHECKPOINT_TIMES)
        if self._journal is not None and (due or self.values.waiting > WAITING_BYTES):
            self._save()

    def _do_here(self, pool: Pool, step: Step, size: int, tell: Callable[[float], None]) -> None:
        share = by_threads(pool, lambda boards: tell(boards / size / max(len(step.reads), 1)))
        values, worked = self.rules.do(step, 0, size, self.values.read, share)
        self.values.works(worked)
        starts = self._starts_of(step, lambda rank: values[rank])
        if self._callback is not None and step.kind == "slide":
            self._callback(self.rules.tiles(step.group), values)
        self._release(step, starts)
        self.values.put(step.name, self.rules.stored(step, values), step.readers)

    def _do_shared(self, step: Step, size: int, tell: Callable[[float], None]) -> None:
        assert self._shared is not None
        for name in step.reads:
            self.values.check(name)
        # Workers do not tell values.
        starts = self._starts_of(
            step, lambda rank: self.rules.do(step, rank, rank + 1, self.values.read, alone)[0][0]
        )
        path, crc, worked = self._shared.do(step, size, self.values.stored_bytes(size), tell)
        self.values.works(worked)
        self._release(step, starts)
        self.values.take(step.name, path, size, crc, step.readers)

    def _release(self, step: Step, starts: dict[int, float]) -> None:
        self._whole = False
        for name in step.reads:
            self.values.release(name)
        self.values.starts |= starts

    def _starts_of(self, step: Step, value: Callable[[int], Any]) -> dict[int, float]:
        """Return what is stored of the start boards of a group, by number; `value` gives that of a rank."""
        if step.kind == "fold":
            return {}
        tiles = self.rules.tiles(step.group)
        return {
            at: value(self.rules.ranking(step.group).rank(board)).item()
            for at, board in enumerate(self._starts)
            if self.game.sum(board) == step.total
            and all(board.count(e) == count for e, count in enumerate(tiles, 1))
        }

    # -- saving and going on -----------------------------------------------------------------

    def _go_on(self) -> int:
        """Take up what was saved; return how many steps are done.  Raises `CorruptError`."""
        if self._journal is not None:
            assert self._folder is not None
            with storage_errors(self._folder, "use"):
                make_folder(self._folder.parent)
                make_folder(self._folder)
            self._steps = self.values.go_on(self._journal)
            sizes = self.groups.sizes
            for name, size in self.values.sizes().items():
                if group_in(name) >= len(sizes) or size != sizes[group_in(name)]:
                    raise CorruptError(f"{self._journal.path} names {name}, which is not of this game")
            if self._steps:
                LOG.info("%d steps of the pass by groups are done before", self._steps)
        self._clock.restart()
        return self._steps

    def _save(self) -> None:
        """Save the pass, if it has a folder and there is space."""
        if self._journal is None or self._folder is None:
            return
        with self._clock.saving():
            needed, free = self.values.bytes_to_save, shutil.disk_usage(self._folder).free - SPARE_BYTES
            if needed > max(free, 0):
                LOG.info("the pass is not saved: that takes more space than %s has", self._folder)
                return
            try:
                self.values.save(self._journal, self._steps)
            except StorageError as error:
                if self._in_files:
                    raise
                LOG.info("the pass continues, but is not saved: %s", error)  # all values are in memory
