"""Solving a game: the values of positions under optimal play.

This counts the reachable positions, solves them layer by layer (`sparse.backward`), looks up the value
of the start, and writes the manifest, which makes a table complete.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext, suppress
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tilebase.cluster.runs import Run, attached, check_shared, run_in
from tilebase.costs import estimate
from tilebase.costs.estimate import Estimate
from tilebase.costs.rates import remembering
from tilebase.costs.reachable import count_seconds, count_work, is_shared, solve_seconds, spawns_of
from tilebase.costs.rows import expected
from tilebase.costs.shares import layers_of
from tilebase.counting.counts import CountResult
from tilebase.errors import CorruptError, UsageError, WrongGameError
from tilebase.files import places
from tilebase.files.layers import Pages
from tilebase.files.manifest import Manifest
from tilebase.files.run import Query, RunFolder, apart_of, counted, is_counted, is_marked
from tilebase.files.solved import StoredValues
from tilebase.game.game import Cells, Game, check_is_game
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective, objectives_of
from tilebase.objectives.results import LayerSummary, Solution, StartValues
from tilebase.objectives.rounding import Rounding
from tilebase.objectives.values import Number, Value
from tilebase.questions.running import Ask, Keep, choose_space
from tilebase.runtime.progress import in_turn
from tilebase.runtime.resources import Use
from tilebase.sparse.backward import BackwardPass
from tilebase.sparse.forward import ForwardPass
from tilebase.sparse.recount import Reachable, Recount
from tilebase.tables.prober import Prober

if TYPE_CHECKING:
    from tilebase.cluster.pieces import Executor
    from tilebase.dense.passes import DensePass

LOG = logging.getLogger(__name__)


def solve(
    game: Game,
    objective: str | Objective | Sequence[Objective] = "win",
    *,
    discount: Fraction | float | str = 1,
    table: Path | str | None = None,
    folder: Path | str | None = None,
    down_to: int | None = None,
    space: str | None = None,
    above: float | None = None,
    cluster: str | Executor | None = None,
    **use: Unpack[Use],
) -> Solution:
    """Solve a game: compute the value of every reachable position: exact, rounded, or a proved bound.

    Parameters
    ----------
    game:
        The game.
    objective:
        Names of objectives (`objectives.objective.MEANINGS`), with or without a type: ``"win"``,
        ``"lower,upper"``, ``"win:float32"``; or `Objective` instances.  One pass computes all.
    discount:
        The discount of objectives that are given by name.
    table:
        Folder for a table, which keeps all layers and can be probed.  A call with the same
        folder continues after an interruption, and adds objectives to a table.
    folder:
        Folder for layers, to continue after an interruption.  Layers of values are deleted when they are no
        longer needed.  Without table and folder: a temporary folder.
    down_to:
        Stop after the layer of this sum.  If there are smaller sums, no table is finished, and a start with
        one has no value.
    space:
        ``"reachable"``: the reachable positions, which are counted first.  ``"all"``: every board within the
        limits, in the order of the perfect index, without counting and without stored keys; use it for games
        with limits, and for boards that play does not reach.  ``"cuda"``: all boards on a GPU, for the
        objectives win, lower, upper and guaranteed; without a table, the result has no summaries of layers.
        ``"auto"``: the space that is expected to take less time; for a table ``"reachable"``.  None:
        ``"all"`` for bounds within limits without a table, otherwise ``"auto"`` for games with masks, and
        ``"reachable"`` for others.
    above:
        Omit boards from the table whose value under the first objective is less than this, above 0 and at
        most 1.  The objective must have values from 0 to 1.  Each layer is pruned as soon as it is solved
        (`tables.pruning`).
    cluster:
        Workers that do the large layers of reachable boards (docs/scale.md): ``"local:4"``, the address of a
        Dask scheduler, the name of its file, or an executor.  They must see the folder under the same name.
        The files that are written are the same.
    use:
        Memory, threads and the like: the keywords of `Use`.

    Returns
    -------
    Solution
        The value of the start, and a summary of each layer.

    Raises
    ------
    UsageError
        If objective, type or discount do not exist or do not fit the game.
    WrongGameError, StorageError, CorruptError
        If the folder holds other files, cannot be written, or is damaged.
    ResourceError
        If a layer does not fit into `memory`, or the run takes too long or too much disk.
    ClusterError, MissingExtraError
        If workers cannot be reached or used, or Dask is not installed.

    >>> str(solve(Game("2x2", 32)).value)
    '0.0828872890716'
    """
    check_is_game(game)
    objectives = objectives_of(objective, discount)
    ask = Ask.on(space, game, objectives, down_to, table=table is not None)
    if table is not None and folder is not None:
        raise UsageError("a table is the folder of its run: give a table or a folder, not both")
    return solve_asked(ask, table=table, folder=folder, above=above, cluster=cluster, **use)


def solve_asked(
    ask: Ask,
    *,
    table: Path | str | None = None,
    folder: Path | str | None = None,
    above: float | None = None,
    cluster: str | Executor | None = None,
    **use: Unpack[Use],
) -> Solution:
    """Solve what is asked, in the folder of the table or another one.  Errors as of `solve`."""
    keep = _kept(ask, table, above)
    place = keep.table or folder
    if keep.pruning is not None:
        place = keep.pruning.work
        if (done := keep.pruning.finished()) is not None:
            keep.pruning.clean()
            return done
    with run_in(place, cluster=cluster, space=ask.space, **use) as run:
        # Boards are left out of tables of reachable positions only.
        chosen = choose_space(ask, run, keep=keep.whole) if keep.pruning is None else "reachable"
        ask = replace(ask, space=chosen)
        takes = check_solving(ask, run, keep)
        return _solve_all(ask, run, keep) if chosen == "all" else _solve_reachable(ask, run, keep, takes)


def _kept(ask: Ask, table: Path | str | None, above: float | None) -> Keep:
    """Return what remains.

    Raises `UsageError` if boards are left out of no table, or of one of all boards.
    """
    if above is None:
        return Keep(None if table is None else Path(table))
    from tilebase.tables.pruning import Pruning

    if table is None:
        raise UsageError("above leaves boards out of a table: name its folder")
    if ask.space == "all":
        raise UsageError("above leaves boards out of a table of reachable positions: choose that space")
    return Keep(Path(table), Pruning(Path(table), ask.game, ask.objectives, above))


def _solve_reachable(ask: Ask, run: Run, keep: Keep, takes: Estimate | None) -> Solution:
    """Count what is reachable, solve it layer by layer, and write the table if one is wanted.

    A new run keeps the layers of afterstates that its estimate says, and makes them as that says.
    """
    game, path, pruning = ask.game, run.folder, keep.pruning
    apart, marked = (0, False) if takes is None else (takes.apart, takes.marked)
    with (
        RunFolder(path, Query(game, keep="afterstates")) as folder,
        attached(run.cluster, path),
        pruning or nullcontext(),
        ExitStack() as stack,
    ):
        before = read_before(path, game, "reachable")
        stored = (
            _stored(path, ask, keep, shared=run.cluster is not None) if pruning is None else pruning.stored()
        )
        for values in stored:
            stack.callback(values.close)
        found = _boards_of(folder, before, stored, run.threads)
        if found is None:
            counting, run = _in_turn(ask, run, takes)
            if lines := folder.journal.read():  # a run that was begun goes on as it was
                apart, marked = apart_of(lines, folder.journal.path), is_marked(lines) and keep.table is None
            found = _count(folder, counting, apart, marked, stack)
        counts, here = found
        stack.callback(here.layers.close)
        sizes = here.sizes
        if pruning is not None:
            pruning.begin(stored)
        if missing := [values for values in stored if not _is_done(values, here, run.threads, keep.whole)]:
            _solve_missing(ask, run, missing, here, release=not keep.whole)
        complete = ask.down_to is None or ask.down_to <= min(sizes, default=ask.down_to)
        starts, boards = _start_values(ask, path, stored) if complete else (StartValues((), ()), {})
        if complete and pruning is not None:
            pruning.finish(counts.totals, starts, sum(sizes.values()))
        elif complete and keep.whole:
            pages = {values.objective.label: values.files.pages() for values in stored}
            write_manifest(path, before, game, counts.totals, ask.objectives, starts, pages)
            folder.layers("afterstates").clear()  # the layers of values hold the keys, too
    if complete and pruning is not None:
        pruning.clean()
    summaries = tuple(
        tuple(layer for total, layer in sorted(values.layers.items()) if total >= ask.least)
        for values in stored
    )
    positions = sum(layer.positions for layer in summaries[0])
    return Solution(game, ask.objectives, summaries, starts, positions, boards)


def _boards_of(
    folder: RunFolder, before: Manifest | None, stored: Sequence[StoredValues], threads: int
) -> tuple[CountResult, Reachable] | None:
    """Return the counts and the boards of a finished table, from the first objective that is undamaged.

    None if there is none.
    """
    counts = counted(folder) if before is not None else None
    if before is None or counts is None:
        return None
    sizes = _sizes(counts)
    by_label = {values.objective.label: values for values in stored}
    for one in before.objectives:
        values = by_label.get(one.label)
        with ExitStack() as stack:
            if values is None:
                values = StoredValues(folder.path / places.values_folder(one.label), before.game, one)
                stack.callback(values.close)
            here = Reachable(values.files, sizes)
            if sizes.keys() <= values.layers.keys() and values.compare(sizes, sizes, threads):
                return counts, here
    return None


def _sizes(counts: CountResult) -> dict[int, int]:
    return {int(s): int(n) for s, n in zip(counts.sums, counts.afterstates.sum(axis=1), strict=True) if n}


def _in_turn(ask: Ask, run: Run, takes: Estimate | None) -> tuple[Run, Run]:
    """Return the run for counting and for solving, whose progress is that of both."""
    if run.progress is None:
        return run, run
    counting = count_seconds(layers_of(ask.game), None, run.most.threads)
    solving = solve_seconds(ask.game, ask.objectives, ask.down_to, run.most.threads)
    if takes is not None and takes.marked:
        counting = (takes.seconds - solving) / (2 if takes.apart else 1)
    first, then = in_turn(run.progress, counting / (counting + solving))
    return replace(run, progress=first), replace(run, progress=then)


def _expected(ask: Ask, run: Run, keep: Keep) -> Callable[[Game], Estimate]:
    """Return what solving a game takes, as `solve` runs it."""
    most = estimate.within_disk(run.most, run.folder)
    shared, table = run.cluster is not None, None if keep.pruning is not None else keep.whole
    return expected(ask.space, ask.objectives, most, down_to=ask.down_to, keep=table, shared=shared)


def _count(
    folder: RunFolder, run: Run, apart: int, marked: bool, stack: ExitStack
) -> tuple[CountResult, Reachable]:
    """Count the boards, and keep those of all layers, or of the first two of every `apart`."""
    begun, marking = folder.journal.path.exists(), None
    if marked:
        from tilebase.dense.reached import Marks  # the other engine is loaded if it is asked

        marking = partial(Marks, folder.query.game, folder.path / "afterstates", run)
    with (
        remembering() as done,
        closing(ForwardPass(folder, run, apart=apart, marking=marking)) as forward_pass,
    ):
        counts = forward_pass.run()
        if not (begun or run.cluster or marked):
            done["count"] = count_work(folder.query.game, counts.total("states"))
    written = forward_pass.written
    again = Recount(folder, run, written, apart, marking) if apart else None
    if again is not None:
        stack.callback(again.close)
    return counts, Reachable(folder.layers("afterstates"), _sizes(counts), written, again)


def _solve_missing(
    ask: Ask, run: Run, missing: Sequence[StoredValues], here: Reachable, *, release: bool
) -> None:
    """Solve the layers that are not there, down to the sum that is asked for."""
    objectives = [one.objective for one in missing]
    sharing = None
    if run.cluster is not None:
        from tilebase.sparse.shared_backward import SharedLayers  # only workers need it

        sharing = SharedLayers(run.cluster, run.folder, here, objectives)
    fresh = run.cluster is None and not any(one.layers for one in missing)
    with (
        closing(BackwardPass(run, here, missing, release=release, sharing=sharing)) as backward_pass,
        remembering() as done,
    ):
        backward_pass.run(ask.down_to)
        if fresh:
            afters = sum(size for total, size in here.sizes.items() if total >= ask.least)
            done["solve"] = afters * spawns_of(ask.game, len(objectives))


def _stored(path: Path, ask: Ask, keep: Keep, *, shared: bool) -> list[StoredValues]:
    return [
        StoredValues(
            path / places.values_folder(one.label), ask.game, one, release=not keep.whole, shared=shared
        )
        for one in ask.objectives
    ]


def _is_done(stored: StoredValues, here: Reachable, threads: int, whole: bool) -> bool:
    """Return whether all layers are solved and their files undamaged.

    Without `whole`, only those of the starts.
    """
    done = here.sizes.keys() <= stored.layers.keys()
    if whole:
        sound = stored.compare(here.sizes, list(stored.layers), threads)
        stored.settle()
        return done and sound
    if not done:
        return False  # the pass compares the layers that it continues from
    if not stored.compare(here.sizes, {here.game.sum(board) for board, _ in here.game.starts()}, threads):
        stored.layers.clear()  # the layers above were deleted
        return False
    stored.settle()
    return True


def check_solving(ask: Ask, run: Run, keep: Keep) -> Estimate | None:
    """Return what solving takes; None on a device, and where it has come so far that nothing is refused.

    Raises `ResourceError` if it would take too long or too much memory or disk, `MissingExtraError` if there
    is no device, `UsageError` if a pass over all boards does not know the rules or has workers.  The rate of
    a device is not measured.
    """
    check_shared(run.cluster, ask.space)
    if ask.space == "all":
        from tilebase.dense.sizes import check_rules

        check_rules(ask.game)
    if ask.on_device:
        from tilebase.dense.backends.cuda import cuda_library

        cuda_library()  # refused before a folder is made
        return None
    if ask.space == "all":
        folders = (run.folder / places.values_folder(one.label) for one in ask.objectives)
        if all((folder / places.SOLVED).exists() for folder in folders):
            return None
    elif is_counted(run.folder):
        return None
    takes = _expected(ask, run, keep)

    def others(fits: Callable[[Estimate], bool]) -> Iterable[str]:
        from tilebase.questions.alternatives import instead_of_solving  # only a refusal needs it

        if keep.whole and fits(alone := _expected(ask, run, Keep())(ask.game)):
            yield f"the start alone needs {byte_text(int(alone.disk))} of disk: keep no table"
        yield from instead_of_solving(ask.game, ask.objectives, takes, fits)

    found = estimate.check(ask.game, takes, run.most, run.folder, others)
    run.tell_if_idle(lambda: is_shared(ask.game))
    return found


def _solve_all(ask: Ask, run: Run, keep: Keep) -> Solution:
    """Solve all boards within the limits, one objective after the other."""
    from tilebase.dense.index import PerfectIndex  # the other engine is loaded if it is asked
    from tilebase.dense.passes import DensePass, Sums
    from tilebase.dense.values import Wanted

    game, path = ask.game, run.folder
    if keep.whole:
        _check_closed(game)
    boolean = all(one.is_boolean for one in ask.objectives)
    index = PerfectIndex(game, open_only=boolean and not keep.whole)
    positions = moved = 0
    layers: list[tuple[LayerSummary, ...]] = []
    checksums: list[tuple[tuple[int, int, str], ...]] = []
    values: list[Value] = []
    by_board: list[list[Value]] = []  # by_board[i]: the values of the start boards under objective i
    pages: dict[str, Pages] = {}
    with RunFolder(path, Query(game, keep="counts")):
        before = read_before(path, game, "all")
        # A new objective gets the layers that the table has.
        lowest = before.least_sum if before is not None else 0
        for one in ask.objectives:
            sums = Sums(lowest if keep.whole else None, down_to=ask.down_to)
            here = run.within(places.values_folder(one.label))
            # From a device all values would have to be fetched for their summaries.
            wanted = Wanted(keep.whole or (ask.summaries and not ask.on_device), keep.whole, ask.checksums)
            with DensePass(here, index, one, wanted=wanted, sums=sums, backend=ask.backend) as dense:
                found = _passed(dense, ask)
                if keep.whole:
                    pages[one.label] = dense.pages
            left_out = {s: n for s, n in index.left_out.items() if s >= max(ask.least, min(found))}
            solved = {s: found[s] for s in found if s >= ask.least}
            positions = sum(dense.sizes[s] for s in solved) + sum(left_out.values())
            layers.append(tuple(_layers(solved, left_out)) if wanted.summaries else ())
            checksums.append(dense.checksums)
            moved += dense.bytes_moved
            if dense.complete:
                rounding = Rounding(game, one)
                values.append(rounding.start(dense.start()))
                by_board.append(_values_after(rounding, dense.starts.__getitem__))
        start = StartValues(ask.objectives, values) if values else StartValues((), ())
        if keep.whole and values:
            write_manifest(path, before, game, {"boards": positions}, ask.objectives, start, pages, "all")
    boards = _by_board(game, ask.objectives, by_board)
    return Solution(
        game, ask.objectives, tuple(layers), start, positions, boards, "boards", tuple(checksums), moved
    )


def _passed(dense: DensePass, ask: Ask) -> dict[int, LayerSummary | None]:
    """Return the layers of a pass, and remember what it took if threads have done the whole of it."""
    begun = (dense.folder / places.SOLVED).exists()
    with remembering() as done:
        found = dense.run()
        if not (begun or ask.on_device):
            done["bits" if dense.layout == "bits" else "pass"] = dense.worked(found)
    return found


def _layers(found: dict[int, LayerSummary | None], left_out: dict[int, int]) -> Iterator[LayerSummary]:
    """Yield the layers that were summed up, by sum, with the won boards that were left out."""
    for s in sorted({*found, *left_out}):
        if (layer := found.get(s, LayerSummary.empty(s))) is not None:
            yield layer.with_won(left_out[s]) if s in left_out else layer


def _check_closed(game: Game) -> None:
    """Raise `UsageError` if slides lead from boards in the index to boards that it does not hold.

    Play from the start never leads there, so the value of the start would be right all the same.
    """
    if not game.bounds.closed:
        most = 2 ** max(game.tops)
        raise UsageError(
            f"a table of all boards of {game} cannot be made: boards are indexed up to the tile {most}, the "
            f"largest that play from the start can make, and slides lead to larger ones: give {most} as the "
            "limit, or solve the reachable boards"
        )


def _start_values(
    ask: Ask, path: Path, stored: Sequence[StoredValues]
) -> tuple[StartValues, dict[str, StartValues]]:
    """Return the value of the start under each objective, by probing, and of each of several start boards."""
    game, objectives = ask.game, ask.objectives
    layers = {values.objective.label: values.files for values in stored}
    roundings = [Rounding(game, one) for one in objectives]
    with closing(Prober(str(path), game, objectives, layers)) as prober:
        start = StartValues(objectives, [one.start(prober.start(one.objective)) for one in roundings])
        by_board = [_values_after(one, partial(prober.state, objective=one.objective)) for one in roundings]
    return start, _by_board(game, objectives, by_board)


def _values_after(rounding: Rounding, state: Callable[[Cells], Number]) -> list[Value]:
    """Find the values of the start boards after a slide: that of the start is their mean, least or largest.

    `state` gives the value of a board with the player to move.
    """
    game, objective = rounding.game, rounding.objective
    return [
        rounding.value(
            objective.over_spawns((state(board), p) for board, p in game.spawns(after)), game.sum(after)
        )
        for after in game.start_afters
    ]


def _by_board(
    game: Game, objectives: Sequence[Objective], values: Sequence[Sequence[Value]]
) -> dict[str, StartValues]:
    """Return the values of the start boards by their text, from those by objective.

    Empty for a single board.
    """
    if len(game.start_afters) < 2 or len(values) < len(objectives):
        return {}
    return {
        game.format(after): StartValues(objectives, [under[at] for under in values])
        for at, after in enumerate(game.start_afters)
    }


def read_before(path: Path, game: Game, space: str) -> Manifest | None:
    """Return the manifest of an existing table, whose objectives are kept; None if it is missing or damaged.

    Raises `WrongGameError`, before any file is written, if it belongs to another game or other boards.
    """
    before = None
    with suppress(CorruptError):
        before = Manifest.of_folder(path)
    if before is not None and ((before.game, before.space) != (game, space) or before.thinned is not None):
        raise WrongGameError(
            f"{path / places.TABLE} belongs to another table: delete it, and the same command writes it again"
        )
    return before


def write_manifest(
    path: Path,
    before: Manifest | None,
    game: Game,
    counts: dict[str, int],
    objectives: Sequence[Objective],
    values: StartValues,
    pages: Mapping[str, Pages],
    space: str = "reachable",
) -> None:
    """Write the manifest, which makes a table complete; objectives that it had `before` are kept.

    `pages` are those of layers that this call wrote or compared, by label, and that last.
    """
    starts = dict(values)
    known = {one.label: one for one in objectives}
    layers = dict(pages)
    if before is not None:
        known = {one.label: one for one in before.objectives} | known
        starts = dict(before.starts) | starts
        layers = dict(before.layers) | layers
    manifest = Manifest(
        game=game, counts=counts, objectives=tuple(known.values()), starts=starts, layers=layers, space=space
    )
    manifest.write(path)
    LOG.debug("the table in %s is complete", path)
