"""The project keeps its own rules: style, types, direction of imports, a light start, true examples."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import os
import pydoc
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import tilebase
from mutation.__main__ import rows, sources
from mutation.changes import changes_in
from repetition import repeated, taken
from tilebase._version import RELEASE
from tilebase.claims.results import AUTHORS, TITLE

ROOT = Path(__file__).parents[1]
SCRIPTS = [*(path for path in sorted((ROOT / "scripts").iterdir()) if path.is_file()), ROOT / ".ci/run"]
EXAMPLES = [
    page
    for page in (*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md")))
    if ">>> " in page.read_text("utf-8")
]

TESTS = {path.relative_to(ROOT).as_posix(): path for path in sorted((ROOT / "tests").rglob("*.py"))}

ORDER: tuple[tuple[str, ...], ...] = (
    ("_version", "check", "errors"),
    ("runtime",),
    ("cluster",),
    ("_kernels",),
    ("game",),
    ("objectives",),
    ("counting",),
    ("small",),
    ("files",),
    ("dense", "sparse"),
    ("search",),
    ("bdd",),
    ("costs",),
    ("tables",),
    ("arrays",),
    ("patterns",),
    ("simulator",),
    ("policies",),
    ("pictures",),
    ("claims",),
    ("questions",),
    ("datasets", "web"),
    ("envs",),
    ("tilebase",),  # the flat public API; it loads everything below lazily and is not checked itself
    ("cli",),
    ("__main__",),
)
"""Modules and packages of tilebase, lowest first; each imports itself and what is lower."""

RANK = {unit: rank for rank, units in enumerate(ORDER) for unit in units}

MODULES = {
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "src").rglob("*.py"))
}

QUESTIONS = [
    path for room in ("questions", "policies") for path in (ROOT / "src/tilebase" / room).glob("*.py")
]

TOOLS = ["ruff check", "ruff format --check", f"pyrefly check --python-interpreter-path {sys.executable}"]
MACHINE_PATH = re.compile(rf"(?<![\w.~)}}-])(/(home|root|tmp|Users)/\w|{re.escape(str(ROOT))}\b)")


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"{' '.join(command)}\n{done.stdout}{done.stderr}", pytrace=False)


@pytest.mark.parametrize("tool", TOOLS)
def test_style_and_types(tool: str) -> None:
    run("-m", *tool.split())


def test_each_path_in_contributing_exists() -> None:
    """Paths stand in backquotes; those without a folder of the root before them are of the sources."""
    text = re.sub(r"```.*?```", "", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), flags=re.DOTALL)
    words = {word for quoted in re.findall(r"`([^`]+)`", text) for word in quoted.split()}
    paths = {
        word
        for word in words
        if re.fullmatch(r"[\w*/.-]+(?:/|\.(?:py|md|tsv|js))", word) and "NAME" not in word
    }
    assert len(paths) > 60
    bare = {path.name for path in (ROOT / "src").rglob("*")}  # a file after its folder was named

    def exists(path: str) -> bool:
        roots = (ROOT, ROOT / "src/tilebase")
        return any(any(root.glob(path)) for root in roots) or path in bare

    assert sorted(path for path in paths if not exists(path)) == []


def unit_of(module: str) -> str:
    """The entry of `ORDER` that a module belongs to."""
    return module.removeprefix("tilebase.").partition(".")[0]


def imported_modules(text: str) -> Iterator[str]:
    """Name each module of tilebase that a source imports, also inside functions."""
    found = r"^ *(?:import (tilebase[\w.]*)|from (tilebase[\w.]*) import (\([^)]*\)|.*))"
    for whole, origin, members in re.findall(found, re.sub(" #.*", "", text), re.MULTILINE):
        for name in re.findall(r"(\w+)(?: as \w+)?", members) or [""]:
            yield member if (member := f"{origin}.{name}") in MODULES else whole or origin


def test_imports_go_downward() -> None:
    assert set(map(unit_of, MODULES)) == RANK.keys(), "each unit has a place in ORDER"
    wrong = [
        f"{module} may not import {target}"
        for module, path in MODULES.items()
        for target in (imported_modules(path.read_text("utf-8")) if module != "tilebase" else ())
        if unit_of(target) != unit_of(module) and RANK[unit_of(target)] >= RANK[unit_of(module)]
    ]
    assert wrong == []


@pytest.mark.parametrize("module", ["tilebase", "tilebase.cli.commands"])
def test_imports_stay_light(module: str) -> None:
    heavy = {"numba", "numpy", "matplotlib", "pyarrow", "ssl", "http.client"}
    show = f"sys.exit(', '.join({heavy} & sys.modules.keys()) or 0)"
    unasked = "assert not tilebase._version.version.cache_info().misses"  # a version is asked of git
    run("-c", f"import sys, {module}, tilebase._version; {unasked}; {show}")


def test_the_program_is_cited_as_by_citation_cff() -> None:
    lines = set((ROOT / "CITATION.cff").read_text("utf-8").splitlines())
    assert {f"version: {RELEASE}", f'title: "{TITLE}"', f"  - name: {AUTHORS}"} <= lines


def test_public_names_exist_and_are_few() -> None:
    names = [name for name in dir(tilebase) if name != "__version__"]
    assert [name for name in names if not hasattr(tilebase, name)] == []
    assert len(set(names)) == len(names) <= 45
    assert set(re.findall(r"\w+", (tilebase.__doc__ or "").partition("docs/api.md")[0])) >= set(names)


def test_the_help_of_the_package_fits_a_screen() -> None:
    for name in dir(tilebase):
        getattr(tilebase, name)  # a name that was used must not make it longer
    assert len(pydoc.render_doc(tilebase, renderer=pydoc.plaintext).splitlines()) <= 70


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_scripts_can_run(script: Path) -> None:
    assert os.access(script, os.X_OK), "not executable"
    text = script.read_text("utf-8")
    if text.startswith("#!/usr/bin/env python3\n"):
        return
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "\nset -euo pipefail\n" in text


def test_the_workflow_runs_the_tests_on_each_system() -> None:
    (file,) = (ROOT / ".github" / "workflows").iterdir()
    workflow = yaml.safe_load(file.read_text("utf-8"))
    systems = set()
    for job in workflow["jobs"].values():
        assert set(job) <= {"strategy", "runs-on", "timeout-minutes", "steps"}
        named = job.get("strategy", {}).get("matrix", {}).get("os", [job["runs-on"]])
        words = "\n".join(step.get("run", "") for step in job["steps"])
        assert all(len({"run", "uses"} & set(step)) == 1 for step in job["steps"])
        assert all((ROOT / script).is_file() for script in re.findall(r"scripts/\w+", words))
        assert subprocess.run(["bash", "-n"], input=words, text=True, check=False).returncode == 0
        systems |= set(named) if "scripts/test" in words else set()
    assert systems == {"ubuntu-latest", "macos-latest", "windows-latest"}


def test_no_paths_of_a_machine() -> None:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = []
    for name in filter(None, listing.stdout.split("\0")):
        path = ROOT / name
        content = path.read_bytes() if path.is_file() else b""
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
            if match := MACHINE_PATH.search(line):
                found.append(f"{name}:{number}: {match[0]}")
    assert found == []


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_are_true(page: Path) -> None:
    assert not doctest.testfile(str(page), module_relative=False, encoding="utf-8").failed


@pytest.mark.parametrize(
    "module", [name for name, path in MODULES.items() if ">>> " in path.read_text("utf-8")]
)
def test_examples_of_docstrings_are_true(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module))
    assert result.attempted
    assert not result.failed


def test_no_function_calls_itself_with_all_that_it_was_given() -> None:
    """A question opens its folder and its workers once (`cluster.runs`), and loses no argument."""
    public = [
        function
        for path in QUESTIONS
        for function in functions_of(parsed(path))
        if len(function.args.kwonlyargs) + (function.args.kwarg is not None) > 1
    ]
    assert len(public) > 20
    calls = [(function.name, node) for function in public for node in ast.walk(function)]
    again = [
        (name, call.lineno)
        for name, call in calls
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == name and len(call.keywords) > 1
    ]
    assert again == []


def test_functions_of_questions_are_short() -> None:
    """At most 45 lines of code, without the docstring."""
    long = []
    for path in QUESTIONS:
        for function in functions_of(parsed(path)):
            first = function.body[min(ast.get_docstring(function) is not None, len(function.body) - 1)]
            lines = (function.end_lineno or 0) - first.lineno + 1
            long += [(path.name, function.name, lines)] if lines > 45 else []
    assert long == []


def test_one_module_writes_json() -> None:
    writers = {
        name
        for name, path in MODULES.items()
        if re.search(r"\bjson\.(dumps?\(|JSONEnc)", path.read_text("utf-8"))
    }
    assert writers == {"tilebase.check", "tilebase.runtime.documents"}


# ---- tests that can fail ----


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def called(node: ast.AST) -> set[str]:
    """The last names of all functions that a piece of code calls."""
    calls = [part.func for part in ast.walk(node) if isinstance(part, ast.Call)]
    return {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}


def has_assertion(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Assert) for part in ast.walk(node))


def functions_of(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def without_an_assertion(trees: dict[str, ast.Module]) -> list[str]:
    """Tests that neither assert anything nor call something that does, over any number of calls.

    A function of the library that raises if something is wrong is listed by name.
    """
    functions = [
        (f"{file}::{function.name}", function.name, has_assertion(function), called(function))
        for file, tree in trees.items()
        for function in functions_of(tree)
    ]
    asserting = {"raises", "warns", "fail", "validate_response", "call_and_validate"}
    while True:
        found = {name for _, name, asserts, calls in functions if asserts or calls & asserting}
        if found <= asserting:
            break
        asserting |= found
    return [place for place, name, _, _ in functions if name.startswith("test_") and name not in asserting]


def test_every_test_asserts_something() -> None:
    assert without_an_assertion({file: parsed(path) for file, path in TESTS.items()}) == []


class Case:
    """What `taken` looks at of a test."""

    def __init__(self, **params: Any) -> None:
        self.callspec = SimpleNamespace(params=params)


def test_of_repeated_cases_some_run_and_every_shared_value() -> None:
    grid: list[Any] = [Case(engine=engine, game=[game]) for engine in "abc" for game in range(7)]
    for case in grid:
        case.callspec.params["game"] = grid[grid.index(case) % 7].callspec.params["game"]
    chosen = taken(grid, 4)
    assert 7 <= len(chosen) <= 9
    assert {case.callspec.params["engine"] for case in chosen} == set("abc")
    assert len({id(case.callspec.params["game"]) for case in chosen}) == 7
    rows: list[Any] = [Case(text=str(number), status=number * 10) for number in range(10)]
    assert taken(rows, 3) == set(rows[::3])
    assert taken(grid, 1) == set(grid)


def test_every_repeated_test_exists() -> None:
    for test, number in repeated().items():
        file, _, name = test.partition("::")
        assert number > 1
        assert (f"def {name}(" if name else "def test_") in (ROOT / file).read_text("utf-8"), test


def test_what_cannot_fail_is_found() -> None:
    helpers = "def check(x):\n    assert x\n\ndef check_all(xs):\n    [check(x) for x in xs]\n"
    tests = "def test_a():\n    check_all([])\n\ndef test_b():\n    compute()\n"
    assert without_an_assertion({"h.py": ast.parse(helpers), "t.py": ast.parse(tests)}) == ["t.py::test_b"]


# ---- the tables of scripts/mutate ----


def test_every_module_of_the_listed_packages_has_tests_or_a_reason() -> None:
    listed = [row["file"] for row in rows("sources.tsv")]
    assert len(set(listed)) == len(listed)
    folders = {"game", "sparse", "dense", "objectives", "files", "search", "_kernels"}
    modules = {
        path.relative_to(ROOT).as_posix()
        for folder in folders
        for path in (ROOT / "src/tilebase" / folder).rglob("*.py")
    }
    missing = sorted(modules - set(listed))
    assert missing == [], (
        "a line of tests/mutation/sources.tsv says which tests notice a change of it, or why none"
    )
    assert [name for name in listed if not (ROOT / name).is_file()] == []
    assert all(bool(row["tests"]) != bool(row["why"]) for row in rows("sources.tsv"))


def test_every_listed_file_of_tests_exists() -> None:
    files = {shlex.split(test)[0] for tests in sources().values() for test in tests}
    assert [name for name in sorted(files) if not (ROOT / name).is_file()] == []


def test_every_equivalent_change_can_still_be_made_and_has_a_reason() -> None:
    for row in rows("equivalent.tsv"):
        changes = changes_in(row["file"], (ROOT / row["file"]).read_text("utf-8"))
        key = (row["file"], row["function"], row["line"], row["becomes"])
        assert key in {change.key for change in changes}, (
            f"tests/mutation/equivalent.tsv has an old line: {row}"
        )
        assert len(row["why"]) > 20, row
