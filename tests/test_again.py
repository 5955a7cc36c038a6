"""A second engine reproduces the boards and wins of each layer of a dense verdict."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tilebase import force
from tilebase.claims.results import read_result
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Game
from tilebase.questions.again import MOST_PLAIN, reproduce_layers

GAMES = (
    Game("2x3", 16, start="empty"),
    Game("2x3", 16, limits="8,8,8/8,4,4", pattern="8,4,*/*,*,*", start="empty"),
    Game("2x3", goal_sum=20, limits="8,8,8/8,8,8"),
    Game("2x3", 16, walls=[1, 5]),
    Game("2x3", 16, masks="..x/..x|.../.xx", start="after 2,0,x/4,0,x"),
    Game("2x3", 16, horizon=14),
)
OF_DIAGRAMS = (
    GAMES[1],
    Game("3x3", 32, limits="16,16,8/8,8,4/4,4,4", spawn=0, start="empty"),
    Game("3x3", 16, walls=[4], spawn=1),
    Game("3x3", 16, walls=[0]),
    Game("3x3", 32),
    Game("3x4", 16),
    Game("3x4", 16, limits="8,8,8,8/8,8,4,4/4,4,4,4"),
    *(Game(shape, 32, pattern="two", start="empty") for shape in ("2x3", "2x4", "3x3")),  # 36 patterns
)


@pytest.mark.parametrize(
    ("engine", "game"),
    [*(("plain", game) for game in GAMES), *(("diagrams", game) for game in OF_DIAGRAMS)],
    ids=str,
)
def test_another_engine_counts_the_same_boards_and_wins(engine: str, game: Game) -> None:
    found = force(game, engine="dense", again=engine, threads=1)
    assert found.again is not None
    assert (found.again.differ, found.again.layers) == ((), len(found.layers))
    assert found.again.forced is found.forced
    said = f"the engine {engine} counts the same boards and wins in each of {len(found.layers)} layers"
    assert found.again.statement == said
    assert sum(layer.boards for layer in found.layers) > 50


def test_a_wrong_layer_is_named() -> None:
    found = force(GAMES[0], engine="dense", threads=1)
    wrong = [replace(one, won=one.won + (one.sum == 20)) for one in found.layers if one.sum != 22]
    again = reproduce_layers(GAMES[0], wrong, forced=True, engine="plain")
    assert again.differ == (20, 22)
    assert again.statement == "the engine plain has other boards or wins at the sums 20, 22"


def test_the_record_names_the_engine_and_is_cited(tmp_path: Path, printed) -> None:
    record = tmp_path / "verdict.json"
    words = ["force", "2x3", "16", "--engine", "dense", "--again", "plain", "--record", str(record), "-q"]
    assert "the engine plain counts the same boards and wins in each of 24 layers" in printed(*words)
    told = json.loads(record.read_text())
    lines = "".join(f"{one['sum']} {one['boards']} {one['won']}\n" for one in told["layers"])
    assert told["checksum"] == hashlib.sha256(lines.encode()).hexdigest()
    assert told["again"]["engine"] == "plain"
    cited = read_result(record)
    assert cited.checked == "the engine plain counts the same boards and wins in each of 24 layers"
    assert cited.text().endswith(f"in each of 24 layers. SHA-256 of the layers: {told['checksum']}.")


def test_what_cannot_be_reproduced_is_refused() -> None:
    with pytest.raises(UsageError, match="choose the engine dense"):
        force(GAMES[0], engine="search", again="plain", threads=1)
    with pytest.raises(UsageError, match="reproduced by diagrams or plain, not by 'search'"):
        force(GAMES[0], engine="dense", again="search", threads=1)
    with pytest.raises(ResourceError, match=f"the plain rules decide at most {MOST_PLAIN:,}"):
        force(Game("3x3", 64), engine="dense", again="plain", threads=1)
