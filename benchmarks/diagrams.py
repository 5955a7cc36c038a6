"""Sizes of decision diagrams by encoding, order and strategy: the tables of docs/diagrams.md.

    scripts/bench --diagrams [--only WORD]

Goal: the default choices (short, rows, sum) take the least time.  Units: nodes of all layers, nodes of
the largest set, steps (computations of both preimages), seconds.  Nodes do not vary from run to run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilebase import Game, symbolic
from tilebase.bdd.strategies import STRATEGIES, Method

GAMES = {
    "3x3 to 32": Game("3x3", 32, start="empty"),
    "4x4 to 8, 2s only": Game("4x4", 8, spawn=0, start="empty"),
    "3x4 to 16": Game("3x4", 16, start="empty"),
    "4x4 to 16, 2s only": Game("4x4", 16, spawn=0, start="empty"),
}
MOST_SECONDS = 120.0


@dataclass(frozen=True)
class Row:
    game: str
    encoding: str
    order: str
    strategy: str
    nodes: int
    peak: int
    iterations: int
    states: int
    seconds: float
    complete: bool

    def __str__(self) -> str:
        late = "" if self.complete else "  stopped"
        return (
            f"{self.game:20} {self.encoding:7} {self.order:7} {self.strategy:12} "
            f"{self.nodes:12,} {self.peak:12,} {self.iterations:5} {self.states:16,} "
            f"{self.seconds:8.2f}{late}"
        )


def measure(name: str, **options: Any) -> Row:
    method = Method(**{"order": "rows"} | options)
    found = symbolic(GAMES[name], method, seconds=MOST_SECONDS)
    nodes = sum(line.nodes for line in found.lines)
    seconds = sum(line.seconds for line in found.lines)
    return Row(
        name, method.encoding, str(method.order), method.strategy, nodes, found.peak, found.iterations,
        found.states, seconds, found.wins is not None,
    )  # fmt: skip


def main(only: str) -> int:
    print(
        f"{'game':20} {'code':7} {'order':7} {'strategy':12} {'nodes':>12} {'largest':>12} "
        f"{'steps':>5} {'states':>16} {'seconds':>8}"
    )
    least = True
    for name in (name for name in GAMES if only in name):
        rows = [measure(name), measure(name, encoding="binary"), measure(name, order="columns")]
        rows += [measure(name, strategy=strategy) for strategy in STRATEGIES[1:]]
        print("\n".join(map(str, rows)), flush=True)
        least &= rows[0].seconds == min(row.seconds for row in rows)
    return 0 if least else 1
