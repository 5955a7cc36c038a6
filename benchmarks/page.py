"""The explorer's page in Chromium: milliseconds until it shows values, and until a slide is drawn.

    scripts/bench --page

Goals: 300 ms to the first view, in a browser that has never seen the page and when it is loaded again;
30 ms from a key to the first change of the board.  The table is that of 3x3 to 64; the server and the
browser are on this machine.  Needs Chromium (Debian: `chromium`).
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tilebase import Game, solve

VIEW_GOAL, SLIDE_GOAL = 300.0, 30.0
REPEATS = 8
SEEN = """new MutationObserver(() => {
  if (document.querySelector(".slide.best")) window.seen ??= performance.now();
}).observe(document, { childList: true, subtree: true })"""
SLIDE = """() => new Promise((done, fail) => {
  setTimeout(() => fail("no slide was drawn"), 5000);
  const start = performance.now();
  new MutationObserver(() => done(performance.now() - start))
    .observe(document.querySelector(".tiles"), { childList: true, subtree: true, attributes: true });
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
})"""
BOARD = "?table=table&board=0,0,2/0,2,0/0,0,4"


def view(page: Page, address: str) -> float:
    """Milliseconds from the beginning of the load until a value is shown."""
    page.goto(address)
    page.wait_for_function("window.seen")
    return float(page.evaluate("window.seen"))


def measure(browser: Browser, address: str) -> tuple[list[float], list[float], list[float]]:
    """First views in new contexts, later views, and slides."""
    first, again, slides = [], [], []
    for _ in range(REPEATS):
        context = browser.new_context(bypass_csp=True)  # waiting evaluates text
        page = context.new_page()
        page.add_init_script(SEEN)
        first.append(view(page, address + BOARD))
        again.append(view(page, address + BOARD))
        slides.append(float(page.evaluate(SLIDE)))
        context.close()
    return first, again, slides


def main() -> int:
    executable = shutil.which("chromium")
    if executable is None:
        sys.exit("the system package chromium is missing")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table")
        solve(Game("3x3", 64), table=path)
        command = [sys.executable, "-P", "-m", "tilebase", "serve", str(path), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                address = server.stdout.readline().split()[1]
                with sync_playwright() as playwright:
                    arguments = ["--no-sandbox"]
                    browser = playwright.chromium.launch(executable_path=executable, args=arguments)
                    found = measure(browser, address)
                    browser.close()
            finally:
                server.terminate()
    missed = 0
    goals = (("first view", VIEW_GOAL), ("view again", VIEW_GOAL), ("slide", SLIDE_GOAL))
    for times, (name, goal) in zip(found, goals, strict=True):
        best, median = min(times), statistics.median(times)
        verdict = "reached" if best <= goal else "MISSED"
        missed += best > goal
        print(f"{'page, ' + name:20} {best:6.1f} ms best, {median:6.1f} median (goal {goal:g} ms: {verdict})")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
