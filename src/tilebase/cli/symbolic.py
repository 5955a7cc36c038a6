"""``tilebase symbolic``: from which boards a side wins, as decision diagrams."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tilebase.cli.options import (
    DEFAULT_ESTIMATED_RUN,
    DEFAULT_FORCED,
    EstimatedRunOptions,
    ForcedOptions,
    FormatOption,
    OutputOption,
    PlanHereOption,
    ShapeOrGoal,
    TimeOption,
    WorkOption,
    make_game,
    parse_budget,
)
from tilebase.cli.output import choose_format, signature, write_rows
from tilebase.cli.progress import counting_progress
from tilebase.errors import UsageError
from tilebase.game.names import title_of

if TYPE_CHECKING:
    from tilebase.questions.symbolic import Symbolic

MOST_ROWS = 40
"""Layers or sweep lines that are printed unless --lines asks for all."""


def symbolic(
    shape: ShapeOrGoal = "",
    goal: Annotated[int | None, Parameter(help="The tile to force.")] = None,
    *,
    game: ForcedOptions = DEFAULT_FORCED,
    variant: Annotated[
        str,
        Parameter(
            help="adversarial; cooperative (spawns help); or deterministic (always on the first empty cell)."
        ),
    ] = "adversarial",
    player: Annotated[
        str, Parameter(help="Whose winning set is computed: slider (the player) or dropper (who spawns).")
    ] = "slider",
    weak: Annotated[
        bool, Parameter(negative=(), help="Stop once the start is decided; the set is then not complete.")
    ] = False,
    strategy: Annotated[
        str,
        Parameter(
            help="sum (layer by layer), sweep (by largest exponent k and how many of it, l), or accumulative "
            "(one growing set)."
        ),
    ] = "sum",
    encoding: Annotated[
        str | None,
        Parameter(
            help="short (binary without unused bits), binary or one-hot; left out: short, in a zbdd binary."
        ),
    ] = None,
    order: Annotated[
        str | None,
        Parameter(
            help="Variables by rows, columns, interleaved (the bits of each row by significance) or "
            "significance (of the board); search tries them on a smaller board. Left out: by shorter lines."
        ),
    ] = None,
    kind: Annotated[str, Parameter(help="bdd, or zbdd for zero-suppressed diagrams.")] = "bdd",
    corollary7: Annotated[
        bool,
        Parameter(
            negative=(), help="Leave out states that no spawn makes or that break Edixhoven's corollary."
        ),
    ] = False,
    until: Annotated[
        str, Parameter(help="Stop after this layer (128) or sweep line (10,6); the start stays undecided.")
    ] = "",
    budget: TimeOption = None,
    export: Annotated[
        Path | None, Parameter(help="Folder for the winning set, which tilebase probe can ask.")
    ] = None,
    certificate: Annotated[
        Path | None,
        Parameter(name=["--certificate", "-c"], help="File for a proof that tilebase check can check."),
    ] = None,
    picture: Annotated[
        Path | None,
        Parameter(help="File for a picture of iterations, time and nodes by line, .svg or .png."),
    ] = None,
    lines: Annotated[
        bool, Parameter(negative=(), help="Print every layer or sweep line, however many there are.")
    ] = False,
    work: WorkOption = None,
    plan: PlanHereOption = False,
    form: FormatOption = None,
    output: OutputOption = None,
    run: EstimatedRunOptions = DEFAULT_ESTIMATED_RUN,
) -> int:
    """Compute from which boards a side can force a tile, with sets of boards as decision diagrams.

    Prints the verdict, and how many boards each layer or sweep line has, exactly. Exit status 1 if time or
    memory ran out: what is known until then is printed.

    tilebase symbolic 4x4 16 --spawns 2

    tilebase symbolic 3x3 32 --strategy sweep --picture lines.svg
    """
    from tilebase.files.work_folders import work_folder
    from tilebase.questions import plots
    from tilebase.questions.symbolic import expected_cost, search_orders
    from tilebase.questions.symbolic import symbolic as ask

    chosen = choose_format(form, output)
    if picture is not None:
        plots.check_request(picture)
    question = make_game(shape, goal, game)
    if not question.can_win:
        raise UsageError("give a tile, a pattern or a goal sum to force")
    seconds = parse_budget(budget)
    if plan:
        row = expected_cost(question, strategy, _name_of(until), corollary7=corollary7).row(
            f"symbolic {title_of(question)}"
        )
        write_rows([row], row, chosen, output, game=question)
        return 0
    if order == "search":
        trials = search_orders(question, variant=variant, kind=kind, encoding=encoding, **run.use())
        order, encoding = trials[0].order, trials[0].encoding
        print(f"{order} and {encoding}: fewest nodes on {trials[0].game}", file=sys.stderr)
    name = f"symbolic-{question.shape_text}-{question.digest}-{variant}-{player}-{order}-{encoding}"
    with work_folder(work, name) as folder:
        with counting_progress(quiet=run.quiet) as progress:
            found = ask(
                question, strategy=strategy, encoding=encoding, order=order, kind=kind, variant=variant,
                player=player, strong=not weak, corollary7=corollary7, until=_name_of(until),
                seconds=seconds, export=export, certificate=certificate, folder=folder.path,
                **run.use(progress),
            )  # fmt: skip
        _print(found, chosen, output, lines)
        if picture is not None:
            plots.plot_lines(found, picture)
        if found.reason:
            print(f"tilebase: {found.reason}", file=sys.stderr)
            return 1
        folder.finish()
    return 0


def _name_of(line: str) -> str:
    """Return the name of a layer or sweep line, with or without parentheses and spaces.

    Raises `UsageError`.
    """
    words = line.replace("(", "").replace(")", "").replace(" ", "").split(",")
    if line and (len(words) > 2 or not all(word.isdecimal() for word in words)):
        raise UsageError(f"{line!r} is neither a sum nor a sweep line: write 128 or 10,6")
    return f"({','.join(words)})" if len(words) == 2 else words[0]


def _print(found: Symbolic, chosen: str, output: Path | None, every: bool) -> None:
    rows = found.rows()
    if chosen != "table" or output is not None:
        write_rows(rows, found.as_dict(), chosen, output, game=found.game)
        return
    print(f"{found.statement} {signature()}.")
    if every or len(rows) <= MOST_ROWS:
        write_rows(rows, None, "table", None, game=found.game)
    side = "the player" if found.rules.player == "slider" else "the side that spawns"
    print(
        f"{side} wins {found.states:,} states and {found.afterstates:,} afterstates; largest set "
        f"{found.peak:,} nodes; {found.iterations:,} iterations in {found.seconds:.1f} s"
    )
    if found.listed is not None:
        print(f"{found.listed:,} boards prove it; check it with tilebase check")
    if found.exported is not None:
        print(f"the set has {found.exported:,} bytes; ask it with tilebase probe")
