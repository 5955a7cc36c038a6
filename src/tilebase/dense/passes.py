"""The dense passes: the value of every board within the limits, reachable or not.

    W[s] = fold over spawns of V[s + 2], V[s + 4]        after a slide: the adversary or chance is to move
    V[s] = best over slides of W[s]                      the player is to move

Values lie in the order of the perfect index (`dense.index`), so that no keys are stored and no forward
pass is needed; a layer is made from the two above it, and what is older is deleted.  The steps are:

    fold        W[s], one top half after the other: a spawn adds 0, 2 or 4 to the sum of the top half
    rows        V[s] = best over slides along rows, which keep the sum of the top half
    columns     V[s] = the better of this and slides along columns, which keep that of the left half

Boolean values that nobody keeps are bits (`dense.backends.bits`), and their columns come before their rows.
If three layers of them do not fit into memory, one is enough (`workspace.InWindows`).

Where four layers do not fit into memory, V[s] takes the place of V[s + 4], which only the fold reads. Layers
of which three do not fit are kept in files and worked in batches (`dense.steps`). For fold and rows a batch
is a range of sums of the top half, for columns one of the left half; a batch is worked off one range of the
other half's sum at a time. So W[s] is written and read once, V[s] written, read and written, and read for its
checksum; V[s + 2] and V[s + 4] are read once, at the edges of batches and ranges twice. About eight times the
size of a layer, and never more than fourteen, go to or come from the disk, however many batches there are,
where batches of ranks would read all of W[s] again for each.

The states' values of the last two layers are a checkpoint (`dense.layers.Checkpoints`); in memory they are
saved once in a while, in files they lie there anyway.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

from tilebase.cluster.runs import Run
from tilebase.dense.backends.bits import Bits
from tilebase.dense.backends.cuda import Cuda, device_memory
from tilebase.dense.backends.threads import Threads
from tilebase.dense.index import PerfectIndex
from tilebase.dense.layers import Checkpoint, Checkpoints, Lines
from tilebase.dense.plan import Plan
from tilebase.dense.tables import DenseRules
from tilebase.dense.values import KeptValues, LayerValues, Wanted
from tilebase.dense.workspace import InFiles, InMemory, InWindows, Workspace
from tilebase.errors import ResourceError, StorageError
from tilebase.files.format import stored_bytes
from tilebase.files.layers import Pages
from tilebase.files.run import first_sum
from tilebase.files.solved import identity_of
from tilebase.files.source import Closing
from tilebase.game.game import Cells
from tilebase.game.notation import fraction_of
from tilebase.objectives.encoding import Backup, discounts_states, make_backup, state_value
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import LayerSummary
from tilebase.objectives.values import Number
from tilebase.runtime.documents import text
from tilebase.runtime.measured import SaveClock
from tilebase.runtime.progress import Pace
from tilebase.runtime.storage import make_folder, remove_parts, storage_errors
from tilebase.runtime.threads import Pool

LOG = logging.getLogger(__name__)
CHECKPOINT_SECONDS = 120.0
"""Seconds of work after which layers in memory are saved, and lost at most by a kill: at least so many."""
CHECKPOINT_TIMES = 20.0
"""Also at least so many times the seconds of the last saving: so saving takes at most 5 % of a pass."""


class Sums(NamedTuple):
    """The layers of a pass: from `highest`, above which nothing is worth anything, to `lowest`.

    It stops after the layer of `down_to`, and is planned for the layers that it makes.  Without these it
    goes from the largest sum to that of the start.
    """

    lowest: int | None = None
    highest: int | None = None
    down_to: int | None = None


ALL_SUMS = Sums()
NOTHING = Wanted(summaries=False)
SPARE_BYTES = 1 << 26
"""Space on the disk that checkpoints leave: for the journal, and for others."""


class OtherQuery(NamedTuple):
    """A query about the states of each layer, also of another type than the objective's."""

    # What a layer shows of it: called with its sum and states, it returns plain JSON values.
    callback: Callable[[int, Any], Any]
    backup: Backup | None = None  # how it combines values, if not as the objective, as bits


