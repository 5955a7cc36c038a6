"""Certificates: every one that is written is proved, and nothing that is changed is."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cached_oracle as oracle
from facts import Fact, facts
from stored import flip_at
from tilebase import __version__
from tilebase.check import RefusedError
from tilebase.check import check_certificate as check
from tilebase.cli import main
from tilebase.errors import MissingBoardError, StorageError
from tilebase.game.game import Game
from tilebase.objectives.values import Exact
from tilebase.questions.force import force
from tilebase.search.certificates import hitting_set
from tilebase.tables.certificates import open_certificate

MEMORY = 1 << 30
CORNERS = "x../.../...|..x/.../...|.../.../x..|.../.../..x"
FORMATIONS = (
    Game("2x3", 8, masks="..x/...|.../..x", start="after 0,0,x/2,2,0", horizon=18),
    Game("2x3", 8, masks="x.x/...|.../x.x", start="after x,2,x/0,2,0", horizon=16),
    Game("2x4", 16, unmergeable=[0], start="after x,2,0,0/0,0,0,0", horizon=60),
    Game("2x3", 8, unmergeable=[0, 5], start="empty"),
    Game("3x3", 16, masks=CORNERS, start="after 2,0,x/0,0,0/0,0,0", horizon=30),
    Game("3x3", 16, masks="..x/.../...", start="after 2,0,x/0,0,0/0,0,0", limits="8,8,16/8,8,8/8,4,8"),
    Game(
        "3x3",
        masks=".../.../.xx|.../.../xx.",
        pattern="*,*,*/*,8,*/*,*,*|*,*,*/*,*,*/8,*,*",
        start="after 2,0,0/0,0,0/2,x,x|2,0,0/0,0,0/0,x,x",
        horizon=50,
    ),
    Game("2x3", 16, masks="..x/...", unmergeable=[2, 3], start="x,2,x/2,0,4", horizon=26),
    Game("2x2", 16, start="after 4,0/0,0|2,0/0,0"),
    Game("2x3", pattern="*,8,*/*,*,*", limits="8,8,8/8,8,8", start="empty", horizon=40),
    Game("2x3", 16),
    Game("2x3", 32, spawn=0),
)


def certify(game: Game, folder: Path) -> Path:
    path = folder / "a.cert"
    path.unlink(missing_ok=True)  # that of another question is not replaced
    found = force(game, memory=MEMORY, certificate=path)
    assert found.forced is not None
    return path


def rewrite(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    """Change the lines of a certificate and give it the checksum of what it then holds."""
    packed = path.read_bytes().partition(b"\n")[2]
    lines = change(gzip.decompress(packed).decode().splitlines())
    body = gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)
    digest = hashlib.sha256(body).hexdigest()
    path.write_bytes(f"tilebase certificate 1 {digest}\n".encode() + body)


SMALL = ("2x3", "2x4", "3x3", "2x5", "2x2x2")


@pytest.mark.parametrize(
    "fact", [f for f in facts("guaranteed_with_limits.tsv", goal="32") if f["board"] in SMALL], ids=repr
)
def test_published_limits_are_proved(fact: Fact, tmp_path: Path) -> None:
    """The lines for 64 are refutations that take a minute to check: tests/test_slow.py."""
    game = Game(fact["board"], int(fact["goal"]), limits=fact["limits"], start="empty")
    header = check(certify(game, tmp_path))
    assert header["claim"] == {"winnable": "forced", "not_winnable": "not forced"}[fact["value"]]
    assert header["limits"] == list(game.limits)


def test_certificates_are_the_same_with_one_thread(tmp_path):
    found = []
    for name in ("a", "b"):
        force(Game("2x4", 32, start="empty"), memory=MEMORY, threads=1, certificate=tmp_path / name)
        found.append((tmp_path / name).read_bytes())
    assert found[0] == found[1]


# -- what is changed -------------------------------------------------------------------------------


@pytest.mark.parametrize("game", FORMATIONS, ids=str)
def test_formations_are_proved(game: Game, tmp_path: Path) -> None:
    """Large tiles, masks, patterns, a horizon, and starts after a slide."""
    header = check(certify(game, tmp_path))
    assert header["claim"] == ("forced" if oracle.values(game, "guaranteed").start == 1 else "not forced")
    assert header.get("x", 0) == len(game.unmergeable)
    assert header.get("horizon") == game.horizon
    assert len(header.get("masks", [])) == len(game.masks)
    assert len(header.get("patterns", [])) == len(game.patterns)
    assert bool(header.get("afterstates")) == any(map(any, game.start_afters))
    assert bool(header["starts"]) == (not game.start_afters)
    assert header["drops"] == [2**e for e in game.spawn_exponents]


def test_both_claims_are_among_the_formations():
    assert {oracle.values(game, "guaranteed").start for game in FORMATIONS} == {0, 1}
    assert {oracle.values(game, "guaranteed").start for game in FORMATIONS if game.masks} == {0, 1}


@pytest.mark.parametrize(
    "game",
    [
        Game("2x3", 16, start="empty"),
        Game("2x3", 32, start="empty"),
        *(one for one in FORMATIONS if one.masks),
    ],
    ids=str,
)
def test_no_board_can_be_left_out_changed_or_moved(game, tmp_path):
    """Also where whoever changes it writes the right checksum."""
    path = certify(game, tmp_path)
    whole = path.read_bytes()
    lines = gzip.decompress(whole.partition(b"\n")[2]).decode().splitlines()
    header = json.loads(lines[0])
    fewer, more = (json.dumps(header | {"boards": header["boards"] + step}) for step in (-1, 1))
    refused = 0
    for place in range(1, len(lines), 3 if len(lines) > 100 else 1):
        word, _, drop = lines[place].partition(" ")
        changes = [
            [fewer, *lines[1:place], *lines[place + 1 :]],
            [lines[0], *lines[1:place], *lines[place + 1 :]],
            [lines[0], *lines[1:place], *lines[place:], lines[place]],
            [more, *lines[1:place], lines[place], *lines[place:]],
            [*lines[:place], lines[place].replace(word, word[::-1] + "0"), *lines[place + 1 :]],
            [*lines[:place], f"{word} 99", *lines[place + 1 :]] if drop else lines[:place],
        ]
        for changed in changes:
            path.write_bytes(whole)
            rewrite(path, lambda _, changed=changed: changed)
            with pytest.raises(RefusedError):
                check(path)
            refused += 1
    assert refused > min(100, len(lines) - 1)
    path.write_bytes(whole)
    rewrite(path, lambda lines: lines)
    assert check(path)["boards"] == header["boards"]


WRONG: dict[str, tuple[Any, ...]] = {
    "claim": ("forced", "certainly"),
    "goal": (8, 33, 0, None),
    "shape": ("3x2", "2x2", "2x3x2", "2xq", ""),
    "drops": ([2, 4, 8], []),
    "limits": ([16] * 5, [2] * 6),
    "starts": (["000055"], ["0000110"], ["00009z"], 3),
    "boards": (7, "many"),
    "goal_sum": (-4, 7),
    "patterns": (["******"],),
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values], ids=str
)
def test_no_header_can_be_changed(name, value, tmp_path):
    path = certify(Game("2x3", 32), tmp_path)
    rewrite(path, lambda lines: [json.dumps(json.loads(lines[0]) | {name: value}), *lines[1:]])
    with pytest.raises(RefusedError):
        check(path)


@pytest.mark.parametrize("content", [b"", b"\n", b"tilebase certificate 1 ", b"\x00" * 300, b"{}"])
def test_other_files_are_no_certificates(content, tmp_path):
    path = tmp_path / "a.cert"
    path.write_bytes(content)
    with pytest.raises(RefusedError, match="not a certificate"):
        check(path)
    body = gzip.compress(content)
    path.write_bytes(f"tilebase certificate 1 {hashlib.sha256(body).hexdigest()}\n".encode() + body)
    with pytest.raises(RefusedError):
        check(path)
    path.write_bytes(f"tilebase certificate 1 {hashlib.sha256(content).hexdigest()}\n".encode() + content)
    with pytest.raises(RefusedError):
        check(path)


# -- writing ---------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.lists(st.sets(st.integers(0, 12), min_size=1, max_size=4), max_size=8), min_size=1, max_size=3
    ).filter(lambda lists: any(lists))
)
def test_hitting_sets_hit(lists):
    wanted = []
    for groups in lists:
        pairs = [(number, key) for number, group in enumerate(groups) for key in sorted(group)]
        numbers = np.array([number for number, _ in pairs], dtype=np.int64)
        wanted.append((numbers, np.array([key for _, key in pairs], dtype=np.uint64)))
    chosen = hitting_set(wanted)
    every = [group for groups in lists for group in groups]
    assert all(group & set(chosen.tolist()) for group in every)
    assert chosen.tolist() == sorted(set(chosen.tolist()))
    assert len(chosen) <= len(every)


def test_what_the_table_has_forgotten_is_found_again(tmp_path, monkeypatch):
    """A certificate does not depend on what the search still knows."""
    from tilebase.questions import force as engines

    decide = engines.decide_starts

    def decide_and_forget(search):
        found = decide(search)
        search.facts.table[:] = 0
        search.facts.entered = 0
        return found

    monkeypatch.setattr(engines, "decide_starts", decide_and_forget)
    for game in (Game("2x3", 16), Game("2x3", 32), Game("2x3", 32, start="empty")):
        assert check(certify(game, tmp_path))["goal"] == game.goal


def test_a_certificate_that_cannot_be_written(tmp_path):
    with pytest.raises(StorageError, match="cannot write"):
        force(Game("2x2", 8), memory=MEMORY, certificate=tmp_path / "no" / "a.cert")
    (tmp_path / "a.cert").mkdir()
    with pytest.raises(StorageError, match="cannot write"):
        force(Game("2x2", 8), memory=MEMORY, certificate=tmp_path / "a.cert")
    assert [path.name for path in tmp_path.iterdir()] == ["a.cert"]


# -- checking --------------------------------------------------------------------------------------


def test_the_checker_is_a_short_script_of_its_own(tmp_path):
    script = Path(sys.modules["tilebase.check"].__file__ or "")
    text = script.read_text()
    assert len(text.splitlines()) < 460
    for other in ("tilebase.", "numpy", "numba"):
        assert f"import {other}" not in text
        assert f"from {other}" not in text
    path = certify(Game("2x3", 32, start="empty"), tmp_path)
    alone = subprocess.run(
        [sys.executable, "-I", "-S", script, path], capture_output=True, text=True, check=True
    )
    assert alone.stdout.startswith("proved: ")
    path.write_bytes(path.read_bytes()[:-1])
    alone = subprocess.run([sys.executable, "-I", script, path], capture_output=True, text=True, check=False)
    assert alone.returncode == 1
    assert alone.stderr == (
        "not proved: the file is not a certificate, or it is damaged: its checksum is wrong\n"
    )


def test_the_command(folder, capsys, printed, refused, monkeypatch):
    assert main(["force", "2x3", "32", "--start", "two-tiles", "-q", "-c", "a.cert"]) == 0
    capsys.readouterr()
    said = printed("verify a.cert")
    assert said.endswith(f" (tilebase {__version__}).\n")
    assert "on 2x3, from the board " in said
    assert "the player cannot force the tile 32" in said
    assert main(["force", "2x3", "16", "--start", "two-tiles", "-q", "-c", "b.cert"]) == 0
    capsys.readouterr()
    assert "from each of 20 starts, the first of them " in printed("verify b.cert")
    flip_at(0.5)(Path("a.cert"))
    refused(["verify", "a.cert"], 1, "a.cert proves nothing: the file is not a certificate, or it is damaged")
    refused(["verify", str(folder)], 1, "holds no finished table")

    def fail(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tilebase.cli.verify.check_certificate", fail)
    refused(["verify", "b.cert"], 1, "cannot read b.cert: Permission denied")


def test_limits_far_above_the_goal_are_checked(tmp_path):
    path = certify(Game("2x2", 8, limits=[1 << 20, 16, 16, 16], start="empty"), tmp_path)
    assert check(path)["limits"] == [8, 8, 8, 8]


def test_a_long_line_is_refused_and_not_read(tmp_path):
    path = certify(Game("2x3", 16, start="empty"), tmp_path)
    rewrite(path, lambda lines: [*lines, "0" * 1_000_000])
    with pytest.raises(RefusedError, match="the boards are not in order"):
        check(path)


@pytest.mark.parametrize(
    "tiles",
    [
        # With T/8 beside the five tiles; found by `tilebase lemma` for T = 256 (docs/errata.md, row 9).
        "128,64,4,4/32,16,16,16/32,8,32,32",
        "2048,1024,64,64/512,256,256,256/512,128,512,512",
        # T/16 on the fourth cell of the second row, which a published line to 2048 allows.
        "512,256,2,2/128,64,64,64/16,4,16,32",
        "1024,512,2,2/256,128,128,128/16,4,16,64",
    ],
)
def test_lemma_1_fails_within_published_limits(tiles, tmp_path):
    game = Game("3x4", 2 * int(tiles.partition(",")[0]), start=tiles, pattern="lemma1")
    assert game.matches(game.start_board)
    assert check(certify(game.changed(pattern=None), tmp_path))["claim"] == "not forced"


def test_no_slide_is_proved_by_a_certificate_of_the_adversary(tmp_path, printed) -> None:
    game = Game("2x2", 32, start="empty")
    force(game, memory=MEMORY, threads=1, certificate=tmp_path / "lost.cert")
    certificate = open_certificate(tmp_path / "lost.cert")
    assert not certificate.forced
    with pytest.raises(MissingBoardError, match="does not list this board"):
        certificate.probe("16,16/2,0")  # a slide wins
    listed = [state for state in certificate.starts if state.slides()]
    assert listed
    for state in listed:
        answer = certificate.probe(state)
        assert answer.value == Exact(False)
        assert {slide.value for slide in answer.slides} == {Exact(False)}
        assert answer.best == ()
        assert {certificate.probe_after(slide.after).value for slide in answer.slides} == {Exact(False)}
    with pytest.raises(MissingBoardError, match="does not list this board"):
        certificate.probe_after("2,8/8,0")
    assert "whether a win can be forced: no\n" in printed(
        "probe", str(tmp_path / "lost.cert"), listed[0].text
    )
    assert json.loads(printed("probe", str(tmp_path / "lost.cert"), "-f", "json"))["value"] is False
