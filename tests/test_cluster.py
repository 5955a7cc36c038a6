"""Layers shared out to workers: the same files as one process writes, whatever happens to the workers."""

from __future__ import annotations

import ipaddress
import itertools
import json
import os
import pickle
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed")

from dask.utils import key_split
from distributed import Security

import tilebase.cluster.dask as over_dask
from clustering import Workers, kill_some, noting, one_hangs, same_with, start_workers
from executing import ThreadExecutor
from stopping import Commands, Hit
from stored import contents
from tilebase import _version
from tilebase.cli import main
from tilebase.cluster import local
from tilebase.cluster.dask import DaskExecutor
from tilebase.cluster.pieces import (
    Exchange,
    Executor,
    IdleJob,
    Piece,
    WorkerFacts,
    perform,
    worker_memory,
)
from tilebase.cluster.runs import attached
from tilebase.errors import ClusterError, CorruptError, ResourceError, StorageError, UsageError
from tilebase.files.parcels import ParcelFile, ParcelWriter
from tilebase.game.formations import formation
from tilebase.game.game import Game
from tilebase.questions.count import count
from tilebase.questions.force import force
from tilebase.questions.prove import prove
from tilebase.questions.solve import solve
from tilebase.runtime.resources import OVERHEAD, Allowance
from tilebase.runtime.storage import written
from tilebase.sparse import shared_backward, shared_forward

SMALL = Game("3x3", 64)


@pytest.fixture(autouse=True)
def _share_small_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers that one process would do alone are shared out, too."""
    monkeypatch.setattr(shared_forward, "SHARED_RANKS", 1 << 15)
    monkeypatch.setattr(shared_backward, "SHARED_KEYS", 1 << 12)
    monkeypatch.setattr(shared_forward, "LEAST_RANKS", 1)
    monkeypatch.setattr(shared_forward, "LEAST_CHUNKS", 1)
    monkeypatch.setattr(shared_forward, "PIECES", 2)


def shared_layers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list to which the sum of each layer that is shared out is added."""
    sums = list[int]()
    for shared, name in ((shared_forward.SharedCount, "make"), (shared_backward.SharedLayers, "parts")):
        monkeypatch.setattr(shared, name, noting(getattr(shared, name), sums))
    return sums


COUNTS = (
    (SMALL, {"keep": "afterstates"}),
    (SMALL, {"keep": "states"}),
    (SMALL, {"keep": "counts"}),
    (SMALL, {"lookahead": True, "keep": "states"}),
    pytest.param(Game("3x3", 64, spawn=0), {"keep": "afterstates"}, marks=pytest.mark.all),
    (Game("3x3", 64, start="2,2,4/8,16,0/0,0,0"), {"keep": "afterstates"}),
    (formation("442").game(8), {"keep": "states"}),
)


@pytest.mark.parametrize(("game", "options"), COUNTS)
def test_threads_count_as_one_process_does(tmp_path, threads, monkeypatch, game, options) -> None:
    layers = shared_layers(monkeypatch)
    monkeypatch.setattr(shared_forward, "SHARED_RANKS", 1 << 10)
    same_with(threads, layers, partial(count, game, **options), tmp_path)


SOLUTIONS = (
    pytest.param(SMALL, "win", "table", {}, marks=pytest.mark.all),
    (SMALL, "lower:uint32,guaranteed,score,win:float16", "table", {}),
    (SMALL, "win", "folder", {}),
    (SMALL, "win,lower", "folder", {"disk": 530_000}),  # so that layers are counted twice
    pytest.param(formation("442").game(16), "win,upper", "table", {}, marks=pytest.mark.all),
    (SMALL, "lower,score", "table", {"above": 0.5}),
    (formation("442").game(8), "win", "folder", {"space": "auto"}),
)


@pytest.mark.parametrize(("game", "objectives", "kept", "options"), SOLUTIONS)
def test_threads_solve_as_one_process_does(tmp_path, threads, monkeypatch, game, objectives, kept, options):
    layers = shared_layers(monkeypatch)
    same_with(threads, layers, partial(solve, game, objectives, **options), tmp_path, kept)
    assert len(layers) > len(set(layers))  # layers of both passes


