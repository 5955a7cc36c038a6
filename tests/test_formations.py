"""Formations: the catalogue, the games that follow, files of one's own, sizes of tables, the command line."""

from __future__ import annotations

import json
import re
import runpy
from math import exp, log, sqrt
from pathlib import Path

import pytest

from facts import facts
from tilebase import Formation, Game, formation, formations, open_table, solve
from tilebase.claims.facts import read_claims
from tilebase.cli import main
from tilebase.cli.plan import GOALS, brief
from tilebase.costs.shares import measured, shares_of_tables, table_share
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import GameError, StorageError
from tilebase.game.formations import MOST_BYTES
from tilebase.game.names import title_of
from tilebase.questions.fitting import Fit, fit_named, tables_of
from tilebase.questions.reproduce import judge
from tilebase.small import oracle

NAMES = [one.name for one in formations()]
SMALL = """
masks = [".../..x/.xx"]
goal_cells = ".../.x./..."
starts = ["2,0,0/0,0,x/0,x,x", "0,0,0/0,0,x/4,x,x"]
extra = 12
"""
WIDE = """
masks = "..../..../..xx|..../...x/...x"
starts = '''
2 . . .
. . . .
. . x x
'''
horizon = 40
"""


@pytest.fixture
def own(tmp_path):
    def write(text, name="own.toml"):
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    return write


def test_the_catalogue_has_26_formations_with_different_names():
    assert len(NAMES) == len({name.lower() for name in NAMES}) == 26
    assert NAMES[:3] == ["L3", "L3f", "442"]
    more_x = [one.name for one in formations() if one.masks and len(one.x_cells) > one.masks[0].count("x")]
    assert more_x == ["4432f", "4442ff", "4442f"]


@pytest.mark.parametrize("name", NAMES)
def test_each_formation_is_a_game_whose_identity_is_read_back(name):
    one = formation(name)
    goal = max(128, one.least_goal)
    for game in (one.game(goal), one.game(goal, at_least=True), one.game(goal_sum=one.start_sum + 60)):
        assert Game.from_identity(game.identity) == game
        assert len(game.start_afters) == len(one.starts)
        assert game.free_cells == one.free_cells
    assert one.game(goal).horizon == one.start_sum + 2 * (goal // 2 + one.extra - 2)
    game = one.game(goal)
    assert {game.sum(after) for after in game.start_afters} == {one.start_sum}
    for after in game.start_afters:
        assert game.stands(after)
        assert after.count(game.x) == 16 - one.free_cells - len(one.walls)
    for pattern in game.patterns:
        (cell,) = [cell for cell, exponent in enumerate(pattern) if exponent]
        assert cell not in game.held


@pytest.mark.parametrize("name", NAMES)
def test_the_least_and_the_largest_goal_are_the_ends(name):
    one = formation(name)
    for goal in (one.least_goal, one.largest_goal):
        assert one.game(goal).can_win
    for goal in (one.least_goal // 2, one.largest_goal * 2):
        with pytest.raises(GameError, match=f"from {one.least_goal} to {one.largest_goal}, not {goal}"):
            one.game(goal)


def test_names_are_found_in_any_case_and_near_names_are_proposed():
    assert formation(" ll ") is formation("LL")
    with pytest.raises(GameError, match="tilebase plan formations lists them"):
        formation("corner")


def test_the_pictures_are_those_of_the_catalogue():
    made = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "make-drawings"))
    for one in formations():
        name = f"formation-{one.name}"
        assert (made["FOLDER"] / f"{name}.svg").read_text("utf-8") == made["DRAWINGS"][name]()


def test_a_goal_on_some_cells_is_a_pattern_and_at_least_adds_the_larger_tiles_below_the_horizon(own):
    assert formation("L3").game(128).goal == 128
    game = formation("442").game(128)
    assert (game.goal, game.pattern) == (None, "*,*,*,*/*,*,*,*/*,128,*,*/*,*,*,*")
    one = formation("LL")
    assert len(one.game(128).patterns) == 4
    assert len(one.game(128, horizon=1000, at_least=True).patterns) == 4 * 3  # 128, 256, 512
    assert one.game(128, horizon=300, at_least=True).pattern.count("256") == 4
    assert formation("L3").game(128, at_least=True) == formation("L3").game(128)
    with pytest.raises(GameError, match="at least is for a goal tile"):
        one.game(goal_sum=100, at_least=True)
    small = formation(own(SMALL.replace(".../.x./...", "x../.../...").replace("extra = 12", "extra = 40")))
    equal, more = (float(solve(small.game(8, at_least=more)).value) for more in (False, True))
    assert 0 < equal < more < 1


