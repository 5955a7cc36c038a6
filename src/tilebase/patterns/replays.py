"""Games that are given as text, replayed: positions and pictures."""

from __future__ import annotations

from dataclasses import dataclass

from tilebase.errors import UsageError
from tilebase.patterns.moves import moves_text, parse_moves, replay, with_drops
from tilebase.patterns.rules import Move, Position, Rules, parse_rules

MOST_KEPT = 20_000_000
"""Most cells of all positions of a game together."""


@dataclass(frozen=True)
class Replay:
    """A game that was replayed.

    Attributes
    ----------
    rules:
        The board and what may be dropped on it.
    moves:
        The slides and drops.
    positions:
        The positions as tuples of exponents, row by row: the empty board, and one after each move.
    """

    rules: Rules
    moves: tuple[Move, ...]
    positions: tuple[Position, ...]

    @property
    def text(self) -> str:
        """The moves as text; in a deterministic game without the drops."""
        return moves_text(self.rules, self.moves)

    @property
    def boards(self) -> list[str]:
        """The positions as text, as ``2,4/0,2``."""
        return [self.rules.text(position) for position in self.positions]

    def strip(self) -> str:
        """Return the boards after each drop as a picture: an SVG document.

        Raises `UsageError` if the game is too long or the board too large for a picture.
        """
        from tilebase.patterns.strips import draw_strip

        return draw_strip(self.rules, self.moves)

    def animation(self, *, speed: float = 2.0) -> str:
        """Return the game as an animation with `speed` slides a second, from 0.1 to 20: an SVG document.

        A page shows it as an image, ``<img src="game.svg">``.  Pasted into a page itself, it would share the
        names of its parts with other pictures there.  Raises `UsageError` as `strip`, or if the speed is not
        possible.
        """
        from tilebase.patterns.strips import draw_animation

        return draw_animation(self.rules, self.moves, speed=speed)


def replay_moves(
    size: str, moves: str, *, drops: str = "2,4", deterministic: bool = False, convention: str | None = None
) -> Replay:
    """Replay a game from the empty board, by the plain rules.

    Parameters
    ----------
    size:
        Rows x columns, as ``3x5``.
    moves:
        Slides U, D, L and R, and drops ``(row,column)`` or ``(row,column)=4``, counted from 1 at the upper
        left corner.  In a deterministic game only the slides.
    drops:
        Which tiles may be dropped: ``2`` or ``2,4``.
    deterministic:
        Every tile is a 2, and is dropped in the first empty cell.
    convention:
        Of a deterministic game: ``rows`` if the first cell is the topmost, then leftmost empty one,
        ``columns`` if it is the leftmost, then topmost one.  None: rows.

    Raises
    ------
    UsageError
        If the size, drops or convention do not exist, the text is not one of moves, or a move is not
        possible; with the number of the move, or of the slide in a deterministic game.

    >>> replay_moves("2x2", "(1,1)R(1,1)=4").boards
    ['0,0/0,0', '2,0/0,0', '0,2/0,0', '4,2/0,0']
    >>> replay_moves("2x2", "RRDRL", deterministic=True).boards[-1]
    '4,2/2,4'
    """
    rules = parse_rules(size, drops=drops, deterministic=deterministic, convention=convention)
    parsed = with_drops(rules, moves) if deterministic else parse_moves(rules, moves)
    if rules.cells * len(parsed) > MOST_KEPT:
        raise UsageError(f"{len(parsed):,} moves on a board of {rules} are too many to keep all positions")
    return Replay(rules, parsed, tuple(replay(rules, parsed)))
