"""Probes per second of the explorer's server, over HTTP on this machine, in batches and one by one.

    scripts/bench --server

Goals: 2,000 a second in batches of 100, 500 a second one by one over one connection.  The table is that of
3x3 to 512; the positions are random stored ones, and the server has answered each of them once before.
"""

from __future__ import annotations

import http.client
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tilebase import Game, open_table, solve
from tilebase.tables.playing import random_position

BATCH_GOAL, SINGLE_GOAL = 2000.0, 500.0
POSITIONS, BATCH = 2000, 100
REPEATS = 5


class Client:
    """One connection to the server."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)

    def _answer(self) -> bytes:
        answer = self._connection.getresponse()
        data = answer.read()
        assert answer.status == 200, data
        return data

    def probe(self, board: str) -> None:
        self._connection.request("GET", f"/api/probe?table=table&board={board}")
        self._answer()

    def probe_all(self, boards: list[str]) -> None:
        body = json.dumps({"table": "table", "boards": boards})
        self._connection.request("POST", "/api/probe", body, {"Content-Type": "application/json"})
        assert len(json.loads(self._answer())["answers"]) == len(boards)


def rates(client: Client, boards: list[str]) -> tuple[float, float]:
    """Probes per second in batches, and one by one."""
    began = time.perf_counter()
    for at in range(0, len(boards), BATCH):
        client.probe_all(boards[at : at + BATCH])
    between = time.perf_counter()
    for board in boards:
        client.probe(board)
    ended = time.perf_counter()
    return len(boards) / (between - began), len(boards) / (ended - between)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table")
        solve(Game("3x3", 512), table=path)
        rng = random.Random(1)
        with open_table(path) as table:
            boards = [random_position(table, rng).text for _ in range(POSITIONS)]
        command = [sys.executable, "-P", "-m", "tilebase", "serve", str(path), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                client = Client(int(server.stdout.readline().split(":")[2].split("/")[0]))
                rates(client, boards)
                found = [rates(client, boards) for _ in range(REPEATS)]
            finally:
                server.terminate()
    batches, single = (max(one[k] for one in found) for k in (0, 1))
    for name, rate, goal in (
        (f"in batches of {BATCH}", batches, BATCH_GOAL),
        ("one by one", single, SINGLE_GOAL),
    ):
        verdict = "reached" if rate >= goal else "MISSED"
        print(f"{'server, ' + name:28} {rate:8,.0f} probes/s (goal {goal:,.0f}: {verdict})")
    return 0 if batches >= BATCH_GOAL and single >= SINGLE_GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
