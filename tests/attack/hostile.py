"""Files made by somebody who means harm: every checksum is right, and nothing that they say is sound.

What reads them has to end in time and within memory, with a sentence or an answer: never a traceback.
What such a file says of values cannot be checked, so answers are not compared.
"""

from __future__ import annotations

import asyncio
import json
import random
import struct
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import zstandard

from attack import flips
from attack.case import Case
from attack.processes import EVIL, put, run
from tilebase import Game, force
from tilebase.runtime.documents import sealed
from tilebase.search.search import CRC
from tilebase.search.search import HEAD as SAVED
from tilebase.web.app import make_app
from tilebase.web.collection import Collection

SECONDS, MEMORY = 20.0, 1 << 30
"""What a command may take, beyond what it has when it begins."""
HEADER, WHAT, WHERE = struct.Struct("<16sII"), struct.Struct("<4sIQQII"), struct.Struct("<IIQQ")
HEAD = ("magic", "of", "sum", "boards", "chunks", "rows_crc", "checksum", "segment", "offset", "nbytes")
"""The fields of a record of an index, as docs/format.md has them."""
DEEP = "@deep@"
Files = dict[str, bytes]

WORDS = (
    *(
        "1e-999999999",
        "1e999999999",
        "1/3",
        "1/0",
        "-1/10",
        "0",
        "nan",
        "inf",
        "9" * 5000,
        "1/" + "9" * 4000,
        "",
    ),
    *(
        "x",
        EVIL,
        "4x4",
        "99999x99999",
        "1x1",
        "win",
        "\x00",
        "../../../../etc/hostname",
        "2,4,8/16",
        "ä" * 50,
        "0x" + "f" * 99,
    ),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2,
        3,
        7,
        31,
        2**31,
        2**32,
        2**63 - 1,
        2**63,
        2**64,
        -(2**63),
        10**30,
        10**400,
        0.5,
        1e308,
    ),
    *(float("nan"), float("inf"), [], {}, [None], [[]], [1, 2, 3], {"a": 1}, [0] * 1000, "@deep@", *WORDS),
)


def attack(case: Case) -> None:
    """One hostile file, and one command that reads it."""
    kind = case.rng.choice(tuple(KINDS))
    files, history, commands = KINDS[kind](case.rng)
    folder = case.folder / "here"
    put(folder, files)
    args = case.rng.choice(commands).split("|")
    if kind in ("manifest", "winning"):
        serve(case, folder / "t", history)
    done = run(folder, args, seconds=SECONDS, limit=MEMORY)
    case.done["hostile files"] += 1
    lines = f"{kind}: {history}\ntilebase {' '.join(args)}"
    if done.complaint:
        case.fail(f"{args[0]}, {kind}: {done.complaint[:50]}", done.err[-900:] or done.complaint, lines)
    elif done.status and done.err.strip().count("\n"):
        case.fail(f"{args[0]}, {kind}: not one sentence", done.err[:600], lines)
    elif done.status and len(done.err) > 2000:
        case.fail(f"{args[0]}, {kind}: a very long sentence", done.err[:300], lines)


def serve(case: Case, folder: Path, history: str) -> None:
    """Ask the explorer for what a thing says of itself: its status may be 500, but no handler is missing."""
    app = make_app(Collection([folder]))
    for path in ("/api/tables", "/api/tables/t"):
        case.call(f"GET {path}", history, asyncio.run, get(app, path))


async def get(app: Any, path: str) -> None:
    """Send a request; what no handler turns into an answer is raised."""
    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "path": path,
        "root_path": "", "query_string": b"", "headers": [(b"host", b"x")], "client": ("127.0.0.1", 1),
    }  # fmt: skip

    async def receive() -> Any:
        return {"type": "http.request"}

    async def send(_: Any) -> None:
        pass

    await app(scope, receive, send)


def below(files: Files, folder: str) -> Files:
    return {f"{folder}/{name}": data for name, data in files.items()}


# -- JSON ---------------------------------------------------------------------------------------------


