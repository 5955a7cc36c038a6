"""``tilebase force``: what the player can force against every spawn."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import (
    DEFAULT_ESTIMATED_RUN,
    DEFAULT_FORCED,
    DEFAULT_SHOWN,
    ClusterOption,
    EstimatedRunOptions,
    ForcedOptions,
    ShapeOrGoal,
    ShownOptions,
    TimeOption,
    WorkOption,
    make_game,
    parse_budget,
)
from tilebase.cli.output import MOST_ROWS, PICTURES, Shown, plan_text, planning, signature
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.game.names import title_of
from tilebase.objectives.objective import Objective
from tilebase.runtime.rows import table_text

if TYPE_CHECKING:
    from tilebase.files.work_folders import WorkFolder
    from tilebase.questions.force import Forced, Largest, StartVerdict
    from tilebase.questions.symbolic import Symbolic

VERDICTS = {True: "yes", False: "no", None: "undecided"}
SHAPES_BUDGET = "60s"
"""The time of --every-shape without --budget."""


def force(
    shape: ShapeOrGoal = "",
    goal: Annotated[
        int | None, Parameter(help="The tile to force; default: the largest that can be forced is found.")
    ] = None,
    *,
    game: ForcedOptions = DEFAULT_FORCED,
    every_start: Annotated[
        bool, Parameter(negative=(), help="Decide for each start of two tiles by itself.")
    ] = False,
    every_shape: Annotated[
        bool,
        Parameter(
            negative=(),
            help=f"Find the largest tile of each shape in turn, for {SHAPES_BUDGET} or --budget.",
        ),
    ] = False,
    engine: Annotated[
        str | None,
        Parameter(
            help="search; dense or reachable (a pass over all boards, or those that occur); or diagrams: the "
            "winning set as decision diagrams. More words say how: diagrams:sweep,zbdd (tilebase explain "
            "diagrams). Default: the search, and if that takes long dense, where it fits."
        ),
    ] = None,
    variant: Annotated[
        str,
        Parameter(
            help="For diagrams: adversarial; cooperative (spawns help); or deterministic (on the first empty "
            "cell)."
        ),
    ] = "adversarial",
    player: Annotated[
        str,
        Parameter(help="For diagrams, whose winning set: slider (the player) or dropper (who spawns)."),
    ] = "slider",
    up_to: Annotated[
        str,
        Parameter(
            help="For diagrams: stop after this layer (128) or sweep line (10,6); the start stays undecided."
        ),
    ] = "",
    kept: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"],
            help="For diagrams: folder for the winning set, to probe.",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        Parameter(name=["--certificate", "-c"], help="File for a proof that tilebase verify can check."),
    ] = None,
    again: Annotated[
        str | None,
        Parameter(
            help="A second engine that counts the boards and wins of each layer of --engine dense again: "
            "diagrams, or plain (the rules in Python, for small games)."
        ),
    ] = None,
    budget: TimeOption = None,
    work: WorkOption = None,
    cluster: ClusterOption = None,
    shown: ShownOptions = DEFAULT_SHOWN,
    run: EstimatedRunOptions = DEFAULT_ESTIMATED_RUN,
) -> int:
    """Decide whether a tile can be forced, whatever is spawned.

    Prints the verdict, and with -c writes a proof: a strategy for the player, or the spawns that refute
    every slide. The engine diagrams computes every board from which a side wins, and prints how many each
    layer has; --record lines.svg draws them. Exit status 1 if time or memory ran out: what is known is
    printed. The same command continues an interrupted search.

    tilebase force 3x3 32 -c 3x3-32.cert

    tilebase force 2x5

    tilebase force 3x3 32 --every-start

    tilebase force --every-shape --budget 5min

    tilebase force --formation 442 16

    tilebase force 4x4 16 --spawns 2 --engine diagrams
    """
    how, words = (engine or "").partition(":")[::2]
    diagrams = how == "diagrams"
    _check_choices(
        diagrams, how, words, {"--variant": variant != "adversarial", "--player": player != "slider",
        "--up-to": bool(up_to), "--output": kept is not None},
    )  # fmt: skip
    show, record = shown.checked(PICTURES if diagrams else ()), shown.record
    if (
        certificate is not None
        and show.record is not None
        and certificate.absolute() == show.record.absolute()
    ):
        raise UsageError(f"{record} cannot be both the certificate and the answer: name two files")
    names_goal = game.formation is not None or game.pattern is not None or game.goal_sum is not None
    largest = bool(shape) and goal is None and not (names_goal or every_start)
    if again is not None and (how != "dense" or largest or every_start or every_shape):
        raise UsageError(
            "--again reproduces the layers of one dense pass: give a goal and --engine dense, too"
        )
    if planning() and (every_shape or every_start or largest):
        raise UsageError(
            "what a search for many goals or starts takes is not known: plan one goal, as 3x3 32"
        )
    if every_shape:
        if shape or goal is not None or game != ForcedOptions(spawns=game.spawns) or engine or every_start:
            raise UsageError("--every-shape takes --spawns and --budget, and neither a shape nor other rules")
        return _every_shape(game, budget or SHAPES_BUDGET, show, run)
    if every_start:
        if game.start != DEFAULT_FORCED.start or engine or certificate:
            raise UsageError("--every-start searches from each start: leave --start, --engine and -c out")
        return _every_start(make_game(shape, goal, replace(game, start="two-tiles")), budget, work, show, run)
    if largest:  # no game is made: without a goal, its tiles may not fit into 64 bits
        return _largest(shape, game, budget, engine or certificate, show, run)
    question = make_game(shape, goal, game)
    if diagrams:
        chosen = _words(words) | {"variant": variant, "player": player, "until": _name_of(up_to)}
        if planning():
            from tilebase.questions.symbolic import expected_cost

            row = expected_cost(
                question, chosen.get("strategy", "sum"), chosen["until"],
                corollary7=chosen.get("corollary7", False),
            ).row(f"diagrams of {title_of(question)}")  # fmt: skip
            show.write([row], row, game=question)
            return 0
        return _diagrams(question, chosen, kept, certificate, budget, work, show, run)
    if planning():
        from tilebase.cluster.opening import workers_here
        from tilebase.costs.rows import forcing, solving
        from tilebase.questions.force import check_ways

        check_ways(question, engine, certificate, cluster)
        if engine in ("dense", "reachable"):
            space = "all" if engine == "dense" else engine
            workers = None if cluster is None else workers_here(cluster)
            rows = solving(question, [Objective("guaranteed")], space, run.allowed(), workers=workers)
        else:
            free = engine is None and certificate is None
            rows = forcing(question, run.allowed(), search_only=not free)
        show.write(rows, rows, text=plan_text(rows), game=question)
        return 0
    prepare_kernels()
    from tilebase.questions.force import force as ask

    with _work_of(question, work, engine) as folder:
        with counting_progress(quiet=run.quiet) as progress:
            answer = ask(
                question, engine=engine, folder=folder.path, keep=work is not None, certificate=certificate,
                seconds=parse_budget(budget), again=again, cluster=cluster, **run.use(progress),
            )  # fmt: skip
        _write_answer(answer, show, certificate)
        if answer.forced is None:
            print(f"what is decided stays in {folder.path}: the same command continues", file=sys.stderr)
            return 1
        folder.finish()
    return 1 if answer.again is not None and answer.again.differ else 0


def _check_choices(diagrams: bool, engine: str, words: str, given: dict[str, bool]) -> None:
    """Raise `UsageError` if an option or a word is for another engine."""
    for option, there in given.items():
        if there and not diagrams:
            raise UsageError(f"{option} is for decision diagrams: give --engine diagrams, too")
    if words and not diagrams:
        raise UsageError(f"the engine {engine} takes no words behind it; diagrams does, as diagrams:sweep")


def _write_answer(answer: Forced, show: Shown, certificate: Path | None) -> None:
    from tilebase.questions.statements import of_forced

    row: dict[str, Any] = {"forced": VERDICTS[answer.forced], "engine": answer.engine}
    row |= {answer.unit: answer.positions, "seconds": round(answer.seconds, 1)}
    text = f"{answer.statement} {signature()}.\n"
    text += f"{answer.positions:,} {answer.unit} by the engine {answer.engine} in {answer.seconds:.1f} s\n"
    if answer.listed is not None:
        text += f"{answer.listed:,} boards prove it in {certificate}; check it with tilebase verify\n"
    if answer.again is not None:
        row |= {"again": answer.again.engine, "layers": answer.again.layers}
        row |= {"layers that differ": len(answer.again.differ)}
        text += f"{answer.again.statement}, in {answer.again.seconds:.1f} s\n"
    document = answer.as_dict() | of_forced(answer).as_dict()
    show.write([row], document, text=text, game=answer.game)


# -- the largest tile ------------------------------------------------------------------------------


def _largest(
    shape: str, game: ForcedOptions, budget: str | None, other: object, show: Shown, run: EstimatedRunOptions
) -> int:
    """Find the largest tile that can be forced on a shape; 1 if time ran out, and a larger one may be."""
    plain = ForcedOptions(spawns=game.spawns, start=game.start, limits=game.limits)
    if game != plain or other:
        named = [
            f"--{one.name.replace('_', '-')}"
            for one in fields(game)
            if vars(game)[one.name] != vars(plain)[one.name]
        ]
        raise UsageError(
            "without a tile to force, the largest is searched, with --spawns, --start, --limits and "
            f"--budget: give a tile, or leave {', '.join(named) or '--engine and --certificate'} out"
        )
    prepare_kernels()
    from tilebase.questions.force import largest_forced

    with counting_progress(quiet=run.quiet) as progress:
        found = largest_forced(
            shape, spawns=game.spawns, start=game.start, limits=game.limits, seconds=parse_budget(budget),
            **run.use(progress),
        )  # fmt: skip
    show.write([_row_of(found)], _document_of(found), game=None, signed=True)
    return 0 if found.exact else 1


def _every_shape(game: ForcedOptions, budget: str, show: Shown, run: EstimatedRunOptions) -> int:
    """Find the largest tile of each shape until time runs out; the last row may not be the largest."""
    printing = show.form == "table"
    found: list[Largest] = []
    prepare_kernels()
    from tilebase.questions.force import forced_table

    with counting_progress(quiet=run.quiet) as progress:
        try:
            for one in forced_table(spawns=game.spawns, seconds=parse_budget(budget), **run.use(progress)):
                found.append(one)
                if printing:  # print each row at once: the last ones take long
                    more = "" if one.exact else " or more: time ran out"
                    print(f"{one.shape:8} {one.tile:6}{more}  ({one.positions:,} afterstates)", flush=True)
        finally:  # if the user stops the command, the rows so far are written
            rows, documents = [_row_of(one) for one in found], [_document_of(one) for one in found]
            show.write(rows, documents, text=f"{signature()}\n" if printing else None, game=None)
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
    from tilebase.questions.statements import of_largest

    return of_largest(found).as_dict() | {
        "game": found.game.identity,
        "shape": found.shape,
        "tile": found.tile,
        "exact": found.exact,
        "positions": found.positions,
        "seconds": round(found.seconds, 1),
        "answers": [answer.as_dict() for answer in found.answers],
    }


# -- every start -----------------------------------------------------------------------------------


def _every_start(
    game: Game, budget: str | None, work: Path | None, show: Shown, run: EstimatedRunOptions
) -> int:
    """Decide every start of two tiles; 1 if time ran out."""
    prepare_kernels()
    from tilebase.questions.force import force_starts

    with _work_of(game, work, None) as folder:
        with counting_progress(quiet=run.quiet) as progress:
            verdicts = force_starts(
                game, folder=folder.path, seconds=parse_budget(budget), **run.use(progress)
            )
        if _write_starts(game, verdicts, show):
            return 1
        folder.finish()
    return 0


def _write_starts(game: Game, starts: tuple[StartVerdict, ...], show: Shown) -> int:
    """Write a row for each start and a summary; return how many starts are undecided."""
    from tilebase.questions.statements import of_starts

    rows = [
        {"start": game.format(one.board), "boards": one.boards, "forced": VERDICTS[one.forced]}
        for one in starts
    ]
    forced = sum(one.boards for one in starts if one.forced)
    every = sum(one.boards for one in starts)
    undecided = sum(one.boards for one in starts if one.forced is None)
    document = of_starts(game, starts).as_dict() | {"game": game.identity, "starts": rows}
    document |= {"boards": every, "forced": forced}
    more = f", {undecided} undecided" if undecided else ""
    text = table_text(rows) + (
        f"{game.goal} is forced from {forced} of {every} starts, {len(starts)} up to symmetry{more} "
        f"{signature()}\n"
    )
    show.write(rows, document | {"undecided": undecided}, text=text, game=game)
    return undecided


def _work_of(game: Game, work: Path | None, engine: str | None) -> AbstractContextManager[WorkFolder]:
    """Return the folder for the decided afterstates of a game."""
    from tilebase.files.work_folders import work_folder

    return work_folder(work, f"force-{game.shape_text}-{game.digest}-{engine or 'auto'}")


# -- decision diagrams -----------------------------------------------------------------------------


def _words(text: str) -> dict[str, Any]:
    """Return the choices that the words behind ``diagrams:`` name.  Raises `UsageError`."""
    from tilebase.bdd.codes import ENCODINGS, ORDERS
    from tilebase.bdd.library import KINDS
    from tilebase.bdd.strategies import STRATEGIES

    known: dict[str, tuple[str, Any]] = {
        **{word: ("strategy", word) for word in STRATEGIES},
        **{word: ("encoding", word) for word in ENCODINGS},
        **{word: ("order", word) for word in (*ORDERS, "search")},
        **{word: ("kind", word) for word in KINDS},
        "weak": ("strong", False),
        "corollary7": ("corollary7", True),
    }
    found: dict[str, Any] = {}
    for word in filter(None, (one.strip() for one in text.split(","))):
        if word not in known:
            raise UsageError(f"{word!r} says nothing about diagrams: choose from {', '.join(known)}")
        name, value = known[word]
        if found.setdefault(name, value) != value:
            raise UsageError(f"{found[name]} and {word} contradict each other: name one {name}")
    return found


def _diagrams(
    game: Game, chosen: dict[str, Any], kept: Path | None, certificate: Path | None, budget: str | None,
    work: Path | None, show: Shown, run: EstimatedRunOptions,
) -> int:  # fmt: skip
    """Compute a winning set; 1 if time or memory ran out."""
    from tilebase.files.work_folders import work_folder
    from tilebase.questions.symbolic import search_orders, symbolic

    if chosen.get("order") == "search":
        given = {name: chosen[name] for name in ("variant", "kind", "encoding") if name in chosen}
        trials = search_orders(game, **given, **run.use())
        chosen |= {"order": trials[0].order, "encoding": trials[0].encoding}
        print(
            f"{trials[0].order} and {trials[0].encoding}: fewest nodes on {trials[0].game}", file=sys.stderr
        )
    named = "-".join(str(value) for _, value in sorted(chosen.items()))
    with work_folder(work, f"diagrams-{game.shape_text}-{game.digest}-{named}") as folder:
        with counting_progress(quiet=run.quiet) as progress:
            found = symbolic(
                game, **chosen, seconds=parse_budget(budget), export=kept, certificate=certificate,
                folder=folder.path, **run.use(progress),
            )  # fmt: skip
        _write_set(found, show)
        if found.reason:
            print(f"tilebase: {found.reason}", file=sys.stderr)
            return 1
        folder.finish()
    return 0


def _write_set(found: Symbolic, show: Shown) -> None:
    from tilebase.questions.plots import plot_lines
    from tilebase.questions.statements import of_symbolic

    rows = found.rows()
    side = "the player" if found.rules.player == "slider" else "the side that spawns"
    text = f"{found.statement} {signature()}.\n"
    # Layers or sweep lines; every other format has all of them.
    text += table_text(rows) if len(rows) <= MOST_ROWS else ""
    text += (
        f"{side} wins {found.states:,} states and {found.afterstates:,} afterstates; largest set "
        f"{found.peak:,} nodes; {found.iterations:,} iterations in {found.seconds:.1f} s\n"
    )
    if found.listed is not None:
        text += f"{found.listed:,} boards prove it; check it with tilebase verify\n"
    if found.exported is not None:
        text += f"the set has {found.exported:,} bytes; ask it with tilebase probe\n"
    document = found.as_dict() | of_symbolic(found).as_dict()
    show.write(rows, document, text=text, game=found.game, draw=lambda file: plot_lines(found, file))


def _name_of(line: str) -> str:
    """Return the name of a layer or sweep line, with or without parentheses and spaces.

    Raises `UsageError`.
    """
    words = line.replace("(", "").replace(")", "").replace(" ", "").split(",")
    if line and (len(words) > 2 or not all(word.isdecimal() for word in words)):
        raise UsageError(f"{line!r} is neither a sum nor a sweep line: write 128 or 10,6")
    return f"({','.join(words)})" if len(words) == 2 else words[0]
