"""The data set that can be published: a small part of it, made whole and read by others."""

from __future__ import annotations

import hashlib
import json
import runpy
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

import cached_oracle as oracle
from dataset.card import CONTEXT
from dataset.making import check_values, make_dataset
from tilebase import Game, open_table
from tilebase._version import version
from tilebase.arrays import GameArrays
from tilebase.datasets import BENCHMARKS, SPLITS, benchmark, split_of, to_arrow
from tilebase.errors import CorruptError, UsageError

NAMES = ("2x2-32-win", "2x2-32-score", "2x3-64-win")
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "set"
    told = []
    parts = make_dataset(folder, NAMES, command="a command", told=told.append)
    done = ["2x2-32", "2x2-32-win", "2x2-32-score", "2x3-64", "2x3-64-win"]
    assert [line.split(":")[0] for line in told] == done
    return folder, parts


def test_parts_have_each_state_once(made):
    folder, parts = made
    for part in parts:
        with open_table(folder / "tables" / f"{part.task.table}.zip") as table:
            whole = to_arrow(table, objective=part.task.objective, visits=True).read_all()
        files = [pq.read_table(folder / "data" / part.task.name / f"{split}.parquet") for split in SPLITS]
        assert [len(file) for file in files] == [file.rows for file in part.files]
        assert part.rows == len(whole)
        for number, file in enumerate(files):
            assert set(file["split"].to_pylist()) == {number}
            order = list(zip(file["sum"].to_pylist(), file["key"].to_pylist(), strict=True))
            assert order == sorted(order)
        rows = [row for file in files for row in file.drop_columns("split").to_pylist()]
        assert sorted(rows, key=lambda row: (row["sum"], row["key"])) == whole.to_pylist()


def test_parts_are_eight_one_and_one_of_ten():
    """By a hash that another program can compute: SplitMix64, cell by cell."""
    boards = np.random.default_rng(0).integers(0, 10, (20_000, 3, 3), dtype=np.uint8)
    shares = np.bincount(split_of(boards), minlength=3) / len(boards)
    np.testing.assert_allclose(shares, [0.8, 0.1, 0.1], atol=5 * (0.16 / 20_000) ** 0.5)
    for board, part in zip(boards[:50], split_of(boards)[:50], strict=True):
        mixed = 0
        for cell in board.ravel().tolist():
            mixed = (mixed + cell + 1) * 0x9E3779B97F4A7C15 % 2**64
            mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 % 2**64
            mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
            mixed ^= mixed >> 31
        assert part == {8: 1, 9: 2}.get(mixed % 10, 0)


def test_checksums_and_what_other_programs_read(made):
    import duckdb

    folder, parts = made
    sums = dict(reversed(line.split("  ")) for line in (folder / "SHA256SUMS").read_text().splitlines())
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert set(sums) == files - {"SHA256SUMS"}
    for path, digest in sums.items():
        assert hashlib.sha256((folder / path).read_bytes()).hexdigest() == digest
    count, best = duckdb.sql(
        f"SELECT count(*), max(v) FILTER (WHERE sum = 4) FROM '{folder}/data/2x3-64-win/*.parquet'"
    ).fetchall()[0]
    assert count == parts[2].rows
    assert best >= parts[2].task.optimum


