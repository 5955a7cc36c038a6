"""Tasks with fixed names: a game, its random start, an objective, what optimal, random and greedy play get.

`benchmarks.tsv` holds them.  Its values were computed with tables in float64, and `scripts/make-dataset`
computes them again.  A name is never given to another task.

>>> task = benchmark("2x2-32-win")
>>> f"{task.optimum:.9f} {task.random:.9f} {task.greedy:.9f}"
'0.082887289 0.000511053 0.000746548'
>>> round(task.score(0.04), 6)
0.479373
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tilebase.errors import UsageError
from tilebase.game.formations import formation
from tilebase.game.game import Game
from tilebase.policies import normalised
from tilebase.runtime.rows import read_rows

NAME = "tilebase-2048"
"""The name of the data set."""
VERSION = "1.0.0"
"""The version of its tasks and columns."""


@dataclass(frozen=True)
class Benchmark:
    """A task.

    Attributes
    ----------
    name:
        Its fixed name.
    words:
        The game as it is written on the command line: ``3x3 512``, ``--formation 442 128``.
    objective:
        The label of the objective.
    optimum, random, greedy:
        The value of the start under optimal play, if every allowed slide has the same probability, and if the
        slide is made that merges most.  The start is the random start of the game.
    """

    name: str
    words: str
    objective: str
    optimum: float
    random: float
    greedy: float

    @property
    def game(self) -> Game:
        """What is played."""
        parts = shlex.split(self.words)
        if parts[0] == "--formation":
            return formation(parts[1]).game(int(parts[2]))
        options = dict(zip(parts[2::2], parts[3::2], strict=True))
        return Game(parts[0], int(parts[1]), limits=options.get("--limits"))

    @property
    def table(self) -> str:
        """The name of the table that holds its values: that of the game."""
        return self.name.removesuffix(f"-{self.objective}")

    def score(self, value: float) -> float:
        """Return the normalised score of a policy by its value: 0 for random slides, 1 for optimal play."""
        return normalised(value, self.random, self.optimum)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "name": self.name, "game": self.words, "identity": self.game.identity, "start": "random",
            "objective": self.objective, "optimum": self.optimum, "random": self.random,
            "greedy": self.greedy, "score": "(value - random) / (optimum - random)",
        }  # fmt: skip


def _read() -> Iterator[Benchmark]:
    for row in read_rows("datasets", "benchmarks.tsv"):
        name, words, objective, *values = row.values()
        yield Benchmark(name, words, objective, *map(float, values))


BENCHMARKS = {one.name: one for one in _read()}
"""All tasks by their names, from the smallest game to the largest."""


def benchmark(name: str) -> Benchmark:
    """Return a task by its name.  Raises `UsageError`."""
    if name not in BENCHMARKS:
        raise UsageError(f"there is no benchmark {name!r}: choose one of {', '.join(BENCHMARKS)}")
    return BENCHMARKS[name]
