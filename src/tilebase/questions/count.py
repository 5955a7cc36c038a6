"""Counting reachable states: the forward pass (`sparse.forward`) in a folder that keeps finished layers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from tilebase.cluster.runs import Run, attached, check_shared, run_in
from tilebase.costs import estimate
from tilebase.costs.estimate import Estimate, shortages
from tilebase.costs.rates import remembering
from tilebase.costs.reachable import count_work, is_shared
from tilebase.costs.rows import counted_space, estimate_of
from tilebase.counting.counts import CountResult
from tilebase.errors import ResourceError, UsageError
from tilebase.files import places
from tilebase.files.run import (
    KEEP,
    Query,
    RunFolder,
    count_lines,
    delete_bits,
    delete_run,
    is_counted,
    read_journal,
)
from tilebase.game.game import Game, check_is_game
from tilebase.questions.running import faster
from tilebase.runtime.documents import mapping
from tilebase.runtime.resources import Use
from tilebase.runtime.storage import storage_errors
from tilebase.sparse.forward import ForwardPass

if TYPE_CHECKING:
    from tilebase.cluster.pieces import Executor


def remove_run(folder: Path | str) -> None:
    """Delete the folder of a finished run and everything in it.

    Raises `WrongGameError` if the folder is not a run.  Then nothing is deleted.
    """
    delete_run(Path(folder))


def count(
    game: Game,
    *,
    lookahead: bool = False,
    folder: Path | str | None = None,
    keep: str = "counts",
    up_to: int | None = None,
    space: str = "auto",
    cluster: str | Executor | None = None,
    **use: Unpack[Use],
) -> CountResult:
    """Count every reachable state of a game, exactly.

    Parameters
    ----------
    game:
        The game.
    lookahead:
        Omit states that are won or lost within one move.
    folder:
        The folder of finished layers.  A call with the same folder and arguments continues after
        an interruption of any kind, and returns at once if all layers are finished.  None:
        a temporary folder, which is deleted at the end.
    keep:
        What the folder keeps: ``"counts"``, ``"afterstates"`` or ``"states"`` (which include afterstates).
    up_to:
        Stop after the layer of this sum; then the result is not complete.
    space:
        ``"reachable"``; ``"all"``: a pass over all boards, in bits, for games without other rules than 2048,
        which counts the same; ``"auto"``: the one of less time, if the first takes more than half a minute.
        What was begun in a folder is continued.
    cluster:
        Workers that do the large layers, as in `solve`.
    use:
        Memory, threads and the like: the keywords of `Use`.

    Returns
    -------
    CountResult
        Counts by sum and largest tile.

    Raises
    ------
    UsageError
        For invalid options.
    WrongGameError, StorageError, CorruptError
        If the folder holds other files, cannot be written, or is damaged.
    ResourceError
        If a layer does not fit into `memory`, or the run takes too long or too much disk.
    ClusterError, MissingExtraError
        If workers cannot be reached or used, or Dask is not installed.

    >>> count(Game("2x2", 32)).total("live")
    57
    """
    check_is_game(game)
    if keep not in KEEP:
        raise UsageError(f"keep {keep!r} does not exist: choose one of {', '.join(KEEP)}")
    if lookahead and game.goal_sum is not None:
        raise UsageError("lookahead collapses wins by a slide, but a sum wins by a spawn: leave it out")
    plain = not lookahead and keep == "counts" and cluster is None
    space = asked = counted_space(game, space, up_to, only_reachable=not plain)
    with run_in(folder, cluster=cluster, **use) as run:
        if plain and game.is_plain:
            space = _begun(_lines_in(run.folder), run.folder) or space
        if space == "auto":
            space = _faster(game, run, up_to)
        if not is_counted(run.folder):
            takes = estimate_of(space, run.most, keep)

            def others(fits: Callable[[Estimate], bool]) -> Iterable[str]:
                from tilebase.questions.alternatives import instead_of_counting  # only a refusal needs it

                return instead_of_counting(game, lambda total: takes(game, up_to=total), fits)

            fewer = "the reachable boards (--space reachable)" if asked == "all" else ""
            estimate.check(game, partial(takes, up_to=up_to), run.most, run.folder, others, fewer=fewer)
            run.tell_if_idle(lambda: is_shared(game, up_to, solved=False))
        with RunFolder(run.folder, Query(game, lookahead, keep)) as opened, attached(run.cluster, run.folder):
            lines = opened.journal.read()
            complete = bool(lines) and bool(lines[-1].get("complete"))
            _clean(opened, [] if complete else lines)
            if not complete and (_begun(lines, run.folder) or space) == "all":
                check_shared(run.cluster, "all")
                from tilebase.dense.reached import CountPass  # the other engine is loaded if it is asked

                with closing(CountPass(opened, run, up_to)) as counting_pass:
                    return counting_pass.run()
            with remembering() as done, closing(ForwardPass(opened, run)) as forward_pass:
                result = forward_pass.run(up_to)
                if not (lines or run.cluster):
                    done["count"] = count_work(game, result.total("states"), up_to)
            return result


def _faster(game: Game, run: Run, up_to: int | None) -> str:
    """Return over which boards counting takes less time."""
    # The other engine is loaded if it is asked.
    from tilebase.costs.passes import counted_sooner, counting_all

    reachable = estimate_of("reachable", run)(game, up_to=up_to)
    if not counted_sooner(game, run, reachable, up_to):
        return "reachable"

    def every() -> Estimate:
        found = counting_all(game, run, up_to=up_to)
        if few := shortages(found, run, run.folder):
            raise ResourceError("; ".join(few.values()))
        return found

    return faster("counting", reachable, every)


def _lines_in(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of the journal of a run in a folder; none if there is no run."""
    path = folder / places.COUNTS
    with storage_errors(path, "read"):
        return read_journal(path)[0] if (folder / places.QUERY).exists() else []


def _begun(lines: Iterable[dict[str, Any]], folder: Path) -> str | None:
    """Return over which boards the pass with these lines goes, which is continued; None for a new one."""
    path = folder / places.COUNTS
    files = {name for line in lines for name in mapping(line.get("files", {}), f"files in a line of {path}")}
    return ("all" if "bits" in files else "reachable") if files else None


def _clean(folder: RunFolder, lines: list[dict[str, Any]]) -> None:
    """Delete layers of bits that a killed process has left: a pass continues from the last two."""
    last = count_lines(lines, folder.query.game, folder.journal.path)[-2:]
    kept = {folder.path / places.bits(line["sum"]) for line in last}
    delete_bits(folder.path / "afterstates", kept)
