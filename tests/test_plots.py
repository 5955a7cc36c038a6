"""Pictures of counts: what is drawn is what was counted, and the same counts give the same file."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from contextvars import copy_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cached_oracle as oracle
from tilebase import Game, bound, count, formation
from tilebase._version import version
from tilebase.bdd.strategies import Line, Method
from tilebase.cli import main
from tilebase.cli.output import name_command
from tilebase.counting.counts import FIELDS, CountResult
from tilebase.errors import CorruptError, UsageError
from tilebase.pictures import plots
from tilebase.pictures.plots import bands, plot_counts
from tilebase.policies.distributions import Distribution

GAMES = [
    Game("2x2", 32),
    Game("2x2", 32, spawn=1),
    Game("1x1", start="empty"),
    Game("2x2", 16, start="empty"),
    Game("2x3", 8, unmergeable=[0, 5], start="empty"),
    Game("2x3", 32, limits="16,8,8/8,8,8", unmergeable=[3]),
]
SMALL = oracle.count(GAMES[0])


def made_up(layers: int) -> CountResult:
    """As many layers as asked for, and every largest tile."""
    sums = np.arange(4, 4 + 2 * layers, 2)
    states = np.zeros((layers, 16), dtype=np.int64)
    for exponent in range(1, 16):
        states[sums > 2**exponent, exponent] = 10**9 // exponent
    none = np.zeros_like(states)
    return CountResult(
        Game("4x4", 65536), True, sums, states, states, none, none, states, states, complete=False
    )


def comments(file: Path) -> str:
    """The texts of an SVG, which stand in comments beside their outlines."""
    assert ET.parse(file).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    return "\n".join(line for line in file.read_text("utf-8").splitlines() if "<!--" in line)


def broken(**changes: Any) -> dict[str, Any]:
    values = json.loads(json.dumps(SMALL.as_dict()))
    for name, value in changes.items():
        if name in values["layers"][0]:
            values["layers"][0][name] = value
        elif value is None:
            del values[name]
        else:
            values[name] = value
    return dict(values)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "not a JSON object"), ({}, "'game' is missing"),
        (broken(game={"shape": "0x0"}), "not the identity of a game"),
        (broken(complete=None), "'complete' is missing"), (broken(layers=[{"sum": 4}]), "'max' is missing"),
        (broken(layers="abc"), "wrong type"), (broken(layers=7), "wrong type"),
        (broken(max=3), "largest tile 3 in sum 4"), (broken(max=0), "largest tile 0 in sum 4"),
        (broken(max=2**40), "largest tile"), (broken(sum=6), "must be a tile of the game, and listed once"),
        (broken(sum=2**70), "no board of"), (broken(states=2.5), "wrong type"),
        (broken(states="2"), "wrong type"), (broken(states=10**30), "too large|too big|out of"),
        (broken(states=-1), "negative"), (broken(states=1), "more live states than states"),
        (broken(raw_states=1000), "their totals are not the sums"),
        (broken(totals=5), "their totals are not the sums"),
    ],
)  # fmt: skip
def test_nonsense_is_no_counts(values: Any, reason: str) -> None:
    with pytest.raises(CorruptError, match=f"these are not counts: .*({reason})"):
        CountResult.from_dict(values)


@pytest.mark.parametrize("field", FIELDS)
def test_bands_hold_what_was_counted(field: str) -> None:
    drawn = bands(SMALL, field)
    assert drawn.total.sum() == SMALL.total(field)
    for i, total in enumerate(drawn.sums):
        row = {2**e: n for e, n in enumerate(getattr(SMALL, field)[SMALL.sums == total].sum(axis=0)) if n}
        assert {tile: n for tile, n in zip(drawn.tiles, drawn.counts[:, i], strict=True) if n} == row


def test_layers_without_states_are_gaps() -> None:
    drawn = bands(SMALL, "live")
    assert drawn.sums.tolist() == list(range(4, 42, 2))
    assert drawn.total[drawn.sums == 30] == 0
    assert bands(oracle.count(Game("2x2", 32, spawn=1)), "live").step == 4


@pytest.mark.parametrize("suffix", ["svg", "png"])
@pytest.mark.parametrize("kind", ["stacked", "lines"])
@pytest.mark.parametrize("game", GAMES, ids=str)
def test_every_game_is_drawn(game: Game, kind: str, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"counts.{suffix}"
    plot_counts(oracle.count(game), file, kind=kind)
    if suffix == "svg":
        assert "<!-- sum of tiles -->" in comments(file)
    else:
        assert file.read_bytes().startswith(b"\x89PNG")


def test_a_picture_says_what_it_shows(tmp_path: Path) -> None:
    plot_counts(SMALL, tmp_path / "counts.svg", field="live")
    words = comments(tmp_path / "counts.svg")
    assert "<!-- 2x2 to 32: 57 live states up to symmetry -->" in words
    assert all(f"<!-- {tile} -->" in words for tile in (2, 4, 8, 16))
    plot_counts(made_up(100), tmp_path / "counts.svg")
    words = comments(tmp_path / "counts.svg")
    assert "states up to symmetry up to sum 202 -->" in words
    assert "decided within one move" in words
    plot_counts(count(formation("44").game(8)), tmp_path / "counts.svg")
    assert "<!-- formation 44 to 8: " in comments(tmp_path / "counts.svg")


@pytest.mark.parametrize("kind", ["stacked", "lines"])
def test_the_same_counts_give_the_same_file(kind: str, tmp_path: Path) -> None:
    import matplotlib as mpl

    plot_counts(SMALL, tmp_path / "one.svg", kind=kind)
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "none", "axes.grid": True}):
        plot_counts(SMALL, tmp_path / "other.svg", kind=kind)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()


def test_auto_takes_the_axis_on_which_layers_can_be_seen(tmp_path: Path) -> None:
    grown = made_up(30)
    grown.states[:, 1:4] *= 2 ** np.arange(30)[:, None]
    for result, kind in ((SMALL, "stacked"), (grown, "lines")):
        plot_counts(result, tmp_path / "auto.svg")
        plot_counts(result, tmp_path / "chosen.svg", kind=kind)
        assert (tmp_path / "auto.svg").read_bytes() == (tmp_path / "chosen.svg").read_bytes()


def test_thousands_of_layers_are_drawn(tmp_path: Path) -> None:
    plot_counts(made_up(3000), tmp_path / "many.svg", kind="stacked")
    words = comments(tmp_path / "many.svg")
    assert "<!-- 4,096 -->" in words
    assert "<!-- 8,192 -->" not in words


def test_shades_darken() -> None:
    light = [sum(shade) for shade in plots.shades(15)]
    assert light == sorted(light, reverse=True)
    assert len(set(light)) == 15


@pytest.mark.parametrize(
    ("result", "name", "options", "sentence"),
    [
        (SMALL, "counts.gif", {}, "is no picture"),
        (SMALL, "counts.svg", {"kind": "pie"}, "kind 'pie' does not exist: choose one of"),
        (SMALL, "counts.svg", {"field": "wins"}, "'wins' was not counted"),
        (oracle.count(GAMES[2]), "counts.svg", {"field": "live"}, "no live states up to symmetry"),
    ],
)
def test_bad_requests(result, name, options, sentence, tmp_path) -> None:
    with pytest.raises(UsageError, match=sentence):
        plot_counts(result, tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", ["svg", "pdf", "eps", "png"])
def test_metadata_name_the_command_and_the_version(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"d.{suffix}"
    shown = [
        Distribution("tile", "random", {4: 0.25, 8: 0.75}, 1, 7.0),
        Distribution("score", "random", {0: 0.5, 100: 0.5}, 20, 60.0),
    ]

    def draw() -> None:
        name_command(["evaluate", "t", "random", "-q"])
        plots.plot_distributions(shown, file, "2x2, to 8")

    copy_context().run(draw)
    data = file.read_bytes()
    assert f"tilebase {version()}".encode() in data
    assert b"tilebase evaluate t random" in data
    with pytest.raises(UsageError, match="nothing to draw"):
        plots.plot_distributions([], file, "2x2")


def test_an_axis_of_counts_has_ticks_at_whole_numbers_only(monkeypatch, tmp_path) -> None:
    """20 iterations had ticks at 2.5, 7.5, 12.5 and 17.5, which were written as 2, 8, 12 and 18."""
    from matplotlib.figure import Figure

    lines = [Line(f"(2,{count})", iterations, 1.0, nodes=count) for count, iterations in ((1, 20), (2, 1))]
    found = SimpleNamespace(statement="made up", method=Method(strategy="sweep"), lines=lines)
    length = Distribution("length", "random", {0: 0.5, 20: 0.5}, 1, 10.0)
    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    plots.plot_lines(found, tmp_path / "a.svg")
    plots.plot_distributions([length], tmp_path / "b.svg", "2x2")
    (work, ends) = drawn
    for axis in (work.axes[0].xaxis, work.axes[0].yaxis, ends.axes[0].xaxis):
        ticks = axis.get_majorticklocs()
        assert len(ticks) > 1
        assert all(tick == round(tick) for tick in ticks)


def test_sizes_name_the_largest_layer_of_the_source(tmp_path: Path) -> None:
    """Slizkov, figure 2: the largest layer of 4x4 to 256 has 1,353,817,378,016 positions."""
    plots.plot_sizes(bound(Game("4x4", 256)), tmp_path / "sizes.svg")
    drawn = comments(tmp_path / "sizes.svg")
    assert "largest layer: sum 484, 1,353,817,378,016 " in drawn
    assert "4x4 to 256: 281,474,976,710,656 boards by sum" in drawn


def test_rank_draws_sizes(tmp_path: Path, printed) -> None:
    file = tmp_path / "sizes.svg"
    assert "625" in printed(f"rank 2x2 32 --record {file}")
    assert "2x2 to 32: 625 boards by sum" in comments(file)
    assert main(["rank", "2x2", "32", "--at", "30,17", "--record", str(file)]) == 2