def mutate(rng: random.Random, values: Any) -> str:
    """Change something in a JSON object in place; say what."""
    path: list[Any] = []
    here = values
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = rng.choice(keys) if keys else None
        if key is None:
            break
        path.append(key)
        inner = here[key]
        if not isinstance(inner, dict | list) or not inner or rng.random() < 0.25:
            break
        here = inner
    if not path:
        return "nothing"
    name = ".".join(map(str, path))
    way = rng.random()
    if way < 0.1 and isinstance(here, dict):
        del here[path[-1]]
        return f"{name} left out"
    if way < 0.2 and isinstance(here, dict):
        here[rng.choice(WORDS)] = here[path[-1]]
        return f"another member beside {name}"
    value = rng.choice(VALUES)
    here[path[-1]] = value
    return f"{name} = {str(value)[:60]!r}"


def extreme(rng: random.Random, values: Any) -> str:
    """Set a whole number of a JSON object to one that is hardly bounded; say which."""
    found, waiting = list[tuple[Any, Any]](), [values]
    while waiting:
        here = waiting.pop()
        for name, inner in here.items() if isinstance(here, dict) else enumerate(here):
            if isinstance(inner, dict | list):
                waiting.append(inner)
            elif type(inner) is int:
                found.append((here, name))
    here, name = rng.choice(found)
    bits = rng.choice((31, 32, 53, 62, 63, 64, 100))
    here[name] = (1 << bits) - rng.choice((0, 1))
    return f"a number {name} = {here[name]}"


def winning(rng: random.Random) -> tuple[Files, str, list[str]]:
    """A winning set whose manifest says something else."""
    files = dict(flips.made("winning"))
    values = json.loads(files["manifest.json"])
    values.pop("check")
    history = extreme(rng, values) if rng.random() < 0.5 else mutate(rng, values)
    files["manifest.json"] = sealed(dump(values)).encode()
    commands = ["probe|t|2,4,0/0,0,0", "probe|t", "verify|t|-q", "verify|t|-f|json", "lemma|2x3|16|-q"]
    return below(files, "t"), f"manifest of a winning set: {history}", commands


def dump(values: Any, **options: Any) -> str:
    """JSON, with something deep in place of `DEEP`."""
    return json.dumps(values, **options).replace(f'"{DEEP}"', "[" * 3000 + "]" * 3000)


def manifest(rng: random.Random) -> tuple[Files, str, list[str]]:
    """A table whose manifest says something else."""
    name = rng.choice(("table", "table", "dense", "thin"))
    files = dict(flips.made(name))
    values = json.loads(files["manifest.json"])
    values.pop("check")
    sound = json.dumps(values)
    history = "; ".join(mutate(rng, values) for _ in range(rng.choice((1, 1, 2))))
    if rng.random() < 0.15:  # fractions, which can be much larger than their text
        values = json.loads(sound)
        where = rng.choice((values["game"], *values["objectives"].values()))
        name, text = rng.choice(("four", "discount")), rng.choice(WORDS)
        where[name] = text
        history = f"{name} = {text[:60]}"
    elif rng.random() < 0.3:
        values = json.loads(sound)
        history = extreme(rng, values)
    files["manifest.json"] = sealed(dump(values)).encode()
    if rng.random() < 0.05:
        files["manifest.json"] = rng.choice(
            (b"[" * 100_000, b"{}", b"null", b"\xff\xfe", b'{"a":' * 5000, b"1" * 6000)
        )
        history = f"manifest.json is {files['manifest.json'][:20]!r}..."
    return below(files, "t"), f"manifest of a table ({name}): {history}", TABLE_COMMANDS


TABLE_COMMANDS = [
    "probe|t|2,4,0/0,0,0",
    "probe|t|2,4,0/0,0,0|-f|json",
    "probe|t",
    "verify|t|-q|--sample|5",
    "evaluate|t|random|-q|--threads|1",
    "evaluate|t|--games|3|-q",
    "thin|t|--visited|0.1|-o|small|-q",
    "solve|2x3|16|--objective|win,lower,guaranteed|-o|t|-q|--threads|1",
]


def run_folder(rng: random.Random) -> tuple[Files, str, list[str]]:
    """A run whose run.json or journal says something else."""
    files = dict(flips.made("run"))
    if rng.random() < 0.5:
        values = json.loads(files["run.json"])
        values.pop("check")
        history = extreme(rng, values) if rng.random() < 0.3 else mutate(rng, values)
        files["run.json"] = sealed(dump(values)).encode()
    else:
        lines = files["counts.jsonl"].splitlines()
        at = rng.randrange(len(lines))
        values = json.loads(lines[at].rpartition(b"\t")[0])
        history = f"line {at}: {mutate(rng, values)}"
        if rng.random() < 0.1:
            values, history = rng.choice(VALUES), f"line {at} is no object"
        text = dump(values).encode()
        lines[at] = text + f"\t{zlib.crc32(text):08x}".encode()
        files["counts.jsonl"] = b"\n".join(lines) + b"\n"
    commands = [
        "count|2x3|16|--keep|states|--work|r|-q|--threads|1",
        "verify|r",
        "solve|2x3|16|-o|r|-q|--threads|1",
    ]
    return below(files, "r"), f"a run: {history}", commands


