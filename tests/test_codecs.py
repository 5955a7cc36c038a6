"""Ways to store a layer: every row is true to its file, and says what it was measured on."""

from __future__ import annotations

import csv
import io
import json
import lzma
import shutil
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tilebase.cli import main
from tilebase.errors import CorruptError, MissingExtraError, UsageError
from tilebase.files.format import CHUNK_KEYS, Contents, Layer, Record, compress, encode_keys
from tilebase.files.run import Query, RunFolder
from tilebase.files.source import LocalFile
from tilebase.game.game import Game
from tilebase.questions import codec_plots, codecs
from tilebase.questions.codecs import LEVELS, CodecRow, Keys, compare, frontier
from tilebase.tables.layers import open_layer

KEYS = np.cumsum(np.random.default_rng(2048).integers(1, 5000, 3 * CHUNK_KEYS + 100)).astype(np.uint64)
WAYS = {(codec, level, delta) for codec in LEVELS for level in LEVELS[codec] for delta in (False, True)}


def write(path: Path, keys: Keys) -> Layer:
    """A layer of these keys in the folder of a run."""
    pieces = [keys[at : at + CHUNK_KEYS] for at in range(0, len(keys), CHUNK_KEYS)]
    chunks = [compress(int(piece[0]), len(piece), encode_keys(piece)) for piece in pieces]
    with RunFolder(path, Query(Game("4x4", 2048), keep="afterstates")) as run:
        run.layers("afterstates").write(88, chunks, durable=False)
    return open_layer(path)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with one layer."""
    path = tmp_path_factory.mktemp("codecs") / "run"
    write(path, KEYS)
    return path


@pytest.fixture(scope="module")
def layer(run: Path) -> Layer:
    return open_layer(run)


@pytest.fixture(scope="module")
def rows(layer: Layer) -> list[CodecRow]:
    return compare(layer)


# -- measuring -------------------------------------------------------------------------------------


def test_every_way_is_measured(rows: list[CodecRow]) -> None:
    assert {(row.codec, row.level, row.delta) for row in rows} == WAYS
    assert len(rows) == len(WAYS)
    assert [row.bytes for row in rows] == sorted(row.bytes for row in rows)
    for row in rows:
        assert row.keys == len(KEYS)
        assert row.bits_per_key == pytest.approx(8 * row.bytes / len(KEYS))
        assert row.compress_mb_per_s == pytest.approx(8e-6 * len(KEYS) / row.compress_seconds)
        assert row.decompress_mb_per_s == pytest.approx(8e-6 * len(KEYS) / row.decompress_seconds)


def test_sizes_are_those_of_the_compressors(rows: list[CodecRow]) -> None:
    sizes = {(row.codec, row.level, row.delta): row.bytes for row in rows}
    pieces = [KEYS[at : at + CHUNK_KEYS] for at in range(0, len(KEYS), CHUNK_KEYS)]
    deltas = [encode_keys(piece) for piece in pieces]
    assert sizes["raw", None, False] == 8 * len(KEYS)
    assert sizes["raw", None, True] == sum(map(len, deltas))
    zstd = zstandard.ZstdCompressor(level=3)
    assert sizes["zstd", 3, True] == sum(len(zstd.compress(data)) for data in deltas)
    assert sizes["zstd", 3, False] == sum(len(zstd.compress(piece.tobytes())) for piece in pieces)
    # The window was made as small as the data, which must not change what is found in it.
    assert sizes["xz", 6, True] == sum(len(lzma.compress(data, preset=6)) for data in deltas)


def test_layers_are_as_large_as_their_row(layer: Layer, run: Path, rows: list[CodecRow]) -> None:
    (row,) = (row for row in rows if (row.codec, row.level, row.delta) == ("zstd", 3, True))
    assert layer.record.nbytes == row.bytes
    files = sum(path.stat().st_size for path in (run / "afterstates").iterdir())
    assert 0 < files - row.bytes < 1000


def test_whole_layers_take_less(layer: Layer, rows: list[CodecRow]) -> None:
    (whole,) = (row for row in compare(layer, codecs=["xz"], whole=True) if row.delta and row.level == 6)
    (cut,) = (row for row in rows if (row.codec, row.level, row.delta) == ("xz", 6, True))
    assert whole.keys == cut.keys
    assert whole.bytes < cut.bytes


def test_large_layers_are_sampled_evenly(layer: Layer) -> None:
    assert {row.keys for row in compare(layer, codecs=["raw"], limit_keys=1)} == {1}
    assert {row.keys for row in compare(layer, codecs=["raw"], limit_keys=100)} == {100}
    taken = codecs._sample(layer, 2 * CHUNK_KEYS)
    assert [keys[0] for keys in taken] == [KEYS[0], KEYS[2 * CHUNK_KEYS]]
    assert [len(keys) for keys in codecs._sample(layer, None)] == [CHUNK_KEYS] * 3 + [100]


def test_one_key_can_be_stored(tmp_path: Path) -> None:
    one = write(tmp_path / "one", KEYS[:1])
    assert {(row.codec, row.level, row.delta) for row in compare(one)} == WAYS


def test_progress_is_told_each_row(layer: Layer) -> None:
    told: list[CodecRow] = []
    rows = compare(layer, codecs=["raw", "zstd"], limit_keys=1000, repeat=2, progress=told.append)
    assert sorted((row.codec, row.bytes) for row in told) == sorted((row.codec, row.bytes) for row in rows)


def test_a_codec_that_loses_keys_is_found_out(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    def functions(codec: str, level: int | None) -> tuple[codecs.Function, codecs.Function]:
        return bytes, lambda data: data[:-8] + bytes(8)

    monkeypatch.setattr(codecs, "_functions", functions)
    with pytest.raises(CorruptError, match="does not give back what it was given"):
        compare(layer, codecs=["zstd"])


# -- comparing -------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9))))
def test_frontier_is_what_nothing_beats(points: list[tuple[int, int]]) -> None:
    def beaten(point: tuple[int, int]) -> bool:
        return any(other != point and other[0] <= point[0] and other[1] <= point[1] for other in points)

    kept = frontier(points)
    assert sorted(kept) == [i for i, point in enumerate(points) if not beaten(point)]
    assert [points[i] for i in kept] == sorted(points[i] for i in kept)


def test_rows_on_the_frontier_are_marked(rows: list[CodecRow]) -> None:
    best = frontier([(row.bytes, row.compress_seconds) for row in rows])
    assert [i for i, row in enumerate(rows) if row.pareto] == sorted(best)
    best = frontier([(row.bytes, row.decompress_seconds) for row in rows])
    assert [i for i, row in enumerate(rows) if row.pareto_read] == sorted(best)
    assert rows[0].bytes == min(row.bytes for row in rows)


# -- bad requests ----------------------------------------------------------------------------------


def test_bad_requests(layer: Layer, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="codec 'lz4' does not exist: choose one of raw, zstd, brotli, xz"):
        compare(layer, codecs=["lz4"])
    with pytest.raises(UsageError, match="choose at least one"):
        compare(layer, codecs=[])
    with pytest.raises(UsageError, match="at least 1"):
        compare(layer, repeat=0)
    with pytest.raises(UsageError, match="at least 1"):
        compare(layer, limit_keys=0)
    contents = Contents(Game("4x4", 2048))
    empty, _ = Record.of(contents, 88, [], 0, 16)
    (tmp_path / "none").write_bytes(b"")
    nothing = Layer(LocalFile(tmp_path / "none", hold=False), empty, b"", contents, "the layer of sum 88")
    with pytest.raises(UsageError, match="the layer of sum 88 holds no keys"):
        compare(nothing)


def test_brotli_is_an_extra(layer: Layer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "brotli", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tilebase\[codecs\]'"):
        compare(layer)
    assert compare(layer, codecs=["zstd", "xz"], limit_keys=1000)


# -- the picture and the command -------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_pareto_picture(rows: list[CodecRow], suffix: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.{suffix}" for name in ("one", "other")]
    for file in files:
        codec_plots.plot_pareto(rows, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    if suffix == "svg":
        assert ET.parse(files[0]).getroot().tag == "{http://www.w3.org/2000/svg}svg"
        assert all(f"<!-- {codec} -->" in files[0].read_text("utf-8") for codec in LEVELS)


@pytest.fixture
def command(run: Path) -> list[str]:
    return ["export", "codecs", str(run), "--sum", "88", "--most", "2000", "--codecs", "raw,zstd"]


def test_codecs_command_as_a_table(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--record", str(tmp_path / "pareto.svg")]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert "bits/key" in lines[0]
    assert sum("zstd" in line for line in lines) == 2 * len(LEVELS["zstd"])
    assert "2,000 keys" in lines[-1]
    assert max(map(len, lines)) <= 80
    assert printed.err == f"{tmp_path / 'pareto.svg'} is written\n"
    assert (tmp_path / "pareto.svg").exists()


def test_codecs_command_as_data(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main([*command, "--format", "csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["codec"] for row in found].count("zstd") == 2 * len(LEVELS["zstd"])
    assert list(lines[0]) == list(found[0])
    assert sorted(row["bytes"] for row in lines) == sorted(str(row["bytes"]) for row in found)


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        ("none --sum 88", 1, "none not found"),
        ("odd --sum 88", 1, "odd is not a zip file"),
        ("folder --sum 88", 1, "folder holds no finished table"),
        ("run --sum 90", 1, "has no layer of sum 90: sums from 88 to 88 are there"),
        ("run --sum 88 --states", 1, "has no layer of sum 88: tilebase count"),
        ("run --sum 88 --format xml", 2, "choose one of table, csv, json"),
        ("run --sum 88 --most -1", 2, "1 key or more, or 0 for all keys, not -1"),
        ("run --sum 88 --repeat 0", 2, "must be at least 1"),
        ("run --sum 88 --codecs zip", 2, "choose one of raw, zstd, brotli, xz"),
        ("run --sum 88 --record pareto.gif", 2, "does not say its format"),
    ],
)
def test_bad_codecs_give_a_sentence(
    words: str, status: int, sentence: str, folder: Path, run: Path, refused: Callable[..., None]
) -> None:
    Path("odd").write_bytes(bytes(100))
    Path("folder").mkdir()
    shutil.copytree(run, "run")
    refused(["export", "codecs", *words.split()], status, sentence)
