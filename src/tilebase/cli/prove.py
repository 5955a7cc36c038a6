"""``tilebase prove``: proved bounds of the probability to win."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tilebase.cli.options import (
    DEFAULT_ESTIMATED_RUN,
    DEFAULT_GAME,
    ClusterOption,
    EstimatedRunOptions,
    GameOptions,
    GoalArgument,
    PlanOption,
    ShapeOrGoal,
    StatsOption,
    WorkOption,
    make_game,
)
from tilebase.cli.output import signature, write_rows, write_text
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels
from tilebase.objectives.objective import Objective
from tilebase.runtime.storage import check_writable

if TYPE_CHECKING:
    from tilebase.dense.backends.protocol import DenseWork


def prove(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    game: GameOptions = DEFAULT_GAME,
    direction: Annotated[
        str, Parameter(name=["--direction"], help="lower or upper: what is proved of the probability.")
    ] = "lower",
    dtype: Annotated[
        str, Parameter(name="--type", help="uint64 (steps of 2^-52), uint32 (2^-32) or uint16 (2^-16).")
    ] = "uint64",
    precision: Annotated[
        float | None, Parameter(help="Refuse a type whose rounding could take more than this: 1e-6.")
    ] = None,
    space: Annotated[
        str | None,
        Parameter(
            help="all: every board within the limits; reachable: those that occur. Left out: all if there "
            "are limits."
        ),
    ] = None,
    backend: Annotated[str, Parameter(help="threads, or cuda for the space all on a GPU.")] = "threads",
    record: Annotated[
        Path | None, Parameter(name=["--record", "-r"], help="File for a JSON record of the bound.")
    ] = None,
    work: WorkOption = None,
    cluster: ClusterOption = None,
    plan: PlanOption = False,
    stats: StatsOption = False,
    run: EstimatedRunOptions = DEFAULT_ESTIMATED_RUN,
) -> int:
    """Prove a bound of the probability to win, in integers rounded the safe way.

    Limits make the game small enough: what the player can do within them he can do without.
    The same command continues an interrupted run; tilebase plan says what one takes.

    tilebase prove 3x4 512 --limits 256,128,16,16/64,64,32,16/16,16,16,16 --pattern lemma1
    --start empty --type uint32

    tilebase prove 3x3 1024 --direction upper
    """
    question = make_game(shape, goal, game)
    if plan:
        from tilebase.costs.rows import solving

        chosen = space or ("reachable" if question.limits is None else "all")
        rows = solving(question, [Objective(direction, dtype)], chosen, summaries=False)
        write_rows(rows, rows, "table", None, game=question)
        return 0
    label = Objective(direction, dtype).label
    name = f"bound-{question.shape_text}-{question.digest}-{space or 'auto'}-{label}"
    if record is not None:
        check_writable(record)
    prepare_kernels()
    from tilebase.files.work_folders import work_folder
    from tilebase.questions import prove as engine

    with work_folder(work, name) as folder:
        with counting_progress(quiet=run.quiet) as progress:
            found = engine.prove(
                question, direction=direction, dtype=dtype, precision=precision, space=space,
                folder=folder.path, backend=backend, cluster=cluster,
                work=_print_work if stats else None, **run.use(progress),
            )  # fmt: skip
        print(found.statement, signature())
        if record is not None:
            write_text(found.text, record)
        folder.finish()
    return 0


def _print_work(work: DenseWork) -> None:
    steps = "  ".join(f"{step} {seconds:.1f} s" for step, seconds in work.seconds.items())
    total = sum(work.seconds.values())
    rate = work.boards / total / 1e6 if total else 0.0
    print(
        f"{work.boards:,} boards, {rate:.1f} M/s; {steps}; "
        f"busiest thread {work.imbalance:.1%} above the mean",
        file=sys.stderr,
    )
    if work.read or work.written:
        moved = work.read + work.written
        print(
            f"in {work.batches} batches or fewer a layer: read {work.read / 1e9:.2f} GB, "
            f"written {work.written / 1e9:.2f} GB, {moved / max(work.least, 1):.2f} times the least",
            file=sys.stderr,
        )
