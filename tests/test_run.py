"""Folders of runs: killed, full, damaged, locked, and foreign ones."""

from __future__ import annotations

from contextlib import closing

import pytest

from repetition import one_in
from stored import chunks, contents, layers_of, put, record_of
from tilebase.errors import StorageError, WrongGameError
from tilebase.files.run import Query, RunFolder, verify_run
from tilebase.game.game import Game
from tilebase.questions.count import count, remove_run

SMALL = Game("2x2", 32)


def run(folder, game=SMALL, keep="afterstates", **options):
    return count(game, folder=folder, keep=keep, threads=1, **options)


@pytest.fixture
def done(tmp_path):
    run(tmp_path / "run")
    return tmp_path / "run"


def test_finished_run_is_read_not_made_again(done):
    times = {path: path.stat().st_mtime_ns for path in done.rglob("*") if path.name != "lock"}
    assert run(done).total("live") == 57
    assert {path: path.stat().st_mtime_ns for path in times} == times


@pytest.mark.parametrize("keep", ["counts", "afterstates", "states"])
def test_up_to_and_on(keep, tmp_path):
    run(tmp_path / "whole", keep=keep)
    parts = [run(tmp_path / "parts", keep=keep, up_to=up_to) for up_to in (10, 20)]
    assert [(part.complete, part.sums.max()) for part in parts] == [(False, 10), (False, 20)]
    assert run(tmp_path / "parts", keep=keep).complete
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert run(tmp_path / "parts", keep=keep, up_to=20).as_dict() == parts[1].as_dict()


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


MANIFESTS = ("", "{}", "[]", "7", "{", '{"format": "other"}', "\ufffe")
OTHERS = [(name, "mine") for name in ("notes.txt", "counts.jsonl", ".hidden", "afterstates")]


@pytest.mark.parametrize(("name", "text"), [*OTHERS, *(("run.json", text) for text in MANIFESTS)])
def test_folder_of_something_else(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    for use in (run, verify_run, remove_run):
        with pytest.raises(WrongGameError):
            use(tmp_path)
    assert contents(tmp_path) == {name: text.encode()}


def test_locked_folder(tmp_path, refused):
    command = ["count", "2x2", "32", "--keep", "afterstates", "-o", str(tmp_path / "run")]
    with closing(RunFolder(tmp_path / "run", Query(SMALL, keep="afterstates"))):
        refused(command, 1, "another process is writing")
    run(tmp_path / "run")


def test_verify_finds_layers_that_are_not_there_or_not_theirs(done):
    folder = done / "afterstates"
    with layers_of(folder) as layers:
        sums = layers.sums()
        put(folder, 12, chunks(layers.layer(10)))
    assert verify_run(done).wrong == [f"{folder}, sum 12, is not the layer that the journal names"]
    record_of(folder, 10).flip()  # no record behind it is read
    lacking = f"{folder} lacks the layer of sum {{}}: the same command makes it again"
    assert verify_run(done).wrong == [lacking.format(total) for total in sums if total >= 10]


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
