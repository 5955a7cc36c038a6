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

from ntuples import Network

from tilebase import Game, Table, TilebaseError, formation, open_table, solve
from tilebase.errors import UsageError
from tilebase.policies import judge
from tilebase.simulator import Simulator

GAMES = 512  # played at once
RATE = 0.5  # of learning, shared out to all weights of a board
CHECKPOINTS = [2**k * 1_000_000 for k in range(5)]  # slides
TESTS = 20_000  # games in which the win rate is measured


def game_of(board: str, goal: int) -> Game:
    """The game of a board or of a formation."""
    return Game(board, goal) if "x" in board else formation(board).game(goal)


def opened(game: Game, folder: Path) -> Table:
    """The table of a game, solved if it is not there.  Raises `UsageError` if that of another game is."""
    if not folder.exists():
        solve(game, table=folder)
    table = open_table(folder)
    if table.game != game:
        raise UsageError(f"{folder} is a table of {table.game}: choose another picture, or delete the table")
    return table


def win_rate(network: Network) -> float:
    """How many of some games the network wins."""
    games = Simulator(network.game, TESTS, seed=1 << 40)
    while games.going.any():
        games.step(network.values(games.keys, games.after, games.wins, games.allowed).argmax(axis=1))
    return float(games.won.mean())


def train(network: Network, table: Table, checkpoints: list[int]) -> list[dict[str, float]]:
    """Train, and return what was measured at each checkpoint."""
    games = Simulator(table.game, GAMES)
    curve: list[dict[str, float]] = []
    done, ended, seconds = 0, 0, 0.0
    for checkpoint in checkpoints:
        began = time.process_time()
        steps = max(0, checkpoint - done) // GAMES
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
    """Draw the exact value, and the win rate of games, by the games learned from."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter, StrMethodFormatter

    paper, ink, faint, blue, orange = "#fbf8f3", "#3d352e", "#8a7f73", "#34749c", "#b23a1e"
    figure = Figure(figsize=(7, 3.8), layout="constrained", facecolor=paper)
    axes = figure.subplots()
    axes.set_facecolor(paper)
    games = [point["games"] for point in curve]
    values, wins = ([point[name] for point in curve] for name in ("value", "wins"))
    axes.fill_between(games, values, optimum, color=orange, alpha=0.1, linewidth=0)
    axes.axhline(optimum, color=ink, linewidth=1.5)
    axes.text(games[0], optimum, f"optimal play: {optimum:.4f}", va="bottom", color=ink)
    axes.plot(games, values, "o-", color=blue, label="exact value of the network")
    axes.plot(games, wins, "x", color=ink, markersize=9, label=f"share of {TESTS:,} games won")
    axes.text(
        games[-1], (values[-1] + optimum) / 2, f"regret {curve[-1]['regret']:.3f} ", color=orange, ha="right"
    )
    axes.set(
        xlabel="games learned from",
        ylabel="probability to win",
        ylim=(0, min(1, 1.15 * optimum)),
        xscale="log" if any(games) else "linear",  # no game may have ended yet
    )
    axes.set_title(title, color=ink, loc="left", fontweight="bold")
    axes.set_xticks(games)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(colors=faint, labelcolor=ink, which="both")
    axes.grid(axis="y", color=faint, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(0, 0.9), frameon=False)
    figure.savefig(output, metadata={"Date": None} if output.suffix == ".svg" else None)  # the same each time


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("board")
    parser.add_argument("goal", type=int)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the picture: .svg, .png or .pdf")
    parser.add_argument("--slides", type=int, nargs="+", default=CHECKPOINTS, help="slides at checkpoints")
    given = parser.parse_args(arguments)
    try:
        network = Network(game_of(given.board, given.goal))
        with opened(network.game, given.output.with_suffix(".table")) as table:
            curve = train(network, table, given.slides)
            draw(curve, float(table.value), f"{given.board} to {given.goal}", given.output)
    except TilebaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
