"""Winning sets in folders: they hold what was computed, and nothing that is damaged is believed."""

from __future__ import annotations

import copy
import hashlib
import io
import itertools
import json
import math
import pickle
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import stored
from conformance.games import SMALL_GAMES, daily
from conformance.games import boards_of as size_of
from tilebase import WinningSet, check_certificate, errors, force, open_winning_set
from tilebase.bdd import export
from tilebase.bdd.export import check_export, write_set
from tilebase.bdd.library import Library, check_end
from tilebase.bdd.proofs import write_proof
from tilebase.bdd.sets import ENCODINGS, ORDERS, Sets
from tilebase.bdd.strategies import PLAYERS, STRATEGIES, VARIANTS, Analysis, Method
from tilebase.cli import main
from tilebase.files import dddmp
from tilebase.files.dddmp import read_dddmp, read_numbers
from tilebase.files.source import LocalFile
from tilebase.files.winning import FILE
from tilebase.game.game import Cells, Game
from tilebase.objectives.values import Exact, Unknown

SMALL = Game("2x2", 16)


def analysed(
    game: Game, rules: Method, strategy: str = "sum", encoding: str = "short", order: str = "rows"
) -> tuple[Analysis, bool | None]:
    method = replace(rules, strategy=strategy, encoding=encoding, order=order)
    sets = Sets(game, encoding, order, Library(1 << 18, 1))
    analysis = Analysis(sets, method, lambda _line, _share: None, keep=True)
    return analysis, analysis.run()


def saved(
    folder: Path, game: Game = SMALL, rules: Method | None = None, strategy: str = "sum", **names: str
) -> tuple[Analysis, WinningSet]:
    analysis, verdict = analysed(game, rules or Method(), strategy, **names)
    assert write_set(folder, analysis, verdict) == (folder / FILE).stat().st_size
    return analysis, open_winning_set(folder)


@pytest.fixture(scope="module")
def one_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("winning") / "set"
    saved(folder)
    return folder


@pytest.fixture
def kept(one_set: Path, tmp_path: Path) -> Path:
    """The folder of a set of `SMALL`, to damage."""
    return Path(shutil.copytree(one_set, tmp_path / "set"))


def boards_of(game: Game) -> list[Cells]:
    """All boards that the rules allow and that are not won."""
    of_x = game.x if game.unmergeable else -1
    every = itertools.product(*(game.codes(cell) for cell in range(game.cells)))
    found = [cells for cells in every if cells.count(of_x) == len(game.unmergeable) and game.stands(cells)]
    most = math.inf if game.horizon is None else game.last_sum
    return [cells for cells in found if not game.has_goal_sum(cells) and game.sum(cells) <= most]


def compare(analysis: Analysis, winning: WinningSet) -> None:
    """Every board of the game: the saved set holds what the diagrams hold."""
    game, manifest = analysis.game, winning.manifest
    counted = [0, 0]
    for cells in boards_of(game):
        layer = manifest.layer_of(cells)
        won = analysis.sets.holds(analysis.won[layer], cells)
        won_after = analysis.sets.holds(analysis.won_afters[layer], cells, after=True)
        counted[0] += won
        counted[1] += won_after
        text = game.format(cells)
        if game.sum(cells):
            answer = winning.probe(text)
            assert (bool(answer.value.value), winning.holds(text)) == (won, won), text
            for slide in answer.slides:
                after = manifest.layer_of(slide.cells)
                held = slide.wins == (manifest.player == "slider") if slide.wins else analysis.sets.holds(
                    analysis.won_afters[after], slide.cells, after=True
                )  # fmt: skip
                assert slide.value == (Unknown() if held is None else Exact(held))
            assert {slide.direction for slide in answer.slides} == game.slides(cells).keys()
            best = [s.direction for s in answer.slides if s.value == Exact(manifest.player == "slider")]
            assert answer.best == tuple(best)
        if game.spawns(cells) and not game.wins(cells):
            assert winning.holds_after(text) == won_after, text
    assert counted == [len(winning), winning.afterstates]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_round_trip(tmp_path: Path, variant: str, player: str, strategy: str) -> None:
    rules = Method(variant, player)
    analysis, winning = saved(tmp_path / "set", SMALL, rules, strategy)
    compare(analysis, winning)
    assert winning.value.value == winning.manifest.verdict


