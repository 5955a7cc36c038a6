"""Exported pages: the packed policy is that of the table, and the page plays it from any web host."""

from __future__ import annotations

import itertools
import json
import math
import re
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from playwright.sync_api import Page, expect

from conformance.games import SMALL_GAMES, cover
from following import visits
from repetition import one_in
from second_reader import folder_files
from serving import SECONDS, Host, How, check_accessible, hosted, ranges, whole_files
from stopping import no_space
from stored import chunks_of
from tilebase import export_page, force, formation, open_table, solve, thin
from tilebase.cli import main
from tilebase.errors import (
    CorruptError,
    MissingLayerError,
    ResourceError,
    StorageError,
    UsageError,
    WrongGameError,
)
from tilebase.files import policy as files_policy
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical, images
from tilebase.objectives.numbers import byte_text
from tilebase.tables.probe import Table
from tilebase.web import export
from tilebase.web.export import MODULES, ExportedPage

WEB = Path(export.__file__).parent
ALLOWED = ".slide:not([aria-disabled=true])"
Visit: TypeAlias = Callable[..., Path]
SMALL = Game("2x2", 32)
GAMES = [(game, "win" if game.can_win else "score") for game in SMALL_GAMES] + [
    (Game("2x2", 8), "score"),
    (Game("2x3", 16), "guaranteed"),
    (Game("2x3", limits=16), "moves"),
    (Game("2x3", 64, limits="32,16,8/8,8,8"), "lower"),
    (Game("2x3", 32, walls=[2]), "win:float32"),
    (Game("2x2", 32, horizon=22), "win"),
]


