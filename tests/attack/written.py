"""Real boards and written games: they are worth what the board of the table is, in the directions given.

A real board has large tiles for x, and is rotated or mirrored.  What each slide of a game loses follows from
the rules, however the game is written.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from attack import formations, tables
from attack.case import REFUSED, Case
from attack.random_games import DrawnGame, random_game
from attack.rules import Board, TooLargeError, X, slide_run
from attack.tables import ALWAYS, DISCOUNTS, TOLERANCES, discount_for, fits, measure
from tilebase import open_table, solve
from tilebase.errors import BoardError, MissingBoardError
from tilebase.questions.review import review

MOST_STATES = 200
OBJECTIVES = (*ALWAYS, "win", "win", "guaranteed")
LARGE = [1 << e for e in range(12, 18)]
"""Tiles that stand for x: no small game makes them."""
ALPHABET = bytes([*range(32, 127), *range(128, 161)]).decode("cp850")
SLIDES = ("up", "right", "down", "left")
"""How 2048verse writes a spawn and the slide before it."""
Image = list[int]


def attack(case: Case) -> None:
    """The table of a random formation or game, real boards of it, and played games."""
    rng = case.rng
    drawn = random_game(rng, MOST_STATES, options_of=formations.draw if rng.random() < 0.7 else None)
    rules = drawn.rules
    rules.set_discount(rng.choice(DISCOUNTS))
    names = [name for name in OBJECTIVES if drawn.game.can_win or name not in ("win", "guaranteed")]
    names = [name for name in dict.fromkeys(names) if fits(drawn, name, str(rules.discount))]
    chosen = rng.sample(names, min(3, len(names)))
    text, discount = ",".join(chosen), discount_for(chosen, rules.discount)
    folder = case.folder / "t"
    lines = f"{drawn.lines}\nsolve(game, {text!r}, discount={discount!r}, table='t', space='reachable')"
    made = case.call("solve", lines, solve, drawn.game, text, discount=discount, table=folder,
                     space="reachable", threads=1)  # fmt: skip
    if made is REFUSED:
        return
    with open_table(folder) as table:
        readings = Readings(drawn)
        if readings.real:
            probe_real_boards(case, drawn, readings, table, lines)
        for _ in range(3):
            review_a_game(case, drawn, readings, table, lines)
    shutil.rmtree(folder)


# -- what a real board means --------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """A board as one of the table: what it is worth, and each slide of the board as given.  By measure."""

    value: tuple[Fraction, ...]
    worths: dict[str, tuple[Fraction, ...]]


class Readings:
    """The ways to read boards of a game."""

    def __init__(self, drawn: DrawnGame) -> None:
        self.drawn, self.rules = drawn, drawn.rules
        self.real = bool(self.rules.unmergeable)
        self.images = list(images(self.rules)) if self.real else [list(range(self.rules.cells))]
        _, self.afters = self.rules.reachable()

    def of(self, tiles: Board, large: frozenset[int]) -> list[Reading] | None:
        """All readings of a board whose x have codes or tiles on the cells `large`.

        None where it is not sure whether some image is a board of the game.
        """
        rules, found = self.rules, []
        marked = tuple(X if cell in large else tile for cell, tile in enumerate(tiles))
        for image in self.images:
            board = tuple(marked[cell] for cell in image)
            if not rules.exists(board) or self.was_won(board):
                continue
            if any(tile > max(rules.limit(cell), 4) for cell, tile in enumerate(board)):
                continue
            if any(tile > rules.limit(cell) for cell, tile in enumerate(board)):
                return None  # a spawned tile beyond a limit
            slides = rules.slides(board)
            if any(not wins and rules.least(after) not in self.afters for after, wins, _ in slides.values()):
                continue
            worths = rules.worths(board)
            by_after = {after: worths[direction] for direction, (after, _, _) in slides.items()}
            given = {}
            for direction, after in real_slides(rules, marked).items():
                worth = by_after.get(tuple(after[cell] for cell in image))
                if worth is not None:
                    given[direction] = worth
            found.append(Reading(rules.state(board), given))
        return found

    def was_won(self, board: Board) -> bool:
        """Whether a slide, and no spawn, made a pattern that the board holds."""
        spawned = 4 if self.rules.four else 2
        return any(
            all(
                want is None or (want == tile and want > spawned)
                for want, tile in zip(one, board, strict=True)
            )
            for one in self.rules.patterns
        )


def images(rules: Any) -> Iterator[Image]:
    """The rotations and mirror images of the shape that leave the walls where they are."""
    cell_of = {place: cell for cell, place in enumerate(rules.places)}
    for order in itertools.permutations(range(len(rules.shape))):
        if [rules.shape[axis] for axis in order] != list(rules.shape):
            continue
        for flips in itertools.product((False, True), repeat=len(rules.shape)):
            image = []
            for place in rules.places:
                moved = [place[axis] for axis in order]
                ends = zip(rules.shape, flips, moved, strict=True)
                image.append(cell_of[tuple(size - 1 - at if flip else at for size, flip, at in ends)])
            if {image[cell] for cell in rules.walls} == set(rules.walls):
                yield image


def real_slides(rules: Any, board: Board) -> dict[str, Board]:
    """The board after each slide that changes it, by the plain rules: no goal, limit or mask."""
    found = {}
    for direction, runs in rules.segments.items():
        after = list(board)
        for one in runs:
            slide_run(after, one)
        if tuple(after) != board:
            found[direction] = tuple(after)
    return found


# -- probing ------------------------------------------------------------------------------------------


def probe_real_boards(case: Case, drawn: DrawnGame, readings: Readings, table: Any, lines: str) -> None:
    """Every objective of a few boards that occur, in any orientation."""
    rules, rng = drawn.rules, case.rng
    states = sorted(rules.reachable()[0])
    for state in rng.sample(states, min(12, len(states))):
        tiles, large = made_real(rng, readings, state)
        wanted = readings.of(tiles, large)
        if wanted is None:
            continue
        for objective in table.objectives:
            text = rules.text(tiles)
            here = f"{lines}\nprint(open_table('t').probe({text!r}, {objective.label!r}))"
            try:
                answer = table.probe(text, objective.label)
            except (MissingBoardError, BoardError) as error:
                case.expect(not wanted, "real board: refused", f"{text}: {error}", here)
                continue
            check_real(case, drawn, objective, answer, wanted, here)
            check_slides(case, rules, answer, tiles, large, here)
        case.done["real boards"] += 1


def made_real(rng: random.Random, readings: Readings, state: Board) -> tuple[Board, frozenset[int]]:
    """A state with large tiles for x, two of them perhaps equal, in an orientation; and their cells."""
    image = rng.choice(readings.images)
    count = state.count(X)
    many = rng.random() < 0.3
    tiles = iter(
        [rng.choice(LARGE) for _ in range(count)] if many or count > len(LARGE) else rng.sample(LARGE, count)
    )
    board = tuple(next(tiles) if tile == X else tile for tile in state)
    turned = tuple(board[cell] for cell in image)
    return turned, frozenset(cell for cell, tile in enumerate(turned) if tile >= LARGE[0])


def check_real(
    case: Case, drawn: DrawnGame, objective: Any, answer: Any, wanted: list[Reading], lines: str
) -> None:
    """The value is that of the best reading, and the slides are those of one that is worth as much."""
    if not case.expect(bool(wanted), "real board: more readings", f"{answer!r}", lines):
        return
    k = measure(objective)
    best = max(reading.value[k] for reading in wanted)
    tables.judge(case, drawn, "real board", objective, answer.value, best, lines)
    case.expect(
        len(answer.others) < len(wanted),
        "real board: other readings",
        f"{answer.others}, {len(wanted)}",
        lines,
    )
    found = {slide.direction: float(slide.value) for slide in answer.slides}
    fit = [one for one in wanted if agrees(objective, found, {d: w[k] for d, w in one.worths.items()})]
    what = f"{found}, by the rules {[{d: float(w[k]) for d, w in one.worths.items()} for one in wanted]}"
    if case.expect(bool(fit), "real board: slides", what, lines):
        worths = {direction: worth[k] for direction, worth in fit[0].worths.items()}
        tables.check_stars(case, objective, answer, worths, best, "real board: stars", lines)


def agrees(objective: Any, found: dict[str, float], worths: dict[str, Fraction]) -> bool:
    """Whether the slides have the values of a reading."""
    return found.keys() == worths.keys() and all(
        abs(Fraction(value) - worths[direction]) <= slack(objective, worths[direction])
        for direction, value in found.items()
    )


def slack(objective: Any, value: Fraction) -> Fraction:
    """How far a value may be from the exact one."""
    return Fraction(TOLERANCES.get(objective.dtype, 0)) * max(1, value)


def check_slides(
    case: Case, rules: Any, answer: Any, tiles: Board, large: frozenset[int], lines: str
) -> None:
    """Each slide moves the tiles of the board as given, and says whether two large ones would merge."""
    apart = tuple(-2 - cell if cell in large else tile for cell, tile in enumerate(tiles))
    after = real_slides(rules, apart)
    merged = real_slides(rules, tiles)
    for slide in answer.slides:
        wanted = tuple(tiles[-2 - code] if code < -1 else code for code in after[slide.direction])
        said = (slide.after.text, slide.merges_large)
        right = (rules.text(wanted), merged[slide.direction] != wanted)
        case.expect(said == right, "real board: after a slide", f"{said}, by the rules {right}", lines)


# -- reviews ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Played:
    """A game: its positions, the slide made in each but perhaps the last, and the spawns after them."""

    states: list[Board]
    moves: list[tuple[str, int | None, int]]
    last: Board  # after the last slide


def play(rng: random.Random, rules: Any, start: Board) -> Played:
    """Random slides to the end."""
    states, moves, state = [start], [], start
    while not rules.has_sum(state) and (slides := rules.slides(state)):
        direction = rng.choice(sorted(slides))
        after, wins, _ = slides[direction]
        spawns = [] if wins else rules.spawns(after)
        if not spawns:
            return Played(states, [*moves, (direction, None, 0)], after)
        state = rng.choice(spawns)[0]
        cell = next(cell for cell in range(rules.cells) if state[cell] != after[cell])
        moves.append((direction, cell, state[cell]))
        states.append(state)
    return Played(states, moves, state)


def review_a_game(case: Case, drawn: DrawnGame, readings: Readings, table: Any, lines: str) -> None:
    """One played game, written in one of the notations."""
    rules, rng = drawn.rules, case.rng
    played = play(rng, rules, rng.choice(sorted(rules.starts)))
    image = rng.choice(readings.images)
    real = readings.real and rng.random() < 0.7
    if real:
        written = turned(played, rules, image)
        if written is None:
            return
        played = written
    forms = ["saved", "listed"]
    plain = len(rules.shape) == 2 and max(rules.shape) <= 4 and rules.start == "two-tiles"
    if plain and not real and not rules.unmergeable and not rules.walls:
        forms.append("replay")
    form = rng.choice(forms)
    text = WRITERS[form](rules, played)
    objective = rng.choice(table.objectives)
    here = f"{lines}\ntext = {text!r}\nprint(review(open_table('t'), text, {objective.label!r}).as_dict())"
    found = case.call(f"review, {form}", here, review, table, text, objective.label)
    if found is not REFUSED:
        check_review(case, readings, objective, found, played, form, here)
    case.done[f"reviews, {form}"] += 1


def turned(played: Played, rules: Any, image: Image) -> Played | None:
    """The same game on the board as it is rotated or mirrored, with a large tile of its own for each x.

    None if there are more x than large tiles.
    """
    place_of = {source: cell for cell, source in enumerate(image)}
    first = played.states[0]
    if first.count(X) > len(LARGE):
        return None
    large = iter(LARGE)
    board: Board = tuple(next(large) if first[cell] == X else first[cell] for cell in image)
    states, moves = [board], list[tuple[str, int | None, int]]()
    following = [*played.states[1:], played.last]
    for (_, cell, tile), state in zip(played.moves, following, strict=False):
        after = [0 if at == cell else found for at, found in enumerate(state)]
        wanted = tuple(after[source] for source in image)
        slides = real_slides(rules, board)
        # Two slides with the same result are the same move.
        direction = next(d for d, one in slides.items() if tuple(map(as_x, one)) == wanted)
        board = slides[direction]
        where = None if cell is None else place_of[cell]
        moves.append((direction, where, tile))
        if where is not None:
            board = (*board[:where], tile, *board[where + 1 :])
            states.append(board)
    return Played(states, moves, board)


def as_x(tile: int) -> int:
    """A large tile as an x."""
    return X if tile >= LARGE[0] else tile


def saved(rules: Any, played: Played) -> str:
    """As tilebase saves a game."""
    moves = [[d] if cell is None else [d, cell, tile] for d, cell, tile in played.moves]
    start = rules.text(played.states[0])
    return json.dumps({"format": "tilebase game", "version": 1, "start": start, "moves": moves})


def listed(rules: Any, played: Played) -> str:
    """One position a line."""
    boards = list(played.states)
    if played.moves and played.moves[-1][1] is None:
        boards.append(played.last)
    return "\n".join(map(rules.text, boards))


def replayed(rules: Any, played: Played) -> str:
    """As 2048verse writes a game: it has no slide without a spawn."""

    def character(cell: int, tile: int, slide: int) -> str:
        row, column = divmod(cell, rules.shape[1])
        return ALPHABET[row + 4 * column + 16 * (tile == 4) + 32 * slide]

    first = [character(cell, tile, 0) for cell, tile in enumerate(played.states[0]) if tile]
    rest = [character(cell, tile, SLIDES.index(d)) for d, cell, tile in played.moves if cell is not None]
    name = "x".join(map(str, rules.shape))
    return f"replay {name}{''.join(first + rest)}"


WRITERS = {"saved": saved, "listed": listed, "replay": replayed}


def check_review(
    case: Case, readings: Readings, objective: Any, found: Any, played: Played, form: str, lines: str
) -> None:
    """The positions are those of the game, and the losses add up to what the values say."""
    rules, k = readings.rules, measure(objective)
    boards = [move.board for move in found.moves]
    case.expect(
        boards == [rules.text(one) for one in played.states],
        f"review, {form}: positions", f"{boards}", lines,
    )  # fmt: skip
    total, known, apart = Fraction(0), 0, Fraction(1, 10**6)
    made = [*played.moves, (None, None, 0)][: len(found.moves)]
    for move, state, (direction, cell, _) in zip(found.moves, played.states, made, strict=False):
        if form == "replay" and cell is None:
            direction = None
        if not same_slides(rules, state, move.slides, direction, form):
            case.fail(f"review, {form}: the slide", f"{move.board}: {move.slides}, made {direction}", lines)
            continue
        if not move.slides:
            continue
        large = frozenset(cell for cell, tile in enumerate(state) if tile == X or tile >= LARGE[0])
        wanted = readings.of(state, large) if large and min(state) >= 0 else own(rules, state)
        if not wanted:
            return  # not known for sure
        best = max(reading.value[k] for reading in wanted)
        readings_of_best = [one for one in wanted if one.value[k] == best]
        losses = [lost for one in readings_of_best for lost in lost_by(one.worths, move.slides, best, k)]
        if move.loss is None:
            tiles = [state[cell] for cell in large if state[cell] != X]
            merging = len(set(tiles)) < len(tiles)  # then nothing is judged
            case.expect(
                merging or not losses, f"review, {form}: unknown", f"{move.board}: {move.problem}", lines
            )
            continue
        near = [loss for loss in losses if abs(Fraction(move.loss) - loss) <= 2 * slack(objective, best)]
        what = f"{move.board} {move.slides}: {move.loss}, by the rules {[*map(float, losses)]}"
        if case.expect(bool(near), f"review, {form}: the loss", what, lines):
            total, known = total + near[0], known + 1
            apart += 2 * slack(objective, best)
    case.expect(
        found.reviewed == known and abs(Fraction(found.total_loss) - total) <= apart * max(1, total),
        f"review, {form}: the sum",
        f"{found.total_loss} of {found.reviewed} slides, by the rules {float(total)} of {known}",
        lines,
    )


def same_slides(rules: Any, state: Board, said: Sequence[str], made: str | None, form: str) -> bool:
    """Whether the slides may be said of a position; a list of positions does not tell which one was made."""
    if form != "listed" or made is None:
        return list(said) == [made] * (made is not None)
    slides = real_slides(rules, state)
    return not said or made in said or any(slides[one] == slides[made] for one in said)


def lost_by(worths: Any, slides: Sequence[str], best: Fraction, k: int) -> Iterator[Fraction]:
    """Yield what one of the slides lost at least; nothing if some are best and others are not, or unknown."""
    lost = [best - worths[one][k] for one in slides if one in worths]
    if len(lost) == len(slides) and (all(lost) or not any(lost)):
        yield min(lost)


def own(rules: Any, state: Board) -> list[Reading]:
    """The board as it is."""
    try:
        return [Reading(rules.state(state), rules.worths(state))]
    except TooLargeError:
        return []
