"""``tilebase play``: a game in the terminal, with the exact value of every slide."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tilebase.cli.library import is_board_alone, offer, open_library
from tilebase.cli.options import GameOptions, Options, SolvedOptions, UseOptions, solved_first
from tilebase.cli.output import Shown
from tilebase.errors import MissingBoardError, MissingLayerError, UsageError, sentence
from tilebase.files.source import check_output
from tilebase.game.grid import is_shape
from tilebase.game.names import title_of
from tilebase.runtime.storage import write_whole

if TYPE_CHECKING:
    from tilebase.cli.seat import Seat
    from tilebase.game.game import Game
    from tilebase.tables.folders import TableFolder
    from tilebase.tables.probe import Table


@dataclass(frozen=True)
class SeatOptions(Options):
    """Where a game begins, and who spawns."""

    start: str | None = None
    """A board to begin with, instead of random tiles."""
    seed: int | None = None
    """The same seed and slides give the same spawns."""
    adversary: bool = False
    """Make each spawn the worst one for the player, by the table."""


@dataclass(frozen=True)
class DialogueOptions(Options):
    """What is shown, and who slides."""

    train: bool = False
    """Hide values, and print after each slide what it lost."""
    auto: bool = False
    """Let the table play."""
    delay: float = 0.3
    """Seconds between two slides of the table."""
    values: Annotated[bool, Parameter(negative="--no-values")] = True
    """Show the value of each slide."""
    keys: Annotated[bool, Parameter(negative="--no-keys")] = True
    """In a terminal, react to keys without Enter, and redraw the board in place."""


def play(
    table: Annotated[
        str,
        Parameter(
            help="Folder, zip file or URL of a table; with --start also a folder of tables; a board "
            "that a table of your library has; or the shape of a game to solve first, such as 3x3. "
            "With --formation: the goal."
        ),
    ],
    goal: Annotated[int | None, Parameter(help="With a shape: the tile that wins.")] = None,
    *,
    objective: Annotated[
        str | None,
        Parameter(
            help="Objective of the table; default: the first, or the interval. With a shape: for "
            "what to solve; default: win, score without a goal, guaranteed against an adversary."
        ),
    ] = None,
    begin: SeatOptions = SeatOptions(),
    how: DialogueOptions = DialogueOptions(),
    kept: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"], help="Save the last game, as slides and spawns, to review it later."
        ),
    ] = None,
    game: SolvedOptions = SolvedOptions(),
    run: UseOptions = UseOptions(),
) -> int:
    """Play in the terminal, and see what every slide is worth.

    For a shape and a goal, solves the game first, and deletes its table at the end; tilebase solve -o keeps
    one. The arrows or w a s d slide; h gives a hint, v shows or hides the values, u takes a move back, p lets
    the table play, n begins a new game, q ends. -o saves the game for tilebase review. Without a terminal,
    each line of the input has one key.

    tilebase play 3x3-512/

    tilebase play 3x3 512 --train

    tilebase play 3x3-512/ -o game.json

    tilebase play 3x3-512/ --auto --delay 0 --seed 1

    `tilebase play "0,2,4,0/0,8,16,2/2,4,512,256/1024,2048,4096,8192"`

    tilebase play 3x3 32 --adversary
    """
    if sys.stdin is None and not how.auto:
        raise UsageError(
            "standard input is closed, so that no slides can be read: give --auto to watch the table play"
        )
    if not 0 <= how.delay <= 3600:
        raise UsageError(f"the delay must be 0 to 3600 seconds, not {how.delay:g}")
    if how.auto and how.train:
        raise UsageError("with --auto the table slides, and --train is for your slides: leave one out")
    board = table if goal is None and game == SolvedOptions() and is_board_alone(table) else None
    given = goal is not None or game != SolvedOptions() or objective is not None
    if not given and is_shape(table) and not Path(table).exists():
        raise UsageError(
            f"{table} is a shape, not a table: name a goal, too, such as tilebase play {table} "
            f"{_easy_goal(table)}, or a table that tilebase solve -o made"
        )
    question = None
    if board is None:
        question = solved_first([table, *([] if goal is None else [str(goal)])], GameOptions(**vars(game)))
    if question is None and goal is not None:
        raise UsageError(f"{table} is not a shape, and a table has its own rules: leave goal and rules out")
    if kept is not None:
        check_output(kept)
    with ExitStack() as stack:
        from tilebase.cli.seat import Seat

        if question is not None:
            if objective is None:
                objective = ("guaranteed" if begin.adversary else "win") if question.can_win else "score"
            opened = stack.enter_context(_solved(question, objective, run))
        elif board is None:
            opened = _opened(stack, table, begin.start, objective)
        else:
            begin = replace(begin, start=board)
            try:
                opened = _best(stack.enter_context(open_library()), board, objective)
            except (MissingBoardError, MissingLayerError) as error:
                offer(board, Shown(), sentence(error))
                return 1
        seat = Seat(opened, objective, random.Random(begin.seed), begin.start, worst=begin.adversary)
        try:
            return _converse(seat, how)
        finally:
            if kept is not None:
                write_whole(kept, seat.saved())
                print(f"{kept}: {seat.slides_made}, which tilebase review reads", file=sys.stderr)


def _easy_goal(shape: str) -> int:
    """Return the largest goal that can be solved in minutes."""
    from tilebase.costs.reachable import solving
    from tilebase.game.game import Game
    from tilebase.objectives.objective import Objective
    from tilebase.runtime.resources import OVERHEAD, Allowance

    one = Allowance(memory=OVERHEAD, threads=1)
    for goal in (1 << e for e in range(11, 3, -1)):
        with suppress(UsageError):
            if solving(Game(shape, goal), [Objective("win")], one, table=True).seconds < 300:
                return goal
    return 8


def _converse(seat: Seat, how: DialogueOptions) -> int:
    """Play in the way that the options and the terminal ask for; return the exit status."""
    from tilebase.cli.dialogue import Dialogue, Lines
    from tilebase.cli.live import Keyboard, Window, choose_colors, has_keys

    if how.auto:
        return 0 if Dialogue(seat, Lines(how.delay), values=how.values).watch() else 1
    if not (how.keys and has_keys()):
        dialogue = Dialogue(seat, Lines(how.delay), values=how.values, train=how.train)
        sys.stdout.write(f"{dialogue.help}\n")
        dialogue.converse()
    else:
        try:
            with Keyboard() as keyboard:
                window = Window(keyboard, choose_colors(), how.delay)
                Dialogue(seat, window, values=how.values, train=how.train).converse()
        finally:  # what stays on the terminal
            sys.stdout.write(f"{seat.over}\n" if seat.over else "")
    if how.train:
        sys.stdout.write(f"{seat.score}\n")
    return 0


def _opened(stack: ExitStack, name: str, start: str | None, objective: str | None) -> Table:
    """Open a table; of a folder of tables the best of those that fit the board to begin with."""
    from tilebase.tables.folders import holds_tables, open_tables
    from tilebase.tables.probe import open_table

    if not holds_tables(name):
        return stack.enter_context(open_table(name))
    if start is None:
        raise UsageError(f"{name} holds tables in subfolders: name one of them, or the board with --start")
    return _best(stack.enter_context(open_tables(name)), start, objective)


def _best(tables: TableFolder, board: str, objective: str | None) -> Table:
    """Return the best of those tables that fit a board, and say which it is."""
    best = next(iter(tables.probe(board, objective).answers))
    print(f"{tables.path}: playing in {best}, {title_of(tables.tables[best].game)}", file=sys.stderr)
    return tables.tables[best]


@contextmanager
def _solved(game: Game, objective: str, run: UseOptions) -> Iterator[Table]:
    """Solve a game and open its table, which is deleted at the end."""
    from tilebase.cli.progress import counting_progress, prepare_kernels
    from tilebase.files.work_folders import table_folder
    from tilebase.objectives.objective import parse_objectives
    from tilebase.tables.probe import open_table

    objectives = parse_objectives(objective)
    prepare_kernels()
    from tilebase.questions.solve import solve

    with table_folder(None, game, objectives) as work:
        with counting_progress() as progress:
            solve(game, objectives, table=work.path, **run.use(progress))
        try:
            with open_table(work.path) as opened:
                yield opened
        finally:
            work.finish()
