"""For the documentation: the tables of its pages, made from the fact files, and the help of all commands.

MkDocs calls `on_page_markdown` and `on_post_build` (`hooks` in mkdocs.yml).  Where a table belongs, a page
has a comment that says what it shows:

<!-- rows: FILE/VALUE COLUMN,COLUMN=HEADING -->
    the rows of src/tilebase/facts/FILE.tsv whose first column has this value.  COLUMN+COLUMN puts both into
    one cell, the column `took` is time, memory, disk and conditions, and _ is a blank of a heading
<!-- results: GROUP -->
    a group of results (`tilebase cite --group GROUP`)
<!-- made: sections -->
    the sections of the publications, each with a command and how many of its lines were computed
<!-- api: NAME,NAME -->
    the descriptions of public names, by mkdocstrings
<!-- made: terms -->, <!-- made: labels -->, <!-- made: columns -->
    the terms of `game/words.tsv`, the columns of boards
<!-- made: benchmarks --> and <!-- made: agents -->
    the tasks of `datasets/benchmarks.tsv`, and the reference agents of `datasets/agents.tsv`
<!-- made: formations --> and <!-- made: requests -->
    the pictures of all formations, and the requests that the server of the explorer answers
<!-- made: pages -->
    the pages of the navigation
<!-- packages: NAME,NAME -->
    packages and modules of tilebase, with the first line of their docstrings
<!-- made: variables --> and <!-- made: commands -->
    the environment variables, and the help of every command
"""

from __future__ import annotations

import ast
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import Any

from cyclopts import App
from rich.console import Console

import tilebase
from tilebase.claims.facts import SECTIONS, SOURCES, read_facts, took_of
from tilebase.claims.results import GROUPS, Result, results
from tilebase.cli.commands import app, load_commands
from tilebase.cli.usage import ALL, begin_help
from tilebase.files.schema import COLUMNS
from tilebase.game.formations import formations
from tilebase.runtime.paths import VARIABLES
from tilebase.runtime.rows import markdown_text, read_rows
from tilebase.web.operations import OPERATIONS

BLOCK = re.compile(r"^<!-- (\w+): (?:(\w+)/)?([\w.,-]+) ?(\S*) -->$", re.MULTILINE)
WIDTH = 88
"""Columns of the help."""
LABEL = re.compile(r"(?:of|in|on) [^:;]+: ")
"""How the meaning of a label begins that some commands print."""
VALUES = {"optimum": 9, "random": 6, "greedy": 6}
"""Digits of the values of a benchmark."""
ROOT = Path(__file__).parents[2]
CONFIG, SOURCE = ROOT / "mkdocs.yml", ROOT / "src" / "tilebase"
PAGE = re.compile(r"- (.+): (\S+)$", re.MULTILINE)
PANEL = re.compile(r"^╭─ (.+?) ─+╮\n.*?^╰─+╯$", re.MULTILINE | re.DOTALL)


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    return markdown_text([dict(zip(heads, row, strict=True)) for row in rows]).rstrip("\n")


def source(one: Result) -> str:
    """Who published a result, in a word or two."""
    return next((author for author in SOURCES.values() if author in one.source), one.source)


def of_group(group: str) -> str:
    """How many results a group has, and their table: three columns, since a page is no wider."""
    found = [one for one in results() if one.group == group]
    heads = {
        "published": ["board, question", "published", "what it would take"],
        "open": ["board, question", "what is known", "what it would take"],
        "new": ["board, question", "result", "how it was computed"],
    }.get(group, ["board, question", "published, and computed here", "how it was computed"])
    rows = []
    for one in found:
        answer = f"{one.answer} ({one.kind})"
        published = f"{one.published} ({source(one)})"
        ran = [
            f"`{one.command}`",
            one.version,
            one.size,
            one.took,
            f"checked: {one.checked}" * bool(one.checked),
        ]
        told = {
            "published": ([published], [one.needs, one.note]),
            "open": ([one.answer], [one.needs, one.checked]),
            "new": ([answer, f"closest: {one.near}" * bool(one.near)], [*ran, one.note]),
        }.get(group, ([published, answer], [*ran, one.note]))
        cells = [[f"**{one.board}**", one.question], *told]
        cells[2].append(f"`{one.name}`")
        rows.append(["<br>".join(filter(None, cell)) for cell in cells])
    made = table(heads, rows)
    return f'{len(found)} results: {GROUPS[group]}.\n\n<div class="results" markdown>\n\n{made}\n\n</div>'


