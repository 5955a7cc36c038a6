"""Plain games counted one after the other: the lines of src/tilebase/costs/counted.tsv.

    python benchmarks/shares.py             games of at most 10 million boards up to symmetry
    python benchmarks/shares.py --most 1e9  larger ones, too

Goal: the states and afterstates of each game that is in the file already are the same.  Estimates of other
games are a fit to these lines (`costs.shares`).
"""

from __future__ import annotations

import argparse
import math
import sys

from tilebase import Game, count
from tilebase.costs.shares import counted
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.game.symmetry import symmetries


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most", type=float, default=1e7, help="boards up to symmetry")
    most, same = parser.parse_args().most, True
    for (shape, goal), share in sorted(
        counted().items(), key=lambda line: (math.prod(line[0][0]), line[0][0], line[0][1] or math.inf)
    ):
        game = Game(shape, goal)
        boards, order = sum(boards_by_sum(game).values()), len(symmetries(game))
        if boards / order > most:
            continue
        found = count(game)
        states, afters = found.total("states"), int(found.afterstates.sum())
        print(game.shape_text, goal or "-", order, boards, states, afters, sep="\t", flush=True)
        same &= states == round(share.states * boards / order)
        same &= afters == round(share.afterstates * boards / order)
    print("reached: all are as in the file" if same else "MISSED: some differ", file=sys.stderr)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
