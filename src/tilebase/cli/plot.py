"""``tilebase plot``: pictures of counts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from tilebase.cli.options import DEFAULT_GAME, AnywayOption, GameOptions, GoalArgument, QuietOption, make_game
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels
from tilebase.errors import CorruptError, MissingLayerError, StorageError, UsageError, WrongGameError
from tilebase.game.game import Game

if TYPE_CHECKING:
    from tilebase.counting.counts import CountResult

plot = App(name="plot", help="Draw what was counted, as SVG, PDF, EPS or PNG.")


@plot.command
def counts(
    shape: Annotated[
        str | None, Parameter(help="Rows x columns, as 4x4, or three sizes; may be left out with --from.")
    ] = None,
    goal: GoalArgument = None,
    *,
    game: GameOptions = DEFAULT_GAME,
    counted: Annotated[
        Path | None,
        Parameter(
            name="--from", help="Draw these counts, which count --format json wrote, instead of counting."
        ),
    ] = None,
    up_to: Annotated[int | None, Parameter(help="Stop counting after the layer of this sum.")] = None,
    kind: Annotated[
        str, Parameter(help="stacked (linear axis), lines (logarithmic axis), or auto: as it fits.")
    ] = "auto",
    field: Annotated[
        str,
        Parameter(help="states, live, losing, winning, afterstates, raw_states or raw_live."),
    ] = "states",
    output: Annotated[
        list[Path] | None,
        Parameter(
            name=["--output", "-o"],
            negative=(),
            help="File to write, .svg or .png; may be repeated. Left out: counts-SHAPE-GOAL.svg.",
        ),
    ] = None,
    anyway: AnywayOption = False,
    quiet: QuietOption = False,
) -> int:
    """Draw how many states there are, by sum of tiles and largest tile.

    tilebase plot counts 3x3 1024 -o counts.svg -o counts.png

    tilebase count 4x4 64 --format json -o 4x4-64.json

    tilebase plot counts --from 4x4-64.json --kind lines -o 4x4-64.svg
    """
    from tilebase.questions import plots

    question = _question(shape, goal, game)
    for file in output or [Path("counts.svg")]:
        plots.check_request(file, kind, field)
    result = _read(counted, question, up_to) if counted else _count(question, up_to, anyway, quiet)
    files = output or [Path(f"counts-{result.game.shape_text}-{result.game.goal or 'continued'}.svg")]
    for file in files:
        plots.plot_counts(result, file, kind=kind, field=field)
        sys.stdout.write(f"{file}: {result.total(field):,} {plots.NAMES[field]}\n")
    return 0


def _question(shape: str | None, goal: int | None, game: GameOptions) -> Game | None:
    if shape is not None:
        return make_game(shape, goal, game)
    if goal is not None or game != DEFAULT_GAME:
        raise UsageError("a goal or an option of the game needs a shape: write 3x3 1024, for example")
    return None


def _count(game: Game | None, up_to: int | None, anyway: bool, quiet: bool) -> CountResult:
    """Count in a folder in which an interrupted run can continue; delete the folder at the end."""
    prepare_kernels()
    from tilebase.questions import count as engine

    if game is None:
        raise UsageError("give a shape and a goal, as 3x3 1024, or a file of counts with --from")
    from tilebase.files.work_folders import work_folder

    with work_folder(None, f"{game.shape_text}-{game.digest}-counts") as folder:
        with counting_progress(quiet=quiet) as progress:
            result = engine.count(game, folder=folder.path, up_to=up_to, anyway=anyway, progress=progress)
        folder.finish()
    return result


def _read(file: Path, game: Game | None, up_to: int | None) -> CountResult:
    from tilebase.counting.counts import CountResult

    if up_to is not None:
        raise UsageError("--up-to is for counting: leave it out with --from")
    try:
        result = CountResult.from_dict(_parse(file))
    except CorruptError as error:
        raise CorruptError(f"cannot draw {file}: {error}") from error
    if game is not None and result.game != game:
        raise WrongGameError(f"{file} holds the counts of {result.game}, not of {game}")
    return result


def _parse(file: Path) -> Any:
    from tilebase.files.source import read_file

    try:
        return json.loads(read_file(file))
    except MissingLayerError as error:
        raise StorageError(f"cannot read {file}: No such file or directory") from error
    except CorruptError:
        raise
    except (ValueError, RecursionError) as error:
        raise CorruptError("it is not JSON; write it with tilebase count --format json") from error
