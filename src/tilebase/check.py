"""Check a certificate: a proof that a tile of 2048 can, or cannot, be forced.

This file imports nothing of tilebase and runs alone: ``python check.py FILE``.  Whoever trusts the verdict
has to trust this file and Python, not the search that found the proof.

**The game.**  The player slides all tiles in one direction.  A slide is allowed if it changes the board and
leaves no tile above the limit of its cell.  A slide that makes the goal wins at once.  The board after a
slide is called an afterstate.  On it the adversary spawns one of the allowed tiles in any empty cell.  If
the header has a goal sum, a board wins as soon as the sum of its tiles is as large, which a spawn does.
The goal is *forced* if the player can win whatever the adversary spawns.

The header may add four rules.  There may be large tiles x, always as many: they slide as other tiles, never
merge, add nothing to sums, and may stand on any cell.  If there are *masks*, a slide is allowed, and wins,
only if afterwards each cell of one of the masks holds an x.  If there are *patterns*, a slide also wins if it
is allowed and its board fits one of them: a pattern names the tiles of some cells.  If there is a *horizon*,
play ends at afterstates of that sum: nothing is spawned on them, and who has not won by then has lost.

**The certificate.**  A header describes the game, the starts and the claim.  Then afterstates are listed, in
the order of the sums of their tiles.  The game begins at the starts of the header, with the player to move;
or with a spawn on one of its afterstates; or, if it names neither, with a spawn on the empty board.  Such
afterstates, or the empty board, have to be listed.

**The claim "forced"** is proved if this holds:

    From each start, and after every spawn on each listed afterstate, some allowed slide wins or makes an
    afterstate that is listed, or the board has the goal sum.  No listed afterstate has the horizon's sum.

So the player always has such a slide and makes it.  Each spawn adds to the sum of the tiles, and the limits
bound that sum.  So the play ends, and it can only end with a win.

**The claim "not forced"** is proved if this holds:

    Each listed afterstate names one spawn.  From each start, and after that spawn on each listed
    afterstate, no slide wins, every allowed slide makes an afterstate that is listed or has the horizon's
    sum, and the board does not have the goal sum.

So the adversary always has such a spawn and makes it.  The player never wins.

**Symmetry.**  A rotation or reflection that keeps the limits, the masks and the patterns changes nothing in
the game.  So an afterstate is listed once for all its images: the one that is least in the order of tuples.

**Memory.**  A slide keeps the sum of the tiles, and a spawn adds 2 or 4.  So the afterstates of three sums
are held at a time, and a file may be larger than memory.
"""

import gzip
import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from math import inf, prod
from pathlib import Path
from typing import Any

Board = tuple[int, ...]
"""The exponent of the tile on each cell, row by row; 0 for an empty cell, `X` for an x."""
Layer = dict[Board, int]
"""The listed afterstates of one sum, each with the number of its spawn: twice the cell, 1 more for a 4."""

MOST_EXPONENT = 17
X = int("x", 36)
ANY = -1
"""In a pattern: a cell that may hold anything."""
EXPONENTS = {2**exponent: exponent for exponent in range(1, MOST_EXPONENT + 1)}
MOST_CELLS = 32
LONGEST_HEADER, LONGEST_LINE = 1 << 20, 99
"""Bytes of a line that are read at most: a longer line is damaged."""


class RefusedError(Exception):
    """The certificate proves nothing; the message says why."""


# -- the rules of the game ---------------------------------------------------------------------------


def sum_of(board: Board) -> int:
    """The sum of the tiles."""
    return sum(2**exponent for exponent in board if 0 < exponent < X)


@lru_cache(maxsize=1 << 16)
def push(line: Board) -> Board:
    """A line of tiles after a slide towards its first cell.

    A tile merges with an equal one once at most: what has just merged does not merge again; x never do.
    """
    pushed: list[int] = []
    last_may_merge = False
    for tile in line:
        if tile == 0:
            continue
        if last_may_merge and pushed[-1] == tile != X:
            pushed[-1] = tile + 1
            last_may_merge = False
        else:
            pushed.append(tile)
            last_may_merge = True
    return (*pushed, *[0] * (len(line) - len(pushed)))


def number_cells(shape: list[int]) -> dict[tuple[int, ...], int]:
    """The number of the cell at each position of the board, row by row."""
    positions = itertools.product(*[range(size) for size in shape])
    return {position: cell for cell, position in enumerate(positions)}


def slide_lines(shape: list[int]) -> list[list[list[int]]]:
    """For each direction the lines of cells that are pushed, each from the cell that tiles are pushed to."""
    cell_at = number_cells(shape)
    directions = []
    for axis, size in enumerate(shape):
        firsts = [position for position in cell_at if position[axis] == 0]
        lines = [[cell_at[(*p[:axis], k, *p[axis + 1 :])] for k in range(size)] for p in firsts]
        directions.append(lines)
        directions.append([line[::-1] for line in lines])
    return directions


