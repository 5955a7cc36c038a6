"""The explorer's page in a real browser: what a person does with keys, fingers and a screen reader.

The browser is Debian's Chromium, which scripts/test installs.  The rules in Python and the tables
themselves say what the page must show.
"""

from __future__ import annotations

import csv
import itertools
import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from serving import SECONDS, Served, check_accessible, serving, until, without_errors
from tilebase import force, formation, open_table, solve
from tilebase.game.board import FILLS, Board
from tilebase.game.game import Game
from tilebase.objectives.objective import MEANINGS
from tilebase.objectives.values import sort_key
from tilebase.tables.probe import Table

GAME = Game("3x3", 64)
PLAY = "?table=3x3-64"
BOARD = "2,4,8/16,32,2/0,4,2"
FILES = Path(__file__).parents[1] / "src/tilebase/web/explorer"
KEY = f"0x{Board.parse(GAME, '2,0,4/0,8,0/0,0,2').key:x}"
ALLOWED = ".slide:not([aria-disabled=true])"
WORSE = ".slide:not(.best):not([aria-disabled=true])"
KEYS = {"left": "ArrowLeft", "right": "ArrowRight", "up": "ArrowUp", "down": "ArrowDown"}
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables of several types, certificates, and a damaged table."""
    folder = tmp_path_factory.mktemp("page")
    solve(GAME, "win,score", table=folder / "3x3-64")
    solve(Game("2x2", 32), "lower,upper,score", table=folder / "2x2-32")
    solve(Game("2x2x2", 16, walls=[7]), table=folder / "box")
    solve(formation("44").game(32), table=folder / "44-32")
    (folder / "damaged").mkdir()
    (folder / "damaged/manifest.json").write_text("{")
    force(Game("3x3", 8, start="empty"), certificate=folder / "forced.cert")
    force(Game("2x2", 16, start="empty"), certificate=folder / "refuted.cert")
    return folder


@pytest.fixture(scope="module")
def served(tables: Path) -> Iterator[Served]:
    certificates = [tables / "forced.cert", tables / "refuted.cert"]
    folders = [tables / name for name in ("3x3-64", "2x2-32", "box", "44-32", "damaged")]
    with serving(*folders, *certificates) as server:
        yield server


@pytest.fixture(scope="module")
def table(tables: Path) -> Iterator[Table]:
    with open_table(tables / "3x3-64") as opened:
        yield opened


WIDE = ViewportSize(width=1280, height=720)
PHONE = ViewportSize(width=390, height=844)


EMPTY = """() => new Promise((done) => {
  localStorage.clear();
  sessionStorage.clear();
  const asked = indexedDB.deleteDatabase("tilebase");
  asked.onsuccess = asked.onerror = asked.onblocked = done;
})"""


@pytest.fixture
def visit(browser: Browser, served: Served, tab: Page) -> Iterator[Open]:
    """Open a page of the server, as a browser does that was never there.

    With `like`, it is a second tab beside this one.  The test fails on errors in the page, and on requests to
    other hosts.
    """
    opened: list[Page] = []

    def emptied(viewport: ViewportSize) -> Page:
        tab.goto(served.address + "vendor/htm-preact.LICENSE")  # of the same origin, and without scripts
        tab.evaluate(EMPTY)
        tab.set_viewport_size(viewport)
        tab.emulate_media(color_scheme="light")
        return tab

    def visit(
        query: str = PLAY, *, like: Page | None = None, viewport: ViewportSize = WIDE, touch: bool = False
    ) -> Page:
        if touch:
            page = browser.new_page(has_touch=True, viewport=viewport, reduced_motion="reduce")
            page.set_default_timeout(1000 * SECONDS)
        else:
            page = like.context.new_page() if like else emptied(viewport)
        if page not in opened:
            pages.enter_context(without_errors(page, served.address))
            opened.append(page)
        page.goto(served.address + query)
        return page

    with ExitStack() as pages:
        yield visit
    for page in opened:
        page.unroute_all(behavior="ignoreErrors")
        if page is not tab:
            page.close()


@pytest.fixture
def play(visit: Open) -> Open:
    """As `visit`, a game from a board, or from a start, with its values."""

    def play(board: str | None = None, **options: Any) -> Page:
        page = visit(PLAY if board is None else at(board), **options)
        ready(page)
        return page

    return play


# -- reading the page ----------------------------------------------------------------------------------


def shown(page: Page) -> list[str]:
    """The words of the cells of the large board, as a screen reader reads them."""
    words = page.locator(".board [role=cell] .hidden").all_inner_texts()
    return [word.rpartition(": ")[2] for word in words]


def words_of(board: str) -> list[str]:
    names = {"0": "empty", "#": "wall", "x": "large tile"}
    return [names.get(word, word) for word in re.split("[,/]", board)]


def shows(page: Page, words: list[str]) -> None:
    """Wait until the large board has these words in its cells."""
    cells = page.locator(".board [role=cell] .hidden")
    expect(cells).to_have_text([re.compile(rf"(^|: ){re.escape(word)}$") for word in words])


def address(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def at(board: str, query: str = PLAY) -> str:
    return f"{query}&board={quote(board)}"


def ready(page: Page) -> None:
    """Wait until the values of the position are here."""
    expect(page.locator(".slides[aria-busy=false] .slide").first).to_be_visible()


def board(page: Page) -> str:
    """The board of a 3x3 game as text."""
    words = [{"empty": "0", "wall": "#", "large tile": "x"}.get(word, word) for word in shown(page)]
    return "/".join(",".join(words[row : row + 3]) for row in (0, 3, 6))


def addressed(page: Page, board: str) -> None:
    """Wait until the address names a board."""
    until(page, "board => new URL(location).searchParams.get('board') === board", arg=board)


def moved(page: Page, move: int) -> None:
    """Wait until the game is at a move, and its values are here."""
    expect(fact(page, "Move")).to_have_text(str(move))
    ready(page)


def slide_key(page: Page, direction: str) -> str:
    """Press the key of a slide; return the board afterwards."""
    move = int(number(page, "Move"))
    page.keyboard.press(KEYS[direction])
    moved(page, move + 1)
    return board(page)


def click_slide(page: Page, slides: str) -> None:
    """Click the first of these slides; wait until the game is one move further."""
    move = int(number(page, "Move"))
    page.locator(slides).first.click()
    moved(page, move + 1)


def fact(page: Page, name: str) -> Locator:
    """The number beside a name."""
    return page.locator(f".facts div:has(dt:text-is('{name}')) dd").first


def number(page: Page, name: str) -> str:
    """The number of a fact as it is now."""
    return fact(page, name).inner_text()


def accessible(page: Page) -> None:
    """Assert of the view that is shown that axe finds nothing, light and dark, and that it fits a phone."""
    expect(page.locator(".wait")).to_have_count(0)
    check_accessible(page)
    page.emulate_media(color_scheme="light")
    fits(page)


def fits(page: Page) -> None:
    """Assert that nothing of the view lies beside the screen of a phone, or is cut off in a slide."""
    for width in (320, 360, 390):
        page.set_viewport_size(ViewportSize(width=width, height=740))
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        slides = page.locator(".slide")
        assert slides.evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth).length") == 0
    assert page.locator(TARGETS).evaluate_all(SMALL) == []


TARGETS = "button:visible:not(.link), header a, summary:visible, select, textarea, label:has(input):visible"
SMALL = """all => all.filter(one => one.offsetWidth > 1 && (one.offsetHeight < 44 || one.offsetWidth < 44))
  .map(one => one.outerHTML)"""
"""Of what fingers touch, what is less than 44 pixels wide or high, in JavaScript."""


# -- playing -------------------------------------------------------------------------------------------


def test_a_game_with_keys_follows_the_rules(play: Open, table: Table) -> None:
    page = play()
    state = Board.parse(GAME, board(page))
    for _ in range(6):
        answer = table.probe(state)
        best = page.locator(".slide.best .name").all_inner_texts()
        assert sorted(word.lower() for word in best) == sorted(answer.best)
        direction = answer.best[-1]  # by the last slide, few games end as early as this
        after = state.slides()[direction]
        state = Board.parse(GAME, slide_key(page, direction))
        assert state.cells in [cells for cells, _ in GAME.spawns(after.cells)]
    addressed(page, state.text)


def test_values_are_those_of_the_table(play: Open, table: Table) -> None:
    page = play(BOARD)
    answer = table.probe(BOARD)
    expect(page.locator(".headline")).to_contain_text("probability to win")
    page.get_by_label("All digits").check()
    expect(page.locator(".headline strong")).to_have_text(str(answer.value))
    for one in answer.slides:
        row = page.locator(".slide", has_text=one.direction.capitalize())
        expect(row.locator(".number")).to_have_text(str(one.value))
        expect(row.locator(".loss")).to_have_text("best" if one.direction in answer.best else re.compile("−"))
    losses = [loss for slide in answer.slides if (loss := answer.loss(slide.direction)) > 0]
    lengths = page.locator(".bar").evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    assert len(set(map(round, lengths))) == len(losses) > 1  # they differ, though all values are near 1
    assert [losses[at] for at in sorted(range(len(losses)), key=lengths.__getitem__)] == sorted(losses)
    expect(page.locator(".slide[aria-disabled=true]", has_text="Right")).to_contain_text("moves nothing")
    page.reload()
    expect(page.locator(".headline strong")).to_have_text(str(answer.value))  # the choice is remembered


NUMBERS = """async (cases) => {
  const text = await import("/text.js");
  const write = {
    short: text.short,
    rounded: text.rounded,
    loss: text.lossText,
    less: (...loss) => text.lessText(text.lossText(...loss)),
    share: text.percent,
  };
  return cases.map(({ function: name, number, unit, of }) => write[name](Number(number), unit, Number(of)));
}"""


def test_numbers_are_written_as_python_writes_them(visit: Open) -> None:
    """The cases of `tests/test_numbers.py`; and under every objective, whether an end is worth something."""
    lines = (Path(__file__).parent / "numbers.tsv").read_text("utf-8").splitlines()
    cases = list(csv.DictReader(lines, delimiter="\t"))
    assert len(cases) > 40
    page = visit("vendor/htm-preact.LICENSE")
    assert page.evaluate(NUMBERS, cases) == [case["text"] or "" for case in cases]
    script = 'async (units) => units.map((await import("/text.js")).counts)'
    assert page.evaluate(script, [meaning.unit for meaning in MEANINGS.values()]) == [
        not meaning.end and meaning.unit not in ("probability", "yes-no") for meaning in MEANINGS.values()
    ]
    ranges = [[0.74, 0.75], [6e-18, 8e-18], [7e-18, 7.01e-18], [0, 8e-18], [1 - 1e-8, 1]]
    script = """async (all) => {
        const { between } = await import("/text.js");
        return all.map((one) => between(...one, "probability"));
    }"""
    assert page.evaluate(script, ranges) == [
        "74–75 %", "6.0e-16–8.0e-16 %", "≈ 7.0e-16 %", "below 8.0e-16 %", "≈ 100 %",
    ]  # fmt: skip
    script = 'async (all) => (await import("/text.js")).apart(all, "probability")'
    assert page.evaluate(script, [1 - 3e-12, 1 - 8e-12, 1 - 3.01e-12, 0.5]) == [
        "≈ 100 %", "99.999999999 %", "≈ 100 %", "50.000000000 %",
    ]  # fmt: skip


def test_what_slides_lost_is_told_and_the_course_leads_there(play: Open) -> None:
    page = play(BOARD)
    worst = page.locator(WORSE).first
    name, loss = worst.locator(".name").inner_text(), worst.locator(".loss").inner_text()
    click_slide(page, WORSE)
    expect(page.locator(".verdict")).to_contain_text(f"{name} lost {loss.removeprefix('−')}. Best was")
    expect(page.locator(".chart")).to_have_attribute("aria-label", re.compile("Value over 1 move"))
    colours = """name => [getComputedStyle(document.querySelector(`.line.${name}`)).stroke,
      getComputedStyle(document.querySelector(`.legend .${name}`), "::before").borderTopColor]"""
    assert [len({*page.evaluate(colours, name)}) for name in ("slid", "spawns")] == [1, 1]
    page.locator(".drops button", has_text="Move 1").click()
    moved(page, 0)
    assert board(page) == BOARD


def test_undo_redo_and_the_same_seed(play: Open, served: Served) -> None:
    start = served.get("/api/start", table="3x3-64", seed=77, by="start").json["board"]
    page = play(BOARD)
    click_slide(page, ALLOWED)
    page.reload()
    page.get_by_role("button", name="Restart").click()
    moved(page, 0)
    assert board(page) == BOARD  # which was set up
    page.get_by_label("Seed").fill("12ab")
    page.get_by_role("button", name="Restart").click()
    expect(page.get_by_text("A seed is a whole number.")).to_be_visible()
    page.get_by_role("button", name="New game").click()
    expect(fact(page, "Largest tile")).not_to_have_text("32")
    games = []
    for _ in range(2):
        page.get_by_label("Seed").fill("77")
        page.get_by_role("button", name="Restart").click()
        shows(page, words_of(start))
        moved(page, 0)
        games.append([board(page)])
        for direction in ("left", "up", "right", "down"):
            if page.locator(ALLOWED, has_text=direction.capitalize()).count():
                games[-1].append(slide_key(page, direction))
    game, last = games[0], len(games[0]) - 1
    assert games[1] == game
    assert last > 1

    def pressed(key: str, move: int, wanted: str) -> None:
        page.keyboard.press(key)
        moved(page, move)
        assert board(page) == wanted

    for move in range(last - 1, -1, -1):
        pressed("z", move, game[move])
    addressed(page, game[0])
    for move in range(1, last + 1):
        pressed("y", move, game[move])
    page.get_by_label("Seed").fill("78")  # another game, which Z leaves for the one before
    page.keyboard.press("Enter")
    moved(page, 0)
    fresh = board(page)
    page.keyboard.press("Tab")  # out of the field
    pressed("z", last, game[last])
    pressed("y", 0, fresh)


def test_a_phone_swipes_is_told_nothing_of_keys_and_stays_at_the_board(visit: Open) -> None:
    page = visit(at("0,0,0/0,2,0/0,0,4"), touch=True, viewport=PHONE)
    ready(page)
    box = page.locator(".board").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    touch = page.context.new_cdp_session(page)
    for step, kind in enumerate(["touchStart", *["touchMove"] * 5, "touchEnd"]):
        points = [{"x": x - 20 * step, "y": y + step}] if kind != "touchEnd" else []
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    moved(page, 1)
    assert (shown(page)[3], shown(page)[6]) == ("2", "4")  # both tiles moved to the left
    for words in ("Left. New ", "Value ", "row 2: 2"):  # what a screen reader says
        expect(page.locator("[aria-live=polite]")).to_contain_text(words)
    page.get_by_role("button", name="Set up a position").click()
    until(page, INSIDE, arg=".board")  # though the button is far below it
    expect(page.get_by_text("for the next larger tile")).to_be_visible()
    expect(page.get_by_text("with Shift")).to_be_hidden()
    page.get_by_role("button", name="Help").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert dialog.evaluate("one => one.scrollHeight > one.clientHeight")  # it is longer than the screen
    assert dialog.evaluate("one => one.scrollTop") == 0
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()
    page.get_by_label("Or paste a board").fill(BOARD)
    page.get_by_role("button", name="Show this board").click()
    ready(page)
    until(page, INSIDE, arg=".board")


def test_a_slide_is_drawn_before_the_server_answers_and_if_it_does_not(visit: Open) -> None:
    page = visit(at("0,0,2/0,2,0/0,0,4"))
    held = False
    page.route("**/api/**", lambda route: None if held else route.continue_())
    page.reload()  # a page that was loaded before may still send requests past the route
    ready(page)
    held = True
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".slides.stale")).to_be_visible()  # the last values, dimmed
    before = shown(page)
    assert before[0::3] == ["2", "2", "4"]
    page.route("**/api/**", lambda route: route.abort())
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    assert shown(page) != before


def test_the_user_chooses_a_spawn_takes_it_back_or_leaves_it_to_chance(play: Open) -> None:
    start = "0,0,0/0,2,0/0,0,4"
    page = play(start)
    page.get_by_label("I choose").check()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
        expect(page.get_by_text("Click an empty cell")).to_be_visible()
        expect(page.locator(".cell button")).to_have_count(7)
        page.keyboard.press("z")
        expect(page.locator(".cell button")).to_have_count(0)
    assert board(page) == start
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("4")
    page.get_by_role("button", name="row 1, column 3: empty").click()
    moved(page, 1)
    assert board(page) == "0,0,4/2,0,0/4,0,0"
    page.keyboard.press("z")
    moved(page, 0)
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".hint").first).to_have_text("≈ 100 %")  # what the spawn is worth
    page.get_by_label("Random").check()
    moved(page, 1)
    spawns = GAME.spawns(GAME.parse("0,0,0/2,0,0/4,0,0"))
    assert board(page) in [Board(GAME, cells).text for cells, _ in spawns]


def spawned(table: Table, direction: str) -> dict[str, Any]:
    """What may follow `BOARD` after a slide, and in which order of worth."""
    after = Board.parse(GAME, BOARD).slides()[direction]
    boards = [Board(GAME, cells) for cells, _ in GAME.spawns(after.cells)]
    return {one.text: sort_key(table.probe(one).value) for one in boards}


@pytest.mark.parametrize(("mode", "extreme"), [("Worst", min), ("Best", max)])
def test_spawns_that_are_worst_or_best(play, table, mode, extreme) -> None:
    page = play(BOARD)
    page.get_by_label(mode).check()
    direction = table.probe(BOARD).best[0]
    values = spawned(table, direction)
    assert values[slide_key(page, direction)] == extreme(values.values())
    page.reload()
    expect(page.get_by_label(mode)).to_be_checked()


def test_bounds_other_objectives_and_other_boards(visit: Open, tables: Path) -> None:
    with open_table(tables / "2x2-32") as bounds:
        interval, score = (str(bounds.probe("2,0/0,2", label).value) for label in (None, "score"))
    page = visit(at("2,0/0,2", "?table=2x2-32"))
    page.get_by_label("All digits").check()
    expect(page.locator(".headline strong")).to_have_text(interval)
    page.get_by_role("combobox", name="Value").select_option("score")
    expect(page.locator(".headline strong")).to_have_text(score)
    expect(page.locator(".headline")).to_contain_text("expected score")
    page.go_back()
    expect(page.locator(".headline strong")).to_have_text(interval)
    page = visit("?table=box")
    ready(page)
    assert page.get_by_role("table", name="Board, plane 2").count() == 1
    assert shown(page)[7] == "wall"
    click_slide(page, ALLOWED)
    assert page.locator(".slide", has_text="Back").count() == 1


def test_autoplay_plays_the_optimal_policy_to_the_end(play: Open) -> None:
    page = play(BOARD)
    page.get_by_label("Speed").fill("30")
    page.get_by_role("button", name="Autoplay").click()
    expect(page.locator(".notice.end")).to_have_text(
        re.compile("^(The game is won|No slide is left: the game is lost)[.]$")
    )
    assert int(number(page, "Move")) > 3
    assert number(page, "Largest tile") == str(max(map(int, re.split("[,/]", board(page)))))
    drops = page.locator(".drops button").all_inner_texts()
    assert all("by the spawn" in text and "by the slide" not in text for text in drops)
    assert page.evaluate("import('/notebook.js').then((module) => module.notesOf())") == []  # not your slides


# -- positions -----------------------------------------------------------------------------------------


def test_a_position_is_set_up_by_clicks_and_pasted(play: Open) -> None:
    page = play()
    page.get_by_role("button", name="Set up a position").click()
    expect(page.get_by_text("with Shift")).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    corner = page.get_by_role("button", name=re.compile("row 1, column 1"))
    for _ in range(3):
        corner.click()
    corner.click(modifiers=["Shift"])
    page.get_by_label("16", exact=True).check()
    page.get_by_role("button", name=re.compile("row 3, column 2")).click()
    page.get_by_role("button", name="Play from here").click()
    ready(page)
    addressed(page, "4,0,0/0,0,0/0,16,0")
    for text in ("2 0 4\n0 8 0\n0 0 2", KEY):
        page.get_by_role("button", name="Set up a position").click()
        page.get_by_label("Or paste a board").fill(text)
        page.get_by_role("button", name="Show this board").click()
        ready(page)
        assert board(page) == Board.read(GAME, text).text == "2,0,4/0,8,0/0,0,2"
        addressed(page, "2,0,4/0,8,0/0,0,2")
        page.get_by_role("button", name="New game").click()
        expect(fact(page, "Sum")).not_to_have_text("16")
        ready(page)


def test_boards_without_values(visit: Open, served: Served) -> None:
    """Those that do not fit give a sentence; one that the table does not hold is played without values."""
    for text in ("3,0,0/0,0,0/0,0,0", "nonsense"):
        page = visit(at(text))
        detail = served.get("/api/probe", table="3x3-64", board=text).json["detail"]
        expect(page.get_by_role("alert")).to_have_text(detail)
    accessible(page)
    page.get_by_role("button", name="New game").click()
    ready(page)
    assert len(shown(page)) == 9
    page = visit(at("2,0,0/0,0,0/0,0,0"))
    expect(page.locator(".notes")).to_be_visible()
    assert shown(page)[0] == "2"
    assert page.locator(ALLOWED).count() == 2
    slide_key(page, "down")


def test_an_address_is_shared_and_tabs_are_independent(play: Open, visit: Open) -> None:
    page = play("0,0,2/0,2,0/0,0,4")
    addressed(page, slide_key(page, "left"))
    other = visit("?" + urlsplit(page.url).query, like=page)
    ready(other)
    there = board(other)
    assert there == board(page)
    page.reload()
    moved(page, 1)  # the game of this tab survives a reload
    page.keyboard.press("z")
    moved(page, 0)
    assert board(page) == "0,0,2/0,2,0/0,0,4"
    assert board(other) == there


LEAVE = """move => new Promise(leave => {
  const number = [...document.querySelectorAll(".facts div")].find(fact => fact.innerText.startsWith("Move"));
  const look = () => {
    if (!number.innerText.endsWith(move)) return requestAnimationFrame(look);
    const cells = [...document.querySelectorAll(".board [role=cell] .hidden")].map(cell => cell.textContent);
    [...document.querySelectorAll("nav a")].find(link => link.textContent === "Browse").click();
    leave(cells.map(words => words.split(": ").pop()));
  };
  dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }));
  look();
})"""


def test_another_view_begins_with_the_last_slide_and_back_leads_to_the_game(play: Open) -> None:
    """Although the address is written later when slides follow each other fast."""
    page = play("0,0,2/0,2,0/0,0,4")
    slide_key(page, "right")
    words = page.evaluate(LEAVE, "2")
    expect(page.get_by_role("heading", name=re.compile("Browse"))).to_be_visible()
    shows(page, words)
    page.go_back()
    moved(page, 2)
    shows(page, words)


# -- games ---------------------------------------------------------------------------------------------


def test_a_game_is_saved_loaded_and_reviewed(play: Open, tmp_path: Path) -> None:
    page = play(BOARD)
    click_slide(page, WORSE)
    end = board(page)
    page.get_by_text("Save and load games").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download").click()
    file = tmp_path / "game.json"
    waiting.value.save_as(file)
    record = json.loads(file.read_text())
    assert (record["format"], record["start"], len(record["moves"])) == ("tilebase game", BOARD, 1)
    page.get_by_role("button", name="Save in this browser").click()
    page.get_by_role("button", name="New game").click()
    moved(page, 0)
    impossible = '{"format":"tilebase game","start":"2,0,0/0,0,0/0,0,2","moves":[["left",0,2]]}'
    for text, sentence in (("[]", "not a saved game"), (impossible, "not possible"), ("?", "not a saved")):
        page.get_by_label("Paste a saved game").fill(text)
        page.get_by_role("button", name="Load the text").click()
        expect(page.locator(".said")).to_contain_text(sentence)
        assert number(page, "Move") == "0"
    page.locator("input[type=file]").set_input_files(file)
    moved(page, 1)
    expect(page.locator(".drops")).to_contain_text("Move 1")
    page.get_by_label("Saved games").select_option(index=1)
    addressed(page, end)
    accessible(page)
    page.get_by_role("link", name="Review").click()
    page.get_by_role("button", name="Review the game just played").click()
    expect(page.get_by_role("heading", name="2 positions, read as a tilebase game")).to_be_visible()


REVIEW = "?table={}&view=review"
REVIEWED = f"{BOARD}\n2,4,8/16,32,4/4,2,2\n2,4,8/16,32,4/4,4,2"
LOSING = f"{BOARD}\n2,4,8/16,32,2/4,2,2\n2,4,8/16,32,2/4,4,2"


def review(page: Page, game: str) -> None:
    field = page.get_by_label(re.compile("A game"))
    field.wait_for(state="attached")
    if not field.is_visible():  # the form is folded beside a review
        page.get_by_text("The game", exact=True).click()
    field.fill(game)
    page.get_by_role("button", name="Review", exact=True).click()


def test_positions_are_reviewed(visit: Open, served: Served, tmp_path: Path) -> None:
    found = served.post("/api/review", {"table": "3x3-64", "game": REVIEWED}).json
    page = visit(REVIEW.format("3x3-64"))
    files = [tmp_path / name for name in ("one.txt", "two.txt")]
    for file, game in zip(files, (LOSING, REVIEWED), strict=True):
        file.write_text(game)
    page.locator(".review input[type=file]").set_input_files(files)
    page.get_by_label("two.txt").check()
    rows = page.locator(".moves tbody tr")
    expect(rows).to_have_count(len(found["moves"]))
    expect(page.get_by_role("heading", name="3 positions, read as a list")).to_be_visible()
    page.get_by_role("button", name="2", exact=True).click()
    shows(page, words_of("2,4,8/16,32,4/4,2,2"))
    page.get_by_role("button", name="Play from here").click()
    ready(page)
    for again in (page.go_back, page.reload):  # the review is still there, at its move
        again()
        expect(rows).to_have_count(len(found["moves"]))
        shows(page, words_of("2,4,8/16,32,4/4,2,2"))
        expect(page.get_by_label("two.txt")).to_be_checked()
    page.evaluate("sessionStorage.full = 'x'.repeat(5242000 - JSON.stringify(sessionStorage).length)")
    review(page, f"{REVIEWED}\n" * 50)
    expect(page.get_by_text("This is too large for the storage of this browser")).to_be_visible()
    expect(page.get_by_role("heading", name="150 positions")).to_be_visible()
    review(page, "nonsense")
    expect(page.get_by_role("alert")).to_be_visible()


def test_the_chart_of_a_review_agrees_with_its_list(visit: Open, served: Served) -> None:
    """What slides lost and what spawns changed lead from each value to the next."""
    moves = served.post("/api/review", {"table": "3x3-64", "game": LOSING}).json["moves"]
    values = [(one["value"]["value"], (one["slide_value"] or {}).get("value")) for one in moves]
    page = visit(REVIEW.format("3x3-64"), viewport=PHONE)
    review(page, LOSING)
    expect(page.locator(".moves")).to_be_visible()
    known = [one for pair in values for one in pair if one is not None]
    low, high = min(known), max(known)

    def heights(name: str) -> list[list[float]]:
        """Where the pieces of a line begin and end, downwards."""
        pieces = (page.locator(f".line.{name}").get_attribute("d") or "").split("M")[1:]
        return [[float(word) for word in re.findall(r"-?[\d.]+", piece)][1::2] for piece in pieces]

    slid, spawns = heights("slid"), heights("spawns")
    tops = [y for piece in (*slid, *spawns) for y in piece]

    def drawn(piece: list[float]) -> list[float]:
        """The values at these heights, of which the least and the largest are known."""
        return [high - (y - min(tops)) / (max(tops) - min(tops)) * (high - low) for y in piece]

    near = {"abs": 0.01 * (high - low)}
    lost = [pair for pair in values if pair[1] is not None and pair[1] < pair[0]]
    assert len(lost) == len(slid) >= 1
    for pair, piece in zip(lost, slid, strict=True):
        assert drawn(piece) == pytest.approx(pair, **near)
    for (_, after), (before, _), piece in zip(values, values[1:], spawns, strict=False):
        assert drawn(piece) == pytest.approx((after, before), **near)
    assert page.locator(".moves th").all_inner_texts() == ["Move", "Value", "Slide", "Loss", "Luck"]
    assert page.locator(".moves").evaluate("one => one.scrollWidth <= one.clientWidth")  # all are seen
    accessible(page)


LOCKED = "/64,128,256,512/1024,2048,4096,8192"
PLAIN = ["2,0,0,2/0,0,0,0/0,0,0,0/0,0,0,0", "4,0,2,0/0,0,0,0/0,0,0,0/0,0,0,0"]
"""Two positions that no table of a formation holds."""


def endgame(table: Table, moves: int) -> list[str]:
    """Positions of games that a table knows, in which each fifth slide is the worst."""
    rng, found, board = random.Random(3), list[str](), ""
    while len(found) < moves:
        board = board or f"0,0,0,2/2,0,0,0{LOCKED}"
        found.append(board)
        slides = sorted(table.probe(board).slides, key=lambda one: float(one.value), reverse=True)
        slide = slides[-1 if len(found) % 5 == 0 else 0] if slides else None
        board = rng.choice(slide.spawns())[0].text if slide and slide.spawns() else ""
    return found


def reviewed(page: Page, file: Path, game: list[str]) -> None:
    """Review a game from a file, since a browser takes long to type so much."""
    file.write_text("\n".join(game))
    page.locator(".review input[type=file]").set_input_files(file)
    expect(page.locator(".stage")).to_be_visible()


def test_a_game_is_shown_where_the_table_knows_it(visit, served, tables, tmp_path) -> None:
    """1,646 positions, of which the table knows 40 in the middle and the last 62; and a game of none."""
    with open_table(tables / "44-32") as opened:
        known = endgame(opened, 102)
    game = [*(PLAIN * 500), *known[:40], *(PLAIN * 272), *known[40:]]
    found = served.post("/api/review", {"table": "44-32", "game": "\n".join(game)}).json
    assert len(game) == found["positions"] == 1646
    judged = [one["number"] for one in found["moves"] if one["value"] is not None]
    assert judged == [*range(1001, 1041), *range(1585, 1647)]
    page = visit(REVIEW.format("44-32"))
    review(page, "\n".join(PLAIN * 3))
    expect(page.get_by_label("Summary")).to_contain_text(
        "This table knows none of these positions. Of the last one: the board has 0"
    )
    assert page.locator(".chart, .moves, .facts").count() == 0
    check_accessible(page)
    page.get_by_text("The game", exact=True).click()
    page.get_by_role("radio", name="44-32").check()
    reviewed(page, tmp_path / "game.txt", game)
    rows = page.locator(".moves tbody tr")
    expect(rows).to_have_count(2 + len(judged))
    assert page.locator(".moves .gap").all_inner_texts() == [
        "Moves 1 to 1,000 are not in the table", "Moves 1,041 to 1,584 are not in the table",
    ]  # fmt: skip
    expect(page.locator(".mark")).to_have_count(page.locator(".drops button").count())
    page.locator(".drops button").last.click()  # of each loss, the row is seen in the list
    number = found["drops"][4]
    words = words_of(found["moves"][number - 1]["board"])
    shows(page, [f"{word}, goal cell" if 4 <= cell < 8 else word for cell, word in enumerate(words)])
    chosen = page.locator(".moves tr[aria-current]")
    expect(chosen.locator(".link")).to_have_text(f"{number:,}")
    assert chosen.evaluate(SEEN)
    # The chart has an end at the first and one at the last known move, and both stretches fill it.
    chart = page.locator(".chart")
    expect(chart).to_have_attribute("aria-label", re.compile("from move 1,001 to move 1,646, in "))
    assert chart.locator("text").all_text_contents()[-2:] == ["Move 1,001", "Move 1,646"]
    paths = " ".join(line.get_attribute("d") or "" for line in chart.locator(".line").all())
    places = sorted({float(x) for x in re.findall(r"[ML](-?[\d.]+) ", paths)})
    width = places[-1] - places[0]
    assert max(right - left for left, right in itertools.pairwise(places)) < 0.05 * width
    # A position that no table knows is shown when it is chosen, too.
    page.get_by_role("button", name="1,001", exact=True).click()
    page.keyboard.press("ArrowLeft")
    expect(chosen.locator(".link")).to_have_text("1,000")
    expect(chosen).to_contain_text("not in the table")
    assert chosen.evaluate(SEEN)
    page.get_by_label("Only losses").check()
    expect(rows).to_have_count(sum(bool(one["loss"]) for one in found["moves"]))
    accessible(page)


SEEN = """row => {
  const { top, bottom } = row.getBoundingClientRect();
  const list = row.closest(".moves").getBoundingClientRect();
  return top >= list.top && bottom <= list.bottom;
}"""
"""Whether a row is seen whole in its list, in JavaScript."""


def test_a_long_list_is_drawn_in_parts(visit: Open, tmp_path: Path) -> None:
    """Also if the table knows all of it."""
    page = visit(REVIEW.format("3x3-64"))
    reviewed(page, tmp_path / "game.txt", [BOARD] * 1000)
    rows = page.locator(".moves tbody tr")
    expect(rows).to_have_count(200)
    page.get_by_role("button", name="800 rows after").click()
    expect(rows).to_have_count(400)
    page.get_by_role("button", name="400", exact=True).click()
    page.keyboard.press("ArrowRight")  # to a row that is not drawn yet
    chosen = page.locator(".moves tr[aria-current]")
    expect(chosen.locator(".link")).to_have_text("401")
    assert chosen.evaluate(SEEN)
    expect(page.get_by_role("button", name="200 rows before")).to_be_visible()


EQUAL = "/64,128,256,64/1024,2048,4096,8192"


@pytest.mark.parametrize(
    ("lines", "row", "sentence"),
    [
        (
            [f"0,0,2,0/2,0,0,0{EQUAL}", f"0,0,0,4/2,0,2,0{EQUAL}"],
            "down not judged",
            "Large tiles are equal (2 of 64), and the table does not know that they can merge.",
        ),
        (
            [f"0,0,2,0/0,0,0,4{LOCKED}", f"0,0,0,2/0,0,2,4{LOCKED}"],
            "right or down not judged",
            "Right and down may have led from line 1 to line 2: right is best, down loses",
        ),
        (
            [f"32,0,0,0/0,8,0,0{LOCKED}", f"2,0,0,32/0,0,0,8{LOCKED}"],
            "right not judged",
            "The table ends at the sum 126, and 32 was made outside the goal cells.",
        ),
    ],
)
def test_why_a_slide_is_not_judged(visit: Open, lines: list[str], row: str, sentence: str) -> None:
    page = visit(REVIEW.format("44-32"))
    review(page, "\n".join(lines))
    expect(page.locator(".moves tbody tr").first).to_contain_text(row)
    expect(page.locator(".verdict")).to_contain_text(sentence)
    expect(page.locator(".verdict")).not_to_contain_text("The last position")
    expect(fact(page, "Not judged")).to_have_text("1")
    expect(page.locator(".goal")).to_have_count(4)  # a board of a review has its goal cells
    assert page.locator(".drops").count() == 0
    page.get_by_role("button", name="Play from here").click()
    ready(page)
    if "equal" in sentence:
        expect(page.locator(".problem")).to_contain_text(sentence[1:])
        assert page.locator(".slide .loss").all_inner_texts() == ["", "", "breaks the formation", ""]
        page.keyboard.press("ArrowDown")
        expect(page.locator(".verdict")).to_have_text(f"Down is not judged: l{sentence[1:]}")
        assert page.locator(".drops").count() == 0


# -- the trainer ---------------------------------------------------------------------------------------


def test_the_trainer_hides_values_and_counts(visit: Open, table: Table) -> None:
    """On a phone, where the verdict and a position that is played again must not need scrolling."""
    page = visit(at(BOARD, PLAY + "&view=train"), viewport=PHONE)
    verdict = page.locator(".verdict")
    for number, (told, run, share) in enumerate([("lost", "0", "0.0 %"), ("best slide", "1", "50.0 %")]):
        expect(verdict).to_contain_text("Which slide is best?")  # the address follows later
        answer = table.probe(board(page))  # again it is an image of the board
        wrong = [slide.direction for slide in answer.slides if slide.direction not in answer.best]
        direction = answer.best[0] if number else wrong[0]
        assert number or page.get_by_text("%").filter(visible=True).all_inner_texts() == []
        until(page, INSIDE, arg=".board")
        page.keyboard.press(KEYS[direction])
        expect(verdict).to_contain_text(told)
        expect(verdict).to_contain_text(f"Run {run}")
        slides = ("1 slide", "2 slides")[number]
        for text in (f"{slides} · {share} best · ", f"longest run {run} "):
            expect(page.locator(".sitting")).to_contain_text(text)
        if not number:
            parts = page.get_by_text(re.compile("^(Where to begin|Threshold, export|Play again)"))
            assert "".join(text[0] for text in parts.all_inner_texts()) == "WTP"  # none far below the board
            page.get_by_role("button", name="Play again").click()
    addressed(page, board(page))
    page.reload()  # which counts on, and keeps the last slide
    expect(verdict).to_contain_text("best slide")
    expect(page.locator(".sitting")).to_contain_text("2 slides · 50.0 % best · ")
    accessible(page)
    page = visit(at("32,32,4/2,8,2/4,2,4", PLAY + "&view=train"))
    page.get_by_role("button", name="Left").click()
    expect(page.locator(".notice.won")).to_be_visible()
    expect(page.locator(".pad [aria-disabled=true]")).to_have_count(4)


INSIDE = """selector => {
  const { top, bottom } = document.querySelector(selector).getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}"""
"""Whether something is seen whole without scrolling, in JavaScript."""
SUM = "sum => sum === new URL(location).searchParams.get('board')?.split(/[,/]/).reduce((a, b) => a + +b, 0)"
"""Whether the address names a board of this sum, in JavaScript."""


def test_the_trainer_begins_with_a_sum(visit: Open) -> None:
    page = visit("?table=3x3-64&view=train")
    page.get_by_text("Where to begin, and what is spawned").click()
    for way, total in (("uniform", 40), ("optimal", 44)):
        page.get_by_label("From").select_option(way)
        page.get_by_label(re.compile("^Sum, ")).fill(str(total))
        page.get_by_role("button", name="Start").click()
        until(page, SUM, arg=total)
        assert Board.parse(GAME, address(page)["board"]).sum == total
    waiting: list[Any] = []
    page.route("**/api/start*", lambda route: waiting.append(route))
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("button", name="Finding a position")).to_be_visible()
    page.locator(".pad .button:not([aria-disabled=true])").first.click()
    expect(page.locator(".slide.chosen")).to_be_visible()
    words = shown(page)
    waiting[0].continue_()
    page.unroute("**/api/start*")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    assert shown(page) == words  # no board is replaced while you play
    page.get_by_label(re.compile("^Sum, ")).fill("9999")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("alert")).to_contain_text("9999")


# -- browsing ------------------------------------------------------------------------------------------


def test_browsing_keeps_the_path(visit: Open, table: Table) -> None:
    page = visit(at(BOARD, PLAY + "&view=browse"))
    answer = table.probe(BOARD)
    expect(page.locator(".tile-card")).to_have_count(len(answer.slides))
    direction = answer.best[0]
    values = spawned(table, direction)
    page.get_by_role("button", name=direction.capitalize()).click()
    expect(page.get_by_role("heading", name=f"{len(values)} spawns")).to_be_visible()
    shows(page, words_of(Board.parse(GAME, BOARD).slides()[direction].text))
    expect(page.locator(".boards.three .tile-card").first).to_be_visible()
    accessible(page)
    page.locator(".tile-card").first.click()
    until(page, "!new URL(location).searchParams.get('slide')")
    expect(page.locator(".browse[aria-busy=false]")).to_be_visible()
    assert values[address(page)["board"]] == min(values.values())
    expect(page.locator(".path li")).to_have_count(3)
    page.locator(".path button").first.click()
    expect(page.locator(".path li")).to_have_count(1)
    shows(page, words_of(BOARD))
    accessible(page)


def test_layers(visit: Open, table: Table) -> None:
    page = visit("?table=3x3-64&view=layers&sum=40")
    expect(page.get_by_role("heading", name="Values at sum 40")).to_be_visible()
    expect(page.get_by_text(f"Sum 40: {table.prober.count(40):,} positions")).to_be_visible()
    page.get_by_text("Numbers of all layers").click()
    expect(page.locator(".numbers tbody tr").first).to_be_visible()
    rows = page.locator(".numbers tbody tr").all_inner_texts()
    assert f"40\t{table.prober.count(40):,}" in rows
    page.locator(".chart.picks").click(position={"x": 300, "y": 100})
    until(page, "new URL(location).searchParams.get('sum') !== '40'")
    total = int(address(page)["sum"])
    expect(page.get_by_role("heading", name=f"Values at sum {total}")).to_be_visible()
    accessible(page)


def test_the_diagrams_of_a_small_game_and_of_surroundings(visit: Open, table: Table) -> None:
    page = visit("?table=2x2-32&view=diagram")
    expect(page.locator(".paper svg g.state").first).to_be_visible()
    assert page.locator(".paper svg g.state").count() > 40
    accessible(page)
    page.locator(".paper svg g.state").first.click()
    expect(page.get_by_role("heading", name=re.compile("Browse"))).to_be_visible()
    expect(page.locator(".board [role=cell]")).to_have_count(4)
    page = visit(at(BOARD, PLAY + "&view=diagram"))
    boards = page.locator(".paper svg a.state")
    expect(boards.first).to_be_visible()
    slides = table.probe(BOARD).slides
    spawns = [state.text for slide in slides for state, _ in slide.spawns()]
    assert boards.count() == len(spawns)
    picture = page.locator(".paper > svg").text_content() or ""
    assert all(slide.direction in picture for slide in slides)
    boards.first.click()
    addressed(page, spawns[0])
    expect(page.get_by_role("group", name=f"the surroundings of {spawns[0]}")).to_be_visible()
    accessible(page)


def test_a_real_board_of_a_formation(visit: Open, tables: Path) -> None:
    real = "4,0,512,512/0,0,1024,256/0,2,2048,128/2,0,4096,64"  # rotated: the table has large tiles below
    page = visit(at(real, "?table=44-32"))
    ready(page)
    with open_table(tables / "44-32") as formation_table:
        answer = formation_table.probe(real)
    expect(page.locator(".notes")).to_contain_text("Large tiles: 512, 512, 1024")
    expect(page.locator(".problem")).to_contain_text("Do not trust these values: large tiles are equal (2 of")
    expect(page.locator(".slide.best")).to_have_count(0)
    words = [f"{word}, goal cell" if at % 4 == 1 else word for at, word in enumerate(words_of(real))]
    assert shown(page) == words
    expect(page.locator(".goal")).to_have_count(4)
    expect(page.locator(".slide", has_text="Left")).to_contain_text("breaks the formation")
    page.get_by_text("32 wins on a dashed cell. All rules").click()
    rules = page.locator(".rules")
    expect(rules).to_contain_text(
        "8 large tiles, written x, slide and never merge: each stands for a tile that is 32"
    )
    expect(rules).to_contain_text("The tile 32 wins on row 2, column 1 or row 2, column 2")
    page.keyboard.press(KEYS[answer.best[0]])
    moved(page, 1)
    assert any("4096" in word for word in shown(page))
    tiles = [word.split(",")[0] for at, word in enumerate(shown(page)) if at % 4 < 2]
    total = sum(int(tile) for tile in tiles if tile.isdigit())
    expect(fact(page, "Sum without large tiles")).to_have_text(str(total))  # as the trainer counts
    page.get_by_role("button", name="Set up a position").click()
    expect(page.locator(".goal")).to_have_count(4)
    assert "goal cell" in shown(page)[1]  # rotated as the board is
    page.get_by_role("button", name="Clear").click()
    assert [at for at, word in enumerate(shown(page)) if "goal cell" in word] == [4, 5, 6, 7]
    page.get_by_role("link", name="Train").click()
    page.get_by_text("Where to begin, and what is spawned").click()
    expect(page.get_by_label("From")).to_be_visible()
    page.get_by_label("From").select_option("uniform")
    expect(page.get_by_label(re.compile("^Sum without large tiles, 2 to 108"))).to_be_visible()
    drawn = [f"{row}/0,0,0,4{LOCKED}" for row in ("32,0,0,0", "0,0,2,0")]  # the second is judged
    page.route("**/api/start*", lambda route: route.fulfill(json={"board": drawn.pop(0)}))
    page.get_by_role("button", name="Start").click()
    addressed(page, f"0,0,2,0/0,0,0,4{LOCKED}")
    page.get_by_role("link", name="Layers").click()
    expect(page.get_by_text("The tile 32 wins only on a goal cell")).to_be_visible()
    accessible(page)
    page.get_by_role("link", name="Play", exact=True).click()
    page.get_by_text("Save and load games").click()
    merging = {"format": "tilebase game", "start": real, "moves": [["left", 2, 2]]}  # as others played
    page.get_by_label("Paste a saved game").fill(json.dumps(merging))
    page.get_by_role("button", name="Load the text").click()
    expect(page.locator(".said")).to_have_text("Loaded.")


# -- certificates --------------------------------------------------------------------------------------


def test_a_forced_win_answers_every_spawn_and_a_refutation_spawns_until_the_game_is_lost(visit: Open) -> None:
    page = visit("?table=forced.cert")
    expect(page.get_by_role("heading", name=re.compile("The goal is forced"))).to_be_visible()
    for _ in range(40):
        expect(page.locator(".notice")).to_be_visible()
        if page.locator(".notice.won").count():
            break
        page.keyboard.press("ArrowRight")  # to the first empty cell
        go_on(page, lambda: page.keyboard.press("Enter"))
    expect(page.locator(".notice.won")).to_have_text("The game is won.")
    assert "8" in shown(page)
    page = visit("?table=refuted.cert")
    expect(page.get_by_role("heading", name=re.compile("The goal is not forced"))).to_be_visible()
    for _ in range(30):
        ready(page)
        if not page.locator(ALLOWED).count():
            break
        go_on(page, page.locator(ALLOWED).first.click)
    expect(page.locator(".notice.lost")).to_contain_text("the game is lost")
    accessible(page)


def go_on(page: Page, act: Callable[[], None]) -> None:
    """Do something; wait until the game has gone on."""
    move = int(number(page, "Move"))
    act()
    until(page, "move => +document.querySelector('.facts div:last-child dd').textContent > move", arg=move)


# -- tables that are not there -------------------------------------------------------------------------


def test_tables_that_cannot_be_read_give_a_sentence(visit: Open, served: Served) -> None:
    page = visit("?table=damaged")
    why = next(one["problem"] for one in served.get("/api/tables").json["tables"] if one["name"] == "damaged")
    expect(page.get_by_role("alert")).to_have_text(why)
    page.goto(served.address + "?table=nothing")
    expect(page.get_by_role("alert")).to_contain_text("There is no table nothing here")
    page.get_by_label("Table").select_option("3x3-64")
    ready(page)
    page.goto(served.address + PLAY + "&objective=luck")
    expect(page.get_by_role("alert")).to_contain_text("no values of luck")


def test_the_progress_of_solving(play: Open) -> None:
    page = play()
    solving = True
    game = {"name": "3x3-64", "kind": "table", "game": "3x3, to 64", "shape": "3x3", "problem": None}

    def tables(route: Any) -> None:
        progress = {"text": "sum 30, 1,234 boards", "fraction": 0.4} if solving else None
        one = game | {"state": "solving" if solving else "ready", "progress": progress}
        route.fulfill(json={"version": "0", "tables": [one]})

    page.route("**/api/tables", tables)
    page.goto(page.url)
    expect(page.get_by_text("sum 30, 1,234 boards")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "0.4")
    solving = False
    ready(page)


# -- for everybody -------------------------------------------------------------------------------------


def test_keyboard_alone_light_and_dark(play: Open) -> None:
    page = play(BOARD)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the board")).to_be_focused()
    page.keyboard.press("Enter")
    reached = set()
    focused = """[document.activeElement].map(one =>
      [one.textContent.trim() || one.ariaLabel, one.type, getComputedStyle(one).outlineStyle])[0]"""
    for _ in range(14):
        page.keyboard.press("Tab")
        name, kind, outline = page.evaluate(focused)
        reached.add(name)
        assert outline == "solid" or kind in ("range", "radio", "checkbox")
    assert {"New game", "Autoplay", "Set up a position"} <= reached
    page.keyboard.press("?")
    for words in ("undo", "in a review: the position before"):
        expect(page.get_by_role("dialog")).to_contain_text(words)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.keyboard.press("n")
    expect(fact(page, "Largest tile")).not_to_have_text("32")
    ready(page)
    addressed(page, board(page))
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(colour)
    assert light != dark
    page.emulate_media(color_scheme="light")
    page.get_by_role("button", name=re.compile("Colours")).click()
    page.get_by_role("button", name=re.compile("Colours: light")).click()
    until(page, f"dark => {colour} === dark", arg=dark)
    page.reload()
    until(page, f"dark => {colour} === dark", arg=dark)


def test_a_win_that_is_not_certain_is_nowhere_100_percent(visit: Open, play: Open, table: Table) -> None:
    """The start of 3x3 to 64 is worth 1 - 7e-18, which rounds to 1; only a slide that wins is certain."""
    assert str(table.value).startswith("more than 1 - ")
    almost = "2,0,0/0,0,0/0,0,2"
    for query in ("play", "browse", "browse&slide=left", "train", "review", "layers&sum=8"):
        page = visit(at(almost, f"{PLAY}&view={query}"))
        if query == "play":
            ready(page)
        elif query == "train":
            expect(page.get_by_text("Which slide is best?")).to_be_visible()
            page.keyboard.press("ArrowLeft")
            expect(page.locator(".before")).to_be_visible()
        elif query == "review":
            review(page, f"{almost}\n0,2,0/0,0,0/2,0,2")
            page.get_by_role("button", name="1", exact=True).click()
        elif query.startswith("layers"):
            expect(page.get_by_text("Mean value")).to_be_visible()
        else:
            expect(page.locator(".tile-card .number").first).to_be_visible()
        assert page.locator(VALUES).count(), query
        for digits in (False, True):
            if digits and page.get_by_label("All digits").count():
                page.get_by_label("All digits").check()
            for text in page.locator(VALUES).all_inner_texts():
                assert not re.fullmatch(r"1|100(\.0)? %", text), (query, text)
    page = play("32,32,4/2,8,2/4,2,4")  # left and right win
    expect(page.locator(".headline strong")).to_have_text("100 %")
    page = visit(REVIEW.format("3x3-64"))
    review(page, f"{LIKELY}\n32,16,16/2,8,2/4,2,4\n32,32,4/2,8,2/4,2,4")
    expect(page.locator(".chart .tick text").last).to_have_text("100 %")


VALUES = (
    ".headline strong, .slide .number, .tile-card .number, .before b, .moves td:nth-child(2), "
    ".pair td:nth-child(3)"
)
"""Where views write values."""
LIKELY = "2,4,8/16,2,4/0,0,2"
"""A board with long values: the win is nearly certain."""
WORD = "x" * 200


def test_long_values_and_words_fit_a_phone(play: Open, visit: Open) -> None:
    page = play(LIKELY)
    for _ in range(2):  # short values, then all digits, which other views show then, too
        fits(page)
        for query in ("&view=browse", "&view=browse&slide=left"):
            other = visit(at(LIKELY, PLAY + query), like=page)
            expect(other.locator(".tile-card .number").first).to_be_visible()
            fits(other)
        page.get_by_text("All digits").click()
    for query in (at(WORD), at(WORD, PLAY + "&view=browse"), f"?table={WORD}", REVIEW.format("3x3-64")):
        page = visit(query)
        if "review" in query:
            review(page, WORD)
        expect(page.get_by_role("alert")).to_contain_text("xxx")
        fits(page)


def test_colours_are_those_of_the_library() -> None:
    text = (FILES / "tiles.js").read_text("utf-8")
    listed = re.search(r"FILLS = \[(.*?)\]", text, re.DOTALL)
    assert listed is not None
    assert tuple(re.findall("#[0-9a-f]{6}", listed[1])) == FILLS
