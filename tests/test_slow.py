"""Proofs that take minutes to an hour: ``scripts/test --slow``."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from facts import facts
from tilebase import Exact, Lower, Upper, check_certificate, check_pattern, count, force, prove, solve
from tilebase.errors import MissingLayerError
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical
from tilebase.questions.force import largest_forced
from tilebase.small import oracle
from tilebase.tables.layers import open_layer

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("space", ["reachable", "all"])
def test_4x4_to_32(space, lasting):
    totals = count(Game("4x4", 32), folder=lasting / space, space=space).totals
    assert totals["live"] == 1_566_798_892
    assert totals["states"] == 1_567_514_971
    assert totals["afterstates"] == 437_449_227


@pytest.mark.parametrize(
    ("limits", "published", "value"),
    [
        ("256,128,64,64/64,64,64,64/64,64,64,64", "0.99999617", 4294957917),
        ("256,128,16,16/64,64,32,16/16,16,16,16", "0.99996", 4294820595),
    ],
)
def test_bounds_of_3x4_to_512_in_both_spaces(limits, published, value, lasting):
    """2,872,813,328 and 212,096,795 reachable afterstates of 20,338,217,928 and 1,653,750,000 boards."""
    game = Game("3x4", 512, limits=limits, start="empty", pattern="lemma1")
    for space in ("all", "reachable"):
        found = prove(game, dtype="uint32", space=space, folder=lasting / space)
        assert found.value == value
        assert found.bound > Fraction(published)


def test_lemma_1_fails_on_3x4_for_some_fillings():
    """By the pass over all boards, and by the oracle from the board that it names."""
    found = check_pattern(Game("3x4", 64, pattern="lemma1"))
    assert not found.holds
    game = Game("3x4", 64)
    assert oracle.values(Game("3x4", 64, start=game.format(found.board)), "guaranteed").start == 0
    fillings = "32,16,8,8/8,4,4,8/8,8,8,8"
    assert check_pattern(Game("3x4", 64, pattern="lemma1"), fillings=fillings).slides == 12
    limited = Game("3x4", 128, pattern="lemma1", limits="64,64,64,64/64,64,64,64/16,16,16,16")
    found = check_pattern(limited, fillings="64,32,4,4/16,8,8,4/4,4,4,4", within=14)
    assert (found.holds, found.slides, found.fillings) == (True, 14, 3**7)


def test_score_of_the_continued_game():
    assert f"{float(solve(Game('3x3'), 'score').value):.2f}" == "5468.49"


def test_interval_of_3x3_to_1024(lasting):
    value, low, high = solve(Game("3x3", 1024), "win,lower,upper", folder=lasting).start.values()
    assert isinstance(low, Lower)
    assert isinstance(high, Upper)
    assert low.bound <= Fraction(float(value)) <= high.bound
    assert high.bound - low.bound < Fraction(1, 10**12)


def test_4x4_to_32_is_forced(lasting):
    value, forced = solve(Game("4x4", 32), "win,guaranteed", folder=lasting).start.values()
    assert value == Exact(1)  # the other value proves it
    assert forced == Exact(True)


def test_4x4_to_64(lasting):
    """The largest count that was published, with all that `solve` begins with.

    To solve it takes two hours more and 13 GB of memory: docs/results.md has the result and the command.
    """
    result = count(Game("4x4", 64), folder=lasting, keep="afterstates")
    for fact in facts("state_counts.tsv", board="4x4", goal="64", quantity="states_with_specials"):
        assert result.total("live") + 2 == int(fact["value"]), fact
    for fact in facts("state_counts.tsv", quantity="live_states_of_sum", sum="348"):
        assert result.live[result.sums == 348].sum() == int(fact["value"]), fact


def reaches_checkerboard(game: Game, folder: Path) -> bool:
    """Whether a full board of alternating 2s and 4s is a reachable state, in either colouring."""
    cells = list(product(*(range(size) for size in game.shape)))
    boards = [tuple(1 + (sum(coordinates) + colour) % 2 for coordinates in cells) for colour in range(2)]
    return any(reaches(game, board, folder / str(board[0])) for board in boards)


def reaches(game: Game, board: Cells, run: Path) -> bool:
    """Whether a board, up to symmetry, is a reachable state of a game."""
    total = game.sum(board)
    count(game, folder=run, keep="states", up_to=total)
    try:
        layer = open_layer(run, total, "states")
    except MissingLayerError:
        return False
    return game.pack(canonical(game, board)) in layer


@pytest.mark.parametrize("board", ["3x7", "3x8", "5x5"])
def test_checkerboards(board, tmp_path):
    game = Game(board, spawn=0, start="empty", limits=4)
    for fact in facts("checkerboards.tsv", board=board, quantity="cooperatively_reachable"):
        assert reaches_checkerboard(game, tmp_path) == (fact["value"] == "yes"), fact


@pytest.mark.parametrize("fact", facts("guaranteed_with_limits.tsv", board={"2x6", "3x4"}), ids=repr)
def test_published_limits_of_12_cells(fact):
    game = Game(fact["board"], int(fact["goal"]), limits=fact["limits"], start="empty")
    assert force(game).forced == (fact["value"] == "winnable")


@pytest.mark.parametrize("fact", facts("guaranteed_max_tile.tsv", board={"2x6", "3x4"}), ids=repr)
def test_largest_tiles_of_12_cells(fact):
    found = largest_forced(fact["board"])
    assert (found.tile, found.exact) == (int(fact["value"]), True)


def test_2x2x3_forces_256():
    assert force(Game("2x2x3", 256, start="empty")).forced


@pytest.mark.parametrize(("shape", "goal"), [("3x3", 64), ("2x5", 64), ("2x2x2", 64)])
def test_large_certificates(shape, goal, tmp_path):
    """Lines of the source up to 2x5 that are not checked elsewhere."""
    path = tmp_path / "a.cert"
    found = force(Game(shape, goal, start="empty"), certificate=path)
    assert found.forced is False
    header = check_certificate(path)
    assert header["claim"] == "not forced"
    assert header["boards"] == found.listed


@pytest.mark.parametrize(("shape", "tile"), [("2x5", 1024), ("1x12", 1024), ("1x11", 512)])
def test_2s_only(shape, tile):
    found = largest_forced(shape, spawns="2")
    assert (found.tile, found.exact) == (tile, True)
