"""The question that the backward pass answers: how well can a game be played?

Counts what is reachable, solves it layer by layer (`backward`), looks the start up, and
declares a table finished by writing its manifest.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from tilebase.backward import BackwardPass, read_summaries
from tilebase.dense import DensePass
from tilebase.enumerate import Progress, check_resources, count
from tilebase.errors import CorruptError, MissingLayerError, UsageError
from tilebase.game import Game
from tilebase.layers.run import Question, RunFolder, delete_run, write_whole
from tilebase.layers.spaces import Reachable
from tilebase.objectives import Objective, parse_objectives
from tilebase.perfect import PerfectIndex
from tilebase.results import LayerSummary, Solution
from tilebase.tables.format import (
    LayerFile,
    ValueFile,
)
from tilebase.tables.manifest import Manifest
from tilebase.tables.probe import Prober
from tilebase.tables.source import Folder, read_file
from tilebase.values import Value, as_value


def solve(
    game: Game,
    objective: str | Objective | Sequence[Objective] = "win",
    *,
    discount: Fraction | float | str = 1,
    table: Path | str | None = None,
    folder: Path | str | None = None,
    memory: int | None = None,
    threads: int | None = None,
    lean: bool | None = None,
    down_to: int | None = None,
    space: str = "reachable",
    progress: Callable[[Progress], None] | None = None,
) -> Solution:
    """Solve a game: what every reachable position is worth, exactly or in proved bounds.

    Parameters
    ----------
    game:
        The game.
    objective:
        Names of objectives (`objectives.TYPES`), with types if wanted: ``"win"``,
        ``"lower,upper"``, ``"win:float32"``; or `Objective` instances.  All are folded in one pass.
    discount:
        For objectives given by name.
    table:
        Folder for a table, which keeps all layers and can be probed.  A call with the same
        folder continues after an interruption, and adds objectives to a table.
    folder:
        Folder for layers while they are needed, to continue after an interruption; layers of
        values are removed as soon as nothing needs them.  Neither: a temporary folder.
    memory:
        Bytes to use.  None: three quarters of what is available.
    threads:
        None: one for each processor this process may use.
    lean:
        True: one layer of values above the one in work in memory instead of two, reading keys
        twice.  None: only where memory is too small otherwise.  The values are the same.
    down_to:
        Stop after the layer of this sum, and finish no table; below it the start has no value.
    space:
        ``"reachable"``: the positions that occur, counted first; ``"all"``: every board within
        the limits, by perfect index, without a forward pass and without stored keys: for
        games with limits, and for the value of boards that no play makes.
    progress:
        Called with a `Progress` several times a second.

    Returns
    -------
    Solution
        The value of the start, and a summary of each layer.

    Raises
    ------
    UsageError
        If objective, type or discount do not exist or do not fit the game.
    WrongGameError, StorageError, CorruptError
        If the folder holds something else, cannot be written, or is damaged.
    ResourceError
        If a layer cannot be solved within `memory`.

    >>> str(solve(Game("2x2", 32)).value)
    '0.0828872890716'
    """
    objectives = _objectives(objective, discount)
    for one in objectives:
        one.check(game)
    if space not in ("reachable", "all"):
        raise UsageError(f"space {space!r} is none of reachable, all")
    if table is not None and folder is not None:
        raise UsageError("a table needs no other folder: give one of the two")
    if table is None and folder is None:
        with tempfile.TemporaryDirectory(prefix="tilebase-") as temporary:
            return solve(
                game, objectives, folder=Path(temporary) / "run", memory=memory, threads=threads, lean=lean,
                down_to=down_to, space=space, progress=progress,
            )  # fmt: skip
    path = Path(table if table is not None else folder)  # type: ignore[arg-type]
    memory, threads = check_resources(memory, threads)
    if space == "all":
        return _solve_all(game, objectives, path, table is not None, memory, threads, down_to, progress)
    counts = count(game, folder=path, keep="afterstates", memory=memory, threads=threads, progress=progress)
    sizes = {int(s): int(n) for s, n in zip(counts.sums, counts.afterstates.sum(axis=1), strict=True) if n}
    here = Reachable(path, sizes)
    with RunFolder(path, Question(game, keep="afterstates")):
        found = {one: read_summaries(path / "values" / one.label) for one in objectives}
        missing = [one for one in objectives if not here.sizes.keys() <= found[one].keys()]
        if missing:
            backward_pass = BackwardPass(
                path, game, missing, memory=memory, threads=threads, lean=lean, release=table is None,
                progress=progress,
            )  # fmt: skip
            try:
                found |= zip(missing, backward_pass.run(here, down_to), strict=True)
            finally:
                backward_pass.close()
        complete = down_to is None or down_to <= min(here.sizes, default=down_to)
        values = _start_values(path, game, objectives) if complete else ()
        if complete and table is not None:
            _finish_table(path, game, counts.totals, objectives, values, here.sizes)
    least = 0 if down_to is None else down_to
    summaries = tuple(tuple(found[one][s] for s in sorted(found[one]) if s >= least) for one in objectives)
    return Solution(game, objectives, summaries, values, sum(layer.positions for layer in summaries[0]))


def _solve_all(
    game: Game,
    objectives: Sequence[Objective],
    path: Path,
    keep: bool,
    memory: int,
    threads: int,
    down_to: int | None,
    progress: Callable[[Progress], None] | None,
) -> Solution:
    """The same for all boards within the limits, one objective after the other."""
    if keep:
        _check_closed(game)
    index = PerfectIndex(game)
    layers: list[tuple[LayerSummary, ...]] = []
    values: list[Value] = []
    with RunFolder(path, Question(game, keep="counts")):
        for one in objectives:
            with DensePass(
                path / "values" / one.label, game, one, memory=memory, threads=threads, keep=keep,
                progress=progress, index=index, down_to=down_to, lowest=0 if keep else None,
            ) as dense:  # fmt: skip
                found = dense.run()
            least = 0 if down_to is None else down_to
            layers.append(tuple(layer for s, layer in sorted(found.items()) if layer and s >= least))
            if dense.complete:
                values.append(as_value(one, dense.start()))
        if keep and values:
            sizes = {layer.sum: layer.positions for layer in layers[0]}
            _finish_table(path, game, {"boards": sum(sizes.values())}, objectives, values, sizes, "all")
    positions = sum(layer.positions for layer in layers[0])
    return Solution(game, tuple(objectives), tuple(layers), tuple(values), positions)


def _check_closed(game: Game) -> None:
    """Raise `UsageError` if slides lead from boards that are indexed to boards that are not.

    Play from the start never does that, so that the start's value is right all the same.
    """
    if not game.closed:
        most = 2 ** max(game.tops)
        raise UsageError(
            f"a table of all boards of {game} cannot be made: nothing bounds their tiles. Play makes no "
            f"tile above {most}: give {most} as the largest tile, or solve the reachable boards"
        )


def _start_values(path: Path, game: Game, objectives: Sequence[Objective]) -> tuple[Value, ...]:
    """What the start is worth under each objective, by probing."""
    prober = Prober(Folder(path), game, objectives)
    try:
        return tuple(as_value(one, prober.start(one)) for one in objectives)
    finally:
        prober.close()


def _objectives(objective: Any, discount: Any) -> tuple[Objective, ...]:
    found: list[Objective] = []
    for one in [objective] if isinstance(objective, str | Objective) else objective:
        found += [one] if isinstance(one, Objective) else parse_objectives(one, discount)
    return tuple(found)


def _finish_table(path: Path, *arguments: Any) -> None:
    try:
        write_manifest(path, *arguments)
    except (CorruptError, MissingLayerError) as error:
        raise CorruptError(f"{error}; delete {path} and solve again") from error


def write_manifest(
    path: Path,
    game: Game,
    counts: dict[str, int],
    objectives: Sequence[Objective],
    values: Sequence[Value],
    sizes: dict[int, int],
    space: str = "reachable",
) -> None:
    """Declare a table finished; objectives that it had before stay."""
    starts = {one.label: value for one, value in zip(objectives, values, strict=True)}
    known = {one.label: one for one in objectives}
    layers: dict[int, dict[str, str]] = {}
    old = path / "manifest.json"
    if old.exists():
        before = Manifest.parse(read_file(old), str(old))
        known = {one.label: one for one in before.objectives} | known
        starts = dict(before.starts) | starts
        layers = {total: dict(files) for total, files in before.layers.items()}
    for total in sizes:
        files = layers.setdefault(total, {})
        if space == "reachable":
            with LayerFile(path / "afterstates" / f"{total:06d}.tbl") as keys:
                files["afterstates"] = keys.checksum
        for one in objectives:
            with ValueFile(path / "values" / one.label / f"{total:06d}.val") as stored:
                files[one.label] = stored.checksum
    write_whole(old, Manifest(game, counts, tuple(known.values()), starts, layers, space=space).text)


def remove_solution(folder: Path | str) -> None:
    """Delete the folder of a finished pass that is no table.

    Raises `WrongGameError` if it is no run: nothing else is ever deleted.
    """
    path = Path(folder)
    for values in sorted((path / "values").glob("*")):
        for file in [*values.glob("*.val"), *values.glob("*.states"), values / "layers.jsonl"]:
            file.unlink(missing_ok=True)
        values.rmdir()
    if (path / "values").exists():
        (path / "values").rmdir()
    delete_run(path)
