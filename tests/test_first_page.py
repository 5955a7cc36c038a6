"""The first page of the documentation: its board is loaded when it is touched, and plays."""

from __future__ import annotations

import re
import runpy
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from serving import hosted

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The address of a site with the board of the first page, without the theme of MkDocs."""
    runpy.run_path(str(DOCS / "extensions" / "board.py"))["on_post_build"](
        {"site_dir": str(tmp_path), "docs_dir": str(DOCS)}
    )
    text = (DOCS / "index.md").read_text("utf-8")
    link = re.search(r'^<a class="live".*?^</a>$', text, re.MULTILINE | re.DOTALL)
    script = re.search(r"^<script .*?</script>$", text, re.MULTILINE)
    assert link
    assert script
    body = f'<!doctype html><body data-md-color-scheme="slate"><div>{link[0]}</div>{script[0]}</body>'
    (tmp_path / "index.html").write_text(body, "utf-8")
    for name in ("board.js", "pages.css", "img"):
        (shutil.copytree if (DOCS / name).is_dir() else shutil.copyfile)(DOCS / name, tmp_path / name)
    with hosted(tmp_path) as (address, _):
        yield address


def test_the_board_loads_when_touched_and_answers_a_key(browser: Browser, site: str) -> None:
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 500, "height": 700})
    page, asked, problems = context.new_page(), list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(site)
    assert not [url for url in asked if "/board/" in url]

    page.get_by_role("link").click()
    frame = page.frame_locator("iframe.live")
    expect(frame.locator(".headline")).to_contain_text(re.compile(r"9[345]"))
    expect(page.get_by_role("link")).to_have_count(0)
    assert frame.locator("html").evaluate("html => html.style.colorScheme") == "dark"
    expect(frame.get_by_label("About")).not_to_be_visible()  # frame.css

    best = frame.locator(".slide.best .name").first.text_content()
    page.keyboard.press(f"Arrow{best}")
    expect(frame.locator(".facts dd").last).to_have_text("1")
    assert problems == []
    context.close()


def test_the_link_of_the_board_leads_to_the_page_without_scripts(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site)
    page.get_by_role("link").click()
    expect(page).to_have_title("2048 on 2x3, to 64")
    context.close()
