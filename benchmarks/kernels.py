"""Each compiled kernel against its goal: CPU time per board, key or rank, on a layer of a real game.

    scripts/bench --kernels                    all kernels
    scripts/bench --kernels --only fold        those whose name contains a word
    scripts/bench --kernels --signatures       the lines of tests/signatures.tsv, computed anew

A kernel runs at least five times and for at least 0.3 s of CPU time; the best and the median are printed.
The signature is the work of one run and the CRC-32 of all that the kernel wrote.  It is the same on every
machine.  Goals are about a third above what a shared machine with AVX-512 needed: they show what became much
slower.  Measure smaller changes as a pair, before and after, in the same minutes.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import kernel_cases as cases
from kernel_cases import LARGE, SMALL, Case, Inputs
from tilebase.dense.steps import Step

LEAST_SECONDS, LEAST_RUNS = 0.3, 5


@dataclass(frozen=True)
class Benchmark:
    """One kernel, what it is to take at most (or to do at least, per second), and how it is called."""

    kernel: str
    goal: float
    unit: str  # "ns per ..." or "... per second"
    input: str  # as `Inputs.text` takes it
    make: Callable[[Inputs], Case]

    def rate(self, seconds: float, work: int) -> float:
        """What one run took or did, in the unit."""
        return seconds / work * 1e9 if self.unit.startswith("ns per") else work / seconds

    def reached(self, rate: float) -> bool:
        """Whether the goal was reached."""
        return rate <= self.goal if self.unit.startswith("ns per") else rate >= self.goal


BENCHMARKS = (
    # kernel, goal, unit, input, how it is called
    Benchmark("forward.spawn_map", 5.5, "ns per board", "sparse", cases.spawn_map),
    Benchmark("forward.push", 7.5, "ns per board", "sparse", cases.push),
    Benchmark("forward.flush", 1.6, "ns per offset", "sparse", cases.flush),
    Benchmark("exchange.pack_offsets", 7, "ns per offset", "sparse", cases.pack_offsets),
    Benchmark("exchange.unpack_offsets", 4, "ns per offset", "sparse", cases.unpack_offsets),
    Benchmark("forward.slide_map", 24, "ns per state", "sparse", cases.slide_map),
    Benchmark("forward.slide_map, one move ahead", 150, "ns per state", "sparse", cases.slide_ahead),
    Benchmark("forward.spawn_map, by line", 6, "ns per board", "lined", cases.by_line(cases.spawn_map)),
    Benchmark("forward.slide_map, by line", 25, "ns per state", "lined", cases.by_line(cases.slide_map)),
    Benchmark("backward.best_after, by line", 24, "ns per spawn", "lined", cases.by_line(cases.best_after)),
    Benchmark("forward.list_layer", 3, "ns per board", "sparse", cases.list_layer),
    Benchmark("backward.link", 20, "ns per spawn", "sparse", cases.link),
    Benchmark("backward.best_after", 21, "ns per spawn", "sparse", cases.best_after),
    Benchmark("backward.best_after, requested", 23, "ns per spawn", "sparse", cases.best_after_far),
    Benchmark("backward.index_keys", 1.2, "ns per key", "sparse", cases.index_keys),
    Benchmark("fold.mean win", 3, "ns per spawn", "sparse", cases.fold("win")),
    Benchmark("fold.mean win:float16", 3.5, "ns per spawn", "sparse", cases.fold("win:float16")),
    Benchmark("fold.mean score", 4, "ns per spawn", "sparse", cases.fold("score")),
    Benchmark("fold.sums lower", 6, "ns per spawn", "sparse", cases.fold("lower")),
    Benchmark("fold.sums upper:uint32", 7.5, "ns per spawn", "sparse", cases.fold("upper:uint32")),
    Benchmark("fold.extremes survival", 3.6, "ns per spawn", "sparse", cases.fold("survival")),
    Benchmark("fold.extremes longest", 3.6, "ns per spawn", "sparse", cases.fold("longest")),
    Benchmark("fold.best_bit guaranteed", 3, "ns per spawn", "sparse", cases.fold("guaranteed")),
    Benchmark("rank.rank_keys", 2.4, "ns per rank", "sparse", cases.rank_keys),
    Benchmark("rank.rank_keys, many halves", 11, "ns per rank", "quartered", cases.rank_quartered),
    Benchmark("rank.list_halves", 12, "ns per half board", "movable", cases.index_halves("list_halves")),
    Benchmark("rank.sort_halves", 8, "ns per half board", "movable", cases.index_halves("sort_halves")),
    Benchmark("boards.canonicalise", 2.1, "ns per board", "sparse", cases.canonicalise),
    Benchmark("lookup.count_stabilisers", 12, "ns per board", "sparse", cases.count_stabilisers),
    Benchmark("lookup.find_least", 20, "ns per board", "sparse", cases.find_least),
    Benchmark("lookup.rate_slides", 100, "ns per state", "sparse", cases.rate_slides),
    Benchmark("play.slide_all", 32, "ns per state", "sparse", cases.slide_all),
    Benchmark("play.play_games", 110, "ns per game", "sparse", cases.play_games),
    Benchmark("wide.play_wide", 200, "ns per game", "sparse", cases.play_wide),
    Benchmark("codec.encode_deltas", 2, "ns per key", "sparse", cases.encode),
    Benchmark("codec.move_bits", 1.5, "ns per key", "sparse", cases.shorten),
    Benchmark("codec.decode_deltas", 4.5, "ns per key", "sparse", cases.decode),
    Benchmark("codec.are_boards", 3.5, "ns per key", "sparse", cases.check_boards),
    Benchmark("page.pack", 400, "ns per afterstate", "sparse", cases.pack),
    Benchmark("halves.tabulate", 34, "ns per half board", "tabulated", cases.tabulate),
    Benchmark("dense.fold_spawns win", 13, "ns per board", "dense", cases.dense("win", Step.FOLD)),
    Benchmark(
        "dense.fold_spawns lower:uint32", 12, "ns per board", "dense", cases.dense("lower:uint32", Step.FOLD)
    ),
    Benchmark("dense.fold_spawns survival", 13, "ns per board", "dense", cases.dense("survival", Step.FOLD)),
    Benchmark("dense.best_slides win, rows", 8, "ns per board", "dense", cases.dense("win", Step.ROWS)),
    Benchmark(
        "dense.best_slides lower, rows", 9, "ns per board", "dense", cases.dense("lower:uint32", Step.ROWS)
    ),
    Benchmark(
        "dense.best_slides survival, rows", 9, "ns per board", "dense", cases.dense("survival", Step.ROWS)
    ),
    Benchmark(
        "dense.best_slides win, columns", 11, "ns per board", "dense", cases.dense("win", Step.COLUMNS)
    ),
    Benchmark(
        "dense.best_slides lower, columns",
        11,
        "ns per board",
        "dense",
        cases.dense("lower:uint32", Step.COLUMNS),
    ),
    Benchmark(
        "dense.best_slides survival, columns",
        12,
        "ns per board",
        "dense",
        cases.dense("survival", Step.COLUMNS),
    ),
    Benchmark("bits.fold_spawns", 0.7, "ns per board", "dense", cases.bits(Step.FOLD)),
    Benchmark("bits.slide_columns", 0.8, "ns per board", "dense", cases.bits(Step.COLUMNS)),
    Benchmark("bits.slide_rows", 0.8, "ns per board", "dense", cases.bits(Step.ROWS)),
    Benchmark("bits.join_columns", 0.5, "ns per board", "dense", cases.windowed_bits),
    Benchmark("force.search", 700_000, "afterstates per second", "forced", cases.search),
    Benchmark("coded.decode float16", 0.15, "ns per number", "halves", cases.decode_halves),
    Benchmark("coded.encode float16", 0.22, "ns per number", "halves", cases.encode_halves),
)


def measure(benchmark: Benchmark, case: Case) -> tuple[float, float]:
    """The best rate and the median of some runs, after one that compiles."""
    case.clear()
    case.run()
    seconds: list[float] = []
    rates: list[float] = []
    while len(rates) < LEAST_RUNS or sum(seconds) < LEAST_SECONDS:
        case.clear()
        began = time.process_time()
        work = case.run()
        seconds.append(time.process_time() - began)
        rates.append(benchmark.rate(seconds[-1], work))
    best = min(rates) if benchmark.unit.startswith("ns per") else max(rates)
    return best, statistics.median(rates)


def report(benchmark: Benchmark) -> bool:
    """Print one benchmark; return whether it reached its goal."""
    case = benchmark.make(LARGE)
    best, median = measure(benchmark, case)
    reached = benchmark.reached(best)
    number = "10.2f" if benchmark.unit.startswith("ns per") else "10,.0f"
    print(
        f"{benchmark.kernel:36} best {best:{number}}  median {median:{number}} {benchmark.unit} "
        f"(goal {benchmark.goal:,g}: {'reached' if reached else 'MISSED'})  {case.signature()}",
        flush=True,
    )
    return reached


def signature_line(benchmark: Benchmark) -> tuple[str, str, str]:
    """What tests/signatures.tsv says of a kernel: its name, the small input, and the signature."""
    return benchmark.kernel, SMALL.text(benchmark.input), benchmark.make(SMALL).signature()


def chosen(only: str) -> list[Benchmark]:
    """The benchmarks whose name contains a word.  Exits if there is none."""
    found = [benchmark for benchmark in BENCHMARKS if only in benchmark.kernel]
    return found or sys.exit(
        f"no kernel has {only!r} in its name: run scripts/bench --kernels without --only"
    )


def main(only: str = "", *, signatures: bool = False) -> int:
    """Run the benchmarks, or print the signatures on the small inputs; return the exit status."""
    if signatures:
        print("kernel\tinput\tsignature")
        for benchmark in chosen(only):
            print(*signature_line(benchmark), sep="\t", flush=True)
        return 0
    reached = [report(benchmark) for benchmark in chosen(only)]
    return 0 if all(reached) else 1
