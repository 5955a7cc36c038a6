"""The boards of a table as columns: for Arrow, and as Parquet files by sum.

The columns are those of `files.schema`.

Optimal play makes each of the best slides with the same probability, so `visits` follows from the file alone:
that of a state is its probability as a start, plus for each state before and each of its best slides the
visits of that state, divided by the number of its best slides, times the probability of the spawn.  States
without a slide, and states that optimal play never meets (0), have visits, too.  A discount is not counted.
A game meets at most one state of each sum, so the visits of a sum add up to at most 1.  Each game meets one
start, and ends in a state without a slide, with a slide that wins or, at the horizon, with any slide.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase._kernels.lookup import write_words
from tilebase._version import version
from tilebase.arrays import Floats, Keys, LayerArrays, TableArrays
from tilebase.errors import UsageError
from tilebase.files.parquet import load_pyarrow, parquet_file
from tilebase.files.schema import columns_of
from tilebase.files.source import new_folder
from tilebase.game.game import Game
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.values import NEVER
from tilebase.policies import Judgement, Visited, judge, optimal_visits
from tilebase.runtime.documents import to_json
from tilebase.runtime.progress import Pace, Progress
from tilebase.runtime.storage import LOCK
from tilebase.runtime.threads import Pool
from tilebase.sparse.reading import merge_weights
from tilebase.tables.probe import Table

Kind: TypeAlias = Literal["states", "afterstates"]

ROWS = 131_072
"""Most rows of a row group, and of what is computed at once."""
GROUPS = 8
"""Most row groups of a file; the boards of a large sum are in several files."""
WAITING = 2
"""Most files that wait to be written."""
DICTIONARIES = ["cells.list.element"]
"""Columns whose values repeat; a dictionary of others only takes time."""
SPLITS = ("train", "validation", "test")
"""The parts of a data set by the number in the column ``split``: 8, 1 and 1 of 10 orbits."""
NAMED = re.compile(r"\d{6,}(_\d{3,})?\.parquet", re.ASCII)
"""Matches the names of the files of `write_parquet`."""
ALIKE = 1e-9
"""Values of a policy that differ by less, as a part of the optimal value, differ by rounding."""
META = "tilebase"
"""The name of the description in the metadata: game, objective, kind, version, command, as JSON."""


def to_arrow(
    table: Table,
    *,
    objective: str | None = None,
    kind: Kind = "states",
    visits: bool = False,
    policy: Any = None,
    command: str = "",
) -> Any:
    """Return the boards of a table as a ``pyarrow.RecordBatchReader``, ascending by sum and key.

    See the module for the columns.  Batches have at most `ROWS` rows and are computed when they are read;
    the states of one sum, 8 bytes each, and the layers after it are in memory.

    Parameters
    ----------
    objective:
        Label of one of the table's objectives; None for the first.
    kind:
        ``states``, or ``afterstates``.
    visits:
        Whether to add the probability that a game of optimal play meets each state.
    policy:
        A policy whose values are added: a `Judgement` with ``keep=True``, or what `judge` takes.  It must be
        worth the same on turned boards, since a row stands for all of them.
    command:
        What is written into the metadata as the command that made the data.

    Raises
    ------
    UsageError
        For another kind, visits of afterstates or of values that are not means, an objective that the table
        lacks, a table of all boards, or a judgement of other values or of turned boards that differ.
    MissingExtraError
        If pyarrow is not installed.
    """
    columns = Columns(table, objective, kind, visits, command, policy=policy)
    pa, _ = load_pyarrow()
    return pa.RecordBatchReader.from_batches(columns.schema, (batch for _, batch in columns.batches()))


def write_parquet(
    table: Table,
    folder: Path | str,
    *,
    objective: str | None = None,
    kind: Kind = "states",
    visits: bool = False,
    policy: Any = None,
    command: str = "",
    progress: Callable[[Progress], None] | None = None,
) -> int:
    """Write the boards of a table as Parquet, files for each sum; return how many rows there are.

    ``000088.parquet`` has the first million boards of the sum 88, ``000088_001.parquet`` the next, in row
    groups of `ROWS`, compressed with zstd.  The folder gets its name when it is complete; one with the files
    of an earlier call is replaced as a whole.

    Parameters are those of `to_arrow`; `progress` is called with a `Progress` several times a second.

    Raises
    ------
    UsageError
        As `to_arrow` does, and if the folder holds other files.
    StorageError
        If it cannot be written.
    MissingExtraError
        If pyarrow is not installed.
    """
    columns, to = Columns(table, objective, kind, visits, command, policy=policy), Path(folder)
    refused = UsageError(f"{to} holds other files than a data set of export data: name a new folder")
    pace, rows, sums = Pace(progress, kind), 0, columns.arrays.sums

    # One thread compresses and writes while this one computes.
    def write(file: tuple[int, str, list[Any]]) -> tuple[int, int]:
        total, name, batches = file
        with writer_of(part / name, columns.schema) as writer:
            for batch in batches:
                writer.write_batch(batch, row_group_size=ROWS)
        return total, sum(len(batch) for batch in batches)

    with new_folder(to, _is_data, refused) as part, Pool(1) as pool:
        for total, more in pool.map(write, columns.files(), ahead=WAITING):
            rows += more
            if pace.due():
                share = float(np.searchsorted(sums, total)) / max(len(sums), 1)
                pace.report(total, "write", rows, min(share, 0.999))
    pace.report(max(sums, default=0), "done", rows, 1.0)
    return rows


class Columns:
    """The boards of a table as batches of Arrow; parameters and errors are those of `to_arrow`."""

    def __init__(
        self,
        table: Table,
        objective: str | None,
        kind: Kind = "states",
        visits: bool = False,
        command: str = "",
        splits: bool = False,
        policy: Any = None,
    ) -> None:
        if kind not in ("states", "afterstates"):
            raise UsageError(f"kind must be states or afterstates, not {kind!r}")
        self.arrays = TableArrays(table, objective)
        if (visits or policy is not None) and kind != "states":
            raise UsageError("play is followed on states: leave visits and policy out for afterstates")
        self._kind: Kind = kind
        self._met = optimal_visits(self.arrays) if visits else None
        self._splits = splits
        self._about = {
            "game": self.arrays.game.identity, "objective": self.arrays.objective.identity, "kind": kind,
            "actions": list(self.arrays.boards.actions), "version": version(), "command": command,
        }  # fmt: skip
        self._judged: Judgement | None = None
        if policy is not None:
            given = isinstance(policy, Judgement)
            judged = policy if given else judge(table, policy, objective=objective, worst=0, keep=True)
            _check_judged(judged, self.arrays)
            self._judged = _of_orbits(judged)
        own = ("policy_v", "policy_q_") if policy is not None else ()
        added = (*("visits",) * visits, *own, *("split",) * splits)
        self.columns = columns_of(self.arrays.game, states=kind == "states", added=added)
        boards, chances = zip(*self.arrays.game.starts(), strict=True)
        keys = self.arrays.boards.least(self.arrays.boards.pack(np.array(boards)))
        self._starts = merge_weights(keys, np.array([float(p) for p in chances]))

    @cached_property
    def schema(self) -> Any:
        """The schema of Arrow.  Raises `MissingExtraError`."""
        pa, cells = load_pyarrow()[0], self.arrays.game.cells
        kinds = {one.name: pa.type_for_alias(one.type) for one in self.columns}
        kinds["cells"] = pa.list_(kinds["cells"], cells)
        return pa.schema(list(kinds.items()), metadata={META: to_json(self._about, "sorted")})

    def batches(self) -> Iterator[tuple[int, Any]]:
        """Yield sums, ascending, and batches of Arrow of at most `ROWS` boards."""
        return self.arrow(self.layers())

    def arrow(self, layers: Iterable[tuple[int, dict[str, Any]]]) -> Iterator[tuple[int, Any]]:
        """Yield the columns of `layers` as batches of Arrow."""
        pa, schema = load_pyarrow()[0], self.schema
        for total, columns in layers:
            cells = columns["cells"]
            made = {
                "board": board_texts(self.arrays.game, cells).to_arrow(),
                "cells": pa.FixedSizeListArray.from_arrays(pa.array(cells.ravel()), cells.shape[1]),
            }
            for name, column in columns.items():
                if name not in made:
                    missing = column == 0 if name.startswith("after_") else None
                    made[name] = pa.array(column, schema.field(name).type, missing, from_pandas=True)
            yield total, pa.RecordBatch.from_arrays([made[name] for name in schema.names], schema=schema)

    def layers(self, total: int | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield sums, ascending, and columns of at most `ROWS` boards; of one sum only, if it is given.

        A number that is missing is NaN, a missing key is 0.  The texts of boards are not among them.
        """
        met_sum, met, visits = -1, np.zeros(0, dtype=np.uint64), np.zeros(0)
        for layer in self.arrays.iter_layers(self._kind, most=ROWS):
            if total not in (None, layer.sum):
                continue
            columns = self._columns(layer)
            if self._met is not None:
                while met_sum < layer.sum:
                    met_sum, met, visits = next(self._met, (1 << 62, met[:0], visits[:0]))
                none = np.zeros(len(layer.keys))
                columns["visits"] = _joined(layer.keys, met, visits) if met_sum == layer.sum else none
            if self._judged is not None:
                own, of_slides = self._judged.probe(layer.keys, encoding="keys")
                names = (f"policy_q_{name}" for name in self.arrays.boards.actions)
                columns |= {"policy_v": own} | dict(zip(names, of_slides.T, strict=True))
            if self._splits:
                columns["split"] = split_of(columns["cells"])
            yield layer.sum, columns

    def _columns(self, layer: LayerArrays) -> dict[str, Any]:
        boards, keys = self.arrays.boards, layer.keys
        cells = boards.unpack(keys).reshape(len(keys), -1)
        largest = boards.tops(keys)
        found = {
            "key": keys, "cells": cells,
            "sum": np.full(len(keys), layer.sum, dtype=np.int32),
            "largest": np.where(largest > 0, np.int32(1) << largest.astype(np.int32), 0).astype(np.int32),
            "orbit": (boards.order // boards.stabilisers(keys)).astype(np.uint8),
            "v": _numbers(layer.value),
        }  # fmt: skip
        if self._kind == "afterstates":
            return found
        found |= {"start_probability": _joined(keys, *self._starts)}
        for prefix, columns in (("q_", _numbers(layer.q)), ("after_", layer.after)):
            found |= {prefix + name: columns[:, at] for at, name in enumerate(boards.actions)}
        return found | {"best": np.packbits(layer.best, axis=1, bitorder="little")[:, 0]}

    def files(self) -> Iterator[tuple[int, str, list[Any]]]:
        """Yield sums, the names of files, and what is in them: one sum, at most `GROUPS` batches."""
        for total, found in itertools.groupby(self.batches(), key=operator.itemgetter(0)):
            batches = (batch for _, batch in found)
            for number in itertools.count():
                if not (waiting := list(itertools.islice(batches, GROUPS))):
                    break
                name = f"{total:06}_{number:03}.parquet" if number else f"{total:06}.parquet"
                yield total, name, waiting


def _check_judged(judged: Judgement, arrays: TableArrays) -> None:
    """Raise `UsageError` unless an agent was judged by the values of a table, and its states were kept."""
    objective = arrays.objective
    scaled = judged.returns and objective.discount != 1
    if scaled or (judged.game, judged.objective) != (arrays.game, objective):
        raise UsageError(
            f"{judged.name} was judged by other values: judge it by {objective.label} of {arrays.game}, "
            "without returns"
        )
    judged.probe(np.zeros(0, dtype=np.uint64), encoding="keys")  # if its states were not kept, says so


def _of_orbits(judged: Judgement) -> Judgement:
    """Return what a judgement without symmetry tells of canonical boards, from any image that was met.

    Raises `UsageError` if images of a board are worth different values, of which no mean fits all weights.
    """
    if judged.turned or not judged.states:
        return judged
    known, rows = judged.visited, np.arange(len(judged.visited.keys))[:, None]
    keys, turn = judged.boards.canonical(known.keys)
    q = np.empty_like(known.own_q)
    q[rows, judged.boards.action_maps[turn]] = known.own_q
    order = np.argsort(keys, kind="stable")
    keys, first = np.unique(keys[order], return_index=True)
    least, most = (by.reduceat(known.own_value[order], first) for by in (np.minimum, np.maximum))
    apart = most - least > ALIKE * np.maximum(np.abs(known.value[order[first]]), np.abs(most))
    if apart.any():
        at = int(apart.argmax())
        board, ends = judged.game.unpack(int(keys[at])), (float(least[at]), float(most[at]))
        raise UsageError(
            f"{judged.name} is worth {' to '.join(map(digits_text, ends))} on {judged.game.format(board)} "
            "and its turned boards, which share a row: "
            "read the values of boards from `visited` of the judgement, or judge with symmetry='canonical'"
        )
    found = Visited._make((0, *(column[order[first]] for column in known[1:])))
    layer = found._replace(keys=keys, own_value=most, own_q=np.fmax.reduceat(q[order], first))
    return replace(judged, turned=True, layers=(layer,))


class Texts(NamedTuple):
    """Texts one after the other: text i is ``letters[ends[i]:ends[i + 1]]``."""

    ends: npt.NDArray[np.int32]
    letters: npt.NDArray[np.uint8]

    def to_list(self) -> list[str]:
        """As a list."""
        whole = self.letters.tobytes().decode("ascii")
        return [whole[begin:end] for begin, end in itertools.pairwise(self.ends.tolist())]

    def to_arrow(self) -> Any:
        """As an array of Arrow, which shares the memory."""
        pa, _ = load_pyarrow()
        return pa.StringArray.from_buffers(
            len(self.ends) - 1, pa.py_buffer(self.ends), pa.py_buffer(self.letters)
        )


def board_texts(game: Game, cells: npt.NDArray[np.uint8]) -> Texts:
    """Return boards ``cells[n, cell]`` as texts, as `Game.format` writes each: ``2,4/0,8``."""
    ends = re.findall(r"[,/]+|$", game.format([0] * game.cells))
    spell = ["#".format if cell in game.walls else game.word for cell in range(game.cells)]
    codes = range(game.x + 1)
    return _spelled(
        cells, [[f"{word(code)}{end}" for code in codes] for word, end in zip(spell, ends, strict=True)]
    )


def list_texts(cells: npt.NDArray[np.uint8]) -> Texts:
    """Return the exponents of boards ``cells[n, cell]`` as lists of JSON: ``[1, 2, 0, 3]``."""
    forms = ["{}, "] * cells.shape[1]
    forms[0], forms[-1] = "[" + forms[0], forms[-1].replace(", ", "]")
    codes = range(int(cells.max(initial=0)) + 1)
    return _spelled(cells, [[form.format(code) for code in codes] for form in forms])


def _spelled(cells: npt.NDArray[np.uint8], words: list[list[str]]) -> Texts:
    """Return what boards are called if cell c with the exponent e is ``words[c][e]``."""
    spelled = np.array(words, dtype="S")
    lengths = np.strings.str_len(spelled)
    letters = spelled.view(np.uint8).reshape(*spelled.shape, -1)
    ends = np.zeros(len(cells) + 1, dtype=np.int32)
    out = np.empty(len(cells) * int(lengths.max(axis=1).sum()), dtype=np.uint8)
    return Texts(ends, out[: write_words(np.ascontiguousarray(cells), letters, lengths, ends[1:], out)])


def split_of(boards: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the part of each board, ``uint8[n]``: 0 train, 1 validation, 2 test; see `SPLITS`.

    It is a hash (the mixing steps of SplitMix64) of the cells of ``boards[n, ...]`` in their order and of
    nothing else.  So a board that occurs in several games of a shape is in the same part of each, if these
    have the same symmetries.  Give the canonical boards, so that turned boards are in one part.

    Raises `UsageError` unless they are an array of bytes.
    """
    if not isinstance(boards, np.ndarray) or boards.dtype != np.uint8 or not boards.ndim:
        raise UsageError("give boards as exponents, an array uint8[n, ...]")
    mixed = np.zeros(len(boards), dtype=np.uint64)
    for cell in boards.reshape(len(boards), -1).T:
        mixed = (mixed + cell + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    tenth = mixed % np.uint64(10)
    return np.where(tenth == 8, 1, np.where(tenth == 9, 2, 0)).astype(np.uint8)


def _is_data(folder: Path) -> bool:
    """Return whether a folder holds only the files of `write_parquet`."""
    names = sorted(path.name for path in folder.iterdir() if path.name != LOCK)
    if not names or not all(NAMED.fullmatch(name) for name in names):
        return False
    pa, pq = load_pyarrow()
    try:
        return META.encode() in (pq.read_schema(folder / names[0]).metadata or {})
    except (pa.ArrowException, OSError):
        return False


def _numbers(values: Floats) -> Floats:
    """Return values with infinity for "never"."""
    return np.where(values == NEVER, np.inf, values)


def _joined(keys: Keys, met: Keys, visits: Floats) -> Floats:
    """Return the visits of keys, both ascending; 0 for a key that is not met."""
    at = np.minimum(met.searchsorted(keys), max(len(met) - 1, 0))
    return np.where(met[at] == keys, visits[at], 0.0) if len(met) else np.zeros(len(keys))


def writer_of(path: Path, schema: Any) -> AbstractContextManager[Any]:
    """As `parquet_file`, for the columns of a data set."""
    return parquet_file(path, schema, durable=False, compression="zstd", use_dictionary=DICTIONARIES)
