"""The comparison of ways to store a layer (`scripts/bench --codecs`): each size is that of its compressor."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest
import zstandard

import layer_codecs
from layer_codecs import LEVELS, compare, deltas_of, frontier, sample
from stored import encode_keys
from tilebase.files.format import CHUNK_KEYS, compress
from tilebase.files.run import Query, RunFolder
from tilebase.game.game import Game
from tilebase.tables.layers import open_layer

KEYS = np.cumsum(np.random.default_rng(2048).integers(1, 5000, 3 * CHUNK_KEYS + 100)).astype(np.uint64)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with one layer of these keys."""
    path = tmp_path_factory.mktemp("codecs") / "run"
    pieces = [KEYS[at : at + CHUNK_KEYS] for at in range(0, len(KEYS), CHUNK_KEYS)]
    chunks = [compress(int(piece[0]), len(piece), encode_keys(piece)) for piece in pieces]
    with RunFolder(path, Query(Game("4x4", 2048), keep="afterstates")) as folder:
        folder.layers("afterstates").write(88, chunks, durable=False)
    return path


def test_sizes_are_those_of_the_compressors(run: Path) -> None:
    layer = open_layer(run, 88)
    pieces = sample(layer, None)
    np.testing.assert_array_equal(np.concatenate(pieces), KEYS)
    assert [int(keys[0]) for keys in sample(layer, 2 * CHUNK_KEYS)] == [KEYS[0], KEYS[2 * CHUNK_KEYS]]
    ways = {way.name: way for way in compare(pieces)}
    assert set(ways) == {
        (codec, level, deltas) for codec in LEVELS for level in LEVELS[codec] for deltas in (False, True)
    }
    size = {name: way.bytes for name, way in ways.items()}
    assert size["raw", 0, False] == 8 * len(KEYS)
    assert size["raw", 0, True] == sum(len(encode_keys(piece)) for piece in pieces)
    zstd = zstandard.ZstdCompressor(level=3)
    assert size["zstd", 3, True] == sum(len(zstd.compress(deltas_of(piece))) for piece in pieces)
    # The window was made as small as the data, which must not change what is found in it.
    assert size["xz", 6, False] == sum(len(lzma.compress(piece.tobytes(), preset=6)) for piece in pieces)
    assert size[layer_codecs.OF_FILES] == layer.record.nbytes
    assert {way.keys for way in ways.values()} == {len(KEYS)}


def test_a_codec_that_loses_keys_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_codecs, "functions", lambda *_: (bytes, lambda data: data[:-8] + bytes(8)))
    with pytest.raises(AssertionError, match="zstd"):
        layer_codecs.measure([KEYS[:100]], "zstd", 3, deltas=False)


def test_the_frontier_is_what_nothing_beats() -> None:
    points = [(x * 7 % 10, x * x % 11) for x in range(40)]
    beaten = [any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points) for p in points]
    assert sorted(frontier(points)) == [i for i, one in enumerate(beaten) if not one]


def test_the_command_prints_and_draws(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert layer_codecs.main([str(run), "--sum", "88", "-o", str(tmp_path / "ways.svg")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 * sum(map(len, LEVELS.values())) + 2
    assert lines[-2].startswith(f"{len(KEYS):,} keys; ")
    assert (tmp_path / "ways.svg").read_text("utf-8").count("<!-- brotli of deltas -->") == 1
