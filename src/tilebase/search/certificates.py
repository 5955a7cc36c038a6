"""Certificates: forced wins as strategies, refutations as drops, small and easy to check.

A search (`search.search`) knows for each afterstate that it decided whether it is won.  From that a
certificate is taken sum by sum, the least first:

* of a win: each drop on a board listed wants one of the won afterstates that slides make then.  Drops
  share them: in each layer few afterstates are chosen so that every drop has one (greedy hitting set);
* of a refutation: each board listed names a drop after which all slides make lost afterstates.
  The drop is chosen that adds fewest boards to those already listed.

What the search has forgotten or never looked at is decided when it is needed.  `check` checks the file with
nothing but the rules; how it is written stands in docs/force.md.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from tilebase._kernels import force as kernels
from tilebase._kernels.arguments import ForceScratch
from tilebase.errors import UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical, canonical_starts
from tilebase.runtime.progress import Pace, Progress
from tilebase.runtime.storage import atomic_file, storage_errors
from tilebase.search.search import Search

Array = npt.NDArray[Any]
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
PIECE = 1 << 12
"""Boards that are followed at a time."""


def check_certifiable(game: Game) -> None:
    """Raise `UsageError` unless certificates are for such a game."""
    without_goal = game.goal is None and game.goal_sum is None
    if game.walls or game.unmergeable or game.pattern or game.largest or without_goal:
        raise UsageError(
            "a certificate is for a shape, a goal or a goal sum, limits and spawned tiles: leave out all "
            "other rules"
        )


def write_certificate(
    path: Path, search: Search, forced: bool, *, progress: Callable[[Progress], None] | None = None
) -> int:
    """Write the certificate of what a search found; return the number of boards listed.

    `progress` is called after each sum; how many boards there will be is not known.

    Raises
    ------
    UsageError
        If the game has walls, tiles x, a pattern or a bound on the largest tile: certificates do not.
    StorageError
        If the file cannot be written; then there is none.
    """
    game, goal = search.game, search.game.goal
    check_certifiable(game)
    pace = Pace(progress, "boards")
    closure = _Strategy(search) if forced else _Refutation(search)
    starts = closure.begin()
    # The body has no name, so that nothing stays of it, even after a kill.
    with storage_errors(path), TemporaryFile(dir=path.absolute().parent) as body, atomic_file(path) as whole:
        boards = 0
        with gzip.GzipFile("", "wb", fileobj=body, mtime=0) as file:
            while (total := closure.next_sum()) is not None:
                for lines, count in closure.lines(total):
                    file.write(lines)
                    boards += count
                if pace.due():
                    pace.report(total, "list", boards, 0.0)
        header = {
            "shape": game.shape_text,
            "goal": goal,
            "drops": [2**e for e in game.spawn_exponents],
            # Above the goal all limits say the same.
            "limits": None if game.limits is None else [min(limit, goal or limit) for limit in game.limits],
            "starts": ["".join(DIGITS[e] for e in state) for state in starts],
            "claim": "forced" if forced else "not forced",
            "boards": boards,
        }
        if game.goal_sum is not None:
            header["goal_sum"] = game.goal_sum
        _assemble(whole, gzip.compress(json.dumps(header).encode() + b"\n", mtime=0), body)
    return boards


def _assemble(whole: BinaryIO, header: bytes, body: IO[bytes]) -> None:
    """The checksum of all that follows, the header, the boards: two members of one gzip file."""
    digest = hashlib.sha256(header)
    body.seek(0)
    while piece := body.read(1 << 20):
        digest.update(piece)
    body.seek(0)
    whole.write(f"tilebase certificate 1 {digest.hexdigest()}\n".encode() + header)
    shutil.copyfileobj(body, whole)


class _Closure:
    """Boards that a certificate has to list, sum by sum; closed under what the other side can do."""

    def __init__(self, search: Search) -> None:
        self.search, self.game, self.facts = search, search.game, search.facts
        self._scratch = ForceScratch.of(kernels.WIDTH)

    def follow(self, keys: Array) -> tuple[Array, Array, Array]:
        """What follows each drop on some boards of one sum.

        Rows of numbers (board, drop, first and last + 1 of what follows, whether a slide wins at once), the
        canonical afterstates that follow, and what is known of them.
        """
        drops = np.zeros((64 * len(keys), 5), dtype=np.int64)
        boards = np.zeros(kernels.WIDTH * len(keys), dtype=np.uint64)
        n, m = kernels.follow_all(keys, self.search.compiled.rules, self._scratch, drops, boards)
        return drops[:n], boards[:m], self.facts.known(boards[:m])

    def after(self, state: Cells) -> list[int] | None:
        """Keys of the afterstates of a state; None if a slide wins."""
        afters = self.game.slides(state).values()
        if any(self.game.wins(after) for after in afters):
            return None
        return sorted({self.game.pack(canonical(self.game, after)) for after in afters})

    def words(self, keys: Array) -> Array:
        """Boards as they are listed: uint8[board, cell]."""
        game = self.game
        shifts = np.arange(game.cells - 1, -1, -1, dtype=np.uint64) * np.uint64(game.bits)
        digits: Array = np.frombuffer(DIGITS.encode(), dtype=np.uint8)
        words: Array = digits[(keys[:, None] >> shifts & np.uint64(game.x)).astype(np.int64)]
        return words


class _Strategy(_Closure):
    """Of a win: each drop on a board listed has an answer that is listed."""

    def __init__(self, search: Search) -> None:
        super().__init__(search)
        # By sum: groups of won afterstates, numbered, of each of which one is wanted.
        self._wanted: dict[int, list[tuple[Array, Array]]] = {}

    def _want(self, total: int, groups: Array, keys: Array) -> None:
        self._wanted.setdefault(total, []).append((groups, keys))

    def begin(self) -> list[Cells]:
        """Want what the starts need; return them, none for the empty board."""
        game = self.game
        if game.start == "empty":
            self._want(0, np.zeros(1, dtype=np.int64), np.array([game.pack(game.empty_board)], np.uint64))
            return []
        starts = canonical_starts(game)
        for state in starts:
            afters = self.after(state)
            if afters is not None:
                won = np.array([key for key in afters if self.search.decide(key)], dtype=np.uint64)
                self._want(game.sum(state), np.zeros(len(won), dtype=np.int64), won)
        return starts

    def next_sum(self) -> int | None:
        """The least sum of which boards are wanted."""
        return min(self._wanted, default=None)

    def lines(self, total: int) -> Iterator[tuple[bytes, int]]:
        """Choose the boards of a sum, and want what they need; their lines in pieces, and how many."""
        keys = hitting_set(self._wanted.pop(total))
        for at in range(0, len(keys), PIECE):
            piece = keys[at : at + PIECE]
            self._answer(total, piece)
            ends = np.full((len(piece), 1), ord("\n"), dtype=np.uint8)
            yield np.concatenate([self.words(piece), ends], axis=1).tobytes(), len(piece)

    def _answer(self, total: int, keys: Array) -> None:
        drops, boards, known = self.follow(keys)
        won = known == kernels.WON
        before = np.concatenate([[0], np.cumsum(won)])
        drops = drops[drops[:, 4] == 0]
        for drop in drops[before[drops[:, 3]] == before[drops[:, 2]]]:
            # The search has forgotten which: find one again.
            answer = next(j for j in range(drop[2], drop[3]) if self.search.decide(int(boards[j])))
            won[answer] = True
        for exponent in self.game.spawn_exponents:
            here = drops[drops[:, 1] % 2 == exponent - 1]
            spans = here[:, 3] - here[:, 2]
            groups = np.repeat(np.arange(len(here)), spans)
            places = np.repeat(here[:, 3] - np.cumsum(spans), spans) + np.arange(spans.sum())
            if len(here):
                self._want(total + 2**exponent, groups[won[places]], boards[places[won[places]]])


class _Refutation(_Closure):
    """Of a loss: each board listed names a drop after which all slides make boards that are listed."""

    def __init__(self, search: Search) -> None:
        super().__init__(search)
        self._wanted: dict[int, set[int]] = {}  # by sum

    def begin(self) -> list[Cells]:
        """Want what the worst start needs; return it, none for the empty board."""
        game = self.game
        if game.start == "empty":
            self._wanted[0] = {game.pack(game.empty_board)}
            return []
        # One that is known to be lost first: others may be undecided.
        for state in sorted(canonical_starts(game), key=lambda state: not self._is_known(state)):
            afters = self.after(state)
            if afters is not None and not any(self.search.decide(key) for key in afters):
                self._wanted[game.sum(state)] = set(afters)
                return [state]
        raise UsageError(f"no start of {game} is lost")

    def _is_known(self, state: Cells) -> bool:
        afters = self.after(state)
        return afters is not None and bool(
            (self.facts.known(np.array(afters, dtype=np.uint64)) == kernels.LOST).all()
        )

    def next_sum(self) -> int | None:
        """The least sum of which boards are wanted."""
        return min((total for total, keys in self._wanted.items() if keys), default=None)

    def lines(self, total: int) -> Iterator[tuple[bytes, int]]:
        """The boards of a sum with their drops, in pieces, and how many; want what follows those."""
        keys = np.array(sorted(self._wanted.pop(total)), dtype=np.uint64)
        for at in range(0, len(keys), PIECE):
            piece = keys[at : at + PIECE]
            drops, boards, known = self.follow(piece)
            lost = (known == kernels.LOST).tolist()
            afters = boards.tolist()
            by_board: list[list[list[int]]] = [[] for _ in piece]
            for drop in drops.tolist():
                if not drop[4]:
                    by_board[drop[0]].append(drop)
            words = self.words(piece)
            yield (
                b"".join(
                    b"%b %d\n" % (word.tobytes(), self._rest(total, options, afters, lost))
                    for word, options in zip(words, by_board, strict=True)
                ),
                len(piece),
            )

    def _rest(self, total: int, options: list[list[int]], afters: list[int], lost: list[bool]) -> int:
        """The drop to name: after it all is lost, and fewest boards are new."""
        best: tuple[int, int, list[int]] | None = None
        for _, code, begin, end, _ in options:
            if all(lost[begin:end]):
                there = self._wanted.setdefault(total + 2 + 2 * (code % 2), set())
                new = [key for key in afters[begin:end] if key not in there]
                if best is None or len(new) < best[0]:
                    best = len(new), code, new
        if best is None:
            # The search has forgotten which: find one again.
            for _, code, begin, end, _ in options:
                if not any(self.search.decide(key) for key in afters[begin:end]):
                    best = end - begin, code, afters[begin:end]
                    break
        assert best is not None
        self._wanted.setdefault(total + 2 + 2 * (best[1] % 2), set()).update(best[2])
        return best[1]


def hitting_set(wanted: list[tuple[Array, Array]]) -> Array:
    """Few keys of which each group has one: ascending.

    `wanted` lists groups, numbered within each entry, and a key of each.  Groups of one key have no
    choice; of the others, in rounds, those keys are taken that are in as many open groups as any other
    key of each of their groups.

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
    order = np.argsort(key, kind="stable")
    rank = np.empty(len(key), dtype=np.int64)
    rank[order] = np.concatenate([[0], np.cumsum(key[order][1:] != key[order][:-1])])
    distinct = key[order][np.concatenate([[True], key[order][1:] != key[order][:-1]])]
    taken = np.zeros(len(distinct), dtype=bool)
    sizes = np.bincount(group, minlength=offset)
    taken[rank[sizes[group] == 1]] = True
    while True:
        answered = np.zeros(offset, dtype=bool)
        answered[group[taken[rank]]] = True
        kept = ~answered[group]
        group, rank = group[kept], rank[kept]
        if not len(group):
            chosen: Array = distinct[taken]
            return chosen
        # In each group the key that is in most groups; the least of those.
        weight = np.bincount(rank, minlength=len(distinct)) * len(distinct) + np.arange(len(distinct))[::-1]
        most = np.zeros(offset, dtype=np.int64)
        np.maximum.at(most, group, weight[rank])
        best = weight[rank] == most[group]
        wins = np.bincount(rank[best], minlength=len(distinct))
        everywhere = wins == np.bincount(rank, minlength=len(distinct))
        taken |= everywhere & (wins > 0)
