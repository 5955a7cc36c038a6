"""``tilebase force``: what the player can force against a computer that drops tiles to hurt."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import (
    AnywayOption,
    DropsOption,
    FormatOption,
    MemoryOption,
    OutputOption,
    QuietOption,
    StartOption,
    ThreadsOption,
    WorkOption,
    parse_bytes,
    parse_cells,
    parse_seconds,
)
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective

if TYPE_CHECKING:
    from tilebase.questions.force import Forced, Largest, StartVerdict


def force(
    shape: Annotated[
        str | None, Parameter(help="Rows x columns, as 3x4, or three sizes, as 2x2x3; none with --table.")
    ] = None,
    goal: Annotated[
        int | None, Parameter(help="The tile; left out, the largest that can be forced is found upwards.")
    ] = None,
    *,
    drops: DropsOption = "2,4",
    start: StartOption = "empty",
    limits: Annotated[str | None, Parameter(help="Largest tile of each cell: 16,16/16,8.")] = None,
    pattern: Annotated[
        str | None,
        Parameter(help="Tiles on cells that win too, * for any: `64,32,*/*,*,*`, or lemma1, or pair."),
    ] = None,
    walls: Annotated[str, Parameter(help="Cells that no tile enters: 0,5.")] = "",
    all_starts: Annotated[
        bool, Parameter(negative=(), help="Answer for each start of two tiles on its own.")
    ] = False,
    table: Annotated[
        bool, Parameter(negative=(), help="The largest forced tile of each shape, from 1x1 on.")
    ] = False,
    budget: Annotated[
        str | None,
        Parameter(help="Give up, undecided, after this time: 90s, 10min, 2h; 60s for --table."),
    ] = None,
    engine: Annotated[
        str | None,
        Parameter(
            help="search, dense or reachable. Left out: the search, and if that takes long dense, where it "
            "fits into memory and into the budget."
        ),
    ] = None,
    plan: Annotated[
        bool, Parameter(negative=(), help="Print what a pass over all boards would take on some machines.")
    ] = False,
    certificate: Annotated[
        Path | None,
        Parameter(name=["--certificate", "-c"], help="File for a proof that tilebase check can check."),
    ] = None,
    work: WorkOption = None,
    memory: MemoryOption = None,
    threads: ThreadsOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
    anyway: AnywayOption = False,
    quiet: QuietOption = False,
) -> int:
    """Decide which tile the player can force, whatever is dropped wherever.

    Prints whether the tile can be forced, and with -c writes a proof: a strategy, or the drops that
    refute every slide. Exit status 1 if time ran out.

    tilebase force 3x3 32 -c 3x3-32.cert

    tilebase force 2x5

    tilebase force 3x4 64 --limits 32,32,32,16/16,32,32,16/16,16,16,16

    tilebase force --table --budget 5min
    """
    chosen = choose_format(form, output)
    if certificate is not None and output is not None and certificate.absolute() == output.absolute():
        raise UsageError(f"{output} cannot be both the certificate and the answer: name two files")
    seconds = parse_seconds(budget)
    if table != (shape is None):
        raise UsageError("give a shape, or --table for all shapes" if not table else "--table takes no shape")
    asked = (
        all_starts,
        start != "empty",
        limits,
        goal is not None,
        certificate,
        engine,
        work,
        pattern,
        walls,
    )
    if table and any((*asked, plan)):
        raise UsageError(
            "--table asks for all shapes from the empty board: it takes drops, budget, memory and threads"
        )
    if all_starts and (certificate or engine or start != "empty"):
        raise UsageError("--all-starts asks about each start: leave out start, engine and certificate")
    if plan and (all_starts or certificate or engine or work):
        raise UsageError(
            "--plan only says what a pass would take: leave out starts, engine, work and certificate"
        )
    if (all_starts or certificate or pattern or engine or walls or work or plan) and goal is None:
        raise UsageError("give a goal: without one the largest tile is searched, with nothing but limits")
    prepare_kernels()
    from tilebase.dense import plan as plans
    from tilebase.files.work_folders import work_folder
    from tilebase.questions import force as engines

    options: Any = {"memory": parse_bytes(memory), "threads": threads}
    if seconds is not None:
        options["seconds"] = seconds
    with counting_progress(quiet=quiet) as progress:
        options["progress"] = progress
        if shape is None:
            return _print_table(engines.forced_table(drops=drops, **options), chosen, output)
        if goal is None:
            found = engines.largest_forced(shape, drops=drops, start=start, limits=limits, **options)
            write_rows([row_of(found)], document_of(found), chosen, output)
            return 0 if found.exact else 1
        game = Game(
            shape, goal, four=engines.four_of(drops), start="two-tiles" if all_starts else start,
            limits=limits, pattern=pattern, walls=parse_cells(walls),
        )  # fmt: skip
        if plan:
            rows = plans.rows(game, Objective("guaranteed"), parse_bytes(memory))
            write_rows(rows, rows, chosen, output)
            return 0
    with work_folder(work, f"force-{game.shape_text}-{game.digest}-{engine or 'auto'}") as folder:
        if all_starts:
            with counting_progress(quiet=quiet) as options["progress"]:
                starts = engines.force_starts(game, folder=folder.path, **options)
            status = _print_starts(game, starts, chosen, output)
        else:
            with counting_progress(quiet=quiet) as options["progress"]:
                answer = engines.force(
                    game, engine=engine, folder=folder.path, keep=work is not None, certificate=certificate,
                    anyway=anyway, **options,
                )  # fmt: skip
            status = _print_answer(answer, chosen, output, certificate, folder.path)
        if not status:
            folder.finish()
    return status


def _print_answer(
    answer: Forced, chosen: str, output: Path | None, certificate: Path | None, folder: Path
) -> int:
    rows = [
        {"game": str(answer.game), "forced": WORDS[answer.forced], "engine": answer.engine}
        | {"afterstates": answer.positions, "seconds": round(answer.seconds, 1)}
    ]
    if chosen == "table" and output is None:
        print(f"{answer.statement}.")
        print(f"{answer.positions:,} afterstates by the engine {answer.engine} in {answer.seconds:.1f} s")
        if answer.listed is not None:
            print(f"{answer.listed:,} boards prove it in {certificate}; check it with tilebase check")
    else:
        write_rows(rows, answer.as_dict(), chosen, output)
    if answer.forced is None:
        print(f"what is decided stays in {folder}: the same command goes on", file=sys.stderr)
        return 1
    return 0


WORDS = {True: "yes", False: "no", None: "undecided"}


def row_of(found: Largest) -> dict[str, Any]:
    """A row of the table of shapes."""
    return {
        "board": found.shape,
        "largest forced": found.tile,
        "": "" if found.exact else "or more",
        "afterstates": found.positions,
        "seconds": round(found.seconds, 1),
    }


def document_of(found: Largest) -> dict[str, Any]:
    """The same as plain JSON values, with the questions that were asked."""
    return {
        "shape": found.shape,
        "tile": found.tile,
        "exact": found.exact,
        "positions": found.positions,
        "seconds": round(found.seconds, 1),
        "answers": [answer.as_dict() for answer in found.answers],
    }


def _print_table(shapes: Any, chosen: str, output: Path | None) -> int:
    found: list[Largest] = []
    try:
        for largest in shapes:
            found.append(largest)
            if chosen == "table" and output is None:  # as they come: the last ones take long
                more = "" if largest.exact else " or more: time ran out"
                print(
                    f"{largest.shape:8} {largest.tile:6}{more}  ({largest.positions:,} afterstates)",
                    flush=True,
                )
    finally:  # what is there is kept, should somebody stop it
        if chosen != "table" or output is not None:
            write_rows([row_of(one) for one in found], [document_of(one) for one in found], chosen, output)
    return 0


def _print_starts(game: Game, starts: tuple[StartVerdict, ...], chosen: str, output: Path | None) -> int:
    rows = [
        {"start": game.format(one.board), "boards": one.boards, "forced": WORDS[one.forced]} for one in starts
    ]
    forced = sum(one.boards for one in starts if one.forced)
    every = sum(one.boards for one in starts)
    open_ = sum(one.boards for one in starts if one.forced is None)
    document = {"game": game.identity, "starts": rows, "boards": every, "forced": forced, "undecided": open_}
    write_rows(rows, document, chosen, output)
    if chosen == "table" and output is None:
        undecided = f", {open_} undecided" if open_ else ""
        print(
            f"{game.goal} is forced from {forced} of {every} starts, {len(starts)} up to symmetry{undecided}"
        )
    return 1 if open_ else 0
