"""What tilebase needs of the system: a process that lacks all that only POSIX has does the same.

``elsewhere/sitecustomize.py`` says what such a process lacks.  It prints the same, and its files have the
same bytes.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path, PureWindowsPath

import pytest

import tilebase
from stored import contents
from tilebase import open_table
from tilebase.errors import UsageError
from tilebase.files.source import local_path
from tilebase.game.game import Game
from tilebase.questions.policies import evaluate
from tilebase.web.collection import Collection

HERE = Path(__file__).parent
SOURCES = Path(tilebase.__file__).parent
COMMANDS = """\
count 3x3 32 -q --threads 2 -o counted
solve 2x2 32 -q --objective win,moves -o t
solve 2x2 32 -q --objective win,moves -o t
solve 2x3 32 -q --space all --threads 2
solve 3x3 16 -q --space all --threads 1 -o all
solve 2x2 32 -q --objective lower
force 3x3 16 -q --threads 1 -c proof.cert
verify proof.cert
force 2x2 16 -q --engine diagrams
probe t 2,4/0,2 -f json
verify t --all -q
verify t.zip --sample 3 -q
review t played.txt -f json
play t --seed 1 --start 2,4/0,2  # types up left
export page t -o page
thin t --visited 0.01 -q -o thin
serve t
runs
"""
ABSENT = {
    "os": {
        "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "chown", "fchmod", "fork", "getpgid", "getuid", "killpg",
        "mkfifo", "posix_fadvise", "pread", "preadv", "pwrite", "sched_getaffinity", "setsid", "statvfs",
        "sync", "sysconf", "uname",
    },
    "signal": {"SIGALRM", "SIGHUP", "SIGKILL", "SIGTSTP", "SIGUSR1", "SIGWINCH", "pthread_kill", "setitimer"},
    "select": {"select", "poll"},  # on Windows for sockets alone
    "time": {"clock_gettime"},
}  # fmt: skip
"""What modules of Windows lack, of what programs use."""
GUARDED = {
    "runtime/system.py": {"SIGKILL", "posix_fadvise", "pread", "sched_getaffinity"},
    "runtime/storage.py": {"fchmod"},
    "runtime/resources.py": {"sysconf"},
    "cli/commands.py": {"pthread_kill"},
    "cli/live.py": {"SIGTSTP", "SIGWINCH", "select"},
}
"""The modules that use some of it where it is there."""


def run(folder: Path, *arguments: str, elsewhere: bool, typed: str = "") -> str:
    """What a Python prints that begins in a folder, on this system or elsewhere."""
    searched = [*([str(HERE / "elsewhere")] if elsewhere else []), *filter(None, sys.path)]
    done = subprocess.run(
        [sys.executable, "-X", "warn_default_encoding", *arguments],
        input=typed, capture_output=True, text=True, check=False, cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(searched)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return done.stdout


def test_every_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed, left = [], []
    for name in ("here", "elsewhere"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "played.txt").write_text("2,2/0,0\n4,0/0,2\n", "utf-8")
        monkeypatch.setenv("TILEBASE_RUNS_DIR", str(folder / "runs"))
        verbs = str(HERE / "elsewhere/verbs.py")
        said = run(folder, verbs, elsewhere=name == "elsewhere", typed=COMMANDS)
        printed.append(re.sub(r" in [\d.]+ s\b| +\d+\.\d{1,3}$", "", said, flags=re.MULTILINE))  # seconds
        left.append(contents(folder))
    assert printed[0] == printed[1]
    assert left[0] == left[1]
    assert {"t/manifest.json", "counted/run.json", "page/index.html", "thin/manifest.json"} <= left[0].keys()


@pytest.mark.all
def test_killed_runs_go_on(tmp_path: Path) -> None:
    golden = str(HERE / "test_golden.py")
    options = ["-p", "no:cacheprovider", "-p", "no:schemathesis", "-W", "ignore::EncodingWarning"]
    # What the tests import opens files without an encoding; what they test does not: `test_every_verb`.
    run(tmp_path, "-m", "pytest", "-q", *options, golden, elsewhere=True)


def absent(path: Path) -> set[str]:
    """What a module uses of what Windows lacks."""
    return {
        node.attr
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.attr in ABSENT.get(node.value.id, ())
    }


def test_what_only_posix_has_is_guarded() -> None:
    used = {path.relative_to(SOURCES).as_posix(): absent(path) for path in SOURCES.rglob("*.py")}
    assert {name: found for name, found in used.items() if found} == GUARDED


@pytest.mark.parametrize(
    "text", [r"C:\table", "c:/table", "C://table", r"\\server\share\table", r"t\u", "t.zip"]
)
def test_paths_of_windows_are_no_urls(text: str) -> None:
    assert local_path(text) == Path(text)
    assert local_path(str(PureWindowsPath(text))) is not None


@pytest.mark.parametrize(
    "url", ["https://host/t", "s3://bucket/C:/t", "memory://t", "zip::https://host/t.zip"]
)
def test_urls_are_no_paths(url: str) -> None:
    assert local_path(url) is None
    assert local_path(Path(url)) == Path(url)
    assert local_path(PureWindowsPath(url)) is not None


def test_a_file_url_is_a_path(solved) -> None:
    folder = solved(Game("2x2", 8))
    with open_table(folder.as_uri()) as table:
        assert table.location.name == str(folder)
    served = Collection([folder.as_uri()])
    assert {name: entry.location for name, entry in served.entries.items()} == {folder.name: str(folder)}


def test_a_path_of_windows_is_no_module_of_a_policy(solved) -> None:
    with pytest.raises(UsageError, match="there is no policy"):
        evaluate(solved(Game("2x2", 8)), r"C:\table")
