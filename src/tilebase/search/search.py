"""The forced-win search on all threads: which afterstates the player wins against every spawn.

All threads search the same afterstate depth first, each in a slightly different order.  They share
one table of decided afterstates (`_kernels.force`), so that no thread searches what another one has
decided.  Two threads together open hardly more afterstates than one thread alone.
"""

from __future__ import annotations

import logging
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import force as kernels
from tilebase._kernels.arguments import Decided, ForceScratch, SearchPath
from tilebase._kernels.packed import packed
from tilebase.errors import CorruptError, ResourceError, WrongGameError
from tilebase.files.places import DECIDED
from tilebase.game.compiled import CompiledGame
from tilebase.game.game import Game
from tilebase.game.notation import count_of
from tilebase.runtime.documents import digest_of
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import OVERHEAD, Allowance
from tilebase.runtime.storage import atomic_file, storage_errors
from tilebase.runtime.threads import Pool

LOG = logging.getLogger(__name__)
Array = npt.NDArray[Any]

LEAST_BITS = 13
"""log2 of the lines of a new table; a line has 64 bytes.  A table is doubled when it is 5/8 full."""
FIRST_SLICE, SLICE = 1 << 9, 1 << 16
"""Afterstates that a thread opens between two synchronisations of the threads: at first, and at most."""
SAVE_SECONDS = 600.0
"""Seconds after which the decided afterstates are saved; a kill loses at most so much work."""
PIECE = 1 << 14
"""Lines of the table that are processed at a time."""
SPREAD = 0x9E3779B97F4A7C15
MAGIC, HEAD, CRC = b"decided\n", struct.Struct("<8s4q"), struct.Struct("<I")
"""A file of decided afterstates: its head (`MAGIC`, the layout of the table, the game, how many entries were
made, the lines of the table), the table, and the CRC-32 of both."""


def _empty_table(bits: int) -> Array:
    """Return a table of ``2**bits`` lines, each in one cache line."""
    size = kernels.LINE << bits
    whole = np.zeros(size + kernels.LINE, dtype=np.uint64)
    begin = -whole.ctypes.data // whole.itemsize % kernels.LINE
    return whole[begin : begin + size]


def _read_head(head: bytes, size: int) -> tuple[int, int, int]:
    """Read the head of a file of `size` bytes: the game, how many entries were made, and the lines.

    Raises `ValueError`.
    """
    magic, layout, game, entered, lines = HEAD.unpack(head)
    if (magic, layout) != (MAGIC, kernels.LAYOUT):
        raise ValueError("a table of another version")
    expected = HEAD.size + 8 * kernels.LINE * lines + CRC.size
    if lines < 16 or lines & lines - 1 or entered < 0 or size != expected:
        raise ValueError("no table of decided afterstates")
    return game, entered, lines


def _listed(part: Array, bits: int, first: int) -> tuple[Array, Array]:
    """Return the afterstates of a part of a table, and whether they are won."""
    keys, won = np.zeros(len(part), dtype=np.uint64), np.zeros(len(part), dtype=np.uint8)
    n = kernels.list_entries(part, np.uint64(bits), first, keys, won)
    return keys[:n], won[:n]


