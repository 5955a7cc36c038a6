"""How fast the engines are on this machine: a small game is solved some times, in about a second.

Every processor solves it at the same time: two that are threads of one core, as on many virtual machines,
take longer together than alone, and most runs use all.
"""

from __future__ import annotations

import time

from tilebase._kernels.jit import is_compiled
from tilebase.cluster.runs import Run
from tilebase.costs.rates import Engine
from tilebase.errors import StorageError
from tilebase.files import places
from tilebase.files.keys import Reachable
from tilebase.files.run import Query, RunFolder
from tilebase.files.solved import StoredValues
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.runtime import system
from tilebase.runtime.resources import Allowance
from tilebase.runtime.storage import temporary_folder
from tilebase.runtime.threads import map_in_threads
from tilebase.sparse.backward import BackwardPass
from tilebase.sparse.forward import count_in

KERNELS = {"sparse": ("forward", "backward", "fold"), "dense": ("dense", "halves")}
"""The modules of kernels that an engine takes."""
GAMES = {
    "sparse": Game("3x4", 16),  # 898,594 states and 220,932 afterstates in 37 layers
    "dense": Game("2x5", 32, limits="16,16,16,16,16/8,8,8,8,8"),  # 3,200,000 boards in 49 layers
}
SECONDS = {"sparse": 0.14, "dense": 0.25}
"""CPU seconds that they take with the fixed rates."""
MEASURED = 4
"""So often each is solved: the best counts, since other programs only make it slower."""
ALLOWED = Allowance(memory=1 << 30, threads=1)
"""For each of them: more memory than it takes."""
MOST_AT_ONCE = 8
"""So many are solved at the same time at most."""


def measured_factor(engine: Engine) -> float | None:
    """CPU seconds of the game, divided by those with the fixed rates; None if it cannot be measured now.

    To compile kernels takes longer than all the rest, so nothing is measured before this was done.
    """
    if not all(map(is_compiled, KERNELS[engine])):
        return None
    solve = {"sparse": _reachable, "dense": _all}[engine]
    try:
        solve(Game("2x2", 16))  # loads the kernels
        return min(_seconds(engine) for _ in range(MEASURED)) / SECONDS[engine]
    except StorageError:  # no space for temporary files
        return None


def _seconds(engine: Engine) -> float:
    """CPU seconds that this process takes for the game, on each processor; other programs do not count."""
    at_once = min(system.processors(), MOST_AT_ONCE)
    since = time.process_time()
    map_in_threads({"sparse": _reachable, "dense": _all}[engine], [GAMES[engine]] * at_once, at_once)
    return (time.process_time() - since) / at_once


def _reachable(game: Game) -> None:
    """Count and solve the reachable boards."""
    win = Objective("win")
    with temporary_folder() as folder, RunFolder(folder / "run", Query(game, keep="afterstates")) as held:
        run, written = Run(**vars(ALLOWED), folder=held.path), dict[int, str]()
        counts = count_in(held, run, written=written)
        sizes = {
            int(s): int(n) for s, n in zip(counts.sums, counts.afterstates.sum(axis=1), strict=True) if n
        }
        stored = StoredValues(run.folder / places.values_folder(win.label), game, win)
        backward = BackwardPass(run, game, [stored])
        try:
            backward.run(Reachable(held.layers("afterstates"), sizes, written))
        finally:
            backward.close()


def _all(game: Game) -> None:
    """Solve all boards within the limits."""
    from tilebase.dense.index import PerfectIndex  # the other engine is loaded if it is asked
    from tilebase.dense.passes import DensePass

    with temporary_folder() as folder:
        run = Run(**vars(ALLOWED), folder=folder / "run")
        with DensePass(run, PerfectIndex(game), Objective("lower", "uint32")) as dense:
            dense.run()
