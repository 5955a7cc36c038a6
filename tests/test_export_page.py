"""Exported pages: the packed policy is that of the table, and the page plays it from any web host."""

from __future__ import annotations

import itertools
import json
import math
import re
import runpy
import shutil
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pytest
from playwright.sync_api import Browser, Page, expect

from conformance.games import SMALL_GAMES, cover
from following import visits
from pages import DOCS
from repetition import one_in
from second_reader import folder_files
from serving import SECONDS, Host, How, check_accessible, hosted, ranges, whole_files, without_errors
from stopping import no_space
from tilebase import Objective, errors, export_page, force, formation, open_table, solve, thin
from tilebase.files import policy as files_policy
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical, images
from tilebase.objectives.numbers import byte_text
from tilebase.tables.probe import Table
from tilebase.web import export
from tilebase.web.export import ExportedPage

WEB = Path(export.__file__).parent
ALLOWED = ".slide:not([aria-disabled=true])"
Visit: TypeAlias = Callable[..., Path]
SMALL = Game("2x2", 32)
LARGE = [(formation("44").game(16, steps=24), "win"), (Game("3x3", 32), "win"), (Game("3x3", 64), "win")]
GAMES = (
    [(game, "win" if game.can_win else "score") for game in SMALL_GAMES]
    + [
        (Game("2x2", 8), "score"),
        (Game("2x3", 16), "guaranteed"),
        (Game("2x3", limits=16), "moves"),
        (Game("2x3", 64, limits="32,16,8/8,8,8"), "lower"),
        (Game("2x3", 32, walls=[2]), "win:float32"),
        (Game("2x2", 32, horizon=22), "win"),
        (Game("1x22", horizon=12), "score"),  # the largest tile has the last code, which is x elsewhere
        LARGE[0],
        *(pytest.param(*large, marks=pytest.mark.all) for large in LARGE[1:]),
    ]
)


READ = """async ([coder, policy, header, blocks]) => {
  const address = (text) => `data:text/javascript,${encodeURIComponent(text)}`;
  const { Boards } = await import(address(coder));
  const { Ranks } = await import(address(policy.replace("./coder.js", address(coder))));
  const ranks = new Ranks(header.codes, header.rules.x, Math.max(...header.layers.map(([sum]) => sum)));
  const boards = new Boards(ranks, header);
  return blocks.map(([bytes, ...place]) => boards.read(Uint8Array.from(bytes), ...place));
}"""