class Facts:
    """The decided afterstates, won or lost, in a table that may forget entries if memory is short.

    Keys are canonical packed boards (uint64).
    """

    def __init__(self, nbytes: int, game: int) -> None:
        self.game = game  # a number that stands for the game, to recognise files of other games
        # Doubling needs the old and the new table in memory: 1.5 times the new one.
        self._most_bits = max(int(nbytes / 1.5) >> 6, 16).bit_length() - 1
        self.bits = min(LEAST_BITS, self._most_bits)
        self.table = _empty_table(self.bits)
        self.entered = 0

    @property
    def decided(self) -> Decided:
        """The table as an argument of kernels."""
        return Decided(self.table, np.uint64(self.bits))

    def known(self, keys: Array) -> Array:
        """Return `WON`, `LOST` or `UNKNOWN` of `_kernels.force` for each key."""
        found = np.zeros(len(keys), dtype=np.int64)
        kernels.look_up_all(self.decided, keys, found)
        return found

    def enter(self, keys: Array, won: Array) -> None:
        """Add decided afterstates."""
        for at in range(0, len(keys), PIECE):
            self.grow(PIECE)
            piece = slice(at, at + PIECE)
            kernels.enter_all(self.decided, keys[piece], won[piece])
            self.entered += len(keys[piece])

    def entries(self) -> Iterator[tuple[Array, Array]]:
        """Yield all entries: keys, and whether they are won."""
        for first in range(0, 1 << self.bits, PIECE):
            part = self.table[first * kernels.LINE : (first + PIECE) * kernels.LINE]
            yield _listed(part, self.bits, first)

    def grow(self, coming: int) -> None:
        """Double the table until it is at most 5/8 full with `coming` more entries, as memory allows."""
        while 8 * (self.entered + coming) > 5 * len(self.table) and self.bits < self._most_bits:
            pieces = self.entries()
            wider = _empty_table(self.bits + 1)
            for keys, won in pieces:
                kernels.enter_all(Decided(wider, np.uint64(self.bits + 1)), keys, won)
            self.table = wider
            self.bits += 1
            LOG.debug("the table of decided afterstates has %d MiB now", wider.nbytes >> 20)

    def save(self, path: Path) -> None:
        """Write the table to a file, whole or not at all.  Raises `StorageError`."""
        head = HEAD.pack(MAGIC, kernels.LAYOUT, self.game, self.entered, 1 << self.bits)
        data = self.table.astype("<u8", copy=False).data
        with atomic_file(path) as file:
            file.write(head)
            file.write(data)
            file.write(CRC.pack(zlib.crc32(data, zlib.crc32(head))))

    def load(self, path: Path) -> None:
        """Read the table of a file, if it exists, as far as it fits into memory.

        Raises `CorruptError`, `WrongGameError` or `StorageError`; what was read until then remains.
        """
        if not path.exists():
            return
        try:
            with storage_errors(path, "read"), path.open("rb") as file:
                head = file.read(HEAD.size)
                game, entered, lines = _read_head(head, path.stat().st_size)
                crc, bits = zlib.crc32(head), lines.bit_length() - 1
                fits = bits <= self._most_bits
                if fits:
                    self.table, self.bits = _empty_table(bits), bits
                for first in range(0, lines, PIECE):
                    size = min(PIECE, lines - first) * kernels.LINE
                    part = np.frombuffer(file.read(8 * size), dtype="<u8", count=size)
                    crc = zlib.crc32(part.data, crc)
                    if fits:
                        self.table[first * kernels.LINE :][:size] = part
                    else:
                        self.enter(*_listed(part.astype(np.uint64), bits, first))
                if CRC.pack(crc) != file.read():
                    raise ValueError("another checksum")
        except (ValueError, struct.error) as error:
            raise CorruptError(
                f"{path} is damaged, or of another version: delete it and search again"
            ) from error
        if game != self.game:
            raise WrongGameError(f"{path} belongs to another game: delete it, and run the command again")
        self.entered = max(self.entered, entered)


class _Seeker:
    """One thread's path through the game, and its buffers."""

    def __init__(self, number: int) -> None:
        self.seed = np.uint64(number * SPREAD % (1 << 64))
        self.path = SearchPath(
            np.zeros(1 << 10, dtype=np.uint64),
            np.full((1 << 10, 2), -1, dtype=np.int64),
            np.zeros(1 << 16, dtype=np.uint64),
        )
        self.scratch = packed(ForceScratch.of(kernels.WIDTH))
        self.counts = np.zeros(6, dtype=np.int64)
        self.depth = 0
        self.found = 0  # the depth after the last slice, or `kernels.FULL`

    def begin(self, key: int) -> None:
        """Start the path at an afterstate."""
        self.depth = 0
        self.path.boards[0] = key
        self.path.spans[0] = 0, -1

    def widen(self) -> None:
        """Double the memory for the path."""
        self.depth = int(self.counts[5])
        boards, spans, pool = self.path
        self.path = SearchPath(
            np.concatenate([boards, np.zeros_like(boards)]),
            np.concatenate([spans, np.full_like(spans, -1)]),
            np.concatenate([pool, np.zeros_like(pool)]),
        )

    @property
    def share(self) -> float:
        """The share of the spawns along the path that are decided: a rough estimate of the progress."""
        done, weight, begin = 0.0, 1.0, 0
        for d in range(min(self.depth, 40)):
            at, end = self.path.spans[d]
            records = max(end - begin, 1)
            done += weight * float(at - begin) / records
            weight *= (1.0 + float(self.path.pool[at])) / records
            begin = end
        return min(max(done, 0.0), 1.0)