@pytest.mark.all  # it waits for 8 seconds
def test_results_that_a_worker_does_not_hand_over_are_not_waited_for_for_ever(
    tmp_path: Path, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(over_dask, "PATIENCE_SECONDS", 0.5)
    pids, tried = list(workers.pids.values()), list[int]()
    real = over_dask._Flight._gathered

    def hold(self: Any, futures: list[Any]) -> list[Any]:
        """The workers stop before they hand over the first results, until these are wanted again."""
        for pid in pids if len(tried) < 2 else []:
            os.kill(pid, signal.SIGCONT if tried else signal.SIGSTOP)
        tried.append(len(futures))
        return real(self, futures)

    monkeypatch.setattr(over_dask._Flight, "_gathered", hold)
    try:
        with attached(workers.executor, tmp_path):
            assert list(workers.executor.map(IdleJob(), numbered(8))) == list(range(8))
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    assert len(tried) >= 2


@pytest.mark.parametrize(
    ("game", "objectives"),
    [
        (SMALL, "win,guaranteed"),
        pytest.param(SMALL, "win,lower:uint32,guaranteed", marks=pytest.mark.all),
        pytest.param(Game("3x3", 128), "win", marks=pytest.mark.all),
        pytest.param(formation("442").game(16), "score", marks=pytest.mark.all),
    ],
)
def test_workers_write_the_same_files(tmp_path, workers, solved, game, objectives) -> None:
    solve(game, objectives, table=tmp_path / "together", cluster=workers.executor)
    assert contents(tmp_path / "together") == contents(solved(game, objectives))


def test_the_command_uses_the_scheduler_at_an_address_or_in_a_file(
    tmp_path, address, solved, monkeypatch, capsys
) -> None:
    assert main(["count", "2x3", "32", "--cluster", address]) == 0
    told = capsys.readouterr().err
    assert "the workers will probably do nothing" in told
    assert "the workers did nothing" in told
    layers = shared_layers(monkeypatch)
    assert main(["count", "3x3", "64", "--cluster", address, "-o", str(tmp_path / "work")]) == 0
    told = capsys.readouterr()
    assert "304,257" in told.out
    assert "the workers did nothing" not in told.err
    counted = len(layers)
    assert counted
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"type": "Scheduler", "address": address, "workers": {}}))
    table = tmp_path / "table"
    assert main(["solve", "3x3", "64", "--cluster", str(file), "-o", str(table), "-q"]) == 0
    assert len(layers) > 2 * counted
    assert contents(table) == contents(solved(SMALL))


