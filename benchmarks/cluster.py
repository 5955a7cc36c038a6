"""What handing over a piece takes, and whether the scheduler's memory stays flat over many of them.

    scripts/bench --cluster            10,000 empty pieces for two workers, and layers of 4x4 to 32
    scripts/bench --cluster --all      100,000 empty pieces

Goals: 5 ms for a piece, so that 100,000 pieces take five minutes where a core is free for the scheduler, and
20 MiB by which the scheduler grows after the first thousand.  Then 4x4 to 32 is counted up to sum 74: the
ratio of the CPU seconds with two local workers to those of two threads gives `shared_count` of
`costs.rates`.  The start of the workers is not counted.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tilebase import Game, count
from tilebase.cluster.dask import DaskExecutor
from tilebase.cluster.pieces import IdleJob, Piece
from tilebase.cluster.runs import attached, executor_of

PIECE_GOAL, MEMORY_GOAL = 5e-3, 20 << 20
PIECES, ALL_PIECES, FIRST = 10_000, 100_000, 1000
UP_TO = 74


def scheduler_bytes(executor: DaskExecutor) -> int:
    """The resident memory of the scheduler."""
    pages: str = executor._client.run_on_scheduler(lambda: Path("/proc/self/statm").read_text())
    return int(pages.split()[1]) * resource.getpagesize()


def idle_pieces(executor: DaskExecutor, folder: Path, pieces: int) -> bool:
    """Hand over empty pieces."""
    before, since = 0, time.perf_counter()
    with attached(executor, folder):
        numbered = (Piece("idle", 0, number, number + 1, (), "") for number in range(pieces))
        for number, result in enumerate(executor.map(IdleJob(), numbered)):
            assert result == number
            if number == FIRST:
                before = scheduler_bytes(executor)
        grown = scheduler_bytes(executor) - before
    each = (time.perf_counter() - since) / pieces
    reached = each <= PIECE_GOAL and grown <= MEMORY_GOAL
    verdict = "reached" if reached else "MISSED"
    print(
        f"{pieces:,} empty pieces: {each * 1e3:.2f} ms each (goal {PIECE_GOAL * 1e3:g} ms), "
        f"the scheduler grew by {grown / 2**20:.1f} MiB (goal {MEMORY_GOAL >> 20} MiB): {verdict}"
    )
    return reached


def cpu_seconds(work: Callable[[], None], pids: list[int]) -> float:
    """CPU seconds of this process and of others while it works."""

    def spent() -> float:
        ticks = 0
        for pid in pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return time.process_time() + ticks / 100

    since = spent()
    work()
    return spent() - since


def counted(executor: DaskExecutor) -> None:
    """Count with two threads and with two workers, one after the other."""
    game = Game("4x4", 32)
    pids = list(executor._client.run(os.getpid).values())

    def alone() -> None:
        count(game, threads=2, up_to=UP_TO, space="reachable")

    def shared() -> None:
        count(game, threads=2, up_to=UP_TO, cluster=executor)

    shared()  # workers import and compile
    times = [(cpu_seconds(alone, []), cpu_seconds(shared, pids)) for _ in range(2)]
    one, two = (min(column) for column in zip(*times, strict=True))
    print(
        f"count 4x4 32 up to {UP_TO}: {one:.1f} CPU s with threads, {two:.1f} with workers, "
        f"{two / one:.2f} times"
    )


def main(*, every: bool) -> int:
    executor = executor_of("local:2")
    assert isinstance(executor, DaskExecutor)
    try:
        with tempfile.TemporaryDirectory() as folder:
            reached = idle_pieces(executor, Path(folder), ALL_PIECES if every else PIECES)
        counted(executor)
    finally:
        executor.close()
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main(every="--all" in sys.argv))
