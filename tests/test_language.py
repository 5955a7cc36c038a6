"""The page in Chinese: the catalogue holds each text that a person can see, and no other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from serving import SECONDS, hosted, serving
from tilebase import export_page, force, formation, solve
from tilebase.game.game import Game
from tilebase.objectives.objective import MEANINGS
from tilebase.web.documents import describe_rules

SOURCES = Path(__file__).parents[1] / "src/tilebase"
SCRIPTS = [*(SOURCES / "web/explorer").glob("*.js"), *(SOURCES / "web/player").glob("*.js")]
CATALOGUE: dict[str, str] = json.loads((SOURCES / "web/explorer/zh.json").read_text("utf-8"))
NAMES = re.compile(
    r"tilebase \d\S*|2048verse\S*|\b(tilebase( \w+)?|\d+\w*|free\d+|LL|x+|WASD|Tab|Enter|Page (Up|Down)|"
    r"Shift|JSON|API|[kMGT]B|htm|Preact|EN|English|(forced|refuted)\.cert)\b"
)
"""What has no Chinese: names, units, keys, commands."""
CROWDED = re.compile(r"\d(?![万亿])[一-鿿]|[一-鿿]\d|[\u3001\u3002\uff0c\uff1a\uff1b] [^·]| …")
"""A number without a space beside Chinese, or a space beside Chinese marks."""
NOT_SHOWN = {
    "winning set", "cell wall", "goal {}", "cell button", "not forced", "chart {}", "tilebase game",
    "tilebase notebook", "button {}", "notice end {}", "verdict {}", "notice verdict {}",
    "arrow", "button, summary, a", "english", "scope > title, g.node > title",
    "textarea, select, input:not([type=radio]):not([type=checkbox])", "a block has another length",
}  # fmt: skip
"""Classes, selectors and formats."""

TOKEN = re.compile(
    r"(?P<skip>//[^\n]*|/\*.*?\*/|(?<=[(,=:&|?[{])\s*/(?![*/ ])(?:\\.|\[[^\]]*\]|[^/\\\n])+/)"
    r'|(?P<string>"(?:\\.|[^"\\])*")|(?P<template>(?:\bhtml)?`)|(?P<brace>[{}])',
    re.DOTALL,
)
PIECE = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*", re.DOTALL)
TAG = re.compile(r"<[^<>]*>")
ATTRIBUTE = re.compile(r'\b(?:alt|aria-[a-z]+|placeholder|title|label|name|left|right)="([^"]*)"')
PROSE = re.compile(r"[A-Za-z]{2,}[,;:]? [A-Za-z]|^\W*[A-Z][a-z]+\W*$|[a-z]{2}.* \{\}|\{\}.* [a-z]{2}")


def texts_of(source: str) -> Iterator[str]:
    """The texts of a script; {} stands for what is computed."""
    at, depth = 0, 0
    around: list[tuple[bool, list[str], int]] = []  # of the templates: whether of elements, pieces, depth
    while found := TOKEN.search(source, at):
        at = found.end()
        if found["string"]:
            yield json.loads(found["string"])
        if found["template"]:
            around.append((found[0] != "`", [], depth))
        if found["brace"]:
            depth += 1 if found[0] == "{" else -1
        if found["template"] or (found[0] == "}" and around and depth == around[-1][2]):
            piece = PIECE.match(source, at)
            assert piece
            around[-1][1].append(piece[0])
            at = piece.end() + 1
            if source[piece.end()] == "`":
                elements, pieces, _ = around.pop()
                text = "{}".join(pieces)
                yield from [*TAG.split(text), *ATTRIBUTE.findall(text)] if elements else [text]


def key(text: str) -> str:
    """A text as it is compared: without what differs between a text and how it is written in a sentence."""
    plain = re.sub(r"\{[*#]?\}(\{\})*", "{}", re.sub(r"\s+", " ", text.replace("\\n", " ")))
    return plain.strip(" .,;:?!…").lower()


TEXTS = [text for script in SCRIPTS for text in texts_of(script.read_text("utf-8"))]
SHOWN = {key(text) for text in TEXTS if PROSE.search(text)}
PROGRAM = re.sub(r'"\s*f?"', "", "".join(path.read_text("utf-8") for path in SOURCES.rglob("*.py"))).lower()


def test_the_catalogue_holds_nothing_else() -> None:
    """Each part of a text that it holds is part of a text of the page or of the program."""
    words = "\n".join(map(key, TEXTS)) + PROGRAM
    for text, chinese in CATALOGUE.items():
        parts = re.split(r"\{\}|\[\w+\]|[,;:()] |[()]|\bbut ", key(text))
        assert [part for part in parts if part.strip() not in words] == [], text
        assert len(re.findall(r"\{.?\}", text)) >= len(re.findall(r"\{\d?\}", chinese)), text
    assert len({one.lower() for one in CATALOGUE}) == len(CATALOGUE)


# -- in a browser ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("language")
    solve(Game("2x2", 32), "lower,upper,score", table=folder / "2x2-32")
    solve(Game("2x2x2", 16, walls=[7]), table=folder / "2x2x2-16")
    solve(formation("44").game(8), table=folder / "44-8")
    force(Game("3x3", 8, start="empty"), certificate=folder / "forced.cert")
    force(Game("2x2", 16, start="empty"), certificate=folder / "refuted.cert")
    return folder


@pytest.fixture(scope="module")
def address(tables: Path) -> Iterator[str]:
    with serving(*tables.iterdir()) as served:
        yield served.address


@pytest.fixture(scope="module")
def chinese(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(locale="zh-CN", reduced_motion="reduce")
    context.set_default_timeout(1000 * SECONDS)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    context.close()
    assert wrong == []


ALL = """() => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  const all = [...document.querySelectorAll("body *:not(script, style, code, noscript, textarea)")];
  const nodes = all.flatMap(({ childNodes }) => [...childNodes]).filter((one) => one instanceof Text);
  const names = ["alt", "aria-label", "aria-valuetext", "placeholder", "title"];
  const told = all.flatMap((one) => names.map((name) => one.getAttribute(name) || ""));
  return [...nodes.map(({ data }) => data), ...told];
}"""


def english(texts: list[str]) -> set[str]:
    """Those that have English words, or Chinese that is not spaced."""
    return {text for text in texts if re.search("[A-Za-z]{2}", NAMES.sub("", text)) or CROWDED.search(text)}


def check(page: Page) -> None:
    """Assert that all that is shown, when it is there, is Chinese."""
    expect(page.locator(".wait")).to_have_count(0)
    page.wait_for_timeout(50)
    assert english(page.evaluate(ALL)) == set(), page.url


TRANSLATE = "async (texts) => { const { t } = await import('/language.js'); return texts.map(t); }"


def test_every_text_has_its_chinese(chinese: Page, address: str) -> None:
    """Of the sources, and of the program: rules, objectives, times."""
    rules = [
        Game("2x3", 64, spawn="1/5", start="empty"), formation("442").game(256),
        Game("3x3", goal_sum=64, spawn=0), Game("2x2x2", 16, walls=[7]),
        Game("2x3", 64, spawn="2/7", limits=32, pattern="32,16,*/*,*,*"),
    ]  # fmt: skip
    program = [rule for game in rules for rule in [*describe_rules(game), str(game)]]
    program += [meaning.text for meaning in MEANINGS.values()]
    program += ["3.2 days", "a second", "570 trillion states"]
    program += ["Tables lie in 7. " + next(text[2:] for text in TEXTS if text.startswith("{}A formation"))]
    program += ["sum 120 spawn  1,234 states  1.2 M/s  about 0:12 left"]
    chinese.goto(address)
    assert english(chinese.evaluate(TRANSLATE, program)) == set()
    shown = sorted(SHOWN - NOT_SHOWN)
    found = chinese.evaluate(TRANSLATE, [text.replace("{}", "7") for text in shown])
    known = "\n".join(map(key, CATALOGUE))
    parts = [re.split(r"\{\}|[.] ", text) for text, told in zip(shown, found, strict=True) if english([told])]
    assert [one for one in parts if any(part.strip(" ,;:.") not in known for part in one)] == []
    assert NOT_SHOWN <= SHOWN


@pytest.mark.parametrize("table", ["2x2-32", "2x2x2-16", "44-8"])
def test_each_view_is_chinese(table: str, chinese: Page, address: str) -> None:
    for view in ("play", "train", "browse", "layers", "diagram"):
        chinese.goto(f"{address}?table={table}&view={view}")
        expect(chinese.locator("main h1")).to_be_visible()
        check(chinese)
        for direction in ("Left", "Up", "Right", "Down"):
            chinese.keyboard.press(f"Arrow{direction}")
        check(chinese)
    chinese.goto(f"{address}?table={table}&view=review")
    chinese.locator("textarea").fill("2,0/0,2\n0,2/2,4\n2,0/0,2" if table != "2x2x2-16" else "2")
    chinese.locator("form button.main").click()
    expect(chinese.locator(".notice, .review-result").first).to_be_visible()
    check(chinese)


PAGES = {
    "?board=0,2,4,0/2,16,8,4/8,128,256,512/1024,2048,4096,8192": ".found", "?board=2,4/0,2": ".found",
    "?board=2": ".notice",
    "?table=forced.cert": ".board", "?table=refuted.cert": ".board", "?table=9": ".notice",
    "?table=2x2-32&board=2,4/0,16": ".slide", "?table=2x2-32&board=2,3/4,5": ".notice",
    "?table=44-8&board=0,2,4,0/2,0,2,4/8,128,256,512/1024,2048,4096,8192": ".slide",
}  # fmt: skip


def test_other_pages_are_chinese(chinese: Page, address: str) -> None:
    for query, there in PAGES.items():
        chinese.goto(address + query)
        expect(chinese.locator(there).first).to_be_visible()
        check(chinese)
        chinese.keyboard.press("?")
        check(chinese)


def test_a_switch_is_kept(chinese: Page, address: str) -> None:
    chinese.goto(address)
    chinese.get_by_title("English").click()
    for _ in range(2):
        expect(chinese.get_by_role("heading", name="Which slide is best?")).to_be_visible()
        chinese.reload()
    assert chinese.locator("html").get_attribute("lang") == "en"
    chinese.get_by_title("中文").click()
    expect(chinese.get_by_role("heading", name="哪一步最佳")).to_be_visible()
    assert chinese.locator("html").get_attribute("lang") == "zh-Hans"


def test_an_exported_page_is_chinese_too(chinese: Page, tables: Path, tmp_path: Path) -> None:
    export_page(tables / "44-8", tmp_path / "page")
    with hosted(tmp_path / "page") as (page, seen):
        for view in ("play", "train"):
            chinese.goto(f"{page}/?view={view}")
            expect(chinese.get_by_role("heading", name="定式 44")).to_be_visible()
            chinese.keyboard.press("ArrowLeft")
            check(chinese)
        assert not any("zh.json" in path for path in seen)
