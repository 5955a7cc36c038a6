"""The mutation of `scripts/mutate`: what it changes, what it leaves alone, and that its judge sees both."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from mutation.__main__ import Journal
from mutation.changes import changes_in, sample
from mutation.judge import Judge, SpoiltError

SOURCE = '''"""A module: 1 + 1."""

LIMIT = 5


@cache(maxsize=7)
def clip(x: int = 3, *, sure: bool = True) -> "int | None":
    """Clip x < 3 or more."""
    assert x < 10
    if not sure and x in (1, 2):
        raise ValueError(f"{x + 1}" + " < 3")
    x += 1
    return min(x, LIMIT) if (x  # behind a bracket: x > LIMIT
            ) >= LIMIT else -x << 2
'''


BECOMES = """
LIMIT = 6
LIMIT = 4
def clip(x: int = 4, *, sure: bool = True) -> "int | None":
def clip(x: int = 3, *, sure: bool = False) -> "int | None":
if sure and x in (1, 2):
if not sure or x in (1, 2):
if not sure and x not in (1, 2):
if not sure and x in (1, 3):
x -= 1
x += 2
return max(x, LIMIT) if (x  # behind a bracket: x > LIMIT
) > LIMIT else -x << 2
) < LIMIT else -x << 2
) >= LIMIT else x << 2
) >= LIMIT else -x >> 2
"""


def test_operators_comparisons_and_constants_are_changed() -> None:
    assert {*BECOMES.strip().split("\n")} <= {change.becomes for change in changes_in("m.py", SOURCE)}


def test_what_decides_no_answer_is_left_alone() -> None:
    lines = {change.line for change in changes_in("m.py", SOURCE)}
    assert not [line for line in lines if line.startswith(("@", '"""', "assert", "raise"))]


def test_each_change_alters_one_line_and_still_compiles() -> None:
    lines = SOURCE.splitlines()
    changes = changes_in("m.py", SOURCE)
    assert len({change.key for change in changes}) == len(changes) > 15
    for change in changes:
        changed = change.apply(SOURCE)
        ast.parse(changed)
        differing = [
            k for k, pair in enumerate(zip(lines, changed.splitlines(), strict=True)) if len({*pair}) > 1
        ]
        assert differing == [change.number - 1]


def test_every_operator_of_the_program_is_known() -> None:
    sources = (Path(__file__).parents[1] / "src").rglob("*.py")
    assert sum(len(changes_in(str(file), file.read_text("utf-8"))) for file in sources) > 10_000


def test_an_edit_elsewhere_exchanges_no_other_change_of_the_sample() -> None:
    edited = SOURCE.replace("LIMIT = 5", "# new\nLIMIT = 50")
    drawn = {
        change.key for change in sample(changes_in("m.py", SOURCE), 4, 1) if "LIMIT = " not in change.line
    }
    assert len(drawn) >= 3
    assert drawn <= {change.key for change in sample(changes_in("m.py", edited), 5, 1)}


def test_a_sample_has_one_change_of_each_line_and_depends_on_the_seed() -> None:
    changes = changes_in("m.py", SOURCE)
    found = [sample(changes, 100, seed) for seed in (1, 2)]
    for drawn in found:
        assert sorted(change.number for change in drawn) == sorted({change.number for change in changes})
    assert found[0] != found[1]


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    tree = tmp_path_factory.mktemp("mutants") / "tree"
    (tree / "src").mkdir(parents=True)
    plain = '[tool.pytest.ini_options]\naddopts = ["-p", "no:anyio", "-p", "no:schemathesis"]\n'  # as ours
    (tree / "pyproject.toml").write_text(plain)
    (tree / "src/clipped.py").write_text("def clip(x):\n    while x > 3:\n        x -= 1\n    return x\n")
    (tree / "test_clip.py").write_text(
        "from clipped import clip\n\n\ndef test_clip():\n    assert clip(5) == 3\n\n\n"
        "def test_nothing():\n    clip(2)\n\n\ndef test_wrong():\n    assert clip(5) == 4\n"
    )
    return Judge(tree)


def changed(judge: Judge, line: str, test: str) -> str | None:
    changes = changes_in("src/clipped.py", (judge.tree / "src/clipped.py").read_text())
    (change,) = (change for change in changes if change.becomes == line)
    return judge.judge(change, [test]).by


def test_a_change_dies_by_the_test_that_notices_and_lives_without_one(judge: Judge) -> None:
    before = (judge.tree / "src/clipped.py").read_bytes()
    assert changed(judge, "while x >= 3:", "test_clip.py::test_clip") == "test_clip.py::test_clip"
    assert changed(judge, "while x >= 3:", "test_clip.py::test_nothing") is None
    assert (judge.tree / "src/clipped.py").read_bytes() == before


def test_a_change_that_never_ends_is_killed(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mutation.judge.SECONDS", 0.5)
    assert changed(judge, "x += 1", "test_clip.py -k 'test_clip or nothing'") == "test_clip.py::test_clip"


def test_a_change_that_takes_all_memory_is_killed(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mutation.judge.MEMORY", 1 << 20)
    assert changed(judge, "x -= 2", "test_clip.py -k 'test_clip or nothing'") is not None


def test_tests_that_fail_without_a_change_are_found(judge: Judge) -> None:
    names = ["test_clip.py::test_wrong", "test_clip.py::test_clip"]
    assert judge.failing(names) == {"test_clip.py::test_wrong"}
    assert judge.failing(["test_clip.py"]) == set()
    with pytest.raises(SpoiltError, match="pytest cannot run"):
        changed(judge, "while x >= 3:", "test_clip.py -k nowhere")


def test_a_journal_is_read_again_without_the_line_that_a_kill_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    Journal(path).add(("a", 1), by="test_x.py::test_y")
    with path.open("a") as file:
        file.write('{"key": ["b"')
    found = Journal(path)
    assert found.get(("a", 1)) == {"key": ["a", 1], "by": "test_x.py::test_y"}
    assert found.get(("b",)) is None
