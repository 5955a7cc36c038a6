"""The pages: what they show is what commands print, links lead somewhere, the reader to copy reads."""

from __future__ import annotations

import importlib
import re
import runpy
import tomllib
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tilebase
import transcripts
from pages import DOCS, ROOT, TABLES
from repetition import one_in
from tilebase import Game, count, open_table, solve
from tilebase.cli import main
from tilebase.runtime.paths import VARIABLES
from transcripts import Block

PAGES = sorted(DOCS.rglob("*.md"))
SHOWING = [*sorted(ROOT.glob("*.md")), *PAGES]
"""Pages whose console blocks are run; the page of the command line is compared as a whole."""
BLOCKS = [block for page in SHOWING for block in transcripts.blocks(page)]
NOT_RUN = {
    "play": "a person has to type the slides",
    "times of this machine": "the library is the reader's, and so are the times",
}
"""Why blocks with the comment ``<!-- not run: ... -->`` are only parsed."""
FIRST_WORDS = {"tilebase certificate 1", "tilebase run", "tilebase bound", "tilebase table"}
"""What files begin with, which are no commands."""


def without_blocks(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """What links to a page may name: its headings, in small letters with hyphens, and marks of its own."""
    text = without_blocks(page)
    marks = set(re.findall(r'(?:\{#|\bid=")([\w-]+)', text))
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE):
        shown = re.sub(r"\]\([^)]*\)|\{#[^}]*\}|[^\w\s-]", "", heading)
        plain = unicodedata.normalize("NFKD", shown).encode("ascii", "ignore").decode()
        marks.add(re.sub(r"[-\s]+", "-", plain.strip().lower()))
    return marks


def nav_pages() -> list[str]:
    text = (ROOT / "mkdocs.yml").read_text("utf-8")
    return re.findall(r"^\s+- .+: (\S+\.(?:md|ipynb))$", text, flags=re.MULTILINE)


def test_the_index_page_names_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].keys() - {"docs", "dev"}
    install = (DOCS / "index.md").read_text("utf-8").partition("Extras: ")[2].partition("\n\n")[0]
    assert extras <= set(re.findall(r"`(\w+)`", install))


def test_command_line_page_shows_the_help_that_users_see(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ((), ("count",), ("reach", "board")):
        assert main([*words, "--help"]) == 0
        begin = capsys.readouterr().out.partition("╭")[0]
        assert TABLES["help_text"](words).partition("╭")[0].split() == begin.split()
        assert begin.startswith("Usage: tilebase ")


@pytest.mark.all  # the help of each command, short and whole, takes five CPU seconds
def test_command_line_page_shows_every_variable_and_shared_options() -> None:
    page = TABLES["filled"]((DOCS / "cli.md").read_text("utf-8"))
    assert all(f"- `{name}`: " in page for name in VARIABLES)
    assert all(page.count(f"{name} ") >= 1 for name in ("--limits", "--cluster", "--record"))


def test_drawings_are_what_the_program_computes() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "make-drawings"))
    for name, draw in list(made["DRAWINGS"].items())[one_in(5)]:
        assert (made["FOLDER"] / f"{name}.svg").read_text("utf-8") == draw(), name


def test_every_public_name_is_on_the_page_of_the_interface_whose_names_exist() -> None:
    """`scripts/docs` compares the names of the built page, too."""
    page = TABLES["filled"]((DOCS / "api.md").read_text("utf-8"))
    named = re.findall(r"^::: tilebase\.(\w+)$", page, flags=re.MULTILINE)
    assert sorted(named) == [name for name in dir(tilebase) if name != "__version__"]
    for module, name in re.findall(r"^::: (tilebase\.[\w.]+)\.(\w+)$", page, flags=re.MULTILINE):
        assert hasattr(importlib.import_module(module), name), f"{module}.{name}"


def test_the_navigation_has_all_pages_and_no_other() -> None:
    every = [*PAGES, *DOCS.rglob("*.ipynb")]
    assert {page.relative_to(DOCS).as_posix() for page in every} == set(nav_pages())


