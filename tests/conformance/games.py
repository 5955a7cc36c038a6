"""The games of the suite: at least one for each thing that a game can have, small enough for the oracle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import pytest

from tilebase.counting.combinatorics import boards_by_sum
from tilebase.game.game import Game

SMALL_GAMES = (
    Game("2x2", 32),
    Game("2x2"),
    Game("2x2", 16, start="empty"),
    Game("2x2", 16, spawn=0),
    Game("2x2", 32, spawn=1),
    Game("2x2", 64, start="32,0/0,16"),
    Game("2x2", limits=8),
    Game("2x2", 32, limits="16,8/8,4"),
    Game("1x4", 16),
    Game("4x1", 16, start="empty"),
    Game("2x3", 16),
    Game("2x3", 16, walls=[1]),
    Game("2x3", 16, pattern="pair"),
    Game("2x3", 64, pattern="lemma1", limits="32,16,4/8,4,4", start="empty"),
    Game("2x2", pattern="8,4/*,0|0,*/4,8", limits=16, start="empty"),
    Game("2x3", 16, unmergeable=[4]),
    Game("2x3", 8, unmergeable=[0, 5], start="empty"),
    Game("2x3", 8, unmergeable=[0], start="x,0,0/0,0,0"),
    Game("1x2x3", 16),
    Game("2x2x2", 8),
    Game("2x2", goal_sum=20),
    Game("1x4", 16, goal_sum=18, start="empty"),
    Game("2x3", 16, masks="..x/...", start="after 0,0,x/2,0,0|2,0,x/0,0,0"),
    Game("2x3", 16, masks="..x/...|x../...", start="after x,0,0/0,2,0", horizon=30),
)
"""Games of at most a few thousand states, which other tests take too."""

GAMES = (
    *SMALL_GAMES,
    Game("1x1", start="empty"),
    Game("1x2", 8),
    Game("1x5", start="empty"),
    Game("5x1", 32),
    Game("1x7", 16),
    Game("2x2", 8),
    Game("2x2", 32, spawn="1/3"),
    Game("2x3", 16, spawn="2/7", start="empty", limits="8,8,8/8,8,8"),
    Game("2x3", 32),
    Game("3x2", 16, start="empty"),
    Game("2x4", 16),
    Game("4x2", 8, spawn=0),
    Game("2x2x2", 16),
    Game("1x2x3", 16, spawn=1, start="empty"),
    Game("2x3", spawn="1/3"),
    Game("3x3", 8),
    Game("3x3", spawn=0, start="empty", limits=4),
    Game("2x3", 64, limits="32,16,8/16,8,8", start="empty"),
    Game("3x3", 16, limits="8,4,4/4,4,4/4,4,4"),
    Game("2x2x2", 32, limits="16,8,8,4,8,4,4,4", start="empty"),
    Game("2x3", walls=[2]),
    Game("3x3", 16, walls=[4]),
    Game("1x6", walls=[2], start="empty"),
    Game("2x3", unmergeable=[0]),
    Game("3x3", 8, walls=[4]),
    Game("2x3", 16, unmergeable=[1, 5], spawn=0),
    Game("2x3", 32, limits="16,8,8/8,8,8", unmergeable=[3]),
    Game("2x3", 16, start="2,4,0/0,0,8"),
    Game("1x4", 32, limits="4,8,8,4", pattern="*,4,*,*"),
    Game("2x3", 32, limits="16,8,8/8,4,8", pattern="8,*,*/*,*,4|*,*,8/4,*,*", start="empty"),
    Game("2x3", 16, limits="8,4,4/4,4,8", pattern="4,*,*/*,*,4|*,*,4/4,*,*", start="empty"),
    Game("4x4", 8, walls=[1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 13]),  # free cells far from each other
    Game("3x4", 8, masks="..../..xx/.xxx", start="after 0,0,2,0/2,0,x,x/0,x,x,x", horizon=22),
    Game("3x4", 8, masks="..../..xx/xxxx|..../.x.x/xxxx", start="after 2,0,0,0/0,2,x,x/x,x,x,x"),
    Game("2x2", 16, masks=".x/..", unmergeable=[1], limits=4),  # the goal is out of reach
    Game("2x2", goal_sum=26, spawn=0),
    Game("2x3", horizon=20),
    Game("2x3", 16, horizon=14, spawn=1, start="empty"),
    Game("2x3", 32, horizon=34, start="after 2,0,0/0,2,4"),
    Game("2x2", 8, masks=".x/..", start="after 0,x/2,0", horizon=10),
    Game("2x3", 16, masks="..x/...", limits="8,4,4/4,8,4", start="after 0,0,x/0,0,0"),
    Game("2x3", 16, masks="..x/...|.../..x"),
    Game("3x2", 16, masks=".x/../..|x./../..", unmergeable=[0, 5]),
    Game("2x3", 8, masks="x.x/...|.../x.x", start="after x,2,x/0,2,0", horizon=16),
    Game("2x3", 8, masks="xx./xx.|.xx/.xx", limits="4,4,4/4,4,4", start="empty"),
    Game("3x3", 8, masks="..x/.x./...|..x/.../..x|.../.x./..x", start="after 2,2,x/0,x,0/0,0,0", horizon=22),
    Game(
        "3x3",
        masks="x../.../..x|..x/.../x..",
        start="after x,0,2/0,0,0/0,2,x",
        horizon=16,
        pattern="*,*,*/*,8,*/*,*,*",
    ),
    Game("3x3", 32, masks="..x/..x/..x", start="after 2,0,x/0,2,x/0,0,x", horizon=46),
    Game("3x3", 16, masks=".../x../xxx|.../.x./xxx", unmergeable=[3, 6, 7, 8], start="empty"),
    Game("3x3", 16, masks=".../.../.xx", unmergeable=[2, 7, 8], start="after 0,0,x/2,0,4/4,x,x", horizon=38),
    Game(
        "3x3", masks=".../.../xxx", start="after 2,0,0/0,0,2/x,x,x", horizon=38, pattern="*,16,*/*,*,*/*,*,*"
    ),
    Game(
        "2x4",
        masks="..../...x",
        start="after 0,2,0,0/0,0,0,x",
        horizon=32,
        pattern="8,*,*,*/*,*,*,*|16,*,*,*/*,*,*,*",
    ),
    Game("2x3", 16, goal_sum=24, unmergeable=[4]),
    Game("2x3", 32, goal_sum=40, limits="16,16,16/8,8,4", start="empty"),
    Game("3x6", spawn=0, start="empty", limits=2),  # three bits per cell
    Game("2x9", spawn=0, start="empty", limits=2),
    Game("1x22", spawn=0, start="empty", limits=2),  # two bits per cell
)
"""All of them: the oracle counts each in a second at most."""

MOST_BOARDS = 4100


@cache
def is_small(game: Game) -> bool:
    """Whether every query is asked of a game; of a larger one only what reads no values one by one."""
    return boards_of(game) <= MOST_BOARDS


@cache
def boards_of(game: Game) -> int:
    """How many boards there are within the limits."""
    return sum(boards_by_sum(game).values())


@cache
def rules_of(game: Game) -> frozenset[str]:
    """What is special about a game, in words: the fields that are given, and the types of some of them."""
    found = {field.name for field in fields(game)[2:] if getattr(game, field.name) != field.default}
    found |= {f"{sum(size > 1 for size in game.shape)} axes", f"{game.bits} bits"}
    found.add("continued" if game.goal is None else "goal")
    found.add(f"start: {game.start.split()[0] if game.start[0].isalpha() else 'board'}")
    if len(game.spawn_exponents) == 1:
        found.add(f"four: {game.spawn}")
    if game.pattern:
        found.add(f"pattern: {game.pattern if game.pattern.isalnum() else f'{len(game.patterns)} boards'}")
    if game.masks:
        found.add("masks: " + ("one" if len(game.masks) == 1 else "several"))
    return frozenset(found)


def cover(games: Sequence[Game]) -> list[Game]:
    """Some of the games, small ones rather than large ones, in which each rule occurs that occurs in any."""
    left, chosen = set().union(*map(rules_of, games)), list[Game]()
    while left:
        best = max(games, key=lambda game: len(rules_of(game) & left) / (2000 + boards_of(game)))
        chosen.append(best)
        left -= rules_of(best)
    return chosen


for small in filter(is_small, GAMES):  # the oracle asks for the same slides under each objective
    object.__setattr__(small, "slides", cache(small.slides))


# -- what runs by default --------------------------------------------------------------------------


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
