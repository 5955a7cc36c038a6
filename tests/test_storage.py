"""What is written whole or not at all, and what is adopted: foreign, damaged and missing files of runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import stored
from stopping import no_space
from tilebase import Game, __version__, force, open_table, solve, verify_table
from tilebase.cli import main
from tilebase.cluster.pieces import Exchange
from tilebase.errors import CorruptError, MissingLayerError, StorageError, WrongGameError
from tilebase.files import places, store
from tilebase.files.format import Chunk, Contents
from tilebase.files.layers import LayerFolder
from tilebase.files.places import DECIDED
from tilebase.files.run import Query, RunFolder, delete_run
from tilebase.files.store import LayerStore
from tilebase.files.work_folders import LeftRun, list_runs, remove_runs, work_folder
from tilebase.runtime import storage, system

SMALL, BUSY = Game("2x2", 32), "another process is writing it"
OTHER = Game("2x2", 32, spawn="1/5")
Refused = Callable[[Sequence[str], int, str], None]


# -- whole or not at all -------------------------------------------------------------------------


IN_MEMORY = ["/dev/shm"] if os.access("/dev/shm", os.W_OK) else []


@pytest.mark.parametrize("where", [None, *IN_MEMORY])
def test_older_file_stays_until_the_new_one_is_whole(where: str | None) -> None:
    """Also in a file system in memory, which is no device."""
    with tempfile.TemporaryDirectory(dir=where) as folder:
        path = Path(folder) / "file"
        path.write_text("mine")
        path.chmod(0o640)
        with pytest.raises(TypeError), storage.atomic_file(path) as file:
            file.writelines([b"half", None])  # type: ignore[list-item]
        assert stored.contents(path.parent) == {"file": b"mine"}
        with storage.atomic_file(path) as file:
            file.write(b"whole")
            assert path.read_text() == "mine"
        assert stored.contents(path.parent) == {"file": b"whole"}
        assert path.stat().st_mode & 0o777 == 0o640


def test_part_of_a_killed_process_is_taken_over(tmp_path: Path) -> None:
    storage.part_path(tmp_path / "file").write_bytes(b"left by a kill, and longer")
    storage.write_whole(tmp_path / "file", "new")
    assert stored.contents(tmp_path) == {"file": b"new"}


def test_two_writers_of_one_file(tmp_path: Path) -> None:
    with storage.atomic_file(tmp_path / "file") as file:
        with pytest.raises(StorageError, match=BUSY):
            storage.write_whole(tmp_path / "file", "second")
        file.write(b"first")
    assert stored.contents(tmp_path) == {"file": b"first"}


def test_links_and_streams_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    storage.write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE, text=True) as reader:
        storage.write_whole(tmp_path / "pipe", "through")
        assert reader.communicate()[0] == "through"
    storage.write_whole(Path("/dev/null"), "away")


@pytest.mark.parametrize("name", ["missing/file", "", "folder"])
def test_files_that_cannot_be(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match="cannot write"):
        storage.check_writable(tmp_path / name)
    with pytest.raises(StorageError, match="cannot write"):
        storage.write_whole(tmp_path / name, "new")
    assert list(tmp_path.rglob("*")) == [tmp_path / "folder"]


def test_a_folder_is_locked_until_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As found: a second process emptied the finished folder, while the first deleted the older one."""
    target, rename = tmp_path / "page", Path.replace
    tried = []

    def watched(path: Path, to: Path) -> Path:
        with pytest.raises(StorageError, match=BUSY), storage.atomic_folder(target):
            pass
        tried.append(path.name)
        return rename(path, to)

    for text in ("first", "second"):
        with storage.atomic_folder(target) as folder:
            (folder / "file").write_text(text)
            monkeypatch.setattr(Path, "replace", watched)
        monkeypatch.undo()
    assert tried == [".page.part", "page", ".page.part"]
    assert stored.contents(tmp_path) == {"page/file": b"second"}


