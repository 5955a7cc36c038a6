"""What can be forced: the search, its table, largest tiles, starts, limits, the command, another engine."""

from __future__ import annotations

import gc
import hashlib
import json
import time
from dataclasses import replace
from functools import cache
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

import cached_oracle as oracle
from conformance.games import each_rule
from strategies import SMALL_GAMES
from tilebase._kernels import force as kernels
from tilebase.check import check_certificate
from tilebase.claims.facts import read_claims
from tilebase.claims.results import read_result
from tilebase.cli import main
from tilebase.dense.index import PerfectIndex
from tilebase.errors import CorruptError, GameError, ResourceError, StorageError
from tilebase.game.game import Game
from tilebase.game.grid import parse_shape
from tilebase.game.notation import split_cells
from tilebase.game.symmetry import canonical, symmetries
from tilebase.questions import borders
from tilebase.questions import force as forcing
from tilebase.questions import solve as questions_solve
from tilebase.questions.again import reproduce_layers
from tilebase.questions.borders import find_border
from tilebase.questions.force import ENGINES, force, force_starts, largest_forced
from tilebase.questions.lemma import sample_fillings
from tilebase.questions.reproduce import judge
from tilebase.runtime.resources import Allowance
from tilebase.search import search as module
from tilebase.search.search import Facts, Search

MEMORY = 1 << 30
WINNABLE = [game for game in SMALL_GAMES if game.can_win]


@pytest.mark.parametrize("game", each_rule(WINNABLE), ids=str)
def test_all_engines_say_what_the_oracle_says(game: Game) -> None:
    exact = oracle.values(game, "guaranteed").start
    for engine in [one for one in ENGINES if one != "dense" or len(game.masks) < 2]:
        found = force(game, engine=engine, memory=MEMORY)
        assert found.forced == (exact == 1), engine
        assert found.engine == engine


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(claim, marks=pytest.mark.all if "2s only" in str(claim.board) else [])
        for claim in read_claims()
        if claim.quantity.quantity
        in ("largest_tile", "largest_tile_that_can_be_forced", "forced_within_limits")
        and prod(parse_shape(claim.board.split(",")[0].split()[0])) <= 10
    ],
    ids=lambda claim: f"{claim.quantity.quantity} {claim.board}",
)
def test_published_verdicts(claim):
    """Largest tiles, and limits that are minimal or maximal; boards of more cells take minutes to days."""
    assert judge(claim, 60.0).verdict == "agrees"


def test_with_one_thread_the_work_does_not_vary():
    game = Game("3x3", 64, start="empty")
    assert [force(game, memory=MEMORY, threads=1).positions for _ in range(2)] == [93948, 93948]


@pytest.mark.parametrize("shape", ["1x2", "1x5", "2x2", "2x3", "2x4", "2x2x2"])
def test_4s_only_are_2s_only_twice_as_large(shape):
    twos, fours = (largest_forced(shape, spawns=spawns, memory=MEMORY) for spawns in ("2", "4"))
    assert fours.tile == 2 * twos.tile


def test_limits_and_starts_of_the_largest_tile():
    """A goal above two to the cells is kept away by 2s."""
    found = largest_forced("2x2", start="two-tiles")
    assert [answer.game.goal for answer in found.answers] == [4, 8, 16]
    assert [answer.forced for answer in found.answers] == [True, True, False]
    assert found.tile == 8
    assert largest_forced("2x3", limits="8,8,8/8,8,4").tile == 16
    assert largest_forced("2x3", limits="8,8,8/8,4,8").tile == 8
    assert largest_forced("2x3", start="8,8,0/0,0,0").tile == 16
    assert largest_forced("2x3", start="8,4,2/4,2,4").tile == 8
    assert largest_forced("2x3", start="0x330000").tile == 16


