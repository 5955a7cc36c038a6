"""``tilebase limits``: search for good limits, and for the limits within which a goal is forced."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tilebase.cli.options import GameOptions, ShapeArgument, ShownOptions, UseOptions, make_game, parse_time
from tilebase.cli.output import Shown, signature
from tilebase.cli.progress import counting_progress, prepare_kernels
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.game.names import game_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.measured import QUIET
from tilebase.runtime.resources import Allowance
from tilebase.runtime.rows import table_text

if TYPE_CHECKING:
    from tilebase.questions.limits import Trial


def sooner(game: str) -> str:
    """Return a line that names this search, for a lower bound of a game, as text, that takes long."""
    command = f"tilebase limits {game} --budget 1min"
    return f"A weaker bound, sooner: solve within limits, which {command} finds\n"


def limits(
    shape: ShapeArgument,
    goal: Annotated[int | None, Parameter(help="The tile that wins.")] = None,
    *,
    game: GameOptions = GameOptions(),
    minimal: Annotated[
        bool,
        Parameter(
            help="Find the lowest limits that force the goal, and the highest that do not, below --limits."
        ),
    ] = False,
    boards: Annotated[
        str | None,
        Parameter(
            help="Largest number of boards within the limits: 1e6, 50M. Default: what the budget "
            "allows; without a budget, 1M, or 16 times the boards within the first limits."
        ),
    ] = None,
    budget: Annotated[
        str | None, Parameter(help="Time limit, such as 10min, after which partial results are printed.")
    ] = None,
    shown: ShownOptions = ShownOptions(),
    run: UseOptions = UseOptions(),
) -> int:
    """Search for limits that give a bound, or force a goal.

    The search begins with --limits, or with low limits of its own. It prints the path to the
    best limits found, and the command that proves the bound.

    With --minimal: all minimal winning and maximal losing limits, up to symmetry. Of --spawn, only whether it
    is 0, 1 or in between matters. If time runs out or Ctrl-C stops the search before all are known, the exit
    status is 1.

    tilebase limits 3x4 256 --budget 1min

    tilebase limits 3x3 64 --pattern lemma1 --start empty --boards 1e6

    tilebase limits 3x3 32 --start empty --minimal
    """
    why = "limits are for whole boards, and a formation is solved without them"
    question = make_game(shape, goal, game, whole=why)
    show = shown.checked()
    most = None if boards is None else parse_count(boards)
    seconds = parse_time(budget)
    prepare_kernels()
    if minimal:
        return _minimal(question, seconds, show, run)
    return _search(question, most, seconds, show, run)


def _search(game: Game, most: int | None, seconds: float, show: Shown, run: UseOptions) -> int:
    """Search for the best limits, and print the path to them and what proves the bound."""
    from tilebase.costs.passes import passing
    from tilebase.questions.limits import search_limits

    def tell(trial: Trial, tried: int) -> None:
        print(f"{tried} tried: {trial.text}  {trial.boards:,} boards  {trial.value}", file=sys.stderr)

    found = search_limits(game, most, seconds=seconds, step=None if QUIET.get() else tell, **run.use())
    if not found.best.value:
        within = f", of at most {found.most:,} boards each" if found.most else ""
        raise UsageError(
            f"the game cannot be won within any of the {found.tried:,} limits that were tried{within}: give "
            "more --boards or time, or begin with other --limits"
        )
    rows = [
        {"limits": trial.text, "boards": trial.boards, "win (float32)": float(trial.value)}
        for trial in found.path
    ]
    read = [row | {"win (float32)": str(trial.value)} for row, trial in zip(rows, found.path, strict=True)]
    document = {
        "game": game.identity,
        "budget": found.most,
        "best": rows[-1],
        "path": rows,
        "tried": found.tried,
        "finished": found.finished,
    }
    limited = game.changed(limits=found.best.limits)
    proving = passing(limited, [Objective("lower")], Allowance.of(**run.use()))
    takes = proving.time if proving.seconds >= 1 else "a moment"
    proof = f"tilebase solve {game_text(limited)} --objective lower --record bound.json"
    more = f"{signature()}\n\nto prove this bound ({takes}):\n{proof}\n"
    show.write(read, document, data=rows, text=table_text(read) + more, game=game)
    if not found.finished:
        print("stopped early: a longer --budget may find better limits", file=sys.stderr)
    return 0


def _minimal(game: Game, seconds: float, show: Shown, run: UseOptions) -> int:
    """Print the minimal winning and maximal losing limits; 1 if not all are known."""
    from tilebase.questions.borders import find_border

    with counting_progress() as progress:
        found = find_border(game, seconds=seconds, **run.use(progress))
    rows = [
        {"limits": text, "": side, "images": images}
        for side, border in (("minimal winning", found.winning), ("maximal losing", found.losing))
        for text, images in border
    ]
    show.write(rows, found.as_dict(), text=f"{table_text(rows)}{signature()}\n", game=game)
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
        raise UsageError(f"there must be 1 board or more, not {text}")
    return count
