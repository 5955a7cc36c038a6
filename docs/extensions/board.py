"""For the documentation: the board of the first page, a page that `tilebase export page` writes.

MkDocs calls `on_post_build` (`hooks` in mkdocs.yml).  The game is solved when the site is built, in seconds.
docs/board.js shows the page in a frame when its picture is touched, docs/frame.css makes it small enough.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tilebase import Game, export_page, solve

GAME = Game("2x3", 64)
STYLE = "frame.css"
HEAD = "</head>"


def on_post_build(config: Any, **_: Any) -> None:
    """Write the folder board/ of the site."""
    with TemporaryDirectory() as folder:
        solve(GAME, table=Path(folder, "table"))
        export_page(Path(folder, "table"), Path(config["site_dir"], "board"))
    shutil.copyfile(Path(config["docs_dir"], STYLE), Path(config["site_dir"], "board", STYLE))
    page = Path(config["site_dir"], "board", "index.html")
    text = page.read_text("utf-8")
    if HEAD not in text:
        raise ValueError(f"{page} has no {HEAD}")
    page.write_text(text.replace(HEAD, f'<link rel="stylesheet" href="{STYLE}">{HEAD}'), "utf-8")
