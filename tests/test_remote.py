"""Tables behind servers: right values or one sentence, whether the servers behave or not."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from serving import Host, hosted, ranges, whole_files
from tilebase import Board, Game, open_table, solve, verify_table
from tilebase.cli import main
from tilebase.errors import CorruptError, MissingLayerError, StorageError, UsageError
from tilebase.files import keys, remote, store
from tilebase.files.source import local_path
from tilebase.small.oracle import values
from tilebase.sparse import backward
from tilebase.web.collection import Collection

TINY = Game("2x2", 16)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def all_values(table: Any) -> list[Any]:
    return [table.probe(Board(TINY, state)).value for state in values(TINY).states]


# -- servers that behave ---------------------------------------------------------------------------


def by_redirection(host: Host, _: bytes) -> bool:
    moved = "?" not in host.path
    if moved:
        host.answer(302, b"", {"Location": f"{host.path}?here"})
    return moved


@pytest.mark.parametrize("how", [ranges, whole_files, by_redirection], ids=["ranges", "whole", "moved"])
def test_tables_over_http(how, solved):
    with open_table(solved(TINY)) as local, hosted(solved(TINY), how) as (url, _):
        for place in (url, f"{url}/", f"{url}?token=1" if how is not by_redirection else url):
            with open_table(place) as table:
                assert all_values(table) == all_values(local)
        found = verify_table(url, sample=None)
        assert (found.wrong, found.unread) == ((), ())


def test_a_small_file_takes_one_request(solved):
    """Sixteen layers of a hundred bytes took four hundred requests."""
    with hosted(solved(TINY)) as (url, seen):
        assert verify_table(url, sample=None).wrong == ()
        assert seen == ["/manifest.json", "/values/win/layers.idx", "/values/win/000.seg"]


def test_a_probe_takes_few_requests(tmp_path, monkeypatch):
    """It reads the manifest, a page of the index, and a chunk for each slide, if they are new."""
    monkeypatch.setattr(store, "PAGE_BYTES", 1 << 12)  # so that there are several pages
    for module in (keys, backward):
        monkeypatch.setattr(module, "CHUNK_KEYS", 1 << 11)  # as many chunks of a layer as large ones have
    game, seeded = Game("3x3", 128), random.Random(1)
    solve(game, table=tmp_path, threads=1)
    most = {"cold": 0, "other": 0, "same": 0}
    with open_table(tmp_path) as local:

        def state(total: int) -> Board:
            after = local.prober.at(total - 2, seeded.randrange(local.prober.count(total - 2)))
            return Board(
                game, seeded.choice([one for one, _ in game.spawns(after) if game.sum(one) == total])
            )

        pages = local.manifest.layers["win"].pages
        assert not any(page.least <= 124 and page.most >= 180 for page in pages)
        assert min(local.prober.layer(total).chunks for total in (124, 180)) > 4
        for _ in range(40):
            asked = {"cold": state(124), "other": state(180), "same": state(124)}
            with hosted(tmp_path) as (url, seen), open_table(url) as table:
                for name, board in asked.items():
                    assert table.probe(board) == local.probe(board)
                    most[name] = max(most[name], len(seen))
                    del seen[:]
    assert most["cold"] <= 6
    assert most["other"] <= 5
    assert most["same"] <= 4
    assert min(most.values()) > 2  # slides lead to several chunks


@pytest.mark.parametrize("name", ["layers.idx", "000.seg"])
def test_a_missing_file_is_damage_and_no_missing_board(name, solved):
    """A server says only at the first request for a file that it is missing."""

    def how(host: Host, data: bytes) -> bool:
        return name in host.path and status(404)(host, data)

    with hosted(solved(TINY), how) as (url, _):
        found = verify_table(url)
        assert (len(found.wrong), found.unread) == (1, ())
        sentence = f"values/win lacks {name}, which the manifest names"
        with open_table(url) as table, pytest.raises(CorruptError, match=sentence):
            table.get("4,4/0,2")


@pytest.mark.parametrize("size", [0, 1, remote.FIRST - 1, remote.FIRST, remote.FIRST + 1, 5_000_000])
def test_ranges_of_a_file(size, tmp_path):
    data = bytes(i * i >> 3 & 0xFF for i in range(size))
    (tmp_path / "file").write_bytes(data)
    with hosted(tmp_path) as (url, seen):
        location = remote.RemoteLocation(url)
        file = location.open("file")
        assert file.size == size
        parts = ((0, 16), (max(size - 48, 0), 48), (size // 3, 20_000), (size // 2, 1), (0, size))
        for offset, length in parts:
            if offset + length <= size:
                assert file.read(offset, length) == data[offset : offset + length]
            else:
                with pytest.raises(CorruptError, match="ends too early"):
                    file.read(offset, length)
        del seen[:]
        again = remote.RemoteLocation(url).open("file")
        for offset in range(0, size - 9_999, 10_000):
            assert again.read(offset, 10_000) == data[offset : offset + 10_000]
        assert len(seen) <= 5 + size // remote.MOST_AT_ONCE + 6


def test_names_and_passwords(solved):
    asked = []

    def how(host: Host, _: bytes) -> bool:
        asked.append(host.headers["Authorization"])
        return False

    with hosted(solved(TINY), how) as (url, _):
        with open_table(url.replace("//", "//me:secret@")) as table:
            assert table.value
        assert asked[0] == "Basic bWU6c2VjcmV0"
        with pytest.raises(MissingLayerError) as error:
            open_table(url.replace("//", "//me:secret@") + "/none")
        assert "secret" not in str(error.value)


# -- servers that do not ---------------------------------------------------------------------------


def status(number: int) -> Callable[[Host, bytes], bool]:
    def how(host: Host, _: bytes) -> bool:
        host.answer(number, b"sorry")
        return True

    return how


def raw(text: bytes) -> Callable[[Host, bytes], bool]:
    """Send these bytes and hang up."""

    def how(host: Host, _: bytes) -> bool:
        host.wfile.write(text)
        host.close_connection = True
        return True

    return how


def ranged(**changes: Any) -> Callable[[Host, bytes], bool]:
    """An answer with a range in which something is wrong: {first}, {last}, {size} are the right numbers."""

    def how(host: Host, data: bytes) -> bool:
        first, last = host.range(len(data))
        body = data[first : last + 1]
        headers = {"Content-Range": changes.get("range", "bytes {first}-{last}/{size}")}
        headers |= changes.get("more", {})
        numbers = {"first": first, "last": last, "size": len(data), "after": last + 1, "short": last - 1}
        headers = {name: value.format(**numbers) for name, value in headers.items()}
        host.close_connection = True
        host.answer(changes.get("status", 206), changes.get("body", lambda found: found)(body), headers)
        return True

    return how


def hang(host: Host, _: bytes) -> bool:
    time.sleep(3)
    host.close_connection = True
    return True


def drip(host: Host, _: bytes) -> bool:
    """A byte now and then, so that no single wait is long."""
    host.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(30):
        host.wfile.write(b"{")
        time.sleep(0.1)
    host.close_connection = True
    return True


def endless(host: Host, _: bytes) -> bool:
    host.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1_000_000)
    host.close_connection = True
    return True


def in_circles(host: Host, _: bytes) -> bool:
    host.answer(302, b"", {"Location": host.path})
    return True


LARGER = "the server sends bytes 0-|it had 384 bytes at the server before"
ELSEWHERE = "unknown url type: ftp|302|not allowed"
FAILURES: dict[str, tuple[Callable[[Host, bytes], Any], str]] = {
    "500": (status(500), "the server answered 500 Internal Server Error"),
    "503": (status(503), "the server answered 503 Service Unavailable"),
    "403": (status(403), "the server answered 403 Forbidden"),
    "416": (raw(b"HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n"), "the server answered 416 No"),
    "204": (raw(b"HTTP/1.1 204 No Content\r\n\r\n"), "the server answered 204 No Content"),
    "escape": (raw(b"HTTP/1.1 500 \x1b[31mred\r\nContent-Length: 0\r\n\r\n"), r"500 \?\[31mred"),
    "no length": (raw(b"HTTP/1.1 200 OK\r\n\r\n{}"), "does not say how long it is"),
    "length of letters": (raw(b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{}"), "does not say how long"),
    "large": (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}"), "sends no ranges"),
    "endless": (endless, "does not say how long it is"),
    "truncated": (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}"), "the server sent 2 of 99 bytes"),
    "nothing": (raw(b""), "closed connection without response"),
    "garbage": (raw(b"\0\xff" * 99 + b"\r\n"), "cannot read"),
    "long line": (raw(b"HTTP/1.1 200 " + b"x" * 99_999 + b"\r\n\r\n"), "cannot read"),
    "many headers": (raw(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 999 + b"\r\n"), "cannot read"),
    "short range": (ranged(body=lambda data: data[:-1], more={"Content-Length": ""}), "the server sent"),
    "no range": (ranged(range=""), "does not say which range"),
    "other range": (ranged(range="bytes 1-{after}/{size}"), "the server sends bytes 1-"),
    "shorter range": (ranged(range="bytes {first}-{short}/{size}"), r"the server sends bytes \d+-"),
    "no size": (ranged(range="bytes {first}-{last}/*"), "does not say which range"),
    "huge size": (ranged(range="bytes {first}-{last}/99999999999999999999"), "does not say which range"),
    "larger size": (ranged(range="bytes {first}-{last}/999999999"), LARGER),
    "compressed": (ranged(more={"Content-Encoding": "gzip"}), "compresses it"),
    "circles": (in_circles, "redirect error"),
    "elsewhere": (raw(b"HTTP/1.1 302 Go\r\nLocation: ftp://x/\r\nContent-Length: 0\r\n\r\n"), ELSEWHERE),
    "to a file": (raw(b"HTTP/1.1 302 Go\r\nLocation: file:///x\r\nContent-Length: 0\r\n\r\n"), ELSEWHERE),
    "hang": (hang, "TILEBASE_TIMEOUT|in time"),
    "drip": (drip, "TILEBASE_TIMEOUT|in time"),
}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEBASE_TIMEOUT", "0.5")


@pytest.mark.parametrize("name", FAILURES)
def test_failures(name, solved, impatient, monkeypatch):
    """At the first request and later: values stay right, and what cannot be read is no damage."""
    how, sentence = FAILURES[name]
    monkeypatch.setattr(remote, "BLOCK", 32)  # so that the first probe does not read the whole table
    exact = float(values(TINY).states[(0, 1, 2, 2)])
    failing = False

    with (
        hosted(solved(TINY), lambda host, data: failing and how(host, data)) as (url, _),
        open_table(url) as table,
    ):
        board = Board(TINY, (2, 2, 0, 1))
        assert float(table.probe(board).value) == pytest.approx(exact, abs=1e-12)
        failing = True
        with pytest.raises((StorageError, CorruptError), match=sentence):
            table.probe("2,2/0,0")
        assert float(table.probe(board).value) == pytest.approx(exact, abs=1e-12)
        since = time.monotonic()
        with pytest.raises((StorageError, CorruptError), match=sentence) as error:
            open_table(url)
        assert time.monotonic() - since < 2.5
        assert "holds no finished table" not in str(error.value)
        assert str(error.value).isprintable()


@pytest.mark.parametrize("name", [name for name in FAILURES if name not in ("hang", "drip")])
def test_verify_says_what_the_server_said(name, solved, impatient, capsys):
    how, _ = FAILURES[name]

    def later(host: Host, data: bytes) -> bool:
        return "manifest" not in host.path and how(host, data)

    with hosted(solved(TINY, "win,lower,upper,guaranteed"), later) as (url, seen):
        assert main(["verify", url, "-q"]) == 1
        printed = capsys.readouterr()
        assert "delete" not in printed.out + printed.err
        assert "damaged" not in printed.out + printed.err
        assert printed.out.endswith("not all of it could be read, so verify again when it can be\n")
        assert printed.out.count("cannot read") == 3
        assert len(seen) <= 3 * 6 + 1


def test_no_server_and_no_table(solved):
    with hosted(solved(TINY)) as (url, _):
        assert float(open_table(url).value) > 0
    missing = pytest.raises(MissingLayerError, match=r"holds no finished table.* -o FOLDER")
    for number in (404, 410):
        with hosted(solved(TINY), status(number)) as (other, _), missing:
            open_table(other)
    with pytest.raises(StorageError, match="refused"):
        open_table(url)
    for wrong in ("http://", "http://[::1", "http://127.0.0.1:99999", "http://a b/", "http://\0/"):
        with pytest.raises(StorageError, match="cannot read"):
            open_table(wrong)


def test_a_file_that_changes_at_the_server(solved):
    sizes = iter(range(10))

    def how(host: Host, data: bytes) -> bool:
        if "seg" not in host.path:
            return False
        size = len(data) + next(sizes)
        first, last = host.range(size)
        body = data.ljust(size, b"\0")[first : last + 1]
        host.answer(206, body, {"Content-Range": f"bytes {first}-{last}/{size}"})
        return True

    with hosted(solved(TINY), how) as (url, _):
        location = remote.RemoteLocation(url)
        location.open("values/win/000.seg").read(0, 16)
        location.blocks.clear()
        with pytest.raises(StorageError, match="bytes at the server before"):
            location.open("values/win/000.seg").read(0, 16)


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf", "1e99"])
def test_time_limits_that_are_none(text, monkeypatch):
    monkeypatch.setenv("TILEBASE_TIMEOUT", text)
    with pytest.raises(UsageError, match="TILEBASE_TIMEOUT"):
        open_table("http://127.0.0.1:1")


@pytest.mark.parametrize(
    "url", ["https://host/t", "s3://bucket/C:/t", "memory://t", "zip::https://host/t.zip"]
)
def test_urls_are_no_paths(url: str) -> None:
    assert local_path(url) is None
    assert local_path(Path(url)) == Path(url)


def test_a_file_url_is_a_path(solved) -> None:
    folder = solved(Game("2x2", 8))
    with open_table(folder.as_uri()) as table:
        assert table.location.name == str(folder)
    served = Collection([folder.as_uri()])
    assert {name: entry.location for name, entry in served.entries.items()} == {folder.name: str(folder)}
