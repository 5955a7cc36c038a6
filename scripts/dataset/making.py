"""A data set that can be published as it is: tables, Parquet in three parts, benchmarks, card and checksums.

    README.md                   the data card
    croissant.json              the same for programs (Croissant 1.1)
    benchmarks.json             the tasks: game, objective, optimum, random, greedy
    tables/3x3-512.zip          a table for `open_table`, with all objectives
    data/3x3-512-win/train.parquet, validation.parquet, test.parquet
                                a row for each state up to symmetry (`tilebase.datasets.columns`)
    SHA256SUMS                  the checksums of all files, for ``sha256sum --check``

While it is made, `UNFINISHED` says which games are done.

The parts are by a hash of the orbit (`split_of`).  Rows of a part ascend by sum and key.
"""

from __future__ import annotations

import hashlib
import shutil
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self, Unpack

import numpy as np

from dataset.card import croissant, data_card
from tilebase._version import version
from tilebase.datasets.benchmarks import Benchmark, benchmark
from tilebase.datasets.columns import ROWS, SPLITS, Columns, writer_of
from tilebase.errors import CorruptError, StorageError, UsageError
from tilebase.files.parquet import load_pyarrow
from tilebase.files.schema import Column, columns_of
from tilebase.policies.evaluation import evaluate
from tilebase.questions.solve import solve
from tilebase.runtime.documents import parse_json, to_json, understood
from tilebase.runtime.resources import Use
from tilebase.runtime.storage import write_whole
from tilebase.tables.probe import Table, open_table

SUMS, UNFINISHED = "SHA256SUMS", "unfinished.json"
CLOSE = 1e-9
"""How far a value may be from that of `benchmarks.tsv`, relatively: engines add in other orders."""


@dataclass(frozen=True)
class File:
    """A file of the data set: its path in the folder, bytes and SHA-256; rows if it has some."""

    path: str
    size: int
    sha256: str
    rows: int = 0


@dataclass
class Part:
    """What was made of one benchmark."""

    task: Benchmark
    seconds: dict[str, float] = field(default_factory=dict)  # of processor time, by step
    files: list[File] = field(default_factory=list)  # one for each of `SPLITS`
    table: File | None = None

    @property
    def columns(self) -> list[Column]:
        """Its columns."""
        return columns_of(self.task.game, states=True, added=("visits", "split"))

    @property
    def rows(self) -> int:
        """How many states it has."""
        return sum(file.rows for file in self.files)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self) | {"task": self.task.name}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """Return what `as_dict` was made of."""
        files = [File(**one) for one in found["files"]]
        return cls(
            benchmark(found["task"]), found["seconds"], files, File(**found["table"]),
        )  # fmt: skip


def make_dataset(
    folder: Path | str,
    names: Sequence[str],
    *,
    command: str = "",
    told: Callable[[str], object] = lambda _: None,
    **use: Unpack[Use],
) -> list[Part]:
    """Solve the games of benchmarks and write the data set; return what was made.

    Parameters
    ----------
    folder:
        A new or an empty folder; or one in which the same call was interrupted: it continues with the first
        game that was not done.
    names:
        Benchmarks, as in `BENCHMARKS`.
    command:
        What is named in the files as the command that made them.
    told:
        Called with a line of text after each step.
    use:
        Memory, threads and the like: the keywords of `Use`.

    Raises
    ------
    UsageError
        If a benchmark does not exist, or the folder is not empty and no such call began there.
    CorruptError
        If a value is not that of the benchmark.
    StorageError
        If a file cannot be written.
    MissingExtraError
        If pyarrow is not installed.
    """
    load_pyarrow("the data set needs pyarrow")
    tasks, to = [benchmark(name) for name in dict.fromkeys(names)], Path(folder)
    if not tasks:
        raise UsageError("name at least one benchmark")
    games: dict[str, list[Benchmark]] = {}
    for task in tasks:
        games.setdefault(task.table, []).append(task)
    asked = {"version": version(), "command": command, "benchmarks": [task.name for task in tasks]}
    done = _begin(to, asked)
    for name, group in games.items():
        if name not in done:
            _delete_game(to, name, group)
            done[name] = list(_make_game(to, group, command, told, **use))
            kept = {game: [part.as_dict() for part in made] for game, made in done.items()}
            write_whole(to / UNFINISHED, to_json({"asked": asked, "done": kept}, "pretty") + "\n")
    parts = [part for name in games for part in done[name]]
    write_whole(to / "benchmarks.json", to_json([part.task.as_dict() for part in parts], "pretty") + "\n")
    write_whole(to / "croissant.json", to_json(croissant(parts), "pretty") + "\n")
    write_whole(to / "README.md", data_card(parts, command))
    paths = sorted(path for path in to.rglob("*") if path.is_file() and path.name not in (SUMS, UNFINISHED))
    write_whole(to / SUMS, "".join(f"{_file(to, path).sha256}  {path.relative_to(to)}\n" for path in paths))
    (to / UNFINISHED).unlink()
    return parts


