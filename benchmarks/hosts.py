"""Two worker hosts and one process: seconds, bytes moved and memory of the same command.

    sudo scripts/bench --hosts                              count 4x4 32 and solve 4x4 32, about half an hour
    sudo scripts/bench --hosts solve 3x4 64                 another command

A host is a network namespace with a name and a worker of one thread on a core of its own: it shares nothing
with the other but the network and the folder.  The scheduler and the command run in a third one.  Then
one process does the same with two threads.  Every file of layers must be equal.  It needs root, iproute2 and
util-linux.  Goal: the hosts take at most 1.5 times the wall time of the process.
"""

from __future__ import annotations

import filecmp
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

GOAL = 1.5
BIN = Path(sys.executable).parent
HUB, HOSTS = "tilebase-hub", ("tilebase-1", "tilebase-2")
SCHEDULER = "tcp://10.204.8.1:8786"
COMMANDS = ("count 4x4 32", "solve 4x4 32")
ENVIRONMENT = os.environ | {
    "PYTHONSAFEPATH": "1",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "60s",
    "DASK_DISTRIBUTED__ADMIN__LOW_LEVEL_LOG_LENGTH": "100",
}


def system(*words: str) -> None:
    try:
        subprocess.run(words, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"scripts/bench --hosts needs root and iproute2: {error}")


@contextmanager
def network() -> Iterator[None]:
    """The three namespaces, joined by a bridge in that of the scheduler."""
    with ExitStack() as stack:
        for name in (HUB, *HOSTS):
            system("ip", "netns", "add", name)
            stack.callback(system, "ip", "netns", "del", name)
        inside = ("ip", "-n", HUB)
        system(*inside, "link", "add", "bridge", "type", "bridge")
        system(*inside, "addr", "add", "10.204.8.1/24", "dev", "bridge")
        for device in ("lo", "bridge"):
            system(*inside, "link", "set", device, "up")
        for number, name in enumerate(HOSTS, 1):
            system(
                *inside, "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", name
            )
            system(*inside, "link", "set", f"port{number}", "master", "bridge", "up")
            system("ip", "-n", name, "addr", "add", f"10.204.8.{number + 1}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                system("ip", "-n", name, "link", "set", device, "up")
        yield


@dataclass
class Spent:
    """What processes have taken."""

    wall: float
    cpu: float
    memory: int  # peak of the largest process
    read: int = 0
    written: int = 0
    network: int = 0

    def __str__(self) -> str:
        return (
            f"{self.wall:.0f} s, {self.cpu:.0f} CPU s, {self.memory / 1e9:.2f} GB, "
            f"{self.read / 1e9:.2f} GB read, {self.written / 1e9:.2f} GB written, "
            f"{self.network / 1e9:.3f} GB by network"
        )


def fields(path: str) -> dict[str, int]:
    """The numbers of a file of /proc whose lines are names and values."""
    lines = (line.replace(":", " ").split() for line in Path(path).read_text().splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}


def of_process(pid: int) -> tuple[float, int, int, int]:
    """CPU seconds, peak memory, bytes read and written of a process that runs."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    io = fields(f"/proc/{pid}/io")
    return (
        (int(stat[11]) + int(stat[12])) / 100,
        fields(f"/proc/{pid}/status")["VmHWM"] << 10,
        io["rchar"],
        io["wchar"],
    )


def command(words: Sequence[str], folder: Path, *more: str, inside: tuple[str, ...] = ()) -> Spent:
    """Run a command, and measure it."""
    keep = ("--keep", "afterstates") if words[0] == "count" else ()
    asked = (*inside, str(BIN / "tilebase"), *words, *keep, "-o", str(folder), "--quiet", *more)
    print("#", " ".join((BIN.name, *asked[len(inside) :])[1:]), flush=True)
    since = time.perf_counter()
    process = subprocess.Popen(asked, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    io = {"rchar": 0, "wchar": 0}
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        try:
            io = fields(f"/proc/{process.pid}/io")
        except OSError:  # it has just ended
            continue
        time.sleep(0.2)
    if status:
        sys.exit(f"the command ended with the status {os.waitstatus_to_exitcode(status)}")
    wall = time.perf_counter() - since
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10, io["rchar"], io["wchar"])


def pids_of(name: str) -> list[int]:
    found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=True)
    return [int(pid) for pid in found.stdout.split()]


def on_hosts(words: Sequence[str], folder: Path) -> tuple[Spent, list[Spent]]:
    """Run a command with a worker on each host: what it takes itself, and what the workers take."""
    inside = {name: ("ip", "netns", "exec", name) for name in (HUB, *HOSTS)}
    with network(), ExitStack() as stack:
        scheduler = [*inside[HUB], str(BIN / "dask"), "scheduler", "--port", "8786", "--no-dashboard"]
        worker = f"{BIN / 'dask'} worker {SCHEDULER} --no-nanny --nthreads 1 --memory-limit 0 --no-dashboard"
        started = [scheduler] + [
            [
                *inside[name],
                "unshare",
                "--uts",
                "sh",
                "-c",
                f"hostname {name}; exec taskset -c {core} {worker}",
            ]
            for core, name in enumerate(HOSTS)
        ]
        for one in started:
            process = subprocess.Popen(one, env=ENVIRONMENT, stderr=subprocess.DEVNULL)
            stack.callback(process.wait)
            stack.callback(process.terminate)
        while any(len(pids_of(name)) < 1 for name in inside):
            time.sleep(0.1)
        time.sleep(5)  # the workers register
        asked = command(words, folder, "--cluster", SCHEDULER, inside=inside[HUB])
        workers = []
        for name in HOSTS:
            (pid,) = pids_of(name)
            counters = [f"/sys/class/net/eth0/statistics/{way}_bytes" for way in ("rx", "tx")]
            moved = subprocess.run(
                [*inside[name], "cat", *counters], capture_output=True, text=True, check=True
            )
            workers.append(Spent(asked.wall, *of_process(pid), sum(map(int, moved.stdout.split()))))
    return asked, workers


def compare(one: Path, other: Path) -> int:
    """The bytes of the layers of two folders, which are equal."""
    total = 0
    for path in sorted(one.rglob("*.seg")):
        assert filecmp.cmp(path, other / path.relative_to(one), shallow=False), path
        total += path.stat().st_size
    assert total
    return total


def main(words: Sequence[str]) -> int:
    reached = True
    for text in [" ".join(words)] if words else COMMANDS:
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
            asked, workers = on_hosts(text.split(), Path(folder) / "hosts")
            alone = command(text.split(), Path(folder) / "alone", "--threads", "2")
            print(f"one process   {alone}\nthe command   {asked}")
            for name, worker in zip(HOSTS, workers, strict=True):
                print(f"{name}    {worker}")
            ratio, size = asked.wall / alone.wall, compare(Path(folder) / "alone", Path(folder) / "hosts")
            reached &= ratio <= GOAL
            print(
                f"{size / 1e9:.2f} GB of layers are equal; "
                f"{ratio:.2f} times the wall time of one process (goal {GOAL}): "
                f"{'reached' if ratio <= GOAL else 'MISSED'}",
                flush=True,
            )
    return 0 if reached else 1
