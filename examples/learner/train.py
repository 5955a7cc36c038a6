"""Trains an n-tuple network, and draws its win rate and its exact regret while it learns.

    python examples/learner/train.py 3x3 512 -o 3x3-512.svg
    python examples/learner/train.py 442 128 -o 442-128.svg

The first word is a board, as 3x3, or the name of a formation.  The game is solved first, into a folder
beside the picture, unless a table is there.  At each checkpoint the agent is judged exactly
(`tilebase.policies.judge`), and plays 20,000 games with spawns that it has not learned from.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from ntuples import Network

from tilebase import Game, Table, TilebaseError, formation, open_table, solve
from tilebase.policies import judge
from tilebase.simulator import Simulator

GAMES = 512  # played at once
RATE = 0.5  # of learning, shared out to all weights of a board
CHECKPOINTS = (1, 2, 4, 8, 16)  # million slides
TESTS = 20_000  # games in which the win rate is measured


def game_of(board: str, goal: int) -> Game:
    """The game of a board or of a formation."""
    return formation(board).game(goal) if board.isdecimal() else Game(board, goal)


def opened(game: Game, folder: Path) -> Table:
    """The table of a game, solved if it is not there."""
    if not folder.exists():
        solve(game, table=folder)
    return open_table(folder)


def win_rate(network: Network) -> float:
    """How many of some games the network wins."""
    games = Simulator(network.game, TESTS, seed=1 << 40)
    while games.going.any():
        games.step(network.values(games.keys, games.after, games.wins, games.allowed).argmax(axis=1))
    return float(games.won.mean())


def train(table: Table, checkpoints: tuple[int, ...]) -> list[dict[str, float]]:
    """Train, and return what was measured at each checkpoint."""
    network, games = Network(table.game), Simulator(table.game, GAMES)
    curve: list[dict[str, float]] = []
    done, ended, seconds = 0, 0, 0.0
    for checkpoint in checkpoints:
        began = time.process_time()
        steps = (checkpoint * 1_000_000 - done) // GAMES
        ended += network.learn(games, steps, RATE)
        done += steps * GAMES
        seconds += time.process_time() - began
        judged = judge(table, network.policy, symmetry="canonical")
        curve.append({
            "slides": done, "games": ended, "seconds": seconds, "wins": win_rate(network),
            "value": judged.value, "regret": judged.regret, "optimal": judged.optimal,
        })  # fmt: skip
        print(
            f"{done:11,} slides {ended:9,} games {seconds:5.0f} CPU s  wins {curve[-1]['wins']:.4f}  "
            f"exact {judged.value:.6f}  regret {judged.regret:.6f}  best slides {judged.optimal:.4f}",
            flush=True,
        )
    return curve


def draw(curve: list[dict[str, float]], optimum: float, title: str, output: Path) -> None:
    """Draw win rate and regret by games."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 6), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True)
    games = [point["games"] for point in curve]

    def line(axes: Any, name: str, label: str, style: str) -> None:
        values = [point[name] for point in curve]
        axes.plot(games, values, style, label=label)

    line(upper, "value", "exact value", "o-")
    line(upper, "wins", f"{TESTS:,} games", "x")
    upper.axhline(optimum, color="grey", linewidth=1)
    upper.text(games[0], optimum, f"optimal play: {optimum:.4f}", va="bottom", color="grey")
    upper.set(title=title, ylabel="probability to win", ylim=(0, min(1, 1.15 * optimum)))
    upper.legend(loc="lower right", frameon=False)
    line(lower, "regret", "regret", "o-")
    lower.set(xlabel="games learned from", ylabel="exact regret", xscale="log", yscale="log")
    figure.savefig(output, metadata={"Date": None} if output.suffix == ".svg" else None)  # the same each time


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("board")
    parser.add_argument("goal", type=int)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the picture: .svg, .png or .pdf")
    parser.add_argument("--millions", type=int, nargs="+", default=CHECKPOINTS, help="slides at checkpoints")
    given = parser.parse_args(arguments)
    try:
        game = game_of(given.board, given.goal)
        with opened(game, given.output.with_suffix(".table")) as table:
            curve = train(table, tuple(given.millions))
            draw(curve, float(table.value), f"{given.board} to {given.goal}", given.output)
    except TilebaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
