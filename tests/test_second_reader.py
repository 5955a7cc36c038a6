"""Every file format, judged by a reader that was written from docs/format.md alone (`second_reader`).

What tilebase writes, the second reader reads; what it derives by the page's recurrences is what is stored; it
finds each changed byte that the page calls protected.
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cached_oracle as oracle
import second_reader as second
from attack.certificates import signed
from attack.rules import X
from objectives import ALL
from repetition import one_in
from second_reader import DamagedError, Files, folder_files
from stored import all_values, reachable_values
from test_winning_set import saved
from tilebase import Objective, count, force, formation, open_winning_set, prove, solve, thin, verify_table
from tilebase.check import RefusedError, check_certificate
from tilebase.errors import CorruptError, TilebaseError
from tilebase.files.format import Contents
from tilebase.files.keys import encode
from tilebase.files.layers import LayerFolder
from tilebase.files.manifest import Manifest
from tilebase.files.run import read_journal, verify_run
from tilebase.files.store import LayerStore
from tilebase.files.winning import StoredSet
from tilebase.game.game import Cells, Game
from tilebase.objectives.objective import MEANINGS
from tilebase.small.oracle import Layer
from tilebase.tables.pruning import prune

MEANS = "win,lower,lower:uint16,upper,upper:uint16,score,merges,moves"
MASKED = Game("2x3", 16, masks="..x/..x|.../.xx", start="after 2,0,x/4,0,x")
TIED = Game("2x2x2", 16, limits="8,8,4,4,4,4,4,4", start="empty")

TABLES: dict[str, tuple[Game, str, dict[str, Any]]] = {
    "every objective": (Game("2x2", 32), ",".join(ALL), {}),
    "discount": (Game("2x2", 16, start="empty"), MEANS, {"discount": "9/10"}),
    "a start that wins": (Game("2x2", 8, start="4,4/0,0"), "win,lower:uint16,upper:uint32", {}),
    "all, a start that wins": (
        Game("2x2", 8, start="4,4/0,0"), "lower:uint16,upper:uint32,lower", {"space": "all"},
    ),
    "a third": (Game("2x2", 16, spawn="1/3"), MEANS, {"discount": "2/3"}),
    "limits": (Game("2x3", 32, limits="16,8,8/8,4,64", start="empty"), "win,upper:uint16,survival", {}),
    "walls": (Game("2x3", 16, walls=[1, 4]), "win,score,longest,largest", {}),
    "movable x": (Game("2x3", 8, unmergeable=[5]), "win,merges", {}),
    "masks": (MASKED, "win,guaranteed", {}),
    "goal sum": (Game("2x2", goal_sum=20), "win,moves", {"discount": "1/2"}),
    "horizon": (Game("2x2", 32, horizon=18), "win,loss,moves,survival,longest,largest", {}),
    "pattern": (Game("2x3", 16, pattern="8,4,*/*,*,*", start="empty"), "win,guaranteed", {}),
    "pairs": (Game("2x2", 32, pattern="pair"), "win", {}),
    "only 4s": (Game("1x4", spawn=1, limits=16, start="4,4,0,0"), "score", {}),
    "3 bits": (Game("3x6", 8, walls=range(4, 18)), "win,guaranteed", {}),
    "2 bits": (Game("2x11", 8, walls=range(4, 22)), "win", {}),
    "a box": (Game("2x2x2", 8, spawn=0), "win,lower:uint32", {}),
    "all, discount": (Game("2x2", 16, limits="8,8/8,4"), MEANS, {"space": "all", "discount": "9/10"}),
    "all": (Game("2x2", 32, limits="16,8/8,4"), ",".join(MEANINGS), {"space": "all"}),
    "all, every type": (Game("2x2", 32, limits="16,8/8,4"), ALL, {"space": "all"}),
    "all, pattern": (
        Game("2x3", 16, limits="8,8,8/8,4,4", pattern="8,4,*/*,*,*"), "win,lower:uint16,guaranteed,moves",
        {"space": "all"},
    ),
    "all, walls": (Game("2x3", 16, walls=[1, 5]), "win", {"space": "all"}),
    "all, movable x": (Game("2x3", 8, unmergeable=[5]), "win", {"space": "all"}),
    "all, one mask": (
        Game("3x3", 8, masks=".../..x/.xx", start="after 2,0,0/0,0,x/0,x,x"), "guaranteed", {"space": "all"},
    ),
    "all, horizon": (Game("2x3", 16, horizon=14), "win,moves", {"space": "all"}),
    "all, goal sum": (Game("2x3", goal_sum=14), "win", {"space": "all"}),
    "all, tied pairs of axes": (TIED, "win,guaranteed", {"space": "all"}),
}  # fmt: skip


def cells_of(game: Game, board: second.Board) -> Cells:
    return tuple(game.x if tile == X else max(tile.bit_length() - 1, 0) for tile in board)


@cache
def made(folder: Path, name: str) -> Path:
    game, objectives, options = TABLES[name]
    path = folder / name.replace(" ", "-").replace(",", "")
    solve(game, objectives, table=path, threads=1, **options)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("second")


@pytest.mark.parametrize("name", TABLES)
def test_tables(name: str, folder: Path) -> None:
    """Each stored number is what tilebase reads, and follows from the others as the page says."""
    game, path = TABLES[name][0], made(folder, name)
    table = second.Table(folder_files(path))
    assert table.wrong() == []
    for label, values in table.values.items():
        identity = {k: v for k, v in table.objectives[label].items() if k != "start"}
        objective = Objective.from_identity(identity)
        ours = all_values(path / "values" / label, game, objective) if table.dense else (
            reachable_values(path, game, objective)
        )  # fmt: skip
        one = table.scale(label)[0]
        found = {cells_of(game, board): Fraction(table.after(label, board), one) for board in values}
        assert found == {board: Fraction(objective.told(value)) for board, value in ours.items()}
        dtype = objective.dtype
        if not table.dense and dtype in second.MARGINS:
            exact = oracle.values(game, objective.name, discount=objective.discount)
            assert found.keys() == exact.afterstates.keys()
            assert all(second.near(dtype, found[board], exact.afterstates[board]) for board in found)


@pytest.mark.parametrize("way", ["thin", "prune", "above"])
def test_thinned_tables(way: str, folder: Path, tmp_path: Path) -> None:
    """What is kept is what the whole table has; the boards below a value are exactly those left out."""
    game, objectives = Game("2x3", 16), "win,score"
    whole = folder / "whole"
    if not whole.exists():
        solve(game, objectives, table=whole, threads=1)
    if way == "thin":
        thin(whole, tmp_path / "t", above=0.01)
    elif way == "prune":
        prune(whole, tmp_path / "t", above=0.6)
    else:
        solve(game, objectives, table=tmp_path / "t", above=0.6, threads=1)
    all_of_it, table = second.Table(folder_files(whole)), second.Table(folder_files(tmp_path / "t"))
    assert 0 < len(table.values["win"]) < len(all_of_it.values["win"])
    for label, values in table.values.items():
        assert values.items() <= all_of_it.values[label].items()
    thinned = table.manifest["thinned"]
    assert thinned["objective"] == "win"
    assert thinned["table"] == ("" if way == "above" else all_of_it.manifest["check"])
    if way != "thin":
        kept = {board for board, value in all_of_it.values["win"].items() if value >= thinned["least_value"]}
        assert table.values["win"].keys() == kept
    known = 0
    for board, stored in table.values["win"].items():
        try:
            derived = table.derived("win", board)
        except KeyError:
            continue
        known += 1
        assert second.near("float64", stored, derived)
    assert known


KEPT: Mapping[str, tuple[str, ...]] = {
    "counts": (), "afterstates": ("afterstates",), "states": ("afterstates", "states"),
}  # fmt: skip


@pytest.mark.parametrize("keep", KEPT)
@pytest.mark.parametrize("lookahead", [False, True])
def test_runs(keep: str, lookahead: bool, tmp_path: Path) -> None:
    for number, game in enumerate([Game("2x2", 32), MASKED, Game("2x3", 16, walls=[1], horizon=18)]):
        path = tmp_path / str(number)
        result = count(game, folder=path, keep=keep, lookahead=lookahead, threads=1)
        question, lines, layers = second.read_run(folder_files(path))
        assert verify_run(path).sound
        assert (question["game"], question["lookahead"]) == (game.identity, lookahead)
        exact, nothing = oracle.reachable(game, lookahead=lookahead), Layer(set(), set())
        for line, kind in itertools.product(lines, KEPT[keep]):
            keys = layers[kind].get(line["sum"], [])
            assert {game.unpack(key) for key in keys} == getattr(exact.get(line["sum"], nothing), kind)
        for name in ("states", "live", "winning", "afterstates", "raw_states", "raw_live"):
            assert sum(sum(line[name]) for line in lines) == result.totals[name]


WINNING = {
    "sum": ("sum", {}),
    "sweep": ("sweep", {"encoding": "binary", "order": "columns"}),
    "accumulative": ("accumulative", {"encoding": "binary", "order": "rows"}),
}


@pytest.mark.parametrize("name", WINNING)
@pytest.mark.parametrize("game", [Game("2x2", 16), Game("2x3", 8, unmergeable=[5])], ids=str)
def test_winning_sets(name: str, game: Game, tmp_path: Path) -> None:
    strategy, names = WINNING[name]
    saved(tmp_path / "set", game, None, strategy, **names)
    theirs = second.WinningSet(folder_files(tmp_path / "set"))
    every = itertools.product(*map(theirs.game.choices, range(theirs.game.cells)))
    boards = [board for board in every if board.count(X) == theirs.game.count]
    with open_winning_set(tmp_path / "set") as winning:
        stored = StoredSet(winning.location, winning.manifest)
        held = {
            after: stored.holds(np.array([cells_of(game, b) for b in boards]), after=after)
            for after in (False, True)
        }
    layers = {layer["name"] for layer in theirs.manifest["layers"]}
    asked = 0
    for (after, ours), (at, board) in itertools.product(held.items(), enumerate(boards)):
        if theirs.layer_of(board) in layers:
            assert theirs.holds(board, after=after) == ours[at], board
            asked += 1
    assert asked > 100
    for cells, value in oracle.values(game, "guaranteed").states.items():
        assert theirs.holds(theirs.game.unpack(game.pack(cells)), after=False) == value


CERTIFICATES = {
    "forced": Game("2x2", 8, start="empty"),
    "not forced": Game("2x2", 16, start="empty"),
    "starts": Game("2x3", 16),
    "one start": Game("2x3", 16, start="2,2,0/4,0,0"),
    "limits": Game("2x3", 16, limits="8,8,4/16,8,4", start="empty"),
    "only 2s": Game("2x3", 32, spawn=0, start="empty"),
    "only 4s": Game("2x2", 32, spawn=1, start="empty"),
    "a box": Game("2x2x2", 16, start="4,4,4,2/4,4,2,2"),
    "goal sum": Game("2x2", goal_sum=16),
    "horizon": Game("2x3", 16, horizon=20, start="empty"),
    "pattern": Game("2x3", 32, pattern="16,8,*/*,*,*", start="empty"),
    "x": Game("2x3", 8, unmergeable=[5]),
    "masks": MASKED,
    "a formation": formation("L3").game(8),
}


@pytest.mark.parametrize("name", CERTIFICATES)
def test_certificates(name: str, tmp_path: Path) -> None:
    found = force(CERTIFICATES[name], certificate=tmp_path / "a.cert", engine="search", threads=1)
    data = (tmp_path / "a.cert").read_bytes()
    header = second.check_certificate(data)
    assert header == check_certificate(tmp_path / "a.cert")
    assert (header["claim"], header["boards"]) == ("forced" if found.forced else "not forced", found.listed)
    # Without any one of its boards, the proof is refused.
    _, *lines = gzip.decompress(data.partition(b"\n")[2]).decode().splitlines()
    for at in range(0, len(lines), 1 + len(lines) // 8):
        changed = signed(header | {"boards": len(lines) - 1}, [*lines[:at], *lines[at + 1 :]])
        (tmp_path / "b.cert").write_bytes(changed)
        with pytest.raises(RefusedError):
            check_certificate(tmp_path / "b.cert")
        with pytest.raises(DamagedError):
            second.check_certificate(changed)


@pytest.mark.parametrize("direction", ["lower", "upper"])
@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
@pytest.mark.parametrize("space", ["all", "reachable"])
def test_records(direction: str, dtype: str, space: str, tmp_path: Path) -> None:
    for game in (Game("2x2", 32, start="empty"), Game("2x2", 16, limits="8,8/8,4")):
        found = prove(game, direction=direction, dtype=dtype, space=space, threads=1)
        record, bound = second.read_record(found.text.encode())
        assert (bound, record["space"]) == (found.bound, space)
        away = (bound - oracle.values(game).start) * (1 if direction == "upper" else -1)
        assert 0 <= away <= Fraction(record["rounding_loss_at_most"])


# -- damage ------------------------------------------------------------------------------------------------


FOLDERS = {"chunks": (Game("3x3", 32), 1), "short": (MASKED, 8)}
"""The game and the number of layers of folders of layers."""


def _layers(folder: Path) -> None:
    """Folders of layers: one with a layer of two chunks, one with short keys."""
    keys = np.cumsum(np.arange(1, 61, dtype=np.uint64) ** 3)
    with LayerStore(folder / "chunks", Contents(Game("3x3", 32))) as store:
        store.write(8, [chunk for part in np.split(keys, 2) for chunk in encode(part)], durable=False)
    count(MASKED, folder=folder / "run", keep="afterstates", threads=1)
    (folder / "run" / "afterstates").rename(folder / "short")


def _table(folder: Path) -> None:
    solve(Game("2x2", 8), "win,upper:uint16,guaranteed", table=folder / "t", threads=1)


def _certificates(folder: Path) -> None:
    for name in ("forced", "not forced"):
        force(CERTIFICATES[name], certificate=folder / f"{name}.cert", engine="search", threads=1)


def _verified(path: Path) -> None:
    """Read all layers of the folder of a file; fewer than there were are damage, too."""
    game, count = FOLDERS[path.parent.name]
    with LayerFolder(path.parent, Contents(game)) as layers:
        if len(layers.records) < count:
            raise CorruptError("a layer is missing")
        for total in layers.sums():
            layers.layer(total).verify()


def _read_layers(files: Files, name: str) -> None:
    folder = name.partition("/")[0]
    game, count = FOLDERS[folder]
    found = second.Layers(files, folder, second.Game(game.identity)).found
    second.need(len(found) == count, "layers")


def _verified_table(path: Path) -> None:
    if verify_table(path.parents[2], sample=0).wrong:
        raise CorruptError("verify found it")


def _whole_journal(path: Path) -> None:
    _, _, torn = read_journal(path)
    if torn:
        raise CorruptError("its last line is torn")


def _sound_run(path: Path) -> None:
    folder = next(one for one in path.parents if one.name == "damaged")
    if not verify_run(folder).sound:
        raise CorruptError("verify found it")


def _probed_set(path: Path) -> None:
    with open_winning_set(path.parent) as winning:
        winning.holds("2,0/0,0")


Read = Callable[[Files, str], object]
DAMAGED: dict[str, tuple[Callable[[Path], object], tuple[str, ...], Read, Callable[[Path], object]]] = {
    "layers": (_layers, ("*/layers.idx", "*/*.seg"), _read_layers, _verified),
    "values": (
        _table, ("t/values/win/layers.idx", "t/values/*/*.seg"),
        lambda files, _: second.Table({name[2:]: data for name, data in files.items()}), _verified_table,
    ),
    "a manifest": (
        _table, ("t/manifest.json",), lambda files, name: second.sealed(files[name], "tilebase table", 3),
        lambda path: Manifest.parse(path.read_bytes(), "m"),
    ),
    "journals": (
        _table, ("t/**/*.jsonl",), lambda files, name: second.journal(files[name]), _whole_journal,
    ),
    "a run": (
        lambda folder: count(Game("1x3", 8), folder=folder, keep="states", threads=1),
        ("run.json", "counts.jsonl", "*/layers.idx", "*/*.seg"),
        lambda files, _: second.read_run(files), _sound_run,
    ),
    "a winning set": (
        lambda folder: saved(folder / "set", Game("2x2", 8)), ("set/*",),
        lambda files, _: second.WinningSet({name[4:]: data for name, data in files.items()}), _probed_set,
    ),
    "certificates": (
        _certificates, ("*.cert",),
        lambda files, name: second.check_certificate(files[name]), check_certificate,
    ),
}  # fmt: skip


def changes(data: bytes, lines: bool, longer: bool = True) -> Iterator[bytes]:
    """One bit of a byte changed, or all bits; the beginning alone; a byte more if that is `longer`.

    By default every ninth byte is changed; ``scripts/test --all`` changes all.  With `lines` the beginning is
    never whole lines: a journal of fewer layers is sound.
    """
    for at in range(len(data))[one_in(9)]:
        flip = 0xFF if at % 8 == 7 else 1 << at % 8
        yield data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]
    sizes = {*range(0, len(data), 1 + len(data) // 20), len(data) - 1}
    yield from (data[:size] for size in sizes if not lines or (size and data[size - 1] != ord("\n")))
    if longer:
        yield data + b"\n"


@pytest.mark.parametrize("name", DAMAGED)
def test_every_changed_byte_is_found(name: str, tmp_path: Path) -> None:
    """By both readers, in each file of a format."""
    make, patterns, theirs, ours = DAMAGED[name]
    folder = tmp_path / "damaged"
    folder.mkdir()
    make(folder)
    files, missed = folder_files(folder), []
    for path in [path for pattern in patterns for path in sorted(folder.glob(pattern))]:
        own, data = path.relative_to(folder).as_posix(), path.read_bytes()
        theirs(files, own)
        ours(path)
        with path.open("r+b", buffering=0) as file:
            # A killed run may leave bytes behind the layers.
            all_changes = changes(data, path.suffix == ".jsonl", path.suffix not in (".idx", ".seg"))
            for number, changed in enumerate([*all_changes, data]):
                file.seek(0)
                file.write(changed)
                file.truncate()
                if changed == data:
                    break
                reads = {"second": partial(theirs, files | {own: changed}, own), "own": partial(ours, path)}
                for who, read in reads.items():
                    try:
                        read()
                    except (DamagedError, TilebaseError, RefusedError):
                        continue
                    missed.append((who, own, number))
    assert missed == []


def test_every_changed_byte_of_a_record_is_found() -> None:
    data = prove(Game("2x2", 16), threads=1).text.encode()
    second.read_record(data)
    for changed in changes(data, lines=False):
        with pytest.raises(DamagedError):
            second.read_record(changed)