class DensePass(Closing):
    """One objective over all boards within the limits.  Use `solve` or `bound` unless you need more.

    The folder of the run gets ``layers.jsonl``, a line for each finished layer, and checkpoints, and if they
    are wanted the values of all afterstates, as value files in the order of ranks.  One that was filled
    without summaries or values that are wanted now is filled anew.

    For a query, what its callback returns for each layer is in `seen`.  Bits may go through files then; other
    layers must all fit into memory.
    """

    def __init__(
        self,
        run: Run,
        index: PerfectIndex,
        objective: Objective,
        *,
        wanted: Wanted = NOTHING,
        sums: Sums = ALL_SUMS,
        backend: str = "threads",
        query: OtherQuery | None = None,
    ) -> None:
        if backend == "cuda":
            run = replace(run, memory=min(run.memory, device_memory() or run.memory))
        self.folder, self.index, self.objective, self._run = run.folder, index, objective, run
        self.game = game = index.game
        self.wanted, self._query = wanted, query
        own = query.backup if query else None
        self.backup = own or make_backup(game, objective)
        self.lowest = first_sum(game) if sums.lowest is None else sums.lowest
        self._highest, self._last = sums.highest, max(self.lowest, sums.down_to or 0)
        self.complete = self._last == self.lowest  # whether the pass goes down to the start
        self.sizes = index.sizes()
        self._plan = Plan.of(
            index, objective, run, value_bytes=self.backup.dtype.itemsize, sums=(self._last, sums.highest),
            bits=own is None and not wanted.files and backend == "threads",
        )  # fmt: skip
        if query is not None and not self._plan.as_bits and (self._plan.batched or own is None):
            raise ResourceError(
                f"the layers of {game} needed at once take {self._plan.whole_bytes / 2**30:.1f} GiB, "
                f"more than {run.memory / 2**30:.3g} GiB: choose a smaller goal or give lower limits"
            )
        self._pool = Pool(self._plan.threads or run.threads)
        try:
            self._layers = self._make_layers(backend)
        except BaseException:
            self._pool.close()
            raise
        self.layout = self._layers.layout  # how the backend orders values: "values" or "bits"
        self._values = KeptValues(
            run.folder, game, objective, self.sizes, self.backup.dtype, wanted, self._pool
        )
        # The folder's name identifies a special `backup`.
        identity = identity_of(game, objective, "all") | {"folder": run.folder.name}
        self._checkpoints = Checkpoints(run.folder, identity, game, self.sizes)
        self._pace = Pace(run.progress, "boards")
        self._save_clock = SaveClock()
        self._told = False  # that there is no space for a checkpoint
        self._all = self._had = 0
        self.found: dict[int, LayerSummary | None] = {}
        self.starts: dict[Cells, Number] = {}
        self.seen: dict[int, Any] = {}
        self._checksums: dict[int, str] = {}

    def _make_layers(self, backend: str) -> Workspace[Any, Any]:
        """Return the layers, in memory or in files, with the backend that works them."""
        index = self.index.mirrored() if self._plan.words is not None else self.index
        with storage_errors(self.folder, "use"):
            for one in (self.folder.parent, self.folder):
                make_folder(one)
        large = self.folder if self._plan.mapped else None
        rules = DenseRules(index, self._pool, merge=self.objective.merge, folder=large)
        what = (self.index, self.folder, self.objective, self.backup)
        if self._plan.words is not None:
            bits = Bits(rules, self._pool, self._plan.words, self._plan.window)
            if self._plan.window:
                return InWindows(self._pool, not self._plan.waits, bits, *what)
            return InMemory(bits, *what, lean=self._plan.lean)
        largest = None if self._plan.batched else self._plan.largest
        worker: Cuda | Threads
        if backend == "cuda":
            worker = Cuda(rules, self.backup, self.objective, largest=largest)
        else:
            worker = Threads(rules, self.backup, self._pool, largest=largest)
        if self._plan.batched:
            return InFiles(self._plan, worker, *what)
        return InMemory(worker, *what, lean=self._plan.lean)

    @property
    def bytes_moved(self) -> int:
        """The bytes of layers that went through files."""
        return self._layers.moved.nbytes

    def worked(self, totals: Iterable[int]) -> float:
        """Return how many boards of some sums were worked out, about: others are mirror images of these."""
        return self._plan.worked / self._plan.boards * sum(self.sizes[total] for total in totals)

    @property
    def pages(self) -> Pages:
        """The pages of the index of the values, which are kept."""
        return self._values.files.pages()

    @property
    def checksums(self) -> tuple[tuple[int, int, str], ...]:
        """For each layer, from the largest sum down: the sum, the boards, and the checksum of the values.

        Empty if they are not wanted, or were not when a layer was solved.
        """
        known = self._checksums
        if not self.wanted.checksums or known.keys() != self.found.keys():
            return ()
        return tuple((total, self.sizes[total], known[total]) for total in sorted(known, reverse=True))

    def start(self) -> Number:
        """Return the value of the start: the mean, the least or the largest over the start states."""
        with self._checkpoints.understood():  # a continued pass reads them from there
            return self.objective.over_spawns((self.starts[board], p) for board, p in self.game.starts())

    def close(self) -> None:
        """Stop after the jobs now running."""
        self._pool.close()
        self._checkpoints.journal.close()
        self._values.close()

    # -- the whole pass ----------------------------------------------------------------------

    def run(self) -> dict[int, LayerSummary | None]:
        """Solve the layers, continuing where the last checkpoint was; return their summaries if wanted.

        Raises `CorruptError`, `StorageError` or `ResourceError`.
        """
        with storage_errors(self.folder, "use"):
            remove_parts(self.folder)
        least, most = self._last, self._highest
        totals = sorted((s for s in self.sizes if least <= s and (most is None or s <= most)), reverse=True)
        missing = self._resume(totals)
        LOG.log(
            logging.INFO if 0 < len(missing) < len(totals) else logging.DEBUG,
            "solving all boards of %s in %s for %s: %d layers of %d are there; %s",
            self.game, self.folder, self.objective.label, len(totals) - len(missing), len(totals),
            self._plan.text,
        )  # fmt: skip
        self._all = sum(self.sizes[s] for s in missing)
        if missing and not self._run.anyway:
            kept = int(stored_bytes([self.objective]) * self._all) if self.wanted.files else 0
            there = self._layers.bytes_of(self._plan.value_bytes)
            self._plan.check_disk(self.folder, self.index, kept=kept, there=there)
        self._save_clock.restart()
        self._pace.start()
        last = None
        try:
            for total in missing:
                self._layer(total)
                last = total
        except KeyboardInterrupt:
            self._keep_for_later(last)
            raise
        LOG.debug("%d boards are solved, in %.2f s", self._had, self._pace.seconds)
        self._values.sync()
        if self.complete:
            self._checkpoints.complete()
        else:
            self._keep_for_later(last)
        return self.found

    def _keep_for_later(self, last: int | None) -> None:
        if last is None or self._plan.batched:
            return
        # The slides of the next layer may have given up what it rests on.  Where sums have gaps, it may be
        # needed no more; then little was done.
        if any(total in self.found and total not in self._layers.totals for total in (last, last + 2)):
            return
        if problem := self._checkpoint(last):
            raise StorageError(f"the layers from which a later call continues are not saved: {problem}")

    def _resume(self, totals: list[int]) -> list[int]:
        """Take up a checkpoint; return the sums that are missing, descending."""
        finished, last = self._checkpoints.read()
        if not self._values.have(finished):
            finished, last = {}, None
        if any(total not in finished for total in totals):
            last = self._take_up(last)
            below = min(last.saved if last else (), default=max(totals) + 1)
            finished = {total: line for total, line in finished.items() if total >= below}
        with self._checkpoints.understood():
            self._take(finished)
        self._values.keep(finished)
        if last is not None and not (finished and self._checkpoints.has_files(last)):
            last = None
        self._checkpoints.rewrite(finished, last)
        return [total for total in totals if total not in finished]

    def _take_up(self, last: Checkpoint | None) -> Checkpoint | None:
        """Load the states of a checkpoint, if its files are there."""
        if last is None or not self._checkpoints.has_files(last):
            return None
        if last.layout != self.layout:
            raise ResourceError(
                f"the checkpoint in {self.folder} has states as {last.layout}, and this call would keep them "
                f"as {self.layout}: give the memory and the backend of the call that was stopped"
            )
        for total, crc in last.saved.items():
            LOG.debug("sum %d: its states are read from a checkpoint", total)
            self._layers.load(total, crc)
        return last

    def _take(self, finished: Lines) -> None:
        """Take up finished layers."""
        for total, line in finished.items():
            summary = line["summary"]
            self.found[total] = LayerSummary.from_dict(summary) if summary else None
            self.starts |= {tuple(cells): _number(value) for cells, value in line["starts"]}
            self.seen[total] = line.get("seen")
            if "crc" in line:
                self._checksums[total] = text(line["crc"], "a checksum")

    # -- one layer ---------------------------------------------------------------------------

    def _layer(self, total: int) -> None:
        self._layers.release_above(total + 4)
        with LayerValues(self._values, total) as values:
            self._layers.solve(total, values, partial(self._report, total))
            summary = values.finish()
        # The values of the start states, with what their best slide adds.
        boards = [board for board, _ in self.game.starts() if self.game.sum(board) == total]
        stored = {board: self._layers.value(total, board) for board in boards}
        starts = {board: state_value(self.objective, self.backup, value) for board, value in stored.items()}
        if discounts_states(self.game, self.objective):
            self._layers.discount(total)
        self._had += self.sizes[total]
        self._finish(total, summary, starts, values.checksum)
        LOG.debug("sum %d: %d boards solved", total, self.sizes[total])
        self._report(total, 0.0)

    # -- finishing and telling ---------------------------------------------------------------

    def _finish(
        self, total: int, summary: LayerSummary | None, starts: dict[Cells, Number], crc: str | None
    ) -> None:
        """Enter a layer in the journal, and at times save the layers from which a pass can continue."""
        self.found[total] = summary
        self.starts |= starts
        line: dict[str, Any] = {
            "sum": total,
            "summary": summary.as_dict() if summary else None,
            "starts": [
                [list(cells), str(value) if isinstance(value, Fraction) else value]
                for cells, value in starts.items()
            ],
        }
        if self.wanted.files:
            line["file"] = self._values.files.records[total].text
        if crc is not None:
            line["crc"] = self._checksums[total] = crc
        if self._query is not None:
            assert isinstance(self._layers, InMemory | InWindows)
            line["seen"] = self.seen[total] = self._query.callback(total, self._layers.layer(total))
        self._checkpoints.journal.append(line, durable=self._plan.batched)
        if self._plan.batched:
            self._declare({s: self._layers.save(s) for s in self._needed(total)})
        elif total > self.lowest and self._save_clock.is_due(CHECKPOINT_SECONDS, CHECKPOINT_TIMES):
            problem = self._checkpoint(total)
            if problem and not self._told:
                LOG.info(
                    "sum %d: no checkpoint is saved: %s; the run continues, and if it is killed starts again "
                    "at an earlier one, or at the beginning", total, problem,
                )  # fmt: skip
                self._told = True

    def _checkpoint(self, total: int) -> str | None:
        """Save layers in memory so that a run can go on below `total`; return what prevents it."""
        assert isinstance(self._layers, InMemory)
        needed = self._needed(total)
        with self._save_clock.saving():
            problem = self._lacks_space(sum(self._layers.layer(s).nbytes for s in needed))
            if problem is None:
                try:
                    saved = {s: self._layers.save(s) for s in needed}
                except StorageError as error:  # a quota, or another program took the space
                    problem = str(error)
                else:
                    self._declare(saved)
        return problem

    def _lacks_space(self, needed: int) -> str | None:
        """Return what the disk has if it is less than so many bytes, beside what a table will take."""
        left = self._all - self._had if self.wanted.files else 0
        free = shutil.disk_usage(self.folder).free - int(stored_bytes([self.objective]) * left) - SPARE_BYTES
        if needed <= free:
            return None
        return f"it takes {byte_text(needed)}, and {self.folder} has {byte_text(max(free, 0))} for it"

    def _needed(self, total: int) -> list[int]:
        """Return the sums of the states that layers below `total` need."""
        return [s for s in (total, total + 2) if self.sizes.get(s) and s in self._layers.totals]

    def _declare(self, saved: dict[int, str]) -> None:
        """Let a run go on from these states, which are saved, by their checksums."""
        self._checkpoints.declare(Checkpoint(saved, self.layout))
        LOG.debug("a checkpoint is saved: the states of %s", ", ".join(f"sum {s}" for s in saved))

    def _report(self, total: int, part: float) -> None:
        done = self._had + int(part * self.sizes[total])
        if self._pace.due() or done == self._all:
            self._pace.report(total, "solve", done, done / self._all)


def _number(value: Any) -> Number:
    if not isinstance(value, str | float | int):
        raise TypeError(f"{value!r} is not a number")
    return fraction_of(value) if isinstance(value, str) else value