def test_a_folder_that_gets_its_name_while_another_process_begins(tmp_path, monkeypatch):
    """The part folder is gone before its lock is made."""
    take = storage.FileLock.take

    def renamed(path: Path) -> storage.FileLock | None:
        path.parent.rename(tmp_path / "done")
        return take(path)

    monkeypatch.setattr(storage.FileLock, "take", renamed)
    with pytest.raises(StorageError, match=BUSY), storage.atomic_folder(tmp_path / "done"):
        raise AssertionError


@pytest.mark.parametrize("at", range(3))
def test_an_error_at_the_end_leaves_the_older_folder(at, tmp_path, monkeypatch) -> None:
    target, rename = tmp_path / "page", Path.replace
    with storage.atomic_folder(target) as folder:
        (folder / "file").write_text("first")
    names = ["", "page", ".page.part"]

    def fails(path: Path, to: Path) -> Path:
        return rename(path, to) if path.name != names[at] else no_space()

    monkeypatch.setattr(Path, "replace", fails)
    if not at:
        monkeypatch.setattr(storage, "sync_files", no_space)
    with pytest.raises(StorageError, match="cannot write"), storage.atomic_folder(target) as folder:
        (folder / "file").write_text("second")
    assert stored.contents(tmp_path) == {"page/file": b"first"}
    assert list(tmp_path.iterdir()) == [target]


def test_other_manifests_mark_no_folder(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"name": "format", "format": "tilebase game"}')
    assert main(["count", "2x2", "8", "-q", "--record", "manifest.json"]) == 0


@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet", ".txt"])
def test_output_that_fails_leaves_the_older_one(suffix, folder, monkeypatch, refused) -> None:
    output = folder / f"counts{suffix}"
    output.write_text("mine")
    monkeypatch.setattr(storage.os, "fsync", no_space)
    refused(["count", "2x2", "8", "-q", "--by", "sum", "--record", str(output)], 1, "No space left on device")
    assert output.read_text() == "mine"
    assert not list(folder.glob(".*"))


def test_lock_of_a_file_that_is_deleted_meanwhile(tmp_path: Path) -> None:
    lock = storage.FileLock.take(tmp_path / "lock")
    assert lock is not None
    assert storage.is_locked(tmp_path / "lock")
    assert storage.FileLock.take(tmp_path / "lock") is None
    lock.release(delete=True)
    assert not storage.is_locked(tmp_path / "lock")
    again = storage.FileLock.take(tmp_path / "lock")
    assert again is not None
    again.release()