# -- layers -------------------------------------------------------------------------------------------


def rebuild(files: Files, folder: str, total: int, change: Callable[[dict[str, Any]], None]) -> int:
    """Change something of a layer in a folder of layers, with every checksum right; return that of the layer.

    The index begins with the same game, or with what is made of it; its records name this beginning.
    """
    data, name = files[f"{folder}/layers.idx"], f"{folder}/layers.idx"
    magic, size, _ = HEADER.unpack_from(data)
    told = json.loads(data[HEADER.size : HEADER.size + size])
    columns, records, at = len(told["columns"]), {}, HEADER.size + size
    row = struct.Struct("<QI" + 2 * columns * "I")
    while at < len(data):
        head = dict(
            zip(HEAD, [*WHAT.unpack_from(data, at), *WHERE.unpack_from(data, at + WHAT.size)], strict=True)
        )
        at += WHAT.size + WHERE.size + 4
        end = at + row.size * head["chunks"]
        records[head["sum"]], at = (head, [list(one) for one in row.iter_unpack(data[at:end])]), end
    head, rows = records[total]
    segment = f"{folder}/{head['segment']:03d}.seg"
    frames, place = [], head["offset"]
    for one in rows:
        for column in range(columns):
            frames.append(files[segment][place : place + one[2 + 2 * column]])
            place += len(frames[-1])
    parts: dict[str, Any] = {
        "told": told,
        "head": head,
        "rows": rows,
        "frames": frames,
        "sizes": {},
        "set": {},
    }
    change(parts)
    for number, frame in enumerate(parts["frames"]):
        chunk, column = divmod(number, columns)
        if chunk < len(rows):
            rows[chunk][2 + 2 * column] = parts["sizes"].get(number, len(frame))
            rows[chunk][3 + 2 * column] = zlib.crc32(frame)
    head["offset"], head["nbytes"] = len(files[segment]), sum(map(len, parts["frames"]))
    head["boards"], head["chunks"] = sum(one[1] for one in rows), len(rows)
    head |= parts["set"]
    files[segment] += b"".join(parts["frames"])
    text = dump(parts["told"], sort_keys=True, separators=(",", ":")).encode()
    of, written = zlib.crc32(text), [HEADER.pack(magic, len(text), zlib.crc32(text)) + text]
    for head, rows in records.values():
        masks = (2**64 - 1, *(1 + 2 * columns) * (2**32 - 1,))
        below = b"".join(row.pack(*(n & mask for n, mask in zip(one, masks, strict=True))) for one in rows)
        head |= {"of": of, "rows_crc": zlib.crc32(below)}
        what = WHAT.pack(*(head[field] for field in HEAD[:6]))
        head["checksum"] = zlib.crc32(what[4:])
        whole = what + WHERE.pack(*(head[field] for field in HEAD[6:]))
        written.append(whole + struct.pack("<I", zlib.crc32(whole)) + below)
    files[name] = b"".join(written)
    return int(records[total][0]["checksum"])


def sums_of(files: Files, folder: str) -> list[int]:
    """The sums of the layers of a folder, as its journal lists them."""
    journal = "counts.jsonl" if not folder.startswith("values/") else f"{folder}/layers.jsonl"
    lines = [json.loads(line.rpartition(b"\t")[0]) for line in files[journal].splitlines()]
    kind = folder if not folder.startswith("values/") else ""
    return [line["sum"] for line in lines if "sum" in line and (not kind or sum(line[kind]))]