def test_steps_and_horizon_say_the_same():
    one = formation("44")
    assert one.game(32, steps=64) == one.game(32) == one.game(32, horizon=126)
    with pytest.raises(GameError, match="name one of the two"):
        one.game(32, steps=64, horizon=126)
    game = one.game(goal_sum=64)
    assert (game.goal, game.pattern, game.goal_sum, game.horizon) == (None, None, 64, None)


def test_the_published_value_of_44_to_32():
    (fact,) = [one for one in read_claims("endgames") if one.quantity.quantity == "value_of_the_start"]
    assert judge(fact, 60.0).verdict == "within rounding"
    (line,) = facts("formations.tsv", quantity="value_of_the_start")
    solution = solve(formation(line["formation"]).game(int(line["goal"])))
    assert abs(float(solution.value) - float(line["value"])) < 2e-15


@pytest.mark.slow  # 35 seconds of plain rules
def test_the_published_numbers_of_boards():
    counted = [one for one in read_claims("endgames") if one.quantity.quantity != "value_of_the_start"]
    assert [judge(fact, 60.0).verdict for fact in counted] == ["agrees", "agrees"]


@pytest.mark.parametrize("name", NAMES)
def test_a_game_of_a_formation_is_named_by_its_rules(name):
    """Nothing holds the name: a game with the same rules, as a table has it, gets it."""
    one = formation(name)
    goal, most = one.least_goal, one.largest_goal
    longer = one.game(goal).horizon + 2
    cases = {
        f"formation {name}, to {goal}": one.game(goal),
        f"formation {name}, to {most}, spawn 1/5": one.game(most, spawn="1/5"),
        f"formation {name}, to {goal}, until the sum {longer}": one.game(goal, horizon=longer),
        f"formation {name}, to the sum {one.start_sum + 8}": one.game(goal_sum=one.start_sum + 8),
    }
    for words, game in cases.items():
        assert title_of(game) == title_of(Game.from_identity(game.identity)) == words
        assert str(game).startswith(f"{game.shape_text}, ")


def test_a_game_that_only_resembles_a_formation_is_written_with_all_rules(own):
    game = formation("442").game(128)
    assert title_of(formation("442").game(128, at_least=True)) == "formation 442, to 128"  # no time for more
    assert title_of(formation("442").game(64, at_least=True)) == "formation 442, to 64 or more"
    assert "on the mask ..../..../..xx/xxxx" in str(game)
    for other in (
        game.changed(horizon=None),
        game.changed(goal=128, pattern=None),
        game.changed(start=game.start.split("|")[0]),
        game.changed(masks="..../..../..xx/xxx.", pattern=None, goal=64),
        formation(own(SMALL)).game(16),
    ):
        assert title_of(other) == str(other)


def test_walls_are_another_rule_than_a_mask(own):
    strict = 'masks = ".../.../.xx"\nstarts = "0,0,0/0,0,0/0,x,x"\nextra = 2000\n'
    by_rule = solve(formation(own(strict)).game(32)).value
    walls = solve(Game("3x3", 32, start="after 0,0,0/0,0,0/0,#,#", walls=(7, 8))).value
    assert float(by_rule) < 0.95 < 0.99999 < float(walls)


@pytest.mark.parametrize("space", ["reachable", "all"])
def test_the_value_of_each_start_board(tmp_path, space):
    starts = "after 2,0,0/0,0,0|2,4,0/0,0,0"
    game = Game("2x3", 32, start=starts)
    solution = solve(game, "win,lower,guaranteed,score", table=tmp_path / "t", space=space)
    values = {
        text: float(oracle.values(Game("2x3", 32, start=f"after {text}")).start)
        for text in ("2,0,0/0,0,0", "2,4,0/0,0,0")
    }
    assert list(solution.starts_by_board) == list(values)
    for text, value in values.items():
        found = solution.starts_by_board[text]
        assert float(found["win"]) == pytest.approx(value, abs=1e-12)
        assert value - 1e-12 < float(found["lower"]) <= value + 1e-15
    mean = sum(float(found["win"]) for found in solution.starts_by_board.values()) / 2
    assert float(solution.value) == pytest.approx(mean, abs=1e-15)
    assert json.dumps(solution.as_dict())
    hash(solution.start)
    assert solve(game.changed(start="after 2,0,0/0,0,0"), space=space).starts_by_board == {}
    if space == "reachable":
        with open_table(tmp_path / "t") as table:
            after = game.start_afters[1]
            stored = table.prober.afterstate(after, table.objectives[0])
        assert float(stored) == pytest.approx(values["2,4,0/0,0,0"], abs=1e-12)


