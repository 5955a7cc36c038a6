"""The dense passes: what every board within the limits is worth, reachable or not.

    W[s] = fold over spawns of V[s + 2], V[s + 4]        the computer's layer
    V[s] = best over slides of W[s]                      the player's layer

Values lie in the order of the perfect index (`dense.index`), so that no keys are stored and no forward
pass is needed; a layer is made from the two above it, and what is older is forgotten.  The steps are:

    fold        W[s], one top half after the other: a spawn adds 0, 2 or 4 to the sum of the top half
    rows        V[s] = best over slides along rows, which keep the sum of the top half
    columns     V[s] = the better of this and slides along columns, which keep that of the left half

Truths that nobody keeps are bits (`dense.executors.bits`), and their columns come before their rows.

Layers that do not fit into memory together are kept in files and worked in batches.  For fold and
rows a batch is a range of sums of the top half, for columns one of the left half; a batch is worked off
in pieces, ranges of the other half's sum.  So W[s] is written and read once, V[s] written, read and
written, and read for its checksum; V[s + 2] and V[s + 4] are read once, at the edges of batches and
pieces twice.  About eight times the size of a layer, and never more than fourteen, go to or come
from the disk, however many batches there are, where batches of ranks would read all of W[s] again for
each.

The states' values of the last two layers are a checkpoint; in memory they are saved once in a
while, in files they lie there anyway.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tilebase.dense import tables as layers
from tilebase.dense.executors.bits import BitLayer, Bits
from tilebase.dense.executors.threads import DenseWork, Tell, Threads
from tilebase.dense.index import LayerMap, PerfectIndex
from tilebase.dense.plan import Plan, near_blocks, within
from tilebase.dense.stores import DiskStore, MemoryStore, Store, released_on_error
from tilebase.dense.tables import DenseLayer, DenseRules, Law
from tilebase.errors import CorruptError, ResourceError
from tilebase.files.format import CHUNK_KEYS, VALUE_HEADER, LayerWriter, ValueFile, compress, encode_values
from tilebase.files.keys import in_order
from tilebase.files.run import Journal, check_all, sound_checksum
from tilebase.game.game import Cells, Game
from tilebase.game.notation import fraction_of
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import LayerSummary
from tilebase.objectives.values import Number
from tilebase.runtime.documents import text, understood, whole
from tilebase.runtime.progress import Pace, Progress
from tilebase.runtime.storage import part_path, remove_parts, storage_errors

Array = npt.NDArray[Any]

CHECKPOINT_SECONDS = 120.0
"""Seconds of work after which layers in memory are saved, and lost at most by a kill: at least so many."""
CHECKPOINT_TIMES = 20.0
"""And at least so many times what saving took the last time: a twentieth of a pass is saving at most."""


class DensePass:
    """One objective over all boards within the limits.  Use `solve` or `bound` unless you need more.

    `folder` gets ``layers.jsonl``, a line for each finished layer, and checkpoints; with `keep` also the
    values of all afterstates, as value files in the order of ranks.  With `down_to` the pass stops after
    the layer of that sum, and is planned for the layers that it makes.  A folder that was filled without
    summaries or values that are wanted now is filled anew.

    A question of another kind brings its own `law`, stays within the sums from `lowest` to `highest`, above
    which nothing is worth anything, and takes a `look` at the states of each layer: what it returns, plain
    JSON values, is in `seen`.  All layers must fit into memory then.
    """

    def __init__(
        self,
        folder: Path,
        game: Game,
        objective: Objective,
        *,
        memory: int,
        threads: int,
        keep: bool = False,
        summaries: bool = True,
        executor: str = "threads",
        progress: Callable[[Progress], None] | None = None,
        index: PerfectIndex | None = None,
        law: Law | None = None,
        lowest: int | None = None,
        highest: int | None = None,
        down_to: int | None = None,
        look: Callable[[int, DenseLayer], Any] | None = None,
    ) -> None:
        self.folder, self.game, self.objective = folder, game, objective
        self.memory, self.keep, self._summaries, self._threads = memory, keep, summaries, threads
        self.law = law or layers.make_law(game, objective)
        self.lowest = _first_sum(game) if lowest is None else lowest
        self._highest, self._look = highest, look
        self._last = max(self.lowest, down_to or 0)
        self.index = index or PerfectIndex(game)
        self.sizes = self.index.sizes()
        self.work = DenseWork()
        if executor == "cuda":
            from tilebase.dense.executors import cuda

            self.memory = min(memory, cuda.device_memory() or memory)
        self._plan = Plan.of(
            self.index, objective, self.memory, threads, value_bytes=self.law.dtype.itemsize,
            lowest=self._last, highest=highest, bits=law is None and not keep and executor == "threads",
        )  # fmt: skip
        if look is not None and self._plan.batched:
            raise ResourceError(
                f"the layers of {game} needed at once take {self._plan.whole_bytes / 2**30:.1f} GiB, "
                f"more than {self.memory / 2**30:.3g} GiB: choose a smaller goal or give lower limits"
            )
        self._pool = ThreadPoolExecutor(threads)
        since = time.perf_counter()
        rules = DenseRules(self.index, self._pool, merge=objective.meaning.merge)
        self.work.add("tables", since)
        self._executor: Any
        if executor == "cuda":
            from tilebase.dense.executors import cuda

            self._executor = cuda.Cuda(rules, self.law, bool(objective.meaning.merge))
        elif self._plan.words is not None:
            self._executor = Bits(rules, self._pool, threads, self._plan.words)
        else:
            largest = None if self._plan.batched else self._plan.largest
            self._executor = Threads(rules, self.law, self._pool, threads, largest=largest)
        self._pace = Pace(progress, "boards")
        self._saved = time.perf_counter()
        self._until_save = CHECKPOINT_SECONDS
        self._all = self._had = 0
        self._journal = Journal(folder / "layers.jsonl", self._identity())
        self.checksums: dict[int, str] = {}  # of the value files, by sum
        self.found: dict[int, LayerSummary | None] = {}
        self.starts: dict[Cells, Number] = {}
        self.seen: dict[int, Any] = {}
        self._states: dict[int, Store] = {}

    def _identity(self) -> dict[str, Any]:
        """What the journal belongs to; a law of its own is told by the name of the folder."""
        identity = {"game": self.game.identity, "objective": self.objective.identity, "space": "all"}
        return identity | {"folder": self.folder.name}

    def meta(self, total: int) -> dict[str, Any]:
        """What the value file of a sum says that it holds."""
        identity = {"game": self.game.identity, "objective": self.objective.identity}
        return identity | {"kind": "all", "sum": total}

    def start(self) -> Number:
        """What the start is worth: the mean, the least or the largest over the starts."""
        with understood(str(self._journal.path)):  # a pass that goes on has them from there
            return self.objective.over_spawns((self.starts[board], p) for board, p in self.game.starts())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop after the jobs now running."""
        self._executor.close()
        self._pool.shutdown(wait=True)
        self._journal.close()

    # -- the whole pass ----------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether the pass goes down to the start."""
        return self._last == self.lowest

    def run(self) -> dict[int, LayerSummary | None]:
        """Solve the layers, continuing where the last checkpoint was; return their summaries if wanted.

        Raises `CorruptError`, `StorageError` or `ResourceError`.
        """
        with storage_errors(self.folder, "use"):
            self.folder.mkdir(parents=True, exist_ok=True)
            remove_parts(self.folder)
        least, most = self._last, self._highest
        totals = sorted((s for s in self.sizes if least <= s and (most is None or s <= most)), reverse=True)
        missing = self._resume(totals)
        self._plan.check_disk(self.folder, self.index, self.keep, self._states)
        self._all = sum(self.sizes[s] for s in missing)
        self._saved = time.perf_counter()
        self._pace.start()
        last = None
        try:
            for total in missing:
                self._layer(total)
                last = total
        except KeyboardInterrupt:
            self._executor.close()
            self._keep_for_later(last)
            raise
        if self.complete:
            self._clean(set())
        else:
            self._keep_for_later(last)
        return self.found

    def _keep_for_later(self, last: int | None) -> None:
        # Where sums have gaps the last layer may be needed no more, and then little was done.
        if last in self._states and not self._plan.batched:
            self._checkpoint(last)

    def _resume(self, totals: list[int]) -> list[int]:
        """Take up a checkpoint; return the sums that are missing, descending."""
        with understood(str(self._journal.path)):
            layers, last = self._read_journal()
        if not self._are_whole(layers):
            layers, last = {}, []
        if any(total not in layers for total in totals):
            same = last and last[0].get("layout", "values") == self._executor.layout
            saved = {int(total): crc for total, crc in last[0]["saved"].items()} if same else {}
            if not all(self._path(total).exists() for total in saved):
                saved = {}
            for total, crc in saved.items():
                self._states[total] = self._load(total, crc)
            below = min(saved, default=max(totals) + 1)
            layers = {total: line for total, line in layers.items() if total >= below}
        with understood(str(self._journal.path)):
            for total, line in layers.items():
                self._take(total, line)
        if not layers or not all(self._path(int(total)).exists() for line in last for total in line["saved"]):
            last = []
        self._journal.rewrite([*layers.values(), *last])
        return [total for total in totals if total not in layers]

    def _read_journal(self) -> tuple[dict[int, dict[str, Any]], list[dict[str, Any]]]:
        """The lines of finished layers by sum, and that of the last checkpoint, if there is one."""
        lines = self._journal.read()
        layers = {whole(line["sum"], "a sum"): line for line in lines if "sum" in line}
        last = [line for line in lines if "saved" in line][-1:]
        for line in last:
            saved = {int(total): text(crc, "a checksum") for total, crc in line["saved"].items()}
            following = max((s for s in self.sizes if s < min(saved, default=0)), default=None)
            needed = {following + 2**e for e in self.game.spawn_exponents} if following is not None else set()
            if not needed & layers.keys() <= saved.keys():
                raise CorruptError("its checkpoint lacks a layer")
        return layers, last

    def _take(self, total: int, line: dict[str, Any]) -> None:
        """Take up a finished layer."""
        summary = line["summary"]
        self.found[total] = LayerSummary.from_dict(summary) if summary else None
        self.starts |= {tuple(cells): _number(value) for cells, value in line["starts"]}
        self.seen[total] = line.get("seen")

    def _are_whole(self, layers: dict[int, dict[str, Any]]) -> bool:
        """Whether the finished layers have all that is wanted, and sound files; their checksums are kept."""
        if self._summaries and any(line.get("summary") is None for line in layers.values()):
            return False
        if not self.keep:
            return True

        def check(line: dict[str, Any]) -> str | None:
            total = line["sum"]
            return sound_checksum(
                self._value_path(total),
                ValueFile,
                self.meta(total),
                self.sizes.get(total, 0),
                line.get("file"),
            )

        found = check_all(layers.values(), check, self._threads)
        for (total, line), checksum in zip(layers.items(), found, strict=True):
            if checksum is not None:
                line["file"] = self.checksums[total] = checksum
        return None not in found

    def _value_path(self, total: int) -> Path:
        return self.folder / f"{total:06d}.val"

    def _path(self, total: int) -> Path:
        return self.folder / f"{total:06d}.states"

    def _load(self, total: int, crc: str) -> Store:
        blocks = self._executor.map(total)
        store = DiskStore(self._path(total), blocks, self._executor.dtype, self.work)
        store.check(crc)
        if self._plan.batched:
            return store
        layer = self._executor.layer(blocks)
        layer.load(store.read_all())
        return MemoryStore(layer)

    # -- one layer ---------------------------------------------------------------------------

    def _layer(self, total: int) -> None:
        blocks = self._executor.map(total)
        for old in [s for s in self._states if s > total + 4]:
            self._states.pop(old).release()
        above = {e: self._above(total + 2**e) for e in self.game.spawn_exponents}
        with LayerValues(self, total) as values:
            if self._plan.batched:
                states = self._in_files(total, blocks, above, values)
            else:
                states = self._in_memory(total, blocks, above, values)
            summary = values.finish()
        starts = self._read_starts(total, states)
        if self.objective.is_bound and self.objective.discount != 1:
            states.change(lambda found: layers.discounted(self.objective, found, self.law.won))
        self._states[total] = states
        self._had += self.sizes[total]
        self.work.boards += self.sizes[total]
        self._finish(total, summary, starts)
        self._report(total, 0.0)

    def _above(self, total: int) -> Store:
        if total not in self._states:  # no board has this sum, or all boards of it count for nothing
            layer = self._executor.layer(self._executor.map(total))
            values = layer.buffer()
            values[:] = self.law.none
            layer.load(values)
            self._states[total] = MemoryStore(layer)
        return self._states[total]

    def _in_memory(self, total: int, blocks: Any, above: dict[int, Store], values: LayerValues) -> Store:
        afters, states = self._executor.layer(blocks), self._executor.layer(blocks)
        whole = {e: store.part(self._executor) for e, store in above.items()}
        self._executor.fold(None, whole, afters, self.work, self._telling(total, 0.0, 0.5))
        values.add(afters)
        for side in (0, 1):
            tell = self._telling(total, 0.5 + side / 4, 0.25)
            self._executor.slide(side, None, afters, states, self.work, tell)
        return MemoryStore(states)

    def _in_files(self, total: int, blocks: LayerMap, above: dict[int, Store], values: LayerValues) -> Store:
        afters, states = (
            DiskStore(part_path(self.folder / f"{total:06d}.{kind}"), blocks, self.law.dtype, self.work)
            for kind in ("afterstates", "states")
        )
        with released_on_error(afters, states):
            self._in_batches(total, blocks, above, values, afters, states)
            afters.release()
            states.rename(self._path(total))
        return states

    def _in_batches(
        self,
        total: int,
        blocks: LayerMap,
        above: dict[int, Store],
        values: LayerValues,
        afters: DiskStore,
        states: DiskStore,
    ) -> None:
        index, plan = self.index, self._plan
        sizes = index.block_sizes(total)
        cut = plan.cut(index, total)
        done = 0.0

        def share(mask: Array, weight: float) -> tuple[Tell, float]:
            part = weight * float(sizes[mask].sum()) / blocks.size
            return self._telling(total, done, part), part

        for top in cut.tops:
            rows = within(index.top, top)
            after = self._executor.layer(index.layer(total, rows))
            for left in cut.lefts(top):
                here = rows & within(index.left, left)
                near = {
                    e: store.part(self._executor, near_blocks(index, top, left, 1 << (e - 1)))
                    for e, store in above.items()
                }
                piece = self._executor.layer(index.layer(total, here))
                tell, part = share(here, 0.5)
                self._executor.fold(np.where(here, sizes, 0), near, piece, self.work, tell)
                done += part
                after.take(piece)
                del near, piece  # before the next ones take their room
            afters.write(after)
            values.add(after)
            for left in cut.lefts(top):
                here = rows & within(index.left, left)
                state = self._executor.layer(index.layer(total, here))
                tell, part = share(here, 0.25)
                self._executor.slide(0, np.where(here, sizes, 0), after, state, self.work, tell)
                done += part
                states.write(state)
                del state
            del after
        for left in cut.sides:
            columns = within(index.left, left)
            after = afters.part(self._executor, columns)
            for top in cut.pieces(left):
                here = columns & within(index.top, top)
                state = states.part(self._executor, here)
                tell, part = share(here, 0.25)
                self._executor.slide(1, np.where(here, sizes, 0), after, state, self.work, tell)
                done += part
                states.write(state)
                del state
            del after
        self.work.batches = max(self.work.batches, cut.batches)
        size = self.law.dtype.itemsize
        self.work.least += size * (blocks.size + sum(store.size for store in above.values()))

    def _read_starts(self, total: int, states: Store) -> dict[Cells, Number]:
        """What the starts of a sum are worth, the slide that is to come included."""
        boards = [board for board, _ in self.game.starts() if self.game.sum(board) == total]
        return {board: self._state_value(states.value(self.index.rank(board))) for board in boards}

    def _state_value(self, raw: Any) -> Number:
        objective = self.objective
        if raw == self.law.none and not objective.is_win:
            return objective.number(0)
        if objective.dtype == "float16":
            raw = np.uint16(raw).view(np.float16)
        return objective.discounted(objective.slide_value(0, objective.read(raw)))

    # -- finishing and telling ---------------------------------------------------------------

    def _finish(self, total: int, summary: LayerSummary | None, starts: dict[Cells, Number]) -> None:
        """Declare a layer finished, and save what continuing would need now and then."""
        self.found[total] = summary
        self.starts |= starts
        line: dict[str, Any] = {
            "sum": total,
            "summary": summary.as_dict() if summary else None,
            "starts": [[list(cells), _text(value)] for cells, value in starts.items()],
        }
        if total in self.checksums:
            line["file"] = self.checksums[total]
        if self._look is not None:
            line["seen"] = self.seen[total] = self._look(total, self._states[total].part(self._executor))
        self._journal.append(line, durable=self._plan.batched)
        if self._plan.batched:
            self._declare({s: self._states[s].checksum for s in self._pair(total)})
        elif time.perf_counter() - self._saved > self._until_save and total > self.lowest:
            self._checkpoint(total)

    def _pair(self, total: int) -> list[int]:
        """What the layers below need."""
        return [s for s in (total, total + 2) if self.sizes.get(s) and s in self._states]

    def _checkpoint(self, total: int) -> None:
        """Save layers in memory so that a run can go on below `total`."""
        since = time.perf_counter()
        saved = {}
        for s in self._pair(total):
            store = DiskStore(
                part_path(self._path(s)), self._states[s].map, self._executor.dtype, DenseWork()
            )
            with released_on_error(store):
                store.write(self._states[s].part(self._executor))
                store.rename(self._path(s))
            saved[s] = self._states[s].checksum  # not of the file: what was written wrong is found out
        self._declare(saved)
        self.work.add("disk", since)
        self._saved = time.perf_counter()
        self._until_save = max(CHECKPOINT_SECONDS, CHECKPOINT_TIMES * (self._saved - since))

    def _declare(self, saved: dict[int, str]) -> None:
        """Let a run go on from these files, which last, and delete older ones."""
        line = {"saved": {str(s): crc for s, crc in saved.items()}, "layout": self._executor.layout}
        self._journal.append(line, durable=True)
        self._clean({self._path(s) for s in saved})

    def _clean(self, keep: set[Path]) -> None:
        for old in self.folder.glob("*.states"):
            if old not in keep:
                old.unlink()

    def _telling(self, total: int, begin: float, share: float) -> Tell:
        return lambda part: self._report(total, begin + part * share)

    def _report(self, total: int, part: float) -> None:
        done = self._had + int(part * self.sizes[total])
        if self._pace.due() or done == self._all:
            self._pace.report(total, "solve", done, done / self._all)


