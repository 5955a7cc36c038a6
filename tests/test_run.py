"""Folders of runs: killed, full, damaged, locked, and foreign ones."""

from __future__ import annotations

import json
import os
import zlib

import pytest

from repetition import one_in
from stopping import raise_at
from stored import chunks, chunks_of, contents, layers_of, put, record_of, without_positions
from tilebase.errors import CorruptError, StorageError, WrongGameError
from tilebase.files.run import Query, RunFolder, read_journal, verify_run
from tilebase.game.game import Game
from tilebase.questions.count import count, remove_run
from tilebase.runtime.documents import digest_of
from tilebase.sparse.forward import ForwardPass

SMALL = Game("2x2", 32)


def run(folder, game=SMALL, keep="afterstates", **options):
    return count(game, folder=folder, keep=keep, threads=1, **options)


@pytest.fixture
def done(tmp_path):
    run(tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("keep", ["counts", "afterstates", "states"])
def test_interruption_at_every_step(keep, tmp_path, monkeypatch):
    """Stop after every number of reports, and again: whatever is left, the continued run ends the same."""
    run(tmp_path / "whole", keep=keep)
    for stop in range(1, 36, 4):
        for number in (stop, 2):
            with monkeypatch.context() as patch:
                raise_at(patch, ForwardPass, "_report", (number,))
                with pytest.raises(KeyboardInterrupt):
                    run(tmp_path / str(stop), keep=keep)
        run(tmp_path / str(stop), keep=keep)
        assert contents(tmp_path / str(stop)) == contents(tmp_path / "whole")


@pytest.mark.parametrize("names", [["lock"], ["lock", ".run.json.part"]], ids=str)
def test_killed_before_there_was_a_manifest(names, tmp_path, done):
    folder = tmp_path / "early"
    folder.mkdir()
    for name in names:
        (folder / name).write_text("{")
    run(folder)
    assert contents(folder) == contents(done)


def test_finished_run_is_read_not_made_again(done):
    times = {path: path.stat().st_mtime_ns for path in done.rglob("*") if path.name != "lock"}
    assert run(done).total("live") == 57
    assert {path: path.stat().st_mtime_ns for path in times} == times


def test_up_to_and_on(tmp_path, done):
    assert not run(tmp_path / "parts", up_to=10).complete
    assert not run(tmp_path / "parts", up_to=20).complete
    assert run(tmp_path / "parts").complete
    assert contents(tmp_path / "parts") == contents(done)


def test_leftovers_are_removed(done):
    before = contents(done)
    (done / "afterstates" / ".layers.idx.part").write_bytes(b"half")
    (done / ".states-10.spill").write_bytes(b"half")
    run(done)
    assert contents(done) == before


# -- the journal -----------------------------------------------------------------------------


def test_any_truncation_of_the_journal_is_mended(done):
    before = contents(done)
    journal = done / "counts.jsonl"
    data = journal.read_bytes()
    last = len(data) - len(data.splitlines(keepends=True)[-1])
    for size in (*range(0, last, 83)[one_in(4)], last, last + 1, (last + len(data)) // 2, len(data) - 1):
        journal.write_bytes(data[:size])
        assert size < last or len(verify_run(done).wrong) == (size != last)
        assert run(done).total("live") == 57
        assert contents(done) == before


def test_damaged_earlier_line(done):
    journal = done / "counts.jsonl"
    data = bytearray(journal.read_bytes())
    data[30] ^= 1
    journal.write_bytes(data)
    with pytest.raises(CorruptError, match=r"counts\.jsonl is damaged after byte 0"):
        run(done)
    assert journal.read_bytes() == data
    assert len(verify_run(done).wrong) == 1


def test_journal_is_readable_text(done):
    for line in (done / "counts.jsonl").read_text().splitlines():
        text, crc = line.split("\t")
        assert f"{zlib.crc32(text.encode()):08x}" == crc
        json.loads(text)
    lines, _ = read_journal((done / "counts.jsonl").read_bytes(), done)
    of = digest_of(Query(SMALL, keep="afterstates").as_dict())
    assert lines[-1] == {"complete": True, "of": of}
    assert {line["of"] for line in lines} == {of}
    with layers_of(done / "afterstates") as layers:
        for line in lines[:-1]:
            there = line["sum"] in layers.records
            assert line["files"].keys() == ({"afterstates"} if there else set())
            if there:
                assert line["files"]["afterstates"] == layers.layer(line["sum"]).record.text


def test_layer_that_does_not_fit_the_journal(tmp_path, done):
    """A sound layer that is another one is not taken for that of the journal, but made again."""
    parts = tmp_path / "parts"
    run(parts, up_to=10)
    with layers_of(done / "afterstates") as layers:
        put(parts / "afterstates", 10, chunks(layers.layer(20)))
    assert "boards where" in "".join(verify_run(parts).wrong)
    run(parts)
    assert verify_run(parts).sound
    assert contents(parts) == contents(done)


@pytest.mark.parametrize("name", ["layers.idx", "000.seg"])
def test_layers_of_another_question(name, tmp_path, done):
    """The index says whose layers they are; chunks of others have other checksums."""
    other = tmp_path / "other"
    run(other, Game("2x2", 32, spawn="1/5"))
    before = contents(done)
    path = done / "afterstates" / name
    path.write_bytes((other / "afterstates" / name).read_bytes())
    damaged = contents(done)
    if name == "layers.idx":
        with pytest.raises(WrongGameError, match="holds layers of another game or objective: delete it"):
            run(done)
        (wrong,) = verify_run(done).wrong
        assert "holds layers of another game or objective" in wrong
        assert contents(done) == damaged
        path.unlink()
    run(done)
    assert contents(done) == before


@pytest.mark.parametrize("damage", ["chunks", "record", "index", "segment", "torn"])
def test_damaged_layers_are_made_again(damage, done):
    before = without_positions(done)
    folder = done / "afterstates"
    sums = list(before["afterstates/layers.idx"])
    if damage in ("chunks", "record"):
        (chunks_of if damage == "chunks" else record_of)(folder, 10).flip()
    elif damage == "torn":
        os.truncate(folder / "layers.idx", (folder / "layers.idx").stat().st_size - 9)
    else:
        (folder / {"index": "layers.idx", "segment": "000.seg"}[damage]).unlink()
    wrong = verify_run(done).wrong
    unread = {"chunks": 1, "torn": 1, "record": sum(s >= 10 for s in sums)}  # behind a record nothing is read
    assert len(wrong) == unread.get(damage, len(sums))
    assert run(done).total("live") == 57
    assert verify_run(done).sound
    assert without_positions(done) == before


# -- whose folder ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "options", "word"),
    [
        (Game("2x2", 16), {}, "game"),
        (SMALL, {"lookahead": True}, "lookahead"),
        (SMALL, {"keep": "counts"}, "one that keeps afterstates, to solve what is reachable, not .* counts"),
    ],
    ids=["game", "lookahead", "keep"],
)
def test_folder_of_another_question(game, options, word, done):
    before = contents(done)
    with pytest.raises(WrongGameError, match=f"holds another run \\(.*{word}"):
        run(done, game, **options)
    assert contents(done) == before


@pytest.mark.parametrize("name", ["notes.txt", "counts.jsonl", ".hidden", "afterstates"])
def test_folder_with_other_files(name, tmp_path):
    (tmp_path / name).write_text("mine")
    with pytest.raises(WrongGameError, match="holds other files"):
        run(tmp_path)
    assert contents(tmp_path) == {name: b"mine"}


@pytest.mark.parametrize("text", ["", "{}", "[]", "7", "{", '{"format": "other"}', "\ufffe"])
def test_folder_with_another_manifest(text, tmp_path):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(WrongGameError):
        run(tmp_path)
    with pytest.raises(WrongGameError):
        verify_run(tmp_path)
    with pytest.raises(WrongGameError):
        remove_run(tmp_path)
    assert contents(tmp_path) == {"run.json": text.encode()}


def test_folders_above_it_are_made(tmp_path):
    run(tmp_path / "a" / "b" / "run")
    assert verify_run(tmp_path / "a" / "b" / "run").sound


def test_file_instead_of_a_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match="cannot use"):
        run(tmp_path / "file")


