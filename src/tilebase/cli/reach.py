"""``tilebase reach``: which boards can be reached when both sides want it; a function a subcommand."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any

from cyclopts import App, Parameter

from tilebase.cli.options import Options, ShownOptions, TimeOption, parse_time
from tilebase.cli.progress import counting_progress, prepare_kernels
from tilebase.errors import ResourceError, UsageError
from tilebase.game.findings import VERDICTS, Finding, claim_of
from tilebase.game.notation import count_of
from tilebase.patterns.checkerboards import COLOURINGS, Checkerboard, decide
from tilebase.patterns.moves import moves_text, replay_moves
from tilebase.patterns.rules import Rules, parse_drops, parse_rules
from tilebase.patterns.searching import Effort
from tilebase.patterns.tallies import Tally, tally
from tilebase.pictures import DRAWINGS
from tilebase.runtime.rows import table_text

SHORTEST_SECONDS = 60.0
"""The time of a search for the shortest game without --budget."""
SizeArgument = Annotated[str, Parameter(help="Rows x columns, such as 4x4 or 10x10.")]
DropsOption = Annotated[str, Parameter(help="Tiles that are dropped: 2,4 (the real game) or 2.")]
SeedOption = Annotated[int, Parameter(help="Seed of the random choices; the same seed gives the same game.")]


@dataclass(frozen=True)
class SearchOptions(Options):
    """What a search may use."""

    budget: TimeOption = None
    memory: str | None = None
    """Stop without a decision when the search needs more memory: 16GiB."""


@dataclass(frozen=True)
class PlayOptions(Options):
    """Whether the cell of each drop is known."""

    deterministic: bool = False
    """Drops are in the first empty cell; moves are slides alone."""
    convention: str | None = None
    """Where the deterministic game drops: rows (topmost, then leftmost; the default) or columns (leftmost,
    then topmost)."""


def _rules_text(rules: Rules) -> str:
    """Rules as the subcommands name them: the size, and the options for drops."""
    words = [str(rules), "--drops", ",".join(str(1 << exponent) for exponent in rules.drops)]
    if rules.convention is not None:
        words += ["--deterministic", "--convention", rules.convention]
    return " ".join(words)


def _ended(reason: str | None) -> int:
    """Return the exit status; print why there is no result, if there is none."""
    if reason is None:
        return 0
    print(f"tilebase: {reason}", file=sys.stderr)
    return 1


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def board(
    wanted: Annotated[str, Parameter(name="BOARD", help="Rows of tiles, 0 for an empty cell: 2,4/4,2.")],
    *,
    drops: DropsOption = "2,4",
    afterstate: Annotated[
        bool, Parameter(help="The board is one after a slide. Default: the player is to move.")
    ] = False,
    seed: SeedOption = 1,
    shown: ShownOptions = ShownOptions(),
    search: SearchOptions = SearchOptions(),
) -> int:
    """Decide whether play can reach a board from the empty board, and print a game that ends with it.

    The player may also choose the cell of each drop (spawn). "Cannot be reached" is proved, by a lemma or a
    list of every position from which the board can be reached. If time or memory runs out first, the exit
    status is 1.

    tilebase reach board 2,4,2/4,2,4/2,4,2 --drops 2

    tilebase reach board 8,8/8,8
    """
    show = shown.checked()
    prepare_kernels()
    from tilebase.patterns.reach import reach as ask

    with counting_progress() as progress:
        found = ask(
            wanted, drops=drops, afterstate=afterstate, seed=seed, memory=search.memory,
            seconds=parse_time(search.budget), progress=progress,
        )  # fmt: skip
    lines = [found.statement, *filter(None, [found.sequence])]
    lines.append(f"{found.positions:,} positions in {found.seconds:.1f} s")
    if found.reason and found.reachable is not None:
        lines.append(found.reason)
    show.write([found.row], found.as_dict(), text=_lines(lines), game=_rules_text(found.rules))
    return _ended(found.reason if found.reachable is None else None)


def fill(
    size: SizeArgument,
    *,
    seed: SeedOption = 1,
    budget: TimeOption = None,
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Print a game that fills a board with 2s and 4s: drops of 2s, and no 8 is ever made.

    If no game was found, the exit status is 1, unless it is proved that none exists.

    tilebase reach fill 6x6

    tilebase reach fill 10x10 --seed 2
    """
    show = shown.checked()
    prepare_kernels()
    from tilebase.patterns.filling import fill_board

    with counting_progress() as progress:
        found = fill_board(size, seed=seed, seconds=parse_time(budget), progress=progress)
    lines = [found.statement]
    if found.board is not None:
        lines += [*found.board.split("/"), found.sequence]
    elif found.possible is False:
        lines.append(found.reason)
    show.write([found.row], found.as_dict(), text=_lines(lines), game=str(found.rules))
    return _ended(found.reason if found.possible is None else None)


