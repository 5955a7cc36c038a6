"""Kernels that Python runs, without the compiler: they write the same files and values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import test_signatures
from stored import contents
from tilebase import Game, count, force, open_table, prove, solve
from tilebase._kernels import jit, rank

QUICK = (Game("2x2", 16),)
GAMES = (
    Game("2x2", 32),
    Game("2x2", limits=16, start="empty"),
    Game("2x3", 16, limits="16,8,8/8,4,4", spawn="1/5"),
    Game("2x2x2", 8, walls=[7]),
)
KINDS = {
    "quick": (QUICK, "win,score,guaranteed,largest"),
    "games": (GAMES, "win,win:float16,moves,lower,upper:uint32,guaranteed"),
}
WITHOUT_GOAL = "score,moves,largest"


def answers(kind: str, folder: Path) -> Any:
    """What the engines find, and the tables that they write."""
    games, asked = KINDS[kind]
    found: list[str] = []
    for number, game in enumerate(games):
        counted = count(game, threads=1, keep="states", folder=folder / f"counted-{number}")
        found += [json.dumps(counted.totals)]
        for space in ("reachable", "all"):
            table = folder / f"{space}-{number}"
            objectives = asked if game.can_win else WITHOUT_GOAL
            found += [str(solve(game, objectives, threads=1, space=space, table=table).start)]
            with open_table(table) as opened:
                found += [str(opened.start)]
        if game.can_win:
            found += [str(prove(game, threads=1).value), str(force(game, engine="search", threads=1).forced)]
    return found


def run_plain(setting: str, *arguments: str) -> str:
    """What a process prints in which Python runs the kernels."""
    assert hasattr(rank.rank_keys, "py_func")  # not so here
    name, _, value = setting.partition("=")
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        capture_output=True, text=True, check=False,
        env=os.environ | {name: value, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("setting", "kind"),
    [
        ("TILEBASE_DEBUG=python", "quick"),
        pytest.param("NUMBA_DISABLE_JIT=1", "quick", marks=pytest.mark.all),
        pytest.param("TILEBASE_DEBUG=python", "games", marks=pytest.mark.all),
    ],
)
def test_python_runs_kernels_as_the_compiler_does(setting: str, kind: str, tmp_path: Path) -> None:
    compiled, plain = tmp_path / "compiled", tmp_path / "plain"
    assert json.loads(run_plain(setting, kind, str(plain))) == answers(kind, compiled)
    assert contents(plain) == contents(compiled)


@pytest.mark.all
def test_python_writes_what_each_kernel_writes() -> None:
    run_plain("TILEBASE_DEBUG=python", "signatures")


if __name__ == "__main__":
    assert jit.PLAIN
    assert not hasattr(rank.rank_keys, "py_func")
    if sys.argv[1] == "signatures":
        for benchmark in test_signatures.kernels.BENCHMARKS:
            test_signatures.test_a_kernel_writes_what_it_wrote_before(benchmark)
    else:
        sys.stdout.write(json.dumps(answers(sys.argv[1], Path(sys.argv[2]))))
