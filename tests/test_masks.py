"""Games with masks, a horizon and starts after a slide, where the conformance suite does not reach."""

from __future__ import annotations

import io
import itertools
import random

import pytest

import cached_oracle as oracle
from test_policies import CELLS, ENDED
from test_winning_set import analysed
from tilebase import Game, count, force, open_table, prove, solve
from tilebase.bdd.sets import ORDERS
from tilebase.bdd.strategies import PLAYERS, Method
from tilebase.cli.seat import Seat
from tilebase.questions.borders import find_border
from tilebase.questions.force import largest_forced
from tilebase.questions.limits import least_limits

SHORT = Game("2x2", 16, start="empty", horizon=6)


def played(game: Game, seed: int, folder) -> Seat:
    """A game of random slides to its end; it is solved unless the folder has the table."""
    if not folder.exists():
        solve(game, "win", table=folder, threads=1)
    seat = Seat(open_table(folder), None, random.Random(seed), None)
    while not seat.over:
        assert seat.slide(seat.rng.choice(sorted(seat.slides)))
    return seat


@pytest.mark.parametrize("game", [ENDED, CELLS], ids=str)
def test_play_ends_with_a_win_or_at_the_horizon(game, tmp_path):
    endings = set()
    for seed in range(30):
        seat = played(game, seed, tmp_path / "t")
        assert seat.slides == {} or not seat.last
        if seat.last == "won":
            assert game.wins(seat.board.cells)
            assert seat.over == f"won after {len(seat.history)} slides"
        elif seat.last:
            assert game.ended(seat.board.sum)
            ends = f"slides: the game ends at the sum {game.horizon}"
            assert seat.over == f"not won after {len(seat.history)} {ends}"
        assert seat.won == (seat.last == "won")
        endings.add(seat.last)
        if seat.history:  # a start may have no slide
            before = seat.history[-1]
            assert seat.undo()
            assert (seat.board, seat.over) == (before, "")
    assert {"won", "ended"} <= endings


def test_the_command_ends_at_the_horizon(folder, printed, monkeypatch):
    solve(SHORT, "win", table="t", threads=1)
    assert "slides: the game ends at the sum 6\n" in printed("play t --auto --delay 0 --seed 1")
    lines = ["left", "up", "right", "down"] * 6 + ["h", "u", "q"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    out = printed("play t --seed 1")
    assert out.count("the game ends at the sum 6") == 1
    assert "is not allowed here; allowed: none: u takes a slide back, n starts again" in out
    assert "the table does not know" in out


FORCED = [
    Game("2x3", 8, masks="..x/...|.../..x", start="after 0,0,x/2,2,0", horizon=horizon)
    for horizon in range(6, 20, 2)
]


SIDES = [("cooperative", "slider"), *itertools.product(("adversarial", "deterministic"), PLAYERS)]


@pytest.mark.parametrize("game", [*FORCED[::3], ENDED], ids=str)
@pytest.mark.parametrize(("variant", "player"), SIDES)
def test_both_orders_of_diagrams_agree(game, player, variant):
    wins, *found = [decided(game, Method(variant, player), order) for order in ORDERS]
    assert found == [wins]
    other = {"slider": "dropper", "dropper": "slider"}[player]
    if variant != "cooperative":
        assert decided(game, Method(variant, other))[0] is not wins[0]


def decided(game: Game, method: Method, order: str = "rows") -> tuple[bool | None, int, int]:
    """Whether the player of a method wins, and how many states and afterstates, by diagrams."""
    analysis, wins = analysed(game, method, order=order)
    count = analysis.sets.count
    afterstates = sum(count(one, after=True) for one in analysis.won_afters.values())
    return wins, sum(map(count, analysis.won.values())), afterstates


def test_helpful_spawns_win_if_the_oracle_says_so():
    for game in (*FORCED, ENDED, SHORT):
        assert decided(game, Method(variant="cooperative"))[0] == (oracle.values(game, "win").start > 0)


def test_the_largest_forced_tile_from_a_board_after_a_slide():
    found = largest_forced("2x2", start="after 4,0/0,0", threads=1)
    goals = [
        goal for goal in (8, 16, 32)
        if oracle.values(Game("2x2", goal, start="after 4,0/0,0"), "guaranteed").start == 1
    ]  # fmt: skip
    assert (found.tile, found.exact) == (max(goals, default=4), True)


def test_borders_of_limits_with_masks():
    game = Game("2x3", 16, masks="x../...", start="after x,0,0/0,0,0")
    border = find_border(game, threads=1)
    assert (border.open, border.lattice) == (0, 2**5)
    winning = [tuple(map(int, text.replace("/", ",").split(","))) for text, _ in border.winning]
    for limits in itertools.product((4, 8), repeat=5):
        limited = game.changed(limits=[4, *limits])
        above = any(all(a >= b for a, b in zip(limited.limits, one, strict=True)) for one in winning)
        assert above == (limited.goal_fits and oracle.values(limited, "guaranteed").start == 1)


def test_limits_are_given_to_cells_that_can_hold_tiles():
    game = Game("2x3", 32, masks="x../...")
    assert least_limits(game)[0] == 4
    assert max(least_limits(game)) == 16


def test_lookahead_at_the_horizon_leaves_no_states():
    found = count(ENDED, lookahead=True, threads=1)
    assert found.sums.max() < ENDED.horizon <= count(ENDED, threads=1).sums.max()


def test_statements_name_masks_horizon_and_starts():
    text = prove(ENDED, dtype="uint32", threads=1).statement
    assert "which cover one of the masks x../... or ..x/... after each slide" in text
    assert "from a random one of the boards x,0,0/0,2,0 and 0,0,x/0,2,4, a spawn first" in text
    assert "in the game that ends at the sum 22" in text
    text = force(SHORT.changed(start="after 2,0/0,0", horizon=8), threads=1).statement
    assert "from the board 2,0/0,0, a spawn first" in text


@pytest.mark.parametrize(
    ("start", "held"), [("after 0,0,0/0,0,x", (5,)), ("after 0,0,x/0,0,0", (2,)), ("empty", (2,))]
)
def test_the_x_stand_where_the_start_has_them_and_otherwise_on_the_first_mask(start, held):
    assert Game("2x3", 16, masks="..x/...|.../..x", start=start).unmergeable == held
