"""Certificates: every one that is written is proved, and nothing that is changed is."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cached_oracle as oracle
from attack.certificates import certificate, signed
from conformance.engines import can_be_certified
from conformance.games import GAMES
from stored import flip_at
from tilebase import __version__
from tilebase.check import RefusedError
from tilebase.check import check_certificate as check
from tilebase.cli import main
from tilebase.errors import MissingBoardError
from tilebase.game.game import Game
from tilebase.objectives.values import Exact
from tilebase.questions.force import force
from tilebase.search.certificates import hitting_set
from tilebase.tables.certificates import open_certificate

MEMORY = 1 << 30
FORMATIONS = [
    game
    for game in GAMES
    if can_be_certified(game) and (game.masks or game.horizon or game.patterns or game.unmergeable)
]


def certify(game: Game, folder: Path) -> Path:
    path = folder / "a.cert"
    path.unlink(missing_ok=True)  # that of another question is not replaced
    assert force(game, memory=MEMORY, certificate=path).forced is not None
    return path


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


@pytest.mark.all  # the oracle takes seconds for the large ones
def test_both_claims_are_among_the_formations():
    assert {oracle.values(game, "guaranteed").start for game in FORMATIONS} == {0, 1}
    assert {oracle.values(game, "guaranteed").start for game in FORMATIONS if game.masks} == {0, 1}


@pytest.mark.parametrize(
    "game",
    [
        Game("2x3", 16, start="empty"),
        Game("2x3", 32, start="empty"),
        *[game for game in FORMATIONS if game.masks][:4],
    ],
    ids=str,
)
def test_no_board_can_be_left_out_changed_or_moved(game, tmp_path):
    """Also where whoever changes it writes the right checksum."""
    header, lines = certificate(game, tmp_path)
    fewer, more = (header | {"boards": header["boards"] + step} for step in (-1, 1))
    for place in range(0, len(lines), 3 if len(lines) > 100 else 1):
        before, line, after = lines[:place], lines[place], lines[place + 1 :]
        word, _, drop = line.partition(" ")
        for changed, boards in (
            (fewer, [*before, *after]),
            (header, [*before, *after]),
            (header, [*before, line, *after, line]),
            (more, [*before, line, line, *after]),
            (header, [*before, line.replace(word, word[::-1] + "0"), *after]),
            (header, [*before, f"{word} 99", *after] if drop else before),
        ):
            with pytest.raises(RefusedError):
                check_signed(changed, boards, tmp_path)
    assert check_signed(header, lines, tmp_path) == header


def check_signed(header: dict[str, Any], lines: list[str], folder: Path) -> dict[str, Any]:
    """What the checker says of a certificate that whoever changed it has signed again."""
    (folder / "a.cert").write_bytes(signed(header, lines))
    return check(folder / "a.cert")


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
    header, lines = certificate(Game("2x3", 32), tmp_path)
    with pytest.raises(RefusedError):
        check_signed(header | {name: value}, lines, tmp_path)


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


@settings(max_examples=50)
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


def test_the_command(folder, printed, refused, monkeypatch):
    assert main(["force", "2x3", "32", "--start", "two-tiles", "-q", "-c", "a.cert"]) == 0
    said = printed("verify a.cert")
    assert said.endswith(f" (tilebase {__version__}).\n")
    assert "on 2x3, from the board 0,0,0/0,2,2, up to symmetry: " in said
    assert "the player cannot force the tile 32" in said
    assert main(["force", "2x3", "16", "--start", "two-tiles", "-q", "-c", "b.cert"]) == 0
    assert "from each of 20 starts, the first of them " in printed("verify b.cert")
    flip_at(0.5)(Path("a.cert"))
    refused(["verify", "a.cert"], 1, "a.cert proves nothing: the file is not a certificate, or it is damaged")

    denied = Mock(side_effect=PermissionError(errno.EACCES, "Permission denied"))
    monkeypatch.setattr("tilebase.cli.verify.check_certificate", denied)
    refused(["verify", "b.cert"], 1, "cannot read b.cert: Permission denied")


def test_a_long_line_is_refused_and_limits_far_above_the_goal_are_not(tmp_path):
    header, lines = certificate(Game("2x3", 16, start="empty"), tmp_path)
    with pytest.raises(RefusedError, match="the boards are not in order"):
        check_signed(header, [*lines, "0" * 1_000_000], tmp_path)
    path = certify(Game("2x2", 8, limits=[1 << 20, 16, 16, 16], start="empty"), tmp_path)
    assert check(path)["limits"] == [8, 8, 8, 8]


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