@pytest.mark.parametrize(
    ("game", "better", "worse"),
    [
        (Game("2x3", 16), "0,2,8/8,2,2", "0,2,8/8,0,2"),
        (Game("2x3", 16), "0,2,8/8,4,4", "0,2,8/8,4,0"),
        (Game("2x3", 16), "2,0,2/4,4,4", "2,0,2/4,2,4"),
        (Game("2x3", 16), "0,2,2/2,4,2", "0,2,4/2,4,2"),
        (Game("2x4", 32), "0,0,0,0/0,0,8,16", "0,0,0,0/0,0,0,16"),
        (Game("2x3", 32, spawn=0), "0,2,4/8,16,4", "0,2,4/8,16,0"),
    ],
    ids=str,
)
def test_fewer_or_smaller_tiles_may_lose(game, better, worse):
    """Neither an emptied cell nor a halved or doubled tile keeps what is won: docs/force.md."""
    search = Search(game, Allowance(memory=MEMORY, threads=1))
    found = [search.decide(game.pack(canonical(game, game.parse(board)))) for board in (better, worse)]
    search.close()
    assert found == [True, False]


@pytest.mark.parametrize(
    ("goal", "spawns", "changed", "after", "before"),
    [
        (4, (1, 2), lambda e: 0 if e == 1 else None, (20, 4342), (10, 6018)),
        (4, (1, 2), lambda e: e - 1 if e > 1 else None, (500, 8676), (184, 12038)),
        (4, (1, 2), lambda e: e + 1 if 0 < e < 3 else None, (520, 8696), (186, 12040)),
        (5, (1,), lambda e: 0 if e else None, (1126, 43962), (1008, 69250)),
    ],
    ids=["loses a 2", "halved", "doubled", "loses a tile, 2s only"],
)
def test_how_many_pairs_of_2x3_refute_each_order(goal, spawns, changed, after, before):
    """The table of docs/force.md, over all boards by the plain rules: after a slide, and before one."""
    game = Game("2x3", 1 << goal, spawn=0 if spawns == (1,) else "1/10")

    @cache
    def forced_after(board):
        empty = [cell for cell, e in enumerate(board) if not e]
        return bool(empty) and all(
            forced((*board[:cell], e, *board[cell + 1 :])) for cell in empty for e in spawns
        )

    @cache
    def forced(board):
        return any(goal in result or forced_after(result) for result in game.slides(board).values())

    for wins, wanted in ((forced_after, after), (forced, before)):
        pairs = [
            wins((*board[:cell], changed(e), *board[cell + 1 :]))
            for board in product(range(goal), repeat=6)
            if wins(board)
            for cell, e in enumerate(board)
            if changed(e) is not None
        ]
        assert (pairs.count(False), len(pairs)) == wanted


def test_unmixing_undoes_mixing():
    keys = np.random.default_rng(1).integers(0, 1 << 64, 1000, dtype=np.uint64)
    keys = np.array(sorted({0, 1, (1 << 64) - 1, *keys.tolist()}), dtype=np.uint64)
    won = keys % 2 == 0
    table = Facts(MEMORY, 0)
    table.enter(keys, won)
    listed = [(keys.copy(), won.copy()) for keys, won in table.entries()]
    assert sorted(np.concatenate([keys for keys, _ in listed]).tolist()) == keys.tolist()
    assert (table.known(keys) == np.where(won, kernels.WON, kernels.LOST)).all()
    assert (table.known(keys ^ np.uint64(1 << 40)) == kernels.UNKNOWN).all()


def test_a_table_too_small_forgets_and_is_right_all_the_same():
    game = Game("2x3", 32, start="empty")
    search = Search(game, Allowance(memory=MEMORY, threads=2))
    search.facts = Facts(0, 0)
    assert search.decide(0) is False
    assert sum(seeker.counts[3] for seeker in search._seekers) > 0  # deleted entries
    search.close()


def test_a_root_whose_entry_is_lost_is_opened_again():
    """Another thread may push it out of a full table between being decided and being looked up."""
    search = Search(Game("2x3", 32, start="empty"), Allowance(memory=MEMORY, threads=1))
    assert search.decide(0) is False
    for _ in range(3):
        table = search.facts.table
        root = [k for k in range(len(table)) if table[k] and search.facts.known(np.zeros(1, np.uint64))[0]]
        for k in root:
            kept, table[k] = table[k], 0
            if search.facts.known(np.zeros(1, np.uint64))[0]:
                table[k] = kept
        assert search.facts.known(np.zeros(1, np.uint64))[0] == kernels.UNKNOWN
        search._step()
        assert search.facts.known(np.zeros(1, np.uint64))[0] == kernels.LOST
    search.close()


