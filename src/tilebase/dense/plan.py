"""The plan of a dense pass: its batches, its memory, and its files."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilebase.counting.combinatorics import layers_together
from tilebase.dense.index import PerfectIndex
from tilebase.dense.sizes import LAYERS, Words, mapped_bytes, scratch_bytes, table_bytes
from tilebase.dense.steps import Cut
from tilebase.errors import ResourceError, UsageError
from tilebase.game.notation import count_of
from tilebase.objectives.numbers import byte_text, enough_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import OVERHEAD, Allowance

CUT_BLOCKS = 1 << 22
"""Most blocks that are checked one by one before a pass begins."""
SPARE = 0.05
"""The share of the memory of batches that is kept free where some layers are not checked: one may need more
than the largest (4x4 to 256: 3 % more)."""
MOVED, MOVED_BITS = 11, 5
"""So often a layer is read or written that goes through files in batches (8 to 14 times), or as bits."""
NO_BOUND = 1 << 62
"""Bytes of memory that are enough for everything."""
FILES = 3
"""Layers of bits in files at the same time: two of states, and a third or what slides along columns win."""
EVERY = (0, None)
"""All sums."""
WORTH_BITS = 0.5
"""The most bytes per board for which bits are used; rows of bits have gaps if few half boards share a sum.

