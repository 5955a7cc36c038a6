"""The rules of the game once more, written from the documentation alone (docs/game.md, docs/counting.md).

Nothing of tilebase is imported.  A board is a tuple of tiles in row-major order: 0 for an empty cell or a
wall, -1 for an unmergeable tile.  Values are exact fractions by recursion over boards, reachable or not.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

Board = tuple[int, ...]
NAMES = (("left", "right"), ("up", "down"), ("front", "back"))


class Measure(NamedTuple):
    """What a value is: how spawns are combined, what a slide earns, and what an end is worth."""

    spawns: str
    slide: str = "nothing"
    end: str = "nothing"


MEASURES = {
    "win": Measure("mean", end="won"),
    "loss": Measure("mean", end="lost"),
    "guaranteed": Measure("least", end="won"),
    "score": Measure("mean", "score"),
    "merges": Measure("mean", "merges"),
    "moves": Measure("mean", "slides"),
    "survival": Measure("least", "slides"),
    "longest": Measure("largest", "slides"),
    "largest": Measure("mean", end="largest"),
    "fewest": Measure("largest", "slides away", "never"),
    "highest": Measure("largest", "score"),
}
"""What `Rules.state` and `Rules.after` give, in this order."""
DISCOUNTED = ("win", "score", "merges", "moves")
"""Those that take a discount."""
X = -1


class TooLargeError(Exception):
    """More boards than were allowed."""


@dataclass
class Rules:
    """A game.  `patterns` hold None where any tile or none will do; `start` is a name or a board.

    `begun` are the boards after a slide that the game starts from, if it does so.
    """

    shape: tuple[int, ...]
    goal: int | None
    four: Fraction
    start: str | Board
    limits: Board | None = None
    walls: frozenset[int] = frozenset()
    unmergeable: frozenset[int] = frozenset()
    patterns: tuple[tuple[int | None, ...], ...] = ()
    goal_sum: int | None = None
    masks: tuple[frozenset[int], ...] = ()
    horizon: int | None = None
    begun: tuple[Board, ...] = ()
    discount: Fraction = Fraction(1)
    most: int = 20_000  # boards that may be looked at
    _states: dict[Board, tuple[Fraction, ...]] = field(default_factory=dict)
    _afters: dict[Board, tuple[Fraction, ...]] = field(default_factory=dict)

    @property
    def cells(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    @cached_property
    def places(self) -> list[tuple[int, ...]]:
        return list(itertools.product(*map(range, self.shape)))

    @cached_property
    def segments(self) -> dict[str, list[list[int]]]:
        """For each slide the runs of cells without an obstacle, from the end that tiles move to."""
        cell_of = {place: cell for cell, place in enumerate(self.places)}
        found: dict[str, list[list[int]]] = {}
        for k, (first, last) in enumerate(NAMES[: len(self.shape)]):
            axis = len(self.shape) - 1 - k
            found[first], found[last] = [], []
            for place in self.places:
                if place[axis]:
                    continue
                run: list[int] = []
                for step in range(self.shape[axis] + 1):
                    here = (*place[:axis], step, *place[axis + 1 :])
                    cell = cell_of.get(here, -1)
                    if cell >= 0 and cell not in self.walls:
                        run.append(cell)
                    elif run:
                        found[first].append(run)
                        found[last].append(run[::-1])
                        run = []
        return found

    def limit(self, cell: int) -> float:
        """The largest tile a board may hold on a cell, as long as the game goes on."""
        most = float("inf") if self.limits is None else self.limits[cell]
        if self.goal_sum is not None:  # a tile is no larger than the sum
            most = min(most, max(2**e for e in range(64) if 2**e < self.goal_sum))
        if self.horizon is not None:
            most = min(most, max(2**e for e in range(64) if 2**e <= self.last_sum))
        return most if self.goal is None else min(most, self.goal // 2)

    def total(self, board: Board) -> int:
        return sum(tile for tile in board if tile > 0)

    def has_sum(self, board: Board) -> bool:
        """Whether the sum of a board wins: the game ends there."""
        return self.goal_sum is not None and self.total(board) >= self.goal_sum

    @property
    def last_sum(self) -> float:
        """The largest sum of a board: one spawn after the largest sum below the horizon."""
        if self.horizon is None:
            return float("inf")
        return self.horizon - 2 + (4 if self.four else 2)

    def is_over(self, board: Board) -> bool:
        """Whether the game ends on a board after a slide."""
        return self.horizon is not None and self.total(board) >= self.horizon

    def stands(self, board: Board) -> bool:
        """Whether every cell of one of the masks holds an x."""
        return not self.masks or any(all(board[cell] == X for cell in mask) for mask in self.masks)

    def exists(self, board: Board) -> bool:
        """Whether a state may have the sum and the x of a board."""
        return not self.has_sum(board) and self.total(board) <= self.last_sum and self.stands(board)

    def top(self, board: Board) -> int:
        return max(0, *board)

    def slides(self, board: Board) -> dict[str, tuple[Board, bool, int]]:
        """By direction, of the slides that are allowed: the board after it, whether it wins, its score."""
        found = {}
        for direction, runs in self.segments.items():
            after, score = list(board), 0
            for run in runs:
                score += slide_run(after, run)
            result = tuple(after)
            if result == board or not self.stands(result):
                continue
            if self.goal is not None and self.top(result) >= self.goal:
                found[direction] = (result, True, score)
            elif all(tile <= self.limit(cell) for cell, tile in enumerate(result)):
                found[direction] = (result, self.matches(result), score)
        return found

    def matches(self, board: Board) -> bool:
        return any(
            all(want is None or want == tile for want, tile in zip(pattern, board, strict=True))
            for pattern in self.patterns
        )

    def spawns(self, after: Board) -> list[tuple[Board, Fraction]]:
        if self.is_over(after):
            return []
        free = [cell for cell, tile in enumerate(after) if tile == 0 and cell not in self.walls]
        return [
            ((*after[:cell], tile, *after[cell + 1 :]), p / len(free))
            for cell in free
            for tile, p in ((2, 1 - self.four), (4, self.four))
            if p > 0
        ]

    @cached_property
    def empty(self) -> Board:
        return tuple(X if cell in self.unmergeable else 0 for cell in range(self.cells))

    @cached_property
    def starts(self) -> dict[Board, Fraction]:
        if not isinstance(self.start, str):
            return {self.start: Fraction(1)}
        found: dict[Board, Fraction] = {}
        for board in self.begun:
            for state, p in self.spawns(board):
                found[state] = found.get(state, Fraction(0)) + p / len(self.begun)
        if self.begun:
            return found
        for board, p in self.spawns(self.empty):
            for second, q in self.spawns(board) if self.start == "two-tiles" else [(board, Fraction(1))]:
                found[second] = found.get(second, Fraction(0)) + p * q
        return found

    @cached_property
    def images(self) -> list[list[int]]:
        """The rotations and reflections that keep limits, walls, patterns and masks."""
        cell_of = {place: cell for cell, place in enumerate(self.places)}
        found = []
        for order in itertools.permutations(range(len(self.shape))):
            if [self.shape[axis] for axis in order] != list(self.shape):
                continue
            for flips in itertools.product((False, True), repeat=len(self.shape)):
                image = []
                for place in self.places:
                    at = [place[axis] for axis in order]
                    ends = zip(self.shape, flips, at, strict=True)
                    image.append(cell_of[tuple(size - 1 - k if flip else k for size, flip, k in ends)])
                if image not in found and self._keeps(image):
                    found.append(image)
        return found

    def _keeps(self, image: list[int]) -> bool:
        kept = {tuple(pattern[cell] for cell in image) for pattern in self.patterns} == set(self.patterns)
        moved = {
            frozenset(cell for cell, source in enumerate(image) if source in mask) for mask in self.masks
        }
        kept &= moved == set(self.masks)
        for cell, source in enumerate(image):
            kept &= (cell in self.walls) == (source in self.walls)
            stop = cell in self.walls or (
                bool(self.masks) and all(cell in mask for mask in self.masks)
            )  # an x in any case
            kept &= stop or self.limit(cell) == self.limit(source)
        return kept

    def orbit(self, board: Board) -> set[Board]:
        return {tuple(board[cell] for cell in image) for image in self.images}

    def least(self, board: Board) -> Board:
        return min(tuple(board[cell] for cell in image) for image in self.images)

    def reachable(self, *, lookahead: bool = False) -> tuple[set[Board], set[Board]]:
        """States and afterstates up to symmetry.  Raises `TooLargeError`."""
        states: set[Board] = set()
        afters = {self.least(self.empty)} if self.start == "empty" else {*map(self.least, self.begun)}
        waiting = [self.least(board) for board in self.starts]
        seen = set(waiting)
        while waiting:
            if len(seen) > self.most:
                raise TooLargeError
            state = waiting.pop()
            if lookahead and self.decided(state):
                continue
            states.add(state)
            for after, wins, _ in self.slides(state).values():
                found = self.least(after)
                if wins or found in afters:
                    continue
                afters.add(found)
                for board, _ in self.spawns(found):
                    following = self.least(board)
                    if following not in seen and not self.has_sum(board):
                        seen.add(following)
                        waiting.append(following)
        return states, afters

    def decided(self, state: Board) -> bool:
        """Whether some slide wins, or every slide leaves only losing states."""
        slides = self.slides(state).values()
        if any(wins for _, wins, _ in slides):
            return True
        return not any(self.slides(board) for after, _, _ in slides for board, _ in self.spawns(after))

    def set_discount(self, discount: str) -> None:
        """Another discount; what was computed with the old one is forgotten."""
        self.discount = Fraction(discount)
        self._states.clear()
        self._afters.clear()
        self.__dict__.pop("value", None)

    def state(self, board: Board) -> tuple[Fraction, ...]:
        """The value of a state by each of `MEASURES`."""
        if self.has_sum(board):
            return self.end(board, won=True)
        found = self._states.get(board)
        if found is None:
            if len(self._states) > self.most:
                raise TooLargeError
            worths = [*self.worths(board).values()] or [self.end(board, won=False)]
            found = tuple(max(worth[k] for worth in worths) for k in range(len(MEASURES)))
            self._states[board] = found
        return found

    def worths(self, board: Board) -> dict[str, tuple[Fraction, ...]]:
        """The same for each slide of a state, discounted."""
        return {direction: self._worth(board, *slide) for direction, slide in self.slides(board).items()}

    def _worth(self, board: Board, after: Board, wins: bool, score: int) -> tuple[Fraction, ...]:
        follows = self.end(after, won=True) if wins else self.after(after)
        here = tuple(map(Fraction.__add__, self._alone(board, after, score), follows))
        return tuple(
            self.discount * v if name in DISCOUNTED else max(v, Fraction(-(1 << 30)))
            for v, name in zip(here, MEASURES, strict=True)
        )

    @staticmethod
    def _alone(board: Board, after: Board, score: int) -> tuple[Fraction, ...]:
        """What a slide itself is worth by each of `MEASURES`."""
        merges = sum(1 for tile in board if tile) - sum(1 for tile in after if tile)
        earned = {"nothing": 0, "score": score, "merges": merges, "slides": 1, "slides away": -1}
        return tuple(Fraction(earned[measure.slide]) for measure in MEASURES.values())

    def end(self, board: Board, *, won: bool) -> tuple[Fraction, ...]:
        """The value of a board on which the game ends by each of `MEASURES`."""
        worth = {"nothing": 0, "won": won, "lost": -(not won), "never": -(not won) << 30}
        worth["largest"] = self.top(board)
        return tuple(Fraction(worth[measure.end]) for measure in MEASURES.values())

    def after(self, board: Board) -> tuple[Fraction, ...]:
        """The value of an afterstate by each of `MEASURES`."""
        board = self.least(board)
        found = self._afters.get(board)
        if found is None:
            spawns = self.spawns(board)  # none at the horizon
            found = self._mean(spawns) if spawns else self.end(board, won=False)
            self._afters[board] = found
        return found

    def _mean(self, spawns: list[tuple[Board, Fraction]]) -> tuple[Fraction, ...]:
        values = [(self.state(self.least(board)), p) for board, p in spawns]
        folds = {
            "mean": lambda k: sum((p * value[k] for value, p in values), Fraction(0)),
            "least": lambda k: min(value[k] for value, _ in values),
            "largest": lambda k: max(value[k] for value, _ in values),
        }
        return tuple(folds[measure.spawns](k) for k, measure in enumerate(MEASURES.values()))

    @cached_property
    def value(self) -> tuple[Fraction, ...]:
        """The value of the start."""
        return self._mean([*self.starts.items()])

    def text(self, board: Board) -> str:
        """As the documentation writes boards."""
        words = [
            "#" if cell in self.walls else "x" if tile == X else str(tile) for cell, tile in enumerate(board)
        ]
        width = self.shape[-1]
        return "/".join(",".join(words[at : at + width]) for at in range(0, len(words), width))

    def read(self, text: str) -> Board:
        """The board of a text."""
        words = text.replace("/", ",").split(",")
        return tuple(0 if word == "#" else X if word == "x" else int(word) for word in words)


def slide_run(board: list[int], run: list[int]) -> int:
    """Slide the tiles of some cells towards the first of them, in place; return the score."""
    tiles = [board[cell] for cell in run if board[cell]]
    made: list[int] = []
    score = at = 0
    while at < len(tiles):
        if at + 1 < len(tiles) and tiles[at] == tiles[at + 1] != X:
            made.append(2 * tiles[at])
            score += made[-1]
            at += 2
        else:
            made.append(tiles[at])
            at += 1
    made += [0] * (len(run) - len(made))
    for cell, tile in zip(run, made, strict=True):
        board[cell] = tile
    return score
