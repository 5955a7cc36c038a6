"""A second reader of the files of tilebase, written from docs/format.md alone: the judge of that page.

It imports nothing of tilebase.  The rules of the game are those of `attack.rules`, which were written from
docs/game.md alone.  The reader is short and slow, for small files.  It checks what it reads as the page says;
whatever is wrong raises `DamagedError`.  `test_export_page.Packed` reads the policy of a page.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import inf, prod
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

from attack.rules import Board, Rules, X

Files = dict[str, bytes]
UNITS = {"uint64": 52, "uint32": 32, "uint16": 16}
NUMBERS = {"float64": "d", "float32": "f", "float16": "e", "int32": "i"}
NUMBERS |= {"uint64": "Q", "uint32": "I", "uint16": "H"}
MARGINS = {"float64": 1e-12, "float32": 4e-7, "float16": 2e-3}
NEVER = Fraction(1 << 30)


class Meaning(NamedTuple):
    """What the page says of an objective: the worth of its ends, what a slide adds, and spawns."""

    win: int = 0
    lost: int = 0  # of a game that ends otherwise
    slide: int = 0
    merge: str = ""  # what a merge adds: its tile or one
    top: bool = False  # whether the end is worth the largest tile instead
    spawns: str = "mean"
    rounding: str = ""  # of each step


MEANINGS = {
    "win": Meaning(win=1),
    "loss": Meaning(lost=-1),
    "lower": Meaning(win=1, rounding="down"),
    "upper": Meaning(win=1, rounding="up"),
    "guaranteed": Meaning(win=1, spawns="least"),
    "score": Meaning(merge="tile"),
    "merges": Meaning(merge="one"),
    "moves": Meaning(slide=1),
    "largest": Meaning(top=True),
    "survival": Meaning(slide=1, spawns="least"),
    "fewest": Meaning(lost=-int(NEVER), slide=-1, spawns="largest"),
    "longest": Meaning(slide=1, spawns="largest"),
    "highest": Meaning(merge="tile", spawns="largest"),
}
"""The table of the page, read a second time; `test_everywhere` compares it with that of the program."""


class DamagedError(Exception):
    """The file is not as it was written, or breaks a rule of the page."""


def need(holds: object, what: str) -> None:
    """Raise `DamagedError` unless something holds."""
    if not holds:
        raise DamagedError(what)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Whatever goes wrong inside the block is damage."""
    try:
        yield
    except DamagedError:
        raise
    except Exception as error:
        raise DamagedError(f"{what}: {error!r}") from error


def crc(data: bytes) -> str:
    """A CRC-32 in eight hexadecimal digits."""
    return f"{zlib.crc32(data):08x}"