def symmetries(shape: list[int], limits: Board, sets: list[set[Board]]) -> list[list[int]]:
    """The symmetries of the board that keep the limits and each set of boards.

    Each is a list: the tile of its i-th entry's cell comes to cell i.
    """
    cell_at = number_cells(shape)
    found = []
    for order in itertools.permutations(range(len(shape))):
        if [shape[axis] for axis in order] != shape:
            continue  # it exchanges sides of different lengths
        for reflected in itertools.product((False, True), repeat=len(shape)):
            sources = []
            for position in cell_at:
                source = [position[axis] for axis in order]
                for axis, size in enumerate(shape):
                    if reflected[axis]:
                        source[axis] = size - 1 - source[axis]
                sources.append(cell_at[tuple(source)])
            same = all(limits[cell] == limits[source] for cell, source in enumerate(sources))
            if same and all({image(one, sources) for one in boards} == boards for boards in sets):
                found.append(sources)
    return found


def image(board: Board, sources: list[int]) -> Board:
    """The board whose i-th cell holds what the cell ``sources[i]`` held."""
    return tuple([board[cell] for cell in sources])


@dataclass
class Rules:
    """The game that a header describes.  The goal, the spawned tiles and the limits are exponents.

    Attributes
    ----------
    goal, goal_sum, horizon:
        `X` if no tile wins; infinite if no sum wins, or ends the game.
    limits:
        For each cell the largest tile; 0 where an x always stands.
    count:
        The number of x.
    masks:
        Boards of x and empty cells.
    patterns:
        Boards with `ANY`.
    """

    shape: list[int]
    goal: int
    goal_sum: float
    spawns: list[int]
    limits: Board
    count: int
    masks: set[Board]
    patterns: set[Board]
    horizon: float

    def __post_init__(self) -> None:
        self.cells = prod(self.shape)
        self.directions = slide_lines(self.shape)
        self.symmetries = symmetries(self.shape, self.limits, [self.masks, self.patterns])

    def fits(self, board: Board) -> bool:
        """Whether this is a board of the game: no tile above its limit, the x on a mask, and all there."""
        return len(board) == self.cells and board.count(X) == self.count and self.is_allowed(board)

    def is_allowed(self, board: Board) -> bool:
        """Whether no tile is above the limit of its cell, and the x stand on a mask."""
        within = all(map(int.__le__, board, self.limits)) or (
            self.count > 0 and all(map(lambda tile, limit: tile <= limit or tile == X, board, self.limits))
        )
        return within and self.stands(board)

    def stands(self, board: Board) -> bool:
        """Whether each cell of one of the masks holds an x; true without masks."""
        return not self.masks or any(map(partial(agrees, board, 0), self.masks))

    def wins(self, after: Board) -> bool:
        """Whether a slide that makes this board wins."""
        if not self.stands(after):
            return False
        tiles = [tile for tile in after if tile != X] if self.count else after
        if max(tiles, default=0) >= self.goal:
            return True
        return any(map(partial(agrees, after, ANY), self.patterns)) and self.is_allowed(after)

    def least_image(self, board: Board) -> Board:
        """The least of the images of a board under the symmetries."""
        return min([image(board, sources) for sources in self.symmetries])

    def slide(self, state: Board, lines: list[list[int]]) -> Board:
        """The board after all lines of one direction are pushed."""
        after = [0] * self.cells
        for line in lines:
            pushed = push(tuple([state[cell] for cell in line]))
            for cell, tile in zip(line, pushed, strict=True):
                after[cell] = tile
        return tuple(after)

    def slides(self, state: Board) -> Iterator[Board | None]:
        """The least image of each afterstate that an allowed slide makes; None for one that wins."""
        for lines in self.directions:
            after = self.slide(state, lines)
            if after == state:
                continue
            if self.wins(after):
                yield None
            elif self.is_allowed(after):
                yield self.least_image(after)


def agrees(board: Board, free: int, wanted: Board) -> bool:
    """Whether a board holds what is wanted on each cell where this is not `free`."""
    return all(tile in (found, free) for found, tile in zip(board, wanted, strict=True))


# -- reading the file --------------------------------------------------------------------------------


def open_lines(file: Any) -> gzip.GzipFile:
    """The lines behind the checksum.  Raises `RefusedError` if the checksum is wrong."""
    first = file.readline(200)
    digest = hashlib.file_digest(file, "sha256").hexdigest()  # of all that follows
    if first != f"tilebase certificate 1 {digest}\n".encode():
        raise RefusedError("the file is not a certificate, or it is damaged: its checksum is wrong")
    file.seek(len(first))
    return gzip.GzipFile(fileobj=file)


