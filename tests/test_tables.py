"""Tables: what a probe says against the oracle, wherever the files are, and what damage does."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import cached_oracle as oracle
import typed_script
from judging import agrees, check_answer
from stored import Place, chunks_of, record_of, zipped
from strategies import games_and_boards
from tilebase import Answer, Board, Exact, Game, Objective, Table, evaluate, open_table, solve
from tilebase.errors import BoardError, CorruptError, MissingBoardError, MissingLayerError, UsageError
from tilebase.game.symmetry import canonical
from tilebase.questions.symbolic import symbolic
from tilebase.tables import prober
from tilebase.tables.layers import layer_sizes, layer_values
from tilebase.tables.slides import Slider
from tilebase.tables.thinning import thin
from tilebase.tables.verify import verify_table

SMALL = Game("2x2", 32)
TINY = Game("2x2", 16)

# -- against the oracle ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "objective", "exponents"),
    [
        (TINY, "win", 4),
        (Game("2x2"), "score", 8),  # nothing bounds tiles: a slide from 32s makes a 64
        (Game("2x2", limits="64,64/16,8"), "moves", 7),
        (Game("2x2", 16, limits="8,8/8,4"), "win", 4),  # winning slides leave tiles above their limits
        (Game("2x2", pattern="8,4/*,*", spawn=0), "win", 6),
        (Game("1x4", unmergeable=[1]), "score", 15),
    ],
    ids=str,
)
def test_boards_that_no_play_makes(game, objective, exponents, solved):
    """A board is answered if the table holds all that its slides lead to, and only then."""
    exact = oracle.values(game, objective)
    answered = refused = 0
    with open_table(solved(game, objective)) as table:
        choices = [(game.x,) if cell in game.unmergeable else range(exponents) for cell in range(4)]
        for board in itertools.product(*choices):
            if not game.sum(board):
                assert table.get(Board(game, board)) is None
                continue
            if not game.allowed(board):
                with pytest.raises(BoardError, match="is not part of the game"):
                    table.probe(game.format(board))
                continue
            slides = game.slides(board)
            afters = [canonical(game, after) for after in slides.values() if not game.wins(after)]
            answer = table.get(Board(game, board), "unknown")
            if all(after in exact.afterstates for after in afters):
                answered += 1
                assert answer == table.probe(Board(game, board))
                assert {slide.direction: slide.after.cells for slide in answer.slides} == slides
                assert agrees(answer.value, max(oracle.worths(exact, board).values(), default=Fraction(0)))
                continue
            refused += 1
            assert answer == "unknown"
            with pytest.raises(MissingBoardError, match=r"cannot occur in"):
                table.probe(Board(game, board))
    assert answered
    assert refused


def test_slides_that_differ_by_rounding_are_ties(solved, monkeypatch):
    """Values of a float64 are right to about 1e-14; a difference of 5e-15 tells nothing."""
    game = Game("2x4", 128)
    with open_table(solved(game)) as table:
        board, slides = (1, 1, 0, 2, 0, 0, 0, 0), [("left", 0.0), ("right", 5e-15), ("down", 1e-13)]
        found = [(name, game.slide_any(board, name), False, 0.75 - less) for name, less in slides]
        monkeypatch.setattr(table.prober, "slides", lambda *_, **__: found)
        assert table.probe(Board(game, board)).best == ("left", "right")


def test_means_lie_within_their_proved_bounds(solved):
    """The largest number that uint16 holds stands for 1 in a bound from above."""
    with open_table(solved(TINY, "lower:uint16,win,upper:uint16")) as table:
        for total in layer_sizes(table):
            labels = (one.label for one in table.objectives)
            low, mean, high = (
                [row[2] for row in layer_values(table, total, label).largest] for label in labels
            )
            assert low <= mean <= high


def test_never_is_in_no_bar_and_no_mean(solved):
    """A histogram of `fewest` counts slides; 2^30, which stands for never, is none."""
    with open_table(solved(TINY, "fewest")) as table:
        sizes = layer_sizes(table)
        found = [layer_values(table, total) for total in sizes]
    assert sum(found[0].counts) == sizes[min(sizes)]
    assert sum(found[-1].counts) < sizes[max(sizes)]
    for layer in found:
        means = [mean for _, _, mean in layer.largest if mean is not None]
        assert all(layer.edges[0] <= mean <= layer.edges[-1] < 100 for mean in means)


def test_a_label_goes_before_a_name(solved):
    """`upper` is the label of the uint64 values, though the uint16 ones come first."""
    with open_table(solved(TINY, "upper:uint16,upper,win:float32,win")) as table:
        assert table.objective("upper").dtype == "uint64"
        assert table.objective("upper:uint16").dtype == table.objective("upper-uint16").dtype == "uint16"
        assert table.objective("win").dtype == "float64"
        assert table.probe("2,2/0,0", "win:float32") == table.probe("2,2/0,0", "win-float32")
        with pytest.raises(UsageError, match="has no values of score: it has upper-uint16, upper, win-"):
            table.probe("2,2/0,0", "score")
    assert evaluate(table, "greedy", objective="win").objective.dtype == "float64"


def test_a_game_that_one_slide_ends(solved, tmp_path):
    """Every slide wins, so there is no layer at all."""
    game, seen = Game("1x2", 8, spawn=1), []
    folder = solved(game, "win,score")
    assert solve(game, "win", down_to=4).complete
    with open_table(folder) as table:
        assert table.probe("4,4").value == Exact(1)
        assert float(table.start["score"]) == 8
    assert verify_table(folder).wrong == ()
    assert evaluate(folder, "random").value == 1
    assert evaluate(folder, folder, games=10).wins == 10
    found = thin(folder, tmp_path / "thin", above=0, progress=seen.append)
    assert (found.states, found.afterstates, found.left_out, bool(seen)) == (1, 0, 0, True)


def test_a_script_with_types_runs(solved):
    """Its types are checked in `tests/test_project.py`."""
    assert typed_script.report(str(solved(SMALL))).startswith("0.0828")


# -- single boards ---------------------------------------------------------------------------------

slider = cache(Slider)


@given(games_and_boards())
def test_slider_equals_the_rules(drawn):
    game, board = drawn
    rules = slider(game)
    assert rules.slides(board) == [
        (name, after, game.wins(after)) for name, after in game.slides(board).items()
    ]
    assert rules.canonical(board) == canonical(game, board)
    for after in game.slides(board).values():
        score = oracle._potential(game, after) - oracle._potential(game, board)
        assert Objective("score").gain(game, board, after) == score


FORMS = [
    "2,4/0,8", " 2 4 ; . 8 ", "0x1203", "1203", "[[2, 4], [0, 8]]", "[2, 4, 0, 8]",
    ' {"board": [[2, 4], [0, 8]], "moves": 7}', '{"board": [2, 4, 0, 8]}', np.array([[2, 4], [0, 8]]),
    np.array([[2, 4], [0, 8]], dtype=np.uint16), [[2, 4], [0, 8]], 0x1203, np.uint64(0x1203),
    Board(SMALL, (1, 2, 0, 3)), Board(Game("2x2"), (1, 2, 0, 3)), Board(SMALL, (1, 2, 0, 3)).unicode(),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=repr)
def test_forms_of_a_board(form):
    assert Board.read(SMALL, form) == Board(SMALL, (1, 2, 0, 3))
    assert Board.read(Game("2x3", 16, unmergeable=[4]), "1200F1").text == "2,4,0/0,x,2"


NO_BOARDS: dict[str, tuple[Any, ...]] = {
    "has 3 cells": ("2,4/0",),
    "has 1 cell;": ("120",),
    "has 0 cells": ("",),
    "6 cells": (Board(Game("2x3", 16), (1, 1, 0, 0, 0, 0)),),
    "tile 512 on cell 3": ("1209", 0x1209),
    "does not fit": ("0x12030", -1, 1 << 16),
    "32": (Board(SMALL, (5, 0, 0, 1)), Board(Game("2x2"), (5, 0, 0, 1))),
    "not a power of two": ("3,4/0,8", "[2, 4, 0, 5]", "[2, 4, 0, -1]"),
    "tile": ("9" * 5000 + ",0/0,0",),
    "is not a board in JSON": ("[2, 4", "[" * 100_000, '{"board": null}', '{"bord": [2, 4, 0, 8]}'),
    "shape": (
        "[[2, 4], [0]]", "[2, 4, 0]", "[[2, 4, 0, 8]]", np.zeros((3, 3), dtype=int), [2, 4, 0], None,
        {"board": [2, 4, 0, 8]},
    ),
    "integers": ("[2, 4, 0, 8.5]", f"[2, 4, 0, {10**40}]", np.array([[2.0, 4.0], [0.0, 8.0]])),
}  # fmt: skip


@pytest.mark.parametrize(
    ("form", "sentence"),
    [(form, sentence) for sentence, forms in NO_BOARDS.items() for form in forms],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_no_board(form, sentence):
    with pytest.raises(BoardError, match=sentence):
        Board.read(SMALL, form)


def all_answers(table: Table) -> list[Answer]:
    states = oracle.values(table.game).states
    return [table.probe(Board(table.game, state)) for state in states]


@pytest.mark.parametrize("prefix", ["", "tables/2x2-16/"])
def test_zip(prefix, solved, tmp_path):
    path = zipped(solved(TINY), tmp_path / "a.zip", prefix)
    with open_table(solved(TINY)) as folder, open_table(path) as table:
        assert all_answers(table) == all_answers(folder)
    assert verify_table(path, sample=None).wrong == ()


def test_a_table_below_the_table_of_a_zip_file_is_not_opened_in_its_place(solved, tmp_path):
    path = zipped(solved(TINY), tmp_path / "a.zip", "table/")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("table/older/manifest.json", "{}")
    with open_table(path) as table:
        assert table.game == TINY


def test_zip_files_without_a_table_that_can_be_read(tmp_path, solved):
    with pytest.raises(CorruptError, match="is compressed: zip the table with zip -0 -r"):
        open_table(zipped(solved(TINY), tmp_path / "b.zip", method=zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("letter.txt", "mine")
    with pytest.raises(MissingLayerError, match="holds no finished table"):
        open_table(tmp_path / "a.zip")


# -- damage ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda v: v | {"version": 4}, "is of version 4, this program reads 3: update it"),
        (
            lambda v: v | {"version": 1},
            "is of version 1, this program reads 3: make it again, or use the program",
        ),
        (lambda v: v | {"format": "letter"}, "is not the manifest of a table"),
        (lambda v: v | {"program": "other"}, "is damaged"),
        (lambda v: [v], "is not the manifest"),
    ],
)
def test_manifests_that_do_not_fit(change, sentence, copy):
    path = copy(TINY) / "manifest.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(CorruptError, match=sentence):
        open_table(path.parent)


FOREIGN, DAMAGED = "is damaged, or not what the manifest names", "sum 12, is damaged in chunk 0"


def values(label: str, name: str = "") -> Callable[[Path], Path]:
    """Where the values of an objective lie in a table, or one of their files."""
    return lambda folder: folder / "values" / label / name


def layer(find: Callable[[Path, int], Place], total: int) -> Callable[[Path], Place]:
    return lambda folder: find(folder / "values/lower", total)


@pytest.mark.parametrize(
    ("one", "other", "sentence"),
    [
        (layer(record_of, 12), layer(record_of, 14), FOREIGN),
        (layer(chunks_of, 12), layer(chunks_of, 14), DAMAGED),
        (values("lower"), values("upper"), FOREIGN),
        (values("lower", "000.seg"), values("upper", "000.seg"), DAMAGED),
        (values("lower"), lambda folder: folder / "other/values/lower", FOREIGN),
        (values("lower", "layers.idx"), lambda folder: folder / "other/values/lower/layers.idx", FOREIGN),
        (values("lower", "000.seg"), lambda folder: folder / "other/values/lower/000.seg", DAMAGED),
    ],
)
def test_what_is_exchanged_is_found(one, other, sentence, copy, solved) -> None:
    """Two layers, two objectives, and the tables of two games; what is not exchanged is answered."""
    folder = copy(TINY, "win,lower,upper")
    shutil.copytree(solved(SMALL, "win,lower,upper"), folder / "other")
    with open_table(folder) as table:
        right = table.probe("4,4/0,4", "win")
    first, second = one(folder), other(folder)
    if isinstance(first, Place):
        size = min(first.size, second.size)
        first, second = first._replace(size=size), second._replace(size=size)
        bytes_of_one = first.read()
        first.write(second.read())
        second.write(bytes_of_one)
    else:
        first.rename(folder / "aside")
        second.rename(first)
        (folder / "aside").rename(second)
    with open_table(folder) as table:
        with pytest.raises(CorruptError, match=sentence):
            table.probe("4,4/0,4", "lower")
        assert table.probe("4,4/0,4", "win") == right
    assert verify_table(folder).wrong


# -- many at once ----------------------------------------------------------------------------------


@pytest.fixture
def little_room(monkeypatch):
    monkeypatch.setattr(prober, "CACHED_LAYERS", 2)
    monkeypatch.setattr(prober, "CACHED_BYTES", 2)


def test_threads_share_a_table(solved, little_room):
    exact = oracle.values(SMALL)
    states = list(exact.states)
    with open_table(solved(SMALL)) as table:

        def ask(seed: int) -> int:
            mine = states * 3
            random.Random(seed).shuffle(mine)
            for state in mine:
                check_answer(table.probe(Board(SMALL, state)), exact, state)
            return len(mine)

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(ask, range(8))) == [3 * len(states)] * 8


def test_files_are_closed(solved, little_room):
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("the system does not list open files")
    before = len(os.listdir(descriptors))  # noqa: PTH208  (the folder changes while it is read)
    with open_table(solved(SMALL)) as table:
        all_answers(table)
        assert len(os.listdir(descriptors)) <= before + 12  # noqa: PTH208
    assert len(os.listdir(descriptors)) == before  # noqa: PTH208


LEAN = {
    "tilebase.open_table('t').probe('2,2/0,0').value": ("numba", "llvmlite", "tilebase.questions.solve"),
    "tilebase.open_winning_set('set').probe('2,4/0,8')": ("numba", "oxidd"),
    "from tilebase.tables.large_tiles import LargeTiles, read_tiles;"
    "game = tilebase.Game('2x3', 16, masks='..x/...', start='after 0,0,x/2,0,0');"
    "assert len(LargeTiles(game).readings(read_tiles(game, '2,2,0/0,0,64'))) == 1": ("numba", "numpy"),
}
"""What is asked of a table, a winning set and a formation, and modules that it does not need."""


@pytest.mark.parametrize("script", LEAN)
def test_what_is_asked_loads_neither_kernels_nor_the_solver(script, solved, tmp_path):
    symbolic(TINY, export=tmp_path / "set")
    shutil.copytree(solved(SMALL), tmp_path / "t")
    show = f"sys.exit(', '.join({set(LEAN[script])} & sys.modules.keys()) or 0)"
    command = [sys.executable, "-c", f"import sys, tilebase; {script}; {show}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