def folder_files(folder: Path) -> Files:
    """The files of a folder by their path in it."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def sealed(data: bytes, form: str, version: int = 1) -> dict[str, Any]:
    """A document with a checksum of its own."""
    with reading(form):
        need(data[:11] == b'{"check": "' and data[11:19].decode() == crc(data[19:]), "its checksum is wrong")
        found: dict[str, Any] = json.loads(data)
        need((found["format"], found["version"]) == (form, version), "it is of another format")
        return found


class Game(Rules):
    """The member `game` of a document.  Boards hold tiles, and -1 for x, as those of `Rules`.

    In a certificate the start bounds no tile (`unbuilt`).
    """

    def __init__(self, g: dict[str, Any], *, unbuilt: bool = False) -> None:
        needed = {"shape", "goal", "four", "start", "limits", "walls", "unmergeable"}
        need(needed <= g.keys() <= needed | {"pattern", "goal_sum", "masks", "horizon"}, "members of a game")
        start, boards = g["start"], g["start"].removeprefix("after ").split("|")
        named = [] if start in ("empty", "two-tiles") else [self.read(one) for one in boards]
        pictures = [one.replace("/", "") for one in (g.get("masks") or "").split("|") if one]
        super().__init__(
            tuple(int(size) for size in g["shape"].split("x")), g["goal"], Fraction(g["four"]),
            named[0] if named and not start.startswith("after ") else start,
            g["limits"] and tuple(g["limits"]), frozenset(g["walls"]),
            frozenset(g["unmergeable"]), goal_sum=g.get("goal_sum"), horizon=g.get("horizon"),
            masks=tuple(frozenset(c for c, sign in enumerate(one) if sign == "x") for one in pictures),
            begun=tuple(named) if start.startswith("after ") else (),
        )  # fmt: skip
        self.count = len(self.unmergeable)
        self.bits = 4 if self.cells <= 16 else 3 if self.cells <= 21 else 2
        given = max([2, *(4 for _ in range(self.four > 0)), *(tile for board in named for tile in board)])
        self.built = inf if unbuilt else given << self.cells - len(self.walls) - self.count - 1
        self.held = frozenset.intersection(*self.masks) if self.masks else frozenset[int]()
        self.patterns = tuple(self._patterns(g.get("pattern") or ""))

    @property
    def last_sum(self) -> float:
        """The largest sum below which the horizon holds tiles; in a certificate it does not."""
        return inf if self.built == inf else super().last_sum

    def limit(self, cell: int) -> float:
        """The largest tile of a cell."""
        barred = cell in self.walls or cell in self.held
        return 0 if barred else min(self.built, super().limit(cell))

    def _patterns(self, text: str) -> list[tuple[int | None, ...]]:
        goal, width, cells = self.goal or 0, self.shape[-1], range(self.cells)
        if text == "lemma1":
            tiles = {0: 2, 1: 4, width: 8, width + 1: 16, width + 2: 16}
            return [tuple(goal // tiles[c] if c in tiles else None for c in cells)]
        if text == "pair":
            lines = [run for runs in [*self.segments.values()][::2] for run in runs]
            pairs = [pair for line in lines for pair in itertools.pairwise(line)]
            high = [pair for pair in pairs if min(map(self.limit, pair)) >= goal // 2]
            return [tuple(goal // 2 if c in pair else None for c in cells) for pair in high]
        split = [one.replace("/", ",").split(",") for one in text.split("|") if one]
        return [tuple(None if w == "*" else X if w == "x" else int(w) for w in words) for words in split]

    def key(self, board: Board) -> int:
        """A board as a key."""
        codes = [(1 << self.bits) - 1 if tile == X else max(tile.bit_length() - 1, 0) for tile in board]
        return sum(code << self.bits * (self.cells - 1 - c) for c, code in enumerate(codes))

    def unpack(self, key: int) -> Board:
        """The board of a key."""
        need(0 <= key < 1 << self.bits * self.cells, "bits of a key")
        full = (1 << self.bits) - 1
        codes = [key >> self.bits * (self.cells - 1 - c) & full for c in range(self.cells)]
        return tuple(X if code == full and self.count else 1 << code & ~1 for code in codes)

    def least(self, board: Board) -> Board:
        """The canonical board."""
        return min(self.orbit(board), key=self.key)

    def fits(self, board: Board) -> bool:
        """Whether no tile is above the largest of its cell, and the x are all there and on a mask."""
        high = any(tile > self.limit(c) for c, tile in enumerate(board) if tile != X)
        return len(board) == self.cells and not high and board.count(X) == self.count and self.stands(board)

    def has_room(self, board: Board) -> bool:
        """Whether a cell is empty."""
        return any(tile == 0 and c not in self.walls for c, tile in enumerate(board))

    def choices(self, cell: int) -> list[int]:
        """What a cell may hold on the boards of a table of all boards; x is last."""
        if cell in self.walls or cell in self.held:
            return [X if cell in self.held else 0]
        plain = [0, *(1 << e for e in range(1, int(self.limit(cell)).bit_length()))]
        return [*plain, *([X] if len(self.held) < self.count else [])]

    def quarters(self) -> list[list[int]]:
        """The cells of the quarters A, B, C, D."""
        ways = [len(self.choices(c)) for c in range(self.cells)]

        def fillings(cells: list[int]) -> int:
            return prod(ways[c] for c in cells)

        cuts = []
        for pair in itertools.combinations(range(len(self.shape)), 2):
            halves = [sorted({self.shape[axis] // 2, -(-self.shape[axis] // 2)}) for axis in pair]
            for first in itertools.product(*halves):
                parts: list[list[int]] = [[], [], [], []]
                for c, at in enumerate(self.places):
                    parts[2 * (at[pair[0]] >= first[0]) + (at[pair[1]] >= first[1])].append(c)
                a, b, c_, d = parts
                cuts.append((max(map(fillings, (a + b, c_ + d, a + c_, b + d))), *first, pair, parts))
        a, b, c_, d = min(cuts)[-1]
        orders = [[a, b, c_, d], [b, a, d, c_], [c_, d, a, b], [d, c_, b, a]]
        orders += [[one, three, two, four] for one, two, three, four in orders]
        best = max(orders, key=lambda order: [fillings(part) for part in order[::-1]])
        return best if self.masks else orders[0]

    def ranked(self) -> dict[int, list[Board]]:
        """By sum: the boards of a table of all boards in the order of their ranks."""
        parts, layers = self.quarters(), dict[int, list[Board]]()

        def order(board: Board) -> tuple[Any, ...]:
            held = [[self.cells * 1 << 64 if board[c] == X else board[c] for c in part] for part in parts]
            a, b, c, _ = map(sum, held)
            return a + b, a + c, a, held

        for board in itertools.product(*map(self.choices, range(self.cells))):
            if board.count(X) == self.count:
                layers.setdefault(self.total(board), []).append(board)
        return {total: sorted(boards, key=order) for total, boards in layers.items()}


class Layers:
    """A folder of layers: ``found[sum]`` are the boards (or ranks), the values, and the checksum of a layer.

    With `pages` and the checksum `check` of the contents those of a table; else all, the last of a sum.
    """

    def __init__(
        self, files: Files, folder: str, game: Game, pages: list[Any] | None = None, check: str = ""
    ) -> None:
        index, segment = files[f"{folder}/layers.idx"], b"tilebaseCHUNK\3\0\0"
        self.segments = {name: data for name, data in files.items() if name.startswith(f"{folder}/")}
        with reading(folder):
            magic, size, own = struct.unpack("<16sII", index[:24])
            need(magic == b"tilebaseINDEX\3\0\0" and own == zlib.crc32(index[24 : 24 + size]), "header")
            need(all(d[:16] == segment for n, d in self.segments.items() if n.endswith(".seg")), "segment")
            self.told: dict[str, Any] = json.loads(index[24 : 24 + size])
            self.folder, self.own, self.columns = folder, own, self.told["columns"]
            fixed = game.walls | game.held
            free = [c for c in reversed(range(game.cells)) if c not in fixed]
            self.bits = [(game.cells - 1 - c) * game.bits + b for c in free for b in range(game.bits)]
            self.found: dict[int, tuple[list[int], list[Any], str]] = {}
            need(pages is None or check == f"{own:08x}", "contents")
            for least, most, at, length, expected in pages or [[0, inf, 24 + size, len(index), None]]:
                page = index[at : at + length]
                need(expected in (None, crc(page)), "page")
                sums = [*self._records(page)]
                ends = [min(sums), max(sums)] if sums else []
                need(pages is None or (ends == [least, most] and len({*sums}) == len(sums)), "sums")

    def _records(self, page: bytes) -> Iterator[int]:
        width = 12 + 8 * len(self.columns)
        while page:
            magic, of, total, boards, chunks, rows_crc, own, number, at, size, last = struct.unpack(
                "<4sIQQIIIIQQI", page[:60]
            )
            need(magic == b"LAYR" and last == zlib.crc32(page[:56]) and own == zlib.crc32(page[4:32]), "head")
            rows, page = page[60 : 60 + width * chunks], page[60 + width * chunks :]
            need(of == self.own and zlib.crc32(rows) == rows_crc, "rows")
            data = self.segments[f"{self.folder}/{number:03d}.seg"][at : at + size]
            keys, values = list[int](), list[Any]()
            for first, count, *sizes in struct.iter_unpack("<QI" + "II" * len(self.columns), rows):
                need(1 <= count <= 1 << 20, "boards of a chunk")
                for column, length, check in zip(self.columns, sizes[::2], sizes[1::2], strict=True):
                    frame, data = data[:length], data[length:]
                    need(zlib.crc32(frame) == check, "frame")
                    content = zstandard.ZstdDecompressor().decompress(frame, max_output_size=10 * count + 1)
                    if column == "keys":
                        keys += self._keys(first, count, content)
                    else:
                        values += numbers(self.told["objective"]["dtype"], count, content)
                if "keys" not in self.columns:
                    keys += range(first, first + count)
            need(len(keys) == boards and not data and keys == sorted({*keys}), "keys")
            self.found[total] = keys, values, f"{own:08x}"
            yield total

    def _keys(self, first: int, count: int, content: bytes) -> list[int]:
        """The keys of a chunk."""
        fixed = first & ~sum(1 << b for b in self.bits)
        short, delta, shift, keys = sum((first >> b & 1) << i for i, b in enumerate(self.bits)), 0, 0, [first]
        for byte in content:
            need(shift < 70, "a difference")
            delta, shift = delta | (byte & 127) << shift, shift + 7
            if byte < 128:
                short += delta
                need(delta and not short >> len(self.bits), "a difference")
                keys.append(fixed | sum((short >> i & 1) << b for i, b in enumerate(self.bits)))
                delta = shift = 0
        need(len(keys) == count and shift == 0, "keys of a chunk")
        return keys


def numbers(dtype: str, count: int, content: bytes) -> list[Any]:
    """The stored numbers of a chunk."""
    if dtype != "bit":
        return [*struct.unpack(f"<{count}{NUMBERS[dtype]}", content)]
    need(len(content) == (count + 7) // 8, "bits")
    return [content[i // 8] >> i % 8 & 1 for i in range(count)]


def journal(data: bytes) -> list[dict[str, Any]]:
    """The lines of a journal."""
    with reading("a journal"):
        parts = [raw.rpartition(b"\t") for raw in data.split(b"\n")]
        need(parts.pop() == (b"", b"", b""), "the last line is torn")
        need(all(check.decode() == crc(text) for text, _, check in parts), "the checksum of a line")
        lines = [json.loads(text) for text, _, _ in parts]
        need(len({line["of"] for line in lines}) <= 1, "lines of several questions")
        return lines


def read_run(files: Files) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, dict[int, list[int]]]]:
    """The question of a run, its journal, and the keys of its layers by kind and sum."""
    question = sealed(files["run.json"], "tilebase run", 3)
    lines, layers = journal(files["counts.jsonl"]), dict[str, dict[int, list[int]]]()
    with reading("a run"):
        need(lines[-1].get("complete") and all(line["of"] == question["check"] for line in lines), "journal")
        kept = ("counts", "afterstates", "states").index(question["keep"])
        for kind in ("afterstates", "states")[:kept]:
            folder = Layers(files, kind, Game(question["game"]))
            told = {"game": question["game"], "kind": kind, "columns": ["keys"]}
            need(folder.told == told | ({"lookahead": True} if question["lookahead"] else {}), "contents")
            for line in lines[:-1]:
                keys, _, own = folder.found.get(line["sum"], ([], [], None))
                need(line["files"].get(kind) == own and len(keys) == sum(line[kind]), f"{kind} {line['sum']}")
            layers[kind] = {total: keys for total, (keys, _, _) in folder.found.items()}
        return question, lines[:-1], layers


class Table:
    """A table: `values[label][board]` is the stored number of an afterstate."""

    def __init__(self, files: Files) -> None:
        manifest = sealed(files["manifest.json"], "tilebase table", 3)
        with reading("a table"):
            self.manifest, self.game = manifest, Game(manifest["game"])
            self.objectives, self.dense = manifest["objectives"], manifest.get("space") == "all"
            self.pruned = manifest.get("thinned", {}) if "least_value" in manifest.get("thinned", {}) else {}
            self.values: dict[str, dict[Board, Any]] = {label: {} for label in self.objectives}
            ranked = self.game.ranked() if self.dense else {}
            kind, columns = ("all", ["values"]) if self.dense else ("afterstates", ["keys", "values"])
            for label, written in self.objectives.items():
                where = manifest["layers"][label]
                layers = Layers(files, f"values/{label}", self.game, where["pages"], where["check"])
                objective = {name: value for name, value in written.items() if name != "start"}
                told = {"game": manifest["game"], "kind": kind, "columns": columns, "objective": objective}
                need(layers.told == told, "contents")
                for total, (keys, values, _) in layers.found.items():
                    boards = ranked.get(total, []) if self.dense else [self.game.unpack(key) for key in keys]
                    need({*map(self.game.total, boards)} == {total} and len(boards) == len(keys), "boards")
                    need(not self.dense or keys == [*range(len(keys))], "ranks")
                    self.values[label].update(zip(boards, values, strict=True))
            need(len({frozenset(values) for values in self.values.values()}) == 1, "boards of an objective")
            if "thinned" not in manifest:
                need(all(self.starts_right(label) for label in self.objectives), "the value of the start")

    def scale(self, label: str) -> tuple[int, int, bool]:
        """How many units are 1, the largest number that is stored of a bound, and whether it is upper."""
        dtype = self.objectives[label]["dtype"]
        one = 1 << UNITS.get(dtype, 0)
        return one, one - (dtype in ("uint32", "uint16")), self.meaning(label).rounding == "up"

    def meaning(self, label: str) -> Meaning:
        """What the page says of the objective of a label."""
        return MEANINGS[self.objectives[label]["name"]]

    def rounded(self, label: str, worth: Fraction) -> Fraction:
        """A number of units as the objective rounds it; floats are not rounded here."""
        rounding = self.meaning(label).rounding
        return Fraction(-(-worth // 1) if rounding == "up" else worth // 1 if rounding else worth)

    def after(self, label: str, board: Board) -> Fraction:
        """W of an afterstate, in units.  Raises KeyError if the table does not hold it."""
        one, most, upper = self.scale(label)
        stored = self.values[label][board if self.dense else self.game.least(board)]
        return Fraction(one if upper and stored == most else stored)

    def state(self, label: str, board: Board, *, start: bool = False) -> Fraction:
        """V of a state, in units, not rounded.  Raises KeyError if the table does not hold what follows."""
        meaning, (one, most, upper) = self.meaning(label), self.scale(label)
        worths, missing = [], None
        win = meaning.win * Fraction(one if upper or start else most)
        if self.game.has_sum(board):
            return win
        for after, wins, score in self.game.slides(board).values():
            earned = {"tile": score, "one": after.count(0) - board.count(0)}.get(meaning.merge, meaning.slide)
            try:
                won = max(win, self.end(label, after))
                worths.append(earned + (won if wins else self.after(label, after)))
            except KeyError as error:
                missing = error
        if missing and not (worths and self.pruned.get("objective") == label):
            raise missing
        return max(worths, default=self.end(label, board)) * Fraction(self.objectives[label]["discount"])

    def end(self, label: str, board: Board) -> Fraction:
        """What a board is worth on which the game ends, a win aside; x is -1."""
        meaning = self.meaning(label)
        return Fraction(max(board) if meaning.top else meaning.lost)

    def together(self, label: str, states: list[tuple[Board, Fraction]]) -> Fraction:
        """The mean, least or largest V of some states, not rounded."""
        worths = [(self.rounded(label, self.state(label, state)), p) for state, p in states]
        meaning = self.meaning(label)
        if meaning.spawns != "mean":
            found = (max if meaning.spawns == "largest" else min)(worth for worth, _ in worths)
            return max(found, -NEVER)
        return sum((worth * p for worth, p in worths), Fraction(0))

    def derived(self, label: str, after: Board) -> Fraction:
        """What the number of an afterstate must be, from those that follow it, in units."""
        most, room = self.scale(label)[1], self.game.has_room(after)
        if self.dense and self.game.matches(after):
            return max(Fraction(most * self.meaning(label).win), self.end(label, after))
        spawned = self.game.spawns(after) if room else []
        ended = self.end(label, after) if room else Fraction(0)
        found = self.rounded(label, self.together(label, spawned)) if spawned else ended
        return min(found, Fraction(most)) if self.objectives[label]["dtype"] in UNITS else found

    def wrong(self) -> list[tuple[str, Board]]:
        """Boards whose numbers do not follow from others: of all, or of about 300."""
        some = [
            (label, board)
            for label, values in self.values.items()
            for board in [*values][:: 1 + len(values) // 300]
        ]
        return [
            (label, board)
            for label, board in some
            if not near(
                self.objectives[label]["dtype"], self.values[label][board], self.derived(label, board)
            )
        ]

    def starts_right(self, label: str) -> bool:
        """Whether the value of the start in the manifest follows."""
        objective, start, one = self.objectives[label], self.objectives[label]["start"], self.scale(label)[0]
        starts, meaning = [*self.game.starts.items()], self.meaning(label)
        if meaning.rounding:
            worth = sum(self.state(label, state, start=True) * p for state, p in starts)
            away = (Fraction(start["bound"]) * one - worth) * (1 if meaning.rounding == "up" else -1)
            return start["kind"] == objective["name"] and 0 <= away <= 2
        sign = -1 if meaning.lost else 1
        return near(objective["dtype"], sign * start["value"], self.together(label, starts))


def near(dtype: str, one: Any, other: Any) -> bool:
    """Whether two numbers are the same up to the rounding of a type."""
    return bool(abs(float(one) - float(other)) <= MARGINS.get(dtype, 0) * max(1.0, abs(float(other))))


class WinningSet:
    """A winning set."""

    def __init__(self, files: Files) -> None:
        self.manifest = manifest = sealed(files["manifest.json"], "tilebase winning set")
        with reading("a winning set"):
            self.game, data = Game(manifest["game"]), files[manifest["file"]["name"]]
            need(len(data) == manifest["file"]["size"], "size")
            need(hashlib.sha256(data).hexdigest() == manifest["file"]["sha256"], "SHA-256")
            head, _, body = data.decode().partition("\n.nodes\n")
            words = {line.split()[0]: line.split()[1:] for line in head.split("\n")}
            lines = [line.split() for line in body.split("\n")[:-2]]
            self.ids, self.nodes = [int(i) for i in words[".ids"]], {
                int(n[0]): (int(n[1]), int(n[2]), int(n[3])) for n in lines[1:]
            }  # fmt: skip
            self.roots = dict(zip(words[".rootnames"], map(int, words[".rootids"]), strict=True))
            need(len(lines) == manifest["counts"]["nodes"], "nodes")
            layers = [one["name"] for one in manifest["layers"]]
            names = {f"{what}:{name}" for name in layers for what in ("states", "afterstates")}
            need(self.roots.keys() == names, "diagrams")

    def layer_of(self, board: Board) -> str:
        """The name of the layer of a board."""
        most = max(0, *board)
        sweep = f"({max(most.bit_length() - 1, 0)},{board.count(most) if most else 0})"
        return {"sum": str(self.game.total(board)), "sweep": sweep}.get(self.manifest["strategy"], "all")

    def holds(self, board: Board, *, after: bool) -> bool:
        """Whether a board is in the set.  Raises KeyError if its layer was not solved."""
        key, full, game = self.game.key(board), (1 << self.game.bits) - 1, self.game
        codes = [self.manifest["codes"][str(key >> game.bits * c & full)] for c in range(game.cells)][::-1]
        bits = [codes[cell][bit] == "1" for cell, bit in self.manifest["variables"]]
        at = self.roots[f"{'after' * after}states:{self.layer_of(board)}"]
        true = at > 0
        while abs(at) > 1:
            variable, high, low = self.nodes[abs(at)]
            at = high if self.ids[variable] % 2 == after and bits[self.ids[variable] // 2] else low
            true ^= at < 0
        return true


def certified(header: dict[str, Any]) -> tuple[Game, list[Board], list[Board]]:
    """The game of a certificate, its starts, and the afterstates that it starts from."""
    told = {name: header.get(name) for name in ("shape", "goal", "limits", "goal_sum", "horizon")}
    told |= {"start": "empty", "walls": [], "unmergeable": [*range(header.get("x", 0))]}
    told |= {"masks": "|".join(header.get("masks", []))}
    told["four"] = {(2,): "0", (4,): "1", (2, 4): "1/10"}[tuple(header["drops"])]
    game = Game(told | {"pattern": "|".join(map(spelt, header.get("patterns", [])))}, unbuilt=True)
    starts, afters = (
        [game.read(spelt(one)) for one in header.get(name, [])] for name in ("starts", "afterstates")
    )
    return game, starts, afters if starts or afters else [(0,) * game.cells]


def check_certificate(data: bytes) -> dict[str, Any]:
    """The header of a certificate that proves its claim."""
    line, _, body = data.partition(b"\n")
    digest = hashlib.sha256(body).hexdigest().encode()
    need(line == b"tilebase certificate 1 " + digest, "its checksum is wrong")
    with reading("a certificate"):
        first, *lines = gzip.decompress(body).decode("ascii").splitlines()
        header: dict[str, Any] = json.loads(first)
        game, starts, afters = certified(header)
        words = [one.split(" ") for one in lines]
        listed = {game.read(spelt(word)): int(spawn[0]) if spawn else -1 for word, *spawn in words}
        sums, forced = [game.total(board) for board in listed], header["claim"] == "forced"
        need(forced or header["claim"] == "not forced", "the claim")
        need(len(listed) == len(lines) == header["boards"] and sums == sorted(sums), "the boards")
        need(all(map(game.fits, [*listed, *starts, *afters])), "boards of another game")

        def proved(state: Board) -> bool:
            if game.has_sum(state):
                return forced
            found = [(wins, game.least(after) in listed) for after, wins, _ in game.slides(state).values()]
            return any(map(any, found)) if forced else not any(
                wins or not (there or game.is_over(state)) for wins, there in found
            )  # fmt: skip

        for board, number in listed.items():
            states = [state for state, _ in game.spawns(board)]
            if not forced:
                chosen = (*board[: number // 2], 2 + 2 * (number % 2), *board[number // 2 + 1 :])
                states = [state for state in states if state == chosen]
            need(states and all(map(proved, states)), f"{board} proves nothing")
        need(all(map(proved, starts)) and all(game.least(one) in listed for one in afters), "the start")
        return header


def spelt(word: str) -> str:
    """A board or pattern of a certificate as text of other documents."""
    return ",".join(sign if sign in "*x" else str(1 << int(sign, 36) & ~1) for sign in word)


def read_record(data: bytes) -> tuple[dict[str, Any], Fraction]:
    """A record of a proved bound, and the bound."""
    record = sealed(data, "tilebase bound")
    with reading("a record"):
        bound, up = Fraction(record["value"], record["one"]), record["direction"] == "upper"
        one, rounding = 1 << UNITS[record["type"]], "up" if up else "down"
        need((record["one"], record["rounding"]) == (one, rounding), "units")
        decimals = Fraction(record["decimal"]) - bound
        need(0 <= (decimals if up else -decimals) < Fraction(1, 10**15), "decimals")
        game = Game(record["game"])
        steps = sum(map(game.limit, range(game.cells))) // 2
        need(record["rounding_loss_at_most"] == float(Fraction(int(steps) + 1, record["one"])), "loss")
        return record, bound
