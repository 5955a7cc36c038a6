"""The pages: the generated one is up to date, links lead somewhere, the reader of layer files reads."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilebase
from tilebase import Game, LayerFile, count

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


def prose(page: Path) -> str:
    """A page without its code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def nav_pages() -> list[str]:
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    return re.findall(r"^\s+- .+: (\S+\.md)$", text, flags=re.MULTILINE)


def test_command_line_page_is_what_the_commands_say() -> None:
    script = [sys.executable, "scripts/make-cli-docs", "--check"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_public_name_is_on_the_page_of_the_interface() -> None:
    """`scripts/docs` compares the names of the built page, too."""
    named = re.findall(r"^::: tilebase\.(\w+)$", (DOCS / "api.md").read_text("utf-8"), flags=re.MULTILINE)
    assert sorted(named) == [name for name in tilebase.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", nav_pages())
def test_pages_of_the_navigation_exist(name: str) -> None:
    assert (DOCS / name).is_file()


def test_every_page_is_in_the_navigation() -> None:
    assert {page.relative_to(DOCS).as_posix() for page in PAGES} <= set(nav_pages())


def test_the_first_page_links_every_other() -> None:
    text = (DOCS / "index.md").read_text("utf-8")
    assert [name for name in nav_pages() if name != "index.md" and f"]({name})" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_relative_links_resolve(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    relative = [target.partition("#")[0] for target in targets if "://" not in target]
    missing = [target for target in relative if target and not (page.parent / target).is_file()]
    assert missing == []


def test_reader_of_the_format_page_reads_every_layer(tmp_path: Path) -> None:
    text = (DOCS / "format.md").read_text("utf-8")
    code = re.search(r"^```python.*?\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert code
    names: dict[str, Any] = {}
    exec(code[1], names)
    count(Game("2x3", 32), folder=tmp_path / "run", keep="states")
    files = sorted((tmp_path / "run").rglob("*.tbl"))
    assert files
    for file in files:
        meta, total, keys = names["read_layer"](file)
        with LayerFile(file) as layer:
            expected = np.concatenate([*layer, np.empty(0, dtype=np.uint64)]).tolist()
            assert (meta, total, list(keys)) == (layer.meta, len(layer), expected)
