"""``tilebase lemma``: whether a goal can be forced from every board that holds a pattern."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from tilebase.cli.options import (
    USED,
    GameOptions,
    Options,
    PatternOption,
    ShapeArgument,
    ShownOptions,
    UseOptions,
    WorkOption,
    make_game,
    parse_time,
)
from tilebase.cli.output import signed
from tilebase.cli.progress import counting_progress, prepare_kernels
from tilebase.game.findings import VERDICTS, Finding, claim_of
from tilebase.game.game import Game
from tilebase.game.names import filling_words, title_of

GoalToReach = Annotated[int | None, Parameter(help="The tile that the pattern should force.")]
FillingsOption = Annotated[
    str | None,
    Parameter(
        help="Largest tile of each cell in the fillings; --limits are for the play. Default: as in the play."
    ),
]


@dataclass(frozen=True)
class SampleOptions(Options):
    """Which random fillings are decided, and for how long."""

    count: int = 100
    """Random fillings."""
    seed: int = 0
    """Seed of the random fillings."""
    budget: Annotated[str, Parameter(group=USED)] = "1s"
    """Longest search for one of the random fillings: 5s, 1min."""


def check(
    shape: ShapeArgument,
    goal: GoalToReach = None,
    *,
    game: GameOptions = GameOptions(),
    fillings: FillingsOption = None,
    within: Annotated[
        int | None,
        Parameter(
            help="Look only for wins within this number of slides, which needs fewer boards. Default: "
            "any number."
        ),
    ] = None,
    work: WorkOption = None,
    shown: ShownOptions = ShownOptions(),
    run: UseOptions = UseOptions(),
) -> int:
    """Check whether a pattern wins from every filling.

    A filling puts tiles on the cells that the pattern leaves free. The default pattern is lemma1. Prints the
    number of fillings and, if memory is enough to count slides, the longest forced win. If a filling is not
    won, the exit status is 1. The same command continues an interrupted check.

    tilebase lemma 3x3 128

    `tilebase lemma 3x3 64 --pattern "32,16,*/*,*,*/*,*,*"`

    tilebase lemma sample 4x4 64 --budget 5s

    `tilebase lemma set 4x4-32/ --pattern "16,8,*,*/4,2,2,*/*,*,*,*/*,*,*,*"`
    """
    show, question = shown.checked(), _question(shape, goal, game)
    filled = question if fillings is None else question.changed(limits=fillings)
    prepare_kernels()
    from tilebase.files.work_folders import work_folder
    from tilebase.questions import lemma as patterns

    with work_folder(work, "lemma", question, filled.digest, str(within or "any")) as folder:
        with counting_progress() as progress:
            found = patterns.check_pattern(
                question, fillings=fillings, within=within, folder=folder.path, **run.use(progress)
            )
        board = question.format(found.board)
        text = f"{signed(found.statement)}\n{found.boards:,} boards were solved"
        text += f"; that number of slides is needed from {board}\n" if found.slides else "\n"
        text += f"not won: {found.not_won:,} of {found.fillings:,} boards with the pattern\n" * (
            not found.holds
        )
        row: dict[str, Any] = {"holds": VERDICTS[found.holds][0], "fillings": found.fillings}
        row |= {"not_won": found.not_won, "boards": found.boards, "slides": found.slides, "board": board}
        show.write([row], found.as_dict(), text=text, game=question)
        folder.finish()  # only after the result was written
    return int(not found.holds)


def _question(shape: str, goal: int | None, game: GameOptions) -> Game:
    """Return the game with its pattern, lemma1 unless another one is given."""
    why = "a pattern is checked on a whole board, and a formation says what wins"
    return make_game(shape, goal, replace(game, pattern=game.pattern or "lemma1"), whole=why)


def sample(
    shape: ShapeArgument,
    goal: GoalToReach = None,
    *,
    game: GameOptions = GameOptions(),
    fillings: FillingsOption = None,
    how: SampleOptions = SampleOptions(),
    shown: ShownOptions = ShownOptions(),
    run: UseOptions = UseOptions(),
) -> int:
    """Check random fillings of a pattern by the search.

    A lost filling refutes the pattern, and sets the exit status to 1. If none is lost, nothing is proved.

    tilebase lemma sample 4x4 64 --count 200 --budget 5s
    """
    show, question = shown.checked(), _question(shape, goal, game)
    prepare_kernels()
    from tilebase.questions.lemma import sample_fillings

    with counting_progress() as progress:
        found = sample_fillings(
            question, how.count, fillings=fillings, seconds=parse_time(how.budget), seed=how.seed,
            **run.use(progress),
        )  # fmt: skip
    board = question.format(found.lost[0]) if found.lost else None
    row: dict[str, Any] = {"fillings": found.fillings, "won": found.won, "lost": len(found.lost)}
    row |= {"undecided": found.undecided, "board": board}
    text = f"{signed(found.statement)}\n"
    text += f"{found.won:,} of {found.fillings:,} random boards win\n" if found.lost else ""
    show.write([row], found.as_dict(), text=text, game=question)
    return int(bool(found.lost))


def in_set(
    folder: Annotated[
        Path, Parameter(help="Folder of a winning set: tilebase force diagrams ... -o FOLDER.")
    ],
    *,
    pattern: PatternOption = "lemma1",
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Count the fillings of a pattern that are in a winning set.

    If a filling is not in the set, the exit status is 1.

    `tilebase lemma set 4x4-32/ --pattern "16,8,*,*/4,2,2,*/*,*,*,*/*,*,*,*"`
    """
    show = shown.checked()
    from tilebase.tables.winning import open_winning_set

    with closing(open_winning_set(folder)) as winning:
        start = "two-tiles" if winning.game.start == "empty" else winning.game.start  # it does not matter
        question = winning.game.changed(pattern=pattern, start=start)
        found = winning.fillings(question.pattern or "")
    board = None if found.lost is None else question.format(found.lost)
    # All boards of a part say nothing of the others.
    holds = False if board else None if found.least is not None else True
    what = filling_words(question) + (f" with a sum of {found.least} or more" if found.least else "")
    value = f"no, not from {board}" if board else f"yes, all {found.boards:,} boards"
    document = claim_of([Finding(title_of(question), what, value, "verdict")])
    row = {"holds": "unknown" if holds is None else VERDICTS[holds][0], "fillings": found.boards}
    row |= {"won": found.won, "board": board, "least": found.least}
    text = f"{signed(document['statement'])}\n"
    text += f"{found.won:,} of {found.boards:,} boards win\n" if board else ""
    document |= {"game": question.identity} | row | {"holds": holds}
    show.write([row], document, text=text, game=question)
    return int(board is not None)


lemma = App(name="lemma")
lemma.default(check)
lemma.command(sample)
lemma.command(in_set, name="set")
