"""No kernel reads or writes beyond its arrays: all of them run once with Numba's bounds checks.

Compiled without them a kernel that writes too far goes unnoticed until it hits something else's memory.
What solving does not test of single functions is tested here too.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

from tilebase._kernels.half import from_halves, to_halves
from tilebase.runtime.paths import cache_folder

SCRIPT = """
import contextlib
import tempfile
from pathlib import Path
from tilebase import Game, check_pattern, count, evaluate, force, open_table, simulate, solve
from tilebase.cluster.executors import ThreadExecutor
from tilebase.sparse import shared_backward, shared_forward

GAMES = (
    Game("2x3", 16),
    Game("2x3", 16, unmergeable=[4]),  # fewer codes for tiles than bits
    Game("3x6", four=0, start="empty", largest=2),  # three bits a cell
    Game("1x22", four=0, start="empty", largest=2),  # two
    Game("2x3", 32, limits="16,8,8/8,8,8", pattern="pair", start="empty"),
    Game("1x2x3", 16, walls=[5]),
)
for game in GAMES:
    count(game, threads=2)
    count(game, threads=1, lookahead=True)
    if game.can_win:
        solve(game, "win,win:float16,lower:uint32,upper,guaranteed,moves", threads=2)
        force(game, engine="search")
shared_forward.SHARED_RANKS = shared_backward.SHARED_KEYS = 1
for game in GAMES[:2]:
    with contextlib.closing(ThreadExecutor(2, 4 << 30)) as threads:
        solve(game, "win", cluster=threads)
for game in (GAMES[0], GAMES[4]):
    solve(game, "win:float16,win,lower:uint32,guaranteed,score,longest", space="all", threads=2)
check_pattern(Game("2x3", 64, pattern="lemma1"))
with tempfile.TemporaryDirectory() as folder:
    force(Game("2x3", 32), certificate=Path(folder) / "a.cert")
    force(Game("2x3", 16), certificate=Path(folder) / "b.cert")
    for shape in ("3x6", "5x5", "3x3x3", "2x4x4"):  # up to 64 drops on an afterstate
        game = Game(shape, 8 if shape == "2x4x4" else 16 if shape != "5x5" else 8, start="empty")
        force(game, engine="search", seconds=2.0, certificate=Path(folder) / "c.cert")
    solve(GAMES[0], table=Path(folder) / "t")
    evaluate(Path(folder) / "t", "greedy")
    with open_table(Path(folder) / "t") as table:
        simulate(table, games=100, seed=1)
print("in bounds")
"""


def test_no_kernel_leaves_its_arrays():
    """The script runs with bounds checks; its kernels are compiled anew only where a kernel has changed.

    Numba's cache does not tell kernels with bounds checks from those without, so they have a folder of
    their own, of which a part is named by the kernels' sources.  Checks need no optimised code.
    """
    environment = os.environ | {
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_FULL_TRACEBACKS": "1",
        "NUMBA_OPT": "1",
        "TILEBASE_CACHE_DIR": str(cache_folder() / "bounds-checked"),
    }
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.endswith("in bounds\n")


def test_bounds_are_checked():
    """With the settings of the script a kernel that reads beyond its array is found out."""
    script = """
import numpy
from tilebase._kernels.jit import kernel
kernel()(lambda a: a[3])(numpy.zeros(3))
"""
    environment = os.environ | {"NUMBA_BOUNDSCHECK": "1", "TILEBASE_CACHE_DIR": "/dev/null"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "IndexError: index is out of bounds" in done.stderr


def test_float16_is_converted_as_numpy_does():
    bits = np.arange(0x3C01, dtype=np.uint16)  # all of [0, 1]
    numbers = np.empty(len(bits))
    from_halves(bits, numbers)
    assert (numbers == bits.view(np.float16).astype(np.float64)).all()
    ties = (numbers[1:] + numbers[:-1]) / 2
    wanted = np.concatenate([numbers, ties, np.nextafter(ties, 0.0), np.nextafter(ties, 1.0)])
    found = np.empty(len(wanted), dtype=np.uint16)
    to_halves(wanted, found)
    assert (found == wanted.astype(np.float16).view(np.uint16)).all()
