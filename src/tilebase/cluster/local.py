"""Worker processes on this machine: a program that starts a scheduler and workers, and ends with its parent.

    python -m tilebase.cluster.local WORKERS SILENT_SECONDS

It prints the address of the scheduler, and runs until its standard input is closed: so it ends with the
process that started it, however that ends.  Workers that die are started again.  A worker that is silent for
SILENT_SECONDS is taken for dead.
"""

from __future__ import annotations

import logging
import select
import signal
import subprocess
import sys
from collections.abc import Callable

from tilebase.errors import ClusterError

SILENT_SECONDS = 60.0
"""A local worker that says nothing for this time is taken for dead; kernels do not keep it from speaking."""
SETTINGS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.low-level-log-length": 100,  # logs of messages, each of which names many pieces
    "distributed.admin.tick.interval": "1s",  # how often each process looks at its own event loop
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.scheduler.active-memory-manager.start": False,  # results are small, and none is copied
    "distributed.deploy.lost-worker-timeout": "60s",  # a busy machine starts a worker in more than 15 s
}
"""Settings of Dask with which idle processes take less time, and the scheduler's memory stays flat."""
WATCH_SECONDS = 5.0
"""How often workers are looked for that Dask has given up: it starts no others for them."""


def start(workers: int, silent: float = SILENT_SECONDS) -> tuple[str, Callable[[], None]]:
    """Start workers; return the address of their scheduler and what ends them.  Raises `ClusterError`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tilebase.cluster.local", str(workers), str(silent)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,  # Ctrl-C is for the parent, which ends the workers in order
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    address = process.stdout.readline().strip()
    if not address:
        said = process.stderr.read().strip().splitlines()
        raise ClusterError(
            f"worker processes cannot be started here: {said[-1] if said else 'no reason given'}"
        )
    streams = process.stdin, process.stdout, process.stderr

    def end() -> None:
        for stream in streams:
            stream.close()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    return address, end


def main(workers: int, silent: float) -> None:
    """Start the workers, print the address, and wait for the end of standard input."""
    import dask.config
    from distributed import LocalCluster

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    dask.config.set(SETTINGS)
    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0,
        silence_logs=logging.CRITICAL,
        scheduler_kwargs={"worker_ttl": silent, "allowed_failures": 1000, "idle_timeout": None},
    ) as cluster:  # fmt: skip
        sys.stdout.write(f"{cluster.scheduler_address}\n")
        sys.stdout.flush()
        while not select.select([sys.stdin], [], [], WATCH_SECONDS)[0]:
            if len(cluster.workers) < workers:
                cluster.scale(workers)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