def bomb(rng: random.Random) -> bytes:
    """A frame that is not what it says, or a very large one."""
    way = rng.randrange(6)
    if way == 0:  # declares 3 GiB
        return bytes.fromhex("28b52ffd") + b"\xe0" + struct.pack("<Q", 3 << 30) + b"\x01\x00\x00"
    if way == 1:  # holds 1.5 GiB of zeros
        return zeros()
    if way == 2:
        return zstandard.ZstdCompressor().compress(b"\xff" * 50_000)
    if way == 3:
        return zstandard.ZstdCompressor(write_content_size=False).compress(b"\x01" * 100)
    if way == 4:
        return b"\x50\x2a\x4d\x18" + struct.pack("<I", 8) + bytes(8)
    return rng.randbytes(rng.randint(0, 100))


@cache
def zeros() -> bytes:
    compressor = zstandard.ZstdCompressor(level=1).compressobj(size=3 << 29)
    pieces = [compressor.compress(bytes(1 << 24)) for _ in range(96)]
    return b"".join(pieces) + compressor.flush()


def change_layer(rng: random.Random, parts: dict[str, Any]) -> str:
    """One thing in the parts of a layer."""
    way = rng.choice(("told", "head", "head", "row", "row", "frame", "frame", "rows"))
    if way == "told":
        return f"the beginning of the index: {mutate(rng, parts['told'])}"
    if way == "head":
        field = rng.choice(("sum", "boards", "chunks", "segment", "offset", "nbytes"))
        most = 2 ** (64 if field in ("boards", "offset", "nbytes") else 32) - 1
        parts["set"][field] = rng.choice((0, 1, 16, 2**31, most, most >> 1))
        return f"record: {field} = {parts['set'][field]}"
    if way == "row" and parts["rows"]:
        number = rng.randrange(len(parts["rows"]))
        row, field = parts["rows"][number], rng.randrange(3)
        value = rng.choice((0, 1, 2**31, 2**32 - 1)) if field else rng.choice((0, 1, 2**64 - 1))
        if field == 2:
            parts["sizes"][number * (len(row) - 2) // 2] = value
        else:
            row[field] = value
        return f"a row: {('first', 'boards', 'bytes')[field]} = {value}"
    if way == "frame" and parts["frames"]:
        number = rng.randrange(len(parts["frames"]))
        parts["frames"][number] = bomb(rng)
        if rng.random() < 0.7:
            parts["rows"][0][1] = rng.choice((1, 2**20, 2**28, 2**32 - 1))
        return f"frame {number} of {len(parts['frames'][number])} bytes, boards {parts['rows'][0][1]}"
    parts["rows"] *= 2
    return f"{len(parts['rows'])} rows instead of half as many"


def layer(rng: random.Random) -> tuple[Files, str, list[str]]:
    """A table one of whose layers is hostile, with a manifest that names its checksum."""
    files = dict(flips.made(rng.choice(("table", "table", "dense"))))
    label = rng.choice(flips.OBJECTIVES.split(","))
    folder, history = f"values/{label}", list[str]()
    total = rng.choice(sums_of(files, folder))
    rebuild(files, folder, total, lambda parts: history.append(change_layer(rng, parts)))
    values = json.loads(files["manifest.json"])
    values.pop("check")
    data = files[f"{folder}/layers.idx"]
    begin = HEADER.size + HEADER.unpack_from(data)[1]
    (page,) = values["layers"][label]["pages"]
    page[2:] = begin, len(data) - begin, f"{zlib.crc32(data[begin:]):08x}"
    values["layers"][label]["check"] = f"{HEADER.unpack_from(data)[2]:08x}"
    files["manifest.json"] = sealed(dump(values)).encode()
    boards = {4: "2,2,0/0,0,0", 6: "2,4,0/0,0,0", 8: "4,4,0/0,0,0", 10: "2,8,0/0,0,0", 12: "4,8,0/0,0,0"}
    board = boards.get(total, "2,4,8/2,4,0")
    commands = [
        *TABLE_COMMANDS[3:],
        f"probe|t|{board}|--objective|lower",
        f"probe|t|{board}|--objective|{label}",
        f"probe|t|{board}",
        f"export|boards|t|--sum|{total}|-o|x.parquet",
        "export|data|t|--visits|-o|x|-q",
    ]
    return below(files, "t"), f"{folder}, sum {total}: {'; '.join(history)}", commands


def counted_layer(rng: random.Random) -> tuple[Files, str, list[str]]:
    """A run one of whose layers is hostile, with a journal that names its checksum."""
    files, kind, history = dict(flips.made("run")), rng.choice(("afterstates", "states")), list[str]()
    total = rng.choice(sums_of(files, kind))
    check = rebuild(files, kind, total, lambda parts: history.append(change_layer(rng, parts)))
    lines = []
    for line in files["counts.jsonl"].splitlines():
        told = json.loads(line.rpartition(b"\t")[0])
        if told.get("sum") == total:
            told["files"][kind] = f"{check:08x}"
        text = dump(told, sort_keys=True, separators=(",", ":")).encode()
        lines.append(text + f"\t{zlib.crc32(text):08x}\n".encode())
    files["counts.jsonl"] = b"".join(lines)
    states = "|--states" if kind == "states" else ""
    commands = [
        "count|2x3|16|--keep|states|--work|r|-q|--threads|1",
        "verify|r",
        f"export|boards|r|--sum|{total}|-o|x.parquet{states}",
    ]
    return below(files, "r"), f"{kind}, sum {total}: {'; '.join(history)}", commands


# -- zip files, certificates, work of a search --------------------------------------------------------


def zipped(rng: random.Random) -> tuple[Files, str, list[str]]:
    """A zip file whose records say impossible things."""
    data = bytearray(flips.made("zip")["t.zip"])
    signature, fields = rng.choice(
        ((b"PK\x01\x02", 46), (b"PK\x01\x02", 46), (b"PK\x03\x04", 30), (b"PK\x05\x06", 22))
    )
    places = [at for at in range(len(data) - 4) if data[at : at + 4] == signature]
    at = rng.choice(places)
    if signature != b"PK\x05\x06" and rng.random() < 0.4:  # the record of the manifest
        at = next((one for one in places if b"manifest.json" in data[one : one + 80]), at)
    offset = rng.randrange(4, fields - 3)
    value = rng.choice((b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\xff\xff\xff\x7f", rng.randbytes(4)))
    data[at + offset : at + offset + 4] = value
    commands = ["probe|t.zip|2,4,0/0,0,0", "verify|t.zip|-q|--sample|5", "probe|t.zip"]
    return {"t.zip": bytes(data)}, f"record at {at}, offset {offset}: {value.hex()}", commands


def certificate(rng: random.Random) -> tuple[Files, str, list[str]]:
    """A certificate with a hostile header or body, signed again."""
    import gzip
    import hashlib

    body = flips.made("certificates")["16.cert"].partition(b"\n")[2]
    text = gzip.decompress(body)
    head, _, boards = text.partition(b"\n")
    values = json.loads(head)
    history = mutate(rng, values)
    if rng.random() < 0.1:
        boards, history = b"0" * 200_000_000, "200 MB of zeros without a line break"
    packed = gzip.compress(dump(values).encode() + b"\n" + boards, 1, mtime=0)
    line = f"tilebase certificate 1 {hashlib.sha256(packed).hexdigest()}\n".encode()
    return {"p.cert": line + packed}, f"certificate: {history}", ["verify|p.cert|-q"]


def search(rng: random.Random) -> tuple[Files, str, list[str]]:
    """What a search has saved, under a right checksum."""
    files = dict(searched())
    name = next(one for one in files if one.endswith(".bin"))
    data, way = bytearray(files[name][: -CRC.size]), rng.randrange(3)
    if way == 0:
        place = rng.randrange(SAVED.size)
        data[place] = rng.randrange(256)
        history = f"byte {place} is {data[place]}"
    elif way == 1:
        del data[rng.randrange(len(data)) :]
        history = f"it is cut to {len(data)} bytes"
    else:
        data[SAVED.size :] = rng.randbytes(len(data) - SAVED.size)
        history = "it holds random bytes"
    files[name] = bytes(data) + CRC.pack(zlib.crc32(data))
    return below(files, "w"), f"the work of a search: {history}", ["force|2x3|16|--work|w|-q|--threads|1"]


@cache
def searched() -> Files:
    import tempfile

    from attack.processes import contents

    with tempfile.TemporaryDirectory(prefix="attack-") as temporary:
        force(Game("2x3", 16, start="empty"), threads=1, folder=Path(temporary) / "w")
        return contents(Path(temporary) / "w")


KINDS: dict[str, Callable[[random.Random], tuple[Files, str, list[str]]]] = {
    "manifest": manifest,
    "winning": winning,
    "layer": layer,
    "layer of a run": counted_layer,
    "run": run_folder,
    "zip": zipped,
    "certificate": certificate,
    "search": search,
}
