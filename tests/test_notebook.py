"""The notebook of the page: what is noted, what comes back, and what survives reloads and full storages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from serving import SECONDS, Served, check_accessible, serving
from tilebase import Game, Table, formation, open_table, solve
from tilebase.questions.review import review
from tilebase.runtime import progress as running
from tilebase.runtime.progress import Progress, describe

SIZES = [(390, 844), (844, 390), (1280, 800)]
START = "4,8,2/2,4,0"
"""A position of 2x3 in which a slide loses more than a thousandth."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("notebook")
    for goal in (16, 32):
        solve(Game("2x3", goal), table=folder / f"2x3-{goal}")
    solve(formation("44").game(32), table=folder / "44-32")
    return folder


@pytest.fixture(scope="module")
def served(tables: Path) -> Iterator[Served]:
    with serving(tables) as found:
        yield found


@pytest.fixture(scope="module")
def table(tables: Path) -> Iterator[Table]:
    with open_table(tables / "2x3-32") as opened:
        yield opened


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    found = browser.new_context(viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    yield found
    found.close()


def train(context: BrowserContext, served: Served, board: str) -> Page:
    """The trainer with a board in a tab of its own."""
    page = context.new_page()
    page.set_default_timeout(1000 * SECONDS)
    page.goto(f"{served.address}?table=2x3-32&view=train&board={board}")
    expect(page.get_by_role("group", name="Slides").get_by_role("button").first).to_be_visible()
    expect(page.locator("#notebook")).to_be_visible()
    return page


def slide(page: Page, direction: str) -> None:
    page.get_by_role("group", name="Slides").get_by_role("button", name=direction.capitalize()).click()
    expect(page.locator(".slide.chosen")).to_contain_text(direction.capitalize())


def worst(table: Table, board: str) -> str:
    answer = table.probe(board)
    return max(answer.slides, key=lambda one: answer.loss(one.direction) or 0).direction


def notes(page: Page) -> list[dict[str, Any]]:
    """All notes of the browser, as they are exported."""
    found = page.evaluate("import('./notebook.js').then((module) => module.notesOf())")
    assert isinstance(found, list)
    return found


def said(page: Page, positions: str) -> None:
    expect(page.locator("section.mistakes p.quiet").first).to_contain_text(f"{positions} to practise")


def test_a_mistake_is_kept_and_comes_back_until_it_was_right_three_times(context, served, table) -> None:
    context.clock.install()
    page = train(context, served, START)
    wrong = worst(table, START)
    slide(page, wrong)
    said(page, "1 position")
    answer = table.probe(START)
    [note] = notes(page)
    assert (note["board"], note["slide"], note["from"]) == (START, wrong, "train")
    assert note["loss"] == pytest.approx(answer.loss(wrong))
    check_accessible(page)
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for kind, name in (("button", "Practise"), ("heading", "Notebook")):
            expect(page.get_by_role(kind, name=name)).to_be_visible()
    page.reload()
    said(page, "1 position")
    for turn in range(5):  # of which the first, and that at once after the second, do not count
        if turn not in (0, 2):
            page.clock.fast_forward("10:00")
        page.get_by_role("button", name="Practise").click()
        expect(page.locator(".slide.chosen")).to_have_count(0)
        words = page.locator(".board [role=cell] .hidden").all_inner_texts()
        cells = [int(word.replace("empty", "0")) for word in words]
        slide(page, table.probe([cells[:3], cells[3:]]).best[0])
        expect(page.get_by_text("Right, but this position counts again")).to_have_count(int(turn in (0, 2)))
        said(page, "0 positions" if turn == 4 else "1 position")
        if turn < 4:
            expect(page.locator("section.mistakes li")).to_contain_text("counts again from")
    assert len(notes(page)) == 6


def test_two_tabs_lose_nothing_and_mirror_images_are_one_position(context, served, table) -> None:
    boards = (START, "2,8,4/4,0,0", "2,8,4/0,4,2")  # the last is the first, mirrored
    first, second = (worst(table, board) for board in boards[:2])
    tabs = [train(context, served, board) for board in boards]
    for tab, wrong in zip(
        tabs, (first, second, {"left": "right", "right": "left"}.get(first, first)), strict=True
    ):
        slide(tab, wrong)
    page = tabs[0]
    for tab in tabs:
        expect(tab.locator("section.mistakes p.quiet").first).to_contain_text("3 slides")
    assert {note["board"] for note in notes(page)} == {*boards}
    said(page, "2 positions")
    page.get_by_role("button", name="Practise").click()
    page.get_by_role("button", name="Next position (1 left)").click()
    expect(page.get_by_role("button", name="New game")).to_be_visible()
    twice = page.locator("section.mistakes li", has_text="2 mistakes")
    twice.get_by_role("button", name="Remove").click()
    said(page, "1 position")
    assert [note["board"] for note in notes(page)] == [boards[1]]


def test_export_import_and_delete_and_a_forbidden_storage(
    context: BrowserContext, served: Served, table: Table, tmp_path: Path
):
    page = train(context, served, START)
    slide(page, worst(table, START))
    said(page, "1 position")
    page.get_by_text("Threshold, export, import, delete").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    file = tmp_path / "notebook.json"
    download.value.save_as(file)
    assert json.loads(file.read_text())["notes"] == notes(page)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("The notebook is empty.")).to_be_visible()
    assert notes(page) == []
    choose = page.locator("section.mistakes input[type=file]")
    choose.set_input_files(file)
    expect(page.get_by_text("1 note added.")).to_be_visible()
    choose.set_input_files(file)
    expect(page.get_by_text("0 notes added.")).to_be_visible()
    other = tmp_path / "other.json"
    other.write_text(file.read_text().replace("2x3-32", "2x3-16"))
    choose.set_input_files(other)
    expect(page.get_by_text("1 note added. None of them is of this table.")).to_be_visible()
    wrong = tmp_path / "wrong.json"
    newer = '{"format": "tilebase notebook", "version": 9, "notes": []}'
    for content in ("{", "[]", newer, newer.replace("9", "1").replace("[]", "[{}]")):
        wrong.write_text(content)
        choose.set_input_files(wrong)
        expect(page.get_by_text("not a notebook that was exported here")).to_be_visible()
        choose.set_input_files(file)
        expect(page.get_by_text("0 notes added.")).to_be_visible()
    context.add_init_script("indexedDB.open = () => { throw new DOMException('no', 'SecurityError'); };")
    page = train(context, served, START)
    slide(page, worst(table, START))
    expect(page.get_by_text("This browser keeps nothing for this page").first).to_be_visible()
    expect(page.locator(".verdict")).to_contain_text("lost")  # training goes on


