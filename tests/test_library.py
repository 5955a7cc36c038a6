"""Boards without a table: what the library says, what could be solved, and the first screen."""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from serving import SECONDS, Served, check_accessible, serving, without_errors
from tilebase import Game, formation, formations, open_table, solve
from tilebase.cli import main
from tilebase.cli.library import offer_for_game
from tilebase.errors import BoardError, GameError, StorageError, UsageError
from tilebase.questions import fitting
from tilebase.questions.fitting import catalogue, fit_named, fits, is_board
from tilebase.runtime import system
from tilebase.runtime.resources import Use
from tilebase.tables.large_tiles import large_tiles_of, read_tiles
from tilebase.web import documents
from tilebase.web.collection import Collection

BOARD, SMALL = "0,2,4,0/2,16,8,4/8,128,256,512/1024,2048,4096,8192", "2,4,8/2,0,0"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEBASE_TABLES_DIR", str(tmp_path / "tables"))
    return tmp_path / "tables"


@pytest.mark.parametrize(
    ("board", "names"),
    [
        (BOARD, ["442-256", "442t-256", "444-1024"]),
        ("2,8,4,2/16,4,2,0/256,2048,1024,512/128,4096,8192,16384", ["44-128", "L3-512"]),
        ("4,256,1024,8192/2,64,512,4096/2,32,64,2048/0,4,8,4", ["4421-512", "4431-1024"]),
        ("2,0,0/4,8,2/16,32,64", ["3x3-128", "3x3-256", "3x3-512"]),
        ("[[2, 4], [0, 8]]", ["2x2-16", "2x2-32"]),
        ("1203", ["2x2-16", "2x2-32"]),
        ("2,2/0,0", ["2x2-8", "2x2-16"]),
        ("x x x x/4 8 x x/2 4 2 0/0 2 0 0", ["442-32", "442-64", "442-128", "442t-32", "442-256"]),
    ],
)
def test_the_games_of_a_board(board: str, names: list[str]):
    found = fits(board)
    assert [fit.name for fit in found if not fit.alone][: len(names)] == names
    assert [fit.expected.seconds for fit in found] == sorted(fit.expected.seconds for fit in found)


def test_each_formation_reads_the_board_and_no_larger_goal_or_equal_tiles_if_it_can():
    tiles = read_tiles(Game("4x4", 8), BOARD)
    assert tiles is not None
    for fit in fits(BOARD):
        assert fit.formation is not None
        assert large_tiles_of(fit.game).readings(tiles)
        goal = 2 * fit.goal
        while goal <= fit.formation.largest_goal:
            with pytest.raises(BoardError):
                large_tiles_of(fit.formation.game(goal)).readings(tiles)
            goal *= 2
    assert not any(fit.equal for fit in fits(BOARD))
    equal = fits("0,2,4,0/0,8,16,2/2,4,512,1024/1024,2048,4096,8192")
    assert equal
    assert all(fit.equal for fit in equal)
    two = "4,256,1024,8192/2,64,512,4096/2,32,64,2048/0,4,8,4"
    assert {fit.name for fit in fits(two)}.isdisjoint({"free8-64", "free8-32"})


@pytest.mark.parametrize(
    ("board", "why"),
    [
        ("0x123", "write its rows"),
        ("hello", "write its rows"),
        ("2,4/8", "row 1 of the board has 2 cells and row 2 has 1"),
        ("3,4/0,8", "3"),
        ("{}", "not a board in JSON"),
        (5, "write its rows"),
        (None, "write its rows"),
    ],
)
def test_other_words_are_refused(board: Any, why: str):
    with pytest.raises(BoardError, match=why):
        fits(board)


def test_words_that_are_boards():
    assert all(map(is_board, ("2,4/0,8", "2 4/. 8", "120300000", "[[2,4],[0,8]]", "x,2/0,4")))
    others = ("3x3-512/", "442", "tables/2x2", "game.json", "", "win", "3x3", "a/b", "1024", "face")
    assert not any(map(is_board, (*others, *(one.name for one in formations()))))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["explain", "4431"], "4431 (formation)"),
        (["plan", "--formation", "442", "1024"], "count"),
        (["plan", "2x2", "1024", "--anyway"], ""),
    ],
)
def test_goals_and_formations_of_four_digits_are_no_boards(command, said, capsys) -> None:
    assert main(command) == (0 if said else 2)
    printed = capsys.readouterr().out
    assert said in printed
    assert "would hold the board" not in printed


