"""Parameters that run by default, and those behind ``scripts/test --all``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from conformance.games import cover
from tilebase.game.game import Game


def daily(values: Iterable[Any], chosen: Iterable[Any]) -> list[Any]:
    """All values; those that are not chosen carry the marker `all`.  A tuple is a value for each name."""
    kept = list(chosen)
    return [
        pytest.param(
            *(one if isinstance(one, tuple) else (one,)), marks=[] if one in kept else pytest.mark.all
        )
        for one in values
    ]


def each_rule(games: Sequence[Game]) -> list[Any]:
    """All games; by default a few in which each rule occurs that occurs in any."""
    return daily(games, cover(games))