class LayerValues:
    """What is kept of a layer of afterstates: a summary, and a value file if it is to stay."""

    def __init__(self, owner: DensePass, total: int) -> None:
        self._owner, self._total, self._size = owner, total, owner.sizes[total]
        self._pieces: list[Any] = []
        self._rest = np.empty(0, dtype=owner.law.dtype)
        self._at = 0
        self._writer = LayerWriter(owner._value_path(total), VALUE_HEADER) if owner.keep else None

    def __enter__(self) -> LayerValues:
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.__exit__(*error)

    def add(self, layer: DenseLayer | BitLayer) -> None:
        """The next afterstates, in order."""
        if not self._owner._summaries and self._writer is None:
            return
        if isinstance(layer, BitLayer):
            self._pieces.append(layer.summary())
            return
        values = layer.data
        if len(self._rest):  # no copy of more than a chunk
            missing = CHUNK_KEYS - len(self._rest)
            self._rest = np.concatenate([self._rest, values[:missing]])
            values = values[missing:]
            if len(self._rest) == CHUNK_KEYS:
                self._take(self._rest)
                self._rest = self._rest[:0]
        whole = len(values) // CHUNK_KEYS * CHUNK_KEYS
        self._take(values[:whole])
        if whole < len(values):
            self._rest = values[whole:].copy()

    def _take(self, values: Array) -> None:
        """Sum up and write whole chunks, or the last piece: batches change neither sums nor files."""
        owner = self._owner
        if owner._summaries:
            self._pieces += layers.summaries(owner.objective, values, owner._pool)
        if self._writer is not None:
            self._write(values)

    def _write(self, values: Array) -> None:
        owner, writer = self._owner, self._writer
        assert writer is not None
        since = time.perf_counter()
        bits = owner.objective.is_boolean

        def encode(at: int) -> Any:
            piece = values[at : at + CHUNK_KEYS]
            return compress(self._at + at, len(piece), encode_values(piece, bits))

        jobs = (owner._pool.submit(encode, at) for at in range(0, len(values), CHUNK_KEYS))
        for chunk in in_order(jobs, ahead=16):
            writer.add(chunk)
        self._at += len(values)
        owner.work.add("disk", since)

    def finish(self) -> LayerSummary | None:
        """The summary, if it was asked for; the file is complete."""
        owner = self._owner
        self._take(self._rest)
        if self._writer is not None:
            self._writer.finish(owner.meta(self._total), durable=self._size > 1 << 17)
            owner.checksums[self._total] = self._writer.checksum
        if not owner._summaries:
            return None
        return LayerSummary.of(self._total, self._size, self._pieces)


def _first_sum(game: Game) -> int:
    """The least sum that has to be solved: that of a start, or of the empty board before it."""
    return 0 if game.start == "empty" else min(game.sum(board) for board, _ in game.starts())


def _text(value: Number) -> Any:
    return str(value) if isinstance(value, Fraction) else value


def _number(value: Any) -> Number:
    if not isinstance(value, str | float | int):
        raise TypeError(f"{value!r} is not a number")
    return fraction_of(value) if isinstance(value, str) else value