def test_locked_folder(tmp_path, refused):
    folder = RunFolder(tmp_path / "run", Query(SMALL, keep="afterstates"))
    command = ["count", "2x2", "32", "--keep", "afterstates", "-o", str(tmp_path / "run")]
    try:
        refused(command, 1, "another process is writing")
    finally:
        folder.close()
    run(tmp_path / "run")


# -- verify and remove -----------------------------------------------------------------------


def test_verify_finds_layers_that_are_not_there_or_not_theirs(done):
    folder = done / "afterstates"
    with layers_of(folder) as layers:
        sums = layers.sums()
        put(folder, 12, chunks(layers.layer(10)))
    assert verify_run(done).wrong == [f"{folder}, sum 12, is not the layer that the journal names"]
    record_of(folder, 10).flip()  # no record behind it is read
    assert verify_run(done).wrong == [
        f"{folder} lacks the layer of sum {total}: the same command makes it again"
        for total in sums
        if total >= 10
    ]


def test_verify_finds_a_layer_with_other_boards(done):
    """As many boards as were counted, but not those that the journal names."""
    folder = done / "afterstates"
    with layers_of(folder) as layers:
        (one,) = chunks(layers.layer(20))
        put(folder, 20, [type(one)(one.first + 1, one.boards, one.frames)])
    (wrong,) = verify_run(done).wrong
    assert wrong == f"{folder}, sum 20, is not the layer that the journal names"


def test_verify_of_an_unfinished_run(tmp_path):
    for keep in ("counts", "afterstates", "states"):
        run(tmp_path / keep, keep=keep, up_to=12)
        assert verify_run(tmp_path / keep).sound
    with pytest.raises(WrongGameError):
        verify_run(tmp_path)
    with pytest.raises(WrongGameError):
        verify_run(tmp_path / "none")


@pytest.mark.parametrize("keep", ["counts", "afterstates", "states"])
def test_remove_run(keep, tmp_path):
    run(tmp_path / "run", keep=keep)
    remove_run(str(tmp_path / "run"))
    assert list(tmp_path.iterdir()) == []


def test_remove_run_leaves_what_is_no_run(tmp_path, done):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "counts.jsonl").write_text("mine")
    for folder in (tmp_path / "mine", tmp_path / "none"):
        with pytest.raises(WrongGameError, match="is not the folder of a run"):
            remove_run(folder)
    assert contents(tmp_path / "mine") == {"counts.jsonl": b"mine"}
    (done / "notes.txt").write_text("mine")
    with pytest.raises(StorageError, match="cannot delete all of"):
        remove_run(done)
    assert (done / "notes.txt").read_text() == "mine"