class Packed:
    """A reader of exported policies, written from docs/format.md; blocks are read as on the page."""

    def __init__(self, folder: Path, view: Page) -> None:
        text = (folder / "index.html").read_text("utf-8")
        found = re.search(r'<script type="application/json" id="policy">(.*?)</script>', text)
        assert found
        self.header = header = json.loads(found[1])
        assert (header["format"], header["version"]) == ("tilebase policy", 3)
        self.game = Game.from_identity(header["info"]["identity"])
        self.x, self.directions = header["rules"]["x"], header["info"]["directions"]
        policy = header["policy"]
        data = (folder / policy["name"]).read_bytes()
        assert len(data) == policy["bytes"]
        data, tail = data[: -policy["tail"] or None], data[len(data) - policy["tail"] :]
        assert f"{zlib.crc32(tail):08x}" == policy["check"]
        self.boards = cache(self._boards)
        # places[board]: where the value of an afterstate begins and ends; corrected[board]: best directions
        self.places: dict[Cells, tuple[float, float]] = {}
        self.corrected: dict[Cells, tuple[str, ...]] = {}
        self.scales = {total: (low, step) for total, _, low, step, _ in header["layers"]}
        sums = [(total, loose) for total, count, *_, loose in header["layers"] for _ in range(count)]
        entries, at, blocks = [*struct.iter_unpack("<QLL", tail[: 16 * len(sums)])], 0, []
        for (rank, length, check), place in zip(entries, sums, strict=True):
            block = data[at : at + length]
            at += length
            assert zlib.crc32(block) == check
            blocks.append(([*block], rank, *place))
        assert at == len(data)
        modules = [(WEB / "player" / name).read_text("utf-8") for name in ("coder.js", "policy.js")]
        for found, (total, _) in zip(view.evaluate(READ, [*modules, header, blocks]), sums, strict=True):
            boards = self.boards(total)[[int(rank) for rank in found["ranks"]]].tolist()
            for board, begin, size in zip(boards, found["begins"], found["sizes"], strict=True):
                self.places[tuple(board)] = self._ends(begin, size, *self.scales[total])
        self._correct(zlib.decompress(tail[16 * len(sums) :], -15))

    def _weight(self, code: int) -> int:
        return 0 if code in (0, self.x) else 2**code

    def _boards(self, total: int) -> npt.NDArray[Any]:
        """All boards of a sum, in the order of ranks."""
        boards, sums = np.zeros((1, 0), dtype=np.int64), np.zeros(1, dtype=np.int64)
        for cell, codes in enumerate(self.header["codes"]):
            sums = np.repeat(sums, len(codes)) + np.tile(list(map(self._weight, codes)), len(boards))
            boards = np.column_stack([np.repeat(boards, len(codes), axis=0), np.tile(codes, len(boards))])
            most = sum(max(map(self._weight, rest)) for rest in self.header["codes"][cell + 1 :])
            kept = (sums <= total) & (sums + most >= total)
            boards, sums = boards[kept], sums[kept]
        return boards

    @staticmethod
    def _ends(place: float, part: float, low: float, step: float) -> tuple[float, float]:
        return low + (place - 1) * step, low + (place + part - 1) * step

    def _correct(self, data: bytes) -> None:
        for total, count in self.header["corrections"]:
            masks, data, boards = data[:count], data[count:], self.boards(total)
            deltas = list(itertools.islice(_leb(data), count))
            data = data[sum(max(1, -(-delta.bit_length() // 7)) for delta in deltas) :]
            for mask, rank in zip(masks, itertools.accumulate(deltas), strict=True):
                names = (name for slide, name in enumerate(self.directions) if mask >> slide & 1)
                self.corrected[tuple(boards[rank].tolist())] = tuple(names)
        assert not data

    def ends(self, board: Cells) -> dict[str, tuple[float, float] | None]:
        """Where the value of each slide of a state begins and ends; None if the page does not know it."""
        objective, found = self.header["objective"], {}
        total = self.game.sum(board)
        low, step = self.scales.get(total, (0.0, 1.0))

        def earned(cells: Cells) -> int:
            return sum((objective["potential"] or [0] * 64)[code] for code in cells if code != self.x)

        for name, after in self.game.slides(board).items():
            if self.game.wins(after):
                cell = 255 if self.header["logits"] else (objective["won"] - low) // step + 1
                place = self._ends(min(max(cell, 1), 255), 1, low, step)
            else:
                place = self.places.get(canonical(self.game, after))
            gain = objective["slide"] + earned(after) - earned(board)
            found[name] = place and (place[0] + gain, place[1] + gain)
        return found

    def best(self, board: Cells) -> tuple[str, ...]:
        """The best slides of a canonical state, none if the page does not know them."""
        if board in self.corrected:
            return self.corrected[board]
        ends = self.ends(board)
        known = {name: place for name, place in ends.items() if place}
        if len(known) < (1 if self.header["below"] else len(ends)):
            return ()
        last = max((begin for begin, _ in known.values()), default=0)
        return tuple(name for name, (_, end) in known.items() if end > last)

    def slides(self) -> dict[Cells, tuple[str, ...]]:
        """The best slides of each state that a start or a spawn on an afterstate is, where they are known."""
        game = self.game
        boards = {canonical(game, board) for board, _ in game.starts()}
        for after in self.places:
            if not game.ended(game.sum(after)):
                boards |= {canonical(game, board) for board, _ in game.spawns(after)}
        found = {board: self.best(board) for board in boards if not game.has_goal_sum(board)}
        return {board: best for board, best in found.items() if best}


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
def thinned(solved: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 2x3 to 64, thinned so far that many games leave it."""
    folder = tmp_path_factory.mktemp("thinned")
    thin(solved(Game("2x3", 64)), folder, above=2e-4)
    return folder


@pytest.mark.parametrize(("game", "label"), GAMES, ids=str)
def test_the_packed_slides_are_the_best_of_the_table(game, label, solved, view, tmp_path) -> None:
    page = export_page(solved(game, label), tmp_path / "page")
    packed = Packed(tmp_path / "page", view)
    with open_table(solved(game, label)) as table:
        if (game, label) in LARGE:
            slides = packed.slides()
            assert page.states == len(slides) == table.manifest.counts["live"]
            assert all(slides[board] == table.probe(game.format(board)).best for board in [*slides][::97])
        else:
            assert packed.slides() == (wanted := expected(table))
            assert page.states == len(wanted) == packed.header["states"]
    assert page.leaves == 0


def test_a_block_ends_after_some_boards_or_some_without_a_value(thinned, visit, view, monkeypatch) -> None:
    monkeypatch.setattr(files_policy, "BLOCK", (64, 5))
    packed = Packed(visit(thinned), view)
    blocks = [count for _, count, *_ in packed.header["layers"]]
    assert packed.header["block"] == [64, 5]
    assert max(blocks) > 10
    with open_table(thinned) as table:
        wanted = expected(table)
    assert packed.slides() == wanted
    boards = sorted(wanted)[::40]
    answers = view.evaluate(PROBE, [packed.game.format(board) for board in boards])
    assert [set(answer["best"]) for answer in answers] == [set(wanted[board]) for board in boards]


def test_cells_hold_their_values_however_often_they_are_halved() -> None:
    values = np.linspace(1000.0, 1506.0, 300)
    scale = files_policy.Scale.of(Objective("score"), values)
    assert (scale.places[0], scale.places[-1] >> files_policy.HALVINGS) == (1 << files_policy.HALVINGS, 254)
    for times in (0, 1, 15):
        begin, end = scale.edges(np.full(len(values), times))
        assert ((begin < values + 1e-9) & (values < end + 1e-9)).all()
        assert np.allclose(end - begin, scale.step / 2**times, rtol=1e-6)


def test_every_changed_byte_of_a_policy_is_found(solved, view: Page, tmp_path: Path) -> None:
    export_page(solved(Game("2x2", 8)), tmp_path / "page")
    (file,) = (tmp_path / "page").glob("policy*")
    whole = file.read_bytes()
    for at in range(len(whole))[one_in(7)]:
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(AssertionError):
            Packed(tmp_path / "page", view)
    file.write_bytes(whole)
    assert Packed(tmp_path / "page", view).slides()


def leaving(table: Table, slides: dict[Cells, tuple[str, ...]]) -> Fraction:
    """The probability that a game comes to another state with a slide, if each of these slides is made with
    the same probability; as fractions.
    """
    game = table.game
    met = visits(game, lambda board: slides.get(board, ()))
    return sum((p for board, p in met.items() if board not in slides and game.slides(board)), Fraction(0))


def test_a_page_holds_what_its_table_knows(thinned: Path, view: Page, tmp_path: Path) -> None:
    """Of a thinned table, and of one without boards below a value; the others are counted by `leaving`."""
    solve(Game("2x3", 32), "win,score", table=tmp_path / "t", above=0.3, threads=1)
    # Under win, one slide that is known is enough.
    for number, (folder, label) in enumerate(
        [(thinned, "win"), (tmp_path / "t", "win"), (tmp_path / "t", "score")]
    ):
        page = export_page(folder, tmp_path / str(number), objective=label)
        with open_table(folder) as table:
            wanted = expected(table, label)
            assert Packed(tmp_path / str(number), view).slides() == wanted
            assert page.leaves == pytest.approx(float(leaving(table, wanted)), rel=1e-12)
        assert (0.01 < page.leaves < 0.1) == (folder == thinned)


@pytest.mark.parametrize(
    ("game", "label"), [(SMALL, "win"), (SMALL, "score"), (Game("3x3", 16), "loss")], ids=str
)
def test_values_lie_where_the_page_says(game, label, solved, view, tmp_path) -> None:
    """On 3x3 some chances to lose are below those that cells of the least width reach."""
    export_page(solved(game, label), tmp_path / "page")
    packed = Packed(tmp_path / "page", view)
    with open_table(solved(game, label)) as table:
        for board in packed.slides():
            ends = packed.ends(board)
            for slide in table.probe(game.format(board)).slides:
                begin, end = ends[slide.direction]
                value = abs(float(slide.value))
                if packed.header["logits"]:
                    win, lose = (1 - value, value) if label == "loss" else (value, 1 - value)
                    value = begin if lose < 1e-15 or not win else math.log(win) - math.log(lose)
                    begin = -math.inf if begin == packed.scales.get(game.sum(board), [None])[0] else begin
                assert begin - 1e-9 <= value <= end + 1e-9


def test_where_a_table_has_the_chance_to_lose_the_page_plays_by_it(solved, tmp_path) -> None:
    """As `probe` does: of the chance to win, float64 rounds small differences."""
    both = solved(SMALL, "win,loss")
    assert export_page(both, tmp_path / "page").objective == "loss"
    assert export_page(both, tmp_path / "page", objective="win").objective == "win"


def test_the_header_names_the_game_and_the_exact_start(small: Path, view: Page, tmp_path: Path) -> None:
    """Lees-Miller 2017 counts 57 states of 2x2 to 32 up to symmetry that are neither won nor lost."""
    page = export_page(small, tmp_path / "page")
    header = Packed(tmp_path / "page", view).header
    with open_table(small) as table:
        assert Game.from_identity(header["info"]["identity"]) == table.game
        assert header["start"]["value"] == float(table.start["win"])
    assert (header["start"]["short"], header["info"]["name"]) == ("8.3 %", "2048 on 2x2, to 32")
    assert page == ExportedPage(tmp_path / "page", "win", 57, page.policy, page.size, 0.0)
    assert re.search(r"page: 57 states, 2\d\d kB>$", repr(page))


def test_the_same_table_gives_the_same_bytes_and_replaces_a_page(small: Path, tmp_path: Path) -> None:
    first = export_page(small, tmp_path / "page")
    before = folder_files(tmp_path / "page")
    (tmp_path / "page" / "policy-00000000.bin").write_bytes(b"an older file")
    assert export_page(small, tmp_path / "page") == first
    assert folder_files(tmp_path / "page") == before
    assert [path.name for path in tmp_path.iterdir()] == ["page"]
    assert first.size == sum(map(len, before.values()))


def test_every_module_that_the_page_imports_is_in_it(small: Path, tmp_path: Path) -> None:
    """And the page without its table is below 250 KB."""
    export_page(small, tmp_path / "page")
    page = (tmp_path / "page" / "index.html").read_text("utf-8")
    found = re.search(r'<script type="importmap">(.*?)</script>', page)
    assert found
    modules = {name: unquote(url.partition(",")[2]) for name, url in json.loads(found[1])["imports"].items()}
    for name, text in modules.items():
        assert set(re.findall(r'(?:from|import\() ?"(.+?)"', text)) <= set(modules), name
        lines = [line for line in (WEB / name).read_text("utf-8").splitlines() if " from " not in line]
        left_out = [line.strip() for line in lines if line not in text.splitlines()]
        assert [line for line in left_out if not line.startswith(("//", "/** "))] == []
    assert not re.search(r'(?:src|href)="(?!data:)', page.partition("<style>")[0])
    assert len(page) < 250_000


def test_a_full_disk_leaves_the_older_page(small, tmp_path, monkeypatch) -> None:
    export_page(small, tmp_path / "page")
    before = folder_files(tmp_path)
    monkeypatch.setattr(files_policy.Packer, "blocks", no_space)
    with pytest.raises(errors.StorageError, match="No space left on device"):
        export_page(small, tmp_path / "page")
    assert folder_files(tmp_path) == before


def test_what_gets_no_page(small, folder, monkeypatch) -> None:
    force(Game("2x2", 8, start="empty"), certificate=folder / "8.cert")
    with pytest.raises(errors.MissingLayerError, match=r"8\.cert is a certificate, not a table"):
        export_page("8.cert", "page")
    with monkeypatch.context() as patch:
        patch.setattr(files_policy, "MOST_RANK", 8)
        with pytest.raises(errors.UsageError, match=r"2x2, to 32 has more than 2\^53 boards of one sum"):
            export_page(small, "page")
    monkeypatch.setattr(export, "MOST_BYTES", 20)
    with pytest.raises(errors.ResourceError, match=r"takes about .* B, more than 20 B: thin the table"):
        export_page(small, "page")
    assert [path.name for path in folder.iterdir()] == ["8.cert"]
    assert export_page(small, "page", anyway=True).states == 57


def test_the_command_says_what_it_wrote(thinned, folder, printed, view) -> None:
    said = printed(f"export page {thinned} -o page -q")
    assert re.search(r"^live states, up to symmetry +[\d,]+$", said, re.MULTILINE)
    assert re.search(r"^chance to reach a state without a known slide +\d+\.\d+ %$", said, re.MULTILINE)
    files = [path for path in (folder / "page").rglob("*") if path.is_file()]
    size = byte_text(sum(path.stat().st_size for path in files))
    assert said.splitlines()[-1] == (
        f"page/ has {len(files)} files, {size}; try it with python3 -m http.server -d page, "
        "or copy it to any web host"
    )
    document = json.loads(printed(f"export page {thinned} -o page -q -f json"))
    assert document["folder"] == "page"
    assert document["leaves"] == Packed(folder / "page", view).header["leaves"]


@pytest.fixture
def view(tab: Page) -> Iterator[Page]:
    """A tab without animations.  What it reports as an error fails the test."""
    with without_errors(tab):
        yield tab
    tab.goto("about:blank")


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
    rows = view.locator(".stage").get_by_role("row").all()
    cells = [[cell.inner_text() for cell in row.get_by_role("cell").all()] for row in rows]
    words = {"empty": "0", "wall": "#", "large tile": "x"}
    named = [[word.strip().partition(",")[0] for word in row] for row in cells]
    return "/".join(",".join(words.get(word, word) for word in row) for row in named)


def set_up(view: Page, board: str) -> None:
    view.get_by_role("button", name="Set up a position").click()
    view.get_by_label("Or paste a board").fill(board)
    view.get_by_role("button", name="Show this board").click()


def best_of(view: Page) -> tuple[str, ...]:
    """The directions that the page marks, once its marks are no longer those of the last board."""
    expect(view.locator(".slides.stale")).to_have_count(0)
    return tuple(name.strip().lower() for name in view.locator(".slide.best .name").all_inner_texts())


def move_of(view: Page, number: int) -> None:
    """Wait for a move."""
    expect(view.locator(".facts dd").last).to_have_text(str(number))


def advice_on(view: Page, board: str) -> tuple[str, ...]:
    set_up(view, board)
    move_of(view, 0)
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


def play_by_hand(view: Page, table: Table) -> None:
    """One game by the slides that the page marks, each compared with the table."""
    status = view.locator(".slide.best, .notice.end")
    for move in range(100):
        move_of(view, move)
        expect(status.first).to_be_visible()
        board = board_of(view)
        if view.locator(".notice.end").count():
            return
        answer = table.probe(board)
        assert best_of(view) == answer.best
        numbers = re.findall(r"[\d.]+", view.locator(".headline strong").inner_text())
        half = 0.5 * 10.0 ** -len(numbers[0].partition(".")[2])  # of the last digit that is shown
        assert float(numbers[0]) - half <= 100 * float(answer.value) <= float(numbers[-1]) + half
        view.locator(".slide.best").last.click()
    pytest.fail("a game on 2x2 has no 100 slides")


def test_values_that_are_loaded_whole_say_how_far_they_are(solved, visit, view) -> None:
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
    bar = view.get_by_role("progressbar", name="Loading the values")
    expect(bar).to_have_attribute("value", re.compile("^(49|50)$"))
    expect(view.locator(".loading")).to_contain_text(re.compile(r"no parts of files: \d\d % of \d kB"))
    expect(view.locator(".slide.best")).to_have_count(0)
    go_on.set()
    expect(view.locator(".slide.best").first).to_be_visible()
    expect(bar).to_have_count(0)


def test_a_win_that_is_not_certain_is_not_100_percent(solved, visit: Visit, view: Page) -> None:
    """The start of 3x3 to 64 is worth 1 - 7e-18; where a slide wins, the win is certain."""
    visit(solved(Game("3x3", 64)))
    expect(view.locator(".headline strong")).to_have_text("≈ 100 %")
    start = view.get_by_label("About").locator("b")
    expect(start).to_have_text("≈ 100 %")
    expect(start).to_have_attribute("title", re.compile("^more than 1 - "))
    set_up(view, "32,32,4/2,8,2/4,2,4")
    expect(view.locator(".headline strong")).to_have_text("100 %")


def test_a_thinned_page_says_where_it_ends(thinned, visit, view) -> None:
    packed = Packed(visit(thinned, ranges), view)
    slides, game = packed.slides(), packed.game
    share = f"about 1 in {round(1 / packed.header['leaves'])}"
    expect(view.get_by_label("About")).to_contain_text(f"{share} comes to a position that is not here")
    afters = (after for board in slides for after in game.slides(board).values() if not game.wins(after))
    states = (state for after in afters for state, _ in game.spawns(after))
    left = next(s for s in states if canonical(game, s) not in slides and game.slides(s))
    set_up(view, game.format(left))
    expect(view.locator(".notes")).to_contain_text("You can play on by hand")
    assert not view.locator(".slide.best").count()
    view.get_by_role("button", name="Autoplay").click()
    expect(view.get_by_role("button", name="Autoplay")).to_have_attribute("aria-pressed", "false")
    view.locator(ALLOWED).first.click()
    move_of(view, 1)


@pytest.mark.parametrize("game", cover(SMALL_GAMES), ids=str)
def test_the_page_knows_the_rules_of_other_games(game, solved, visit, view) -> None:
    """On states in steps through the policy, the page allows and marks what the table says."""
    table_folder = solved(game, "win" if game.can_win else "score")
    boards = sorted(Packed(visit(table_folder), view).slides())
    with open_table(table_folder) as table:
        for board in boards[:: max(1, len(boards) // 3)]:
            turned = images(game, board)[-1]
            assert advice_on(view, game.format(turned)) == table.probe(game.format(turned)).best
            allowed = view.locator(f"{ALLOWED} .name").all_inner_texts()
            assert [word.strip().lower() for word in allowed] == list(game.slides(turned))
    view.get_by_label("Speed").fill("30")
    view.get_by_role("button", name="Autoplay").click()
    expect(view.locator(".notice.end")).to_be_visible()


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
    packed = Packed(visit(small), view)
    for board, sentence in IMPOSSIBLE.items():
        set_up(view, board)
        expect(view.get_by_role("alert")).to_have_text(sentence)
        view.get_by_role("button", name="Back to the game").click()
    boards = itertools.product(range(5), repeat=4)
    set_up(view, SMALL.format(next(one for one in boards if SMALL.slides(one) and not packed.best(one))))
    expect(view.locator(".notes")).to_contain_text("no game from the start comes to it")


def test_slides_that_are_not_allowed_say_why(solved, visit, view) -> None:
    game = Game("2x3", 16, unmergeable=[5], masks="..x/...|.../..x")
    boards = Packed(visit(solved(game)), view).slides()
    board = next(one for one in boards if len(game.slides(one)) == 1)
    set_up(view, "0,0,2/0,0,x")  # in the real game, left goes on
    expect(view.locator(".notice.end")).to_contain_text("No slide keeps the formation")
    advice_on(view, game.format(board))
    for direction, why in game.refusals(board).items():
        slide = view.locator(".slide", has_text=direction.capitalize())
        expect(slide).to_contain_text(why)
        expect(slide).to_have_attribute("aria-disabled", "true")
    view.get_by_role("link", name="Train").click()
    view.locator(".pad .button:not([aria-disabled=true])").click()
    expect(view.locator(".verdict")).to_contain_text(re.compile("(Left|Right|Up|Down) was the only slide."))
    expect(view.locator(".sitting")).to_have_count(0)  # which is neither best nor counted
    expect(view.locator(".mistakes")).to_contain_text("Your slides are kept here")


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def damaged(data: bytes) -> bytes:
    return bytes(byte ^ (at % 7 == 0) for at, byte in enumerate(data))


@pytest.mark.parametrize("host", [whole_files, ranges])
@pytest.mark.parametrize("how", [damaged, cut, None], ids=["damaged", "cut", "missing"])
def test_a_file_that_is_not_as_written_is_named_on_the_page(how, host, small, visit, view) -> None:
    whole: dict[Path, bytes] = {}

    def change(folder: Path) -> None:
        (path,) = folder.glob("policy-*.bin")
        whole[path] = path.read_bytes()
        path.unlink()
        if how is not None:
            path.write_bytes(how(whole[path]))

    visit(small, host, change)
    ((path, data),) = whole.items()
    notice = view.get_by_role("alert")
    reason = "is damaged, or of another version" if how else "is not on this host"
    expect(notice).to_contain_text(f"{path.name} {reason}")
    path.write_bytes(data)
    notice.get_by_role("button", name="Try again").click()
    expect(view.locator(".slide.best").first).to_be_visible()


def slide_twice(view: Page) -> None:
    """Train: what is judged comes into the notebook."""
    view.get_by_role("link", name="Train").click()
    for _ in range(2):
        before = board_of(view)
        view.locator(".pad .button:not([aria-disabled=true])").first.click()
        expect(view.locator(".verdict")).to_contain_text(re.compile("slides?[.]|lost"))
        assert board_of(view) != before
    expect(view.locator(".mistakes")).to_contain_text(re.compile(r"\d slides? of yours with this table"))


def test_a_page_that_was_kept_plays_and_trains_without_its_host(thinned, visit, view) -> None:
    visit(thinned)
    view.get_by_role("button", name="Keep for use without a connection").click()
    expect(view.get_by_label("About")).to_contain_text("it works without a connection")
    view.context.set_offline(True)
    try:
        view.goto(view.url)
        slide_twice(view)
    finally:
        view.context.set_offline(False)


def test_a_page_that_is_opened_as_a_file_asks_for_its_values(small: Path, tmp_path: Path, view: Page) -> None:
    export_page(small, tmp_path / "page")
    (policy,) = (tmp_path / "page").glob("policy-*.bin")
    view.goto((tmp_path / "page" / "index.html").as_uri())
    view.locator("input[type=file]").set_input_files(tmp_path / "page" / "worker.js")
    expect(view.get_by_role("alert")).to_have_text(
        f"This page needs the file {policy.name}, which lies beside it."
    )
    view.locator("input[type=file]").set_input_files(policy)
    slide_twice(view)


def test_the_page_is_accessible_and_fits(thinned: Path, visit: Visit, view: Page) -> None:
    visit(thinned)
    for name in ("Play", "Train"):
        view.get_by_role("link", name=name).click()
        expect(view.locator(".side")).to_be_visible()
        for width in (320, 390, 1280):
            view.set_viewport_size({"width": width, "height": 720})
            check_accessible(view)
            assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
    view.emulate_media(color_scheme="light")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The address of a site with the board of the first page, without the theme of MkDocs."""
    runpy.run_path(str(DOCS / "extensions" / "board.py"))["on_post_build"](
        {"site_dir": str(tmp_path), "docs_dir": str(DOCS)}
    )
    text = (DOCS / "index.md").read_text("utf-8")
    link = re.search(r'^<a class="live".*?^</a>$', text, re.MULTILINE | re.DOTALL)
    script = re.search(r"^<script .*?</script>$", text, re.MULTILINE)
    assert link
    assert script
    body = f'<!doctype html><body data-md-color-scheme="slate"><div>{link[0]}</div>{script[0]}</body>'
    (tmp_path / "index.html").write_text(body, "utf-8")
    for name in ("board.js", "pages.css", "img"):
        (shutil.copytree if (DOCS / name).is_dir() else shutil.copyfile)(DOCS / name, tmp_path / name)
    with hosted(tmp_path) as (address, _):
        yield address


def test_the_board_loads_when_touched_and_answers_a_key(browser: Browser, site: str) -> None:
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 500, "height": 700})
    page, asked, problems = context.new_page(), list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(site)
    assert not [url for url in asked if "/board/" in url]

    page.get_by_role("link").click()
    frame = page.frame_locator("iframe.live")
    expect(frame.locator(".headline")).to_contain_text(re.compile(r"9[345]"))
    expect(page.get_by_role("link")).to_have_count(0)
    assert frame.locator("html").evaluate("html => html.style.colorScheme") == "dark"
    expect(frame.get_by_label("About")).not_to_be_visible()  # frame.css

    best = frame.locator(".slide.best .name").first.text_content()
    page.keyboard.press(f"Arrow{best}")
    expect(frame.locator(".facts dd").last).to_have_text("1")
    assert problems == []
    context.close()


def test_the_link_of_the_board_leads_to_the_page_without_scripts(browser: Browser, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site)
    page.get_by_role("link").click()
    expect(page).to_have_title("2048 on 2x3, to 64")
    context.close()


PROBE = """async (boards) => {
  const [{ Answers }, { Policy }] = [await import("player/answers.js"), await import("player/policy.js")];
  const answers = new Answers(new Policy(JSON.parse(document.getElementById("policy").textContent)));
  return Promise.all(boards.map((board) => answers.ask(`api/probe?board=${board}`)));
}"""


def test_a_real_board_may_be_rotated_and_mirrored(solved, visit, view) -> None:
    """Answers are those of the table for the board as it is given, and so is what buttons make of it."""
    table_folder = solved(formation("44").game(8))
    visit(table_folder)
    board = np.array([[0, 2, 4, 0], [2, 0, 2, 4], [16, 32, 64, 128], [256, 512, 1024, 2048]], dtype=object)
    made = np.array([[8, 0, 0, 0], [4, 0, 0, 2], *board[2:]], dtype=object)
    equal = np.array([*board[:2], [16, 16, 64, 128], [64, 512, 1024, 2048]], dtype=object)
    with_x = np.where(board > 8, "x", board)
    every = (board, board.T, with_x, with_x.T, made, equal, equal.T)
    turned = [np.rot90(one, turns).tolist() for one in every for turns in range(4)]
    texts = ["/".join(",".join(map(str, row)) for row in image) for image in turned]
    with open_table(table_folder) as table:
        for image, text, answer in zip(turned, texts, view.evaluate(PROBE, texts), strict=True):
            expected = table.probe(text)
            assert answer["cells"] == [str(tile) for row in image for tile in row]
            assert sorted(answer["best"]) == sorted(expected.best)
            assert answer["refused"] == expected.refused
            assert sorted(answer["goal_cells"]) == list(expected.goal_cells)
            assert answer["large_tiles"] == list(expected.large_tiles)
            assert answer.get("orientation") == expected.as_dict()["orientation"]
            assert answer["largest"] == max(tile for row in image for tile in row if tile != "x")
            found = {slide["direction"]: slide["board"] for slide in answer["slides"]}
            assert found == {slide.direction: slide.after.text for slide in expected.slides}
            assert answer["notes"] == list(expected.notes)
            assert all((slide["loss"] is None) == bool(expected.notes) for slide in answer["slides"])
    set_up(view, texts[0])
    view.get_by_role("button", name="Rotate").click()
    expect(view.locator(".board [role=cell] .hidden").first).to_have_text("256")
    expect(view.locator(".slide.best").first).to_be_visible()