def test_a_formation_of_ones_own(own):
    small = formation(own(SMALL))
    assert (small.name, small.shape, small.free_cells, small.category) == ("own", (3, 3), 6, "own")
    game = small.game(16)
    assert game.horizon == 4 + 2 * (8 + 12 - 2)
    assert float(solve(game).value) == pytest.approx(float(oracle.values(game).start), abs=1e-12)
    wide = formation(str(own(WIDE, "Wide.TOML")))
    assert (wide.name, wide.shape, wide.masks[1]) == ("Wide", (3, 4), "..../...x/...x")
    assert wide.wins_anywhere
    assert wide.game(16).horizon == 40
    assert wide.largest_goal == 32
    with pytest.raises(GameError, match="from 8 to 32, not 64"):
        wide.game(64)
    for end, walls in (("#,#", (7, 8)), ("x,x", ())):
        game = formation(own(f'starts = "2,0,0/0,0,0/0,{end}"')).game(16)
        assert (game.walls, game.masks) == (walls, ())


@pytest.mark.parametrize("text", ["extra = -1000", "horizon = 2"])
def test_a_formation_without_time_for_a_goal(own, capsys, text):
    path = own(f"starts = ['2,0/0,x']\n{text}")
    with pytest.raises(GameError, match="can make no goal"):
        formation(path).game(16)
    assert main(["plan", "--formation", str(path), "16"]) == 2
    assert "can make no goal" in capsys.readouterr().err


def test_boards_of_other_sizes_are_sized(own, printed):
    row = "0,0,0,0,0/"
    large = formation(str(own(f"starts = ['2,0,0,0,0/{row}{row}0,0,0,0,x']")))
    assert [size.goal for size in tables_of(large)][-2:] == [32, 64]
    small = str(own("starts = ['02,0/0,x']"))
    assert "on 2,0/0,x\n" in printed(f"explain {small}")
    assert "ends at the sum 40." in printed("explain", str(own(WIDE, "wide.toml")))
    assert [size.goal for size in tables_of(formation(small))][-1] == 16


BAD = {
    "masks = [1]\nstarts = ['2,0/0,x']": "masks must be texts",
    "masks = ['../.x']": "starts are missing",
    "starts = ['2,0/0,x']\nmask = '../.x'": "'mask' is not a key of a formation",
    "starts = ['2,0/0,x']\nmasks = ['.../..x']": "is not 2x2, as the first start board is",
    "starts = ['2,0/0,x']\nmasks = ['../.y']": "is not a mask: write x and .",
    "starts = ['2,0/0,x']\ngoal_cells = ['x./..', '../..']": "goal_cells must be one picture",
    "starts = ['2,0/0,x']\nmasks = ['../.x']\ngoal_cells = '../.x'": "no goal cell",
    "starts = ['2,0/0']": "differ in length",
    "starts = ['2,0/0,y']": "'y' is not a tile",
    "starts = ['2,0/0,3']": "not a power of two",
    "starts = ['2,0/0,x', '2,0/x,x']": "unmergeable tile",
    "starts = ['2,0/x,0']\nmasks = ['../.x']": "cell 3 must hold an x",
    "starts = ['2,0/x,0']\nmasks = ['../.x', '.x/..']": "do not cover a mask",
    "starts = [' / / ']": "has no cells",
    "starts = ['2']": "is full: leave a cell for a spawn",
    "starts = ['\uff12,0/0,x']": "is not a tile",
    "starts = ['2,0/0,x']\nextra = 'many'": "extra is 'many'",
    "starts = ['2,0/0,x']\nextra = 10\nhorizon = 20": "contradict each other",
    "starts = ['2,0/0,x']\nname = ''": "name must be a text",
    "starts = [": "is not a formation in TOML",
    "a = " + "[" * 5000 + "]" * 5000: "is not a formation in TOML",
    "a = " + "9" * 5000: "TOML|is not a key",
    f"starts = ['{'0,' * 4000}x']": "at most 32",
    "# " + "x" * MOST_BYTES: "a formation is a few lines",
}


@pytest.mark.parametrize("text", BAD, ids=[text[:40] for text in BAD])
def test_bad_files_give_one_sentence(own, text):
    with pytest.raises(GameError, match=BAD[text]) as caught:
        formation(own(text))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1200


def test_files_that_cannot_be_read(tmp_path):
    for missing in (tmp_path / "missing.toml", tmp_path.with_suffix(".toml")):
        with pytest.raises(StorageError, match="cannot read"):
            formation(missing)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(GameError, match="is not a formation in TOML"):
        formation(tmp_path / "bytes.toml")
    with pytest.raises(GameError, match="has no start board"):  # nor is a formation without a file
        Formation("x", "own", (), "xx/xx", ())


def test_measured_tables_have_the_boards_of_their_games(own):
    """What a file describes was never measured."""
    text = 'name = "442"\nmasks = "..../..../..xx/xxxx"\nstarts = "2,0,0,0/0,0,0,0/4,2,x,x/x,x,x,x"\n'
    assert not Fit(formation(own(text)).game(128), 128, formation(own(text))).measured
    size = fit_named("44-64")
    assert (size.measured, size.positions_text) == (True, "114,194")
    assert len(measured()) >= 30
    for (name, goal), line in measured().items():
        assert line.boards == sum(boards_by_sum(formation(name).game(goal)).values()), (name, goal)


