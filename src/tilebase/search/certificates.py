"""Certificates: forced wins as strategies, refutations as spawns; small and easy to check.

A search (`search.search`) has decided for many afterstates whether they are won.  A certificate is made
from these results sum by sum, the least sum first:

* of a win: after each spawn on a listed board, the player needs one won afterstate that a slide makes.
  Several spawns can share one.  In each layer, few afterstates are chosen such that every spawn has one
  (greedy hitting set);
* of a refutation: each listed board names a spawn after which all slides make lost afterstates.  It is
  the spawn that adds the fewest boards to the list.

If the search has forgotten or never decided a needed afterstate, it decides it now.  `check` checks the
file with the rules alone; docs/format.md specifies the format.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, Protocol

import numpy as np
import numpy.typing as npt

from tilebase import check
from tilebase._kernels import force as kernels
from tilebase._kernels.arguments import ForceScratch
from tilebase._kernels.packed import packed
from tilebase.errors import ResourceError, UsageError
from tilebase.files.format import cells_of
from tilebase.files.source import check_output, is_certificate
from tilebase.game.compiled import CompiledGame
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical, canonical_starts
from tilebase.runtime.documents import to_json
from tilebase.runtime.progress import Pace, Progress
from tilebase.runtime.storage import atomic_file, storage_errors

Array = npt.NDArray[Any]
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
PIECE = 1 << 12
"""Boards that are processed at a time."""


class Results(Protocol):
    """What a certificate is made from.  `search.search.Search` and `bdd.proofs.SetResults` are such."""

    @property
    def game(self) -> Game:
        """The game."""

    @property
    def compiled(self) -> CompiledGame:
        """The game for kernels."""

    def known(self, keys: Array) -> Array:
        """Return `WON`, `LOST` or `UNKNOWN` of `_kernels.force` for each canonical key."""

    def decide(self, key: int) -> bool | None:
        """Return whether a canonical afterstate is won."""


def check_target(path: Path, game: Game) -> None:
    """Raise an error unless a certificate of a game can be written to a file: before the work begins.

    That is a `UsageError` if certificates do not support the rules, as of `check_output`, or if the file is a
    certificate of another question; one of this question is replaced.  Raises `StorageError` if it cannot be
    written.
    """
    without_goal = game.goal is None and game.goal_sum is None and not game.patterns
    if game.walls or without_goal:
        raise UsageError(
            "a certificate is for a game with a goal, a goal sum or a pattern, without walls: leave these out"
        )
    check_output(path, over_proof=True)
    if is_certificate(path) and not _is_about(path, game):
        raise UsageError(f"{path} proves something else: name another file, or delete it")


def _is_about(path: Path, game: Game) -> bool:
    """Return whether the header of a certificate is of this game and its starts: then its claim is, too."""
    try:
        with path.open("rb") as file:
            file.readline()
            line = gzip.GzipFile(fileobj=file).readline(check.LONGEST_HEADER).decode()
        header, _ = check.read_header(line)
    except Exception:  # a damaged or hostile file may raise anything: nobody knows what it proves
        return False
    starts = _canonical_afters(game) or canonical_starts(game)
    if header["claim"] != "forced":  # of a refutation, one start is enough
        begun = header["starts"] or header.get("afterstates") or [""]
        starts = [board for board in starts if (_word(game, board) if any(board) else "") in begun]
    listed = starts if any(map(any, starts)) else []
    return bool(starts) and header == _header(game, listed, header["claim"], header["boards"])


def write_certificate(
    path: Path,
    search: Results,
    forced: bool,
    *,
    most: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> int:
    """Write the certificate of the result of a search; return the number of listed boards.

    `check_target` has found that it can be written.
    `progress` is called after each sum.  The final number of boards is not known before the end.
    Raises `ResourceError` if more than `most` boards would be listed, if that is given; `StorageError` if the
    file cannot be written; then no file is left.
    """
    game, pace = search.game, Pace(progress, "boards")
    closure = _Strategy(search) if forced else _Refutation(search)
    starts = closure.begin()
    # The body is a file without a name, so that nothing is left of it, even after a kill.
    with storage_errors(path), TemporaryFile(dir=path.absolute().parent) as body, atomic_file(path) as whole:
        boards = 0
        with gzip.GzipFile("", "wb", fileobj=body, mtime=0) as file:
            while (total := closure.next_sum()) is not None:
                for lines, count in closure.lines(total):
                    file.write(lines)
                    boards += count
                    if most is not None and boards > most:
                        raise ResourceError(
                            f"{path} would list more than {most:,} boards, so it is not written"
                        )
                if pace.due():
                    pace.report(total, "list", boards, 0.0)
        header = _header(game, starts, "forced" if forced else "not forced", boards)
        _assemble(whole, gzip.compress(to_json(header).encode() + b"\n", mtime=0), body)
    return boards


def _header(game: Game, starts: list[Cells], claim: str, boards: int) -> dict[str, Any]:
    """Return what a certificate says of the game and of itself; `starts` is empty for the empty board."""
    words = [_word(game, board) for board in starts]
    after = bool(game.start_afters)
    header = {
        "shape": game.shape_text,
        "goal": game.goal,
        "drops": [2**e for e in game.spawn_exponents],
        "limits": _limits(game),
        "starts": [] if after else words,
        "claim": claim,
        "boards": boards,
    }
    if game.goal_sum is not None:
        header["goal_sum"] = game.goal_sum
    if game.unmergeable:
        header["x"] = len(game.unmergeable)
    if game.horizon is not None:
        header["horizon"] = game.horizon
    if game.masks:
        header["masks"] = [game.mask_text(mask).replace("/", "") for mask in game.masks]
    if game.patterns:
        header["patterns"] = [_word(game, pattern) for pattern in game.patterns]
    return header | ({"afterstates": words} if after and words else {})


def _limits(game: Game) -> list[int] | None:
    """Return the limits; those above all tiles that play can make are written as one number."""
    if game.limits is None:
        return None
    largest = max(game.tops)
    goal = (game.goal_exponent or 0) == largest + 1
    return [min(limit, 2 ** (largest + goal)) for limit in game.limits]


def _word(game: Game, board: Sequence[int | None]) -> str:
    """Return a board, or a pattern with any tile on some cells, in the text of a certificate."""
    return "".join(
        "*" if e is None else "x" if game.unmergeable and e == game.x else DIGITS[e] for e in board
    )


def _assemble(whole: BinaryIO, header: bytes, body: IO[bytes]) -> None:
    """Write a checksum of all that follows, the header, and the boards: two members of one gzip file."""
    digest = hashlib.sha256(header)
    body.seek(0)
    while piece := body.read(1 << 20):
        digest.update(piece)
    body.seek(0)
    whole.write(f"tilebase certificate 1 {digest.hexdigest()}\n".encode() + header)
    shutil.copyfileobj(body, whole)


class _Closure:
    """The boards that a certificate must list, sum by sum: closed under the moves of the other side."""

    def __init__(self, search: Results) -> None:
        self.search, self.game = search, search.game
        self._scratch = packed(ForceScratch.of(kernels.WIDTH))

    def follow(self, keys: Array) -> tuple[Array, Array, Array]:
        """Return the afterstates that can follow each spawn on some boards of one sum.

        Returns one row per spawn (board, spawn, first and last + 1 of its afterstates, whether a slide
        wins at once), the canonical afterstates, and what the search knows of them.
        """
        spawns = np.zeros((64 * len(keys), 5), dtype=np.int64)
        boards = np.zeros(kernels.WIDTH * len(keys), dtype=np.uint64)
        n, m = kernels.follow_all(keys, self.search.compiled.rules, self._scratch, spawns, boards)
        return spawns[:n], boards[:m], self.search.known(boards[:m])

    def after(self, state: Cells) -> list[int] | None:
        """Return the keys of the afterstates of a state; None if a slide wins."""
        afters = self.game.slides(state).values()
        if any(self.game.wins(after) for after in afters):
            return None
        return sorted({self.game.pack(canonical(self.game, after)) for after in afters})

    def words(self, keys: Array) -> Array:
        """Return the boards in the text of a certificate: uint8[board, cell]."""
        game = self.game
        signs = DIGITS.ljust(game.x)[: game.x] + "x" if game.unmergeable else DIGITS
        digits: Array = np.frombuffer(signs.encode(), dtype=np.uint8)
        return digits[cells_of(game, keys).T]


class _Strategy(_Closure):
    """A certificate of a win: after each spawn on a listed board, a slide makes a listed board."""

    def __init__(self, search: Results) -> None:
        super().__init__(search)
        # By sum: groups of won afterstates, numbered; the certificate needs one of each group.
        self._wanted: dict[int, list[tuple[Array, Array]]] = {}

    def _want(self, total: int, groups: Array, keys: Array) -> None:
        self._wanted.setdefault(total, []).append((groups, keys))

    def begin(self) -> list[Cells]:
        """Request a board for each start; return the starts (none for the empty board)."""
        game = self.game
        if game.start_afters:
            begun = _canonical_afters(game)
            for after in begun:
                self._want(game.sum(after), np.zeros(1, np.int64), np.array([game.pack(after)], np.uint64))
            return begun if any(map(any, begun)) else []
        starts = canonical_starts(game)
        for state in starts:
            afters = self.after(state)
            if afters is not None:
                won = np.array([key for key in afters if self.search.decide(key)], dtype=np.uint64)
                self._want(game.sum(state), np.zeros(len(won), dtype=np.int64), won)
        return starts

    def next_sum(self) -> int | None:
        """Return the least sum with requested boards."""
        return min(self._wanted, default=None)

    def lines(self, total: int) -> Iterator[tuple[bytes, int]]:
        """Choose the boards of a sum and request those that follow; yield lines in pieces, with counts."""
        keys = hitting_set(self._wanted.pop(total))
        for at in range(0, len(keys), PIECE):
            piece = keys[at : at + PIECE]
            self._cover(total, piece)
            ends = np.full((len(piece), 1), ord("\n"), dtype=np.uint8)
            yield np.concatenate([self.words(piece), ends], axis=1).tobytes(), len(piece)

    def _cover(self, total: int, keys: Array) -> None:
        spawns, boards, known = self.follow(keys)
        won = known == kernels.WON
        before = np.concatenate([[0], np.cumsum(won)])
        spawns = spawns[spawns[:, 4] == 0]
        for spawn in spawns[before[spawns[:, 3]] == before[spawns[:, 2]]]:
            # The search has forgotten which afterstate is won: find one again.
            reply = next(j for j in range(spawn[2], spawn[3]) if self.search.decide(int(boards[j])))
            won[reply] = True
        for exponent in self.game.spawn_exponents:
            here = spawns[spawns[:, 1] % 2 == exponent - 1]
            spans = here[:, 3] - here[:, 2]
            groups = np.repeat(np.arange(len(here)), spans)
            positions = np.repeat(here[:, 3] - np.cumsum(spans), spans) + np.arange(spans.sum())
            if len(here):
                self._want(total + 2**exponent, groups[won[positions]], boards[positions[won[positions]]])


class _Refutation(_Closure):
    """A certificate of a loss: each listed board names a spawn after which all slides make listed boards."""

    def __init__(self, search: Results) -> None:
        super().__init__(search)
        self._wanted: dict[int, set[int]] = {}  # by sum

    def begin(self) -> list[Cells]:
        """Request the boards for a lost start; return the start (none for the empty board)."""
        game = self.game
        for after in _canonical_afters(game):
            key = game.pack(after)
            if not self.search.decide(key):
                self._wanted[game.sum(after)] = {key}
                return [after] if any(after) else []
        # First the starts that are known to be lost, since deciding others takes time.
        for state in sorted(canonical_starts(game), key=lambda state: not self._is_known(state)):
            follow = self.after(state)
            if follow is not None and not any(self.search.decide(key) for key in follow):
                # What a slide makes at the horizon is lost, and not listed.
                self._wanted[game.sum(state)] = set() if game.ended(game.sum(state)) else set(follow)
                return [state]
        raise UsageError(f"no start of {game} is lost")

    def _is_known(self, state: Cells) -> bool:
        afters = self.after(state)
        return afters is not None and bool(
            self.game.ended(self.game.sum(state))
            or (self.search.known(np.array(afters, dtype=np.uint64)) == kernels.LOST).all()
        )

    def next_sum(self) -> int | None:
        """Return the least sum with requested boards."""
        return min((total for total, keys in self._wanted.items() if keys), default=None)

    def lines(self, total: int) -> Iterator[tuple[bytes, int]]:
        """Request the boards that follow those of a sum; yield lines in pieces, with counts."""
        keys = np.array(sorted(self._wanted.pop(total)), dtype=np.uint64)
        for at in range(0, len(keys), PIECE):
            piece = keys[at : at + PIECE]
            spawns, boards, known = self.follow(piece)
            lost = (known == kernels.LOST).tolist()
            afters = boards.tolist()
            by_board: list[list[list[int]]] = [[] for _ in piece]
            for spawn in spawns.tolist():
                if not spawn[4]:
                    by_board[spawn[0]].append(spawn)
            words = self.words(piece)
            yield (
                b"".join(
                    b"%b %d\n" % (word.tobytes(), self._rest(total, options, afters, lost))
                    for word, options in zip(words, by_board, strict=True)
                ),
                len(piece),
            )

    def _rest(self, total: int, options: list[list[int]], afters: list[int], lost: list[bool]) -> int:
        """Return the spawn to name: all afterstates after it are lost, and the fewest of them are new."""
        best: tuple[int, int, list[int]] | None = None
        for _, code, begin, end, _ in options:
            if all(lost[begin:end]):
                there = self._wanted.setdefault(total + 2 + 2 * (code % 2), set())
                new = [key for key in afters[begin:end] if key not in there]
                if best is None or len(new) < best[0]:
                    best = len(new), code, new
        if best is None:
            # The search has forgotten which spawn it is: find one again.
            for _, code, begin, end, _ in options:
                if not any(self.search.decide(key) for key in afters[begin:end]):
                    best = end - begin, code, afters[begin:end]
                    break
        assert best is not None
        self._wanted.setdefault(total + 2 + 2 * (best[1] % 2), set()).update(best[2])
        return best[1]


def _canonical_afters(game: Game) -> list[Cells]:
    """Return the boards on which the first tile is spawned, one of each orbit; none if the player begins."""
    return sorted({canonical(game, after) for after in game.start_afters})


def hitting_set(wanted: list[tuple[Array, Array]]) -> Array:
    """Few keys, ascending, such that each group holds at least one of them.

    An entry of `wanted` is two arrays: the number of a group, and a key of that group.  The key of a group
    with one key is always taken.  Then, in rounds, a key is taken if, in each of its open groups, no other
    key is in more open groups.

    >>> groups, keys = np.array([0, 0, 1, 1, 2, 2]), np.array([1, 2, 2, 3, 2, 4], dtype=np.uint64)
    >>> hitting_set([(groups, keys)])
    array([2], dtype=uint64)
    """
    offset, numbers = 0, []
    for groups, _ in wanted:
        numbers.append(groups + offset)
        offset += int(groups[-1]) + 1 if len(groups) else 0
    group = np.concatenate(numbers)
    key = np.concatenate([keys for _, keys in wanted])
    distinct, rank = np.unique(key, return_inverse=True)
    taken = np.zeros(len(distinct), dtype=bool)
    sizes = np.bincount(group, minlength=offset)
    taken[rank[sizes[group] == 1]] = True
    while True:
        covered = np.zeros(offset, dtype=bool)
        covered[group[taken[rank]]] = True
        kept = ~covered[group]
        group, rank = group[kept], rank[kept]
        if not len(group):
            return distinct[taken]
        # In each group, the key that is in most groups; the least key of several.
        weight = np.bincount(rank, minlength=len(distinct)) * len(distinct) + np.arange(len(distinct))[::-1]
        most = np.zeros(offset, dtype=np.int64)
        np.maximum.at(most, group, weight[rank])
        best = weight[rank] == most[group]
        wins = np.bincount(rank[best], minlength=len(distinct))
        everywhere = wins == np.bincount(rank, minlength=len(distinct))
        taken |= everywhere & (wins > 0)