If no layer has 2^20 boards, bits are always used."""


@dataclass(frozen=True)
class Plan:
    """What a dense pass will take."""

    boards: int  # of all layers
    largest: int  # boards of the largest layer
    value_bytes: float  # of a value
    table_bytes: int  # of the tables, and of what the threads work in
    whole_bytes: int  # memory to have all layers that are needed at once in memory
    memory: int  # what there is
    batched: bool  # whether layers go through files
    disk_bytes: int  # of the files at the same time; 0 if there are none, checkpoints aside
    words: Words | None = None  # what Boolean values take as bits; None if the values are not kept as bits
    # Words of a window of bits, or of two, where one layer is in memory and the others are in files
    # (`workspace.InWindows`).
    window: int = 0
    # Whether three layers are in memory at a time and not four: so a larger pass fits, and one that is
    # interrupted between fold and slides goes on after the last checkpoint.
    lean: bool = False
    threads: int = 0  # those that work on bits, if memory is short for what more of them work in; else 0
    layers: int = 0  # of bits; else 0
    # Bytes of tables of half boards that lie in files, if memory is short for them, and are read for each
    # layer.
    mapped: int = 0
    # Memory with which Boolean values would be bits, if this is too little but enough for a layer; else 0.
    bits_memory: int = 0

    @classmethod
    def of(cls, index: PerfectIndex, objective: Objective, allowed: Allowance, **options: Any) -> Plan:
        """Return the plan for an objective, with the options of `outline`.

        Raises `ResourceError`, with the memory that is enough, if even batches do not fit.
        """
        try:
            plan = cls.outline(index, objective, allowed, **options)
            lowest = options.get("sums", EVERY)[0]
            if not plan.batched or plan.as_bits or plan.can_be_cut(index, allowed.memory, lowest):
                return plan
        except ResourceError:
            pass  # the least memory is still to be found
        least, _ = cls.least(index, objective, allowed, **options)
        raise ResourceError(
            f"{index.game} needs {enough_text(least)} of memory, even in batches, and "
            f"{byte_text(allowed.memory)} may be used: give more memory, a smaller type of value, or lower "
            "limits"
        )

    @classmethod
    def least(
        cls, index: PerfectIndex, objective: Objective, allowed: Allowance, **options: Any
    ) -> tuple[int, int]:
        """Return the bytes of memory that are enough, in batches, at most a tenth more than the least.

        Second, those that are enough for bits; 0 if bits are of no use.
        """
        ample = replace(allowed, memory=NO_BOUND)
        plan = cls.outline(index, objective, ample, **options | {"bits": False})
        sums = options.get("sums", EVERY)
        least = plan.least_memory(index, sums[0])
        if options.get("bits", True) and objective.is_boolean:
            less = cls.of_bits(index, _sizes(index, sums), replace(allowed, memory=0))
            if less is not None:
                return min(least, less.whole_bytes), less.whole_bytes
        return least, 0

    @property
    def text(self) -> str:
        """How memory is divided, for a log."""
        values = "as bits" if self.as_bits else f"of {self.value_bytes:g} bytes"
        where = "in memory, three at a time" if self.lean else "in memory"
        if self.batched:
            cut = f"windows, with {byte_text(8 * self.window)}," if self.window else "batches"
            where = f"in {cut} through {byte_text(self.disk_bytes)} of files"
        threads = f" for {count_of(self.threads, 'thread')}" if self.threads else ""
        files = f" and {byte_text(self.mapped)} in a file" if self.mapped else ""
        return (
            f"values {values}, layers of {byte_text(self.layer_bytes)} {where}, tables and buffers of "
            f"{byte_text(self.table_bytes)}{threads}{files}, {byte_text(self.memory)} may be used"
        )

    @property
    def as_bits(self) -> bool:
        """Whether Boolean values are bits."""
        return self.words is not None or self.value_bytes < 1

    @property
    def worked(self) -> int:
        """The boards that are worked out: others are mirror images of these."""
        return self.words.boards if self.words is not None else self.boards

    @property
    def base(self) -> int:
        """Bytes that are needed for batches of any size: tables, scratch buffers and the program."""
        return self.table_bytes + OVERHEAD

    @property
    def layer_bytes(self) -> int:
        """Bytes of the layers that a pass in memory has at once."""
        return self.whole_bytes - self.base

    @property
    def waits(self) -> bool:
        """Whether windows of bits are not read while others are worked: there is no memory for two."""
        return self.words is not None and self.window < self.words.two_windows

    @property
    def moved_bytes(self) -> float:
        """Bytes that a pass reads and writes, about; 0 if all layers are in memory."""
        layers = self.batched * (MOVED_BITS if self.window else MOVED) * self.value_bytes * self.boards
        return layers + self.mapped * self.layers

    def can_be_cut(self, index: PerfectIndex, memory: int, lowest: int, *, largest: bool = False) -> bool:
        """Whether the layers from a sum on, or the largest, can be cut into batches that fit into memory."""
        sizes = {s: size for s, size in index.sizes(won=True).items() if s >= lowest}
        # All layers of a small game, some of a large one: to cut a layer means to list its blocks.
        every = max(1, len(sizes) * index.block_count // CUT_BLOCKS)
        spare = 0 if every == 1 else int(SPARE * (memory - self.base))
        plan = replace(self, memory=memory - spare)
        try:
            for total in [max(sizes, key=lambda s: sizes[s]), *([] if largest else sorted(sizes)[::every])]:
                plan.cut(index, total)
        except ResourceError:
            return False
        return True

    def least_memory(self, index: PerfectIndex, lowest: int) -> int:
        """Return the bytes of memory that are enough, at most a tenth more than the least."""
        low, high = self.base, self.whole_bytes
        while high - low > high // 50:
            middle = (low + high) // 2
            if self.can_be_cut(index, middle, lowest, largest=True):
                high = middle
            else:
                low = middle
        while high < self.whole_bytes and not self.can_be_cut(index, high, lowest):
            high += high // 50
        return min(high, self.whole_bytes)

    @classmethod
    def outline(
        cls,
        index: PerfectIndex,
        objective: Objective,
        allowed: Allowance,
        *,
        value_bytes: int = 0,
        sums: tuple[int, int | None] = EVERY,
        bits: bool = True,
    ) -> Plan:
        """Return the plan, without checking that batches fit, which takes seconds for many blocks.

        Values may take other bytes than the objective's; only the sums from the first to the last of `sums`
        are meant.
        Boolean values are bits where these fit into memory and are worth it, unless `bits` says no.  Raises
        `ResourceError` if the tables do not fit.
        """
        sizes = _sizes(index, sums)
        memory, threads, bits_memory = allowed.memory, allowed.threads, 0
        a_layer = max(sizes.values()) / 8 / 2 ** sum(index.mirrors)
        if bits and objective.is_boolean and a_layer <= memory:
            plan = cls.of_bits(index, sizes, allowed)
            if plan is not None and plan.whole_bytes <= memory:
                return plan
            bits_memory = plan.whole_bytes if plan is not None else 0
        size = value_bytes or max(1, int(objective.value_bytes))
        tables = table_bytes(index, merge=objective.merge) + index.nbytes
        tables += threads * scratch_bytes(index, size)
        if tables + OVERHEAD > memory:
            raise ResourceError(
                f"the tables of {index.game} need {(tables + OVERHEAD) / 2**30:.3g} GiB, more than "
                f"{memory / 2**30:.3g} GiB: give more memory or lower limits"
            )
        return replace(cls._of_values(sizes, size, memory, tables), bits_memory=bits_memory)

    @classmethod
    def by_size(
        cls,
        sizes: dict[int, int],
        objective: Objective,
        allowed: Allowance,
        *,
        value_bytes: int = 0,
        bits: bool = True,
    ) -> Plan:
        """Return the plan by sizes alone, without an index: tables and gaps of bits are left out."""
        if bits and objective.is_boolean:
            plan = cls._of_values(sizes, 1 / 8, allowed.memory)
            if not plan.batched:
                return plan
        return cls._of_values(sizes, value_bytes or max(1, int(objective.value_bytes)), allowed.memory)

    @classmethod
    def _of_values(cls, sizes: dict[int, int], size: float, memory: int, tables: int = 0) -> Plan:
        """Return the plan for values of so many bytes."""
        together = int(size * max(layers_together(sizes).values(), default=0))
        whole = together + tables + OVERHEAD
        lean = whole > memory
        if lean:
            whole = int(size * max(layers_together(sizes, lean=True).values())) + tables + OVERHEAD
        batched = whole > memory
        boards, largest = sum(sizes.values()), max(sizes.values(), default=0)
        disk = together if batched else 0
        return cls(boards, largest, size, tables, whole, memory, batched, disk, lean=lean and not batched)

    @classmethod
    def of_bits(
        cls, index: PerfectIndex, sizes: dict[int, int], allowed: Allowance, words: Words | None = None
    ) -> Plan | None:
        """Return the plan for bits, even if its least window is too much; None if bits are of no use.

        `words`, if they are known, are those of the index and the sizes.
        """
        boards, largest, words = sum(sizes.values()), max(sizes.values()), words or Words.of(index, sizes)
        if words is None or 8 * words.layer > WORTH_BITS * max(largest, 1 << 20):
            return None
        tables, large = table_bytes(index, merge=""), mapped_bytes(index)
        plan = cls._by_words(words, boards, largest, tables + index.nbytes, allowed)
        if large and plan.whole_bytes > allowed.memory:
            plan = cls._by_words(words, boards, largest, tables - large + index.nbytes, allowed)
            plan = replace(plan, mapped=large)
        return replace(plan, layers=len(sizes))

    @classmethod
    def _by_words(cls, words: Words, boards: int, largest: int, base: int, allowed: Allowance) -> Plan:
        """Return the plan for bits, whose tables take `base` bytes of memory."""
        layer, memory = 8 * words.layer, allowed.memory
        # Rather two windows than a last thread, unless that is the second one.
        room = memory - layer - base - OVERHEAD
        one, two = ((room - 8 * size) // words.scratch_bytes for size in (words.window, words.two_windows))
        threads = two if two > 1 else max(1, one)
        threads = threads if threads < allowed.threads else 0
        tables = base + (threads or allowed.threads) * words.scratch_bytes
        base, each = tables + OVERHEAD, layer / largest
        for held in (LAYERS, LAYERS - 1):
            if (whole := held * layer + base) <= memory:
                plan = cls(boards, largest, each, tables, whole, memory, False, 0, words)
                return replace(plan, lean=held < LAYERS, threads=threads)
        window = max(min((memory - layer - base) // 8, words.layer), words.window)
        whole = layer + 8 * window + base
        plan = cls(boards, largest, each, tables, whole, memory, True, FILES * layer, words, window)
        return replace(plan, threads=threads)

    def cut(self, index: PerfectIndex, total: int) -> Cut:
        """Return the batches of a layer.  Raises `ResourceError` if one does not fit."""
        boards = int((self.memory - OVERHEAD - self.table_bytes) / self.value_bytes)
        return Cut(
            index.by_halves, index.game, total, boards=boards, value_bytes=self.value_bytes,
            memory=self.memory,
        )  # fmt: skip

    def check_disk(self, folder: Path, index: PerfectIndex, *, kept: int, there: int) -> None:
        """Raise `ResourceError` if the disk has no space for the files, of which some bytes are there.

        So many bytes are `kept` of the layers that are missing.
        """
        needed = self.disk_bytes + kept
        have = shutil.disk_usage(folder).free
        if needed > have + there:
            raise ResourceError(
                f"the layers of {index.game} need about {needed / 1e9:.1f} GB of disk, and {folder} has "
                f"{have / 1e9:.1f} GB free: give lower limits, more memory, or another folder"
            )


def _sizes(index: PerfectIndex, sums: tuple[int, int | None]) -> dict[int, int]:
    """Return the boards of the layers of some sums, and of those above.  Raises `UsageError` without any."""
    lowest, highest = sums
    sizes = {s: size for s, size in index.sizes(won=True).items() if s >= lowest}
    if highest is not None:  # the first layer needs what is above it
        sizes = {s: size for s, size in sizes.items() if s <= highest + 4}
    if not sizes:
        raise UsageError(f"no board of {index.game} has a sum of {lowest} or more: give a lower sum")
    return sizes
