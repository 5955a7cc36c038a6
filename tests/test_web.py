"""The explorer's server: it answers as the library does, and keeps answering whatever it is asked."""

from __future__ import annotations

import asyncio
import gzip
import html
import http.client
import json
import random
import re
import shutil
import socket
import time
import tomllib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from uvicorn.server import ServerState

from serving import SECONDS, Inside, Served, serving
from tilebase import force, formation, open_table, solve
from tilebase.cli import main
from tilebase.errors import UsageError
from tilebase.game.board import Board
from tilebase.game.game import Game
from tilebase.objectives.values import short_text
from tilebase.small.diagrams import BEST
from tilebase.small.layered import GREY
from tilebase.tables.certificates import open_certificate
from tilebase.tables.playing import play_game, random_position
from tilebase.tables.probe import Table
from tilebase.web import app as web
from tilebase.web import connections, documents
from tilebase.web.app import make_app
from tilebase.web.collection import Collection
from tilebase.web.connections import Limits
from tilebase.web.documents import describe_rules
from tilebase.web.operations import MOST_GAME, OPERATIONS, description

BOARD = "2,0,0/4,8,2/16,8,4"
TURNED = "64,2048,4,2/128,512,2,0/256,1024,0,0/8192,4096,8,0"
"""A real board of the formation 44, whose large tiles the table has below."""
Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Client: TypeAlias = Callable[..., Awaitable[Streams]]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, certificates and a damaged table."""
    folder = tmp_path_factory.mktemp("served")
    solve(Game("3x3", 64), "win,guaranteed", table=folder / "3x3-64")
    solve(Game("2x2", 32), "lower,upper", table=folder / "2x2-32")
    solve(formation("44").game(32, steps=24), table=folder / "44-32")
    shutil.copytree(folder / "2x2-32", folder / "damaged")
    (folder / "damaged/manifest.json").write_text("{")
    force(Game("3x3", 32, start="empty"), certificate=folder / "won.cert")
    force(Game("3x3", 64, start="empty"), certificate=folder / "lost.cert")
    force(formation("44").game(16, steps=24), certificate=folder / "44.cert")
    return folder


@pytest.fixture(scope="module")
def server(tables: Path) -> Iterator[Served]:
    certificates = [tables / f"{name}.cert" for name in ("won", "lost", "44")]
    with serving(tables, *certificates) as served:
        yield served


@pytest.fixture(scope="module")
def table(tables: Path) -> Iterator[Table]:
    with open_table(tables / "3x3-64") as opened:
        yield opened


def probed(server: Served, board: str, table: str = "3x3-64", **query: str) -> Any:
    """What a request for a position is answered."""
    return server.get("/api/probe", table=table, board=board, **query).json


# -- what is answered --------------------------------------------------------------------------------


def test_what_is_served(server: Served, tables: Path):
    found = {one["name"]: one for one in server.get("/api/tables").json["tables"]}
    assert {name: (one["kind"], one["state"], one["game"]) for name, one in found.items()} == {
        "2x2-32": ("table", "ready", "2x2, to 32"),
        "3x3-64": ("table", "ready", "3x3, to 64"),
        "44-32": ("table", "ready", "formation 44, to 32, until the sum 46"),
        "damaged": ("table", "failed", ""),
        "won.cert": ("certificate", "ready", "3x3, to 32, start empty"),
        "lost.cert": ("certificate", "ready", "3x3, to 64, start empty"),
        "44.cert": ("certificate", "ready", str(open_certificate(tables / "44.cert").game)),
    }
    damaged = "damaged/manifest.json is damaged, or not written by tilebase: "
    assert found["damaged"]["problem"].startswith(damaged)
    assert all(one["problem"] is None for name, one in found.items() if name != "damaged")


def test_a_game_has_what_the_page_moves_tiles_with(server: Served):
    found = server.get("/api/tables/3x3-64").json
    assert found["shape"] == [3, 3]
    assert found["directions"] == ["left", "right", "up", "down"]
    assert found["lines"]["right"] == [[2, 1, 0], [5, 4, 3], [8, 7, 6]]
    assert [one["chance"] for one in found["spawns"]] == [0.9, 0.1]
    assert [one["unit"] for one in found["objectives"]] == ["probability", "yes-no"]
    assert found["start"]["win"]["short"] == "≈ 100 %"  # 1 after rounding to float64, and not certain
    assert found["adversary"]


@pytest.mark.parametrize("label", ["win", "guaranteed"])
def test_positions_are_those_of_the_library(server: Served, table: Table, label: str):
    rng = random.Random(7)
    boards = [random_position(table, rng).text for _ in range(100)]
    asked = {"table": "3x3-64", "boards": boards, "objective": label}
    for board, answer in zip(boards, server.post("/api/probe", asked).json["answers"], strict=True):
        expected = table.probe(board, label)
        assert answer == probed(server, board, objective=label)
        assert answer["value"]["value"] == expected.value.value
        assert answer["best"] == list(expected.best)
        assert {s["direction"]: (s["board"], s["value"]["value"]) for s in answer["slides"]} == {
            s.direction: (s.after.text, s.value.value) for s in expected.slides
        }
        for slide in answer["slides"]:
            lost = float(expected.value) - float(slide["value"]["value"])
            assert slide["loss"] == (0 if slide["best"] else lost)


def test_bounds_and_intervals(server: Served):
    interval = probed(server, "2,4/0,8", "2x2-32")["value"]
    assert interval["kind"] == "interval"
    lower = probed(server, "2,4/0,8", "2x2-32", objective="lower")["value"]
    assert lower["short"].startswith("≥ ")
    assert lower["bound"] == interval["low"]


def test_a_board_that_is_won_lost_or_not_in_the_table(server: Served):
    """And why slides are not allowed."""
    won = probed(server, "64,0,0/0,0,0/0,0,2")
    assert (won["state"], won["slides"], won["value"], won["refused"]) == ("won", [], None, {})
    lost = probed(server, "2,4,2/4,2,4/2,4,2")
    assert (lost["state"], set(lost["refused"].values())) == ("lost", {"moves nothing"})
    missing = probed(server, "32,0,0/0,32,0/0,0,32")
    assert missing["state"] == "play"
    assert "is not in 3x3-64" in missing["problem"]
    assert {slide["direction"] for slide in missing["slides"]} == {"left", "right", "up", "down"}
    assert all(slide["value"] is None for slide in missing["slides"])
    assert probed(server, BOARD)["refused"] == {"left": "moves nothing"}
    refused = probed(server, TURNED, "44-32")["refused"]
    assert refused == {"left": "moves nothing", "right": "breaks the formation"}


def test_bad_boards_in_a_batch_do_not_spoil_the_others(server: Served):
    found = server.post("/api/probe", {"table": "3x3-64", "boards": [BOARD, "3,0,0", BOARD]}).json["answers"]
    assert found[0] == found[2]
    assert "3x3 board has 9" in found[1]["problem"]


def test_spawns(server: Served, table: Table):
    after = table.probe(BOARD).slides[1].after  # spawns there are worth more and less
    found = server.get("/api/spawns", table="3x3-64", board=after.text).json["spawns"]
    assert {one["board"]: one["fraction"] for one in found} == {
        table.game.format(cells): str(p) for cells, p in table.game.spawns(after.cells)
    }
    assert mean_of(found) == pytest.approx(float(table.probe_after(after).value))
    least = min(one["value"]["value"] for one in found)
    worst = [one["value"]["value"] for one in found if one["worst"]]
    assert worst == [least] * len(worst) != []


def mean_of(spawns: list[Any]) -> float:
    """The mean value of spawned boards, whose probabilities add up to 1."""
    assert sum(one["probability"] for one in spawns) == pytest.approx(1)
    return float(sum(one["probability"] * one["value"]["value"] for one in spawns))


def test_starts(server: Served, table: Table):
    def start(**query: Any) -> Any:
        return server.get("/api/start", table="3x3-64", **query).json

    assert start(seed=5)["board"] in {table.game.format(cells) for cells, _ in table.game.starts()}
    assert start(seed=5) == start(seed=5)
    for by in ("uniform", "optimal"):
        found = start(by=by, sum=40, seed=1)
        assert found["sum"] == 40
        assert probed(server, found["board"])["value"] is not None
    assert start(by="uniform", sum=4000)["status"] == 404


def test_a_random_game_follows_the_optimal_policy(server: Served, table: Table):
    found = server.get("/api/random-game", table="3x3-64", seed=3).json
    assert found["end"] in ("won", "lost")
    for move in found["moves"]:
        answer = table.probe(move["board"])
        assert move["slide"] in answer.best
        assert move["value"]["value"] == answer.value.value
    review = server.post("/api/review", {"table": "3x3-64", "game": json.dumps(found["record"])}).json
    assert review["total_loss"] == 0
    assert review["agreed"] == len(found["moves"])


def test_an_adversary_spawns_the_worst(table: Table):
    played = play_game(table, random.Random(1), objective="guaranteed", worst=True)
    assert not any(bool(value.value) for value in played.values)  # 64 cannot be forced
    assert played.end == "lost"


def test_layers(server: Served, table: Table):
    sizes = {one["sum"]: one["positions"] for one in server.get("/api/layers", table="3x3-64").json["layers"]}
    assert sum(sizes.values()) == table.manifest.counts["afterstates"]
    for total in (20, 60):
        one = server.get(f"/api/layers/{total}", table="3x3-64").json
        assert one["positions"] == one["read"] == sum(one["histogram"]["counts"]) == sizes[total]
        boards = [table.prober.at(total, k) for k in range(sizes[total])]
        rows = one["by_largest"]
        assert {row["tile"]: row["positions"] for row in rows} == Counter(2 ** max(one) for one in boards)
        values = [float(table.probe_after(Board(table.game, board)).value) for board in boards]
        assert sum(row["mean"] * row["positions"] for row in rows) == pytest.approx(sum(values))


def test_diagrams_of_a_small_game_and_of_any_objective(server: Served):
    found = server.get("/api/graph", table="2x2-32").json
    assert found["whole"]
    assert len(found["boards"]) == 57  # Lees-Miller 2017: live states of 2x2 to 32
    assert all(f"<title>{name}</title>" in found["svg"] for name in found["boards"])
    found = server.get("/api/graph", table="3x3-64", board=BOARD, objective="guaranteed").json
    assert "moves" not in found["svg"]
    assert re.findall(r"\d+/\d+: (\w+)<", found["svg"])[0] in ("yes", "no")


@pytest.mark.parametrize("name", ["3x3-64", "44-32"])
def test_the_surroundings_of_a_board_are_drawn(server: Served, tables: Path, name: str):
    with open_table(tables / name) as opened:
        start = opened.game.format(opened.game.starts()[0][0])
        answer = opened.probe(start)
        found = server.get("/api/graph", table=name, board=start).json
        assert (found["whole"], found["board"]) == (False, start)
        spawned = [state for slide in answer.slides for state, _ in slide.spawns()]
        assert re.findall('href="#([^"]+)"', found["svg"]) == [state.text for state in spawned]
        for slide in answer.slides:
            colour = BEST if slide.direction in answer.best else GREY
            assert re.search(f'fill="{colour}"[^>]*>{slide.direction}</text>', found["svg"])
        texts = re.findall(r"\d+/\d+: ([^<]+)<", found["svg"])
        values = [opened.probe(state).value for state in spawned]
        unit = opened.unit(None)
        assert [html.unescape(text) for text in texts] == [short_text(value, unit) for value in values]
        assert server.get("/api/graph", table=name).json["svg"].startswith("<svg ")  # of a start


def test_rules_are_told_in_sentences(server: Served):
    rules = server.get("/api/tables/44-32").json["rules"]
    assert rules[:3] == [
        "The board is 4x4.",
        "The tile 32 wins on row 2, column 1 or row 2, column 2 or row 2, column 3 or row 2, column 4.",
        "8 large tiles, written x, slide and never merge: each stands for a tile that is 32 or more.",
    ]
    assert not any("unmergeable" in rule for rule in rules)
    for game in (
        Game("2x3", 64, spawn=1, walls=[1], limits="32,0,8/8,8,8"),
        Game("2x3", 32, walls=[2]),
        Game("2x2", goal_sum=20, start="2,4/0,0"),
        Game("2x3", 64, pattern="32,16,*/*,*,*"),
        Game("2x2x2", limits=16),
    ):
        assert all(rule.endswith(".") for rule in describe_rules(game))


def test_real_boards_of_a_formation(server: Served, tables: Path):
    board = "0,0,0,0/0,2,2,0/1024,32,256,64/2048,512,128,4096"
    found = probed(server, board, "44-32")
    assert found["board"] == board
    assert sorted(found["large_tiles"]) == [32, 64, 128, 256, 512, 1024, 2048, 4096]
    with open_table(tables / "44-32") as opened:
        assert found["best"] == list(opened.probe(board).best)
    slide = found["slides"][0]
    spawned = server.get("/api/spawns", table="44-32", board=slide["board"]).json["spawns"]
    assert mean_of(spawned) == pytest.approx(slide["value"]["value"])
    # Goal cells are named as the board is given.
    assert [one["cell"] for one in server.get("/api/tables/44-32").json["goal_cells"]] == [4, 5, 6, 7]
    found = probed(server, TURNED, "44-32")
    assert found["orientation"] == "rotated by 90 degrees counterclockwise"
    assert found["goal_cells"] == [2, 6, 10, 14]
    assert probed(server, BOARD)["goal_cells"] == []


def test_a_real_board_that_no_play_makes_has_slides_without_values(server: Served):
    found = probed(server, "0,0,0,2/0,0,0,0/1024,32,256,64/2048,512,128,4096", "44-32")
    assert "its large tiles fit, but no play from its start makes it" in found["problem"]
    assert (found["state"], found["value"], found["best"]) == ("play", None, [])
    slides = [(one["direction"], one["board"].partition("/10")[0], one["value"]) for one in found["slides"]]
    assert slides == [("left", "2,0,0,0/0,0,0,0", None), ("down", "0,0,0,0/0,0,0,2", None)]
    assert found["refused"] == {"right": "moves nothing", "up": "breaks the formation"}


def test_certificates_are_played_against(server: Served, tables: Path):
    rng = random.Random(4)
    for name, goal in (("won.cert", True), ("lost.cert", False), ("44.cert", False)):
        facts = server.get(f"/api/tables/{name}").json
        for _ in range(3):
            state = rng.choice(facts["starts"])
            while True:
                found = probed(server, state, name)
                assert found["value"]["value"] is goal
                if found["state"] == "lost":
                    assert not goal
                    break
                slides = [slide for slide in found["slides"] if slide["best"] or not goal]
                chosen = rng.choice(slides)
                if chosen["ends"]:
                    assert goal == (chosen["ends"] == "won")
                    break
                spawned = server.get("/api/spawns", table=name, board=chosen["board"]).json["spawns"]
                spawned = spawned if goal else [one for one in spawned if one["worst"]]
                state = rng.choice(spawned)["board"]


def test_a_winning_set_is_served(tmp_path: Path, tables: Path):
    assert main(["force", "diagrams", "2x3", "16", "--spawns", "2", "-o", str(tmp_path / "set"), "-q"]) == 0
    with closing(Collection([tmp_path / "set"])) as collection:
        opened = collection.open("set")
        assert documents.position("set", opened, "2,0,0/0,0,2", None)["value"]["value"] in (True, False)
        facts = documents.game_document("set", opened)
    assert (facts["kind"], facts["positions"]) == ("winning set", len(opened))  # type: ignore[arg-type]
    certificate = open_certificate(tables / "won.cert")
    with pytest.raises(UsageError, match="names slides, and no spawns"):
        certificate.spawn(Board(certificate.game, certificate.game.empty_board))


def test_the_answers_in_the_documentation(tmp_path: Path):
    """The answers are those of tables that are named by their game, as 3x3-512."""
    text = (Path(__file__).parents[1] / "docs/tutorial.md").read_text("utf-8")
    shown = re.findall(r'curl "http://127.0.0.1:2048(/\S+)"\n```\n\n```json\n(.*?)```', text, re.DOTALL)
    assert shown
    for path, answer in shown:
        address = urlsplit(path)
        asked = dict(parse_qsl(address.query))
        shape, goal = asked["table"].split("-")
        solve(Game(shape, int(goal)), table=tmp_path / asked["table"])
        with inside(tmp_path / asked["table"]) as client:
            assert client.get(address.path, **asked).json == json.loads(answer)


# -- what is refused ---------------------------------------------------------------------------------

REQUESTS = (Path(__file__).parent / "requests.tsv").read_text("utf-8").splitlines()[1:]
REFUSED = [
    *(line.split("\t") for line in REQUESTS),
    ("400", "/api/probe?table=3x3-64&board=" + "2," * 900, "", "at most 1,000 are read"),
    ("400", "/api/start?table=3x3-64&seed=" + "9" * 5000, "", "from 0 to 2^53 - 1"),
    ("400", "/api/probe", b"", "not JSON"),
    ("400", "/api/probe", b"\xff", "not JSON"),
    ("400", "/api/probe", "[" * 100_000, "not JSON"),
    ("400", "/api/probe", json.dumps({"table": "3x3-64", "boards": ["2"] * 1001}), "1 to 1,000"),
]


@pytest.mark.parametrize(("status", "address", "body", "detail"), REFUSED)
def test_bad_requests_get_one_sentence(server, status, address, body, detail) -> None:
    sent = body.encode() if isinstance(body, str) else body
    answer = server.ask("GET" if body == "" else "POST", address, sent or None)
    assert (str(answer.status), answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json["status"] == int(status)
    assert detail in answer.json["detail"]
    assert "\n" not in answer.json["detail"]


def test_a_body_of_20_megabytes_is_refused_and_a_method_too(server: Served):
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        head = b"POST /api/review HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000000\r\n\r\n"
        connection.sendall(head + b"x" * (MOST_GAME + 1))
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")
    assert server.ask("DELETE", "/api/tables").status == 405
    assert server.ask("PUT", "/").status == 405
    assert server.get("/api/tables").status == 200


OTHER_PAGE = "comes from another web page"
FOREIGN = [
    ({"Host": "evil.example"}, "/api/tables", 400, "this server is not 'evil.example'"),
    ({"Host": "localhost:1"}, "/api/tables", 200, ""),
    ({"Host": "[::1]:80"}, "/api/tables", 200, ""),
    ({"Origin": "http://evil.example"}, "/api/tables", 403, OTHER_PAGE),
    ({"Origin": "null"}, "/api/tables", 403, OTHER_PAGE),
    ({"Origin": "http://{host}"}, "/api/tables", 200, ""),
    ({"Origin": "http://127.0.0.1:1"}, "/api/tables", 403, OTHER_PAGE),  # another server of this machine
    ({"Sec-Fetch-Site": "cross-site"}, "/api/tables", 403, OTHER_PAGE),
    ({"Sec-Fetch-Site": "same-site"}, "/api/tables", 403, OTHER_PAGE),
    ({"Sec-Fetch-Site": "same-origin", "Origin": "http://{host}"}, "/api/tables", 200, ""),
    ({"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, "/api/tables", 200, ""),
    ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, "/", 200, ""),  # a link
    ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, "/api/tables", 403, OTHER_PAGE),
    ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, "/style.css", 403, OTHER_PAGE),
]


@pytest.mark.parametrize(("headers", "path", "status", "sentence"), FOREIGN)
def test_other_names_and_requests_of_other_web_pages_are_refused(server, headers, path, status, sentence):
    given = {name: word.format(host=f"127.0.0.1:{server.port}") for name, word in headers.items()}
    answer = server.ask("GET", path, headers=given)
    assert answer.status == status
    assert status == 200 or sentence in answer.json["detail"]


def test_a_form_of_another_web_page_is_refused(server: Served, tables: Path):
    """So is a request to a server of a network."""
    body = json.dumps({"table": "3x3-64", "boards": [BOARD]}).encode()
    foreign = {"Content-Type": "text/plain", "Origin": "http://evil.example"}
    assert server.ask("POST", "/api/probe", body, foreign).status == 403
    assert server.ask("POST", "/api/probe", body, foreign | {"Origin": server.address[:-1]}).status == 200
    with inside(tables / "2x2-32") as client:
        assert client.get("/api/tables").status == 200
        assert client.get("/api/tables", headers={"Origin": "http://evil.example"}).status == 403


# -- it keeps answering ------------------------------------------------------------------------------


def test_a_hundred_clients_at_once(server: Served, table: Table):
    rng = random.Random(1)
    boards = [random_position(table, rng).text for _ in range(100)]

    def ask(board: str) -> Any:
        found = [server.get("/api/probe", table="3x3-64", board=board) for _ in range(5)]
        assert {one.status for one in found} == {200}
        return found[0].json["value"]["value"]

    with ThreadPoolExecutor(100) as pool:
        values = list(pool.map(ask, boards))
    assert values == [table.probe(board).value.value for board in boards]


HALF = b"GET /api/tables HTTP/1.1\r\nHost: x"
WHOLE = HALF + b"\r\n\r\n"
HALF_BODY = b"POST /api/probe HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"


def connected(tables: Path, scenario: Callable[[Client], Awaitable[None]]) -> None:
    """Run a scenario, which opens connections to a server from addresses of this machine."""

    async def run() -> None:
        config = web.make_config(make_app(Collection([tables / "2x2-32"])))
        config.load()
        make = partial(connections.PatientProtocol, config, ServerState(), {})
        server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        opened = []

        async def client(address: str = "127.0.0.1") -> Streams:
            opened.append(await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0)))
            return opened[-1]

        try:
            async with asyncio.timeout(SECONDS):
                await scenario(client)
        finally:
            for _, writer in opened:
                writer.close()
            server.close()

    asyncio.run(run())


async def asked(streams: Streams) -> int:
    """The status of the answer to a whole request; 0 if the connection was closed."""
    reader, writer = streams
    writer.write(WHOLE)
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = re.search(r"content-length: (\d+)", head)
        assert size is not None
        await reader.readexactly(int(size[1]))
    except (asyncio.IncompleteReadError, ConnectionError):
        return 0
    return int(head.split()[1])


@pytest.mark.parametrize("half", [b"", HALF])
def test_every_head_has_a_time_limit(tables: Path, monkeypatch: pytest.MonkeyPatch, half: bytes) -> None:
    async def scenario(client: Client) -> None:
        monkeypatch.setattr(connections, "HEAD_SECONDS", 1000)
        kept = await client()
        assert await asked(kept) == 200
        monkeypatch.setattr(connections, "HEAD_SECONDS", 0.05)
        assert await asked(kept) == 200  # the limit for the head after this one is short
        for reader, writer in (kept, await client()):
            writer.write(half)
            with suppress(ConnectionError):
                assert await reader.read() == b""

    connected(tables, scenario)


@pytest.mark.parametrize("half", [b"", HALF, HALF_BODY])
def test_clients_that_wait_keep_no_others_out(tables, monkeypatch, half) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 8)
    monkeypatch.setattr(web, "MOST_CONNECTIONS", 8)

    async def scenario(client: Client) -> None:
        other = await client("127.0.0.2")  # another address keeps its only connection
        for _ in range(30):
            one = await client()
            assert await asked(one) == 200
            one[1].write(half)
        assert await asked(other) == 200

    connected(tables, scenario)


def test_a_broken_body_after_the_answer_closes_the_connection(tables: Path) -> None:
    problems: list[Any] = []

    async def scenario(client: Client) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context))
        reader, writer = await client()
        writer.write(b"POST /api/tables HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert b" 405 " in await reader.readline()  # the body is not waited for
        writer.write(b"no length\r\n")
        with suppress(ConnectionError):
            assert b"400" not in await reader.read()

    connected(tables, scenario)
    assert not problems


def test_a_body_that_does_not_come_is_given_up(tables: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(web, "BODY_SECONDS", 0.05)

    async def receive() -> Any:
        await asyncio.sleep(30)

    with inside(tables / "2x2-32") as client:
        assert client.ask("POST", "/api/probe", receive).status == 408


@contextmanager
def inside(*locations: Path, rate: float = 1e9) -> Iterator[Inside]:
    """An application that serves these, in this process."""
    with closing(Collection(locations)) as collection, asyncio.Runner() as runner:
        yield Inside(make_app(collection, rate=rate), runner)


def test_a_table_that_is_removed_extended_or_comes_back(tmp_path: Path):
    folder = tmp_path / "2x2"
    solve(Game("2x2", 16), table=folder)
    asked = {"table": "2x2", "board": "2,4/0,8"}
    with inside(folder) as client:
        assert client.get("/api/probe", **asked).status == 200
        folder.rename(tmp_path / "elsewhere")
        gone = client.get("/api/probe", **asked)
        assert (gone.status, "no finished table found" in gone.json["detail"]) == (404, True)
        assert client.get("/api/tables").json["tables"][0]["state"] == "failed"
        (tmp_path / "elsewhere").rename(folder)
        solve(Game("2x2", 16), "score", table=folder)
        assert client.get("/api/tables").json["tables"][0]["state"] == "ready"
        labels = [one["label"] for one in client.get("/api/tables/2x2").json["objectives"]]
        assert labels == ["win", "score"]
        score = client.get("/api/probe", **asked, objective="score").json
        with open_table(folder) as table:
            assert score["value"]["value"] == table.probe("2,4/0,8", "score").value.value


def test_a_table_that_comes_into_a_served_folder_is_served(tables: Path, tmp_path: Path):
    shutil.copytree(tables / "2x2-32", tmp_path / "first")
    with closing(Collection([tmp_path])) as collection:
        assert [one["name"] for one in listed(collection)] == ["first"]
        shutil.copytree(tables / "3x3-64", tmp_path / "deep/second")
        (tmp_path / "third").mkdir()  # no table yet
        found = {one["name"]: (one["state"], one["game"]) for one in listed(collection)}
        assert found == {"first": ("ready", "2x2, to 32"), "deep-second": ("ready", "3x3, to 64")}
        assert collection.open("deep-second").game == Game("3x3", 64)
        assert len(listed(collection)) == 2  # each table is served once


def listed(collection: Collection) -> list[dict[str, Any]]:
    """What the request for the list of tables is answered."""
    (operation,) = (one for one in OPERATIONS if one.path == "/api/tables")
    found: list[dict[str, Any]] = operation.respond(collection, {})["tables"]
    return found


def test_damaged_layers_are_named_in_words(tables: Path, tmp_path: Path):
    shutil.copytree(tables / "2x2-32", tmp_path / "2x2")
    for file in (tmp_path / "2x2/values/lower").iterdir():
        file.write_bytes(b"\0" * file.stat().st_size)
    with inside(tmp_path / "2x2") as client:
        answer = client.get("/api/probe", table="2x2", board="2,4/0,8")
        assert answer.status == 500
        assert "2x2/values/lower is damaged" in answer.json["detail"]
        assert client.get("/").status == 200


def test_a_client_that_asks_too_much_waits():
    now = [0.0]
    limits = Limits(100, lambda: now[0])
    assert limits.take("a", 300) == 0
    assert limits.take("a", 200) == pytest.approx(1)  # 100 of 400 are left
    assert limits.take("b", 300) == 0
    now[0] = 1.0
    assert limits.take("a", 200) == 0
    assert limits.take("a", 1) == pytest.approx(0.01)
    now[0] = 1000.0
    assert limits.take("a", 10**6) == 0  # more than a full bucket: made once it is full
    assert limits.take("a", 1) > 1000


def test_the_rate_is_said_with_the_time_to_wait(tables: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(web, "Limits", partial(Limits, clock=lambda: 0.0))
    with inside(tables / "2x2-32", rate=2) as client:
        asked = {"table": "2x2-32", "board": "2,4/0,8"}
        answers = [client.get("/api/probe", **asked) for _ in range(9)]
    assert [one.status for one in answers] == [200] * 8 + [429]  # the probes of 4 seconds, and one more
    assert answers[-1].headers["retry-after"] == "1"
    assert "more than 2 probes a second" in answers[-1].json["detail"]


# -- the page ----------------------------------------------------------------------------------------


def test_each_library_of_the_page_has_its_licences_beside_it(server: Served):
    """Also those of what a library contains, and help leads there."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    assert "src/tilebase/web/explorer/vendor/*.LICENSE" in project["license-files"]
    folder = Path(web.__file__).parent / "explorer" / "vendor"
    assert [path.name for path in folder.glob("*.js")] == ["htm-preact.js"]
    assert 'href="vendor/htm-preact.LICENSE"' in server.get("/help.js").data.decode()
    licence = server.get("/vendor/htm-preact.LICENSE").data.decode()
    for text in ("htm 3.1.1", "Preact", "Apache License", "Permission is hereby granted"):
        assert text in licence


def test_the_page_is_small_and_loads_nothing_from_elsewhere(server: Served):
    seen, waiting, size = set[str](), ["/"], 0
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = server.ask("GET", path, headers={"Accept-Encoding": "gzip"})
        assert answer.status == 200
        size += len(answer.data)
        text = gzip.decompress(answer.data).decode()
        assert "https://" not in re.sub(r"//.*|/\*.*?\*/", "", text) or path.startswith("/vendor/")
        base = path.rpartition("/")[0]
        found = re.findall(r'(?:href|src)="\.?/?([\w./-]+\.(?:css|js|svg))"|from "\./([\w./-]+)"', text)
        waiting += [f"{base}/{''.join(name)}" for name in found]
    assert len(seen) > 3
    assert size < 80_000