def test_flush_comes_before_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files first, then their folders, then the manifest and its folder."""
    flushed: list[Path] = []
    real = system.flush
    monkeypatch.setattr(system, "flush", lambda path: (flushed.append(path), real(path)))
    renamed: list[int] = []
    replace = Path.replace

    def rename(self: Path, target: Path) -> Path:
        if target.name == "manifest.json":
            renamed.append(len(flushed))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", rename)
    solve(SMALL, table=tmp_path, threads=1)
    (before,) = renamed
    for kind in ("afterstates", "values/win"):
        paths = [tmp_path / kind / name for name in ("000.seg", "layers.idx")]
        last = max(flushed[:before].index(path) for path in paths)
        for folder in (paths[0].parent, paths[0].parent.parent):
            assert folder in flushed[last + 1 : before]
    assert flushed[before] == tmp_path


def test_flush_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage.write_whole(tmp_path / "file", "new")
    monkeypatch.setattr(storage.os, "fsync", no_space)
    with pytest.raises(StorageError, match="cannot flush"):
        storage.sync_files([tmp_path / "file"])


# -- what belongs to somebody else ----------------------------------------------------------------


@pytest.fixture
def table(solved: Callable[..., Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(solved(SMALL), tmp_path / "table"))


def made(path: Path, game: Game, objective: str = "win", **options: str) -> Path:
    solve(game, objective, table=path, threads=1, **options)
    return path


LAYERS, JOURNAL = ("values/win/layers.idx", "values/win/000.seg"), "values/win/layers.jsonl"


@pytest.mark.parametrize(
    ("names", "objective", "space", "sentence"),
    [
        (LAYERS, "win", "reachable", "holds layers of another game or objective"),
        (LAYERS, "moves", "reachable", "holds layers of another game or objective"),
        ((*LAYERS, JOURNAL), "moves", "reachable", "another game or objective: delete it"),
        ((*LAYERS, JOURNAL), "moves", "all", "another game or objective: delete it"),
        (("counts.jsonl",), "win", "reachable", "belongs to another game or objective: delete it"),
        ((JOURNAL,), "win", "reachable", "belongs to another game or objective: delete it"),
        (("manifest.json",), "win", "reachable", "belongs to another table"),
    ],
)
def test_files_of_another_table_are_not_signed(names, objective, space, sentence, tmp_path, refused) -> None:
    """Of another chance of a 4, or of another objective: found as solving again made them true."""
    table = made(tmp_path / "table", SMALL, space=space)
    other = made(tmp_path / "other", OTHER if objective == "win" else SMALL, objective, space=space)
    whole = stored.contents(table)
    for name in names:
        shutil.copy(other / name.replace("win", objective), table / name)
    before = stored.contents(table)
    command = ["solve", "2x2", "32", "-q", "-o", str(table), "--space", space]
    refused(command, 1, sentence)
    assert stored.contents(table) == before
    assert verify_table(table, sample=0).wrong
    for name in names:  # as the sentence says
        (table / name).unlink()
    assert main(command) == 0
    assert stored.contents(table) == whole


@pytest.mark.parametrize("whole", [True, False])
def test_records_of_another_game_are_made_again(whole: bool, table: Path, tmp_path: Path) -> None:
    """Behind a header of this game, or among records of this game."""
    other = made(tmp_path / "other", OTHER)
    before = stored.contents(table)
    one, two = (path / "values/win" for path in (table, other))
    if whole:
        begin = len(stored.contents_of(one).header)
        data = (two / places.INDEX).read_bytes()[len(stored.contents_of(two).header) :]
        (one / places.INDEX).write_bytes((one / places.INDEX).read_bytes()[:begin] + data)
    else:
        stored.record_of(one, 20).write(stored.record_of(two, 20).read())
    wrong = verify_table(table, sample=0).wrong
    assert wrong == (f"{one} is damaged, or not what the manifest names: make it again",)
    solve(SMALL, table=table)
    assert stored.contents(table) == before


@pytest.mark.parametrize(
    ("name", "member", "error"),
    [
        ("counts.jsonl", "of", WrongGameError),
        ("counts.jsonl", "files", CorruptError),
        ("values/win/layers.jsonl", "of", WrongGameError),
        ("values/win/layers.jsonl", "file", CorruptError),
    ],
)
def test_lines_of_a_journal_name_the_question_and_the_files(name, member, error, table) -> None:
    lines = [json.loads(line.partition("\t")[0]) for line in (table / name).read_text().splitlines()]
    less = [{key: line[key] for key in line if key != member} for line in lines]
    (table / name).write_text(stored.journal(*less))
    with pytest.raises(error):
        solve(SMALL, table=table)


WHOLE = ("evaluate table table", "evaluate table --games 9", "thin table --visited 0", "export page table")


@pytest.mark.parametrize("command", WHOLE)
@pytest.mark.parametrize("name", ["layers.idx", "000.seg"])
def test_what_works_on_whole_layers_compares_them(command, name, table, folder, refused) -> None:
    """As a probe does: a thinned table would sign the values of another game."""
    other = made(folder / "other", OTHER)
    shutil.copy(other / "values/win" / name, table / "values/win" / name)
    why = "ends too early" if name == "layers.idx" else "is damaged in chunk 0"
    out = [] if command.startswith("evaluate") else ["-o", "new"]
    refused([*command.split(), *out, "-q"], 1, f"{why}; make it again")
    assert not [*folder.glob("new/*.json"), *folder.glob("new/*.html")]
    assert name != "layers.idx" or not (folder / "new").exists()


def test_what_another_search_decided(tmp_path: Path) -> None:
    won, lost = Game("2x2", 8, start="empty"), Game("2x2", 16, start="empty")
    for game in (won, lost):
        force(game, engine="search", folder=tmp_path / str(game.goal), threads=1)
    shutil.copy(tmp_path / "8" / DECIDED, tmp_path / "16" / DECIDED)
    with pytest.raises(WrongGameError, match="belongs to another game"):
        force(lost, engine="search", folder=tmp_path / "16", threads=1)


def test_several_damaged_layers_below_each_other(table: Path) -> None:
    before = stored.without_positions(table)
    for total in (20, 22, 24):
        (stored.record_of if total == 22 else stored.chunks_of)(table / "values/win", total).flip()
    solve(SMALL, table=table)
    assert stored.without_positions(table) == before
    for total in (20, 22, 24):
        stored.record_of(table / "values/win", total).flip()
    solve(SMALL, table=table)
    assert stored.without_positions(table) == before


def test_a_table_with_one_sound_objective_is_not_counted_again(tmp_path, monkeypatch) -> None:
    """The boards are those of the other objective, and only what is damaged is made again."""
    table = made(tmp_path / "table", SMALL, "win,score")
    before = stored.without_positions(table)

    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("tilebase.questions.solve.ForwardPass", never)
    for label in ("win", "score"):
        for total in (12, 20):
            stored.chunks_of(table / "values" / label, total).flip()
            solve(SMALL, "win,score", table=table)
            assert stored.without_positions(table) == before


def test_journal_lists_each_layer_once(tmp_path: Path) -> None:
    solve(SMALL, "win", folder=tmp_path / "run", down_to=20)
    solve(SMALL, "win,moves", folder=tmp_path / "run")
    lines = (tmp_path / "run/values/win/layers.jsonl").read_text().splitlines()
    sums = [json.loads(line.partition("\t")[0])["sum"] for line in lines]
    assert sums == sorted(set(sums), reverse=True)


def test_thinning_takes_over_only_its_own(table: Path, tmp_path: Path, refused: Refused) -> None:
    thinned = tmp_path / "thinned"
    shutil.copytree(table, thinned)
    (thinned / "thin.json").write_text('{"format": "another question"}')
    before = stored.contents(thinned)
    refused(["thin", str(table), "--visited", "0.1", "-q", "-o", str(thinned)], 1, "another unfinished table")
    assert stored.contents(thinned) == before
    (thinned / "thin.json").unlink()
    refused(["thin", str(table), "--visited", "0.1", "-q", "-o", str(thinned)], 1, "holds files")
    assert stored.contents(thinned).keys() == before.keys() - {"thin.json"}


# -- runs that nobody named ------------------------------------------------------------------------


def left_run() -> LeftRun:
    """A run that was stopped in the folder that ``tilebase solve 2x2 32`` takes."""
    with work_folder(None, "solve", SMALL, "reachable", "win") as work:
        solve(SMALL, folder=work.path, down_to=10)
    return list_runs()[-1]


def test_runs_are_listed_and_removed(folder: Path, printed: Callable[..., str]) -> None:
    assert printed("runs") == "no runs\n"
    left = left_run()
    assert left.path.parent == folder / "runs"
    assert (left.question, left.in_use) == ("2x2, to 32: values of win", False)
    assert left.nbytes == sum(path.stat().st_size for path in left.path.rglob("*") if path.is_file())
    shown = printed("runs")
    assert left.name in shown
    assert "unfinished" in shown
    (found,) = json.loads(printed("runs -f json"))
    assert found == left.as_dict() | {"command": "tilebase runs", "version": __version__}
    assert printed("runs --remove --older-than 1h") == "no runs\n"
    assert "deleted" in printed(f"runs --remove {left.name}")
    assert list((folder / "runs").iterdir()) == []


def test_run_in_use_is_never_removed(folder: Path, refused: Refused) -> None:
    run = left_run()
    with RunFolder(run.path, Query(SMALL, keep="afterstates")):
        (used,) = list_runs()
        assert used.in_use
        query = (run.path / places.QUERY).read_bytes()
        (run.path / places.QUERY).write_bytes(b"of a version to come")
        assert list_runs()[0].question == "of another version of tilebase"
        (run.path / places.QUERY).write_bytes(query)
        assert remove_runs() == ()
        refused(["runs", "--remove", run.name], 1, "in use: stop its process first")
        with pytest.raises(StorageError, match="another process is writing"):
            delete_run(run.path)
    assert stored.contents(run.path)
    (removed,) = remove_runs([run.name])
    assert removed.name == run.name
    refused(["runs", run.name], 1, "there is no run")
    with pytest.raises(MissingLayerError):
        remove_runs(["none"])


def test_what_is_no_run_is_neither_listed_nor_deleted(folder: Path) -> None:
    (folder / "runs/mine").mkdir(parents=True)
    (folder / "runs/mine/letter.txt").write_text("mine")
    (folder / "runs/.old.lock").write_text("")
    left_run()
    assert len(remove_runs()) == 1
    assert stored.contents(folder / "runs") == {"mine/letter.txt": b"mine"}


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [("}", "", "damaged"), ('"version": 3', '"version": 1', "of another version of tilebase")],
)
def test_run_that_cannot_be_read_is_passed_over(old: str, new: str, question: str, folder: Path) -> None:
    run = left_run()
    text = (run.path / "run.json").read_text()
    assert old in text
    (run.path / "run.json").write_text(text.replace(old, new))
    before = stored.contents(run.path)
    assert main(["solve", "2x2", "32", "-q"]) == 0
    (left,) = list_runs()
    assert (left.name, left.question) == (run.name, question)
    assert stored.contents(run.path) == before
    assert len(remove_runs()) == 1
    assert not run.path.exists()


def test_second_process_takes_another_folder(folder: Path) -> None:
    with work_folder(None, "count", SMALL) as first, work_folder(None, "count", SMALL) as second:
        assert second.path.name == f"{first.path.name}-2"
        second.path.mkdir()  # as if it were killed later
    with work_folder(None, "count", SMALL) as third:
        assert third.path == second.path


def test_a_folder_is_deleted_only_while_it_is_held(folder: Path) -> None:
    """After that it may be another process's, which has begun the same query in it."""
    with work_folder(None, "count", SMALL) as work:
        work.path.mkdir()
    with pytest.raises(AssertionError, match="no longer locked"):
        work.finish()
    assert work.path.exists()