def test_the_first_page_links_every_other() -> None:
    text = TABLES["filled"]((DOCS / "index.md").read_text("utf-8"))
    assert [name for name in nav_pages() if name != "index.md" and f"]({name})" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_relative_links_resolve(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", without_blocks(page)))
    relative = [target.partition("#") for target in targets if "://" not in target]
    files = {name: page.parent / name if name else page for name, _, _ in relative}
    assert [name for name, file in files.items() if not file.is_file()] == []
    pages = {name: anchors(file) for name, file in files.items() if file.suffix == ".md"}
    named = [(name, anchor) for name, _, anchor in relative if anchor and name in pages]  # not pictures
    assert [f"{name}#{anchor}" for name, anchor in named if anchor not in pages[name]] == []


def test_the_example_for_kept_states_finds_what_lookahead_keeps(tmp_path, capsys) -> None:
    names = runpy.run_path(str(ROOT / "examples" / "one_move_ahead.py"))
    count(Game("3x3", 32), folder=tmp_path / "run", keep="states")
    partial = count(Game("3x3", 256), lookahead=True, up_to=96)
    for total in (88, 96):
        names["main"](tmp_path / "run", total, 256)
        (layer,) = partial.live[partial.sums == total]
        told = re.fullmatch(r"(\d+) live states of sum \d+, (\d+) .*\n", capsys.readouterr().out)
        assert told is not None
        live, kept = map(int, told.groups())
        assert live > kept == layer[:5].sum()  # tiles up to 16, 2^4


@pytest.mark.parametrize("space", ["reachable", "all"])
def test_the_reader_to_copy_reads_tables(space: str, tmp_path: Path) -> None:
    names = runpy.run_path(str(ROOT / "examples" / "read_table.py"))
    game = Game("2x3", 16, walls=[5], start="empty") if space == "reachable" else Game("2x2", 16)
    solve(game, "win,guaranteed,lower:uint32", table=tmp_path / "t", space=space, threads=1)
    mask = game.cell_bits(set(range(game.cells)) - set(game.walls))
    with open_table(tmp_path / "t") as table:
        for objective in table.objectives:
            found = list(names["read_table"](tmp_path / "t", objective.label, mask))
            expected = []
            for total in table.prober.sums():
                layer = table.prober.layer(total, objective)
                for chunk in range(layer.chunks):
                    values = layer.values(chunk)
                    keys = range(len(values)) if table.dense else layer.keys(chunk).tolist()
                    expected += [(total, key, value) for key, value in zip(keys, values, strict=True)]
            assert found
            assert sorted(found) == expected


# -- console blocks --------------------------------------------------------------------------------


def marked(block: Block) -> Any:
    """A block as a parameter: slow ones behind the marker."""
    return pytest.param(block, id=str(block), marks=[pytest.mark.slow] if block.slow else [])


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_commands_of_blocks_can_be_parsed(block: Block) -> None:
    for command in (*block.before, *block.commands):
        if command.words[0] == "tilebase":
            assert callable(transcripts.function_of(command.arguments)), command.text


@pytest.mark.parametrize("block", [marked(block) for block in BLOCKS if not block.not_run])
def test_blocks_show_what_commands_print(block: Block, folder: Path) -> None:
    for command in block.before:
        assert transcripts.run(command).status == 0, command.text
    for command in block.commands:
        printed = transcripts.run(command)
        assert transcripts.agree(command.shown, printed), f"$ {command.text}\n{printed.both}"


def test_blocks_that_are_not_run_say_why() -> None:
    assert {block.not_run for block in BLOCKS if block.not_run} == set(NOT_RUN)


def test_every_command_in_a_console_block_belongs_to_a_block() -> None:
    """No block escapes because its fence or its comment is written in another way."""
    for page in SHOWING:
        lines = re.findall(r"^\$ tilebase .*$", page.read_text("utf-8"), flags=re.MULTILINE)
        found = [f"$ {command.text}" for block in transcripts.blocks(page) for command in block.commands]
        assert [line for line in found if line.startswith("$ tilebase ")] == lines, page.name


@cache
def help_of_all() -> str:
    return TABLES["commands"](full=True) + TABLES["help_text"](("count",))  # which names --help-all


@pytest.mark.parametrize("page", SHOWING, ids=lambda page: page.name)
def test_commands_and_options_in_the_text_exist(page: Path) -> None:
    names = set(re.findall(r"^## tilebase (\S+)", help_of_all(), flags=re.MULTILINE))
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", help_of_all()))
    for code in re.findall(r"`([^`]+)`", without_blocks(page)):
        if not code.startswith(("tilebase ", "--")) or code in FIRST_WORDS:
            continue
        command = re.match(r"tilebase ([a-z]\S*)", code)
        assert not command or command[1] in names, code
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", code)) <= options, code


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("in 0.3 s", "in 12.75 s", True),
        ("about 4.6 hours", "about 3 days", True),
        ("about 23:31", "about 1:02:03", True),
        ("17.2 GB of disk", "640 kB of disk", True),
        ("3x3  seconds\n3x3      1.2", "3x3  seconds\n3x3    104.7", True),
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...\nd", "a\nd", True),
        ("45 boards", "46 boards", False),
        ("0.736774177023", "0.736774177024", False),
        ("a\n...\nd", "a\nb\nc", False),
        ("a", "a\nb", False),
        ("12 spawns", "13 spawns", False),
        ("3x3  boards\n3x3      1.2", "3x3  boards\n3x3      1.3", False),
    ],
)
def test_times_and_sizes_alone_may_differ(shown: str, printed: str, same: bool) -> None:
    assert transcripts.fits(tuple(shown.splitlines()), printed) is same
