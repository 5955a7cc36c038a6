"""The version names the commit that runs."""

from __future__ import annotations

import re
import runpy
import subprocess
from functools import partialmethod
from importlib import metadata
from pathlib import Path

import pytest

import tilebase
from tilebase import _version
from tilebase._version import RELEASE
from tilebase.files.manifest import Manifest

ROOT = Path(__file__).parents[1]


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository of three commits."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q")
    for number in range(3):
        (folder / "file").write_text(str(number))
        git(folder, "add", "file")
        git(folder, "commit", "-q", "-m", "another")
    return folder


def test_a_checkout_names_its_commit_and_whether_it_was_changed(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    assert _version._of_checkout(checkout) == f"{RELEASE}.dev3+g{commit[:8]}"
    (checkout / "a-table").write_text("what is computed in a checkout does not change it")
    assert _version._of_checkout(checkout) == f"{RELEASE}.dev3+g{commit[:8]}"
    (checkout / "file").write_text("changed")
    assert _version._of_checkout(checkout) == f"{RELEASE}.dev3+g{commit[:8]}.dirty"


def test_only_the_tagged_commit_is_the_release(checkout: Path) -> None:
    git(checkout, "tag", f"v{RELEASE}")
    assert _version._of_checkout(checkout) == RELEASE
    (checkout / "file").write_text("changed")
    assert str(_version._of_checkout(checkout)).endswith(".dirty")
    git(checkout, "commit", "-q", "-a", "-m", "after the release")
    assert str(_version._of_checkout(checkout)).startswith(f"{RELEASE}.dev4+g")


def test_a_shallow_clone_names_its_commit_without_a_count(checkout: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", checkout.as_uri(), str(shallow))
    assert _version._of_checkout(shallow) == f"{RELEASE}.dev0+g{git(checkout, 'rev-parse', 'HEAD')[:8]}"


def test_another_repository_that_calls_git_is_not_asked(checkout, monkeypatch) -> None:
    """A hook of git runs with GIT_DIR set."""
    expected = _version._of_checkout(checkout)
    monkeypatch.setenv("GIT_DIR", str(checkout / "nothing"))
    assert _version._of_checkout(checkout) == expected


@pytest.mark.parametrize("why", ["no repository", "no git"])
def test_without_git_the_installation_says_its_version(why, tmp_path, monkeypatch) -> None:
    if why == "no git":
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        monkeypatch.setattr(_version, "__file__", str(tmp_path / "src/tilebase/_version.py"))
    _version.version.cache_clear()
    try:
        assert _version.version() == metadata.version("tilebase")
        monkeypatch.setattr(
            metadata, "version", lambda _: (_ for _ in ()).throw(metadata.PackageNotFoundError())
        )
        _version.version.cache_clear()
        assert _version.version() == f"{RELEASE}.dev0+unknown"
    finally:
        _version.version.cache_clear()


def test_the_build_and_the_program_agree() -> None:
    """The build evaluates `version()` in the file alone, as pyproject.toml says."""
    assert runpy.run_path(str(ROOT / "src/tilebase/_version.py"))["version"]() == tilebase.__version__
    assert re.fullmatch(rf"{re.escape(RELEASE)}(\.dev\d+\+\w+(\.dirty)?)?", tilebase.__version__)


def test_a_table_that_another_version_began_goes_on_and_names_the_last_one(tmp_path, monkeypatch) -> None:
    """Formats decide what can be continued, not the version of the program."""
    game, manifest = tilebase.Game("2x2", 32), tmp_path / "manifest.json"
    with monkeypatch.context() as other:
        other.setattr(Manifest, "__init__", partialmethod(Manifest.__init__, version="0.0"))
        tilebase.solve(game, table=tmp_path)
    assert Manifest.parse(manifest.read_bytes(), "").version == "0.0"
    assert tilebase.verify_table(tmp_path).wrong == ()
    layers = {path: path.stat().st_mtime_ns for path in (tmp_path / "values/win").iterdir()}
    assert len(layers) == 3
    tilebase.solve(game, "win,moves", table=tmp_path)
    assert Manifest.parse(manifest.read_bytes(), "").version == tilebase.__version__
    assert layers == {path: path.stat().st_mtime_ns for path in (tmp_path / "values/win").iterdir()}
    assert tilebase.verify_table(tmp_path).wrong == ()
