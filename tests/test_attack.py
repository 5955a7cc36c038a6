"""The attacks of ``scripts/attack`` in a quick form."""

from __future__ import annotations

import dataclasses
import random
from collections import defaultdict
from contextlib import suppress
from typing import Any

import pytest

from attack.__main__ import ATTACKS, run_case
from attack.random_games import draw, draw_formation
from conformance.games import daily
from tilebase.errors import GameError
from tilebase.game.game import Game

CASES = daily(
    [(name, seed) for name in ATTACKS for seed in range(12 if name == "certificates" else 4)],
    [(name, 0) for name in ATTACKS],
)


def test_every_field_of_a_game_is_drawn() -> None:
    """Games of 200 seeds have several values of each field, and both generators draw the chance of a 4."""
    drawn: dict[str, set[Any]] = defaultdict(set)
    for generator in (draw, draw_formation):
        chances: set[str] = set()
        for seed in range(200):
            with suppress(GameError):  # some of what is drawn does not exist
                game = Game(**generator(random.Random(seed)))
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
