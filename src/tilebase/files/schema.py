"""The columns of boards, of which every data set, Parquet file, CSV file and data frame takes its own.

A row is a board up to symmetry.  NULL, empty in CSV, means that there is no such number: the slide is not
allowed, it wins, or the table was thinned and does not hold the value.  A list is JSON text in CSV.
"""

from __future__ import annotations

from typing import NamedTuple

from tilebase.game.game import Game


class Column(NamedTuple):
    """A column: its name, its type as Arrow calls it (`cells` is a list of it), and what it means."""

    name: str
    type: str
    meaning: str


COLUMNS = (
    Column("key", "uint64", "the packed board, canonical; ascending within a sum"),
    Column("board", "string", "the tiles as text: 2,4/0,8"),
    Column(
        "cells", "uint8",
        "a list of exponents, row by row: 3 for an 8, 0 for an empty cell or a wall, game.x (15 on up to 16 "
        "cells) for an x",
    ),
    Column("sum", "int32", "the sum of the tiles"),
    Column("largest", "int32", "the largest tile"),
    Column("orbit", "uint8", "how many boards the row stands for: turned and mirrored ones"),
    Column("start_probability", "float64", "the probability that a game starts here"),
    Column("v", "float64", "the value, discounted as in the table; infinity for never"),
    Column("q_", "float64", "the value of the slide {}, with what it adds; NULL if it is not allowed"),
    Column("after_", "uint64", "the key of the afterstate of the slide {}; NULL if not allowed, or a win"),
    Column("best", "uint8", "bit a is set if slide a is one of the best, in the order of the q columns"),
    Column(
        "visits", "float64",
        "the probability that a game meets the state if each best slide is made with the same probability",
    ),
    Column("policy_v", "float64", "the value of this board under a policy; NULL if it never slides there"),
    Column("policy_q_", "float64", "the value of the slide {} under a policy; NULL if it never makes it"),
    Column("split", "uint8", "0 train, 1 validation, 2 test, by a hash of the cells"),
)  # fmt: skip
"""Those that end in ``_`` stand for one of each direction."""
OF_STATES = ("start_probability", "q_", "after_", "best", "visits", "policy_v", "policy_q_", "split")
"""What afterstates lack."""
ADDED = ("visits", "policy_v", "policy_q_", "split")
"""What is in a data set only if it is asked for."""


def columns_of(game: Game, *, states: bool, added: tuple[str, ...] = ()) -> list[Column]:
    """Return the columns of states or afterstates of a game, with those of `ADDED` that are asked for."""
    found: list[Column] = []
    for one in COLUMNS:
        if (one.name in OF_STATES and not states) or (one.name in ADDED and one.name not in added):
            continue
        if one.name.endswith("_"):
            names = game.directions
            found += [Column(one.name + name, one.type, one.meaning.format(name)) for name in names]
        else:
            found.append(one)
    return found