def test_names_of_tables():
    assert all(fit_named(fit.name) == fit for fit in catalogue())
    assert len({fit.name for fit in catalogue()}) == len(catalogue())
    for name, error, why in (
        ("44-16-ffff", BoardError, "is not a tile"),
        ("2x3-32-fff000", GameError, "start"),
        ("2x3-32-", UsageError, "does not name a table"),
    ):
        with pytest.raises(error, match=why):
            fit_named(name)


@pytest.mark.parametrize(
    ("board", "name"),
    [("0,2,2,0/2,0,0,4/16,256,32,64/128,512,2048,1024", "44-16"), ("2,4,8/2,0,0", "2x3-32")],
)
def test_a_table_of_the_board_alone(
    board: str, name: str, library: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """It says of the board what the whole table says, and is found by its command and by its name."""
    monkeypatch.setattr(fitting, "ALONE_SECONDS", 0.0)
    monkeypatch.setattr(fitting, "_found", lambda _: [fit_named(name)])
    alone, whole = fits(board)
    assert (alone.alone, whole.alone, fit_named(alone.name)) == (True, False, alone)
    assert alone.expected.upper
    assert alone.expected.seconds <= whole.expected.seconds
    command = alone.command(library)
    assert main(["probe", board]) == 1
    assert command in capsys.readouterr().out
    assert main(shlex.split(command)[1:]) == 0
    assert f"from {alone.game.start}" in capsys.readouterr().out or not alone.formation
    solve(whole.game, table=library / name)
    with open_table(library / alone.name) as first, open_table(library / name) as other:
        one, two = first.probe(board), other.probe(board)
        assert first.manifest.counts["afterstates"] < other.manifest.counts["afterstates"]
    assert (one.value, one.best) == (two.value, two.best)


# -- on the command line -----------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["probe", "plan", "explain", "play"])
def test_a_board_alone_finds_what_to_solve(command: str, library: Path, capsys, monkeypatch):
    assert main([command, BOARD]) == (command in ("probe", "play"))
    printed = capsys.readouterr()
    assert f"within a minute: tilebase solve --formation 442 256 -o {library}/442-256" in printed.out
    assert not printed.err
    monkeypatch.setattr(system, "load", lambda: 1e9)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=3e8))
    assert main(["probe", BOARD]) == 1
    printed = capsys.readouterr()
    assert re.search(r"444-1024 \(needs .*\nThe first: tilebase solve --formation 442 256", printed.out)


def test_the_library_answers(library: Path, capsys: pytest.CaptureFixture[str], printed: Callable[..., str]):
    first = json.loads(printed(f"plan {BOARD} -f json"))[0]
    assert (first["formation"], first["goal"], first["problem"]) == ("442", 256, "")
    assert first["disk"] == int(fits(BOARD)[0].expected.disk)
    for goal in (16, 32):
        solve(Game("2x3", goal), table=library / f"2x3-{goal}")
    shown = printed(f"probe {SMALL}")
    assert "2x3-16: 2x3, to 16" in shown
    with open_table(library / "2x3-32") as table:
        answer = table.probe(SMALL)
    assert f"2x3-32: 2x3, to 32\nprobability to win: {answer.value}" in shown
    assert main(["play", SMALL, "--auto", "--delay", "0", "--seed", "1"]) == 0
    assert "2x3-32" in capsys.readouterr().err  # the larger goal


def test_a_game_is_reviewed_by_the_library(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], printed: Callable[..., str]
):
    game = tmp_path / "game.txt"
    game.write_text("2,4,8/2,0,0\n2,0,0/4,4,8\n")
    assert main(["review", str(game)]) == 1
    assert f"your library {library} has no table" in capsys.readouterr().err
    game.write_text(f"{BOARD}\n")
    assert main(["review", str(game)]) == 1
    assert f"tilebase solve --formation 442 256 -o {library}/442-256" in capsys.readouterr().out
    game.write_text("2,4,8/2,0,0\n2,0,0/4,4,8\n")
    solve(Game("2x3", 16), table=library / "2x3-16")
    assert printed(f"review {library} {game}") == printed(f"review {game}")
    assert " 100.0 %" in offer_for_game([SMALL, BOARD] * 40)  # every second of 80 positions is looked at