def test_estimates_are_marked_and_grow_with_the_goal():
    for one in formations():
        sizes = list(tables_of(one))
        assert [size.positions for size in sizes] == sorted(size.positions for size in sizes)
        assert [size.boards for size in sizes] == sorted(size.boards for size in sizes)
        for size in sizes:
            assert size.positions <= size.boards
            assert size.positions_text.startswith("~") != size.measured


@pytest.mark.parametrize(("further", "usual", "most"), [(1, 1.2, 2.15), (3, 1.5, 3.05), (None, 1.8, 2.7)])
def test_expected_errors_of_estimates(further, usual, most):
    """Each table from smaller goals of its formation, by so many doublings, or from other formations."""
    errors = []
    for (name, goal), line in measured().items():
        near = 0 if further is None else goal >> further
        others = {key: one for key, one in measured().items() if key[0] != name or key[1] <= near}
        if further is None or any(key[0] == name for key in others):
            anywhere = formation(name).wins_anywhere
            share = table_share(shares_of_tables(others), name, anywhere, goal)
            exact = shares_of_tables({(name, goal): line})[name][goal]
            errors.append(abs(log(share / exact)))
    assert len(errors) >= 8
    assert exp(max(errors)) < most
    assert exp(sqrt(sum(error**2 for error in errors) / len(errors))) < usual


def test_the_engine_refuses_what_the_list_calls_refused():
    size = fit_named("free12-1024")
    assert not size.possible
    assert size.time_text(2) == "refused"
    assert fit_named("free12-512").possible


def test_one_goal_of_one_formation(printed):
    found = {one["formation"]: one for one in json.loads(printed("plan formations 64 -f json"))}
    assert found.keys() == set(NAMES) - {"3x405"}
    assert found["L1"]["goal"] == 64
    # As docs/formations.md solves it.
    assert found["L1"]["chance"] == pytest.approx(0.990459913394, abs=1e-12)
    told = {one["what"] for one in json.loads(printed("plan --formation L1 64 -f json"))}
    assert told >= {"count", "solve for win, no table"}
    assert "Best to" not in printed("plan formations 16"), "no table to 16 was solved"
    times = [brief(seconds) for seconds in (0.2, 80, 91, 5000, 90000, 1e9)]
    assert times == ["1 s", "80 s", "2 min", "83 min", "25 h", "32 y"]


def test_a_formation_has_a_certificate(tmp_path, printed):
    for name, goal, verdict in (("44", "8", "cannot"), ("442t", "16", "cannot"), ("free10", "16", "can")):
        proof = str(tmp_path / name)
        assert main(["force", "--formation", name, goal, "-q", "--threads", "1", "-c", proof]) == 0
        said = printed(f"verify {proof} -q")
        game = formation(name).game(int(goal))
        assert f"the player {verdict} force the " in said
        assert f"with {len(game.unmergeable)} movable tiles x that never merge" in said
        assert f"in the game that ends at the sum {game.horizon} against every spawn of 2s and 4s" in said
        masks = " or ".join(game.masks_text.split("|"))
        assert not game.masks or f" {masks} after each slide" in said


def test_the_list_has_a_row_for_each_formation_and_a_column_for_each_goal(printed):
    legend, table, walls = printed("plan formations").split("\n\n")
    head, *lines = table.splitlines()
    assert next(line for line in lines if line.startswith("442 ")).split()[3:7] == ["72.2", "%", "to", "512"]
    assert legend.splitlines()[0].endswith("tilebase plan formations 128")
    assert walls.startswith("In 2x4, 3x3, 3x4, 3x405 the other cells are walls: ")
    assert [line.split()[0] for line in lines] == NAMES
    assert [word for word in head.split() if word.isdecimal()] == [str(goal) for goal in GOALS]


def test_the_best_for_a_goal_is_named(printed):
    shown = printed("plan formations 128 --threads 2")
    lines = shown.splitlines()
    names = [line.split()[0] for line in lines[1 : lines.index("")]]
    assert names[:4] == ["L1", "44", "442", "L3"], "the soonest first"
    assert names[-3:] == ["2x4", "3x3", "3x4"], "walled games last"
    assert "not known: solve takes" in next(line for line in lines if line.startswith("4432 "))
    (best,) = (
        line for line in lines if line.startswith("Best to 128 on this machine, by the known chance to win")
    )
    named = re.findall(r"(\w+) \(", best)
    known = {key: one.win for key, one in measured().items()}
    chances = [known[name, 128] for name in named]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] == max(known[name, 128] for name in NAMES if known.get((name, 128)) and name != "3x3")
    assert not {"2x4", "3x3"} & set(named), "walled games are no formations of the real one"