def test_folder_of_a_user_is_never_deleted(folder: Path) -> None:
    assert main(["count", "2x2", "8", "-q", "-o", "mine"]) == 0
    assert (folder / "mine/run.json").exists()
    table = made(folder / "table", SMALL)
    with pytest.raises(WrongGameError, match="is a table"):
        delete_run(table)
    assert open_table(table).probe("2,4/0,8")


def test_three_processes_at_once(folder: Path) -> None:
    """All answer, none complains, and nothing is left."""
    script = "import sys; from tilebase.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "solve", "2x3", "16", "-q", "--threads", "1", "-f", "json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    processes = [subprocess.Popen(command, text=True, **pipes) for _ in range(3)]  # type: ignore[call-overload]
    printed = [process.communicate() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], printed
    assert {err for _, err in printed} == {""}
    assert len({out for out, _ in printed}) == 1
    assert list((folder / "runs").iterdir()) == []


# -- layers and manifests --------------------------------------------------------------------------


def test_a_layer_of_another_size_gets_a_new_place(table: Path) -> None:
    """The index that a manifest names is then written again, in order."""
    folder = table / "values/win"
    before = stored.contents(table)
    with stored.layers_of(folder) as layers:
        there, other = stored.chunks(layers.layer(20)), stored.chunks(layers.layer(8))
    assert stored.put(folder, 20, other) != stored.put(folder, 20, there)
    with stored.layers_of(folder) as layers:
        assert max(layers.records, key=layers._places.__getitem__) == 20
    with LayerStore(folder, stored.contents_of(folder)) as store:
        pages = store.pages()
    with stored.layers_of(folder) as layers:
        totals = sorted(layers.records, key=layers._places.__getitem__)
        assert totals == sorted(totals, reverse=True)
        assert [(page.least, page.most) for page in pages.pages] == [(4, 36)]
    stored.sign_table(table)
    assert verify_table(table).wrong == ()
    (table / "values/win/layers.idx").unlink()
    solve(SMALL, table=table)
    assert stored.contents(table) == before