@pytest.fixture
def served(library: Path) -> Iterator[Served]:
    with serving() as found:
        yield found


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_page_solves_into_the_library(served: Served, library: Path):
    known = served.get("/api/library").json
    assert known["folder"] == str(library)
    asked = {"name": "2x3-32", "token": known["token"]}
    wrong = served.post("/api/solve", {**asked, "token": "no"})
    assert (wrong.status, "load the page again" in wrong.json["detail"]) == (400, True)
    foreign = served.ask("POST", "/api/solve", json.dumps(asked).encode(), {"Origin": "http://elsewhere"})
    assert foreign.status == 403
    own = library.parent / "OWN.TOML"
    own.write_text('name = "../../x"\nstarts = ["2,0,0/0,2,x"]\n')
    for name in ("../2x3-32", "nothing-32", "2x3-33", "2x3", "a.toml-32", f"{own}-32"):
        assert served.post("/api/solve", {**asked, "name": name}).status == 400
    assert not library.exists()
    assert served.post("/api/solve", asked).json["state"] == "solving"
    until(lambda: served.get("/api/answers", board=SMALL).json["answers"] != [])
    [answer] = served.get("/api/answers", board=SMALL).json["answers"]
    with open_table(library / "2x3-32") as table:
        expected = table.probe(SMALL)
    assert (answer["table"], answer["value"]["text"], answer["best"]) == (
        "2x3-32", str(expected.value), list(expected.best)
    )  # fmt: skip
    assert "solved already" in served.post("/api/solve", asked).json["detail"]
    listed = served.get("/api/library").json
    found = {one["name"] for one in listed["tables"] if one["state"] != "new"}
    assert found == set(listed["kept"]) == {"2x3-32"}
    outside = library.parent / "outside"
    solve(Game("2x2", 16), table=outside)
    (library / "linked").symlink_to(outside)
    other = served.ask("POST", "/api/delete", json.dumps(asked).encode(), {"Origin": "http://elsewhere"})
    assert other.status == 403
    for name, token, why in [
        ("2x3-32", "no", "load the page again"), ("linked", known["token"], "is a link"),
        ("../outside", known["token"], "the library has no table"), (".", known["token"], "no table"),
    ]:  # fmt: skip
        assert why in served.post("/api/delete", {"name": name, "token": token}).json["detail"]
    assert (outside / "manifest.json").exists()
    assert served.post("/api/delete", asked).json == {"deleted": True}
    assert not (library / "2x3-32").exists()
    assert "2x3-32" not in [one["name"] for one in served.get("/api/tables").json["tables"]]


def test_solving_stops_and_goes_on(served: Served, library: Path):
    token = served.get("/api/library").json["token"]
    asked = {"name": "3x3-1024", "token": token}
    assert served.post("/api/solve", asked).status == 200
    again = served.post("/api/solve", {**asked, "name": "2x2-32"})
    assert "another game is being solved" in again.json["detail"]
    until(lambda: (library / "3x3-1024/counts.jsonl").exists())
    assert served.post("/api/stop", {"token": token}).json == {"stopping": True}

    def state(name: str) -> str:
        tables = served.get("/api/tables").json["tables"]
        return str(next(one["state"] for one in tables if one["name"] == name))

    until(lambda: "3x3-1024" not in [one["name"] for one in served.get("/api/tables").json["tables"]])
    assert served.get("/api/library").json["failed"] is None
    assert list(served.get("/api/library").json["kept"]) == ["3x3-1024"]
    listed = served.get("/api/library").json["tables"]
    assert next(one["state"] for one in listed if one["name"] == "3x3-1024") == "begun"
    assert served.post("/api/solve", {**asked, "name": "2x2-32"}).status == 200
    until(lambda: state("2x2-32") == "ready")
    assert served.post("/api/solve", asked).json["state"] == "solving"
    assert "no table" in served.post("/api/delete", asked).json["detail"]  # while it is being solved
    assert served.post("/api/stop", {"token": token}).status == 200
    until(lambda: "3x3-1024" in served.get("/api/library").json["kept"])
    assert served.post("/api/delete", asked).json == {"deleted": True}
    assert not (library / "3x3-1024").exists()


