"""Binary decision diagrams in a text file of the format DDDMP of the library CUDD, as OxiDD writes it.

A file has a header, one line for each node, and an end:

    .ver DDDMP-2.0
    .mode A              text
    .varinfo 4           a line of a node has no names of variables
    .nnodes 4            nodes, the leaf included
    .nvars 6             variables that the program had
    .nsuppvars 2         those that occur
    .ids 1 3             their numbers
    .permids 1 3         their levels
    .nroots 1
    .rootids -4
    .rootnames all
    .nodes
    1 T 0 0              the leaf: true
    2 1 1 -1             number, variable (its index among those that occur), child if 1, child if 0
    ...
    .end

A negative number of a child or a root means the complement.  Here a child must have a smaller number than
its parent and a later variable, as OxiDD writes it.  So every walk from a root ends.

The file may come from a stranger.  Every number is checked.  No array is larger than the size of the file
allows, and its memory is touched only when lines have been read for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.files.source import Source
from tilebase.runtime.documents import shown, understood

Numbers = npt.NDArray[Any]
BEGIN, LEAF, END = b"\n.nodes\n", b"1 T 0 0\n", b".end\n"
MOST_HEADER = 1 << 22
"""Most bytes of the header: names of 100,000 diagrams."""
MOST_VARIABLES = 1 << 12
MOST_NODES = 1 << 28
"""Most nodes that are read; they take 10 bytes each in memory."""
MOST_DIGITS = 9
LEAST_LINE = 8
"""Bytes of the shortest line of a node."""
PIECE = 1 << 22
"""Bytes that are read and parsed at a time."""
FIXED = {".ver": ["DDDMP-2.0"], ".mode": ["A"], ".varinfo": ["4"]}
"""What these lines of the header must say."""


@dataclass(frozen=True)
class Diagrams:
    """Diagrams that share nodes."""

    roots: Mapping[str, int]  # by name: the number of the first node, negative for the complement
    variables: int  # of how many they are functions
    variable: Numbers  # variable[n]: the variable of node n; 0 and 1 are no nodes but the leaf
    high: Numbers  # high[n]: the child of node n if its variable is 1
    low: Numbers  # low[n]: and if it is 0
    sha256: str  # the SHA-256 sum of the file

    def __len__(self) -> int:
        """Nodes, the leaf included."""
        return len(self.variable) - 1

    def holds(self, name: str, bits: Numbers) -> npt.NDArray[np.bool_]:
        """Return what a diagram says of each row of `bits`, uint8[row, variable]."""
        root = self.roots[name]
        at = np.full(len(bits), abs(root), dtype=np.int32)
        found = np.full(len(bits), root > 0)
        rows = np.arange(len(bits)) if abs(root) > 1 else np.zeros(0, dtype=np.int64)
        while len(rows):
            nodes = at[rows]
            child = np.where(bits[rows, self.variable[nodes]], self.high[nodes], self.low[nodes])
            found[rows] ^= child < 0
            at[rows] = abs(child)
            rows = rows[abs(child) > 1]
        return found

    def below(self, refs: Numbers, variable: int, bit: int) -> Numbers:
        """Return what diagrams become if a variable is `bit`, no variable above it being free.

        Each of `refs` is the number of a node, negative for the complement, as roots are.
        """
        nodes = abs(refs)
        child = (self.high if bit else self.low)[nodes]
        here = (nodes > 1) & (self.variable[nodes] == variable)
        return np.where(here, np.sign(refs) * child, refs)


def read_dddmp(source: Source) -> Diagrams:
    """Return the diagrams in a file.  Raises `CorruptError` if it has any fault, or `StorageError`."""
    with understood(source.name):
        digest = hashlib.sha256()
        text = source.read(0, min(source.size, MOST_HEADER))
        begin = text.find(BEGIN) + len(BEGIN)
        if begin < len(BEGIN):
            raise ValueError("its header does not end")
        header = _Header(text[:begin])
        digest.update(text[:begin])
        end = source.size - len(END)
        if header.nodes > (end - begin) // LEAST_LINE or source.read(max(end, 0), len(END)) != END:
            raise ValueError("it ends too early")
        arrays = _Nodes(header)
        for piece in _pieces(source, begin, end):
            digest.update(piece)
            arrays.add(piece)
        digest.update(END)
        if arrays.known - 1 != header.nodes:
            raise ValueError(f"it has {arrays.known - 1} nodes, but its header says {header.nodes}")
        variable = header.support[arrays.variable]
        return Diagrams(header.roots, header.variables, variable, arrays.high, arrays.low, digest.hexdigest())


class _Header:
    """The numbers of a header.  Raises ValueError or KeyError if they are wrong."""

    def __init__(self, data: bytes) -> None:
        lines = [line.split(" ") for line in data.decode("ascii").splitlines()]
        self._words = {words[0]: [word for word in words[1:] if word] for words in lines}
        if len(self._words) != len(lines):
            raise ValueError("a line of its header occurs twice")
        for key, words in FIXED.items():
            if self._words[key] != words:
                raise ValueError(f"its {key} is not {words[0]}")
        self.nodes = self._number(".nnodes", MOST_NODES)
        self.variables = self._number(".nvars", MOST_VARIABLES)
        support = [_number(word, self.variables - 1) for word in self._words[".ids"]]
        if len(support) != self._number(".nsuppvars", MOST_VARIABLES) or support != sorted(set(support)):
            raise ValueError("its variables are not ascending")
        if self._words[".permids"] != self._words[".ids"]:
            raise ValueError("the levels of its variables are not their numbers")
        # One more than there are, so that the arrays below also hold something for the leaf.
        self.support = np.array([*support, self.variables], dtype=np.uint16)
        self.roots = self._roots()

    def _number(self, key: str, most: int) -> int:
        (word,) = self._words[key]
        return _number(word, most)

    def _roots(self) -> dict[str, int]:
        names, words = self._words[".rootnames"], self._words[".rootids"]
        signs = [-1 if word.startswith("-") else 1 for word in words]
        numbers = [_number(word.removeprefix("-"), self.nodes) for word in words]
        if len(names) != self._number(".nroots", MOST_HEADER) or len(set(names)) != len(names):
            raise ValueError("its diagrams do not have one name each")
        if not all(numbers):
            raise ValueError("a diagram begins at no node")
        return {name: sign * number for name, sign, number in zip(names, signs, numbers, strict=True)}


def _number(word: str, most: int) -> int:
    if not (word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS) or int(word) > most:
        raise ValueError(f"{shown(word, 40)} is not a number from 0 to {most}")
    return int(word)


def _pieces(source: Source, begin: int, end: int) -> Iterator[bytes]:
    """Yield the bytes from `begin` to `end` in pieces of whole lines."""
    rest = b""
    for at in range(begin, end, PIECE):
        data = rest + source.read(at, min(PIECE, end - at))
        cut = data.rfind(b"\n") + 1
        if not cut:
            raise ValueError("a line is too long")
        yield data[:cut]
        rest = data[cut:]
    if rest:
        raise ValueError("its last line does not end")


class _Nodes:
    """The nodes of a file while it is read.  Raises ValueError if they are wrong."""

    def __init__(self, header: _Header) -> None:
        count = header.nodes + 1
        self._leaf = len(header.support) - 1  # stands for the variable of the leaf, after all others
        self.variable = np.empty(count, dtype=np.uint16)
        self.high, self.low = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.int32)
        self.variable[:2], self.high[:2], self.low[:2] = self._leaf, 1, 1
        self.known = 1  # numbers that are taken; 0 stands for no node

    def add(self, piece: bytes) -> None:
        """The nodes of some whole lines."""
        if self.known == 1:
            if not piece.startswith(LEAF):
                raise ValueError("its first node is not the leaf")
            piece, self.known = piece[len(LEAF) :], 2
        number, variable, high, low = read_numbers(piece, 4).T
        first, last = self.known, self.known + len(number)
        if last > len(self.variable) or (number != np.arange(first, last)).any():
            raise ValueError("its nodes are not numbered one by one")
        if (variable < 0).any() or (variable >= self._leaf).any():
            raise ValueError("a node has a variable that does not occur")
        for child in (abs(high), abs(low)):
            if (child < 1).any() or (child >= number).any():
                raise ValueError("the number of a child is not less than that of its parent")
        self.variable[first:last] = variable
        self.high[first:last], self.low[first:last] = high, low
        for child in (abs(high), abs(low)):
            if (self.variable[child] <= variable).any():
                raise ValueError("the variable of a child is not after that of its parent")
        self.known = last


def read_numbers(data: bytes, columns: int) -> Numbers:
    """Return the numbers of some lines, as int64[line, column].

    Numbers are separated by one blank and lines end with a line feed.  Raises ValueError on anything else.

    >>> read_numbers(b"12 -3\\n0 7\\n", 2).tolist()
    [[12, -3], [0, 7]]
    """
    raw = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero((raw == ord(" ")) | (raw == ord("\n")))
    separators = np.frombuffer(b" " * (columns - 1) + b"\n", dtype=np.uint8)
    if len(ends) % columns or (raw[ends].reshape(-1, columns) != separators).any():
        raise ValueError(f"a line does not have {columns} numbers")
    begins = np.concatenate([np.zeros(min(len(ends), 1), dtype=np.int64), ends[:-1] + 1])
    negative = raw[begins] == ord("-")
    digits = ends - begins - negative
    if len(ends) and not 1 <= digits.min() <= digits.max() <= MOST_DIGITS:
        raise ValueError("a number has no digit, or too many")
    found = np.zeros(len(ends), dtype=np.int64)
    for place in range(int(digits.max(initial=0))):
        digit = raw[ends - np.minimum(place + 1, digits)] - np.uint8(ord("0"))
        if (digit > 9).any():
            raise ValueError("a number has something else than digits")
        found += np.where(place < digits, digit.astype(np.int64) * 10**place, 0)
    return np.where(negative, -found, found).reshape(-1, columns)