CODES = [{"encoding": encoding, "order": order} for encoding, order in itertools.product(ENCODINGS, ORDERS)]
GAMES = [*(one for one in SMALL_GAMES if one.can_win and size_of(one) < 1300), Game("2x2", 16, horizon=14)]


@pytest.mark.parametrize(("game", "names"), list(zip(GAMES, itertools.cycle(CODES))), ids=str)
def test_games_and_codes(tmp_path: Path, game: Game, names: dict[str, str]) -> None:
    compare(*saved(tmp_path / "set", game, **names))


def unanswered(winning: WinningSet, full: Analysis, every: int = 1) -> set[int]:
    """The sums of boards of which a set says nothing; the others it holds as the whole analysis does."""
    found = set()
    for cells in boards_of(winning.game)[1::every]:
        answer = winning.get(winning.game.format(cells))
        if answer is None:
            found.add(winning.game.sum(cells))
        else:
            assert answer.value.value == full.sets.holds(full.won[winning.manifest.layer_of(cells)], cells)
            assert all(slide.value.kind in ("exact", "unknown") for slide in answer.slides)
    return found


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("goal", [8, 16])
def test_what_was_not_computed_is_unknown(tmp_path: Path, player: str, strategy: str, goal: int) -> None:
    game = Game("2x2", goal, start="4,2/0,0")
    full, _ = analysed(game, Method(player=player), strategy)
    _, winning = saved(tmp_path / "set", game, Method(player=player, strong=False), strategy)
    assert winning.probe(game.format(game.start_board)).value.value == winning.manifest.verdict
    missing = unanswered(winning, full)
    if strategy == "sum":
        assert missing == {2, 4}
        with pytest.raises(errors.MissingBoardError, match="not all boards were computed"):
            winning.probe("2,2/0,0")


def test_what_corollary_7_leaves_out_is_unknown(tmp_path: Path) -> None:
    game = Game("2x3", 16)
    _, winning = saved(tmp_path / "set", game, Method(corollary7=True))
    assert unanswered(winning, analysed(game, Method())[0], every=7)
    _, weak = saved(tmp_path / "weak", SMALL, Method(corollary7=True, strong=False))
    for one, board in ((winning, "8,8,8/8,8,0"), (weak, "8,0/0,8")):  # the latter has no spawned tile
        with pytest.raises(errors.MissingBoardError, match="no play makes it"):
            one.probe(board)


@pytest.mark.parametrize(("strategy", "until", "below"), [("sum", "20", 20), ("sweep", "(3,2)", 16)])
def test_a_run_that_was_stopped(tmp_path: Path, strategy: str, until: str, below: int) -> None:
    analysis, winning = saved(tmp_path / "set", SMALL, Method(until=until), strategy)
    assert (winning.manifest.verdict, str(winning.value)) == (None, "unknown")
    assert 0 < max(unanswered(winning, analysed(SMALL, Method(), strategy)[0])) < below + 8
    with pytest.raises(errors.MissingBoardError, match="not all boards were computed"):
        winning.probe("2,2/0,0")
    with pytest.raises(errors.UsageError, match="nothing to prove"):
        write_proof(tmp_path / "a.cert", analysis, None)


def test_oxidd_reads_the_file(tmp_path: Path) -> None:
    from oxidd.util import DDDMPFile

    _, winning = saved(tmp_path / "set", SMALL)
    again = Sets(SMALL, "short", "rows", Library(1 << 16, 1))
    names = list(winning.manifest.layers)
    found = again.library.manager.import_dddmp(DDDMPFile(str(tmp_path / "set" / FILE)))
    assert [again.count(one) for one in found[: len(names)]] == [layer.states for layer in names]
    afters = [again.count(one, after=True) for one in found[len(names) :]]
    assert afters == [layer.afterstates for layer in names]


def test_boards_that_are_none(tmp_path: Path) -> None:
    _, winning = saved(tmp_path / "set")
    with pytest.raises(errors.BoardError, match="has 3 cells"):
        winning.probe("2,4,8")
    with pytest.raises(errors.BoardError, match="is not part of the game"):
        winning.probe("2,16/0,0")
    with pytest.raises(errors.MissingBoardError, match="no play makes it"):
        winning.probe("0,0/0,0")
    with pytest.raises(errors.MissingBoardError):
        winning.holds_after("2,4/2,4")  # a slide leaves an empty cell
    assert winning.get("0,0/0,0", "nothing") == "nothing"
    assert winning.holds_after(winning.probe("8,8/0,0").slides[0].after)
    assert not winning.holds_after("0,0/0,0")