def test_what_fails_is_said_until_the_next_solve_and_what_the_disk_cannot_hold(library, monkeypatch):
    def full(*_: Any, **__: Any) -> None:
        raise StorageError("no space is left")

    monkeypatch.setattr("tilebase.questions.solve.solve", full)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=3e8))
    with closing(Collection([], library, Use())) as collection:
        fit = fit_named("2x2-32")
        collection.begin(fit.name, fit.game)
        until(lambda: not collection.solving)
        listed = documents.library(collection)
        assert (collection.entries, listed["failed"]) == ({}, "2x2-32: no space is left")
        problems = {one["name"]: one["problem"] for one in listed["tables"]}
        assert problems["442-256"] is None
        assert problems["442-512"].endswith(" MB of disk")


def test_named_tables_only_answer(library: Path):
    table = library.parent / "2x2-16"
    solve(Game("2x2", 16), table=table)
    with serving(table) as served:
        known = served.get("/api/library").json
        assert (known["folder"], known["token"]) == (None, None)
        for what in ("solve", "delete"):
            assert served.post(f"/api/{what}", {"name": "2x2-16", "token": "x"}).status == 400
        assert not library.exists()
        assert (table / "manifest.json").exists()


@pytest.fixture
def page(tab: Page, served: Served) -> Iterator[Page]:
    tab.set_viewport_size({"width": 390, "height": 844})
    with without_errors(tab, served.address):
        yield tab


def test_from_a_board_to_the_best_slide_and_what_others_take(page: Page, served: Served, library: Path):
    waiting: list[Route] = []
    page.route("**/api/library", lambda route: waiting.append(route))
    page.goto(served.address)
    page.get_by_label("Your board").fill("2 4 8\n2 0 0")
    page.get_by_role("button", name="Find tables").click()
    offer = page.locator(".offer", has_text="2x3-32")
    expect(offer).to_be_visible()
    expect(offer.locator("code, button")).to_have_count(0)  # nobody knows yet whether the page may solve
    waiting[0].continue_()
    page.unroute("**/api/library")
    expect(page.get_by_text(f"Tables lie in {library}.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    check_accessible(page)
    offer.get_by_role("button", name="Solve").click()
    answer = page.locator(".offer", has_text="probability to win, by 2x3-32")
    with_slide = answer.locator(".answer")
    expect(with_slide).to_be_visible(timeout=1000 * SECONDS)
    with open_table(library / "2x3-32") as table:
        best = table.probe(SMALL).best
    expect(with_slide).to_have_text(" or ".join(best).capitalize())
    buttons = [answer.get_by_role("link", name=name).bounding_box() for name in ("Train", "Play")]
    assert len({box and box["y"] for box in buttons}) == 1
    answer.get_by_role("link", name="Play").click()
    expect(page.locator(".slide.best")).to_have_count(len(best))
    page.get_by_role("link", name="first page").click()
    page.get_by_label("Only tables named").fill("2X4")
    expect(page.locator(".family, .here li")).to_have_count(1)
    page.get_by_label("Only tables named").fill("2x3")
    page.get_by_role("button", name="Delete 2x3-32").click()  # it asks, and hears no
    assert (library / "2x3-32").exists()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete 2x3-32").click()
    expect(page.locator(".here")).to_have_count(0)
    assert not (library / "2x3-32").exists()
    page.get_by_label("Only tables named").fill("442")
    family = page.locator(".family", has_text="442").first
    family.locator("summary").click()
    family.get_by_role("button", name="256").click()
    size = next(fit for fit in catalogue() if fit.name == "442-256")
    expect(family).to_contain_text(f"{100 * (size.chance or 0):.1f} % to win from its start")
    expect(family.get_by_role("button", name="Solve")).to_be_enabled()
    assert formation("442").free_cells == 10
    expect(family).to_contain_text("10 free cells")
    check_accessible(page)
