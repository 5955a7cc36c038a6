"""The rules of a game for arrays of boards: packing, sliding, spawning, turning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase._kernels.arguments import Scratch
from tilebase._kernels.lookup import (
    NO_TILE,
    count_stabilisers,
    find_least,
    pack_cells,
    read_tiles,
    sum_tiles,
    unpack_keys,
)
from tilebase._kernels.packed import packed
from tilebase._kernels.play import REFUSED, WINS, slide_all
from tilebase.errors import BoardError, UsageError
from tilebase.game.board import Board
from tilebase.game.compiled import CompiledGame, permutations
from tilebase.game.game import Cells, Game, check_is_game
from tilebase.game.notation import tile_text
from tilebase.game.symmetry import symmetries
from tilebase.objectives.objective import Objective
from tilebase.sparse.reading import board_potentials, spawn_chances, spawns_of

Keys: TypeAlias = npt.NDArray[np.uint64]
Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Encoding: TypeAlias = Literal["exponents", "tiles", "keys", "one-hot"]

ENCODINGS = ("exponents", "tiles", "keys", "one-hot")
"""How boards are written: ``exponents``, 3 for an 8 and 0 for an empty cell or a wall; ``tiles``, 8 for an 8;
``keys``, one packed number for each board; ``one-hot``, K numbers for each cell, a 1 at its exponent.  A tile
that never merges is the exponent ``game.x``."""
BATCH = 1 << 15
"""Boards for which an agent is asked at a time."""
CACHED = 1 << 10
"""Boards that are slid at a time, so that their buffers stay in the first caches."""


class Slid(NamedTuple):
    """What slides make of n boards, for each of A actions.  In place of n there are the axes of a batch.

    Attributes
    ----------
    after:
        ``uint64[n, A]``: the packed board after the slide, not turned; 0 if the slide is not allowed.
    reward:
        ``int32[n, A]``: the sum of the tiles that merges make.
    allowed:
        ``bool[n, A]``: whether the rules allow the slide.
    wins:
        ``bool[n, A]``: whether it wins.
    """

    after: Keys
    reward: npt.NDArray[np.int32]
    allowed: Flags
    wins: Flags


class GameArrays:
    """The rules of a game for arrays of boards.  Safe to share between threads; a deep copy is itself."""

    def __init__(self, game: Game) -> None:
        check_is_game(game)
        self.game = game
        self.actions = game.directions
        self.compiled = CompiledGame(game)
        self.rules = self.compiled.rules

    def __repr__(self) -> str:
        return f"<GameArrays of {self.game}>"

    def __reduce__(self) -> Any:
        return GameArrays, (self.game,)

    def __deepcopy__(self, _memo: Any) -> GameArrays:
        return self

    def pack(self, boards: Any, *, encoding: Encoding = "exponents") -> Keys:
        """Pack boards: ``uint64[*batch]``.

        Parameters
        ----------
        boards:
            ``[*batch, *shape]`` or ``[*batch, cells]``; ``[*batch]`` of keys; one-hot ``[*batch, *shape, K]``
            or ``[*batch, cells, K]``.  Whole numbers of any type, in what `as_array` takes.  Or a `Board` or
            text, or a list of these and of arrays.
        encoding:
            One of `ENCODINGS`; it says nothing of boards as text.

        Raises
        ------
        UsageError
            If the array has another shape or numbers that are not whole, or a cell holds what the game
            does not allow there.  The message names the first such board.
        """
        return self._pack(boards, encoding, played=False)[0]

    def pack_played(self, boards: Any, *, encoding: Encoding = "exponents") -> tuple[Keys, Flags]:
        """As `pack`, but a board may be won by its largest tile: return keys, and which boards are won.

        The key of such a board means nothing.
        """
        return self._pack(boards, encoding, played=True)

    def _pack(self, boards: Any, encoding: Encoding, *, played: bool) -> tuple[Keys, Flags]:
        if encoding not in ENCODINGS:
            raise UsageError(f"the encoding must be one of {', '.join(ENCODINGS)}, not {encoding!r}")
        given, encoding = self._read(boards, encoding, played=played)
        if encoding == "keys":
            given = as_array(given)
            keys, bits = as_keys(given).ravel(), self.game.bits * self.game.cells
            if bits < 64 and (long := keys >> np.uint64(bits) != 0).any():
                raise UsageError(
                    f"key {int(long.argmax())} is not a board of {self.game}: it has too many bits"
                )
            _, won = self._packed(self._cells(keys), played=played)  # which checks them
            return keys.reshape(given.shape), won.reshape(given.shape)
        given = self._whole_numbers(given)
        if encoding == "one-hot":
            given = self._exponents(given)
        batch, rows = self._batch(given), given.reshape(-1, self.game.cells)
        if encoding == "tiles":
            exponents = np.empty(rows.shape, dtype=np.uint8)
            read_tiles(np.ascontiguousarray(rows, dtype=np.int64).ravel(), exponents.ravel())
        else:
            exponents = _as_bytes(rows)
        keys, won = self._packed(exponents, rows, played=played)
        return keys.reshape(batch), won.reshape(batch)

    def unpack(self, keys: npt.ArrayLike, *, encoding: Literal["exponents", "tiles"] = "exponents") -> Any:
        """Return boards: exponents ``uint8[*batch, *shape]``, or tiles ``int64[*batch, *shape]``.

        Raises `UsageError` for another encoding, or if the keys are no whole numbers.
        """
        if encoding not in ENCODINGS[:2]:
            raise UsageError(f"boards are unpacked as {' or '.join(ENCODINGS[:2])}, not as {encoding!r}")
        cells = self._cells(as_keys(keys).ravel())
        shaped = cells.reshape(np.shape(keys) + self.game.shape)
        return np.where(shaped, np.int64(1) << shaped.astype(np.int64), 0) if encoding == "tiles" else shaped

    def canonical(self, keys: Keys) -> tuple[Keys, npt.NDArray[np.uint8]]:
        """Return canonical boards ``uint64[*batch]``, and the symmetries ``uint8[*batch]`` that make them.

        Symmetry g is ``symmetries(game)[g]``, and ``action_maps[g]`` turns actions.
        """
        keys = as_keys(keys)
        least, found = np.empty_like(keys), np.empty(keys.shape, dtype=np.uint8)
        cache = np.empty(CACHED, dtype=np.uint64)
        find_least(keys.ravel(), self._from_the_board, cache, least.ravel(), found.ravel())
        return least, found

    def least(self, keys: Keys) -> Keys:
        """``uint64[*batch]``: the canonical boards alone, in half the time of `canonical`."""
        return self.compiled.canonical(as_keys(keys).ravel()).reshape(np.shape(keys))

    def turned(self, keys: Keys, symmetry: npt.NDArray[np.integer[Any]]) -> Keys:
        """The boards that symmetries make: for each board the number of one, as in `canonical`."""
        sources = np.array(symmetries(self.game))[symmetry]
        return self._packed(np.take_along_axis(self._cells(keys), sources, axis=1))[0]

    @cached_property
    def _from_the_board(self) -> Any:
        return packed(permutations(self.game, symmetries(self.game)[1:]))

    def stabilisers(self, keys: Keys) -> npt.NDArray[np.int64]:
        """``int64[*batch]``: how many symmetries leave each board as it is."""
        found = np.empty(np.shape(keys), dtype=np.int64)
        images = np.empty((2, CACHED), dtype=np.uint64)
        count_stabilisers(as_keys(keys).ravel(), self.rules.symmetries, images, found.ravel())
        return found

    @property
    def order(self) -> int:
        """The number of symmetries of the game."""
        return len(symmetries(self.game))

    @property
    def wide_goal(self) -> bool:
        """Whether a packed board has no room for the goal, as for 65,536 on 4x4."""
        return self.game.goal_exponent is not None and self.game.goal_exponent > self.game.bounds.code

    def tops(self, keys: Keys) -> npt.NDArray[np.uint8]:
        """``uint8[*batch]``: the exponent of the largest tile of each board; 0 on an empty board."""
        return self.compiled.tops(as_keys(keys).ravel()).reshape(np.shape(keys))

    @cached_property
    def action_maps(self) -> npt.NDArray[np.uint8]:
        """``maps[g, a]``: the action on the board that symmetry g makes, which corresponds to action a."""
        maps = np.empty((len(symmetries(self.game)), len(self.actions)), dtype=np.uint8)
        for g, permutation in enumerate(symmetries(self.game)):
            for direction, before in self.game.grid.turned(permutation).items():
                maps[g, self.actions.index(before)] = self.actions.index(direction)
        return maps

    def slide(self, keys: Keys) -> Slid:
        """Slide boards in all directions, of keys ``uint64[*batch]``.  See `Slid`."""
        batch, keys, actions = np.shape(keys), as_keys(keys).ravel(), len(self.actions)
        n = len(keys)
        kinds = np.zeros((n, actions), dtype=np.uint8)
        found = Slid(
            np.zeros((n, actions), dtype=np.uint64), np.zeros((n, actions), dtype=np.int32),
            np.zeros((n, actions), dtype=np.bool_), np.zeros((n, actions), dtype=np.bool_),
        )  # fmt: skip
        width = min(n, CACHED)
        scratch, marks = packed(Scratch.of(2 * width + 8)), np.zeros(2 * width, dtype=np.uint8)
        for begin in range(0, n, CACHED):
            part = slice(begin, min(begin + CACHED, n))
            here = keys[part]
            slide_all(here, len(here), self.rules, scratch, marks, found.after[part], kinds[part])
        np.not_equal(kinds, REFUSED, out=found.allowed)
        np.equal(kinds, WINS, out=found.wins)
        before = board_potentials(self.game, keys)
        for action in range(actions):
            gain = board_potentials(self.game, found.after[:, action]) - before
            found.reward[:, action] = np.where(found.allowed[:, action], gain, 0)
        return Slid._make(column.reshape((*batch, actions)) for column in found)

    def gains(self, objective: Objective, keys: Keys, slid: Slid) -> Floats:
        """``float64[n, A]``: what slides of boards add to a value, without its discount and its ends.

        `slid` is what `slide` says of the boards.  Numbers of slides that are not allowed mean nothing.
        """
        each = np.full(slid.allowed.shape, float(objective.meaning.slide))
        if merge := objective.meaning.merge:
            each += board_potentials(self.game, slid.after.ravel(), merge).reshape(each.shape)
            each -= board_potentials(self.game, keys, merge)[:, None]
        return each

    def spawns(self, keys: Keys) -> tuple[Keys, npt.NDArray[np.int64], Floats]:
        """Spawn on boards after a slide: return all states by their keys, the boards, the probabilities.

        State i follows from board ``boards[i]`` of the flattened keys.  The states are not turned.  None
        follows where the game has ended by its horizon.
        """
        keys = as_keys(keys).ravel()
        going = np.arange(len(keys))
        if self.game.horizon is not None:
            going = going[sums_of(self.game, keys) < self.game.horizon]
        made, boards, chances = [], [], []
        for exponent in self.game.spawn_exponents:
            states, origin = spawns_of(self.compiled, keys[going], exponent)
            made.append(states)
            boards.append(going[origin])
            chances.append(spawn_chances(self.game, origin, exponent))
        return np.concatenate(made), np.concatenate(boards), np.concatenate(chances)

    # -- how it is done ------------------------------------------------------------------------

    def _cells(self, keys: Keys) -> npt.NDArray[np.uint8]:
        """Return the exponents of keys, ``[n, cells]``."""
        cells = np.empty((len(keys), self.game.cells), dtype=np.uint8)
        unpack_keys(np.ascontiguousarray(keys), np.uint64(self.game.bits), cells)
        return cells

    def _packed(
        self, cells: npt.NDArray[np.uint8], given: npt.NDArray[Any] | None = None, *, played: bool = False
    ) -> tuple[Keys, Flags]:
        """Return keys, and which boards are won.  On boards that are `played`, cells may hold the goal, too.

        Raises `UsageError` unless each cell holds what it may hold.  The message shows a number of `given`
        where `cells` has `NO_TILE`.
        """
        keys, won = np.empty(len(cells), dtype=np.uint64), np.zeros(len(cells), dtype=np.bool_)
        codes = self._allowed_codes
        if pack_cells(np.ascontiguousarray(cells), codes, np.uint64(self.game.bits), keys):
            good = np.take_along_axis(codes.T, np.minimum(cells, codes.shape[1] - 1), axis=0)
            good &= cells < codes.shape[1]
            if played and (goal := self.game.goal_exponent) is not None:
                made = cells == goal + (bool(self.game.unmergeable) and goal == self.game.x)
                good |= made
                won = made.any(axis=1)
            if good.all():
                return keys, won
            first, cell = np.argwhere(~good)[0].tolist()
            code = int(cells[first, cell])
            held = self._word(code)
            if given is not None and code == NO_TILE:
                held = f"{given[first, cell]}, which stands for no tile"
            advice = "; pack_played takes boards that are won" * (code == self.game.goal_exponent)
            raise UsageError(
                f"board {first} is not a board of {self.game}: cell {cell} holds {held}, but must hold "
                f"{self._allowed(cell)}{advice}"
            )
        return keys, won

    def _word(self, exponent: int) -> str:
        return "x" if self.game.is_x(exponent) else tile_text(exponent) if exponent else "0"

    def _allowed(self, cell: int) -> str:
        """Say what a cell may hold on a state of the game."""
        codes = self.game.codes(cell)
        top = max((code for code in codes if not self.game.is_x(code)), default=0)
        words = ["0"] if codes[0] == 0 else []
        words += [f"a tile of at most {self._word(top)}"] if top else []
        return " or ".join([*words, *(["x"] if self.game.is_x(codes[-1]) else [])])

    def _read(self, boards: Any, encoding: Encoding, *, played: bool) -> tuple[Any, Encoding]:
        """Return boards as arrays where they are `Board` or text, and their encoding then.

        Those that are `played` may be won.
        """
        if isinstance(boards, Board | str):
            return self._read_board(boards, played=played), "exponents"
        given = boards.tolist() if isinstance(boards, np.ndarray) and boards.dtype.kind in "OU" else boards
        if not isinstance(given, list | tuple) or not any(isinstance(one, Board | str) for one in given):
            return given, encoding
        if encoding != "exponents" and not all(isinstance(one, Board | str) for one in given):
            raise UsageError("arrays beside boards as text hold exponents: leave the encoding out")
        read = (
            self._read_board(one, played=played) if isinstance(one, Board | str) else one for one in given
        )
        return [as_array(one).ravel() for one in read], "exponents"

    def _read_board(self, board: Board | str, *, played: bool) -> Cells:
        try:
            return Board.read(self.game, board).cells
        except BoardError:
            with suppress(BoardError):
                if played:
                    return Board.read_won(self.game, str(board)).cells
            raise

    def _whole_numbers(self, boards: Any) -> npt.NDArray[Any]:
        given = as_array(boards)
        if given.dtype.kind in "biu":
            return given
        if given.dtype.kind == "f" and np.isfinite(given).all() and (given == np.floor(given)).all():
            return given.astype(np.int64)
        raise UsageError(f"boards must be whole numbers, not an array of {given.dtype}")

    def _batch(self, given: npt.NDArray[Any]) -> tuple[int, ...]:
        """Return the axes in front of those of a board."""
        shape, cells = self.game.shape, self.game.cells
        # A row of all cells comes first: on a board of one row, [1, cells] is a batch of one.
        if given.shape[-1:] == (cells,) and given.ndim <= len(shape):
            return given.shape[:-1]
        if given.shape[-len(shape) :] == shape:
            return given.shape[: -len(shape)]
        if given.shape[-1:] == (cells,):
            return given.shape[:-1]
        wanted = " or ".join(str(["...", *one]).replace("'", "") for one in (shape, (cells,)))
        keys = '; of packed boards, say encoding="keys"' if given.dtype == np.uint64 else ""
        raise UsageError(f"boards of {self.game} must be an array {wanted}, not {list(given.shape)}{keys}")

    def _exponents(self, one_hot: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
        """Return the exponents of cells that are written one-hot.  Raises `UsageError`."""
        ones = one_hot == 1
        exponents = np.zeros(one_hot.shape[:-1], dtype=np.uint8)
        count = exponents.copy()
        for exponent in range(min(one_hot.shape[-1], NO_TILE) if one_hot.ndim else 0):  # faster than argmax
            exponents += ones[..., exponent] * np.uint8(exponent)
            count += ones[..., exponent]
        if (count != 1).any() or not (ones | (one_hot == 0)).all():
            wanted = str(["...", *self.game.shape, "K"]).replace("'", "")
            raise UsageError(f"one-hot boards are an array {wanted}, with a single 1 for each cell")
        return exponents

    @cached_property
    def _allowed_codes(self) -> Flags:
        """``codes[c, e]``: whether cell c may hold the exponent e on a state of the game."""
        codes = np.zeros((self.game.cells, self.game.x + 1), dtype=np.bool_)
        for cell in range(self.game.cells):
            codes[cell, list(self.game.codes(cell))] = True
        return codes


def as_array(given: Any) -> npt.NDArray[Any]:
    """Return an array of NumPy, and of what lists and other packages hold: ``__array__`` or ``__dlpack__``.

    Tensors of Torch are detached and copied to the host.  Raises `UsageError` if it cannot be read as one.
    """
    if isinstance(given, np.ndarray):
        return given
    for name in ("detach", "cpu"):  # what Torch demands before it hands a tensor over
        given = getattr(given, name, lambda given=given: given)()
    try:
        exchanged = hasattr(given, "__dlpack__") and not hasattr(given, "__array__")
        return np.from_dlpack(given) if exchanged else np.asarray(given)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise UsageError(
            f"a {type(given).__name__} cannot be read as an array: rows must have the same length, and "
            f"arrays of a device must be copied to the host ({error})"
        ) from error


def as_keys(keys: npt.ArrayLike) -> Keys:
    """Return packed boards as ``uint64[*batch]``.  Raises `UsageError` unless they are numbers of 64 bits."""
    given = np.asarray(keys)
    if given.size and (given.dtype.kind not in "iu" or given.min() < 0):
        raise UsageError("keys must be whole numbers from 0 to 2^64 - 1, as GameArrays.pack returns them")
    return np.ascontiguousarray(given, dtype=np.uint64)


def _as_bytes(exponents: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Return exponents as bytes; numbers that no byte holds are none of the game's."""
    if exponents.dtype in (np.uint8, np.bool_):
        return exponents.astype(np.uint8, copy=False)
    return np.where((exponents >= 0) & (exponents < NO_TILE), exponents, NO_TILE).astype(np.uint8)


def sums_of(game: Game, keys: Keys) -> npt.NDArray[np.int64]:
    """Return the sum of the tiles of each board."""
    return _sums(game, keys)[0].view(np.int64)


def by_sum(game: Game, keys: Keys) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Yield the sums of boards, and for each the numbers of the boards that have it."""
    sums, largest = _sums(game, keys)
    # NumPy sorts 16 bits by radix, twelve times as fast as 64.  Sums are even.
    order = np.argsort((sums >> np.uint64(1)).astype(np.uint16) if largest < 1 << 17 else sums, kind="stable")
    ordered = sums[order]
    changes = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    for mine in np.split(order, changes) if len(keys) else ():
        yield int(sums[mine[0]]), mine


def _sums(game: Game, keys: Keys) -> tuple[Keys, int]:
    """Return the sum of each board, and the largest."""
    sums = np.empty(len(keys), dtype=np.uint64)
    unmergeable = np.uint64(game.x_code)
    return sums, int(sum_tiles(np.ascontiguousarray(keys), np.uint64(game.bits), unmergeable, sums))