class Search:
    """The search of one game; `force` is the public function.

    `folder`, if given, stores the decided afterstates, so that a search can continue after an interruption.
    `deadline` is the time of `time.perf_counter` at which the search gives up; what it takes to begin, when
    kernels are compiled, is added to it.
    """

    def __init__(
        self, game: Game, allowed: Allowance, *, folder: Path | None = None, deadline: float = float("inf")
    ) -> None:
        began = time.perf_counter()
        self.game, self.compiled = game, CompiledGame(game)
        memory = allowed.memory
        if memory < OVERHEAD // 4:
            raise ResourceError(f"a search needs {OVERHEAD >> 22} MiB of memory at least")
        self.facts = Facts(max(memory - OVERHEAD, memory // 4), int(digest_of(game.identity), 16))
        self._neighbours = _neighbours(game)
        self._seekers = [_Seeker(number) for number in range(allowed.threads)]
        self._pool = Pool(allowed.threads)
        self._file = None if folder is None else folder / DECIDED
        self._pace = Pace(allowed.progress, "afterstates")
        self._saved = time.perf_counter()
        self._slice, self._begun = FIRST_SLICE, False
        if self._file is not None:
            self.facts.load(self._file)
        LOG.debug(
            "searching %s with %s: %d afterstates are decided already",
            game, count_of(allowed.threads, "thread"), self.facts.entered,
        )  # fmt: skip
        self.deadline = deadline + time.perf_counter() - began

    def close(self) -> None:
        """Stop the threads."""
        self._pool.close()

    @property
    def opened(self) -> int:
        """Afterstates that were opened; with one thread the number is the same in each run."""
        return sum(int(seeker.counts[0]) for seeker in self._seekers)

    def known(self, keys: Array) -> Array:
        """Return `WON`, `LOST` or `UNKNOWN` of `_kernels.force` for each canonical key."""
        return self.facts.known(keys)

    def decide(self, key: int) -> bool | None:
        """Return whether a canonical afterstate is won; None if time ran out.  Raises `StorageError`."""
        if self.game.horizon is not None and self.game.ended(self.game.sum(self.game.unpack(key))):
            return False
        since, root = time.perf_counter(), np.array([key], dtype=np.uint64)
        for seeker in self._seekers:
            seeker.begin(key)
        while (known := int(self.facts.known(root)[0])) == kernels.UNKNOWN:
            if time.perf_counter() > self.deadline and (self._begun or since > self.deadline):
                return None
            self._step()
            if not self._begun:
                self._begun = True
                self.deadline += time.perf_counter() - since
            if time.perf_counter() - self._saved > SAVE_SECONDS:
                self.save()
        return known == kernels.WON

    def _step(self) -> None:
        """Let all threads open some afterstates; then enlarge the table if needed."""
        facts = self.facts
        before = self.opened
        facts.grow(len(self._seekers) * self._slice)

        def work(seeker: _Seeker, _: Event) -> None:
            seeker.found = kernels.search(
                seeker.depth, self._slice, self.compiled.rules, self._neighbours, seeker.seed, facts.decided,
                seeker.path, seeker.scratch, seeker.counts,
            )  # fmt: skip

        try:
            self._pool.together(work, self._seekers)
        finally:  # also after Ctrl-C, which waits for less than 0.1 s: then all paths can be continued
            self._settle(before)
        self._slice = min(2 * self._slice, SLICE)
        first = self._seekers[0]
        self._pace.report(first.depth, "search", self.opened, first.share)

    def _settle(self, before: int) -> None:
        for seeker in self._seekers:
            if seeker.found == kernels.FULL:
                seeker.widen()
            else:
                seeker.depth = max(seeker.found, 0)
        self.facts.entered += self.opened - before

    def save(self) -> None:
        """Save the decided afterstates, if there is a folder.  Raises `StorageError`."""
        self._saved = time.perf_counter()
        if self._file is not None:
            self.facts.save(self._file)
            LOG.debug("%d decided afterstates are saved in %s", self.facts.entered, self._file)


def _neighbours(game: Game) -> Array:
    """Distances in bits between neighbouring cells, and the lowest bits of the later cell of each pair."""
    found: dict[int, int] = {}
    for cell, other in game.grid.neighbours:
        low_bit = 1 << game.bits * (game.cells - 1 - other)
        found[game.bits * (other - cell)] = found.get(game.bits * (other - cell), 0) | low_bit
    return np.array(sorted(found.items()), dtype=np.uint64).reshape(-1, 2)
