"""``tilebase force``: the tiles that the player can force against every spawn.

``tilebase force SHAPE GOAL`` decides one tile and proves it.  Its subcommands ask about several: the
largest tile of a shape, a table of shapes, each start of two tiles.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from tilebase.cli.options import (
    DEFAULT_ESTIMATED_RUN,
    DEFAULT_FORCED,
    DEFAULT_RUN,
    ClusterOption,
    EstimatedRunOptions,
    ForcedOptions,
    FormatOption,
    LimitsOption,
    OutputOption,
    PatternOption,
    PlanOption,
    RunOptions,
    ShapeArgument,
    ShapeOrGoal,
    SpawnsOption,
    StartOption,
    TimeOption,
    WallsOption,
    WorkOption,
    make_game,
    parse_budget,
    parse_cells,
)
from tilebase.cli.output import choose_format, signature, write_rows
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.game.spawns import law_of
from tilebase.objectives.objective import Objective

if TYPE_CHECKING:
    from tilebase.files.work_folders import WorkFolder
    from tilebase.questions.force import Forced, Largest, StartVerdict

force = App(name="force")

TileArgument = Annotated[int, Parameter(help="The tile to force.")]
GoalArgument = Annotated[
    int | None, Parameter(help="The tile to force; tilebase force largest finds the largest.")
]
WORDS = {True: "yes", False: "no", None: "undecided"}


@force.default
def decide(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    game: ForcedOptions = DEFAULT_FORCED,
    budget: TimeOption = None,
    engine: Annotated[
        str | None,
        Parameter(
            help="search, dense, symbolic (diagrams) or reachable. Left out: the search, and if that "
            "takes long dense, where it fits into memory and into the budget."
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        Parameter(name=["--certificate", "-c"], help="File for a proof that tilebase check can check."),
    ] = None,
    work: WorkOption = None,
    cluster: ClusterOption = None,
    plan: PlanOption = False,
    form: FormatOption = None,
    output: OutputOption = None,
    run: EstimatedRunOptions = DEFAULT_ESTIMATED_RUN,
) -> int:
    """Decide whether the player can force a tile, whatever is spawned wherever.

    Prints the verdict, and with -c writes a proof: a strategy for the player, or the spawns that refute
    every slide. Exit status 1 if time ran out. The same command continues an interrupted search.

    tilebase force 3x3 32 -c 3x3-32.cert

    tilebase force 3x4 64 --limits 32,32,32,16/16,32,32,16/16,16,16,16

    tilebase force --formation 442 16
    """
    question = make_game(shape, goal, game)
    if not question.can_win:
        raise UsageError(f"give a tile or a goal sum; tilebase force largest {shape} finds the largest tile")
    chosen = choose_format(form, output)
    if certificate is not None and output is not None and certificate.absolute() == output.absolute():
        raise UsageError(f"{output} cannot be both the certificate and the answer: name two files")
    if plan:
        from tilebase.costs.rows import solving

        if engine not in ("dense", "reachable"):
            raise UsageError("--plan is for the passes: choose the engine dense or reachable")
        rows = solving(question, [Objective("guaranteed")], "all" if engine == "dense" else engine)
        write_rows(rows, rows, chosen, output, game=question)
        return 0
    seconds = parse_budget(budget)
    prepare_kernels()
    from tilebase.questions.force import force as ask

    with _work_of(question, work, engine) as folder:
        with counting_progress(quiet=run.quiet) as progress:
            answer = ask(
                question, engine=engine, folder=folder.path, keep=work is not None, certificate=certificate,
                seconds=seconds, cluster=cluster, **run.use(progress),
            )  # fmt: skip
        _print_answer(answer, chosen, output, certificate)
        if answer.forced is None:
            print(f"what is decided stays in {folder.path}: the same command goes on", file=sys.stderr)
            return 1
        folder.finish()
    return 0


def _print_answer(answer: Forced, chosen: str, output: Path | None, certificate: Path | None) -> None:
    if chosen != "table" or output is not None:
        row: dict[str, Any] = {"forced": WORDS[answer.forced], "engine": answer.engine}
        row |= {"afterstates": answer.positions, "seconds": round(answer.seconds, 1)}
        write_rows([row], answer.as_dict(), chosen, output, game=answer.game)
        return
    print(f"{answer.statement} {signature()}.")
    print(f"{answer.positions:,} afterstates by the engine {answer.engine} in {answer.seconds:.1f} s")
    if answer.listed is not None:
        print(f"{answer.listed:,} boards prove it in {certificate}; check it with tilebase check")


@force.command
def largest(
    shape: ShapeArgument,
    *,
    spawns: SpawnsOption = "2,4",
    start: StartOption = "empty",
    limits: LimitsOption = None,
    budget: TimeOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
    run: RunOptions = DEFAULT_RUN,
) -> int:
    """Find the largest tile that can be forced on a shape.

    Tiles are decided upwards, as whoever makes a tile has made half of it. Exit status 1 if time ran out:
    the tile printed is then forced, and a larger one may be. Boards of more than 12 cells need --budget, as
    nobody knows whether the search would end.

    tilebase force largest 2x5
    """
    chosen = choose_format(form, output)
    seconds = parse_budget(budget)
    prepare_kernels()
    from tilebase.questions.force import largest_forced

    with counting_progress(quiet=run.quiet) as progress:
        found = largest_forced(
            shape, spawns=spawns, start=start, limits=limits, seconds=seconds, **run.use(progress)
        )
    write_rows([_row_of(found)], _document_of(found), chosen, output, game=None, signed=True)
    return 0 if found.exact else 1


@force.command
def table(
    *,
    spawns: SpawnsOption = "2,4",
    budget: TimeOption = "60s",
    form: FormatOption = None,
    output: OutputOption = None,
    run: RunOptions = DEFAULT_RUN,
) -> int:
    """Find the largest forced tile of one shape after the other, from 1x1 on, until time runs out.

    The last row may name a tile that is forced but not the largest.

    tilebase force table --budget 5min
    """
    chosen = choose_format(form, output)
    printing = chosen == "table" and output is None
    found: list[Largest] = []
    seconds = parse_budget(budget)
    prepare_kernels()
    from tilebase.questions.force import forced_table

    with counting_progress(quiet=run.quiet) as progress:
        try:
            for one in forced_table(spawns=spawns, seconds=seconds, **run.use(progress)):
                found.append(one)
                if printing:  # print each row at once: the last ones take long
                    more = "" if one.exact else " or more: time ran out"
                    print(f"{one.shape:8} {one.tile:6}{more}  ({one.positions:,} afterstates)", flush=True)
        finally:  # if the user stops the command, the rows so far are written
            if printing:
                print(signature())
            else:
                write_rows(
                    [_row_of(one) for one in found],
                    [_document_of(one) for one in found],
                    chosen,
                    output,
                    game=None,
                )
    return 0


def _row_of(found: Largest) -> dict[str, Any]:
    return {
        "board": found.shape,
        "largest forced": found.tile,
        "": "" if found.exact else "or more",
        "afterstates": found.positions,
        "seconds": round(found.seconds, 1),
    }


def _document_of(found: Largest) -> dict[str, Any]:
    return {
        "shape": found.shape,
        "tile": found.tile,
        "exact": found.exact,
        "positions": found.positions,
        "seconds": round(found.seconds, 1),
        "answers": [answer.as_dict() for answer in found.answers],
    }


@force.command
def starts(
    shape: ShapeArgument,
    goal: TileArgument,
    *,
    spawns: SpawnsOption = "2,4",
    limits: LimitsOption = None,
    pattern: PatternOption = None,
    walls: WallsOption = "",
    budget: TimeOption = None,
    work: WorkOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
    run: RunOptions = DEFAULT_RUN,
) -> int:
    """Decide for each start of two tiles whether the player can force a tile from there.

    Exit status 1 if time ran out. The same command continues an interrupted search.

    tilebase force starts 3x3 32
    """
    chosen = choose_format(form, output)
    seconds = parse_budget(budget)
    prepare_kernels()
    from tilebase.questions.force import force_starts

    game = Game(
        shape, goal, spawn=law_of(spawns), start="two-tiles", limits=limits, pattern=pattern,
        walls=parse_cells(walls),
    )  # fmt: skip
    with _work_of(game, work, None) as folder:
        with counting_progress(quiet=run.quiet) as progress:
            verdicts = force_starts(game, folder=folder.path, seconds=seconds, **run.use(progress))
        if _print_starts(game, verdicts, chosen, output):
            return 1
        folder.finish()
    return 0


def _print_starts(game: Game, starts: tuple[StartVerdict, ...], chosen: str, output: Path | None) -> int:
    """Print a row for each start and a summary; return how many starts are undecided."""
    rows = [
        {"start": game.format(one.board), "boards": one.boards, "forced": WORDS[one.forced]} for one in starts
    ]
    forced = sum(one.boards for one in starts if one.forced)
    every = sum(one.boards for one in starts)
    undecided = sum(one.boards for one in starts if one.forced is None)
    document = {"game": game.identity, "starts": rows, "boards": every, "forced": forced}
    write_rows(rows, document | {"undecided": undecided}, chosen, output, game=game)
    if chosen == "table" and output is None:
        more = f", {undecided} undecided" if undecided else ""
        print(
            f"{game.goal} is forced from {forced} of {every} starts, {len(starts)} up to symmetry{more} "
            f"{signature()}"
        )
    return undecided


def _work_of(game: Game, work: Path | None, engine: str | None) -> AbstractContextManager[WorkFolder]:
    """Return the folder for the decided afterstates of a game."""
    from tilebase.files.work_folders import work_folder

    return work_folder(work, f"force-{game.shape_text}-{game.digest}-{engine or 'auto'}")
