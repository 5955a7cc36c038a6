"""`verify`: sound tables, wrong values, chunks of another size, and files that cannot be read."""

from __future__ import annotations

import errno
import itertools
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cached_oracle as oracle
from judging import promise
from objectives import CONTINUED
from stored import chunks, chunks_of, contents, encode_keys, layers_of, put, record_of, sign_table
from tilebase import Board, Game, Objective, Progress, count, evaluate, open_table, solve, thin
from tilebase.cli import main
from tilebase.errors import StorageError, WrongGameError
from tilebase.files.format import Chunk, Layer, compress, encode_values
from tilebase.files.keys import shortened
from tilebase.files.store import LayerStore
from tilebase.tables.verify import verify_table
from windows import keep_one_layer_above

SMALL = Game("2x2", 32)
TINY = Game("2x2", 16)


BOUNDS = "lower,lower:uint32,upper,upper:uint32"
EVERYTHING = f"win,win:float32,win:float16,{BOUNDS},score,score:float32,moves,moves:float32"


@pytest.mark.parametrize(
    ("game", "objectives", "discount"),
    [
        (SMALL, f"{EVERYTHING},guaranteed,survival,longest,highest", "1"),
        (SMALL, EVERYTHING, "0.99"),
        (Game("2x2", 16, start="empty"), EVERYTHING, "1/3"),
        (Game("2x2", 32, spawn=1), f"{EVERYTHING},guaranteed,survival,longest,highest", "1"),
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
        assert found.layers == len(table.prober.sums()) == len(seen) == seen[-1].positions
        assert seen[-1].fraction == 1
    assert verify_table(folder, sample=5).values == 5 * len(objectives.split(","))
    assert verify_table(folder, sample=0).values == 0


def rewrite(folder: Path, label: str, total: int, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Change the values of a layer, and every checksum with them."""
    here = folder / "values" / label
    with layers_of(here) as layers:
        layer = layers.layer(total)
        values = change(layer.values(0).copy())
        (one,) = chunks(layer)
    bits = objective_of(layer).is_boolean
    new = compress(one.first, len(values), encode_values(values, bits))
    checksum = put(here, total, [Chunk(one.first, one.boards, (one.frames[0], *new.frames))])
    promise(here / "layers.jsonl", {total: checksum})
    sign_table(folder)


def objective_of(layer: Layer) -> Objective:
    assert layer.contents.objective is not None
    return layer.contents.objective


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
        ("highest", lambda values: values + 1),
    ],
)
def test_a_wrong_value_is_found(label, change, copy):
    folder = copy(TINY, "win,win:float32,lower,upper,guaranteed,score,longest,highest")
    rewrite(folder, label, 12, lambda values: values)
    assert verify_table(folder, sample=None).wrong == ()
    rewrite(folder, label, 12, change)
    wrong = verify_table(folder, sample=None).wrong
    assert wrong
    assert all(sentence.startswith(f"{label} of ") for sentence in wrong)
    assert "but its successors make it" in wrong[0]


@pytest.mark.parametrize("left", [[], ["layers.idx"], ["000.seg"]], ids=str)
def test_the_command_wants_no_afterstates_of_a_table(left, copy, tmp_path, printed):
    """They are deleted when a table is finished; a kill may have left some."""
    folder = copy(TINY, "win,score")
    counted = tmp_path / "run"
    count(TINY, folder=counted, keep="afterstates", threads=1)
    assert printed(f"verify {counted}") == f"{counted}: sound\n"
    for name in left:
        (folder / "afterstates").mkdir()
        shutil.copy(counted / "afterstates" / name, folder / "afterstates" / name)
    assert printed(f"verify {folder} -q").startswith(f"{folder}: sound, 9 layers")
    before = contents(folder)
    solve(TINY, "win,score", table=folder, threads=1)
    assert contents(folder) == {name: data for name, data in before.items() if "afterstates" not in name}


# -- chunks of another size ------------------------------------------------------------------------


def cut_anew(folder: Path, sizes: Callable[[int], list[int]]) -> None:
    """Write all layers of a table with other chunks, as another program may: `sizes` of so many boards."""
    here = [folder / "values" / label for label in open_table(folder).manifest.labels]
    with layers_of(here[0]) as layers:
        cuts = {
            (total, place): sizes(layers.records[total].boards) for total in layers.sums() for place in here
        }
    for place in here:
        place.rename(folder / "old")
        with layers_of(folder / "old") as old, LayerStore(place, old.contents) as new:
            for total in reversed(old.sums()):
                new.write(total, cut_layer(old.layer(total), cuts[total, place]), durable=False)
            checksums = {total: record.text for total, record in new.records.items()}
        (folder / "old" / "layers.jsonl").rename(place / "layers.jsonl")
        shutil.rmtree(folder / "old")
        promise(place / "layers.jsonl", checksums)
    sign_table(folder)


def cut_layer(layer: Layer, sizes: list[int]) -> list[Chunk]:
    """The boards of a layer in chunks of these sizes."""
    spans = [(end - size, end) for size, end in zip(sizes, itertools.accumulate(sizes), strict=True)]
    assert spans[-1][1] == len(layer)
    values = np.concatenate([layer.values(chunk) for chunk in range(layer.chunks)])
    varying, has_keys = layer.contents.varying, "keys" in layer.contents.columns
    keys = np.concatenate(list(layer)) if has_keys else np.arange(len(layer), dtype=np.uint64)
    short = keys if varying is None else shortened(varying, keys)
    found = []
    for begin, end in spans:
        pieces = [encode_keys(short[begin:end])] * has_keys
        pieces.append(encode_values(values[begin:end], objective_of(layer).is_boolean))
        first, boards = int(keys[begin]), end - begin
        frames = tuple(compress(first, boards, piece).frames[0] for piece in pieces)
        found.append(Chunk(first, boards, frames))
    return found


def unequal(size: int) -> list[int]:
    draw = random.Random(size)
    cuts = sorted(draw.sample(range(1, size), min(5, size - 1)))
    return [end - begin for begin, end in itertools.pairwise([0, *cuts, size])]


CUTS = {
    "seven": lambda size: [7, size - 7] if size > 7 else [size],
    "ones": lambda size: [1] * size,
    "unequal": unequal,
}
CUT = Game("2x3", 16)


@pytest.mark.parametrize("cut", CUTS)
def test_chunks_of_another_size(cut, copy, solved, tmp_path):
    """docs/format.md allows any: probe, verify, evaluate, thin, and solve for another objective."""
    folder, whole = copy(CUT, "win,guaranteed"), solved(CUT, "win,guaranteed,upper,score")
    cut_anew(folder, CUTS[cut])
    found = verify_table(folder, sample=200)
    assert (found.wrong, found.unread, found.skipped) == ((), (), 0)
    boards = [Board(CUT, cells) for cells in list(oracle.values(CUT).states)[::7]]
    for lean, more in ((False, "score"), (True, "upper")):
        with pytest.MonkeyPatch.context() as patch:
            if lean:
                keep_one_layer_above(patch.setattr)
            solution = solve(CUT, more, table=folder, threads=2)
        assert verify_table(folder, sample=200).wrong == ()
        with open_table(folder) as table, open_table(whole) as other:
            assert solution.value == other.start[more]
            for board, label in itertools.product(boards, ("win", "guaranteed", more)):
                assert table.probe(board, label) == other.probe(board, label)
    for policy in ("random", "greedy", folder):
        values = [evaluate(place, policy, objective="win").value for place in (folder, whole)]
        assert values[0] == values[1]
    games = [evaluate(place, place, games=50, seed=1).value for place in (folder, whole)]
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


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
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
    for name in ("000.seg", "layers.idx"):
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


def test_damaged_and_unreadable_files_are_both_told(copy, printed):
    folder = copy(TINY, "win,score,moves")
    chunks_of(folder / "values/moves", 14).flip()
    unreadable(folder / "values/score/000.seg")
    last = printed(f"verify {folder} -q", status=1).splitlines()[-1]
    assert last == f"{folder}: 1 damaged; rerun the original command to repair it; {LATER}"


def unreadable(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("label", ["win", "score"])
@pytest.mark.parametrize("total", [12, 14])
def test_each_damaged_layer_of_each_objective_is_told(label, total, copy):
    folder = copy(TINY, "win,score")
    places = [(folder / "values" / name, at) for name, at in (("win", 20), (label, total), ("score", 16))]
    for here, at in places:
        chunks_of(here, at).flip()
    found = verify_table(folder)
    assert sorted(found.wrong) == sorted(
        f"{here}, sum {at}, is damaged in chunk 0; make it again" for here, at in places
    )


def test_a_run_that_cannot_be_read(tmp_path, capsys, printed):
    folder = tmp_path / "run"
    solve(TINY, "win", folder=folder, down_to=10, threads=1)
    assert "sound so far" in printed(f"verify {folder}")
    for name in ("afterstates/000.seg", "values/win/000.seg"):
        unreadable(folder / name)
        assert main(["verify", str(folder)]) == 1
        shown = capsys.readouterr()
        assert "delete" not in shown.out + shown.err
        assert shown.out.splitlines()[-1] == f"{folder}: {LATER}"


@pytest.mark.parametrize("whole", [True, False])
def test_values_of_an_unfinished_run_are_verified(whole, tmp_path, capsys):
    folder = tmp_path / "run"
    solve(SMALL, "win,score", folder=None if whole else folder, table=folder if whole else None, down_to=10)
    assert verified(folder, capsys) == [f"{folder}: {UNFINISHED}"]
    here = folder / "values/score"
    kept = (here / "layers.idx").read_bytes()
    last = min(layers_of(here).records)
    mended = "damaged; rerun the original command to repair it"
    chunks_of(here, last).flip()
    wrong = f"{here}, sum {last}, is damaged in chunk 0; make it again"
    assert verified(folder, capsys) == [wrong, f"{folder}: 1 {mended}"]
    chunks_of(here, last).flip()
    record_of(here, last).flip()
    wrong = f"{here} lacks the layer of sum {last}: the same command makes it again"
    assert verified(folder, capsys) == [wrong, f"{folder}: 1 {mended}"]
    (here / "layers.idx").write_bytes(kept[:40])
    lost = len((here / "layers.jsonl").read_text().splitlines())
    assert verified(folder, capsys)[-1] == f"{folder}: {lost} {mended}"
    (here / "layers.idx").write_bytes(b"x" + kept[1:])
    wrong = f"{here / 'layers.idx'} is damaged, or of another version"
    assert verified(folder, capsys) == [wrong, f"{folder}: 1 {mended}"]
    (here / "layers.idx").write_bytes(kept)
    assert verified(folder, capsys) == [f"{folder}: {UNFINISHED}"]


UNFINISHED = "sound so far; the table is not finished: the same tilebase solve continues"


def verified(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    status = main(["verify", str(folder), "-q"])
    lines = capsys.readouterr().out.splitlines()
    assert status == int("sound" not in lines[-1])
    return lines


COUNTS, SOLVED = "counts.jsonl", "values/win/layers.jsonl"


@pytest.mark.parametrize("space", ["reachable", "all"])
def test_a_table_is_whole_without_its_run(space, tmp_path):
    folder = tmp_path / "table"
    solve(TINY, "win,score", table=folder, space=space)
    names = ["run.json", *([COUNTS] if space == "reachable" else []), SOLVED, "values/score/layers.jsonl"]
    for at, name in enumerate(names, 1):
        (folder / name).unlink()
        assert len(verify_table(folder).wrong) == (at if at < len(names) else 0)
    with pytest.raises(WrongGameError, match=r"a table without run\.json, to which nothing can be added"):
        solve(TINY, "moves", table=folder, space=space)