FRAMES = "all => all.map(one => one.getBoundingClientRect())"


@pytest.mark.parametrize("size", SIZES)
def test_board_verdict_and_slides_are_in_one_viewport(context, served, size) -> None:
    board = "0,2,4,0/2,8,8,4/64,128,256,512/1024,2048,4096,8192"  # its goal is said above it
    for view in ("play", "train"):
        page = context.new_page()
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.goto(f"{served.address}?table=44-32&view={view}&board={board}")
        expect(page.locator(".verdict")).to_be_visible()
        assert page.locator("nav").evaluate("one => one.scrollWidth <= one.clientWidth")
        page.keyboard.press("ArrowDown")
        for said in (page.locator(".verdict"), page.locator("[aria-live]")):
            expect(said).to_contain_text("Down moves nothing.")
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".verdict")).to_contain_text(re.compile("[Ll]eft"))
        assert page.locator(".slides").count() == 1
        for part in (".board", ".verdict", ".slides", ".headline strong", ".pad", "text=New game"):
            for frame in page.locator(part).evaluate_all(FRAMES):
                assert 0 <= frame["top"] < frame["bottom"] <= size[1], (view, part)


GAME = json.dumps(
    {
        "format": "tilebase game", "version": 1, "start": START,
        "moves": [["down", 2, 2], ["up", 5, 2]],
    }
)  # fmt: skip


def test_the_page_shows_endgames_and_puts_mistakes_into_the_notebook(context: BrowserContext, served: Served):
    found = served.post("/api/review", {"game": GAME}).json
    one = served.post("/api/review", {"table": "2x3-32", "game": GAME}).json
    assert {move["table"] for move in found["moves"]} == {"2x3-32"}  # of the largest goal
    assert [move["loss"] for move in found["moves"]] == [move["loss"] for move in one["moves"]]
    assert [move["number"] for move in found["moves"] if move["mistake"]] == [1, 2]
    assert found["endgames"] == [{"table": "2x3-32", "first": 1, "last": len(one["moves"])}]
    page = context.new_page()
    page.goto(f"{served.address}?table=2x3-16&view=review")
    page.get_by_label("A game").fill(GAME)
    page.get_by_role("button", name="Review", exact=True).click()
    strip = page.get_by_role("list", name="Endgames").get_by_role("button")
    expect(strip).to_contain_text(["2x3-32"])
    check_accessible(page)
    strip.first.click()
    page.locator("h1").click()  # the keys are for the page again
    page.get_by_role("button", name="Next mistake").click()
    expect(page.locator(".verdict")).to_contain_text(re.compile("^Move 2. (Small mistake|Mistake|Blunder). "))
    expect(page.get_by_role("button", name="Next mistake")).to_be_disabled()
    page.set_viewport_size({"width": 844, "height": 390})
    expect(page.locator(".stage")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Previous mistake").click()
    expect(page.get_by_role("button", name="Previous mistake")).to_be_disabled()
    expect(page.locator(".verdict b")).to_have_text("Move 1.")
    page.keyboard.press("n")
    expect(page.locator(".verdict b")).to_have_text("Move 2.")
    page.locator(".drops button", has_text="Move 1:").click()  # the board is far above it on a phone
    expect(page.locator(".stage .board")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Put the mistakes into the notebook").click()
    expect(page.get_by_text("2 notes added.")).to_be_visible()
    assert {note["from"] for note in notes(page)} == {"review"}
    page.get_by_role("button", name="Put the mistakes into the notebook").click()
    expect(page.get_by_text("0 notes added.")).to_be_visible()


def test_a_long_review_says_how_far_it_is(context, served, tables, monkeypatch) -> None:
    seen: list[Progress] = []
    monkeypatch.setattr(running, "OFTEN", -1.0)
    found = review(tables / "2x3-32", GAME, progress=seen.append)
    assert [one.positions for one in seen] == list(range(1, len(found.moves) + 1))
    assert seen[-1].fraction == 1
    page, waiting = context.new_page(), list[Route]()
    page.route("**/api/review", lambda route: waiting.append(route))
    half = {"progress": {"text": describe(seen[0]), "fraction": 0.5}}
    page.route("**/api/review?id=*", lambda route: route.fulfill(json=half))
    page.goto(f"{served.address}?table=2x3-32&view=review")
    page.get_by_label("A game").fill(GAME)
    page.get_by_role("button", name="Review", exact=True).click()
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "0.5")
    expect(page.get_by_text("1 positions")).to_be_visible()
    waiting[0].continue_()
    expect(page.locator(".review-result")).to_be_visible()
