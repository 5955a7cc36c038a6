"""Tables as data sets: each column says what probes say, and other programs read it."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow.parquet as pq
import pytest

from following import slides_of, visits
from tilebase import Game, evaluate, open_table, solve
from tilebase.arrays import TableArrays
from tilebase.datasets import columns, to_arrow, write_parquet
from tilebase.errors import MissingExtraError, StorageError, UsageError
from tilebase.game.board import Board
from tilebase.game.symmetry import canonical, orbit_size
from tilebase.policies import judge

GAMES = Game("2x3", 32), Game("2x2x2", 8), Game("2x3", 16, masks="..x/...|.../..x"), Game("2x2", goal_sum=30)


def first(_, allowed):
    return allowed.argmax(axis=1)


@pytest.fixture(scope="module", params=GAMES, ids=str)
def table(request, solved):
    with open_table(solved(request.param, "win,score,guaranteed")) as table:
        yield table


@pytest.mark.parametrize("label", ["win", "score", "guaranteed"])
def test_each_row_says_what_a_probe_says(table, label):
    game = table.game
    rows = to_arrow(table, objective=label).read_all().to_pylist()
    starts = Counter[int]()
    for board, p in game.starts():
        starts[game.pack(canonical(game, board))] += p
    told = {row["key"]: row["start_probability"] for row in rows if row["start_probability"]}
    assert told == pytest.approx({key: float(p) for key, p in starts.items()}, rel=1e-15)
    assert [row["key"] for row in rows] == TableArrays(table).to_arrays("states")["keys"].tolist()
    for row in rows[:: max(1, len(rows) // 200)]:
        cells = tuple(row["cells"])
        answer = table.probe(Board(game, cells), label)
        assert game.pack(cells) == row["key"]
        assert (row["sum"], row["largest"]) == (game.sum(cells), 1 << game.max_exponent(cells))
        assert row["orbit"] == orbit_size(game, cells)
        assert row["v"] == float(answer.value)
        assert row["board"] == game.format(cells)
        slides = {slide.direction: slide for slide in answer.slides}
        for bit, direction in enumerate(game.directions):
            slide = slides.get(direction)
            assert row[f"q_{direction}"] == (None if slide is None else float(slide.value))
            after = game.slides(cells).get(direction)
            stored = None if after is None or game.wins(after) else game.pack(canonical(game, after))
            assert row[f"after_{direction}"] == stored
            assert bool(row["best"] >> bit & 1) == (direction in answer.best)


def test_visits_are_those_of_optimal_play(table):
    game = table.game
    rows = to_arrow(table, visits=True).read_all()
    met = visits(game, slides_of(game, "win"))
    for cells, visit in zip(rows["cells"].to_pylist(), rows["visits"].to_pylist(), strict=True):
        assert visit == pytest.approx(float(met.pop(tuple(cells), 0)), rel=1e-12), cells
    assert all(game.has_goal_sum(board) for board in met)


def test_a_policy_has_values_of_its_own(solved):
    """The starts add up to what it is worth; the values of random play are means over its slides."""
    import polars
    from polars.testing import assert_frame_equal

    for start in ("two-tiles", "4,0,0/0,2,0"):  # then games meet some boards in one orientation only
        with open_table(solved(Game("2x3", 32, start=start))) as table:
            judged = (
                judge(table, "random", symmetry="none", keep=True),
                judge(table, first, symmetry="canonical", keep=True),
            )
            found = [polars.from_arrow(to_arrow(table, policy=one).read_all()) for one in (*judged, "random")]
        assert_frame_equal(found[0], found[2], rel_tol=1e-12)
        for one, rows in zip(judged, found[:2], strict=True):
            assert (rows["start_probability"] * rows["policy_v"]).sum() == pytest.approx(one.value, rel=1e-9)
        for row in found[0].to_dicts():
            told = [row[f"policy_q_{way}"] for way in table.game.directions if row[f"q_{way}"] is not None]
            assert row["policy_v"] == (pytest.approx(sum(told) / len(told), rel=1e-12) if told else None)


def test_a_discount_does_not_change_how_often_a_state_is_met(solved):
    """If only 2s are spawned, every game meets each sum until no slide is left."""
    with open_table(solved(Game("1x4", 16, start="2,0,0,0", spawn=0), "score", "1/2")) as table:
        rows = to_arrow(table, visits=True).read_all().to_pylist()
    visits = {total: sum(row["visits"] for row in rows if row["sum"] == total) for total in (2, 4, 6)}
    assert visits == pytest.approx({2: 1.0, 4: 1.0, 6: 1.0}, rel=1e-15)


def test_afterstates_and_pieces(table, monkeypatch, tmp_path):
    """Row groups and files of few rows hold the same rows in the same order."""
    whole = to_arrow(table, kind="afterstates").read_all()
    assert whole.column_names == ["key", "board", "cells", "sum", "largest", "orbit", "v"]
    arrays = TableArrays(table).to_arrays()
    assert whole["key"].to_pylist() == arrays["keys"].tolist()
    assert whole["v"].to_pylist() == arrays["value"].tolist()
    expected = to_arrow(table, visits=True).read_all()
    monkeypatch.setattr(columns, "ROWS", 5)
    monkeypatch.setattr(columns, "GROUPS", 2)
    assert write_parquet(table, tmp_path / "small", visits=True) == len(expected)
    files = sorted((tmp_path / "small").iterdir())
    assert max(pq.ParquetFile(file).metadata.row_group(0).num_rows for file in files) <= 5
    assert max(pq.ParquetFile(file).metadata.num_row_groups for file in files) == 2
    assert [row for file in files for row in pq.read_table(file).to_pylist()] == expected.to_pylist()


def test_files_tell_what_they_are(table, tmp_path):
    reports = []
    write_parquet(table, tmp_path / "data", command="a command", progress=reports.append)
    assert reports[-1].step == "done"
    file = next((tmp_path / "data").iterdir())
    opened = pq.ParquetFile(file)
    about = json.loads(opened.schema_arrow.metadata[b"tilebase"])
    assert Game.from_identity(about["game"]) == table.game
    assert (about["kind"], about["command"]) == ("states", "a command")
    assert about["actions"] == list(table.game.directions)
    assert opened.metadata.row_group(0).column(0).compression == "ZSTD"
    sums = set(pq.read_table(tmp_path / "data")["sum"].to_pylist())
    assert {int(path.stem) for path in (tmp_path / "data").iterdir()} == sums


def test_duckdb_and_polars_read_it(solved, tmp_path):
    import duckdb
    import polars

    with open_table(solved(Game("2x3", 64))) as table:
        rows = write_parquet(table, tmp_path / "data", visits=True)
        write_parquet(table, tmp_path / "after", kind="afterstates")
        value, random = float(table.value), evaluate(table, "random").value
        joined = sum(int((one.after[:, 0] != 0).sum()) for one in TableArrays(table).iter_layers("states"))
        keys = TableArrays(table).to_arrays("states")["keys"]
        orbits = sum(orbit_size(table.game, table.game.unpack(int(key))) for key in keys)
    count, best, regret = duckdb.sql(
        f"""
        SELECT count(*), max(v) FILTER (WHERE sum = 4),
               sum(visits * (v - greatest(q_left, q_right, q_up, q_down)))
        FROM '{tmp_path}/data/*.parquet'
        """
    ).fetchall()[0]
    assert (count, regret) == (rows, 0)
    assert best >= value > random
    both = f"FROM '{tmp_path}/data/*.parquet' s JOIN '{tmp_path}/after/*.parquet' a ON s.after_left = a.key"
    assert duckdb.sql(f"SELECT count(*), max(abs(s.q_left - a.v)) {both}").fetchall()[0] == (joined, 0)
    frame = polars.scan_parquet(tmp_path / "data" / "*.parquet")
    most = polars.max_horizontal("q_left", "q_right", "q_up", "q_down")
    assert frame.select((polars.col("v") - most).abs().max()).collect().item() == 0
    wide = frame.group_by("largest").agg(polars.col("orbit").sum()).collect()
    assert wide["orbit"].cast(polars.Int64).sum() == orbits


def test_what_is_wrong_is_said(solved, tmp_path, monkeypatch):
    solve(Game("2x2", 16), "win,guaranteed", table=tmp_path / "table")
    table = open_table(tmp_path / "table")
    for options, words in (
        ({"kind": "boards"}, "kind must be"),
        ({"kind": "afterstates", "visits": True}, "leave visits and policy out"),
        ({"objective": "guaranteed", "visits": True}, "followed by a mean"),
        ({"objective": "score"}, "score"),
        ({"policy": judge(table, "random")}, "judge with keep=True"),
        ({"policy": judge(table, first, symmetry="none", keep=True)}, "share a row: .*symmetry='canonical'"),
        ({"policy": judge(solved(GAMES[0]), "random")}, "judge it by win of 2x2, to 16, without returns"),
    ):
        with pytest.raises(UsageError, match=words):
            to_arrow(table, **options)
    (tmp_path / "000004.parquet").write_text("mine")
    for folder in (tmp_path, tmp_path / "table", tmp_path / "000004.parquet"):
        with pytest.raises(UsageError, match=r"holds other files|lies in"):
            write_parquet(table, folder)
    for name, words in (("000004.parquet/data", "does not exist"), ("nowhere/data", "does not exist")):
        with pytest.raises(StorageError, match=words):
            write_parquet(table, tmp_path / name)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[parquet\]'"):
        to_arrow(table)
