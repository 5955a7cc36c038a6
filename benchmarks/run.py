"""Whole commands against their goals: wall and CPU seconds, peak memory, states per second and core.

    scripts/bench                 the quick ones
    scripts/bench --all           4x4 to 64 too (half an hour, 16 GiB)
    scripts/bench --only 3x3      those whose name contains a word
    scripts/bench --kernels       each compiled kernel instead (benchmarks/kernels.py); --only as above
    scripts/bench --server        the explorer's server instead (benchmarks/server.py)
    scripts/bench --page          the explorer's page in Chromium instead (benchmarks/page.py)
    scripts/bench --cluster       shared layers instead (benchmarks/cluster.py); --all for 100,000 pieces
    scripts/bench --hosts         two worker hosts as network namespaces (benchmarks/hosts.py); needs root
    scripts/bench --diagrams      sizes of decision diagrams instead (benchmarks/diagrams.py); --only as above
    scripts/bench --arrays        boards and values as arrays instead (benchmarks/many.py)
    scripts/bench --environments  steps a second of environments instead (benchmarks/environments.py)
    scripts/bench --cuda          a pass over all boards on a CUDA device instead (benchmarks/device.py)
    scripts/bench --codecs FOLDER --sum S   ways to store a layer instead (benchmarks/layer_codecs.py)
    scripts/bench --costs         estimates beside what is measured (benchmarks/costs.py); --only as above
    scripts/bench --replay        plans of recorded commands beside what they took (benchmarks/replay.py)

Each command runs once to compile and once to be measured.  Machines are shared and noisy:
compare ratios within one run, and quote the counts of work, which do not vary.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module

TILEBASE = [sys.executable, "-P", "-m", "tilebase"]


@dataclass(frozen=True)
class Benchmark:
    name: str
    command: list[str]
    goal_seconds: float  # wall, warm
    goal_bytes: float = float("inf")  # peak resident memory
    slow: bool = False


def count(*arguments: str) -> list[str]:
    return [*TILEBASE, "count", *arguments, "--quiet"]


def solve(*arguments: str) -> list[str]:
    return [*TILEBASE, "solve", *arguments, "--quiet"]


def prove(shape: str, goal: str, limits: str, *arguments: str) -> list[str]:
    options = ["--pattern", "lemma1", "--start", "empty", "--objective", "lower:uint32", "--quiet"]
    return [*TILEBASE, "solve", shape, goal, "--limits", limits, *options, *arguments]


def diagrams(*arguments: str) -> list[str]:
    return [*TILEBASE, "force", "diagrams", *arguments, "--spawns", "2", "--quiet"]


def reach(*arguments: str) -> list[str]:
    return [*TILEBASE, "reach", *arguments, "--quiet"]


def force(*arguments: str) -> list[str]:
    return [*TILEBASE, "force", *arguments, "--start", "empty", "--quiet"]


BENCHMARKS = [
    Benchmark("import tilebase", [sys.executable, "-P", "-c", "import tilebase"], 0.2),
    Benchmark("tilebase --help", [*TILEBASE, "--help"], 0.2),
    Benchmark("count 3x3 1024", count("3x3", "1024"), 3),
    Benchmark("count 3x3", count("3x3"), 6),
    Benchmark("count 4x4 32", count("4x4", "32", "--memory", "4GiB"), 30, 4 * 2**30),
    Benchmark(
        "count 4x4 32 --space reachable",
        count("4x4", "32", "--space", "reachable", "--memory", "4GiB"),
        60,
        4 * 2**30,
    ),
    Benchmark("solve 3x3 1024", solve("3x3", "1024"), 5),
    Benchmark("solve 3x3 score", solve("3x3", "--objective", "score"), 12),
    Benchmark("solve 4x4 16 score", solve("4x4", "16", "--objective", "score"), 7.5),
    Benchmark("solve 4x4 32", solve("4x4", "32", "--memory", "8GiB"), 300, 8 * 2**30),
    # 1.65e9 boards; the goal of the line below it at the same rate.
    Benchmark(
        "solve 3x4 512 --objective lower", prove("3x4", "512", "256,128,16,16/64,64,32,16/16,16,16,16"), 98
    ),
    Benchmark(
        "solve 3x4 512 wide --objective lower",
        prove("3x4", "512", "256,128,64,64/64,64,64,64/64,64,64,64"),
        1200,
        slow=True,
    ),
    # 955,510,034 afterstates of 4.4e10 boards; found one by one they took 364 CPU seconds, not 244.
    Benchmark(
        "solve 4x4 256 reachable, in bits",
        prove("4x4", "256", "128,64,16,8/32,32,16,8/8,8,8,8/8,8,8,8", "--space", "reachable"),
        180,
        8 * 2**30,
        slow=True,
    ),
    # 8.5 million afterstates; one thread, since several open different ones in each run.
    Benchmark("force 3x4 64", force("3x4", "64", "--engine", "search", "--threads", "1"), 16),
    # 1.38e10 and 2.82e11 boards, one bit per board; all published lines to 12 cells are to take ten minutes.
    Benchmark("force 2x6 128", force("2x6", "128", "--engine", "dense"), 30),
    Benchmark("force 2x2x3 512", force("2x2x3", "512", "--engine", "dense"), 330, slow=True),
    # Decision diagrams: 4.3e9, 1.5e11 and 3.9e8 boards; the thesis takes 8, 1800 and 176 s on 16 threads.
    Benchmark("force diagrams 4x4 16", diagrams("4x4", "16"), 8),
    Benchmark("force diagrams 4x4 32", diagrams("4x4", "32"), 900),
    Benchmark("force diagrams 3x3 512", diagrams("3x3", "512"), 60, slow=True),
    # Searches back: 1,715 positions on 12x12, 456,220 on 3x12.
    Benchmark("reach checkerboard 12x12", reach("checkerboard", "12x12", "--search"), 10),
    Benchmark("reach checkerboard 3x12", reach("checkerboard", "3x12", "--search"), 60, slow=True),
    # All sequences of moves, counted by positions.
    Benchmark(
        "reach checkerboard 2x20 --count", reach("checkerboard", "2x20", "--deterministic", "--count"), 5
    ),
    Benchmark("count 4x4 64", count("4x4", "64", "--memory", "16GiB"), 400, 16 * 2**30, slow=True),
]


INSTEAD: dict[str, tuple[str, tuple[str, ...], str]] = {
    "kernels": ("kernels", ("only", "signatures"), "run the kernels, not whole commands"),
    "diagrams": ("diagrams", ("only",), "run sizes of decision diagrams instead"),
    "replay": ("replay", (), "compare plans with recorded runs instead"),
    "costs": ("costs", ("only",), "compare estimates with fourteen commands instead"),
    "server": ("server", (), "ask the explorer's server instead"),
    "environments": ("environments", (), "measure environments instead"),
    "arrays": ("many", (), "measure arrays of boards instead"),
    "page": ("page", (), "load the explorer's page in Chromium instead"),
    "cuda": ("device", (), "pass over all boards on a CUDA device instead"),
    "cluster": ("cluster", ("every",), "share work out to two local workers instead"),
}
"""By option, what runs instead: a module beside this one, what its `main` is given, and the help."""


@dataclass(frozen=True)
class Cost:
    wall: float
    cpu: float
    memory: int
    output: str


def measure(command: list[str]) -> Cost:
    """Run a command to its end; its own resource usage, not that of earlier ones."""
    with tempfile.TemporaryFile("w+") as out:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{text}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, text)


def report(benchmark: Benchmark, cost: Cost, bare: float) -> bool:
    """Print one benchmark; return whether it reached its goals."""
    wall = cost.wall - bare if benchmark.goal_seconds < 1 else cost.wall
    fast, small = wall <= benchmark.goal_seconds, cost.memory <= benchmark.goal_bytes
    note = " more than bare Python" if benchmark.goal_seconds < 1 else ""
    print(
        f"{benchmark.name:18} {wall:8.2f} s{note} (goal {benchmark.goal_seconds:g} s: "
        f"{'reached' if fast else 'MISSED'})  {cost.cpu:8.2f} CPU s  {cost.memory / 2**20:7.0f} MiB"
        + ("" if benchmark.goal_bytes == float("inf") else f" ({'reached' if small else 'MISSED'})")
    )
    counted = r"^(states|afterstates) +([\d,]+)|^([\d,]+) (boards|afterstates)"
    positions = re.search(counted, cost.output, re.MULTILINE)
    if positions:
        unit, number = positions[1] or positions[4], int((positions[2] or positions[3]).replace(",", ""))
        print(f"{'':18} {number / cost.cpu / 1e6:8.2f} M {unit} a CPU second, {number:,} {unit}")
        print(
            "".join(f"{'':18} {line}\n" for line in cost.output.splitlines() if re.match(r"  \S", line)),
            end="",
        )
    return fast and small


def main() -> int:
    if sys.argv[1:2] == ["--codecs"]:
        import layer_codecs

        return layer_codecs.main(sys.argv[2:])
    if sys.argv[1:2] == ["--hosts"]:
        import hosts

        return hosts.main(sys.argv[2:])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", dest="every", action="store_true", help="run the slow ones too")
    parser.add_argument("--only", default="", help="run those whose name contains this")
    parser.add_argument(
        "--signatures", action="store_true", help="with --kernels: print the lines of tests/signatures.tsv"
    )
    for option, (_, _, text) in INSTEAD.items():
        parser.add_argument(f"--{option}", action="store_true", help=text)
    chosen = parser.parse_args()
    if chosen.signatures and not chosen.kernels:
        parser.error("--signatures are those of kernels: add --kernels")
    for option, (module, names, _) in INSTEAD.items():
        if getattr(chosen, option):
            # Loaded only now, since some of them load Numba.
            status: int = import_module(module).main(**{name: getattr(chosen, name) for name in names})
            return status
    bare = min(measure([sys.executable, "-c", "pass"]).wall for _ in range(5))
    reached = []
    for benchmark in BENCHMARKS:
        if chosen.only in benchmark.name and (chosen.every or not benchmark.slow):
            if not benchmark.slow:
                measure(benchmark.command)
            reached.append(report(benchmark, measure(benchmark.command), bare))
    if chosen.only in "probe":
        import probe  # last, since the memory of this process would count for the commands

        reached.append(probe.main() == 0)
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