@pytest.mark.parametrize("shape", ["3x6", "4x5", "3x3x3"])
def test_boards_of_more_than_16_cells(shape, tmp_path):
    game = Game(shape, 8, start="empty")
    found = force(game, engine="search", memory=MEMORY, certificate=tmp_path / "a.cert")
    assert found.forced
    assert check_certificate(tmp_path / "a.cert")["boards"] == found.listed


def test_an_interrupted_search_goes_on(tmp_path):
    game, use = Game("3x3", 64, start="empty"), {"folder": tmp_path / "run", "memory": MEMORY, "threads": 1}

    def stop(progress):
        if progress.positions > 40_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        force(game, progress=stop, **use)
    assert 0 < force(game, **use).positions < 80_000


def test_time_that_runs_out_leaves_it_undecided(tmp_path):
    game = Game("3x4", 128, start="empty")
    found = force(game, folder=tmp_path / "run", memory=MEMORY, seconds=0.0)
    assert found.forced is None
    assert "undecided" in found.statement
    assert (tmp_path / "run" / "decided.bin").exists()


def test_a_save_larger_than_the_memory_leaves_what_fits(tmp_path):
    """With room, next to nothing is forgotten."""
    table = Facts(1 << 24, 0)
    keys = np.arange(1, 300_000, dtype=np.uint64)
    table.enter(keys, keys % 3 == 0)
    assert (table.known(keys) != kernels.UNKNOWN).mean() > 0.999
    assert table.table.nbytes <= 1 << 24
    table.save(tmp_path / "decided.bin")
    small = Facts(1 << 20, 0)
    small.load(tmp_path / "decided.bin")
    assert small.table.nbytes <= 1 << 20
    known = small.known(keys)
    assert (known != kernels.UNKNOWN).sum() > 50_000
    right = np.where(keys % 3 == 0, kernels.WON, kernels.LOST)
    assert ((known == kernels.UNKNOWN) | (known == right)).all()


def test_a_pass_that_does_not_fit_leaves_the_search_alone(monkeypatch):
    """Nor does a search leave its table to a pass."""
    game = Game("2x5", 64, limits="32,32,32,32,32/32,32,32,32,16", start="empty")
    monkeypatch.setattr(forcing, "FIRST_PATIENCE", 0.0)

    def refuse(*_: object, **__: object) -> PerfectIndex:
        raise ResourceError("too large")

    monkeypatch.setattr("tilebase.costs.passes.planned_index", refuse)
    found = force(game, memory=MEMORY)
    assert (found.forced, found.engine) == (False, "search")
    monkeypatch.undo()
    monkeypatch.setattr(forcing, "FIRST_PATIENCE", -1.0)
    monkeypatch.setattr(forcing, "patience_for", lambda *_: -1.0)
    real = questions_solve.solve

    def watched(*arguments: object, **options: object) -> object:
        assert not any(type(thing) is Search for thing in gc.get_objects())
        return real(*arguments, **options)  # type: ignore[arg-type]

    gc.collect()
    monkeypatch.setattr(questions_solve, "solve", watched)
    assert force(Game("2x3", 32, limits="16,16,16/16,16,8"), memory=MEMORY).engine == "dense"


def test_a_border_that_is_stopped_lists_what_is_certain(monkeypatch, capsys):
    asked, real = [], borders.force

    def stopped(game: Game, **options: object) -> object:
        asked.append(game)
        if len(asked) > 8:
            raise KeyboardInterrupt
        return real(game, **options)  # type: ignore[arg-type]

    whole = find_border(Game("2x4", 32, start="empty"))
    monkeypatch.setattr(borders, "force", stopped)
    assert main(["limits", "2x4", "32", "--start", "empty", "--minimal", "-f", "json", "-q"]) == 1
    found = capsys.readouterr()
    border = json.loads(found.out)
    assert 0 < border["open"] < border["lattice"]
    assert set(border["minimal_winning"]) <= {text for text, _ in whole.winning}
    assert set(border["maximal_losing"]) <= {text for text, _ in whole.losing}
    assert "stopped early" in found.err


