"""Random games with spawns that are almost certain, with denominators up to 10^18, and with large tiles."""

from __future__ import annotations

import random
from typing import Any

from attack import games, random_games, tables
from attack.case import Case


def attack(case: Case) -> None:
    """One game: its counts and tables."""
    drawn = random_games.random_game(case.rng, 100, draw)
    games.check_counts(case, drawn)
    tables.attack(case, drawn)


def draw(rng: random.Random) -> dict[str, Any]:
    """Arguments of a game, which may not exist."""
    options = random_games.draw(rng)
    options["spawn"] = chance(rng)
    if rng.random() < 0.3:  # large tiles on all cells but two, so that few merge
        cells = options["start"].count(",") + 1 if "," in options["start"] else 4
        options = {
            "shape": f"1x{cells}" if cells % 2 else f"2x{cells // 2}",
            "spawn": options["spawn"],
        }
        tiles = sorted(rng.sample([1 << e for e in range(4, 15)], cells - 2), reverse=True)
        options |= {"goal": rng.choice((None, 32768)), "start": ",".join(map(str, [*tiles, 2, 0]))}
    return options


def chance(rng: random.Random) -> str:
    """A probability near 0 or 1, or any with a long denominator."""
    below = 10 ** rng.randint(6, 18)
    return f"{rng.choice((1, below - 1, below - 1, rng.randrange(1, below)))}/{below}"
