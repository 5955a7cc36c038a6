"""Check a certificate by the plain rules of 2048: a script of its own that needs nothing but Python.

"Forced" is proved if from each start, and after every drop on each board listed, some slide makes the goal
or a board listed: drops add to the sum, which limits bound. "Not forced": each board names a drop after
which all slides make boards listed, never the goal; so do those from each start, if not the empty board.
"""

import gzip
import hashlib
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import Any

Board = tuple[int, ...]  # exponents, 0 for an empty cell
EXPONENTS = {1 << exponent: exponent for exponent in range(1, 18)}
KEYS = ("shape", "goal", "drops", "limits", "starts", "claim", "boards")


class RefusedError(Exception):
    """The certificate proves nothing; the message says why."""


def add_up(board: Board) -> int:
    """The sum of the tiles."""
    return sum(2**tile for tile in board if tile)


class Checker:
    """One certificate: the game of its header, and the boards behind it."""

    def __init__(self, file: Any) -> None:
        first = file.readline(200)
        digest = hashlib.file_digest(file, "sha256").hexdigest()  # of what is left
        if first != f"tilebase certificate 1 {digest}\n".encode():
            raise RefusedError("the file is not a certificate, or it is damaged: its checksum is wrong")
        file.seek(len(first))
        self.lines = gzip.GzipFile(fileobj=file)
        line = self.lines.readline(1 << 20).decode()
        self.header = head = json.loads(line)
        self.forced, shape = head["claim"] == "forced", [int(size) for size in head["shape"].split("x")]
        self.goal, *self.drops = (EXPONENTS[tile] for tile in (head["goal"], *head["drops"]))
        most, self.cells = head["limits"] or [head["goal"]] * min(prod(shape), 33), prod(shape)
        self.limits = tuple(min(EXPONENTS[limit], self.goal - 1) for limit in most)
        limits = head["limits"] and [2 ** EXPONENTS[limit] for limit in most]
        game = "x".join(map(str, shape)), 2**self.goal, [2**tile for tile in self.drops], limits
        claim = list(map(str, head["starts"])), "forced" if self.forced else "not forced", int(head["boards"])
        sound = 2 <= len(shape) <= 3 and min(shape) > 0 and len(most) == self.cells <= 32
        sound = sound and self.drops in ([1], [2], [1, 2]) and min(self.limits) >= self.drops[-1]
        if not sound or json.dumps(dict(zip(KEYS, game + claim, strict=True))) + "\n" != line:
            raise RefusedError("the header describes no game")
        places = list(itertools.product(*map(range, shape)))
        cell_of = {place: cell for cell, place in enumerate(places)}
        self.directions, self.images = list[list[list[int]]](), list[list[int]]()
        for axis, size in enumerate(shape):
            firsts = [place for place in places if place[axis] == 0]
            lines = [[cell_of[*p[:axis], k, *p[axis + 1 :]] for k in range(size)] for p in firsts]
            self.directions += [lines, [line[::-1] for line in lines]]
        for order in itertools.permutations(range(len(shape))):
            for ends in itertools.product(*((0, size - 1) for size in shape)):
                if [shape[axis] for axis in order] == shape:
                    sides = list(zip(order, ends, strict=True))
                    image = [cell_of[tuple(abs(end - p[axis]) for axis, end in sides)] for p in places]
                    self.images += [image] * all(
                        self.limits[a] == self.limits[b] for a, b in enumerate(image)
                    )

    def slides(self, board: Board) -> Iterator[Board | None]:
        """What the slides that are allowed make, as the least of its images; None for the goal."""
        for lines in self.directions:
            after = [0] * self.cells
            for line in lines:
                tiles, fresh = list[int](), False  # fresh: whether the last tile has not merged yet
                for tile in (board[cell] for cell in line if board[cell]):
                    fresh = not (fresh and tiles[-1] == tile)
                    tiles[len(tiles) - (not fresh) :] = [tile if fresh else tile + 1]
                for cell, tile in zip(line, tiles, strict=False):
                    after[cell] = tile
            if max(after) >= self.goal:
                yield None
            elif after != list(board) and all(map(int.__le__, after, self.limits)):
                yield min(tuple(after[cell] for cell in image) for image in self.images)

    def demand(self, state: Board, listed: dict[Board, int]) -> None:
        """Refuse unless the claim is proved for a board with the player to move."""
        found = (self.forced if after is None else after in listed for after in self.slides(state))
        if not (any(found) if self.forced else all(found)):
            raise RefusedError(f"from {state} it does not follow that the goal is {self.header['claim']}")

    def fits(self, board: Board) -> bool:
        """Whether it is a board of the game."""
        return len(board) == self.cells and all(map(int.__le__, board, self.limits))

    def layers(self) -> Iterator[dict[Board, int]]:
        """The boards listed and their drops, for each sum from 0 to beyond the largest, in steps of 2."""
        words = (line.decode().split() for line in iter(lambda: self.lines.readline(99), b""))
        boards = ((tuple(int(e, 36) for e in word), int(drop[0]) if drop else 0) for word, *drop in words)
        (board, drop), count = next(boards, ((), 0)), 0
        for total in range(0, add_up(self.limits) + 6, 2):
            listed = {}
            while self.fits(board) and add_up(board) == total:
                listed[board], count = drop, count + 1
                board, drop = next(boards, ((), 0))
            yield listed
        if board or count != self.header["boards"]:
            raise RefusedError("the boards are not in order, or not those of the game, or not all there")

    def run(self, tell: Callable[..., object]) -> None:
        """Check all of it, three sums in memory at a time; tell how many boards, of how many, come next."""
        starts, layers = [tuple(int(e, 36) for e in word) for word in self.header["starts"]], self.layers()
        here, above = next(layers), next(layers)
        if not all(map(self.fits, starts)) or not (starts or (0,) * self.cells in here):
            raise RefusedError("a start is not a start of this game, or the empty board is not listed")
        for step, top in enumerate(layers):
            tell(len(here), self.header["boards"])
            for state in [start for start in starts if add_up(start) == 2 * step]:
                self.demand(state, here)
            for board, drop in here.items():
                free = [cell for cell in range(self.cells) if not board[cell]]
                drops = [*itertools.product(free, self.drops)] if self.forced else [(drop >> 1, 1 + drop % 2)]
                if not drops or any(cell not in free or tile not in self.drops for cell, tile in drops):
                    raise RefusedError(f"nothing can be dropped as listed on {board}")
                for cell, tile in drops:
                    self.demand((*board[:cell], tile, *board[cell + 1 :]), (above, top)[tile - 1])
            here, above = above, top


def check_certificate(path: str | Path, tell: Callable[..., object] = lambda *_: None) -> dict[str, Any]:
    """The header of a certificate that proves what it says.  Raises `RefusedError` or `OSError`."""
    with Path(path).open("rb") as file:
        try:
            checker = Checker(file)
            checker.run(tell)
        except RefusedError:
            raise
        except Exception as error:  # whatever damage leads to, nothing is proved
            raise RefusedError("the file is not a certificate, or it is written in another form") from error
        return dict(checker.header)


if __name__ == "__main__":
    try:
        header = check_certificate(sys.argv[1]) if len(sys.argv) == 2 else sys.exit("usage: check.py FILE")
    except (RefusedError, OSError, KeyboardInterrupt) as error:
        sys.exit(f"not proved: {str(error) or 'stopped'}")
    sys.stdout.write(f"proved: {json.dumps(header)}\n")