def _begin(to: Path, asked: dict[str, Any]) -> dict[str, list[Part]]:
    """Make the folder, or return what an interrupted run has made there, by table.  Raises `UsageError`."""
    kept = to / UNFINISHED
    if kept.is_file():
        found = parse_json(kept.read_bytes(), str(kept))
        with understood(str(kept)):
            begun, names = found["asked"], ", ".join(found["asked"]["benchmarks"])
            done = {game: [*map(Part.from_dict, parts)] for game, parts in found["done"].items()}
        if begun != asked:
            raise UsageError(
                f"{to} holds an unfinished data set of {names}, by version {begun.get('version')}: "
                "give the same benchmarks to this version, or name a new folder"
            )
        return done
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UsageError(f"{to} is not an empty folder: name a new one")
    try:
        for name in ("tables", "data"):
            (to / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot make {to}: {error.strerror}") from error
    write_whole(kept, to_json({"asked": asked, "done": {}}, "pretty") + "\n")
    return {}


def _delete_game(to: Path, name: str, tasks: Sequence[Benchmark]) -> None:
    """Delete what an interrupted run has left of a game."""
    for path in (to / "tables" / name, *(to / "data" / task.name for task in tasks)):
        if path.exists():
            shutil.rmtree(path)
    _packed(to / "tables" / name).unlink(missing_ok=True)


def _make_game(
    to: Path,
    tasks: list[Benchmark],
    command: str,
    told: Callable[[str], object],
    **use: Unpack[Use],
) -> Iterator[Part]:
    """Solve one game for all its objectives, and write what belongs to it."""
    path, began = to / "tables" / tasks[0].table, time.process_time()
    solve(tasks[0].game, ",".join(task.objective for task in tasks), table=path, **use)
    solved = time.process_time() - began
    told(f"{tasks[0].table}: solved, {solved:.1f} CPU seconds")
    made: list[Part] = []
    with open_table(path) as table:
        for task in tasks:
            began = time.process_time()
            check_values(task, values_of(table, task.objective, **use))
            checked = time.process_time() - began
            part = _write_parts(to, table, task, command)
            part.seconds |= {"solve": solved, "random and greedy": checked}
            told(f"{task.name}: {part.rows:,} states, {part.seconds['write']:.1f} CPU seconds")
            made.append(part)
    packed = _pack(path)
    for part in made:
        part.table = _file(to, packed)
        yield part


def values_of(table: Table, objective: str, **use: Unpack[Use]) -> tuple[float, float, float]:
    """Return the optimum of a table, and what random and greedy play get."""
    random, greedy = (
        evaluate(table, policy, objective=objective, **use).value for policy in ("random", "greedy")
    )
    return float(table.start[objective]), random, greedy


def check_values(task: Benchmark, found: tuple[float, float, float]) -> None:
    """Raise `CorruptError` if values are not those of a benchmark."""
    for name, value, known in zip(
        ("optimum", "random", "greedy"), found, (task.optimum, task.random, task.greedy), strict=True
    ):
        if abs(value - known) > CLOSE * abs(known):
            raise CorruptError(f"{name} of {task.name} is {value!r}, and the benchmark says {known!r}")


def _write_parts(to: Path, table: Table, task: Benchmark, command: str) -> Part:
    """Write the states of a table, each part as a file."""
    began, folder = time.process_time(), to / "data" / task.name
    pa, _ = load_pyarrow("")
    folder.mkdir()
    columns = Columns(table, task.objective, visits=True, command=command, splits=True)
    paths, rows = [folder / f"{name}.parquet" for name in SPLITS], [0] * len(SPLITS)
    waiting: list[list[Any]] = [[] for _ in SPLITS]
    with ExitStack() as stack:
        writers = [stack.enter_context(writer_of(path, columns.schema)) for path in paths]

        def write(split: int, least: int) -> None:
            """Write the waiting rows if they are as many."""
            if sum(map(len, waiting[split])) >= least:
                writers[split].write_table(pa.Table.from_batches(waiting[split]), row_group_size=ROWS)
                waiting[split].clear()

        for _, batch in columns.batches():
            parts = batch.column("split").to_numpy()
            for split in np.unique(parts).tolist():
                mine = batch.filter(pa.array(parts == split))
                waiting[split].append(mine)
                rows[split] += len(mine)
                write(split, ROWS)
        for split in range(len(SPLITS)):
            write(split, 1)
    files = [_file(to, path, count) for path, count in zip(paths, rows, strict=True)]
    seconds = {"write": time.process_time() - began}
    return Part(task, seconds, files)


def _pack(folder: Path) -> Path:
    """Put a folder into a zip file, not compressed and with fixed times, and delete it."""
    packed = _packed(folder)
    with zipfile.ZipFile(packed, "x") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder).as_posix())
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target, 1 << 20)
    shutil.rmtree(folder)
    return packed


def _packed(folder: Path) -> Path:
    """The zip file of a table."""
    return folder.with_suffix(folder.suffix + ".zip")


def _file(to: Path, path: Path, rows: int = 0) -> File:
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return File(path.relative_to(to).as_posix(), path.stat().st_size, digest, rows)
