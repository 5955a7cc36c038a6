"""Dense passes, also with so little memory that layers are cut into batches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tilebase.cluster.runs import Run
from tilebase.dense.index import PerfectIndex
from tilebase.dense.passes import DensePass, Sums
from tilebase.dense.plan import Plan
from tilebase.dense.sizes import Matrices
from tilebase.dense.steps import BlockStep, Cut, Range
from tilebase.dense.values import Wanted
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective, parse_objectives
from tilebase.runtime.resources import Allowance

BATCHED = Game("3x3", 64, limits="32,32,16/16,8,8/8,8,4", start="empty")


def dense_pass(
    folder: Path,
    game: Game,
    objective: Objective,
    *,
    memory: int = 1 << 32,
    threads: int = 2,
    keep: bool = False,
    down_to: int | None = None,
    anyway: bool = False,
    **options: Any,
) -> DensePass:
    """A pass that sums up its layers; with `keep` their values are kept, too."""
    run = Run(folder=folder, memory=memory, threads=threads, anyway=anyway)
    wanted, sums = Wanted(files=keep), Sums(down_to=down_to)
    return DensePass(run, PerfectIndex(game), objective, wanted=wanted, sums=sums, **options)


def noting_batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list to which each layer that goes through files adds its batches."""
    found, real = list[int](), Cut.steps

    def steps(self: Cut) -> Iterator[BlockStep]:
        found.append(max(len(self.tops), len(self.lefts)))
        return real(self)

    monkeypatch.setattr(Cut, "steps", steps)
    return found


def noting_windows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list to which each layer of bits that is read or written in windows adds how many these are."""
    found, real = list[int](), Matrices.cut

    def cut(self: Matrices, words: int, more: int = 0) -> list[Range]:
        ranges = real(self, words, more)
        found.append(len(ranges))
        return ranges

    monkeypatch.setattr(Matrices, "cut", cut)
    return found


def memory_for_batches(game: Game, objective: Objective) -> int | None:
    """Bytes of memory with which layers go through files in batches; None if a batch is a whole layer."""
    index = PerfectIndex(game)
    plan = Plan.outline(index, objective, Allowance(memory=1 << 60, threads=2), bits=False)
    for share in range(1, 16):
        memory = plan.base + (plan.whole_bytes - plan.base) * share // 16
        if plan.can_be_cut(index, memory, 0):
            assert Plan.of(index, objective, Allowance(memory=memory, threads=2), bits=False).batched
            return memory
    return None


@cache
def small_memory(game: Game, text: str) -> int:
    """The same of an objective as text, which batches need."""
    (objective,) = parse_objectives(text)
    memory = memory_for_batches(game, objective)
    assert memory is not None
    return memory
