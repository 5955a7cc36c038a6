"""Pruned tables: what is worth less than a bound is left out, and probes say so and give no number."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

import cached_oracle as oracle
from judging import agrees
from second_reader import folder_files
from stored import journal, sign
from tilebase import Board, Game, Progress, evaluate, open_table, solve, thin, verify_table
from tilebase.errors import CorruptError, MissingBoardError, UsageError, WrongGameError
from tilebase.game.symmetry import canonical
from tilebase.objectives.values import Below, Exact, Interval, Lower, Rounded
from tilebase.tables.pruning import prune

SMALL = Game("2x2", 32)
WIDE = Game("2x3", 32)
MASKED = Game("3x3", 32, masks=".../..x/.xx", start="after 2,0,0/0,0,x/2,x,x|0,0,0/0,2,x/2,x,x", horizon=60)
GAMES = (SMALL, WIDE, MASKED, Game("2x2", goal_sum=20), Game("2x3", 16, masks="..x/...|x../...",
         start="after x,0,0/0,2,0", horizon=30))  # fmt: skip


# -- what a pruned table holds and says ------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "above", "discount"), [*product(GAMES, [0.03, 0.5, 1], ["1"]), (WIDE, 0.3, "0.9")], ids=str
)
def test_pruned_tables(game: Game, above: float, discount: str, solved, tmp_path: Path) -> None:
    exact = oracle.values(game, "win", discount=discount)
    kept = {board for board, value in exact.afterstates.items() if value >= Fraction(above)}
    whole_table = solved(game, "win", discount)
    found = prune(whole_table, tmp_path / "pruned", above=above)
    assert (found.afterstates, found.before) == (len(kept), len(exact.afterstates))
    with open_table(tmp_path / "pruned") as table, open_table(whole_table) as whole:
        assert table.manifest.thinned == found.as_dict()
        assert table.start == whole.start
        assert sum(table.prober.count(total) for total in table.prober.sums()) == len(kept)
        for state in list(exact.states)[:: -(-len(exact.states) // 300)]:
            full, part = whole.probe(Board(game, state)), table.probe(Board(game, state))
            check(game, above, kept, full, part)
    assert verify_table(tmp_path / "pruned", sample=None).wrong == ()


def check(game: Game, above: float, kept: set, full, part) -> None:
    """A result of the pruned table against that of the whole one."""
    assert [slide.cells for slide in part.slides] == [slide.cells for slide in full.slides]
    for one, other in zip(part.slides, full.slides, strict=True):
        if one.wins or canonical(game, one.cells) in kept:
            assert one.value == other.value
        else:
            assert isinstance(one.value, Below)
            assert float(other.value) < above
    known = [slide for slide in part.slides if not isinstance(slide.value, Below)]
    if known or not part.slides:
        assert (part.value, part.best) == (full.value, full.best)
    else:
        assert isinstance(part.value, Below)
        assert part.best == ()
        assert float(full.value) < above


@pytest.mark.parametrize("above", [0.03, 0.2])
def test_a_board_is_called_reachable_only_if_it_is(above, solved, tmp_path) -> None:
    """All boards of 2x2: an unreachable one may be worth more than the bound, so the text says so."""
    prune(solved(SMALL), tmp_path / "pruned", above=above)
    states = oracle.values(SMALL).states
    kinds = set()
    with open_table(tmp_path / "pruned") as table:
        for cells in product(range(5), repeat=4):
            if not any(cells) or not SMALL.slides(cells):
                continue
            answer = table.probe(Board(SMALL, cells))
            reached = canonical(SMALL, cells) in states
            for slide in answer.slides:
                if isinstance(slide.value, Below):
                    assert reached or not slide.value.reached
                    kinds.add((slide.value.reached, reached))
                    assert str(slide.value) == f"below {above:g}" + (
                        "" if slide.value.reached else ", or not reachable"
                    )
    assert {(True, True), (False, False)} <= kinds


def test_a_value_that_is_left_out_is_no_number() -> None:
    with pytest.raises(UsageError, match=r"^a value below 0\.5 is not a number: "):
        float(Below(0.5))
    assert str(Below(0.9999999, reached=False)) == "below 0.9999999, or not reachable"


def test_a_pruned_board_after_a_slide_is_below_under_its_objective(solved, tmp_path) -> None:
    """A table of intervals knows only that the lower bound is below: the probability may not be."""
    prune(solved(WIDE, "lower:uint32,upper:uint32"), tmp_path / "pruned", above=0.6)
    exact = oracle.values(WIDE).afterstates
    low = min(exact, key=lambda after: exact[after])
    high = max(exact, key=lambda after: exact[after])
    with open_table(tmp_path / "pruned") as table:
        found = table.probe_after(Board(WIDE, low))
        assert isinstance(found.value, Below)
        assert found.meaning == table.meaning("lower-uint32") != table.meaning()
        assert table.probe_after(Board(WIDE, high)).meaning == table.meaning()


def test_slides_that_are_left_out_have_no_probability_to_lose_either(solved, tmp_path) -> None:
    prune(solved(SMALL, "win,loss"), tmp_path / "pruned", above=0.3)
    lost = oracle.values(SMALL, "loss").states
    mixed = 0
    with open_table(tmp_path / "pruned") as table:
        for state, loss in lost.items():
            answer = table.probe(Board(SMALL, state), "win")
            known = [slide for slide in answer.slides if not isinstance(slide.value, Below)]
            mixed += 0 < len(known) < len(answer.slides)
            if known:
                assert isinstance(answer.value, Rounded | Exact)
                assert float(answer.value) == pytest.approx(1 - float(loss))
    assert mixed == 3


def test_several_objectives(solved: Callable[..., Path], tmp_path: Path) -> None:
    """Values of other objectives are known where all slides are; else a probe is refused."""
    folder = solved(WIDE, "lower:uint32,upper:uint32,score,guaranteed")
    prune(folder, tmp_path / "pruned", above=0.6)
    exact, score = oracle.values(WIDE, "win"), oracle.values(WIDE, "score")
    seen = set()
    with open_table(tmp_path / "pruned") as table, open_table(folder) as whole:
        for state in list(exact.states)[::3]:
            board = Board(WIDE, state)
            kept = [
                WIDE.wins(after) or exact.afterstates[canonical(WIDE, after)] >= Fraction("0.6001")
                for after in WIDE.slides(state).values()
            ]
            if all(kept):
                assert agrees(table.probe(board, "score").value, score.states[state])
                assert table.probe(board) == whole.probe(board)
                assert isinstance(table.probe(board).value, Interval | Exact)
            elif all(
                WIDE.wins(after) or exact.afterstates[canonical(WIDE, after)] < Fraction("0.5999")
                for after in WIDE.slides(state).values()
            ):
                with pytest.raises(MissingBoardError, match=r"whose value \(lower-uint32\) is below 0.6"):
                    table.probe(board, "score")
                assert isinstance(table.probe(board).value, Below | Lower)
                assert table.get(board, "nothing", "guaranteed") == "nothing"
            seen.add(all(kept))
    assert seen == {True, False}
    assert verify_table(tmp_path / "pruned", sample=None).wrong == ()
    prune(folder, tmp_path / "forced", above=0.5, objective="guaranteed")
    forced = oracle.values(WIDE, "guaranteed").afterstates
    with open_table(tmp_path / "forced") as table:
        assert sum(map(table.prober.count, table.prober.sums())) == sum(v == 1 for v in forced.values())
    assert verify_table(tmp_path / "forced", sample=None).wrong == ()


def test_real_boards_in_pruned_tables(solved: Callable[..., Path], tmp_path: Path) -> None:
    prune(solved(MASKED), tmp_path / "pruned", above=0.7)
    with open_table(tmp_path / "pruned") as table:
        found = table.probe("64,128,16/256,8,16/16,2,2")
        assert {slide.direction: str(slide.value) for slide in found.slides}["left"] == "below 0.7"
        assert found.best == ("up", "down")
        for board, value in oracle.values(MASKED).afterstates.items():
            after = table.probe_after(Board(MASKED, board)).value
            known = value >= Fraction(7, 10)
            assert agrees(after, value) if known else str(after) == "below 0.7, or not reachable"


def test_what_takes_no_pruned_table(solved: Callable[..., Path], tmp_path: Path) -> None:
    pruned = tmp_path / "pruned"
    prune(solved(SMALL), pruned, above=0.05)
    for use in (
        lambda: evaluate(pruned, pruned, games=10),
        lambda: evaluate(pruned, "random"),
        lambda: evaluate(solved(SMALL), pruned),
        lambda: thin(pruned, tmp_path / "new", above=0),
        lambda: prune(pruned, tmp_path / "new", above=0.5),
    ):
        with pytest.raises(UsageError, match="was thinned: name the whole table"):
            use()


def test_a_manifest_of_a_stranger(solved: Callable[..., Path], tmp_path: Path) -> None:
    prune(solved(SMALL), tmp_path / "pruned", above=0.05)
    path = tmp_path / "pruned/manifest.json"
    good = json.loads(path.read_text())

    def open_with(**values: object) -> None:
        sign(path, good | {"thinned": good["thinned"] | values})
        open_table(tmp_path / "pruned").close()

    open_with()
    for bad in ({"least_value": 2}, {"least_value": "1"}, {"least_value": None}, {"least_value": True},
                {"objective": "score"}, {"objective": []}, {"objective": None}):  # fmt: skip
        with pytest.raises(CorruptError):
            open_with(**bad)


# -- while a game is solved ------------------------------------------------------------------------


@pytest.mark.parametrize("game", [SMALL, WIDE, MASKED], ids=str)
def test_solving_above_writes_what_pruning_does(game, solved, tmp_path) -> None:
    prune(solved(game, "win,score"), tmp_path / "pruned", above=0.4)
    solution = solve(game, "win,score", table=tmp_path / "above", above=0.4, threads=1)
    expected = folder_files(tmp_path / "pruned")
    found = folder_files(tmp_path / "above")
    manifests = [json.loads(one.pop("manifest.json")) for one in (expected, found)]
    assert found == expected
    for manifest in manifests:
        manifest["thinned"].pop("table")
        manifest.pop("check")
    assert manifests[0] == manifests[1]
    with open_table(solved(game, "win,score")) as whole:
        assert solution.start == whole.start
    again = solve(game, "win,score", table=tmp_path / "above", above=0.4, threads=1)
    assert (again.start, again.positions, again.complete) == (solution.start, solution.positions, True)


@pytest.mark.parametrize("member", ["sum", "kept", "files", "win"])
def test_a_line_of_another_shape_is_damage(member: str, tmp_path: Path) -> None:
    target = tmp_path / "above"
    solve(WIDE, "win", table=target, above=0.4, threads=1, down_to=30)
    with pytest.raises(WrongGameError, match="belongs to another game or objective"):
        solve(WIDE, "win", table=target, above=0.5, threads=1)
    file = target / "above.jsonl"
    line = json.loads(file.read_text().partition("\t")[0])
    (line["files"] if member == "win" else line).pop(member)
    file.write_text(journal(line))
    with pytest.raises(CorruptError, match=r"above\.jsonl is damaged, or not written by tilebase: it lacks"):
        solve(WIDE, "win", table=target, above=0.4, threads=1)


def test_a_run_holds_few_whole_values(tmp_path: Path) -> None:
    """The whole values of at most the layers that are needed, and of the starts, are on disk at a time."""
    target, most = tmp_path / "above", 0

    def look(_: Progress) -> None:
        nonlocal most
        most = max(most, len(list((target / "work/values").glob("win/*.seg"))))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tilebase.files.solved.RELEASED_BYTES", 1)  # so that a segment holds one layer
        patch.setattr("tilebase.runtime.progress.Pace.due", lambda _: True)
        solve(Game("2x3", 64), "win", table=target, above=0.5, threads=1, progress=look)
    assert 0 < most <= 6
    assert not (target / "work").exists()


def test_a_pruned_table_stays_as_it_is(solved: Callable[..., Path], tmp_path: Path) -> None:
    prune(solved(SMALL), tmp_path, above=0.05)
    before = folder_files(tmp_path)
    for objective, above in (("win", 0.06), ("lower", 0.05), ("win", None)):
        with pytest.raises(WrongGameError, match=r"choose an? \w+ folder"):
            solve(SMALL, objective, table=tmp_path, above=above)
    with pytest.raises(WrongGameError, match="choose a new folder"):
        prune(solved(SMALL), tmp_path, above=0.06)
    assert prune(solved(SMALL), tmp_path, above=0.05).least_value == 0.05
    assert folder_files(tmp_path) == before


def test_the_commands(folder: Path, printed: Callable[..., str]) -> None:
    printed("solve 2x3 32 --above 0.4 -o above -q --threads 1")
    slides = json.loads(printed("probe above 4,8,8/16,8,16 -f json"))["slides"]
    assert ("below", 0.4, True) in [
        tuple(slide["value"].get(name) for name in ("kind", "bound", "reached")) for slide in slides
    ]
    assert "since boards that follow were left out of the table" in printed("verify above --all")
