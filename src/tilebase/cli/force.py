"""``tilebase force``: what the player can force against every spawn; its modes are subcommands."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from tilebase.cli.options import (
    AdversaryOptions,
    ClusterOption,
    ForcedOptions,
    ForcedStartOption,
    LimitsOption,
    Options,
    ShapeArgument,
    ShapeOrGoal,
    ShownOptions,
    SpawnsOption,
    TimeOption,
    UseOptions,
    WorkOption,
    make_game,
    parse_time,
)
from tilebase.cli.output import MOST_ROWS, PLANNING, Shown, plannable, signature, signed
from tilebase.cli.progress import counting_progress, prepare_kernels
from tilebase.errors import UsageError
from tilebase.game.findings import VERDICTS
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.pictures import PICTURES
from tilebase.runtime.rows import table_text

if TYPE_CHECKING:
    from tilebase.bdd.strategies import Method
    from tilebase.questions.force import Forced
    from tilebase.questions.symbolic import Symbolic

GoalToForce = Annotated[int | None, Parameter(help="The tile to force.")]


@dataclass(frozen=True)
class EngineOptions(Options):
    """What decides a goal."""

    engine: str | None = None
    """search; dense or reachable (a pass over all boards, or those that occur); or diagrams (sets of boards).
    Default: the search, then dense if the search takes long and a pass fits into memory."""
    again: bool = False
    """After --engine dense, count the boards and wins of each layer again by diagrams."""
    cluster: ClusterOption = None


@dataclass(frozen=True)
class KeptOptions(Options):
    """When a run is given up, and where it can be continued."""

    budget: TimeOption = None
    work: WorkOption = None


@plannable
def decide(
    shape: ShapeOrGoal = "",
    goal: GoalToForce = None,
    *,
    game: ForcedOptions = ForcedOptions(),
    how: EngineOptions = EngineOptions(),
    certificate: Annotated[
        Path | None,
        Parameter(name=["--certificate", "-c"], help="File for a proof that tilebase verify can check."),
    ] = None,
    kept: KeptOptions = KeptOptions(),
    shown: ShownOptions = ShownOptions(),
    run: UseOptions = UseOptions(),
) -> int:
    """Decide whether a tile can be forced, whatever is spawned.

    Prints the verdict. -c writes a proof: a strategy for the player, or the spawns that refute every slide.
    If time runs out, partial results are printed, and the exit status is 1. The same command continues an
    interrupted search. Play begins on the empty board unless --start names another.

    tilebase force 3x3 32 -c 3x3-32.cert

    tilebase force --formation 442 16

    tilebase force largest 2x5

    tilebase force starts 3x3 32

    tilebase force diagrams 4x4 16 --spawns 2
    """
    show, record = shown.checked(), shown.record
    if certificate is not None and record is not None and certificate.absolute() == record.absolute():
        raise UsageError(f"{record} cannot be both the certificate and the answer: name two files")
    question = make_game(shape, goal, game)
    if not question.can_win:
        raise UsageError(
            f"a GOAL is missing: name the tile behind the shape, such as {shape} 32, or let tilebase force "
            f"largest {shape} find the largest"
        )
    if PLANNING.get():
        return _plan(question, how, certificate, show, run)
    prepare_kernels()
    from tilebase.files.work_folders import work_folder
    from tilebase.questions.force import force as ask

    with work_folder(kept.work, "force", question, how.engine or "auto") as folder:
        with counting_progress() as progress:
            answer = ask(
                question, engine=how.engine, folder=folder.path, keep=kept.work is not None,
                certificate=certificate, seconds=parse_time(kept.budget), again=how.again,
                cluster=how.cluster, **run.use(progress),
            )  # fmt: skip
        _write_answer(answer, show, certificate)
        if answer.forced is None:
            print(f"what is decided stays in {folder.path}: the same command continues", file=sys.stderr)
            return 1
        folder.finish()
    return 1 if answer.again is not None and answer.again.differ else 0


def _plan(game: Game, how: EngineOptions, certificate: Path | None, show: Shown, run: UseOptions) -> int:
    """Print what deciding a goal would take."""
    from tilebase.costs.rows import forcing, solving

    a_pass = how.engine in ("dense", "reachable")
    if certificate is not None or not a_pass:
        from tilebase.questions.force import check_ways  # loads Numba, which the plan of a pass does without

        check_ways(game, how.engine, certificate, how.cluster)
    if how.engine == "diagrams":
        raise UsageError("how large diagrams get is not known before: leave plan out, or the engine")
    if a_pass:
        space = "all" if how.engine == "dense" else "reachable"
        rows = solving(game, [Objective("guaranteed")], space, run.allowed(), cluster=how.cluster)
    else:
        free = how.engine is None and certificate is None
        rows = forcing(game, run.allowed(), search_only=not free)
    return show.plan(rows, game=game)


def _write_answer(answer: Forced, show: Shown, certificate: Path | None) -> None:
    row: dict[str, Any] = {"forced": VERDICTS[answer.forced][0], "engine": answer.engine}
    row |= {answer.unit: answer.positions, "seconds": round(answer.seconds, 1)}
    text = f"{signed(answer.statement)}\n"
    text += f"{answer.positions:,} {answer.unit} by the engine {answer.engine} in {answer.seconds:.1f} s\n"
    if answer.listed is not None:
        text += f"{answer.listed:,} boards prove it in {certificate}; check it with tilebase verify\n"
    if answer.again is not None:
        row |= {"layers": answer.again.layers, "layers that differ": len(answer.again.differ)}
        text += f"{answer.again.statement}, in {answer.again.seconds:.1f} s\n"
    show.write([row], answer.as_dict(), text=text, game=answer.game)


# -- the largest tile ------------------------------------------------------------------------------


def largest(
    shape: ShapeArgument,
    *,
    spawns: SpawnsOption = "2,4",
    start: ForcedStartOption = "empty",
    limits: LimitsOption = None,
    budget: TimeOption = None,
    shown: ShownOptions = ShownOptions(),
    run: UseOptions = UseOptions(),
) -> int:
    """Find the largest tile that can be forced.

    If time runs out, the exit status is 1: a larger tile may be forced.

    tilebase force largest 2x5

    tilebase force largest 3x3 --spawns 2
    """
    show = shown.checked()
    prepare_kernels()
    from tilebase.questions.force import largest_forced

    with counting_progress() as progress:
        found = largest_forced(
            shape, spawns=spawns, start=start, limits=limits, seconds=parse_time(budget),
            **run.use(progress),
        )  # fmt: skip
    row = {
        "board": found.shape,
        "largest forced": found.tile,
        "": "" if found.exact else "or more",
        "positions": found.positions,
        "seconds": round(found.seconds, 1),
    }
    show.write([row], found.as_dict(), text=f"{table_text([row])}{signature()}\n", game=None)
    return 0 if found.exact else 1


# -- every start -----------------------------------------------------------------------------------


def starts(
    shape: ShapeOrGoal = "",
    goal: GoalToForce = None,
    *,
    game: AdversaryOptions = AdversaryOptions(),
    kept: KeptOptions = KeptOptions(),
    shown: ShownOptions = ShownOptions(),
    run: UseOptions = UseOptions(),
) -> int:
    """Decide for each start of two tiles whether a tile can be forced.

    Prints a row for each start, up to symmetry. If time runs out, the exit status is 1.

    tilebase force starts 3x3 32
    """
    show = shown.checked()
    if game.formation is not None:
        raise UsageError("starts of two tiles are those of a whole board: leave --formation out")
    question = make_game(shape, goal, ForcedOptions(**vars(game), start="two-tiles"))
    prepare_kernels()
    from tilebase.files.work_folders import work_folder
    from tilebase.questions.force import force_starts

    with work_folder(kept.work, "force", question, "auto") as folder:
        with counting_progress() as progress:
            found = force_starts(
                question, folder=folder.path, seconds=parse_time(kept.budget), **run.use(progress)
            )
        rows = [
            {"start": question.format(one.board), "boards": one.boards, "forced": VERDICTS[one.forced][0]}
            for one in found.starts
        ]
        text = f"{table_text(rows)}{signed(found.statement)}\n"
        show.write(rows, found.as_dict() | {"starts": rows}, text=text, game=question)
        if found.undecided:
            return 1
        folder.finish()
    return 0


# -- decision diagrams -----------------------------------------------------------------------------


@dataclass(frozen=True)
class MethodOptions(Options):
    """What is computed with diagrams, and how."""

    strategy: str = "sum"
    """sum (layer by layer), sweep (sweep lines (k,l): l tiles of exponent k and none above), frontier (the
    same, from the boards that the last step added), accumulative (one growing set) or bits (no diagrams; the
    sweep lines of the largest tile below the goal)."""
    corollary7: bool = False
    """Omit states that play from an empty board cannot make."""
    variant: str = "adversarial"
    """adversarial; cooperative (spawns help); or deterministic (on the first empty cell)."""
    up_to: str = ""
    """Stop after this layer (128) or sweep line (10,6), before the start is decided."""

    def method(self) -> Method:
        """Return the method.  Raises `UsageError` unless `up_to` names a layer or a sweep line."""
        from tilebase.bdd.strategies import Method

        words = self.up_to.replace("(", "").replace(")", "").replace(" ", "").split(",")
        if self.up_to and (len(words) > 2 or not all(word.isdecimal() for word in words)):
            raise UsageError(f"{self.up_to!r} is neither a sum nor a sweep line: write 128 or 10,6")
        until = f"({','.join(words)})" if len(words) == 2 else words[0]
        return Method(self.variant, corollary7=self.corollary7, until=until, strategy=self.strategy)


def diagrams(
    shape: ShapeOrGoal = "",
    goal: GoalToForce = None,
    *,
    game: ForcedOptions = ForcedOptions(),
    how: MethodOptions = MethodOptions(),
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Folder for the winning set, to probe.")
    ] = None,
    kept: KeptOptions = KeptOptions(),
    shown: ShownOptions = ShownOptions(),
    run: UseOptions = UseOptions(),
) -> int:
    """Compute every board from which a tile can be forced, as decision diagrams.

    Prints the verdict, and how many boards of each layer or sweep line are won; --record lines.svg draws
    them. If time or memory runs out, partial results are printed, and the exit status is 1. Without -o, the
    same command continues an interrupted run. Play begins on the empty board unless --start names another.

    tilebase force diagrams 4x4 16 --spawns 2

    tilebase force diagrams 3x3 32 -o 3x3-32
    """
    show, question, method = shown.checked(PICTURES), make_game(shape, goal, game), how.method()
    from tilebase.files.work_folders import work_folder
    from tilebase.questions.symbolic import symbolic

    with work_folder(kept.work, "diagrams", question, *map(str, vars(method).values())) as folder:
        with counting_progress() as progress:
            found = symbolic(
                question, method, seconds=parse_time(kept.budget), export=output, folder=folder.path,
                **run.use(progress),
            )  # fmt: skip
        _write_set(found, show)
        if found.reason:
            print(f"tilebase: {found.reason}", file=sys.stderr)
            return 1
        folder.finish()
    return 0


def _write_set(found: Symbolic, show: Shown) -> None:
    rows = found.rows()
    text = f"{signed(found.statement)}\n"
    # Layers or sweep lines; every other format has all of them.
    text += table_text(rows) if len(rows) <= MOST_ROWS else ""
    done = f"largest set {found.peak:,} nodes; {found.iterations:,} iterations"
    if found.method.strategy == "bits":
        done = f"{len(found.lines)} sweep lines"
    text += f"the player wins {found.states:,} states and {found.afterstates:,} afterstates; {done}"
    text += f" in {found.seconds:.1f} s\n"
    old = sum(max(line.old, 0) for line in found.lines)
    if old:
        text += f"corollary 7 alone allows {old:,} more won states, which contain no spawned tile\n"
    if found.exported is not None:
        text += f"the set has {found.exported:,} bytes; ask it with tilebase probe\n"
    show.write(
        rows,
        found.as_dict(),
        text=text,
        game=found.game,
        draw=lambda plots, file: plots.plot_lines(found, file),
    )


force = App(name="force")
force.default(decide)
for command in (largest, starts, diagrams):
    force.command(command)
