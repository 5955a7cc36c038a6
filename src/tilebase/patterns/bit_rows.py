"""Positions of 2s and 4s as rows of bits, for searches that visit many of them.

A row is an integer: bit ``j`` is a 2 in column ``j``, and bit ``columns + j`` is a 4 there.  A position is
the tuple of its rows.  A slide along columns moves all columns at once with a few operations on bits; a slide
along a row is looked up.  So boards with few long rows are fast, and others are mirrored first (`mirrored`).

Frozen pairs
------------
Two 4s side by side in a row forbid slides along the row, for such a slide makes an 8.  Let the columns of
both be full, and let none of the two hold a pair of 2s above each other.  Then a slide along columns changes
neither, or is forbidden.  So the two 4s stay side by side to the end, and no checkerboard follows.  The same
holds for rows and columns exchanged.  Searches leave such states out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilebase.patterns.rules import Rules, push

Rows = tuple[int, ...]
"""A position: each row as an integer."""


def mirrored(rules: Rules) -> Rules:
    """Return the game after mirroring in the main diagonal, which exchanges rows and columns."""
    other = {"rows": "columns", "columns": "rows", None: None}[rules.convention]
    return replace(rules, rows=rules.columns, columns=rules.rows, convention=other)


class BitRows:
    """Slides and drops of a game on positions as rows of bits; see the module."""

    def __init__(self, rules: Rules) -> None:
        self._rows, self._columns = rules.rows, rules.columns
        self._drops, self._convention = rules.drops, rules.convention
        self.empty: Rows = (0,) * rules.rows
        self._full = (1 << rules.columns) - 1
        self._pushed = _SlidRows(self, 1)
        self._pulled = _SlidRows(self, -1)

    # -- rows ----------------------------------------------------------------------------------------

    def encode(self, tiles: Sequence[int]) -> int:
        """Return a row of exponents as an integer."""
        return sum(1 << column + (tile - 1) * self._columns for column, tile in enumerate(tiles) if tile)

    def decode(self, row: int) -> tuple[int, ...]:
        """Return the exponents of a row."""
        columns = range(self._columns)
        return tuple((row >> j & 1) + 2 * (row >> self._columns + j & 1) for j in columns)

    def checkerboard(self, colouring: int) -> Rows:
        """Return the checkerboard with this tile in the upper left corner."""
        first = colouring // 2
        return tuple(
            self.encode([1 + (row + column + first - 1) % 2 for column in range(self._columns)])
            for row in range(self._rows)
        )

    def half_sum(self, position: Rows) -> int:
        """Half the sum of the tiles."""
        return sum(sum(self.decode(row)) for row in position)

    # -- slides --------------------------------------------------------------------------------------

    def slides(self, position: Rows) -> Iterator[Rows]:
        """Yield the afterstates of a state: those of slides that change it and make no 8."""
        for slid in (self._pushed, self._pulled):
            found = tuple([slid[row] for row in position])
            if -1 not in found and found != position:
                yield found
        up = self._rise(list(position))
        if up is not None and up != position:
            yield up
        down = self._rise(list(position[::-1]))
        if down is not None and down[::-1] != position:
            yield down[::-1]

    def _rise(self, rows: list[int]) -> Rows | None:
        """Return all columns after a slide to the first row; None if that makes an 8."""
        columns, full = self._columns, self._full
        self._close_gaps(rows)
        for i in range(len(rows) - 1):
            if rows[i] >> columns & rows[i + 1] >> columns:
                return None
        merged = False
        for i in range(len(rows) - 1):
            pairs = rows[i] & rows[i + 1] & full
            if pairs:
                rows[i] += (pairs << columns) - pairs
                rows[i + 1] -= pairs
                merged = True
        if merged:
            self._close_gaps(rows)
        return tuple(rows)

    def _close_gaps(self, rows: list[int]) -> None:
        """Move every tile towards the first row as far as empty cells let it."""
        columns, full = self._columns, self._full
        for above in range(len(rows) - 1, 0, -1):
            for i in range(above):
                gaps = ~(rows[i] | rows[i] >> columns) & full
                moved = rows[i + 1] & (gaps | gaps << columns)
                rows[i] |= moved
                rows[i + 1] ^= moved

    # -- drops ---------------------------------------------------------------------------------------

    def drops(self, position: Rows, exponent: int) -> Iterator[Rows]:
        """Yield the states after a drop, without those from which a frozen pair bars every checkerboard."""
        shift = (exponent - 1) * self._columns
        for row, cell in self._open_cells(position):
            state = (*position[:row], position[row] | cell << shift, *position[row + 1 :])
            if not self._has_frozen_pair(state):
                yield state

    def every_drop(self, position: Rows) -> Iterator[Rows]:
        """Yield `drops` of each tile that the game drops."""
        for exponent in self._drops:
            yield from self.drops(position, exponent)

    def _open_cells(self, position: Rows) -> Iterator[tuple[int, int]]:
        """Yield the row, and the column as a bit, of each cell that a drop may use."""
        columns, full = self._columns, self._full
        gaps = [~(row | row >> columns) & full for row in position]
        if self._convention == "rows":
            gaps = next(([0] * i + [gap & -gap] for i, gap in enumerate(gaps) if gap), [])
        elif self._convention == "columns":
            every = 0
            for gap in gaps:
                every |= gap
            first = every & -every
            gaps = next(([0] * i + [first] for i, gap in enumerate(gaps) if gap & first), [])
        for i, gap in enumerate(gaps):
            while gap:
                yield i, gap & -gap
                gap &= gap - 1

    def _has_frozen_pair(self, position: Rows) -> bool:
        """Return whether two neighbouring 4s can never be parted; see the module."""
        columns, full = self._columns, self._full
        frozen, above, rigid = full, 0, 0
        for number, row in enumerate(position):
            ones, twos = row & full, row >> columns
            frozen &= (ones | twos) & ~(above & ones)
            stiff = ones | twos == full and not ones & ones >> 1
            if number and rigid and stiff and twos & position[number - 1] >> columns:
                return True
            above, rigid = ones, stiff
        pairs = frozen & frozen >> 1
        return bool(pairs) and any(row >> columns & row >> columns + 1 & pairs for row in position)


class _SlidRows(dict[int, int]):
    """By row, the row after a slide to one side, or -1 if that makes an 8; computed when first needed."""

    def __init__(self, board: BitRows, step: int) -> None:
        super().__init__()
        self._board, self._step = board, step

    def __missing__(self, row: int) -> int:
        found = push(self._board.decode(row)[:: self._step], 2)
        self[row] = -1 if found is None else self._board.encode(found[:: self._step])
        return self[row]