def lines_of(section: dict[str, str]) -> list[Result]:
    """The published lines of a section."""
    begins = tuple(f"{file.removesuffix('.tsv').replace('_', '-')}-" for file in section["files"].split(","))
    return [
        one for one in results() if one.name.startswith(begins) and re.search(section["cited"], one.source)
    ]


def sections() -> str:
    """The table of what was computed of each section of the publications."""
    rows = []
    for row in read_facts(SECTIONS):
        groups = Counter(one.group for one in lines_of(row))
        counts = f"{groups.total() - groups['published']} of {groups.total()} computed"
        better = f", {groups['improved']} improved or corrected" if groups["improved"] else ""
        cells = [row["source"], row["section"], row["numbers"], f"`{row['command']}`"]
        rows.append([*cells, row["state"] or counts + better])
    return table(["publication", "section", "what", "one of its numbers", "state"], rows)


def rows_of(file: str, value: str) -> list[dict[str, str]]:
    """The rows that a comment names, with `took`.  Raises ValueError if there are none."""
    every = read_facts(f"{file}.tsv")
    found = [row | {"took": took_of(row)} for row in every if next(iter(row.values())) == value]
    if not found:
        raise ValueError(f"{file} has no rows of {value!r}")
    return found


def cell(row: dict[str, str], columns: str) -> str:
    """Columns of a row in one cell; commands as code."""
    texts = [(name, row.get(name, "")) for name in columns.split("+")]
    return ", ".join(f"`{text}`" if name == "command" else text for name, text in texts if text)


def rows(file: str, value: str, columns: str) -> str:
    """The table that a comment describes."""
    named = [one.partition("=") for one in columns.split(",")]
    cells = [[cell(row, names) for names, _, _ in named] for row in rows_of(file, value)]
    return table([(heading or names).replace("_", " ") for names, _, heading in named], cells)