def test_a_file_that_has_not_changed_is_not_sent_again(server: Served):
    first = server.get("/")
    again = server.ask("GET", "/", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status, again.data) == (304, b"")
    assert "default-src 'self'" in first.headers["content-security-policy"]
    assert server.ask("HEAD", "/").status == 200


# -- the command -------------------------------------------------------------------------------------


def solved_game(served: Served) -> Any:
    """What the list says of the only game when it is solved, or cannot be."""
    end = time.monotonic() + 120
    while (found := served.get("/api/tables").json["tables"][0])["state"] == "solving":
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def test_a_game_is_solved_first_and_its_table_deleted(tmp_path: Path):
    runs = tmp_path / "runs"
    with serving("2x3", "32", runs=runs) as served:
        found = solved_game(served)
        assert (found["name"], found["state"]) == ("2x3-32", "ready")
        value = served.get("/api/tables/2x3-32").json["start"]["win"]["value"]
        assert value == solve(Game("2x3", 32)).value.value  # type: ignore[union-attr]
        assert served.stop() == 0
    assert list(runs.iterdir()) == []


def test_a_game_that_cannot_be_solved_says_so_on_the_page(tmp_path: Path):
    with serving("4x4", "2048", runs=tmp_path) as served:
        found = solved_game(served)
        assert found["state"] == "failed"
        assert "would take" in found["problem"] or "week" in found["problem"]
        assert found["problem"] in served.get("/api/tables/4x4-2048").json["detail"]
        assert served.stop() == 0


