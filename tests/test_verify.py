"""`verify`: sound tables, wrong values, chunks of another size, and files that cannot be read."""

from __future__ import annotations

import dataclasses
import errno
import itertools
import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cached_oracle as oracle
from judging import promise
from tilebase import evaluate, simulate, solve, thin
from tilebase.cli import main
from tilebase.errors import (
    StorageError,
)
from tilebase.files.format import (
    HEADER,
    VALUE_HEADER,
    LayerFile,
    LayerWriter,
    ValueFile,
    compress,
    encode_keys,
    encode_values,
)
from tilebase.files.manifest import Manifest
from tilebase.game.board import Board
from tilebase.game.game import Game
from tilebase.runtime.progress import Progress
from tilebase.tables.probe import open_table
from tilebase.tables.verify import verify_table

SMALL = Game("2x2", 32)
TINY = Game("2x2", 16)
CONTINUED = ("score", "merges", "moves", "survival", "longest")


BOUNDS = "lower,lower:uint32,upper,upper:uint32"
EVERYTHING = f"win,win:float32,win:float16,{BOUNDS},score,score:float32,moves,moves:float32"


@pytest.mark.parametrize(
    ("game", "objectives", "discount"),
    [
        (SMALL, f"{EVERYTHING},guaranteed,survival,longest", "1"),
        (SMALL, EVERYTHING, "0.99"),
        (Game("2x2", 16, start="empty"), EVERYTHING, "1/3"),
        (Game("2x2", 32, spawn=1), f"{EVERYTHING},guaranteed,survival,longest", "1"),
        (Game("2x2"), ",".join(CONTINUED), "1"),
        (Game("2x3", 16, unmergeable=[4]), "win,lower,upper", "1"),
    ],
    ids=str,
)
def test_sound_tables(game, objectives, discount, solved):
    folder = solved(game, objectives, discount)
    seen: list[Progress] = []
    found = verify_table(folder, sample=None, progress=seen.append)
    assert found.wrong == ()
    assert found.skipped == 0
    with open_table(folder) as table:
        assert found.values == table.manifest.counts["afterstates"] * len(objectives.split(","))
        assert found.layers == len(table.manifest.layers) == len(seen) == seen[-1].positions
        assert seen[-1].fraction == 1
    assert verify_table(folder, sample=5).values == 5 * len(objectives.split(","))
    assert verify_table(folder, sample=0).values == 0


