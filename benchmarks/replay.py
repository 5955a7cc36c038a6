"""The plans of recorded commands beside what their runs took: ratios of time, memory and disk.

    scripts/bench --replay      about a CPU minute; nothing is run but a table of 3x3 to 512

The commands are those of src/tilebase/facts/runs.tsv with seconds, memory or disk.  Expected are the fixed
rates, and the start of the program.  Where CPU seconds were recorded, they are compared with the plan for one
thread; else the wall time with the plan for as many threads as the run had.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from statistics import mean, median, quantiles
from typing import Any

from tilebase.cli import main as tilebase
from tilebase.costs.rates import FACTORS, RUNS
from tilebase.runtime.resources import parse_bytes
from tilebase.runtime.rows import read_rows

START = 1.3
"""CPU seconds of `tilebase solve 2x2 16`."""
LEFT_OUT = ("certificates", "searches", "estimates-more")
"""Sections whose columns are of something else than the command, or of another table."""
UNITS = {"s": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0, "day": 86400.0}
MEMORY = ["--memory", "64GiB"]


def amount(text: str) -> float:
    """A time as text in seconds: ``10 min 22 s``, ``about 2.8 minutes (90 seconds to ...)``."""
    text = text.partition("(")[0].partition(";")[0].replace("a second", "1 second")
    found = re.findall(r"([\d.]+) (s|second|min|minute|h|hour|day)s?\b", text)
    return sum(float(number) * UNITS[unit] for number, unit in found)


def plan(command: str, threads: int) -> dict[str, Any] | None:
    """The first row of the plan of a command; None if it has no plan."""
    words = shlex.split(command)[1:]
    if "--memory" not in words and words[0] not in ("thin", "verify"):
        words += MEMORY
    if "--threads" not in words and words[0] not in ("thin", "verify"):
        words += ["--threads", str(threads)]
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        status = tilebase(["plan", *words, "-f", "json"])
    if status:
        return None
    rows = json.loads(printed.getvalue())
    return rows[0] if isinstance(rows, list) else rows


def recorded() -> Iterator[tuple[dict[str, str], float, bool]]:
    """Each recorded run of a command: its row, the seconds that it took, and whether of CPU time."""
    for row in (defaultdict(str, one) for one in read_rows("facts", "runs.tsv")):
        columns = ("wall", "cpu_seconds", "memory", "disk")
        if row["section"] not in LEFT_OUT and row["command"] and any(row[name] for name in columns):
            cpu = [float(number) for number in re.findall(r"[\d.]+", row["cpu_seconds"])]
            yield row, mean(cpu) if cpu else amount(row["wall"]), bool(cpu)


def main() -> int:
    """Print a line for each command, and the median and the 90 % quantile of each ratio."""
    FACTORS.update(dict.fromkeys(RUNS, 1.0))
    ratios: dict[str, list[float]] = {"time": [], "memory": [], "disk": []}
    unplanned = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with redirect_stdout(io.StringIO()):
            tilebase(["solve", "3x3", "512", "-o", "TABLE", "-q"])
        print("| command | time | memory | disk |\n|---|---|---|---|")
        for row, took, is_cpu in recorded():
            command = row["command"].replace("-o TABLE", "-o NEW")
            expected = plan(command, 1 if is_cpu or "one thread" in row["conditions"] else 2)
            if expected is None:
                unplanned.append(row["command"])
                continue
            found = {"time": (amount(expected["time"]) + START) / took if took else None}
            for name in ("memory", "disk"):
                said = re.findall(r"[\d.]+ [kMGT]?B", expected[name])[-1:]  # the peak, if there is one
                real = parse_bytes(row[name].removeprefix("over ") or None)
                found[name] = (parse_bytes(said[0]) or 0) / real if said and real else None
            for name, ratio in found.items():
                ratios[name] += [] if ratio is None else [ratio]
            cells = ["" if ratio is None else f"{ratio:.2f}" for ratio in found.values()]
            print(f"| `{row['command']}` | {' | '.join(cells)} |", flush=True)
    print("\n| expected / real | rows | median | of the factor: median | 90 % |\n|---|---|---|---|---|")
    for name, all_of in ratios.items():
        factors = [max(one, 1 / one) for one in all_of if one]
        high = quantiles(factors, n=10, method="inclusive")[-1]
        print(f"| {name} | {len(all_of)} | {median(all_of):.2f} | {median(factors):.2f} | {high:.2f} |")
    print(f"without a plan: {'; '.join(unplanned)}", file=sys.stderr)
    return 0