def test_layers_are_read_while_the_folder_grows(table: Path, tmp_path: Path) -> None:
    """By who writes it and by another process, also those that were opened before."""
    with stored.layers_of(table / "values/win") as layers:
        pieces = {total: stored.chunks(layers.layer(total)) for total in reversed(layers.sums())}
        keys = {total: layers.layer(total).keys(0).tolist() for total in pieces}
        here, held = layers.contents, []
    with LayerStore(tmp_path / "grows", here) as store, LayerFolder(tmp_path / "grows", here) as reader:
        for total, more in pieces.items():
            store.write(total, more, durable=False)
            held += [(total, one.layer(total)) for one in (store, reader)]
            for s, layer in held:
                assert layer.keys(0).tolist() == keys[s]
        (tmp_path / "grows/000.seg").write_bytes(b"short")
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        for total in pieces:
            with pytest.raises(CorruptError):
                reader.layer(total).check_bytes()
        assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors + 2


# -- the exchange folder of workers --------------------------------------------------------------


def exchanging(folder: Path) -> Exchange:
    """The exchange folder of a run that was killed: pieces, one of them unfinished."""
    exchange = Exchange.within(folder)
    exchange.make()
    for name in ("000010-spawn-000000.part", ".000010-spawn-000001-abc.part"):
        (exchange.path / name).write_bytes(b"piece")
    return exchange


