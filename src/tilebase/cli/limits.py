"""``tilebase limits``: search for good limits, and for the limits within which a goal is forced."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from tilebase.cli.options import (
    DEFAULT_GAME,
    DEFAULT_RUN,
    FormatOption,
    GameOptions,
    OutputOption,
    RunOptions,
    ShapeArgument,
    SpawnsOption,
    StartOption,
    make_game,
    needed_goal,
    parse_budget,
)
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.game.spawns import law_of

if TYPE_CHECKING:
    from tilebase.questions.limits import Trial

limits = App(name="limits", help="Which limits to play within.")


@limits.command
def search(
    shape: ShapeArgument,
    goal: Annotated[int | None, Parameter(help="The tile that wins.")] = None,
    *,
    game: GameOptions = DEFAULT_GAME,
    budget: Annotated[str, Parameter(help="Boards within the limits at most: 1e6, 50M.")] = "1M",
    seconds: Annotated[
        str | None, Parameter(name="--for", help="Time after which the best so far is printed: 10min.")
    ] = None,
    form: FormatOption = None,
    output: OutputOption = None,
    run: RunOptions = DEFAULT_RUN,
) -> int:
    """Search for the limits that give the best bound within a budget of boards.

    Begins with --limits, or with the least that a win needs, and prints the path to the best limits
    found; prove the bound with tilebase prove.

    tilebase limits search 3x3 64 --pattern lemma1 --start empty --budget 1e6
    """
    goal = needed_goal(goal, game, "limits are for whole boards, and a formation is solved without them")
    question = make_game(shape, goal, game)
    chosen = choose_format(form, output)
    boards = parse_count(budget)
    prepare_kernels()
    from tilebase.questions.limits import search_limits

    def tell(trial: Trial, tried: int) -> None:
        print(f"{tried} tried: {trial.text}  {trial.boards:,} boards  {trial.value_text}", file=sys.stderr)

    found = search_limits(
        question, boards, seconds=parse_budget(seconds), step=None if run.quiet else tell, **run.use()
    )
    if not found.best.value:
        raise UsageError(
            f"the game cannot be won within any of the {found.tried:,} limits that were tried, of at most "
            f"{boards:,} boards each: give a larger --budget, or begin with other --limits"
        )
    rows = [
        {"limits": trial.text, "boards": trial.boards, "win (float32)": float(trial.value_text)}
        for trial in found.path
    ]
    document = {
        "game": question.identity,
        "budget": boards,
        "best": rows[-1],
        "path": rows,
        "tried": found.tried,
        "finished": found.finished,
    }
    write_rows(rows, document, chosen, output, game=question, signed=True)
    if not found.finished:
        print("stopped early: better limits may be found", file=sys.stderr)
    return 0


@limits.command
def minimal(
    shape: ShapeArgument,
    goal: Annotated[int, Parameter(help="The tile to force.")],
    *,
    spawns: SpawnsOption = "2,4",
    start: StartOption = "empty",
    highest: Annotated[
        str | None, Parameter(name="--limits", help="Look below these limits only: 16,16/16,8.")
    ] = None,
    budget: Annotated[str | None, Parameter(help="Time after which what is known is printed: 10min.")] = None,
    form: FormatOption = None,
    output: OutputOption = None,
    run: RunOptions = DEFAULT_RUN,
) -> int:
    """Find the least limits within which a tile can be forced, and the largest within which it cannot.

    Prints all minimal winning and maximal losing limits, one of each orbit under the symmetries. Exit
    status 1 if time ran out, or it was stopped with Ctrl-C, before all were known.

    tilebase limits minimal 3x3 32
    """
    chosen = choose_format(form, output)
    prepare_kernels()
    from tilebase.questions.borders import find_border

    question = Game(shape, goal, spawn=law_of(spawns), start=start, limits=highest)
    with counting_progress(quiet=run.quiet) as progress:
        found = find_border(question, seconds=parse_budget(budget), **run.use(progress))
    rows = [
        {"limits": text, "": side, "images": images}
        for side, border in (("minimal winning", found.winning), ("maximal losing", found.losing))
        for text, images in border
    ]
    write_rows(rows, found.as_dict(), chosen, output, game=question, signed=True)
    if found.open:
        print(f"stopped early: {found.open:,} of {found.lattice:,} limits are open", file=sys.stderr)
        return 1
    return 0


def parse_count(text: str) -> int:
    """Return ``1e6``, ``50M`` or ``50000`` as a number.  Raises `UsageError`."""
    units = {"k": 10**3, "m": 10**6, "g": 10**9}
    word = text.strip().lower()
    unit = units.get(word[-1:], 1)
    try:
        count = int(float(word[:-1] if unit > 1 else word) * unit)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text!r} is not a number of boards: write 1e6 or 50M") from error
    if count < 1:
        raise UsageError(f"the budget must be 1 board or more, not {text}")
    return count
