"""Count the live states of one sum that are not lost within one move, as a partial build collapses them.

    tilebase count 4x4 64 --up-to 260 --keep states -o 4x4-64
    python examples/one_move_ahead.py 4x4-64 260 2048

A slide never makes the largest tile smaller.  So the states of 4x4 to 64 are those of 4x4 to 2048 whose
largest tile is at most 32, and this counts which of them Lees-Miller's build to 2048 kept.  The goal
must be at least four times the largest tile, so that no slide wins at once.
"""

import sys
from pathlib import Path

import numpy as np

from tilebase.arrays import GameArrays
from tilebase.errors import TilebaseError, UsageError
from tilebase.files.run import read_query
from tilebase.tables.layers import open_layer


def live_and_open(game, states):
    """Return how many of these states are live, and how many of those one move need not lose."""
    slid = game.slide(states)
    rows, actions = np.nonzero(slid.allowed)
    spawned, afters, _ = game.spawns(slid.after[rows, actions])
    going = game.slide(spawned).allowed.any(axis=1)
    is_open = np.zeros(len(states), dtype=np.bool_)
    is_open[rows[afters[going]]] = True
    return slid.allowed.any(axis=1).sum(), is_open.sum()


def main(folder, total, goal):
    """Print both numbers of the layer of a sum."""
    query, _ = read_query(folder)
    if query.game.goal is None or goal < 2 * query.game.goal:
        raise UsageError(f"{folder} counts {query.game}: give a goal of at least twice its goal, not {goal}")
    game = GameArrays(query.game.changed(goal=goal))  # keys of both games are the same
    counts = np.zeros(2, dtype=np.int64)
    layer = open_layer(folder, total, "states")
    for chunk in range(layer.chunks):
        counts += live_and_open(game, layer.keys(chunk))
    print(f"{counts[0]:,} live states of sum {total}, {counts[1]:,} of them not lost within one move")


if __name__ == "__main__":
    try:
        FOLDER, TOTAL, GOAL = sys.argv[1:]
        main(Path(FOLDER), int(TOTAL), int(GOAL))
    except TilebaseError as error:
        sys.exit(str(error))
    except ValueError:
        sys.exit("give a folder, a sum and a goal: python examples/one_move_ahead.py 4x4-64 260 2048")