class Packed:
    """A reader of exported policies, written from docs/format.md alone; it decodes everything."""

    def __init__(self, folder: Path) -> None:
        self.text = (folder / "policy.json").read_bytes()
        check = re.search(
            r'<meta name="policy-check" content="([0-9a-f]{8})"', (folder / "index.html").read_text()
        )
        assert check
        assert f"{zlib.crc32(self.text):08x}" == check[1]
        self.header = header = json.loads(self.text)
        assert (header["format"], header["version"]) == ("tilebase policy", 1)
        rules = header["rules"]
        self.x, self.directions = rules["x"], rules["directions"]
        index = (folder / header["index"]["name"]).read_bytes()
        assert f"{zlib.crc32(index):08x}" == header["index"]["check"]
        self._entries = struct.iter_unpack("<QLL", index)
        self._data = (folder / header["policy"]["name"]).read_bytes()
        self._at = 0
        # slides[board]: the best directions; values[board]: the coarse value
        self.slides: dict[Cells, tuple[str, ...]] = {}
        self.values: dict[Cells, int] = {}
        self.ways = cache(self._ways)
        for total, states in header["layers"]:
            self._layer(total, states)
        assert self._at == len(self._data)
        assert next(self._entries, None) is None

    def _weight(self, code: int) -> int:
        return 0 if code in (0, self.x) else 2**code

    def _ways(self, cell: int, total: int) -> int:
        """How many boards have this sum on the cells from this one on."""
        codes = self.header["codes"]
        if total < 0 or cell == len(codes):
            return int(total == 0)
        return sum(self.ways(cell + 1, total - self._weight(code)) for code in codes[cell])

    def _board(self, rank: int, total: int) -> Cells:
        board = []
        for cell, codes in enumerate(self.header["codes"]):
            for code in codes:
                count = self.ways(cell + 1, total - self._weight(code))
                if rank < count:
                    board.append(code)
                    total -= self._weight(code)
                    break
                rank -= count
        return tuple(board)

    def _layer(self, total: int, states: int) -> None:
        size, bits = self.header["block"], self.header["slideBits"]
        for begin in range(0, states, size):
            count = min(size, states - begin)
            rank, length, check = next(self._entries)
            block = self._data[self._at : self._at + length]
            self._at += length
            assert zlib.crc32(block) == check
            data = zlib.decompress(block, -15)
            packed = -(-count * bits // 8)
            numbers = int.from_bytes(data[:packed], "little")
            values = data[packed : packed + count] if self.header["valueStep"] else b""
            ranks = [rank, *itertools.accumulate(_leb(data[packed + len(values) :]), initial=rank)][1:]
            assert len(ranks) == count
            for at, one in enumerate(ranks):
                board = self._board(one, total)
                self.slides[board] = tuple(
                    name for slide, name in enumerate(self.directions) if numbers >> at * bits + slide & 1
                )
                if values:
                    self.values[board] = values[at]


def _leb(data: bytes) -> Iterator[int]:
    number = shift = 0
    for byte in data:
        number |= (byte & 127) << shift
        shift += 7
        if not byte & 128:
            yield number
            number = shift = 0


def expected(table: Table, label: str | None = None) -> dict[Cells, tuple[str, ...]]:
    """What the table says, found by probing: the best slides of each canonical state that it knows."""
    game, found = table.game, {}
    boards = {canonical(game, board) for board, _ in game.starts()}
    for total in table.prober.sums():
        for position in range(table.prober.count(total)):
            after = table.prober.at(total, position)
            boards |= {canonical(game, board) for board, _ in game.spawns(after)}
    for board in boards:
        if game.has_goal_sum(board):
            continue
        answer = table.get(game.format(board), None, label or table.objectives[0].label)
        if answer and answer.best:
            found[board] = answer.best
    return found


@pytest.fixture(scope="module")
def small(solved: Callable[..., Path]) -> Path:
    """A table of 2x2 to 32."""
    return solved(SMALL)


@pytest.fixture(scope="module")
def thinned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 2x3 to 64, thinned so far that many games leave it."""
    folder = tmp_path_factory.mktemp("thinned")
    solve(Game("2x3", 64), "win", table=folder / "whole", threads=1)
    thin(folder / "whole", folder / "thin", above=2e-4)
    return folder / "thin"


# -- the policy ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("game", "label"), GAMES, ids=str)
def test_the_packed_slides_are_the_best_of_the_table(game, label, solved, tmp_path) -> None:
    page = export_page(solved(game, label), tmp_path / "page")
    packed = Packed(tmp_path / "page")
    with open_table(solved(game, label)) as table:
        wanted = expected(table)
    assert packed.slides == wanted
    assert page.states == len(wanted) == sum(states for _, states in packed.header["layers"])
    assert page.leaves == 0


def test_every_changed_byte_of_a_policy_is_found(tmp_path: Path) -> None:
    """By a reader that knows the page of formats alone."""
    solve(Game("2x2", 8), "win", table=tmp_path / "t", threads=1)
    export_page(tmp_path / "t", tmp_path / "page")
    files = sorted((tmp_path / "page").glob("policy*")) + sorted((tmp_path / "page").glob("index-*"))
    assert len(files) == 3
    for file in files:
        whole = file.read_bytes()
        for at in range(len(whole))[one_in(7)]:
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            with pytest.raises(AssertionError):
                Packed(tmp_path / "page")
        file.write_bytes(whole)
    assert Packed(tmp_path / "page").slides


@pytest.mark.parametrize(
    "game",
    [
        pytest.param(Game("3x3", 32), id="3x3"),
        pytest.param(formation("44").game(16, steps=24), id="44"),
        pytest.param(Game("3x3", 64), id="large 3x3", marks=pytest.mark.all),
    ],
)
def test_slides_in_steps_are_the_best_of_the_table(game: Game, tmp_path: Path) -> None:
    solve(game, "win", table=tmp_path / "t", threads=2)
    page = export_page(tmp_path / "t", tmp_path / "page")
    with open_table(tmp_path / "t") as table:
        slides = Packed(tmp_path / "page").slides
        assert page.states == len(slides) == table.manifest.counts["live"]
        for board in list(slides)[::97]:
            assert slides[board] == table.probe(game.format(board)).best


def leaving(table: Table, slides: dict[Cells, tuple[str, ...]]) -> Fraction:
    """The probability that a game comes to another state with a slide, if each of these slides is made with
    the same probability; as fractions.
    """
    game = table.game
    met = visits(game, lambda board: slides.get(board, ()))
    return sum((p for board, p in met.items() if board not in slides and game.slides(board)), Fraction(0))


def test_a_page_holds_what_its_table_knows(thinned: Path, tmp_path: Path) -> None:
    """Of a thinned table, and of one without boards below a value; the others are counted by `leaving`."""
    solve(Game("2x3", 32), "win,score", table=tmp_path / "t", above=0.3, threads=1)
    # Under win, one slide that is known is enough.
    for number, (folder, label) in enumerate(
        [(thinned, "win"), (tmp_path / "t", "win"), (tmp_path / "t", "score")]
    ):
        page = export_page(folder, tmp_path / str(number), objective=label)
        with open_table(folder) as table:
            wanted = expected(table, label)
            assert Packed(tmp_path / str(number)).slides == wanted
            assert page.leaves == pytest.approx(float(leaving(table, wanted)), rel=1e-12)
        assert (0.01 < page.leaves < 0.1) == (folder == thinned)


def test_coarse_values_are_near_those_of_the_table(small: Path, tmp_path: Path) -> None:
    export_page(small, tmp_path / "page", values=True)
    packed = Packed(tmp_path / "page")
    with open_table(small) as table:
        for board, byte in packed.values.items():
            answer = table.probe(table.game.format(board))
            value = float(answer.value)
            logit = (byte - 128) * packed.header["valueStep"]
            shown = 1.0 if byte == 255 else 1 / (1 + math.exp(-logit))
            assert abs(shown - value) <= max(0.051 * min(value, 1 - value), 4e-6)
            assert byte > 0
            assert (byte == 255) == any(slide.wins for slide in answer.slides)


def test_the_header_names_the_game_and_the_exact_start(small: Path, tmp_path: Path) -> None:
    """Lees-Miller 2017 counts 57 states of 2x2 to 32 up to symmetry that are neither won nor lost."""
    page = export_page(small, tmp_path / "page")
    header = Packed(tmp_path / "page").header
    with open_table(small) as table:
        assert Game.from_identity(header["game"]) == table.game
        assert header["start"]["value"] == float(table.start["win"])
    assert (header["start"]["short"], header["title"]) == ("8.3 %", "2048 on 2x2, to 32")
    assert page == ExportedPage(tmp_path / "page", "win", 57, page.policy, page.size, 0.0)
    assert re.search(r"page: 57 states, 1\d\d kB>$", repr(page))


# -- the folder ------------------------------------------------------------------------------------


def test_the_same_table_gives_the_same_bytes_and_replaces_a_page(small: Path, tmp_path: Path) -> None:
    first = export_page(small, tmp_path / "page")
    before = folder_files(tmp_path / "page")
    (tmp_path / "page" / "index-00000000.bin").write_bytes(b"an older file")
    assert export_page(small, tmp_path / "page") == first
    assert folder_files(tmp_path / "page") == before
    assert [path.name for path in tmp_path.iterdir()] == ["page"]
    assert first.size == sum(map(len, before.values()))


def test_every_module_that_the_page_imports_is_in_the_folder(small: Path, tmp_path: Path) -> None:
    export_page(small, tmp_path / "page")
    modules = [path for path in (tmp_path / "page").rglob("*.js") if path.parent.name != "vendor"]
    assert modules
    for module in modules:
        for target in re.findall(r'from "(.+?)"', module.read_text("utf-8")):
            assert (module.parent / target).is_file(), f"{module.name} imports {target}"
    page = (tmp_path / "page" / "index.html").read_text("utf-8")
    for target in re.findall(r'(?:src|href)="(?!data:)(.+?)"', page):
        assert (tmp_path / "page" / target).is_file()
    assert "$" not in page
    assert all((WEB / part / name).is_file() for part, names in MODULES.items() for name in names)


@pytest.mark.parametrize("what", ["a file", "other files", "a damaged header"])
def test_what_is_no_page_is_not_replaced(what: str, small: Path, tmp_path: Path) -> None:
    target = tmp_path / "page"
    if what == "a file":
        target.write_text("mine")
    else:
        target.mkdir()
        (target / ("policy.json" if what == "a damaged header" else "notes.txt")).write_text("mine")
    with pytest.raises(WrongGameError, match="page is not an exported page: choose a new folder"):
        export_page(small, target)
    assert "mine" in (target if target.is_file() else next(target.iterdir())).read_text()


def test_a_full_disk_leaves_the_older_page(small, tmp_path, monkeypatch) -> None:
    export_page(small, tmp_path / "page")
    before = folder_files(tmp_path)
    monkeypatch.setattr(files_policy.PolicyWriter, "_block", no_space)
    with pytest.raises(StorageError, match="No space left on device"):
        export_page(small, tmp_path / "page")
    assert folder_files(tmp_path) == before


def test_what_a_kill_left_is_taken_over(small: Path, tmp_path: Path) -> None:
    part = tmp_path / ".page.part"
    (part / "player").mkdir(parents=True)
    (part / "policy.bin").write_bytes(b"half")
    export_page(small, tmp_path / "page")
    assert [path.name for path in tmp_path.iterdir()] == ["page"]
    assert not (tmp_path / "page" / "policy.bin").exists()


def test_what_gets_no_page(small, solved, folder, monkeypatch) -> None:
    force(Game("2x2", 8, start="empty"), certificate=folder / "8.cert")
    for error, sentence, table, target, options in (
        (StorageError, r"the folder .*nowhere does not exist", small, "nowhere/page", {}),
        (UsageError, "name another folder than the current one", small, ".", {}),
        (UsageError, "has no values of lower", small, "page", {"objective": "lower"}),
        (
            UsageError,
            "score has no probabilities to win",
            solved(Game("2x2", 8), "score"),
            "page",
            {"values": True},
        ),
        (MissingLayerError, r"8\.cert is a certificate, not a table", folder / "8.cert", "page", {}),
    ):
        with pytest.raises(error, match=sentence):
            export_page(table, target, **options)
    with open_table(small) as opened:
        opened.manifest = replace(opened.manifest, space="all")
        with pytest.raises(UsageError, match="holds all boards within limits"):
            export_page(opened, "page")
    with monkeypatch.context() as patch:
        patch.setattr(files_policy, "MOST_RANK", 8)
        with pytest.raises(UsageError, match=r"2x2, to 32 has more than 2\^53 boards of one sum"):
            export_page(small, "page")
    monkeypatch.setattr(export, "MOST_BYTES", 20)
    with pytest.raises(ResourceError, match=r"takes about .* B, more than 20 B: thin the table"):
        export_page(small, "page")
    assert [path.name for path in folder.iterdir()] == ["8.cert"]
    assert export_page(small, "page", anyway=True).states == 57


def test_a_damaged_table_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    solve(Game("2x2", 16), "win", table=tmp_path / "t", threads=1)
    chunks_of(tmp_path / "t" / "values" / "win", 10).flip(10, 1)
    with pytest.raises(CorruptError):
        export_page(tmp_path / "t", tmp_path / "page")
    assert [path.name for path in tmp_path.iterdir()] == ["t"]


def test_the_command_says_what_it_wrote(thinned, folder, capsys, refused) -> None:
    assert main(["export", "page", str(thinned), "-o", "page", "-q"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^live states, up to symmetry +[\d,]+$", printed, re.MULTILINE)
    assert re.search(r"^chance to reach a state without a known slide +\d+\.\d+ %$", printed, re.MULTILINE)
    files = [path for path in (folder / "page").rglob("*") if path.is_file()]
    size = byte_text(sum(path.stat().st_size for path in files))
    assert printed.splitlines()[-1] == (
        f"page/ has {len(files)} files, {size}; try it with python3 -m http.server -d page, "
        "or copy it to any web host"
    )
    assert main(["export", "page", str(thinned), "-o", "page", "-q", "-f", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["folder"] == "page"
    assert document["leaves"] == Packed(folder / "page").header["leaves"]
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("mine")
    refused(
        ["export", "page", str(thinned), "-o", "other"], 1, "other is not an exported page: choose a new "
    )


# -- the page --------------------------------------------------------------------------------------


@pytest.fixture
def view(tab: Page) -> Iterator[Page]:
    """A tab without animations.  What it reports as an error fails the test."""
    problems: list[str] = []

    def failed(error: Any) -> None:
        problems.append(str(error))

    def said(line: Any) -> None:
        if line.type == "error":
            problems.append(line.text)

    tab.on("pageerror", failed)
    tab.on("console", said)
    yield tab
    tab.remove_listener("pageerror", failed)
    tab.remove_listener("console", said)
    tab.goto("about:blank")
    assert [line for line in problems if "404" not in line] == []


@pytest.fixture
def visit(view: Page, tmp_path: Path) -> Iterator[Visit]:
    """Export the page of a table, perhaps `change` it, and open it at a web host; its folder."""
    with ExitStack() as hosts:

        def visit(table: Path, how: How = whole_files, change: Any = lambda _: None, **options: Any) -> Path:
            export_page(table, tmp_path / "page", **options)
            change(tmp_path / "page")
            view.goto(hosts.enter_context(hosted(tmp_path / "page", how))[0])
            return tmp_path / "page"

        yield visit


def board_of(view: Page) -> str:
    """The board that the page shows, as text."""
    rows = view.get_by_role("row").all()
    cells = [[cell.inner_text() for cell in row.get_by_role("cell").all()] for row in rows]
    words = {"empty": "0", "wall": "#", "large tile": "x"}
    return "/".join(",".join(words.get(word.strip(), word.strip()) for word in row) for row in cells)


def set_up(view: Page, board: str) -> None:
    view.get_by_label("Set up a position").fill(board)
    view.get_by_role("button", name="Play it").click()


def best_of(view: Page) -> tuple[str, ...]:
    """The directions that the page marks."""
    return tuple(name.strip().lower() for name in view.locator(".slide.best .name").all_inner_texts())


def advice_on(view: Page, board: str) -> tuple[str, ...]:
    set_up(view, board)
    expect(view.locator(".quiet").first).to_contain_text("Move 0")
    expect(view.locator(".slide.best").first).to_be_visible()
    assert board_of(view) == board
    return best_of(view)


@pytest.mark.parametrize("how", [whole_files, ranges])
def test_the_page_plays_whole_games_as_the_table_says(how, small, visit, view) -> None:
    asked, parts = [], []
    view.on("request", lambda request: asked.append(request.url))

    def noting(host: Host, data: bytes) -> bool:
        parts.append(host.headers["Range"])
        return how(host, data)

    visit(small, noting)
    with open_table(small) as table:
        play_by_hand(view, table)
    assert any(parts)
    assert all(url.startswith((asked[0], "data:")) for url in asked)  # of this host


def test_a_policy_that_is_loaded_whole_says_how_far_it_is(solved, visit, view) -> None:
    go_on = threading.Event()

    def halting(host: Host, data: bytes) -> bool:
        """Send the second half of the policy later."""
        if "policy-" not in host.path:
            return whole_files(host, data)
        host.answer(200, data[: len(data) // 2], {"Content-Length": str(len(data))})
        host.wfile.flush()
        assert go_on.wait(SECONDS)
        host.wfile.write(data[len(data) // 2 :])
        return True

    visit(solved(Game("2x3", limits=16), "moves"), halting)
    bar = view.get_by_role("progressbar", name="Loading the policy")
    expect(bar).to_have_attribute("value", re.compile("^(49|50)$"))
    expect(view.locator(".loading")).to_contain_text(re.compile(r"no parts of files: \d\d % of \d kB"))
    expect(view.locator(".slide.best")).to_have_count(0)
    go_on.set()
    expect(view.locator(".slide.best").first).to_be_visible()
    expect(bar).to_have_count(0)


def play_by_hand(view: Page, table: Table) -> None:
    """One game by the slides that the page marks, each compared with the table."""
    status = view.locator(".slide.best, .notice.end")
    for move in range(100):
        expect(view.locator(".quiet").first).to_contain_text(f"Move {move},")
        expect(status.first).to_be_visible()
        board = board_of(view)
        if view.locator(".notice.end").count():
            assert not view.locator(".slide.best").count()
            return
        answer = table.probe(board)
        assert best_of(view) == answer.best
        view.locator(".slide.best").last.click()
    pytest.fail("a game on 2x2 has no 100 slides")


def autoplay(view: Page) -> None:
    view.get_by_label("Speed").fill("6")
    view.get_by_role("button", name="Autoplay").click()


def test_autoplay_plays_to_the_end(small: Path, visit: Visit, view: Page) -> None:
    visit(small, values=True)
    expect(view.locator(".headline strong")).to_have_text(re.compile(r"about [\d.]+ %"))
    for _ in range(3):
        autoplay(view)
        expect(view.locator(".notice.end")).to_be_visible()
        expect(view.get_by_role("button", name="Autoplay")).to_have_attribute("aria-pressed", "false")
        end = view.locator(".notice.end").inner_text()
        assert end in ("The game is won.", "No slide is left: the game is lost.")
        assert ("32" in re.split("[,/]", board_of(view))) == (end == "The game is won.")
        view.get_by_role("button", name="New game").click()


def test_a_win_that_is_not_certain_is_not_100_percent(tmp_path: Path, visit: Visit, view: Page) -> None:
    """The start of 3x3 to 64 is worth 1 - 7e-18; where a slide wins, the win is certain."""
    solve(Game("3x3", 64), table=tmp_path / "table", threads=1)
    visit(tmp_path / "table", values=True)
    expect(view.locator(".headline strong")).to_have_text("more than 99.9996 %")
    start = view.get_by_label("About").locator("b")
    expect(start).to_have_text("≈ 100 %")
    expect(start).to_have_attribute("title", re.compile("^more than 1 - "))
    set_up(view, "32,32,4/2,8,2/4,2,4")
    expect(view.locator(".headline strong")).to_have_text("100 %")


def test_autoplay_stops_where_a_thinned_page_ends_and_goes_on_by_hand(thinned, visit, view) -> None:
    packed = Packed(visit(thinned, ranges))
    slides, game = packed.slides, Game.from_identity(packed.header["game"])
    share = f"about 1 in {round(1 / packed.header['leaves'])}"
    expect(view.get_by_label("About")).to_contain_text(f"{share} comes to a position that is not here")
    before = game.format(leaver(game, slides))
    set_up(view, before)
    for _ in range(200):
        expect(view.locator(".slide.best").first).to_be_visible()
        autoplay(view)
        expect(view.locator(".notice")).to_be_visible()
        if "Autoplay stopped here" in view.locator(".notice").inner_text():
            break
        view.get_by_role("button", name="Undo (Z)").click()
        set_up(view, before)
    expect(view.locator(".notice")).to_contain_text("You can play on by hand")
    stopped = board_of(view)
    assert canonical(game, game.parse(stopped)) not in slides
    assert not view.locator(".slide.best").count()
    view.locator(ALLOWED).first.click()
    expect(view.locator(".quiet").first).not_to_contain_text("Move 0")
    assert board_of(view) != stopped


def leaver(game: Game, slides: dict[Cells, tuple[str, ...]]) -> Cells:
    """A state whose best slides are often followed by a state that is not there."""
    shares = {}
    for board, best in slides.items():
        afters = [game.slides(board)[direction] for direction in best]
        shares[board] = sum(
            p / len(best) for after in afters if not game.wins(after) for state, p in game.spawns(after)
            if canonical(game, state) not in slides and game.slides(state)
        )  # fmt: skip
    return max(shares, key=lambda board: shares[board])


@pytest.mark.parametrize("game", cover(SMALL_GAMES), ids=str)
def test_the_page_knows_the_rules_of_other_games(game, solved, visit, view) -> None:
    """On states in steps through the policy, the page allows and marks what the table says."""
    table_folder = solved(game, "win" if game.can_win else "score")
    boards = sorted(Packed(visit(table_folder)).slides)
    with open_table(table_folder) as table:
        for board in boards[:: max(1, len(boards) // 3)]:
            turned = images(game, board)[-1]
            answer = table.probe(game.format(turned))
            assert advice_on(view, game.format(turned)) == answer.best
            allowed = view.locator(f"{ALLOWED} .name").all_inner_texts()
            assert [word.strip().lower() for word in allowed] == list(game.slides(turned))
    autoplay(view)
    expect(view.locator(".notice.end")).to_be_visible()


def test_keys_and_swipes_play_undo_and_begin_again(small: Path, visit: Visit, view: Page) -> None:
    moves = view.locator(".quiet").first
    visit(small)
    advice_on(view, "0,2/0,4")

    def pressed(key: str, move: int) -> str:
        view.keyboard.press(key)
        expect(moves).to_contain_text(f"Move {move},")
        return board_of(view)

    assert re.fullmatch("2,[024]/4,[024]", pressed("ArrowLeft", 1))
    assert pressed("z", 0) == "0,2/0,4"
    assert pressed("ArrowRight", 0) == "0,2/0,4"  # changes nothing
    played = pressed("y", 1)
    pressed("n", 0)
    assert pressed("z", 1) == played  # back to the game before
    pressed("y", 0)
    advice_on(view, "0,2/0,4")
    box = view.locator(".board").bounding_box()
    assert box is not None
    view.mouse.move(box["x"] + 200, box["y"] + 100)
    view.mouse.down()
    view.mouse.move(box["x"] + 80, box["y"] + 110)
    view.mouse.up()
    expect(moves).to_contain_text("Move 1,")


IMPOSSIBLE = {
    "2,4,8": "This has 3 cells, but a 2x2 board has 4: write 0 for an empty cell.",
    "2": "This has 1 cell, but a 2x2 board has 4: write 0 for an empty cell.",
    "2,3/0,0": "3 is not a power of two.",
    "2,a/0,0": "a is not a tile of this game: write 2, 4, 8, or 0 for an empty cell.",
    "32,2/0,0": "32 is not allowed on cell 1: at most 16.",
    "x,2/0,0": "x is not a tile of this game: write 2, 4, 8, or 0 for an empty cell.",
    "0,0/0,0": "This board is empty: a game begins with a tile.",
}


def test_boards_that_are_impossible_or_not_reached(small: Path, visit: Visit, view: Page) -> None:
    visit(small)
    expect(view.locator(".slide.best").first).to_be_visible()
    before = board_of(view)
    for board, sentence in IMPOSSIBLE.items():
        set_up(view, board)
        expect(view.get_by_role("alert")).to_have_text(sentence)
        assert board_of(view) == before
    set_up(view, "16,16/16,16")
    expect(view.locator(".notice")).to_contain_text("no game from the start comes to it")
    view.get_by_role("button", name="Autoplay").click()
    expect(view.locator(".notice")).to_contain_text("Autoplay stopped here.")


def test_a_page_of_a_table_that_knows_nothing_says_so(small, tmp_path, visit, view) -> None:
    thin(small, tmp_path / "thin", above=1)
    assert Packed(visit(tmp_path / "thin")).slides == {}
    expect(view.locator(".notice")).to_contain_text("This position is not on the page")
    expect(view.get_by_label("About")).to_contain_text("about 100 % come to a position")


def test_slides_that_are_not_allowed_say_why(solved, visit, view) -> None:
    game = Game("2x3", 16, unmergeable=[5], masks="..x/...|.../..x")
    boards = Packed(visit(solved(game))).slides
    board = next(one for one in boards if len(game.slides(one)) == 1)
    advice_on(view, game.format(board))
    for direction, why in game.refusals(board).items():
        slide = view.locator(".slide", has_text=direction.capitalize())
        expect(slide).to_contain_text(why)
        expect(slide).to_have_attribute("aria-disabled", "true")


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def damaged(data: bytes) -> bytes:
    return bytes(byte ^ (at % 7 == 0) for at, byte in enumerate(data))


@pytest.mark.parametrize(
    ("what", "host"),
    [
        ("policy-*.bin", whole_files),
        ("index-*.bin", ranges),
        ("policy.json", whole_files),
        pytest.param("policy-*.bin", ranges, marks=pytest.mark.all),
    ],
)
@pytest.mark.parametrize("how", [damaged, cut, None], ids=["damaged", "cut", "missing"])
def test_files_that_are_not_as_written_are_named_on_the_page(how, what, host, small, visit, view) -> None:
    whole: dict[Path, bytes] = {}

    def change(folder: Path) -> None:
        (path,) = folder.glob(what)
        whole[path] = path.read_bytes()
        path.unlink()
        if how is not None:
            path.write_bytes(how(whole[path]))

    visit(small, host, change)
    ((path, data),) = whole.items()
    notice = view.get_by_role("alert")
    reason = "is damaged, or of another version" if how else "is not on this host"
    if (how, what, host) != (cut, "policy-*.bin", ranges):  # the first block may still be whole
        expect(notice).to_contain_text(f"{path.name} {reason}")
        path.write_bytes(data)
        notice.get_by_role("button", name="Try again").click()
    expect(view.locator(".slide.best").first).to_be_visible()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"version":1', '"version":2', "has the version 2, and this page reads 1"),
        ("2x2", "2x3", "policy.json is damaged, or of another version of this page"),
        ('"tilebase policy"', '"tilebase table"', "policy.json is damaged"),
    ],
)
def test_a_header_of_another_page_is_refused(old, new, sentence, small, visit, view) -> None:
    def change(folder: Path) -> None:
        text = (folder / "policy.json").read_text()
        assert old in text
        (folder / "policy.json").write_text(text.replace(old, new, 1))

    visit(small, change=change)
    expect(view.get_by_role("alert")).to_contain_text(sentence)
    assert not view.locator(".board").count()


def test_the_page_is_accessible_and_fits(thinned: Path, visit: Visit, view: Page) -> None:
    visit(thinned, values=True)
    expect(view.locator(".slide.best").first).to_be_visible()
    set_up(view, "3")
    expect(view.get_by_role("alert")).to_be_visible()
    for width in (320, 390, 1280):
        view.set_viewport_size({"width": width, "height": 720})
        check_accessible(view)
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
    view.emulate_media(color_scheme="light")
