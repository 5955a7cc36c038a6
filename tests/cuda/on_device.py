"""The steps of dense passes on a CUDA device: every value of some games is that of threads.

On a machine with a device, with the environment of the tests and numba-cuda:

    python -m pytest tests/cuda/on_device.py

``tests/test_cuda.py`` runs the games whose names begin with "small" in Numba's simulator.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from batching import BATCHED, dense_pass, noting_batches, small_memory
from stopping import stop_at
from tilebase import Game, formation, prove
from tilebase.dense.layers import DenseLayer
from tilebase.dense.passes import OtherQuery
from tilebase.objectives.encoding import decoded, make_backup
from tilebase.objectives.objective import Objective, parse_objectives
from tilebase.objectives.values import Number

PATTERN = Game("2x2", 16, limits="8,8/4,4", start="empty", pattern="8,4/*,*")
GAMES = {
    "small pattern": PATTERN,
    "small forced": Game("2x2", 8, start="empty"),
    "2x2": Game("2x2", 32),
    "one row": Game("1x6", 32, start="empty"),
    "limits": BATCHED,
    "3x3": Game("3x3", 128, start="empty"),
    "2x5": Game("2x5", 64, limits="32,32,16,16,8/32,16,8,8,8", start="empty"),
    "3x4": Game("3x4", 64, limits="32,32,16,8/16,16,8,8/8,8,8,4", start="empty"),
    "walls": Game("3x3", 32, walls=(2,), start="empty"),
    "a mask": formation("L3").game(16),
}
OBJECTIVES = ("lower:uint32", "lower", "upper:uint16", "guaranteed", "win:float32", "win", "win:float16")
NEAR = {"float64": 2e-15, "float32": 2e-7, "float16": 5e-4}
"""Means are added in another order, so last digits differ."""


def solved(
    folder: Path, game: Game, objective: Objective, backend: str, **options: Any
) -> tuple[Number, dict[int, Any]]:
    """Return the value of the start, and all values by sum."""
    values = {}

    def keep(total: int, layer: DenseLayer) -> None:
        found = layer.data.copy()
        values[total] = decoded(found) if objective.type.is_coded else found

    # Threads would keep Boolean values as bits, but for a backup that they are given.
    query = OtherQuery(keep, make_backup(game, objective))
    with dense_pass(folder, game, objective, backend=backend, query=query, **options) as one:
        one.run()
        return one.start(), values


@pytest.mark.parametrize("text", OBJECTIVES)
@pytest.mark.parametrize("name", GAMES)
def test_every_value_is_that_of_threads(name: str, text: str, tmp_path: Path) -> None:
    game, (objective,) = GAMES[name], parse_objectives(text)
    expected, layers = solved(tmp_path / "threads", game, objective, "threads")
    found, here = solved(tmp_path / "cuda", game, objective, "cuda")
    near = NEAR[objective.dtype] if objective.is_mean and objective.is_float else 0.0
    assert float(found) == pytest.approx(float(expected), abs=near)
    assert layers.keys() == here.keys()
    assert sum(map(len, layers.values())) > 0
    for total, values in layers.items():
        np.testing.assert_allclose(
            here[total].astype("f8"), values.astype("f8"), rtol=0, atol=near, err_msg=f"sum {total}"
        )


def test_small_discounts_are_those_of_threads(tmp_path: Path) -> None:
    (objective,) = parse_objectives("upper:uint16", "1/3")
    expected, layers = solved(tmp_path / "threads", PATTERN, objective, "threads")
    found, here = solved(tmp_path / "cuda", PATTERN, objective, "cuda")
    assert found == expected > 0
    assert all(np.array_equal(here[total], values) for total, values in layers.items())


def test_small_checksums_are_those_of_threads() -> None:
    asked: dict[str, Any] = {"dtype": "uint32", "checksums": True}
    assert prove(PATTERN, **asked, space="cuda").layers == prove(PATTERN, **asked, space="all").layers != ()


def test_small_passes_go_on_after_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objective = Objective("lower", "uint32")
    expected, _ = solved(tmp_path / "threads", PATTERN, objective, "threads")
    with dense_pass(tmp_path / "cuda", PATTERN, objective, down_to=10, backend="cuda") as one:
        one.run()
        assert not one.complete
    layers = stop_at(monkeypatch, ())
    with dense_pass(tmp_path / "cuda", PATTERN, objective, backend="cuda") as one:
        one.run()
        assert len(layers) < len(one.sizes)
        assert one.start() == expected


def test_batches_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objective, memory = Objective("lower"), small_memory(BATCHED, "lower")
    batches = noting_batches(monkeypatch)
    expected, _ = solved(tmp_path / "threads", BATCHED, objective, "threads")
    with dense_pass(tmp_path / "cuda", BATCHED, objective, memory=memory, backend="cuda") as one:
        one.run()
        assert max(batches) > 1
        assert one.start() == expected