def test_spawns_are_those_of_the_variant(tmp_path: Path) -> None:
    texts = {}
    for variant in VARIANTS:
        _, winning = saved(tmp_path / variant, SMALL, Method(variant))
        texts[variant] = [state.text for state, _ in winning.probe("2,4/0,0").slides[0].spawns()]
    every = ["2,0/2,4", "4,0/2,4", "0,2/2,4", "0,4/2,4"]
    assert texts == {"adversarial": every, "cooperative": every, "deterministic": every[:2]}


def test_answers_as_json(tmp_path: Path) -> None:
    _, winning = saved(tmp_path / "set")
    lost = json.loads(json.dumps(winning.probe("2,4/4,2").as_dict()))
    assert (lost["value"]["value"], lost["best"], lost["slides"]) == (False, [], [])
    answer = winning.probe("8,8/2,4")
    won = json.loads(json.dumps(answer.as_dict(spawns=True)))
    assert (won["value"]["kind"], won["value"]["value"], won["best"]) == ("exact", True, ["left", "right"])
    left = {"direction": "left", "board": "16,0/2,4", "ends": "won", "spawns": {}, "value": won["value"]}
    assert left.items() <= won["slides"][0].items()
    assert all(len(repr(one)) < 200 for one in (winning, answer, answer.slides[0]))


def test_the_command_prints_what_is_known(folder, printed) -> None:
    saved(Path("set"))
    assert printed("probe set 2,8/0,8").splitlines()[-4:] == [
        "the player can force a win: yes",
        "  left  no  then 2 possible spawns",
        "* up    yes  wins",
        "* down  yes  wins",
    ]
    assert printed("probe set") == "start of 2x2, to 16: the player can force a win: no\n"
    assert json.loads(printed("probe set 2,8/0,8 -f json"))["best"] == ["up", "down"]
    # after left
    assert printed("probe set 2,8/8,0 --after").endswith("the player can force a win: no\n")


def test_a_set_is_verified_by_its_checksums(folder, capsys, printed) -> None:
    Path("tables").mkdir()
    _, winning = saved(Path("tables/set"))
    assert main(["verify", "tables/set"]) == 0
    states = f"{len(winning):,} states of {len(winning.manifest.layers)} layers"
    sentence = f"as it was written, by its checksums: {states} in which the player can force a win"
    assert capsys.readouterr().out == f"tables/set: {sentence}, not derived again\n"
    # a folder of tables
    assert sentence in printed("verify tables")
    path = Path("tables/set") / FILE
    stored.flip_at(0.95)(path)
    assert "tables/set: 1 damaged; make the folder again\n" in printed("verify tables/set", status=1)
    path.unlink()
    assert FILE in printed("verify tables/set", status=1)


# -- writing ---------------------------------------------------------------------------------------


def test_a_set_is_replaced_by_one_of_the_same_game_only(kept: Path) -> None:
    _, winning = saved(kept, SMALL, Method(player="dropper"))
    assert winning.manifest.player == "dropper"
    with pytest.raises(errors.WrongGameError, match="holds a winning set of 2x2, to 16"):
        check_export(kept, Game("2x2", 8))
    (kept / "manifest.json").unlink()  # as after a kill
    check_export(kept, Game("2x2", 8))


def test_a_failed_write_leaves_the_older_set(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path.name: path.read_bytes() for path in kept.iterdir()}

    def fail(*_: object) -> None:
        raise errors.ResourceError("too many nodes")

    monkeypatch.setattr(export, "Layer", fail)
    with pytest.raises(errors.ResourceError):
        saved(kept, SMALL, Method(player="dropper"))
    assert {path.name: path.read_bytes() for path in kept.iterdir()} == before


def test_the_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(errors.WrongGameError, match="delete the folder"):
        check_export(tmp_path, SMALL)


