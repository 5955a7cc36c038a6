"""The attacks of ``scripts/attack`` in a quick form: seeds that each found something once."""

from __future__ import annotations

import dataclasses
import random
from collections import defaultdict
from contextlib import suppress
from typing import Any

import pytest

from attack import formations, random_games
from attack.__main__ import ATTACKS, run_case
from daily import daily
from tilebase.errors import GameError
from tilebase.game.game import Game

SEEDS = {
    "games": (6006, 128, 301, 391, 108, 195, 213, 309),
    "formations": (24, 366, 397, 70060),
    "calls": (0, 100, 200),
    "kills": (5, 9, 22, 40, 42, 61, 69, 71, 96, 142),
    "flips": (9, 14, 62, 79, 5502, 5792),
    "faults": (8, 2, 17, 32, 35),
    "hostile": (6, 19, 51, 116),
    "commands": (0, 1, 2, 3, 4, 5, 80043),
    "certificates": (0, 1),
    "servers": (5,),
    "threads": (9, 26, 80077),
    "crossed": (1, 2, 6027),
    "written": (1, 3, 1067, 1103, 80056, 90090, 6279),
    "folders": (1, 2, 3),
    "requests": (1, 5028),
    "extremes": (4, 104),
    "datasets": (101, 105),
    "vectors": (0, 11, 14),
}
DAILY = 1
"""So many seeds of each attack run by default, the first ones."""
CASES = daily(
    [(name, seed) for name in ATTACKS for seed in SEEDS[name]],
    [(name, seed) for name in ATTACKS for seed in SEEDS[name][:DAILY]],
)


def test_every_attack_has_a_quick_form() -> None:
    assert set(SEEDS) == set(ATTACKS)


def test_every_field_of_a_game_is_drawn() -> None:
    """Games of 200 seeds have several values of each field, and both generators draw the chance of a 4."""
    drawn: dict[str, set[Any]] = defaultdict(set)
    for generator in (random_games, formations):
        chances: set[str] = set()
        for seed in range(200):
            with suppress(GameError):  # some of what is drawn does not exist
                game = Game(**generator.draw(random.Random(seed)))
                chances.add(str(game.spawn))
                for field in dataclasses.fields(game):
                    drawn[field.name].add(getattr(game, field.name))
        assert {"0", "1", "1/10", "3/7"} < chances, generator.__name__
    few = {field.name: drawn[field.name] for field in dataclasses.fields(Game) if len(drawn[field.name]) < 2}
    assert not few


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_attack(name: str, seed: int) -> None:
    failures, done = run_case(name, seed)
    assert sum(done.values()), "nothing was tried"
    if failures:
        pytest.fail("\n".join(map(str, failures)), pytrace=False)