def test_the_exchange_folder_of_a_killed_run_is_deleted(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept").touch()
    with RunFolder(tmp_path / "run", Query(SMALL)) as run:
        exchanging(run.path)
        (run.path / ".link.part").symlink_to(other)
        (run.path / ".states-10.spill").write_bytes(b"half")
    with RunFolder(tmp_path / "run", Query(SMALL)) as run:
        assert not list(run.path.rglob(".*"))
        exchanging(run.path)
    delete_run(run.path)
    assert not run.path.exists()
    assert (other / "kept").exists()


def test_a_folder_that_another_process_still_writes_into_is_deleted(tmp_path, monkeypatch) -> None:
    exchange, late = exchanging(tmp_path), ["first.part", "second.part"]
    real = shutil.rmtree

    def rmtree(path: Path) -> None:
        if not late:
            real(path)
            return
        for file in path.iterdir():
            file.unlink()
        (path / late.pop()).touch()
        path.rmdir()

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    storage.retire_folder(exchange.path)
    assert not list(tmp_path.iterdir())
    assert not late


@pytest.mark.parametrize("read_again", [False, True])
def test_the_system_keeps_no_copies_of_values(tmp_path, monkeypatch, read_again) -> None:
    """Of all bytes but the last ones, unless a pass reads them again."""
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(system, "let_go", lambda _, begin, end: told.append((begin, end)))
    monkeypatch.setattr(store, "BUFFER", 100)
    monkeypatch.setattr(store, "LET_GO", 250)
    monkeypatch.setattr(store, "LATE", 700)
    with LayerStore(tmp_path / "t", Contents(Game("2x2", 16)), read_again=read_again) as layers:
        for total in range(8, 40, 2):
            layers.write(total, [Chunk(0, 1, (bytes(90),))], durable=False)
        end = layers._segment.tell()
    assert bool(told) is not read_again
    if told:
        assert [b - a for a, b in told[2:]] == [700] * (len(told) - 2)
        assert end - told[-1][1] < 350
        assert all(b > a for (a, _), (_, b) in zip(told[1:], told, strict=False))


def test_windows_is_refused_in_a_sentence() -> None:
    code = "import sys; sys.platform = 'win32'; import tilebase"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith(
        "ImportError: tilebase runs on Linux, macOS and other POSIX"
    )