def rewrite(folder: Path, label: str, total: int, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Change the values of a layer, and every checksum with them."""
    path = folder / "values" / label / f"{total:06d}.val"
    with ValueFile(path) as file:
        first, values, meta = int(file.index[0]["first"]), file.values(0).copy(), file.meta
        bits = file.dtype == "bit"
    values = change(values)
    with LayerWriter(path, VALUE_HEADER) as writer:
        writer.add(compress(first, len(values), encode_values(values, bits)))
        writer.finish(meta, durable=False)
    manifest = Manifest.parse((folder / "manifest.json").read_bytes(), "manifest")
    layers = {s: dict(files) for s, files in manifest.layers.items()}
    with ValueFile(path) as file:
        layers[total][label] = file.checksum
    (folder / "manifest.json").write_text(dataclasses.replace(manifest, layers=layers).text)


@pytest.mark.parametrize(
    ("label", "change"),
    [
        ("win", lambda values: values * (1 + 1e-9)),
        ("win-float32", lambda values: values * np.float32(0.9999)),
        ("lower", lambda values: values + np.uint64(1)),
        ("upper", lambda values: values - np.uint64(1)),
        ("guaranteed", lambda values: 1 - values),
        ("score", lambda values: values + 1e-6),
        ("longest", lambda values: values + 1),
    ],
)
def test_a_wrong_value_is_found(label, change, copy):
    folder = copy(TINY, "win,win:float32,lower,upper,guaranteed,score,longest")
    rewrite(folder, label, 12, lambda values: values)
    assert verify_table(folder, sample=None).wrong == ()
    rewrite(folder, label, 12, change)
    wrong = verify_table(folder, sample=None).wrong
    assert wrong
    assert all(sentence.startswith(f"{label} of ") for sentence in wrong)
    assert "but its successors make it" in wrong[0]


# -- chunks of another size ------------------------------------------------------------------------


def cut_anew(folder: Path, sizes: Callable[[int], list[int]]) -> None:
    """Write all files of a table with other chunks, as another program may: `sizes` of so many keys."""
    manifest = Manifest.parse((folder / "manifest.json").read_bytes(), "manifest")
    layers = {s: dict(files) for s, files in manifest.layers.items()}
    for total, files in layers.items():
        for label in files:
            name = (
                f"afterstates/{total:06d}.tbl"
                if label == "afterstates"
                else f"values/{label}/{total:06d}.val"
            )
            with (LayerFile if label == "afterstates" else ValueFile)(folder / name) as file:
                keys = np.arange(len(file), dtype=np.uint64)
            if manifest.space != "all":
                with LayerFile(folder / f"afterstates/{total:06d}.tbl") as layer:
                    keys = np.concatenate(list(layer))
            files[label] = write_cut(folder / name, keys, sizes(len(keys)))
    (folder / "manifest.json").write_text(dataclasses.replace(manifest, layers=layers).text)
    for journal in folder.rglob("*.jsonl"):
        label = "afterstates" if journal.parent == folder else journal.parent.name
        promise(journal, {total: files[label] for total, files in layers.items() if label in files})


def write_cut(path: Path, keys: np.ndarray, sizes: list[int]) -> str:
    """Write a layer or value file with chunks of these sizes; return its checksum."""
    spans = [(end - size, end) for size, end in zip(sizes, itertools.accumulate(sizes), strict=True)]
    assert spans[-1][1] == len(keys)
    if path.suffix == ".tbl":
        with LayerFile(path) as layer:
            meta, header = layer.meta, HEADER
        pieces = [encode_keys(keys[begin:end]) for begin, end in spans]
    else:
        with ValueFile(path) as file:
            meta, header, bits = file.meta, VALUE_HEADER, file.dtype == "bit"
            values = np.concatenate([file.values(chunk) for chunk in range(file.chunks)])
        pieces = [encode_values(values[begin:end], bits) for begin, end in spans]
    with LayerWriter(path, header) as writer:
        for piece, (begin, end) in zip(pieces, spans, strict=True):
            writer.add(compress(int(keys[begin]), end - begin, piece))
        writer.finish(meta, durable=False)
    with (LayerFile if path.suffix == ".tbl" else ValueFile)(path) as file:
        return file.checksum


def unequal(size: int) -> list[int]:
    draw = random.Random(size)
    cuts = sorted(draw.sample(range(1, size), min(5, size - 1)))
    return [end - begin for begin, end in itertools.pairwise([0, *cuts, size])]


CUTS = {
    "ones": lambda size: [1] * size,
    "unequal": unequal,
    "seven": lambda size: [7, size - 7] if size > 7 else [size],
}
CUT = Game("2x3", 32)


@pytest.mark.parametrize("cut", CUTS)
def test_chunks_of_another_size(cut, copy, solved, tmp_path):
    """docs/format.md allows any: probe, verify, evaluate, simulate, thin, and solve for another objective."""
    folder, whole = copy(CUT, "win,guaranteed"), solved(CUT, "win,guaranteed,upper,score")
    cut_anew(folder, CUTS[cut])
    found = verify_table(folder, sample=200)
    assert (found.wrong, found.unread, found.skipped) == ((), (), 0)
    boards = [Board(CUT, cells) for cells in list(oracle.values(CUT).states)[::7]]
    for lean, more in ((False, "score"), (True, "upper")):
        solution = solve(CUT, more, table=folder, threads=2, lean=lean)
        assert verify_table(folder, sample=200).wrong == ()
        with open_table(folder) as table, open_table(whole) as other:
            assert solution.value == other.start[more]
            for board, label in itertools.product(boards, ("win", "guaranteed", more)):
                assert table.probe(board, label) == other.probe(board, label)
    for policy in ("random", "greedy", folder):
        assert (
            evaluate(folder, policy, objective="win").value == evaluate(whole, policy, objective="win").value
        )
    games = [simulate(place, games=50, seed=1, objective="win").mean for place in (folder, whole)]
    assert games[0] == games[1]
    thin(folder, tmp_path / "thin", above=0.01)
    assert verify_table(tmp_path / "thin").wrong == ()


@pytest.mark.parametrize("cut", CUTS)
def test_chunks_of_another_size_of_all_boards(cut, tmp_path):
    game = Game("2x2", 32, limits="16,16/16,8")
    for folder in (tmp_path / "a", tmp_path / "b"):
        solve(game, "win,guaranteed", table=folder, space="all", threads=1)
    turn = itertools.count()
    cut_anew(tmp_path / "a", lambda size: CUTS[cut](size) if next(turn) % 2 else [size])
    found = verify_table(tmp_path / "a", sample=100)
    assert (found.wrong, found.unread) == ((), ())
    with open_table(tmp_path / "a") as table, open_table(tmp_path / "b") as other:
        for cells in itertools.product(range(5), range(5), range(5), range(4)):
            for label in ("win", "guaranteed"):
                assert table.get(Board(game, cells), objective=label) == other.get(
                    Board(game, cells), objective=label
                )


# -- what cannot be read ---------------------------------------------------------------------------

LATER = "not all of it could be read, so verify again when it can be"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE, errno.ESTALE])
@pytest.mark.parametrize("function", ["open", "pread"])
def test_files_that_cannot_be_read_are_not_damaged(number, function, solved, monkeypatch, capsys):
    folder = solved(TINY)
    real = getattr(os, function)
    failing: list[str] = []

    def fails(what, *rest, **options):
        name = Path(f"/proc/self/fd/{what}").readlink() if function == "pread" else what
        if Path(name).name in failing:
            raise OSError(number, os.strerror(number))
        return real(what, *rest, **options)

    monkeypatch.setattr(os, function, fails)
    for name in ("000012.tbl", "000012.val"):
        failing[:] = [name]
        found = verify_table(folder)
        assert found.wrong == ()
        assert len(found.unread) == 1
        assert found.unread[0].startswith("cannot read ")
        assert found.unread[0].endswith(os.strerror(number))
        assert main(["verify", str(folder), "-q"]) == 1
        printed = capsys.readouterr()
        assert "delete" not in printed.out + printed.err
        assert printed.out.splitlines()[-1] == f"{folder}: {LATER}"
        with open_table(folder) as table, pytest.raises(StorageError, match="cannot read"):
            table.probe("4,4/0,4")
    failing[:] = ["manifest.json"]
    assert main(["verify", str(folder), "-q"]) == 1
    printed = capsys.readouterr()
    assert "cannot read" in printed.err
    assert "delete" not in printed.out + printed.err


def test_damaged_and_unreadable_files_are_both_told(copy, capsys):
    folder = copy(TINY)
    with (folder / "values/win/000014.val").open("r+b") as file:
        file.write(b"x")
    (folder / "afterstates/000012.tbl").unlink()
    (folder / "afterstates/000012.tbl").mkdir()
    assert main(["verify", str(folder), "-q"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"{folder}: 1 damaged; the command that made it, called again, mends it; {LATER}"


def test_a_run_that_cannot_be_read(copy, capsys):
    folder = copy(TINY)
    (folder / "manifest.json").unlink()
    for name in ("afterstates/000012.tbl", "values/win/000012.val"):
        (folder / name).unlink()
        (folder / name).mkdir()
        assert main(["verify", str(folder)]) == 1
        printed = capsys.readouterr()
        assert "delete" not in printed.out + printed.err
        assert printed.out.splitlines()[-1] == f"{folder}: {LATER}"