def test_workers_verify_all_values(solved, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = solved(Game("2x3", 32), "win,lower:uint32")
    before = contents(table)
    command = ["verify", str(table), "--all", "-q"]
    assert main(command) == 0
    alone = capsys.readouterr().out
    assert main([*command, "--cluster", address]) == 0
    assert capsys.readouterr().out == alone
    assert contents(table) == before


# -- what happens to workers ---------------------------------------------------------------------


@pytest.mark.all
def test_pieces_of_killed_workers_are_done_again(tmp_path, workers, solved, monkeypatch) -> None:
    killed = kill_some(monkeypatch, workers, kills=2, share=0.1, seed=21)
    solve(SMALL, table=tmp_path, cluster=workers.executor)
    assert contents(tmp_path) == contents(solved(SMALL))
    assert len(killed) == 2


@pytest.mark.slow
def test_after_a_hundred_kills_the_files_are_the_same(tmp_path, workers, solved, monkeypatch) -> None:
    killed = kill_some(monkeypatch, workers, kills=100, share=0.05, seed=100)
    for number in itertools.count():
        solve(SMALL, table=tmp_path / f"{number}", cluster=workers.executor)
        assert contents(tmp_path / f"{number}") == contents(solved(SMALL))
        if len(killed) >= 100:
            break


@pytest.mark.all  # it waits for half a minute
def test_a_worker_that_hangs_is_taken_for_dead(tmp_path, solved, monkeypatch) -> None:
    with one_hangs(monkeypatch, 60) as workers:
        solve(SMALL, table=tmp_path, cluster=workers.executor)
    assert contents(tmp_path) == contents(solved(SMALL))


@pytest.mark.all  # it waits for 15 seconds
def test_a_run_goes_on_after_its_scheduler_was_lost(tmp_path, solved, monkeypatch) -> None:
    monkeypatch.setattr(over_dask, "PATIENCE_SECONDS", 1.0)
    workers, real = start_workers(), shared_backward.SharedLayers.parts

    def lose(self: Any, total: int, *rest: Any) -> Any:
        if total == 60:
            workers.end()
        return real(self, total, *rest)

    monkeypatch.setattr(shared_backward.SharedLayers, "parts", lose)
    try:
        with pytest.raises(ClusterError, match="the same command continues"):
            solve(SMALL, table=tmp_path, cluster=workers.executor)
    finally:
        workers.executor.close()
    assert not list(tmp_path.rglob(".*"))
    solve(SMALL, table=tmp_path)
    assert contents(tmp_path) == contents(solved(SMALL))


FULL = """
import errno
from tilebase.files.parcels import ParcelWriter
real = ParcelWriter._finish
def full(self):
    raise OSError(errno.ENOSPC, "No space left on device")
ParcelWriter._finish = full
ParcelWriter.real = real
"""


def test_a_full_disk_stops_the_run_and_the_same_command_goes_on(tmp_path, workers, solved) -> None:
    workers.tell(FULL)
    try:
        with pytest.raises(StorageError, match="No space left"):
            solve(SMALL, table=tmp_path, cluster=workers.executor)
    finally:
        workers.tell("from tilebase.files.parcels import ParcelWriter as P; P._finish = P.real")
    assert not [path for path in tmp_path.rglob(".*") if ".cluster" in path.name]
    solve(SMALL, table=tmp_path, cluster=workers.executor)
    assert contents(tmp_path) == contents(solved(SMALL))


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("space", ["all", "cuda", None, "auto"])
def test_workers_share_passes_over_reachable_boards(tmp_path, threads, space) -> None:
    limited, options = SMALL.changed(limits=32), {"space": space, "folder": tmp_path, "cluster": threads}
    if space == "auto":  # a run that was begun
        solve(limited, "lower", space="all", folder=tmp_path)
    with pytest.raises(UsageError, match="choose reachable"):
        solve(limited, "lower", **options)
    if space != "auto":
        with pytest.raises(UsageError, match="choose reachable"):
            prove(limited, **options)
    with pytest.raises(UsageError, match="choose reachable"):
        force(SMALL, engine="dense", cluster=threads)


def refusal(workers: Workers, folder: Path, code: str, undo: str) -> str:
    """What is said if one worker is as `code` makes it; nothing is begun."""
    workers.tell(code)
    try:
        with (
            pytest.raises((ClusterError, ResourceError)) as caught,
            closing(DaskExecutor(workers.executor.address, security=workers.security)) as executor,
            attached(executor, folder),
        ):
            pytest.fail("the worker was not refused")
    finally:
        workers.tell(undo)
    assert not list(folder.iterdir())
    return str(caught.value)


def test_workers_that_cannot_work_for_a_run_are_refused(tmp_path: Path, workers: Workers) -> None:
    version = "import tilebase._version as v; v.version = lambda: {!r}"
    said = refusal(workers, tmp_path, version.format("0.0"), version.format(_version.version()))
    assert "runs tilebase 0.0" in said
    module = "import tilebase.cluster.pieces as w; "
    blind = "w.real = w.Exchange.path; w.Exchange.path = property(lambda self: w.Path('{}'))"
    sees = "import tilebase.cluster.pieces as w; w.Exchange.path = w.real"
    assert "does not see the folder" in refusal(
        workers, tmp_path, module + blind.format(tmp_path / "no"), sees
    )
    small = "w.real = w.available_memory; w.available_memory = lambda: 1 << 28"
    enough = "import tilebase.cluster.pieces as w; w.available_memory = w.real"
    assert "of memory" in refusal(workers, tmp_path, module + small, enough)


def test_a_worker_of_another_version_that_joins_later_does_nothing(tmp_path: Path, workers: Workers) -> None:
    with attached(workers.executor, tmp_path):
        workers.tell("import tilebase._version as v; v.version = lambda: '0.0'")
        try:
            with pytest.raises(ClusterError, match=r"runs tilebase 0\.0"):
                list(workers.executor.map(IdleJob(), numbered(64)))
        finally:
            workers.tell(f"import tilebase._version as v; v.version = lambda: {_version.version()!r}")


def test_a_worker_writes_nothing_for_a_run_that_has_ended(tmp_path: Path) -> None:
    exchange = Exchange.within(tmp_path)
    with pytest.raises(ClusterError, match="does not see the folder"):
        exchange.check()
    exchange.make()
    exchange.check()
    assert WorkerFacts.here(exchange).trouble == ""
    assert [path.name for path in tmp_path.rglob("*")] == [exchange.name]
    piece = Piece("write", 0, 0, 1, (), f"{exchange.name}/file.part")
    perform(pickle.dumps(WriteJob(tmp_path)), piece, exchange)
    (exchange.path / "file.part").replace(tmp_path / "file")
    with pytest.raises(StorageError):  # the run ends while the piece is done
        perform(pickle.dumps(WriteJob(tmp_path, meanwhile=exchange.end)), piece, exchange)
    with pytest.raises(ClusterError):
        perform(pickle.dumps(WriteJob(tmp_path)), piece, exchange)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@dataclass(frozen=True)
class WriteJob:
    """Writes an empty parcel file; something happens before it is complete."""

    folder: Path
    meanwhile: Callable[[], None] = tuple

    def do(self, piece: Piece) -> None:
        with ParcelWriter(self.folder / piece.writes):
            self.meanwhile()


HELD = """
import time
from pathlib import Path
from tilebase.cluster import pieces
from tilebase.files.parcels import ParcelWriter
pieces.real, ParcelWriter.real = pieces.perform, ParcelWriter.__enter__
def held(self):
    Path("{0}/held").touch()
    while not Path("{0}/go").exists():
        time.sleep(0.01)
    return self.real()
def perform(*arguments):
    try:
        return pieces.real(*arguments)
    finally:
        if Path("{0}/held").exists():
            Path("{0}/done").touch()
ParcelWriter.__enter__, pieces.perform = held, perform
"""
FREED = """
from tilebase.cluster import pieces
from tilebase.files.parcels import ParcelWriter
ParcelWriter.__enter__, pieces.perform = ParcelWriter.real, pieces.real
"""


def test_a_piece_that_outlives_a_stopped_run_writes_nothing(tmp_path, workers, solved) -> None:
    """The worker is in the middle of a piece until the run has ended."""
    here = tmp_path / "signs"
    here.mkdir()

    def await_sign(name: str) -> None:
        while not (here / name).exists():
            time.sleep(0.01)

    def stop() -> None:
        await_sign("held")
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    workers.tell(HELD.format(here))
    try:
        threading.Thread(target=stop).start()
        with pytest.raises(KeyboardInterrupt):
            solve(SMALL, table=tmp_path / "table", cluster=workers.executor)
        assert not (here / "done").exists()
        before = contents(tmp_path / "table")
        (here / "go").touch()
        await_sign("done")
    finally:
        workers.tell(FREED)
    assert not list((tmp_path / "table").rglob(".*"))
    assert contents(tmp_path / "table") == before
    solve(SMALL, table=tmp_path / "table")
    assert contents(tmp_path / "table") == contents(solved(SMALL))


def test_workers_of_one_machine_share_its_memory() -> None:
    def facts(host: str, available: int) -> WorkerFacts:
        return WorkerFacts(host, "1", available, "")

    assert worker_memory([facts("a", 8 << 30), facts("a", 8 << 30), facts("b", 6 << 30)]) == 3 << 30
    with pytest.raises(ResourceError, match="start fewer workers there"):
        worker_memory([facts("a", OVERHEAD)] * 2)


@pytest.mark.parametrize(
    ("text", "status", "sentence"),
    [
        ("tcp://127.0.0.1:1", 1, "no scheduler answers at tcp://127.0.0.1:1"),
        ("damaged.json", 1, "is not the file of a scheduler"),
        ("smoke://127.0.0.1:1", 1, "no scheduler answers"),
    ],
)
def test_bad_input_is_refused(folder, refused, monkeypatch, text, status, sentence) -> None:
    monkeypatch.setattr(over_dask, "CONNECT_SECONDS", 0.5)
    (folder / "damaged.json").write_text('{"address": 7}')
    refused(["count", "3x3", "64", "--cluster", text, "-q"], status, sentence)


def test_a_scheduler_without_workers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(over_dask, "CONNECT_SECONDS", 1.0)
    found = local.start(0)
    try:
        with pytest.raises(ClusterError, match="has no workers"):
            DaskExecutor(found.address, security=found.security)
    finally:
        found.end()


# -- who else is on this machine -----------------------------------------------------------------


@pytest.mark.parametrize("shown", ["nothing", "other keys"])
def test_nobody_without_the_keys_reaches_local_workers(workers, monkeypatch, shown) -> None:
    monkeypatch.setattr(over_dask, "CONNECT_SECONDS", 0.5)
    security = Security.temporary() if shown == "other keys" else None
    info = workers.executor._client.scheduler_info()
    nannies = [worker["nanny"] for worker in info["workers"].values()]
    for address in (info["address"], *info["workers"], *nannies):
        sentence = "wants to see a key" if security is None else "no scheduler answers"
        with pytest.raises(ClusterError, match=sentence):
            DaskExecutor(address, security=security)
        if security is None:
            with pytest.raises(ClusterError, match="no scheduler answers"):
                DaskExecutor(address.replace("tls://", "tcp://"))


def test_local_workers_listen_only_to_those_who_have_the_keys(workers: Workers) -> None:
    """No page about the scheduler, at port 8787 or elsewhere; nothing on another interface."""
    info = workers.executor._client.scheduler_info()
    expected = {info["address"], *info["workers"], *(one["nanny"] for one in info["workers"].values())}
    (session,) = {os.getsid(pid) for pid in workers.pids.values()}
    assert session != os.getsid(0)
    assert {f"tls://{host}:{port}" for host, port in listening(session)} == expected
    assert {host for host, _ in listening(session)} == {"127.0.0.1"}


def listening(session: int) -> set[tuple[str, int]]:
    """The addresses at which the processes of a session listen."""
    sockets = set[str]()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getsid(int(process.name)) == session:
                sockets |= {str(one.readlink()) for one in (process / "fd").iterdir()}
    found = set[tuple[str, int]]()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                host, _, port = words[1].partition(":")
                ip = ipaddress.ip_address(bytes.fromhex(host)[::-1]) if table == "tcp" else host
                found.add((str(ip), int(port, 16)))
    return found


def test_the_keys_of_local_workers_are_in_no_command_line_and_no_environment(workers: Workers) -> None:
    (session,) = {os.getsid(pid) for pid in workers.pids.values()}
    middle = workers.security.tls_client_key.splitlines()[1].encode()
    seen = 0
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.getsid(int(process.name)) == session:
                seen += 1
                for name in ("cmdline", "environ"):
                    assert middle not in (process / name).read_bytes()
    assert seen >= 3


def test_too_little_memory_of_workers_is_said_before_anything_is_counted(tmp_path: Path) -> None:
    small = ThreadExecutor(Allowance(memory=OVERHEAD + (4 << 20), threads=2))
    with pytest.raises(ResourceError, match="in each worker process"):
        count(SMALL, folder=tmp_path / "run", cluster=small)
    assert not list((tmp_path / "run").glob("afterstates/*"))
    small.close()


def test_two_runs_in_one_folder_are_refused(tmp_path: Path, threads: ThreadExecutor) -> None:
    class Second(ThreadExecutor):
        def attach(self, folder: Path) -> None:
            with pytest.raises(StorageError, match="another process is writing"):
                count(SMALL, folder=folder, keep="afterstates", cluster=threads)
            tried.append(folder)
            super().attach(folder)

    tried: list[Path] = []
    second = Second(Allowance(memory=4 << 30, threads=1))
    count(SMALL, folder=tmp_path, keep="afterstates", cluster=second)
    second.close()
    assert tried == [tmp_path]


# -- stopping ------------------------------------------------------------------------------------


SHARING = """
from tilebase.sparse import shared_backward, shared_forward
shared_forward.SHARED_RANKS, shared_backward.SHARED_KEYS = 1 << 15, 1 << 12
"""


@pytest.mark.all  # a command with workers of its own takes eight CPU seconds
def test_control_c_stops_workers_and_the_run_goes_on_elsewhere(tmp_path, solved) -> None:
    command = ["solve", "3x3", "64", "-o", "table", "--cluster", "local:1"]
    shared = "tilebase.sparse.shared_backward:SharedLayers:parts"
    with Commands(tmp_path, setup=SHARING) as commands:
        done = commands.run(command, Hit("call", 5, signal.SIGINT, shared))
    assert (done.status, done.out) == (130, "")
    assert "stopped; the same command continues after the last finished layer" in done.err
    assert "Traceback" not in done.err
    assert not list((tmp_path / "table").rglob(".*"))
    solve(SMALL, table=tmp_path / "table")
    assert contents(tmp_path / "table") == contents(solved(SMALL))


def test_control_c_is_not_kept_waiting_by_workers_that_are_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[subprocess.Popen[str]]()

    def stop(process: subprocess.Popen[str], security: Any) -> str:
        begun.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(local, "_greet", stop)
    with pytest.raises(KeyboardInterrupt):
        local.start(2)
    assert [process.returncode for process in begun] == [-signal.SIGTERM]


# -- pieces and parcels --------------------------------------------------------------------------


def numbered(count: int) -> Iterator[Piece]:
    return (Piece("echo", 0, number, number + 1, (), "") for number in range(count))


def test_results_come_in_order_and_few_pieces_are_on_their_way(tmp_path, workers, threads) -> None:
    executors: tuple[Executor, ...] = (workers.executor, threads)
    for executor in executors:
        taken = 0

        def pieces() -> Iterator[Piece]:
            nonlocal taken
            for piece in numbered(300):
                taken += 1
                yield piece

        with attached(executor, tmp_path):
            results = executor.map(IdleJob(), pieces())
            assert next(results) == 0
            assert taken <= 100
            assert list(results) == list(range(1, 300))
    assert not list(tmp_path.iterdir())


@pytest.mark.all  # it counts for 20 seconds
def test_the_scheduler_forgets_the_names_of_pieces(tmp_path, workers, monkeypatch) -> None:
    monkeypatch.setattr(over_dask, "NAMES", 200)
    with attached(workers.executor, tmp_path):
        assert len(list(workers.executor.map(IdleJob(), numbered(1000)))) == 1000
    assert 0 < workers.executor._client.run_on_scheduler(key_split.cache_info).currsize <= 400


def test_a_file_of_a_worker_is_whole_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "file"

    def fail() -> None:
        with written(path) as part:
            part.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not list(tmp_path.iterdir())
    with written(path) as part:
        part.write_text("whole")
    assert [one.read_text() for one in tmp_path.iterdir()] == ["whole"]


def test_parcels_come_back_as_they_were(tmp_path: Path) -> None:
    arrays = [np.arange(n, dtype=np.uint32) for n in (0, 1, 7, 1000)]
    with ParcelWriter(tmp_path / "file") as file:
        for array in arrays:
            file.add(array)
        file.add(b"abc")
    with ParcelFile(tmp_path / "file") as found:
        assert len(found) == 5
        buffer = np.empty(100, dtype=np.uint8)
        for number, array in enumerate(arrays):
            assert found.read(number, buffer).view(np.uint32).tolist() == array.tolist()
        assert found.read(4).tobytes() == b"abc"


def test_every_damaged_parcel_is_found(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with ParcelWriter(path) as file:
        file.add(np.arange(5, dtype=np.uint64))
        file.add(b"abcde")
    data = path.read_bytes()

    def read(content: bytes) -> list[bytes]:
        path.write_bytes(content)
        with ParcelFile(path) as found:
            return [found.read(number).tobytes() for number in range(len(found))]

    whole = read(data)
    for at in range(len(data)):
        damaged = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        padding = at < 8 or 53 <= at < 56  # the header and what fills a parcel up hold nothing
        try:
            assert read(damaged) == whole
            assert padding
        except CorruptError:
            assert not padding
    for size in range(len(data)):
        with pytest.raises(CorruptError):
            read(data[:size])