def shortest(
    size: SizeArgument,
    *,
    seed: SeedOption = 1,
    shown: ShownOptions = ShownOptions(),
    search: SearchOptions = SearchOptions(),
) -> int:
    """Find the fewest drops of 2s after which no slide is left, and print such a game.

    The number is proved if searches back from all end positions of fewer drops find no game. Without
    --budget, they have 60 seconds. If the number is not proved, the lower bound and the best game are
    printed, and the exit status is 1.

    tilebase reach shortest 4x4

    tilebase reach shortest 10x10 --budget 10min
    """
    show = shown.checked()
    limit = parse_time(search.budget, SHORTEST_SECONDS)
    prepare_kernels()
    from tilebase.patterns.shortest import shortest_game

    with counting_progress() as progress:
        found = shortest_game(
            size, seed=seed, memory=search.memory, seconds=limit, progress=progress,
        )  # fmt: skip
    lines = [found.statement]
    for drops, (ends, kept) in found.excluded.items():
        listed = f"{count_of(ends, 'end position')}, none can be reached"
        lines.append(f"{count_of(drops, 'drop')}: {listed} ({count_of(kept, 'position')})")
    if found.board is not None:
        lines += [*found.board.split("/"), found.sequence]
    show.write([found.row], found.as_dict(), text=_lines(lines), game=str(found.rules))
    return _ended(None if found.proved else found.reason)


