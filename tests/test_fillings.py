"""How many boards with a pattern a winning set holds, by its diagrams: as many as one by one."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from test_winning_set import boards_of, saved
from tilebase import force
from tilebase.bdd.export import MANIFEST
from tilebase.cli import main
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.questions.lemma import sample_fillings
from tilebase.tables.winning import open_winning_set


@pytest.mark.parametrize("pattern", ["4,*,*/2,*,*", "*,4,*/4,*,*", "2,4,2/4,2,*"])
@pytest.mark.parametrize("names", [{}, {"encoding": "binary", "order": "columns"}], ids=str)
def test_fillings_of_a_pattern_are_counted(tmp_path: Path, pattern: str, names: dict[str, str]) -> None:
    _, winning = saved(tmp_path / "set", Game("2x3", 8), **names)
    held = [
        board for board in boards_of(winning.game) if winning.game.changed(pattern=pattern).matches(board)
    ]
    found = winning.fillings(pattern)
    won = [board for board in held if winning.holds(winning.game.format(board))]
    assert (found.boards, found.won) == (len(held), len(won))
    assert (found.lost is None) == (len(held) == len(won))
    if found.lost is not None:
        assert found.lost in held
        assert found.lost not in won


def test_fillings_of_some_sets_are_not_counted(tmp_path: Path) -> None:
    mixed, sweep = tmp_path / "mixed", tmp_path / "sweep"
    manifest = saved(mixed)[1].manifest
    by_bits = sorted(manifest.variables, key=lambda variable: variable[1])  # as no set of ours has them
    (mixed / MANIFEST).write_text(replace(manifest, variables=by_bits).text)
    with pytest.raises(UsageError, match="make it in rows or columns"):
        open_winning_set(mixed).fillings("8,*/*,*")
    with pytest.raises(UsageError, match="all boards by sum"):
        saved(sweep, strategy="sweep")[1].fillings("8,*/*,*")
    with pytest.raises(UsageError, match="several patterns"):
        saved(tmp_path / "set")[1].fillings("pair")


def test_the_lemma_command_asks_a_set(tmp_path: Path, printed) -> None:
    saved(tmp_path / "set", Game("2x3", 8))
    line = ["lemma", "set", str(tmp_path / "set"), "--pattern"]
    assert "holds the pattern: yes, all 81 boards (verdict)" in printed(*line, "4,4,*/*,*,*")
    assert "holds the pattern: no, not from 2,4," in printed(*line, "2,4,*/4,2,*", status=1)
    assert main([*line, "4,4,*/*,*,*", "--within", "3"]) == 2
    assert main([*line, "8,*/*,*"]) == 2


def test_random_fillings_are_won_where_a_search_of_each_says_so() -> None:
    game = Game("2x3", 32, pattern="16,*,*/*,8,*", limits="16,16,16/16,16,8")
    found = sample_fillings(game, 60, fillings="16,4,16/16,8,4", seed=3, threads=1)
    assert (found.fillings, found.undecided) == (60, 0)
    assert 0 < found.won < 60
    for board in set(found.lost):
        assert game.matches(board)
        assert board[1] <= 2
        assert board[5] <= 2
        assert force(game.changed(pattern=None, start=game.format(board)), threads=1).forced is False
    assert sample_fillings(game, 60, seed=3, fillings="16,4,16/16,8,4", threads=1).lost == found.lost


def test_a_part_of_a_set_says_nothing_of_smaller_sums(tmp_path, capsys):
    line = ["force", "diagrams", "2x3", "16", "--start", "empty", "--up-to", "24", "-q"]
    assert main([*line, "-o", str(tmp_path / "set"), "--threads", "1"]) == 1
    assert main(["lemma", "set", str(tmp_path / "set"), "--pattern", "8,*,*/*,*,*"]) == 1
    held = sum(sum(tiles) >= 16 for tiles in itertools.product((0, 2, 4, 8), repeat=5))
    out = capsys.readouterr().out
    assert "holds the pattern with a sum of 24 or more: " in out
    assert f" of {held} boards win" in out