def test_the_metadata_name_what_is_there(made):
    """The structure of Croissant 1.1; mlcroissant accepts it (docs/agents.md)."""
    folder, parts = made
    data = json.loads((folder / "croissant.json").read_text())
    assert data["@context"] == CONTEXT
    assert data["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    assert {"name", "description", "license", "version", "datePublished", "creator", "citeAs"} <= set(data)
    objects = {one["@id"]: one for one in data["distribution"]}
    assert len(objects) == 3 * len(parts) + 2
    for path, one in objects.items():
        assert one["contentSize"] == f"{(folder / path).stat().st_size} B"
        assert one["sha256"] == hashlib.sha256((folder / path).read_bytes()).hexdigest()
    assert [record["@id"] for record in data["recordSet"]] == [
        f"{name}/{split}" for name in NAMES for split in SPLITS
    ]
    types = {"uint64": "cr:UInt64", "uint8": "cr:UInt8", "int32": "cr:Int32", "double": "cr:Float64"}
    types |= {"string": "sc:Text"}
    for record in data["recordSet"]:
        assert record["key"]["@id"] in {one["@id"] for one in record["field"]}
        path = f"data/{record['@id']}.parquet"
        schema = pq.read_schema(folder / path)
        assert [one["source"]["extract"]["column"] for one in record["field"]] == schema.names
        assert {one["source"]["fileObject"]["@id"] for one in record["field"]} == {path}
        for one, column in zip(record["field"], schema, strict=True):
            listed = one["@id"].endswith("/cells")
            assert one["dataType"] == types[str(column.type.value_type if listed else column.type)]
            assert one.get("isArray", False) is listed
            if listed:
                assert int(one["arrayShape"]) == column.type.list_size


def test_the_front_matter_names_the_files(made):
    """So that `datasets.load_dataset` of Hugging Face (tried: 5.2.0) loads each benchmark, or the first."""
    folder, parts = made
    front = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    assert (front["license"], front["task_categories"]) == ("mit", ["reinforcement-learning"])
    for number, (one, part) in enumerate(zip(front["configs"], parts, strict=True)):
        assert (one["config_name"], one.get("default", False)) == (part.task.name, number == 0)
        files = {entry["split"]: folder / entry["path"] for entry in one["data_files"]}
        assert list(files) == list(SPLITS)
        assert [pq.read_metadata(file).num_rows for file in files.values()] == [f.rows for f in part.files]


def test_the_card_and_the_tasks(made):
    folder, parts = made
    card = (folder / "README.md").read_text()
    for part in parts:
        assert f"| {part.task.name} | `{part.task.words}` |" in card
        assert f"{part.rows:,}" in card
    assert "licence: MIT" in card
    assert "`a command`" in card
    date = json.loads((folder / "croissant.json").read_text())["datePublished"]
    assert f"year = {{{date[:4]}}},\n      note = {{version 1.0.0, made by tilebase {version()}}}" in card
    tasks = json.loads((folder / "benchmarks.json").read_text())
    assert [one["name"] for one in tasks] == list(NAMES)
    assert [Game.from_identity(one["identity"]) for one in tasks] == [part.task.game for part in parts]


def test_the_smallest_benchmarks_are_exact():
    """Against the oracle's fractions, and an agent that is asked board by board."""
    for name in ("2x2-32-win", "2x2-32-score"):
        task = benchmark(name)
        assert task.optimum == pytest.approx(float(oracle.values(task.game, task.objective).start), rel=1e-14)


def test_every_benchmark_is_a_game_with_a_name():
    assert len({(one.words, one.objective) for one in BENCHMARKS.values()}) == len(BENCHMARKS)
    for name, one in BENCHMARKS.items():
        assert name == f"{one.table}-{one.objective}"
        assert one.random < one.greedy < one.optimum
        assert GameArrays(one.game).order >= 1
        assert (one.score(one.random), one.score(one.optimum)) == (0, 1)


def test_benchmarks_that_are_not_so(made, tmp_path):
    folder, _ = made
    with pytest.raises(UsageError, match="there is no benchmark '4x4': choose one of 2x2-32-win, "):
        benchmark("4x4")
    with pytest.raises(UsageError, match="is not an empty folder"):
        make_dataset(folder, NAMES)
    with pytest.raises(UsageError, match="name at least one benchmark"):
        make_dataset(tmp_path / "none", [])
    task = benchmark("2x2-32-win")
    check_values(task, (task.optimum, task.random, task.greedy))
    with pytest.raises(CorruptError, match=r"greedy of 2x2-32-win is 0\.5, and the benchmark says"):
        check_values(task, (task.optimum, task.random, 0.5))


def test_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    """With the first game that was not done; the files are those of a run that was not interrupted."""
    names, told, folder = ("2x2-32-win", "2x3-64-win", "2x2-32-score"), [], tmp_path / "set"

    def stop(line):
        told.append(line)
        if line.startswith("2x3-64-win"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_dataset(folder, names, told=stop)
    with pytest.raises(UsageError, match="holds an unfinished data set of 2x2-32-win, 2x3-64-win, 2x2-32-s"):
        make_dataset(folder, names[:1])
    told.clear()
    make_dataset(folder, names, told=told.append)
    assert [line.split(":")[0] for line in told] == ["2x3-64", "2x3-64-win"]
    make_dataset(tmp_path / "other", (*names, names[0]))

    def digests(folder):
        lines = (folder / "SHA256SUMS").read_text().splitlines()
        return {line for line in lines if line.split("/")[0].endswith("data")}

    assert len(digests(folder)) == 9
    assert digests(folder) == digests(tmp_path / "other")
    files = sorted(path.name for path in folder.iterdir())
    assert files == ["README.md", "SHA256SUMS", "benchmarks.json", "croissant.json", "data", "tables"]
    for text in ("{", "{}"):
        (folder / "unfinished.json").write_text(text)
        with pytest.raises(CorruptError, match=r"unfinished\.json"):
            make_dataset(folder, names)


def test_the_script(made, capsys, tmp_path):
    folder, _ = made
    run = runpy.run_path(str(ROOT / "scripts" / "make-dataset"))["main"]
    assert run([]) == 2
    assert run([str(folder)]) == 2
    assert "is not an empty folder" in capsys.readouterr().err
    assert run(["--every", str(folder)]) == 2
    assert "there is no option --every" in capsys.readouterr().err
    assert run([str(tmp_path / "one"), "2x2-32-win"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("2x2-32-win: 7")
    assert (tmp_path / "one" / "croissant.json").exists()
    with open_table(tmp_path / "one" / "tables" / "2x2-32.zip") as table:
        assert float(table.value) == benchmark("2x2-32-win").optimum