def read_header(line: str) -> tuple[dict[str, Any], Rules]:
    """The header and the rules of its game.

    The header is written again from what was understood of it and must be the same text, so that
    nothing in it is overlooked.  Raises `RefusedError`, and other errors for other text.
    """
    header = json.loads(line)
    shape = [int(size) for size in header["shape"].split("x")]
    goal = None if header["goal"] is None else EXPONENTS[header["goal"]]
    spawns = [EXPONENTS[tile] for tile in header["drops"]]
    limits = header["limits"]
    if limits:
        limits = [EXPONENTS[limit] for limit in limits]
    understood: dict[str, Any] = {
        "shape": "x".join([str(size) for size in shape]),
        "goal": None if goal is None else 2**goal,
        "drops": [2**exponent for exponent in spawns],
        "limits": [2**exponent for exponent in limits] if limits else limits,
        "starts": [str(start) for start in header["starts"]],
        "claim": "forced" if header["claim"] == "forced" else "not forced",
        "boards": int(header["boards"]),
    }
    understood |= {name: int(header[name]) for name in ("goal_sum", "x", "horizon") if name in header}
    boards = {name: header[name] for name in ("masks", "patterns", "afterstates") if name in header}
    understood |= {name: [str(word) for word in words] for name, words in boards.items()}
    is_board = 2 <= len(shape) <= 3 and min(shape) > 0 and prod(shape) <= MOST_CELLS
    if not is_board or json.dumps(understood) + "\n" != line:
        raise RefusedError("the header describes no game")
    return header, rules_of(header, shape, goal, spawns, limits)


def rules_of(
    header: dict[str, Any], shape: list[int], goal: int | None, spawns: list[int], limits: list[int] | None
) -> Rules:
    """The rules of a game whose goal, spawned tiles and limits are understood.  Raises `RefusedError`."""
    goal_sum = header.get("goal_sum")
    masks = {read_board(word.replace(".", "0")) for word in header.get("masks", [])}
    patterns = {tuple([read_cell(sign) for sign in word]) for word in header.get("patterns", [])}
    largest = MOST_EXPONENT
    if goal is not None:  # before it is made no tile is larger than half of it
        largest = goal - 1
    if goal_sum is not None:  # no tile is as large as the sum
        largest = min(largest, (goal_sum - 1).bit_length() - 1)
    always_x = [bool(masks) and all(mask[cell] == X for mask in masks) for cell in range(prod(shape))]
    tops = [min(limit, largest) for limit in limits or [largest] * prod(shape)]
    spawns_are_known = spawns in ([1], [2], [1, 2])
    if len(tops) != prod(shape) or not spawns_are_known or min(tops) < spawns[-1]:
        raise RefusedError("the header describes no game")
    are_boards = all(len(one) == prod(shape) for one in masks | patterns)
    are_masks = all(set(mask) <= {0, X} and X in mask for mask in masks)
    can_be_won = patterns or goal is not None or goal_sum is not None
    even = header.get("horizon", 2) % 2 == 0 and (goal_sum is None or goal_sum in range(2, goal_sum + 1, 2))
    has_tiles = all(set(pattern) != {ANY} for pattern in patterns)
    if not (are_boards and are_masks and can_be_won and even and has_tiles):
        raise RefusedError("the header describes no game")
    return Rules(
        shape, X if goal is None else goal, goal_sum or inf, spawns,
        tuple([0 if x else top for x, top in zip(always_x, tops, strict=True)]), header.get("x", 0),
        masks, patterns, header.get("horizon", inf),
    )  # fmt: skip


def read_board(word: str) -> Board:
    """A board written with one sign for each cell: the exponent of its tile, or x."""
    return tuple([int(digit, 36) for digit in word])


def read_cell(sign: str) -> int:
    """A cell of a pattern: as on a board, or a star for any tile."""
    return ANY if sign == "*" else int(sign, 36)


def read_boards(lines: gzip.GzipFile) -> Iterator[tuple[Board, int]]:
    """The listed afterstates in the order of the file, each with the number of its spawn or 0."""
    while line := lines.readline(LONGEST_LINE):
        word, *spawn = line.decode().split()
        yield read_board(word), int(spawn[0]) if spawn else 0


def read_layers(lines: gzip.GzipFile, rules: Rules, count: int) -> Iterator[Layer]:
    """The layers of the sums 0, 2, 4 and so on, until 4 beyond the largest sum that a board may have.

    That is what the limits allow, and at most what a spawn below the horizon makes.
    Raises `RefusedError` at the end if a board is left over, or there are not `count` boards.
    """
    nothing: tuple[Board, int] = ((), 0)  # is not a board of any game
    boards, found, distinct = read_boards(lines), 0, 0
    board, spawn = next(boards, nothing)
    for total in range(0, int(min(sum_of(rules.limits), rules.horizon + 2)) + 6, 2):
        layer: Layer = {}
        while rules.fits(board) and sum_of(board) == total:
            layer[board] = spawn
            found += 1
            board, spawn = next(boards, nothing)
        distinct += len(layer)
        yield layer
    if board or not found == distinct == count:
        raise RefusedError("the boards are not in order, not those of the game, twice, or not all there")