def lemmas(
    size: SizeArgument,
    *,
    most_sum: Annotated[
        int | None,
        Parameter(
            name="--up-to", help="Play without a bound on tiles, up to this sum. Default: no 8 is made."
        ),
    ] = None,
    drops: Annotated[
        str, Parameter(help="Tiles that are dropped: 2 (the game of the thesis) or 2,4 (the real game).")
    ] = "2",
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Check the lemmas of Edixhoven's thesis on every position that a small board can reach.

    Prints for each lemma the number of cases that were checked, the number that fail, and the first of these.
    If one fails, the exit status is 1. A lemma without cases was not tested by this board. A lemma that is
    not stated for these rules is not checked. With --drops 2,4 some lemmas are stated differently; the
    statement that was checked is printed.

    tilebase reach lemmas 3x3

    tilebase reach lemmas 2x3 --up-to 40
    """
    show = shown.checked()
    from tilebase.patterns.checking import check_lemmas, findings

    with counting_progress() as progress:
        checks = check_lemmas(size, drops=drops, most_sum=most_sum, progress=progress)
    rows = [
        {
            "lemma": check.lemma.number,
            "statement": check.title,
            "checked": check.checked,
            "failures": check.failures,
            "verdict": check.verdict,
            "first": check.first,
        }
        for check in checks
    ]
    document = claim_of(findings(parse_rules(size, drops=drops), most_sum, checks)) | {
        "size": size,
        "drops": [1 << exponent for exponent in parse_drops(drops)],
        "sum": most_sum,
        "lemmas": [
            {**row, "exact_statement": check.lemma.statement} for row, check in zip(rows, checks, strict=True)
        ],
    }
    show.write(rows, document, game=f"{size} --drops {drops}")
    return int(any(check.failures for check in checks))


def replay(
    size: SizeArgument,
    moves: Annotated[
        str,
        Parameter(help="Slides U, D, L, R and drops (row,column), such as (1,1)D(1,2); (1,2)=4 drops a 4."),
    ],
    *,
    play: PlayOptions = PlayOptions(),
    drops: DropsOption = "2,4",
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Play a sequence of moves by the plain rules, and print every position.

    A game begins on the empty board with a drop. --record game.svg draws it as a strip of boards. If a move
    is not possible, its number is printed (in a deterministic game that of the slide), and the exit status is
    2.

    tilebase reach replay 1x3 "(1,1)R(1,1)R(1,1)"

    tilebase reach replay 2x2 RRDRL --deterministic

    tilebase reach replay 3x3 RRRDRDUDURRL --deterministic --record game.svg
    """
    from tilebase.pictures.drawing import write_svg

    show = shown.checked(DRAWINGS)
    game = replay_moves(size, moves, drops=drops, **vars(play))
    words = ["start", *(moves_text(game.rules, (move,)) or "drop" for move in game.moves)]
    rows = [
        {"move": number, "what": what, "board": board}
        for number, (what, board) in enumerate(zip(words, game.boards, strict=True))
    ]

    document, rules = game.as_dict() | {"positions": rows}, _rules_text(game.rules)
    show.write(rows, document, game=rules, draw=lambda _, file: write_svg(game.strip(), file))
    return 0


def checkerboard(
    size: SizeArgument,
    *,
    play: PlayOptions = PlayOptions(),
    drops: Annotated[
        str | None,
        Parameter(
            help="Tiles that are dropped: 2 (the game of the thesis) or 2,4 (the real game). Default: "
            "rows for both; with --deterministic, --count or --search only 2."
        ),
    ] = None,
    colouring: Annotated[str, Parameter(help="The tile in the upper left corner: 2, 4 or both.")] = "both",
    count: Annotated[bool, Parameter(help="Count the sequences of moves to each checkerboard.")] = False,
    search: Annotated[
        bool, Parameter(help="Decide by searches alone, without theorems and constructions.")
    ] = False,
    shown: ShownOptions = ShownOptions(),
    run: SearchOptions = SearchOptions(),
) -> int:
    """Decide whether a board can be filled with a checkerboard of 2s and 4s.

    The drops (spawns) help, unless the game is deterministic. Prints the verdict for each colouring with its
    reason, first in the real game, then with drops of 2s only. Also prints a sequence of moves that `tilebase
    reach replay` accepts (without --deterministic if it shows drops). --count prints the number of sequences,
    symmetric ones included.

    If a verdict is not decided, or the sequences cannot be counted, the exit status is 1.

    tilebase reach checkerboard 3x5

    tilebase reach checkerboard 10x10 --search

    tilebase reach checkerboard 2x20 --deterministic --count
    """
    show = shown.checked()
    deterministic = play.deterministic
    alone = deterministic or count or search
    games = [
        parse_rules(size, drops=some, most=2, **vars(play))
        for some in (("2,4", "2") if drops is None and not alone else (drops or "2",))
    ]
    if search and not deterministic:
        prepare_kernels()  # of the search from the checkerboard
    effort = Effort.within(parse_time(run.budget), memory=run.memory)
    verdicts = [
        decide(rules, tile, effort, search=search) for rules in games for tile in _colourings(colouring)
    ]
    counted, failed = _counted(games[0], verdicts, effort) if count else (None, None)
    rows = [_row(verdict, counted) for verdict in verdicts]
    document = claim_of(_findings(verdicts, counted)) | {
        "size": str(games[0]),
        "convention": games[0].convention,
        "checkerboards": [
            row | {"reachable": verdict.reachable, "board": verdict.board}
            for verdict, row in zip(verdicts, rows, strict=True)
        ],
    }
    text = _described(rows, real=not deterministic)
    if drops is None and alone and not deterministic:
        text = (
            f"These are drops of 2s only, as in the thesis: --drops 2,4 asks about the real game.\n\n{text}"
        )
    played = _rules_text(games[0]) if len(games) == 1 else str(games[0])
    show.write(rows, document, text=text, game=played)
    return _ended(failed) or int(any(verdict.reachable is None for verdict in verdicts))


def _counted(rules: Rules, verdicts: list[Checkerboard], effort: Effort) -> tuple[Tally | None, str | None]:
    """Return the sequences to checkerboards, or why they cannot be counted: the verdicts are still true."""
    if all(verdict.reachable is False for verdict in verdicts):
        return Tally(rules, 0, 0, 0, 0), None
    try:
        with counting_progress() as progress:
            return tally(rules, replace(effort, progress=progress)), None
    except ResourceError as error:
        return None, str(error)


def _colourings(text: str) -> tuple[int, ...]:
    known = {"both": COLOURINGS, "2": (2,), "4": (4,)}
    if text not in known:
        raise UsageError(f"colouring {text!r} does not exist: choose both, 2 or 4")
    return known[text]


def _row(verdict: Checkerboard, counted: Tally | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "corner": verdict.colouring,
        "drops": ",".join(str(1 << exponent) for exponent in verdict.rules.drops),
        "reachable": VERDICTS[verdict.reachable][0],
    }
    if counted is not None:
        row["sequences"] = counted[verdict.colouring]
    return row | {"moves": verdict.sequence, "reason": verdict.reason}


def _described(rows: list[dict[str, Any]], *, real: bool) -> str:
    """Return the verdicts as a table, and below it the moves, which are long; `real`: drops are anywhere."""
    told = [
        {name: value for name, value in row.items() if name != "moves"}
        | {"drops": f"{row['drops']} (the real game)" if real and row["drops"] == "2,4" else row["drops"]}
        for row in rows
    ]
    moves = [
        f"{row['corner']} in the corners, drops of {row['drops']}:\n{row['moves']}\n"
        for row in rows
        if row["moves"]
    ]
    in_play = [row for row in rows if real and row["drops"] == "2,4"]
    answer = "; ".join(f"{row['reachable']} with a {row['corner']} in the corner" for row in in_play)
    return (
        (f"In the real game: {answer}.\n\n" if answer else "")
        + table_text(told)
        + (f"\nmoves, which tilebase reach replay plays:\n{''.join(moves)}" if moves else "")
    )


def _findings(verdicts: list[Checkerboard], counted: Tally | None) -> Iterator[Finding]:
    for one in verdicts:
        yield from one.asked()
        if counted is not None:
            yield from one.found(f"sequences of moves to {one.name}", f"{counted[one.colouring]:,}", "exact")


reach = App(name="reach", help="Decide which boards play can reach, such as checkerboards.")
for command in (board, checkerboard, fill, lemmas, replay, shortest):
    reach.command(command)