def test_all_starts_go_on_where_they_were(tmp_path, printed):
    assert "every spawn of 2s and 4s: 0 of 60, 60 undecided (exact) (tilebase " in printed(
        f"force starts 2x3 16 --budget 0s --work {tmp_path} -q", status=1
    )
    assert (tmp_path / "decided.bin").exists()
    assert "every spawn of 2s and 4s: 60 of 60 (exact) (tilebase " in printed(
        f"force starts 2x3 16 --work {tmp_path} -q"
    )


def test_the_largest_tile_is_stopped_with_what_is_known(monkeypatch):
    def stop(*_: object, **__: object):
        raise KeyboardInterrupt

    monkeypatch.setattr(forcing, "force", stop)
    assert not largest_forced("2x2", memory=MEMORY).exact


def test_the_plan_foresees_the_pass_that_replaces_a_search(printed, monkeypatch, tmp_path):
    monkeypatch.setattr("tilebase._kernels.jit.is_compiled", lambda _: False)
    search, in_place = json.loads(printed("plan force 2x5 64 -f json"))
    assert search["time"].endswith("if it takes over 20 seconds, a pass replaces it")
    assert in_place["boards"] == f"{6**10:,} boards"
    assert in_place["time"].endswith("after 19 seconds of compiling")
    assert (
        len(json.loads(printed("plan", "force", "2x5", "64", "-c", str(tmp_path / "proof"), "-f", "json")))
        == 1
    ), "a certificate is made by a search"
    assert len(json.loads(printed("plan force 4x4 2048 -f json"))) == 1, "a layer does not fit into memory"


def test_plans_of_counts_have_the_disk_of_what_stays(printed):
    disks = []
    for keep in ("counts", "afterstates", "states"):
        first, *_ = json.loads(printed(f"plan count 4x4 64 --keep {keep} -f json"))
        number, unit = first["disk"].removesuffix(", too much").split()
        disks.append(float(number) * {"MB": 1e6, "GB": 1e9}[unit])
    counts, afterstates, states = disks
    assert 10 * counts < afterstates < states / 2


def test_an_index_that_takes_seconds_is_told(caplog, monkeypatch):
    monkeypatch.setattr("tilebase.dense.index.MANY_BLOCKS", 100)
    with caplog.at_level("INFO", logger="tilebase"):
        assert len(PerfectIndex(Game("2x3", 16)).order)
    assert "blocks of boards: listing them takes some seconds" in caplog.text


def test_a_tile_as_large_as_a_code_of_x_is_a_tile():
    assert force(Game("5x5", 16, start=",".join(["0"] * 23 + ["8", "8"])), memory=MEMORY).forced
    with pytest.raises(GameError, match="an x on each unmergeable cell"):
        Game("2x2", 8, unmergeable=[0], start="0,x/2,0")


def test_a_save_that_is_damaged_or_of_another_version_is_refused(tmp_path, monkeypatch):
    game, saved = Game("2x3", 32, start="empty"), tmp_path / "run/decided.bin"
    force(game, folder=saved.parent, memory=MEMORY, seconds=-1.0)
    data = saved.read_bytes()
    middle = len(data) // 2
    for wrong in (data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :], b""):
        saved.write_bytes(wrong)
        with pytest.raises(CorruptError, match="is damaged, or of another version: delete it and search"):
            force(game, folder=saved.parent, memory=MEMORY)
    saved.write_bytes(data)
    monkeypatch.setattr(kernels, "LAYOUT", 0)
    with pytest.raises(CorruptError, match="or of another version"):
        Facts(MEMORY, 0).load(saved)


@pytest.mark.parametrize(
    ("first", "own", "others"),
    [
        ("8", ["8", "8 --spawns 2,4"], ["16", "8 --spawns 2", "8 --start two-tiles", "8 --limits 8,8,8,4"]),
        ("16", ["16", "16 --engine diagrams"], ["8", "16 --start two-tiles", "16 --start 0,0/0,2"]),
        ("16 --start two-tiles", ["16 --start two-tiles"], ["16", "16 --start 2,4/0,0"]),
        ("8 --start 2,4/0,0", ["8 --start 2,4/0,0", "8 --start 4,2/0,0"], ["8 --start two-tiles", "8"]),
    ],
)
def test_a_certificate_is_replaced_by_one_of_its_question_only(first, own, others, folder, printed, refused):
    proof = folder / "a.json"
    for words in (first, *own):
        printed(f"force 2x2 {words} -q -c a.json")
    before = proof.read_bytes()
    for words in others:
        refused(f"force 2x2 {words} -q -c a.json".split(), 2, "proves something else")
    refused(["count", "2x2", "8", "-q", "--record", "a.json"], 2, "is a certificate")
    assert proof.read_bytes() == before
    proof.write_bytes(before[:99])  # nobody knows of what it is
    assert main(["force", "2x2", *first.split(), "-q", "-c", "a.json"]) == 2


