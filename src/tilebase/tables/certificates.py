"""Certificates to play against: the slides of a forced win, or the spawns that keep the goal from being made.

`check` reads and proves the same files; this reads them to answer for single boards.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from tilebase.check import LONGEST_HEADER, Rules, X, open_lines, read_board, read_header, read_layers
from tilebase.errors import (
    BoardError,
    CorruptError,
    MissingBoardError,
    MissingLayerError,
    StorageError,
    check_first,
)
from tilebase.game.board import Board
from tilebase.game.game import Cells, Game
from tilebase.game.grid import by_rows
from tilebase.game.spawns import law_of
from tilebase.objectives.values import Exact, Unknown
from tilebase.tables.answers import Answer, SlideAnswer
from tilebase.tables.solved import Verdicts

MEANING = "whether a win can be forced"
"""What is said of a board."""
MOST_BOARDS = 5_000_000
"""Most boards of a certificate that is kept in memory: about 1 GB."""


class Certificate(Verdicts):
    """A certificate in memory, from `open_certificate`.

    Attributes
    ----------
    path:
        The file.
    forced:
        Whether it proves that the goal can be forced, or that the adversary can prevent it.
    starts:
        The states in which play begins.  In a proof of a forced win, all that the adversary may choose, up to
        symmetry unless the board is empty before; otherwise the one that the adversary chooses.
    states:
        The number of states that the certificate lists.
    name, game:
        The name of its file, and the game.  Its probability of a 4 only says which tiles of the certificate
        are spawned.
    value, claim:
        Whether the goal is forced, and the claim in words.
    """

    kind = "certificate"
    text = MEANING

    def __init__(self, path: Path, header: dict[str, Any], rules: Rules, spawns: dict[Cells, int]) -> None:
        """`header` and `rules` are those that `check.read_header` returns, `spawns` what is listed."""
        self.path, self.name, self.game = path, path.name, _game(header)
        self.claim, self.forced = header["claim"], header["claim"] == "forced"
        self.value, self.states = Exact(self.forced), len(spawns)
        self._rules, self._spawns = rules, spawns
        starts = (tuple(self.game.x if e == X else e for e in read_board(word)) for word in header["starts"])
        self.starts = tuple(Board(self.game, cells) for cells in starts) or tuple(self._begun())

    def __repr__(self) -> str:
        return f"<Certificate {self.path.name} of {self.game}: {self.claim}, {self.states:,} boards>"

    def facts(self) -> dict[str, Any]:
        """As `Solved.facts`, with what is claimed, and the starts."""
        return super().facts() | {"claim": self.claim, "starts": [board.text for board in self.starts]}

    def start_states(self) -> list[tuple[Board, Fraction]]:
        """Return the starts that it lists, each with the same probability."""
        return [(board, Fraction(1, len(self.starts))) for board in self.starts]

    def _begun(self) -> Iterator[Board]:
        """Yield the states that the first spawn may make, or that the certificate's spawn makes."""
        for cells in self.game.start_afters:
            if self.forced:
                yield from (Board(self.game, state) for state, _ in self.game.spawns(cells))
            else:
                yield self.spawn(Board(self.game, cells))

    def lists(self, after: Board) -> bool:
        """Return whether it lists an afterstate, up to symmetry."""
        return self._rules.least_image(_to_check(self.game, after.cells)) in self._spawns

    def probe(self, board: Any, objective: str | None = None) -> Answer:
        """Return what it proves of a state (as `Board.read` reads it) and of its slides.

        A slide keeps a forced win if it wins, or leads to a listed board.  In a certificate of the adversary,
        the goal is not forced after a slide to a listed board.  Nothing is known of other slides.

        Raises
        ------
        UsageError
            If an objective is named: a certificate has none.
        MissingBoardError
            If the listed boards do not decide the state.
        """
        unit, state = self.unit(objective), Board.read(self.game, board)
        slides = tuple(
            SlideAnswer(self.game, direction, after.cells, self._proved(after), self.game.wins(after.cells))
            for direction, after in state.slides().items()
        )
        decided = [slide.direction for slide in slides if slide.value == Exact(self.forced)]
        if slides and not (decided if self.forced else len(decided) == len(slides)):
            raise MissingBoardError(f"the certificate does not list this board: {state.text}")
        won = self.forced and bool(decided)
        return Answer(state, MEANING, unit, Exact(won), slides, tuple(decided) if won else ())

    def probe_after(self, board: Any, objective: str | None = None) -> Answer:
        """Return what it proves of a board after a slide.  Arguments and errors are those of `probe`."""
        unit = self.unit(objective)
        after = board if isinstance(board, Board) else Board.read(self.game, board)
        value = self._proved(after)
        if value == Unknown():
            raise MissingBoardError(f"the certificate does not list this board: {after.text}")
        return Answer(after, MEANING, unit, value, after=True)

    def _proved(self, after: Board) -> Exact | Unknown:
        """Return whether a win can be forced from a board after a slide, as far as it is proved."""
        if self.game.wins(after.cells):
            return Exact(True)
        ended = self.game.ended(after.sum)
        return Exact(self.forced and not ended) if ended or self.lists(after) else Unknown()

    def close(self) -> None:
        """Do nothing: a certificate is in memory."""

    def named_spawn(self, after: Board, /) -> Board | None:
        """As `spawn`; None if a forced win is proved."""
        return None if self.forced else self.spawn(after)

    def spawn(self, after: Board) -> Board:
        """Return the state after the adversary's spawn that the certificate names for an afterstate.

        Raises
        ------
        BoardError
            If the certificate proves a forced win: then it answers every spawn.
        MissingBoardError
            If it does not list the board, because no play against its spawns leads there.
        CorruptError
            If the listed spawn is not allowed.
        """
        if self.forced:
            raise BoardError(f"{self.path.name} proves a forced win: it names slides, and no spawns")
        for sources in self._rules.symmetries:
            number = self._spawns.get(_to_check(self.game, [after.cells[cell] for cell in sources]))
            if number is not None:
                cell, exponent = sources[number // 2], 2 if number % 2 else 1
                if after.cells[cell] or exponent not in self.game.spawn_exponents:
                    raise CorruptError(f"{self.path.name} names a spawn on {after.text} that is not allowed")
                return Board(self.game, (*after.cells[:cell], exponent, *after.cells[cell + 1 :]))
        raise MissingBoardError(
            f"{after.text} is not in {self.path.name}: no play against its spawns leads there"
        )


def open_certificate(path: Path | str) -> Certificate:
    """Read a certificate without checking it; `check_certificate` does.

    Raises
    ------
    MissingLayerError
        If there is no such file.
    CorruptError
        If it is damaged or no certificate, or lists more than 5,000,000 boards.
    StorageError
        If it cannot be read.
    """
    check_first(path, (str, Path), "the name of a file")
    path = Path(path)
    try:
        with path.open("rb") as file:
            lines = open_lines(file)
            header, rules = read_header(lines.readline(LONGEST_HEADER).decode())
            if header["boards"] > MOST_BOARDS:
                raise CorruptError(
                    f"{path.name} lists {header['boards']:,} boards; at most {MOST_BOARDS:,} are read"
                )
            layers = read_layers(lines, rules, header["boards"])
            spawns = dict(itertools.chain.from_iterable(layer.items() for layer in layers))
            return Certificate(path, header, rules, spawns)
    except FileNotFoundError as error:
        raise MissingLayerError(f"{path} not found: name the file of a certificate") from error
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
    except CorruptError:
        raise
    except Exception as error:  # a hostile file may raise anything; whatever it is, the file is refused
        raise CorruptError(f"{path.name} is not a certificate, or it is damaged") from error


def _game(header: dict[str, Any]) -> Game:
    """Return the game of a header that `check.read_header` accepts."""
    shape = [int(size) for size in header["shape"].split("x")]
    begun = header["starts"][:1] or header.get("afterstates", [])
    words = [_by_rows(shape, word) for word in begun]
    two_tiles = len(header["starts"]) > 1 and "x" not in header
    start = "two-tiles" if two_tiles else words[0] if header["starts"] else f"after {'|'.join(words)}"
    held = [cell for cell, sign in enumerate(begun[0]) if sign == "x"] if begun else []
    return Game(
        header["shape"], header["goal"], spawn=law_of(",".join(map(str, header["drops"]))),
        start=start if begun else "empty", limits=header["limits"], goal_sum=header.get("goal_sum"),
        unmergeable=held, masks="|".join(by_rows(mask, shape[-1], "") for mask in header.get("masks", [])),
        pattern="|".join(_by_rows(shape, word) for word in header.get("patterns", [])) or None,
        horizon=header.get("horizon"),
    )  # fmt: skip


def _by_rows(shape: Sequence[int], word: str) -> str:
    """Return a board or a pattern of a certificate as text: ``2,x/0,*``."""
    tiles = [sign if sign in "*x" else str(1 << int(sign, 36)) if sign != "0" else "0" for sign in word]
    return by_rows(tiles, shape[-1])


def _to_check(game: Game, cells: Sequence[int]) -> Cells:
    return tuple(X if game.is_x(e) else e for e in cells)
