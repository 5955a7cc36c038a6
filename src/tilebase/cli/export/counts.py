"""``tilebase export counts``: pictures of counts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import DEFAULT_GAME, AnywayOption, GameOptions, GoalArgument, QuietOption, make_game
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels
from tilebase.errors import CorruptError, MissingLayerError, StorageError, UsageError
from tilebase.game.game import Game
from tilebase.game.grid import is_shape

if TYPE_CHECKING:
    from tilebase.counting.counts import CountResult


def counts(
    what: Annotated[str, Parameter(help="A shape, as 4x4, or a file that count --record FILE.json wrote.")],
    goal: GoalArgument = None,
    *,
    game: GameOptions = DEFAULT_GAME,
    up_to: Annotated[int | None, Parameter(help="Stop counting after the layer of this sum.")] = None,
    kind: Annotated[
        str, Parameter(help="stacked (linear axis), lines (logarithmic axis), or auto: as it fits.")
    ] = "auto",
    field: Annotated[
        str,
        Parameter(help="states, live, losing, winning, afterstates, raw_states or raw_live."),
    ] = "states",
    output: Annotated[
        list[Path],
        Parameter(
            name=["--output", "-o"],
            negative=(),
            help="File to write: .svg, .pdf, .eps or .png; may be repeated.",
        ),
    ],
    anyway: AnywayOption = False,
    quiet: QuietOption = False,
) -> int:
    """Draw how many states there are, by sum of tiles and largest tile.

    tilebase export counts 3x3 1024 -o counts.svg -o counts.png

    tilebase count 4x4 64 --record 4x4-64.json

    tilebase export counts 4x4-64.json --kind lines -o 4x4-64.svg
    """
    from tilebase.questions import plots

    for file in output:
        plots.check_request(file, kind, field)
    if is_shape(what):
        result = _count(make_game(what, goal, game), up_to, anyway, quiet)
    else:
        if goal is not None or game != DEFAULT_GAME or up_to is not None:
            raise UsageError("a file of counts names its game: leave goal and rules out")
        result = _read(Path(what))
    for file in output:
        plots.plot_counts(result, file, kind=kind, field=field)
        sys.stdout.write(f"{file}: {result.total(field):,} {plots.NAMES[field]}\n")
    return 0


def _count(game: Game, up_to: int | None, anyway: bool, quiet: bool) -> CountResult:
    """Count in a folder in which an interrupted run can continue; delete the folder at the end."""
    prepare_kernels()
    from tilebase.files.work_folders import work_folder
    from tilebase.questions import count as engine

    with work_folder(None, f"{game.shape_text}-{game.digest}-counts") as folder:
        with counting_progress(quiet=quiet) as progress:
            result = engine.count(game, folder=folder.path, up_to=up_to, anyway=anyway, progress=progress)
        folder.finish()
    return result


def _read(file: Path) -> CountResult:
    from tilebase.counting.counts import CountResult

    try:
        return CountResult.from_dict(_parse(file))
    except CorruptError as error:
        raise CorruptError(f"cannot draw {file}: {error}") from error


def _parse(file: Path) -> Any:
    from tilebase.files.source import read_file

    try:
        return json.loads(read_file(file))
    except MissingLayerError as error:
        raise StorageError(
            f"{file} is neither a shape, as 3x3, nor a file of counts: there is no such file"
        ) from error
    except CorruptError:
        raise
    except (ValueError, RecursionError) as error:
        raise CorruptError("it is not JSON; write it with tilebase count --record FILE.json") from error