def command_words(inner: App, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command that is listed, outer ones first, in alphabetical order."""
    yield words
    for name in sorted(inner):
        if not name.startswith("-") and inner[name].show:
            yield from command_words(inner[name], (*words, name))


def help_text(words: tuple[str, ...], *, full: bool = False) -> str:
    """What `--help` or `--help-all` prints, on a terminal of `WIDTH` columns without colours."""
    out = StringIO()
    console = Console(file=out, width=WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
    begin_help([ALL] * full, of_all=not words)
    (app.meta if words else app).help_print(list(words), console=console)
    text = re.sub(r"Usage: \S+", "Usage: tilebase", out.getvalue(), count=1)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


@cache
def shared_options() -> str:
    """The groups of options that many commands share, each once, where it has most options."""
    found = dict[str, str]()
    for words in command_words(app):
        own = set(PANEL.findall(help_text(words)))
        for panel in PANEL.finditer(help_text(words, full=True)):
            if panel[1] not in own and len(panel[0]) > len(found.get(panel[1], "")):
                found[panel[1]] = panel[0]
    return "\n".join(found.values())


@cache
def commands(*, full: bool = False) -> str:
    """The help of every command, and the options that they share: at the end, or with each (`full`)."""
    load_commands()
    parts = [
        f"## {' '.join(('tilebase', *words))}\n\n```text\n{help_text(words, full=full)}\n```"
        for words in command_words(app)
    ]
    if not full:
        parts.append(f"## Options of many commands\n\n```text\n{shared_options()}\n```")
    return "\n\n".join(parts)


def words(*, labels: bool) -> str:
    """The terms in alphabetical order: labels of some command, "of plan: ...", or the others."""
    found = sorted(read_rows("game", "words.tsv"), key=lambda row: row["word"].lower())
    rows = [
        [f"**{row['word']}**", row["meaning"]] for row in found if bool(LABEL.match(row["meaning"])) == labels
    ]
    return table(["term", "meaning"], rows)


def columns() -> str:
    """The columns of boards."""
    rows = []
    for one in COLUMNS:
        name = f"`{one.name}left`, ..." if one.name.endswith("_") else f"`{one.name}`"
        rows.append([name, one.type, one.meaning.format("left")])
    return table(["column", "type", "meaning"], rows)


def tasks() -> str:
    """The benchmarks."""
    rows = []
    for row in read_rows("datasets", "benchmarks.tsv"):
        values = [f"{float(row[key]):.{digits}g}" for key, digits in VALUES.items()]
        rows.append([f"`{row['name']}`", row["words"], *values])
    return table(["name", "game", *VALUES], rows)


def agents() -> str:
    """The reference agents of benchmarks."""
    rows = []
    for row in read_rows("datasets", "agents.tsv"):
        less, _, number = row["value"].rpartition(" ")  # "less than 1e-12"
        values = {"value": f"{less} {float(number):.6g}".strip(), "regret": f"{float(row['regret']):.6g}"}
        rows.append(
            row | values | {"benchmark": f"`{row['benchmark']}`", "slides": f"{int(row['slides']):,}"}
        )
    return markdown_text(rows).rstrip("\n")


def catalogue() -> str:
    """The formations by free cells, with their goals, how many masks they have, and pictures."""
    rows = {}
    for one in sorted(formations(), key=lambda one: (one.free_cells, one.largest_goal)):
        least = f"{one.least_goal} to " if one.least_goal > 8 else "to "
        masks = f" ({len(one.masks)} masks)" if len(one.masks) > 1 else ""
        row = rows.setdefault((one.free_cells, f"{least}{one.largest_goal}"), list[str]())
        row.append(f"{one.name}{masks}: ![{one.name}](img/formation-{one.name}.svg)")
    heads = ["free cells", "goals", "formations"]
    return table(heads, [[str(cells), goals, " ".join(row)] for (cells, goals), row in rows.items()])


def requests() -> str:
    """What the server answers."""
    rows = []
    for one in OPERATIONS:
        given = [part.name for part in one.parameters if part.where == "query"] or (one.body or {}).get(
            "properties", ()
        )
        rows.append([f"`{one.method} {one.path}`", one.summary, ", ".join(f"`{name}`" for name in given)])
    return table(["request", "answer", "parameters"], rows)


def packages(names: str) -> str:
    """The packages and modules with these names, each with its purpose."""
    rows = []
    for name in names.split(","):
        folder = SOURCE / name
        file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
        first = (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").partition("\n")[0]
        rows.append([f"`{name}{'/' * folder.is_dir()}`", first.replace("``", "`").rstrip(".")])
    return table(["package", "purpose"], rows)


def pages() -> str:
    """The pages of the navigation, as a list."""
    groups = re.findall(r"^  - (\w+):\n((?:      - .+\n)+)", CONFIG.read_text("utf-8"), re.MULTILINE)
    return "\n".join(
        f"- **{group}**: {', '.join(f'[{name}]({page})' for name, page in PAGE.findall(lines))}."
        for group, lines in groups
    )


def variables() -> str:
    """The environment variables."""
    return "\n".join(f"- `{name}`: {text}." for name, text in VARIABLES.items())


MADE: dict[str, Callable[[], str]] = {
    "sections": sections,
    "terms": partial(words, labels=False),
    "labels": partial(words, labels=True),
    "benchmarks": tasks,
    "agents": agents,
    "columns": columns,
    "formations": catalogue,
    "requests": requests,
    "pages": pages,
    "commands": commands,
    "variables": variables,
}


def made(found: re.Match[str]) -> str:
    """What stands in place of a comment.  Raises ValueError if it is another one."""
    kind, file, value, columns = found.groups()
    if kind == "rows":
        return rows(file, value, columns)
    if kind == "api":
        return "\n\n".join(f"::: tilebase.{name}" for name in value.split(",")) + "\n"
    if kind == "packages":
        return packages(value)
    if kind == "results":
        return of_group(value)
    if kind != "made" or value not in MADE:
        raise ValueError(f"{found[0]} names nothing that can be made")
    return MADE[value]()


def filled(markdown: str) -> str:
    """A page with its tables."""
    return BLOCK.sub(made, markdown)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called with every page before it is made."""
    return filled(markdown)


def on_post_build(config: Any, **_: Any) -> None:
    """Check the inventory, which is what other projects link to.  Raises ValueError if it lacks a name."""
    data = Path(config["site_dir"], "objects.inv").read_bytes().split(b"\n", 4)[4]
    held = {line.split(" ")[0] for line in zlib.decompress(data).decode().splitlines()}
    missing = [name for name in dir(tilebase) if name != "__version__" and f"tilebase.{name}" not in held]
    if missing:
        raise ValueError(f"not in the inventory: {', '.join(missing)}")