def test_what_is_decided_is_kept_when_the_certificate_fails(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise KeyboardInterrupt

    game = Game("2x4", 64, start="empty")
    # With more threads, one may overwrite what another has decided, which is then decided again.
    use = {"memory": MEMORY, "threads": 1}
    monkeypatch.setattr("tilebase.search.certificates.write_certificate", fail)
    with pytest.raises(KeyboardInterrupt):
        force(game, folder=tmp_path / "run", certificate=tmp_path / "a.cert", **use)
    monkeypatch.undo()
    found = force(game, folder=tmp_path / "run", certificate=tmp_path / "a.cert", **use)
    assert found.positions == 0
    assert found.listed


def test_progress_has_a_rate_and_an_estimate():
    seen = []
    force(Game("3x3", 64, start="empty"), memory=MEMORY, progress=seen.append)
    assert [one.positions for one in seen] == sorted(one.positions for one in seen)
    assert all(0 <= one.fraction <= 1 and one.rate > 0 and one.unit == "afterstates" for one in seen)


@pytest.mark.parametrize("game", [Game("2x2", 8), Game("2x2", 16), Game("2x3", 16), Game("2x3", 32)], ids=str)
def test_each_start_on_its_own(game):
    starts = force_starts(game, memory=MEMORY).starts
    assert sum(one.boards for one in starts) == len([board for board, _ in game.starts()])
    for one in starts:
        alone = game.changed(start=game.format(one.board))
        assert one.forced == (oracle.values(alone, "guaranteed").start == 1)


def test_4x4_has_480_starts():
    game = Game("4x4", 8)
    starts = force_starts(game, memory=MEMORY).starts
    assert sum(one.boards for one in starts) == 480 == 4 * 16 * 15 // 2
    assert all(one.forced for one in starts)


@pytest.mark.parametrize(
    "game",
    [Game("2x2", 8, start="empty"), Game("2x3", 16, start="empty"), Game("1x4", 8, start="empty", spawn=0)],
    ids=str,
)
def test_the_border_is_that_of_all_limits(game):
    found = find_border(game, memory=MEMORY)
    assert found.open == 0
    least = game.spawn_exponents[-1]
    wins = {}
    for levels in np.ndindex(*(top - least + 1 for top in game.tops)):
        limits = [2 ** (least + level) for level in levels]
        wins[levels] = force(game.changed(limits=limits), engine="search").forced
    group = symmetries(game)
    for border, side, step in ((found.winning, True, -1), (found.losing, False, 1)):
        expected = {
            max(tuple(levels[c] for c in p) for p in group)
            for levels, won in wins.items()
            if won is side
            and all(
                wins.get((*levels[:i], levels[i] + step, *levels[i + 1 :]), not side) is not side
                for i in range(len(levels))
            )
        }
        listed = {
            tuple(int(limit).bit_length() - 1 - least for limit in limits_of(text, game))
            for text, _ in border
        }
        assert listed == expected


def limits_of(text: str, game: Game) -> list[str]:
    """The limit of each cell; one for all stands once."""
    words = split_cells(text)
    return words * game.cells if len(words) == 1 else words


def test_a_border_from_a_start_board_begins_at_its_tiles_and_one_within_a_budget_is_true_so_far():
    found = find_border(Game("2x2", 16, start="0,0/2,8"), memory=MEMORY)
    assert (found.open, found.lattice) == (0, 2**3)
    assert all(split_cells(text)[-1] == "8" for text, _ in found.winning + found.losing)
    found = find_border(Game("3x3", 32, start="empty"), seconds=0.0, memory=MEMORY)
    assert found.open == found.lattice == 3**9
    assert found.winning == found.losing == ()


def test_what_a_search_cannot_use():
    with pytest.raises(ResourceError, match="MiB of memory"):
        Search(Game("2x2", 8), Allowance(memory=1000, threads=1))
    with pytest.raises(StorageError, match="cannot write"):
        Facts(MEMORY, 0).save(Path("/nowhere/at/all"))


@pytest.fixture
def slow(monkeypatch):
    """As in a first run, in which kernels are compiled, for longer than the search takes."""
    make, seconds = module.CompiledGame, []

    def compiled(game):
        with global_compiler_lock:
            time.sleep(seconds[-1])
        return make(game)

    monkeypatch.setattr(module, "CompiledGame", compiled)
    return seconds


def test_what_it_takes_to_begin_is_not_counted(slow):
    slow.append(0.3)
    before = time.perf_counter()
    search = Search(Game("2x2", 16), Allowance.of(threads=1), deadline=before + 0.1)
    search.close()
    assert search.deadline >= before + 0.4


@pytest.mark.parametrize(
    "ask",
    [
        lambda: force(Game("2x2", 8, start="empty")),
        lambda: largest_forced("2x2"),
        lambda: sample_fillings(Game("2x3", 64, pattern="lemma1"), 2),
    ],
    ids=["force", "largest_forced", "sample_fillings"],
)
def test_no_reported_time_holds_what_compiling_took(ask, slow):
    """ "9 afterstates by the engine search in 10.0 s", of a first run."""
    slow.append(5.0)
    assert ask().seconds < 5.0


REPRODUCED = (
    Game("2x3", 16, start="empty"),
    Game("2x3", 16, limits="8,8,8/8,4,4", pattern="8,4,*/*,*,*", start="empty"),
    Game("2x3", goal_sum=20, limits="8,8,8/8,8,8"),
    Game("2x3", 16, walls=[1, 5]),
    Game("2x3", 16, masks="..x/..x", start="after 2,0,x/4,0,x"),
    Game("2x3", 16, horizon=14),
    Game("3x3", 32, limits="16,16,8/8,8,4/4,4,4", spawn=0, start="empty"),
    Game("3x3", 16, walls=[4], spawn=1),
    Game("3x3", 16, walls=[0]),
    Game("3x3", 32),
    Game("3x4", 16),
    Game("3x4", 16, limits="8,8,8,8/8,8,4,4/4,4,4,4"),
    *(Game(shape, 32, pattern="two", start="empty") for shape in ("2x3", "2x4", "3x3")),  # 36 patterns
)


@pytest.mark.parametrize("game", REPRODUCED, ids=str)
def test_another_engine_counts_the_same_boards_and_wins(game: Game) -> None:
    found = force(game, engine="dense", again=True, threads=1)
    assert found.again is not None
    assert (found.again.differ, found.again.layers) == ((), len(found.layers))
    assert found.again.forced is found.forced
    said = f"the engine diagrams counts the same boards and wins in each of {len(found.layers)} layers"
    assert found.again.statement == said
    assert sum(layer.boards for layer in found.layers) > 50


def test_a_wrong_layer_is_named() -> None:
    found = force(REPRODUCED[0], engine="dense", threads=1)
    wrong = [replace(one, won=one.won + (one.sum == 20)) for one in found.layers if one.sum != 22]
    again = reproduce_layers(REPRODUCED[0], wrong, forced=True)
    assert again.differ == (20, 22)
    assert again.statement == "the engine diagrams has other boards or wins at the sums 20, 22"


def test_the_record_names_the_engine_and_is_cited(tmp_path: Path, printed) -> None:
    record = tmp_path / "verdict.json"
    words = ["force", "2x3", "16", "--engine", "dense", "--again", "--record", str(record), "-q"]
    assert "the engine diagrams counts the same boards and wins in each of 24 layers" in printed(*words)
    told = json.loads(record.read_text())
    lines = "".join(f"{one['sum']} {one['boards']} {one['won']}\n" for one in told["layers"])
    assert told["checksum"] == hashlib.sha256(lines.encode()).hexdigest()
    cited = read_result(record)
    assert cited.checked == "the engine diagrams counts the same boards and wins in each of 24 layers"
    assert cited.text().endswith(f"in each of 24 layers. SHA-256 of the layers: {told['checksum']}.")