def test_a_server_is_stopped_while_it_solves_and_goes_on_later(tmp_path: Path):
    with serving("3x3", "512", "--threads", "1", runs=tmp_path) as served:
        answer = served.get("/api/tables/3x3-512")
        assert answer.status == 400
        assert "still being solved" in answer.json["detail"]
        assert served.stop() == 0


def test_a_port_that_is_taken(refused, tables: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused(["serve", str(tables / "2x2-32"), "--port", port], 2, "is in use: give another --port")


OUTWARD = {socket.AF_INET: "198.51.100.7", socket.AF_INET6: "2001:db8::7"}


@pytest.mark.parametrize(
    ("host", "known", "names"),
    [
        ("127.0.0.1", OUTWARD, ["127.0.0.1"]),
        ("::1", OUTWARD, ["[::1]"]),
        ("0.0.0.0", OUTWARD, ["127.0.0.1", "198.51.100.7"]),
        ("", OUTWARD, ["127.0.0.1", "198.51.100.7"]),
        ("::", OUTWARD, ["127.0.0.1", "198.51.100.7", "[2001:db8::7]"]),
        ("0:0:0:0:0:0:0:0", OUTWARD, ["127.0.0.1", "198.51.100.7", "[2001:db8::7]"]),
        ("0.0.0.0", {}, ["127.0.0.1"]),
    ],
)
def test_the_addresses_of_the_page(monkeypatch, host, known, names) -> None:
    """Each that is named for a machine that listens everywhere is one of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    monkeypatch.setattr(web, "_outward", known.get)
    with socket.create_server(
        (host, 0), family=family, dualstack_ipv6="1" not in host and ":" in host
    ) as listener:
        port = listener.getsockname()[1]
        assert web.addresses(host, listener) == [f"http://{name}:{port}/" for name in names]


def test_other_machines_are_warned_of_and_told_how_to_reach_the_server(tables: Path) -> None:
    """The page answers at each address that is printed, of IPv4 and IPv6, and by each name."""
    with serving(tables / "2x2-32", "--host", "::") as served:
        assert served.process.stdout is not None
        assert served.process.stderr is not None
        outward = [one for family in OUTWARD if (one := web._outward(family))]
        printed = served.process.stdout.readline() if outward else ""
        found = [urlsplit(one) for one in re.findall(r"http://\S+", printed)]
        assert [one.hostname for one in found] == outward
        for one in found:
            assert one.port == served.port
            connection = http.client.HTTPConnection(str(one.hostname), served.port, timeout=60)
            connection.request("GET", "/api/tables")
            assert connection.getresponse().status == 200
            connection.close()
        assert served.ask("GET", "/api/tables", headers={"Host": "a.name"}).status == 200
        assert served.stop() == 0
        assert "opens this server to other machines" in served.process.stderr.read()


# -- the description ---------------------------------------------------------------------------------


def test_the_description_names_every_request(server: Served):
    found = server.get("/api/openapi.json").json
    assert found == json.loads(json.dumps(description()))
    assert {(path, method.upper()) for path, methods in found["paths"].items() for method in methods} == {
        (one.path, one.method) for one in OPERATIONS
    }


@pytest.fixture(scope="module")
def schema(tables: Path) -> Any:
    import schemathesis

    collection = Collection([tables / "2x2-32", tables / "44-32", tables / "won.cert"])
    return schemathesis.openapi.from_asgi("/api/openapi.json", make_app(collection, rate=1e9))


@pytest.mark.parametrize("number", range(len(OPERATIONS)), ids=[f"{o.method} {o.path}" for o in OPERATIONS])
def test_answers_are_as_described(schema: Any, number: int) -> None:
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    operation = OPERATIONS[number]
    described = schema[operation.path][operation.method]

    @given(described.as_strategy())
    @settings(max_examples=10, suppress_health_check=list(HealthCheck), derandomize=True)
    def ask(case: Any) -> None:
        case.call_and_validate(excluded_checks=[positive_data_acceptance])  # not every text is a board

    ask()
