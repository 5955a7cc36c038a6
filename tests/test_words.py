"""Words that are not written: on pages, in the help, in messages, and in docstrings of public names.

`avoided.tsv` has a regular expression for each, and what is written instead; `game/words.tsv` has the terms.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator

import pytest

from pages import ROOT, TABLES

SOURCE = ROOT / "src" / "tilebase"
AVOIDED = [
    (re.compile(pattern), instead)
    for pattern, instead in (
        line.split("\t") for line in (ROOT / "tests" / "avoided.tsv").read_text("utf-8").splitlines()[1:]
    )
]
CODE = re.compile(r"^```.*?^```$|(?<!`)`[^`\n]*`(?!`)", re.MULTILINE | re.DOTALL)


def pages() -> Iterator[tuple[str, str]]:
    """The pages without their code."""
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        yield page.name, CODE.sub("`", page.read_text("utf-8"))


def helps() -> Iterator[tuple[str, str]]:
    """The help of each command, with its options."""
    for part in TABLES["commands"](full=True).split("\n## "):
        yield part.partition("\n")[0], part


def messages() -> Iterator[tuple[str, str]]:
    """Text in the program that is no docstring and has more than one word."""
    for file in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in statements else None
            if isinstance(text, str) and " " in text:
                yield f"{file.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}", text


def docstrings() -> Iterator[tuple[str, str]]:
    """The docstrings of the names on the pages, and of their methods."""
    filled = TABLES["filled"]
    text = filled((ROOT / "docs" / "api.md").read_text("utf-8"))
    for module, name in re.findall(r"^::: (tilebase[\w.]*)\.(\w+)$", text, re.MULTILINE):
        value = getattr(importlib.import_module(module), name)
        inner = vars(value).items() if inspect.isclass(value) else ()
        yield name, inspect.getdoc(value) or ""
        for key, one in inner:
            if not key.startswith("_") and (callable(one) or isinstance(one, property | classmethod)):
                yield f"{name}.{key}", one.__doc__ or ""


@pytest.mark.parametrize("texts", [pages, helps, messages, docstrings])
def test_avoided_words_are_not_written(texts: Callable[[], Iterator[tuple[str, str]]]) -> None:
    found = []
    for where, text in texts():
        plain = text if texts is pages else re.sub(r"[\s│╭╮╰╯─]+", " ", text)
        for pattern, instead in AVOIDED:
            for match in pattern.finditer(plain):
                around = plain[max(0, match.start() - 50) : match.end() + 30].replace("\n", " ")
                found.append(f"{where}: …{around}… (write: {instead})")
    assert not found, "\n".join(found)