def test_links_are_followed(tmp_path: Path) -> None:
    saved(tmp_path / "set")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "set" / FILE).rename(tmp_path / "elsewhere" / "file")
    (tmp_path / "set" / FILE).symlink_to(tmp_path / "elsewhere" / "file")
    _, winning = saved(tmp_path / "set", SMALL, Method(player="dropper"))
    assert winning.probe("2,4/0,0").meaning == "the adversary can prevent a win"
    assert (tmp_path / "set" / FILE).is_symlink()


def test_a_full_disk(tmp_path: Path) -> None:
    """With a limit on the size of files in place of a full disk; OxiDD does not tell of its last write."""
    code = f"""
import resource, signal, sys
from pathlib import Path
sys.path[:0] = {[str(Path(__file__).parent)]!r}
from test_winning_set import *
from tilebase.errors import StorageError
game = Game("2x3", 32)
_, winning = saved(Path("first"), game)
analysis, verdict = analysed(game, Method())
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
size = Path("first/{FILE}").stat().st_size - 3
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    write_set(Path("second"), analysis, verdict)
except StorageError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith(f"cannot write second/{FILE}: ")
    assert list((tmp_path / "second").iterdir()) == []


# -- damage ----------------------------------------------------------------------------------------


def sign(folder: Path) -> None:
    """Give the manifest size and sum of the file that the folder holds, as its author could."""
    values = json.loads((folder / "manifest.json").read_bytes())
    data = (folder / FILE).read_bytes()
    values["file"] |= {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    stored.sign(folder / "manifest.json", values)


def probe_all(folder: Path) -> None:
    with open_winning_set(folder) as winning:
        for text in ("2,2/0,0", "2,4/0,8", "8,4/8,2", "8,8/4,2"):
            winning.probe(text)


@pytest.mark.parametrize("seed", daily(range(20), range(3)))
def test_a_changed_and_signed_file_raises_nothing_unexpected(kept: Path, seed: int) -> None:
    """It may lead to other results, since its author may write what he likes, but to no other exception."""
    path = kept / FILE
    data = path.read_bytes()
    generator = random.Random(seed)
    for _ in range(20):
        changed = bytearray(data)
        for _ in range(generator.choice([1, 1, 3])):
            changed[generator.randrange(len(data))] = generator.choice(b"0123456789- \n.aT\xff\x00")
        path.write_bytes(changed)
        sign(kept)
        problem = None
        try:
            probe_all(kept)
        except errors.CorruptError as error:
            problem = str(error)
        assert problem is None or str(kept) in problem


Change = Callable[[list[str]], list[str]]


def with_header(key: str, value: str) -> Change:
    return lambda lines: [f"{key} {value}" if line.split()[0] == key else line for line in lines]


def with_node(number: int, text: str) -> Change:
    def change(lines: list[str]) -> list[str]:
        at = lines.index(".nodes") + number
        return [*lines[:at], text, *lines[at + 1 :]]

    return change


def exchanged(lines: list[str]) -> list[str]:
    at = lines.index(".nodes")
    return [*lines[: at + 5], lines[at + 6], lines[at + 5], *lines[at + 7 :]]


def turned(lines: list[str]) -> list[str]:
    """The sets of states are those of all others, and what slides lead to stays."""
    at = next(at for at, line in enumerate(lines) if line.startswith(".rootids"))
    words = lines[at].split()
    half = 1 + (len(words) - 1) // 2
    roots = [word.removeprefix("-") if word[0] == "-" else f"-{word}" for word in words[1:half]]
    return [*lines[:at], " ".join([words[0], *roots, *words[half:]]), *lines[at + 1 :]]


PARENT = "not less than that of its parent"
REFUSED: dict[str, tuple[Change, ...]] = {
    "is not a number from 0 to": (
        *(with_header(".nnodes", number) for number in ("999999999", "9" * 20, "-5")),
        with_header(".nvars", "100000"),
    ),
    "is not a number from 0 to 50": (with_header(".nnodes", "50"),),
    "is not a number from 0 to 8": (with_header(".nvars", "9"),),
    "it ends too early": (with_header(".nnodes", "200000000"),),
    "its .mode is not A": (with_header(".mode", "B"),),
    "its .varinfo is not 4": (with_header(".varinfo", "0"),),
    "do not have one name each": (with_header(".nroots", "3"),),
    "its variables are not ascending": (with_header(".ids", "1 0 2"),),
    "the levels of its variables": (with_header(".permids", "1 0 2"),),
    "it lacks '.rootids'": (lambda lines: [line for line in lines if ".rootids" not in line],),
    "occurs twice": (lambda lines: [lines[0], *lines],),
    "its header does not end": (lambda lines: [line for line in lines if line != ".nodes"],),
    "its header says": (lambda lines: [*lines[:-2], ".end"],),
    "its first node is not the leaf": (with_node(1, "1 T 0 1"),),
    PARENT: tuple(with_node(7, node) for node in ("7 14 9 1", "7 14 7 1", "7 14 0 1", "7 14 1 -999999999")),
    "is not after that of its parent": (with_node(7, "7 15 2 1"),),
    "a variable that does not occur": (with_node(7, "7 16 1 -1"), with_node(7, "7 -1 1 -1")),
    "are not numbered one by one": (with_node(7, "8 14 1 -1"), exchanged),
    "a line does not have 4 numbers": (with_node(7, "7 14 1"),),
    "a number has no digit": (with_node(7, "7 14  1"), with_node(7, "7 14 - 1")),
    "a number has no digit, or too many": (with_node(7, "7 14 1 1234567890"),),
    "something else than digits": (with_node(7, "7 14 1x -1"),),
    "other layers, variables or nodes": (
        lambda lines: [line.replace("states:", "others:") for line in lines],
    ),
    "does not agree": (turned,),
}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [(change, sentence) for sentence, changes in REFUSED.items() for change in changes],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_file_is_refused(kept: Path, change: Change, sentence: str) -> None:
    (kept / FILE).write_text("".join(f"{line}\n" for line in change((kept / FILE).read_text().splitlines())))
    sign(kept)
    with pytest.raises(errors.CorruptError) as caught:
        probe_all(kept)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


WRONG: dict[str, tuple[object, ...]] = {
    "format": ("tilebase table",),
    "version": (2,),
    "variant": ("nobody",),
    "player": (3,),
    "strategy": ("guess",),
    "strong": ("yes",),
    "verdict": (1, "no"),
    "game": ({"shape": "9x9"},),
    "codes": ({"0": "00", "1": "0"}, {"0": "00"}, {"0": "ab"}),
    "variables": ([[0, 0]], [[0, 0]] * 8, 7),
    "layers": ([{"name": "4"}], [{"name": "4", "states": -1, "afterstates": 0}]),
    "file": (
        {"name": FILE, "size": 10**30, "sha256": "0" * 64}, {"name": FILE, "size": 5, "sha256": "zz"},
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values]
)
def test_a_wrong_manifest_is_refused(kept: Path, name: str, value: object) -> None:
    values = json.loads((kept / "manifest.json").read_bytes())
    values[name] = value
    stored.sign(kept / "manifest.json", values)
    with pytest.raises(errors.TilebaseError) as caught:
        probe_all(kept)
    assert isinstance(caught.value, errors.CorruptError)
    del values[name]
    (kept / "manifest.json").write_text(json.dumps(values))
    with pytest.raises(errors.CorruptError):
        probe_all(kept)


@pytest.mark.parametrize("more", [1, 2**63, 10**25])
def test_a_set_has_no_more_states_than_its_game_has_boards(tmp_path: Path, more: int) -> None:
    """A cell of 2x2 to 16 holds nothing, 2, 4 or 8."""
    saved(tmp_path)
    path = tmp_path / "manifest.json"
    values = json.loads(path.read_bytes())
    layer = values["layers"][0]
    layer["states"] += 4**4 - open_winning_set(tmp_path).states
    stored.sign(path, values)
    assert open_winning_set(tmp_path).states == 4**4
    layer["states"] += more
    stored.sign(path, values)
    with pytest.raises(errors.CorruptError, match="the number of states is"):
        open_winning_set(tmp_path)


@pytest.mark.parametrize(
    ("strategy", "name"), [("sum", "9" * 30), ("sum", "all"), ("sweep", "4"), ("accumulative", "\x1b")]
)
def test_layers_have_the_names_of_their_strategy(tmp_path: Path, strategy: str, name: str) -> None:
    saved(tmp_path, strategy=strategy)
    path = tmp_path / "manifest.json"
    values = json.loads(path.read_bytes())
    values["layers"][0]["name"] = name
    stored.sign(path, values)
    with pytest.raises(errors.CorruptError, match="is not that of a layer"):
        open_winning_set(tmp_path)


def test_wrong_kinds(tmp_path: Path) -> None:
    with pytest.raises(errors.MissingLayerError):
        open_winning_set(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": "tilebase table", "version": 1}')
    with pytest.raises(errors.CorruptError, match="is not the manifest of a winning set"):
        open_winning_set(tmp_path)


def test_files_are_read_in_pieces(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_dddmp(LocalFile(kept / FILE))
    monkeypatch.setattr(dddmp, "PIECE", 30)
    pieces = read_dddmp(LocalFile(kept / FILE))
    assert (whole.high == pieces.high).all()
    assert (whole.low == pieces.low).all()
    assert (whole.sha256, whole.roots, len(whole)) == (pieces.sha256, pieces.roots, len(pieces))
    monkeypatch.setattr(dddmp, "PIECE", 3)
    with pytest.raises(errors.CorruptError, match="a line is too long"):
        read_dddmp(LocalFile(kept / FILE))


def test_numbers() -> None:
    numbers = np.array([[1, -2, 30], [999999999, -999999999, 0]])
    data = "".join(" ".join(map(str, row)) + "\n" for row in numbers.tolist()).encode()
    assert (read_numbers(data, 3) == numbers).all()
    assert read_numbers(b"", 4).shape == (0, 4)
    for wrong in (b"1 2", b"1\n2 ", b"1 2 3\n", b" \n", b"1 --2\n", b"1 \xb2\n"):
        with pytest.raises(ValueError, match=r"number|line"):
            read_numbers(wrong, 2)


# -- certificates ----------------------------------------------------------------------------------

PROVED = (
    Game("2x2", 8),
    Game("2x2", 16),
    Game("2x2", 16, spawn=0, start="empty"),
    Game("2x2", 8, spawn=0),
    Game("2x3", 16),
    Game("2x3", 32),
    Game("2x3", 16, limits="8,8,8/8,8,4", start="empty"),
    Game("2x2", 16, goal_sum=20),
    Game("2x2", goal_sum=80),
    Game("2x2", 16, start="8,8/0,2"),
    Game("2x2x2", 32, start="empty"),
    Game("3x3", 32, spawn=0),
    Game("3x3", 32),
)


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize("game", daily(PROVED, PROVED[:12:3]), ids=str)
def test_certificates_are_proved(tmp_path: Path, game: Game, player: str) -> None:
    expected = force(game, memory=1 << 30, engine="search").forced
    for strategy, strong in itertools.product(STRATEGIES[: 3 if game.cells < 8 else 1], (True, False)):
        if game.goal_sum is not None and strategy != "sum":
            continue
        analysis, verdict = analysed(game, Method(player=player, strong=strong), strategy)
        path = tmp_path / f"{strategy}-{strong}.cert"
        listed = write_proof(path, analysis, verdict)
        header = check_certificate(path)
        assert verdict == (expected == (player == "slider"))
        assert header["boards"] == listed
        assert header["claim"] == ("forced" if expected else "not forced")


def test_a_certificate_too_long_or_not_against_every_spawn_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(errors.ResourceError, match="more than 3 boards"):
        write_proof(tmp_path / "a.cert", *analysed(Game("2x3", 32), Method()), most=3)
    with pytest.raises(errors.UsageError, match="against every spawn"):
        write_proof(tmp_path / "a.cert", *analysed(SMALL, Method(variant="cooperative")))
    assert list(tmp_path.iterdir()) == []


def test_sets_in_zip_files(tmp_path: Path) -> None:
    saved(tmp_path / "set")
    winning = open_winning_set(stored.zipped(tmp_path / "set", tmp_path / "set.zip", "set/"))
    for one in (winning, copy.deepcopy(winning), pickle.loads(pickle.dumps(winning))):
        assert one.probe("8,8/2,4").value == Exact(True)


def test_a_checkpoint_cut_short_by_a_full_disk_is_noticed(tmp_path: Path) -> None:
    analysis, _ = analysed(SMALL, Method())
    path = tmp_path / "some.dddmp"
    analysis.sets.library.write(path, analysis.won.values())
    whole = path.read_bytes()
    check_end(io.BytesIO(whole), path)
    with pytest.raises(errors.StorageError, match="it is not complete"):
        check_end(io.BytesIO(whole[:-3]), path)