# -- checking ----------------------------------------------------------------------------------------


class Checker:
    """The claim of one certificate."""

    def __init__(self, header: dict[str, Any], rules: Rules) -> None:
        self.header, self.rules = header, rules
        self.forced = header["claim"] == "forced"

    def check_state(self, state: Board, layer: Layer) -> None:
        """Refuse unless the claim is proved for a board with the player to move.

        `layer` are the listed afterstates of its sum.
        """
        total = sum_of(state)
        if total >= self.rules.goal_sum:
            proved = self.forced
        elif self.forced:
            proved = any(after is None or after in layer for after in self.rules.slides(state))
        else:
            ended = total >= self.rules.horizon
            proved = all(after and (ended or after in layer) for after in self.rules.slides(state))
        if not proved:
            raise RefusedError(f"from {state} it does not follow that the goal is {self.header['claim']}")

    def spawns(self, board: Board, number: int) -> list[tuple[int, int]]:
        """The spawns to be followed on a listed afterstate, each a cell and an exponent.

        For a forced goal these are all, else the one with the given number.  Refuses a board with none, as
        nothing would be proved of it, and a spawn that is not allowed.
        """
        empty = [cell for cell in range(self.rules.cells) if board[cell] == 0]
        if self.forced:
            chosen = [(cell, tile) for cell in empty for tile in self.rules.spawns]
        else:
            chosen = [(number // 2, 2 if number % 2 else 1)]
        if not chosen or any(cell not in empty or tile not in self.rules.spawns for cell, tile in chosen):
            raise RefusedError(f"no tile can be spawned as listed on {board}")
        return chosen

    def check_board(self, board: Board, number: int, above: Layer, top: Layer) -> None:
        """Refuse unless the claim is proved after the spawns on a listed afterstate.

        Nothing is spawned at the horizon, so that no such afterstate may be listed.  `above` and `top` are
        the listed afterstates whose sums are larger by 2 and by 4.
        """
        if sum_of(board) >= self.rules.horizon:
            raise RefusedError(f"the game has ended at the listed board {board}")
        for cell, tile in self.spawns(board, number):
            state = (*board[:cell], tile, *board[cell + 1 :])
            self.check_state(state, above if tile == 1 else top)

    def check_layers(self, layers: Iterator[Layer], tell: Callable[..., object]) -> None:
        """Check the starts and all listed afterstates, the smallest sum first."""
        starts = {read_board(word) for word in self.header["starts"]}
        afters = {read_board(word) for word in self.header.get("afterstates", [])}
        if not starts and not afters:
            afters = {(0,) * self.rules.cells}
        if not all(self.rules.fits(start) for start in [*starts, *afters]):
            raise RefusedError("a start is not a start of this game")
        afters = {self.rules.least_image(after) for after in afters}
        here, above = next(layers), next(layers)
        for step, top in enumerate(layers):
            afters.difference_update(here)
            tell(len(here), self.header["boards"])
            for start in [start for start in starts if sum_of(start) == 2 * step]:
                self.check_state(start, here)
                starts.remove(start)
            for board, number in here.items():
                self.check_board(board, number, above, top)
            here, above = above, top
        if starts or afters:
            raise RefusedError("a start lies beyond the end of the game, or an afterstate is not listed")


def check_certificate(path: str | Path, tell: Callable[..., object] = lambda *_: None) -> dict[str, Any]:
    """Check a certificate, and return its header.

    Before each sum, `tell` is called with the number of boards that are checked next and with that of all
    boards. Raises `RefusedError` if the claim is not proved, `OSError` if the file cannot be opened.
    """
    with Path(path).open("rb") as file:
        try:
            lines = open_lines(file)
            header, rules = read_header(lines.readline(LONGEST_HEADER).decode())
            layers = read_layers(lines, rules, header["boards"])
            Checker(header, rules).check_layers(layers, tell)
        except RefusedError:
            raise
        except Exception as error:  # whatever damage leads to, nothing is proved
            raise RefusedError("the file is not a certificate, or it is written in another form") from error
        return header


def main() -> None:
    """Check the file that the command line names; exit with status 1 if it proves nothing."""
    if len(sys.argv) != 2:
        sys.exit("usage: check.py FILE")
    try:
        header = check_certificate(sys.argv[1])
    except (RefusedError, OSError, KeyboardInterrupt) as error:
        sys.exit(f"not proved: {str(error) or 'stopped'}")
    sys.stdout.write(f"proved: {json.dumps(header)}\n")


if __name__ == "__main__":
    main()
