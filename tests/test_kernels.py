"""No kernel reads or writes beyond its arrays: all of them run once with Numba's bounds checks.

Compiled without them a kernel that writes too far goes unnoticed until it hits something else's memory.
What solving does not test of single functions is tested here too.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba import types
from numba.core import config

from stopping import no_space
from tilebase import Game
from tilebase._kernels import boards, codec, jit, machine_code
from tilebase._kernels.coded import decode, encode
from tilebase._kernels.packed import packed
from tilebase.cli.progress import counting_progress, watching_compiler
from tilebase.game.compiled import CompiledGame
from tilebase.game.symmetry import canonical
from tilebase.runtime import paths, system

KERNELS = Path(jit.__file__).parent

SCRIPT = """
import contextlib
import sys
import tempfile
from pathlib import Path
from executing import ThreadExecutor
from tilebase import Game, check_pattern, count, evaluate, force, solve
from tilebase.runtime.resources import Allowance
from tilebase.sparse import shared_backward, shared_forward

GAMES = (
    Game("2x3", 16),
    Game("2x3", 16, unmergeable=[4]),  # fewer codes for tiles than bits
    Game("3x6", spawn=0, start="empty", limits=2),  # three bits a cell
    Game("1x22", spawn=0, start="empty", limits=2),  # two
    Game("2x3", 32, limits="16,8,8/8,8,8", pattern="pair", start="empty"),
    Game("1x2x3", 16, walls=[5]),
)
SPARSE = "win,win:float16,lower:uint32,upper,guaranteed,moves"  # the types of values are compiled apart
DENSE = "win:float16,win,lower:uint32,guaranteed,score,longest"


def reachable():
    for game in GAMES:
        count(game, threads=1, lookahead=True)
        if game.can_win:
            solve(game, SPARSE, threads=2)


def shared():
    shared_forward.SHARED_RANKS = shared_backward.SHARED_KEYS = 1
    for game in GAMES[:2]:
        with contextlib.closing(ThreadExecutor(Allowance(memory=4 << 30, threads=2))) as threads:
            solve(game, "win", cluster=threads)


def all_boards():
    for game in (GAMES[0], GAMES[4]):
        solve(game, DENSE, space="all", threads=2)


def searched():
    for game in GAMES:
        if game.can_win:
            force(game, engine="search")
    with tempfile.TemporaryDirectory() as folder:
        force(Game("2x3", 32), certificate=Path(folder) / "a.cert")
        force(Game("2x3", 16), certificate=Path(folder) / "b.cert")
        for shape in ("3x6", "5x5", "3x3x3", "2x4x4"):  # up to 64 drops on an afterstate
            game = Game(shape, 16 if shape in ("3x6", "3x3x3") else 8, start="empty")
            force(game, engine="search", seconds=2.0, certificate=Path(folder) / f"{shape}.cert")


def used():
    check_pattern(Game("2x3", 64, pattern="lemma1"))
    with tempfile.TemporaryDirectory() as folder:
        solve(GAMES[0], table=Path(folder) / "t")
        evaluate(Path(folder) / "t", "greedy")
        evaluate(Path(folder) / "t", Path(folder) / "t", games=100, seed=1)


globals()[sys.argv[1]]()
print("in bounds")
"""


@pytest.mark.all
@pytest.mark.parametrize("part", ["reachable", "shared", "all_boards", "searched", "used"])
def test_no_kernel_leaves_its_arrays(part: str) -> None:
    """The functions of the script run with bounds checks, compiled anew; these need no optimised code."""
    done = debugged(SCRIPT, part, NUMBA_FULL_TRACEBACKS="1", NUMBA_OPT="0")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.endswith("in bounds\n")


def test_bounds_are_checked():
    """With the settings of the script a kernel that reads beyond its array is found out."""
    script = """
import faulthandler
import numpy
from tilebase._kernels.jit import kernel
assert faulthandler.is_enabled()
kernel()(lambda a: a[3])(numpy.zeros(3))
"""
    assert "IndexError: index is out of bounds" in debugged(script, TILEBASE_CACHE_DIR="/dev/null").stderr


def debugged(script: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    command, more = [sys.executable, "-c", script, *arguments], {"TILEBASE_DEBUG": "1", **settings}
    environment = system.child_environment() | more  # finds the modules of the tests
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1200)


def test_float16_is_converted_as_numpy_does():
    bits = np.arange(0x3C01, dtype=np.uint16)  # all of [0, 1]
    numbers = np.empty(len(bits))
    decode(bits, numbers)
    assert (numbers == bits.view(np.float16).astype(np.float64)).all()
    ties = (numbers[1:] + numbers[:-1]) / 2
    wanted = np.concatenate([numbers, ties, np.nextafter(ties, 0.0), np.nextafter(ties, 1.0)])
    found = np.empty(len(wanted), dtype=np.uint16)
    encode(wanted, found)
    assert (found == wanted.astype(np.float16).view(np.uint16)).all()


@pytest.fixture
def edited(tmp_path):
    """Which modules of kernels have another key after an edit of one."""
    shutil.copytree(KERNELS, tmp_path / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    modules = sorted(path.stem for path in KERNELS.glob("*.py"))

    def edit(name, old="", new="edited = 1\n"):
        before = {module: jit.cache_key(module, tmp_path / "kernels") for module in modules}
        file = tmp_path / "kernels" / f"{name}.py"
        text = file.read_text("utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1) if old else text + new, "utf-8")
        return {m for m in modules if jit.cache_key(m, tmp_path / "kernels") != before[m]}

    return edit


def test_an_edit_changes_the_keys_of_what_depends_on_it(edited):
    assert edited("rank") == {"rank", "forward", "backward", "exchange"}
    assert edited("exchange") == {"exchange"}
    assert edited("arguments") == {path.stem for path in KERNELS.glob("*.py")}
    assert {"forward", "dense", "play"} <= edited("scalar", "1", "2")


def test_an_edit_of_what_is_no_code_changes_no_key(edited):
    for new in ("# a comment\n", "\n\n", '"""Of no use."""\n', '"""Several\n\n# lines\n"""\n', '# "\n'):
        assert edited("arguments", new=new) == set(), new
    assert edited("rank", '"""', '"""And yet: ') == set()
    assert edited("rank", new="def f(a):  # said\n    return a\n") != set()
    assert edited("rank", "# said", "# told") == set()


@pytest.mark.parametrize(
    "text",
    [
        'a = "#"', "a = '''\n# b\n'''", 'a = """\n# b\n"""', 'f(\n"""b"""\n)', '"""a""" + b',
        'a = (\n    "b"\n    """c"""\n)', '"""a\n""" + b\n"""c"""', '"""a\n\\"""\nb = 1\n"""',
        'a = 1 + \\\n"""b"""',
    ],
)  # fmt: skip
def test_strings_are_code_where_they_are_no_docstrings(text):
    assert jit.code_of(text).strip() == text


def bare(source: str) -> str:
    """The syntax of a source, without strings that are statements."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            node.body = [
                one for one in body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            ]
    return ast.dump(tree)


@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.py")), ids=lambda path: path.stem)
def test_what_is_hashed_is_the_code(path):
    text = path.read_text("utf-8")
    hashed = jit.code_of(text)
    assert bare(hashed) == bare(text)
    assert '"""' not in hashed
    names = re.findall(r"^@(?:kernel|linked)\(.*\n(?:@.*\n)*def (\w+)", text, re.MULTILINE)
    assert len(names) == len(set(names)), "a name stands for one kernel in the cache"


def test_kernels_of_a_source_elsewhere_or_with_other_comments_are_loaded(tmp_path, monkeypatch):
    """Numba would look at the line of the function, and at the place and time of the file."""
    monkeypatch.setattr(jit, "_kernel_cache", lambda _module: str(tmp_path / "kept"))

    def hits(text: str, place: str = "here") -> list[int]:
        (tmp_path / place).mkdir(exist_ok=True)
        file = tmp_path / place / "edited.py"
        file.write_text(text)
        spec = importlib.util.spec_from_file_location("tilebase._kernels.edited", file)
        module = importlib.util.module_from_spec(spec)
        exec(compile(text, file, "exec"), module.__dict__)
        assert module.f(20) == 41
        return list(module.f._cache_hits.values())

    text = "from tilebase._kernels.jit import kernel\n\n@kernel()\ndef f(a):\n    return 2 * a + 1\n"
    assert hits(text) == []
    assert hits(text) == [1]
    assert hits(text, "elsewhere") == [1]
    assert hits('"""More lines."""\n# here\n' + text.replace("    return", "    # there\n    return")) == [1]


def test_sources_are_found_by_every_kind_of_import():
    for path in KERNELS.glob("*.py"):
        imported = set()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tilebase._kernels"):
                _, _, module = node.module.partition("tilebase._kernels.")
                imported |= {module} if module else {alias.name for alias in node.names}
            elif isinstance(node, ast.Import):
                assert not any(alias.name.startswith("tilebase._kernels") for alias in node.names), path
        found = {source.stem for source in jit.sources(path.stem, KERNELS)}
        assert imported | {path.stem} <= found, path


def test_checked_and_debugged_kernels_have_keys_of_their_own(monkeypatch):
    keys = {jit.cache_key("rank")}
    for name, value in ("BOUNDSCHECK", 1), ("OPT", 0), ("DEBUGINFO_DEFAULT", 1):
        with monkeypatch.context() as patch:
            patch.setattr(config, name, value)
            keys.add(jit.cache_key("rank"))
    assert len(keys) == 4


def test_kernels_that_were_not_used_for_long_are_deleted(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEBASE_CACHE_DIR", str(tmp_path))
    old, recent, other = tmp_path / "rank-0", tmp_path / "rank-1", tmp_path / "forward-0"
    for folder in (old, recent, other):
        folder.mkdir()
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))
    new = jit._kernel_cache.__wrapped__("rank")
    assert {path.name for path in tmp_path.iterdir()} == {Path(new).name, "rank-1", "forward-0"}


KEPT = """
import sys
import tempfile
import numpy
tempfile.tempdir = sys.argv[1]
from tilebase._kernels.coded import decode
for _ in range(2):
    decode(numpy.array([0x3C00], dtype=numpy.uint16), one := numpy.zeros(1))
    assert one[0] == 1
print(*decode._cache_hits.values())
"""
"""A kernel is called; what is printed is how often it was found in the cache."""


def run_in_a_home_that_cannot_be_written(tmp_path):
    """What a process prints and says, its temporary files in tmp_path/shared."""
    (tmp_path / "file").touch()
    own = {"HOME": str(tmp_path / "file"), "TILEBASE_RUNS_DIR": str(tmp_path / "file")}
    rest = {name: text for name, text in os.environ.items() if name not in CACHES}
    done = subprocess.run(
        [sys.executable, "-c", KEPT, str(tmp_path / "shared")],
        env=rest | own, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip(), done.stderr


CACHES = ("TILEBASE_CACHE_DIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """The folder of temporary files of a user whose home cannot be written."""
    for name in CACHES:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "file").touch()
    (tmp_path / "shared").mkdir(mode=0o700)
    for name in ("HOME", "TILEBASE_RUNS_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "shared"))
    return tmp_path / "shared"


@pytest.mark.parametrize(
    ("variable", "folder"),
    [
        ("TILEBASE_CACHE_DIR", "chosen"),
        ("NUMBA_CACHE_DIR", "chosen/tilebase"),
        ("XDG_CACHE_HOME", "chosen/tilebase"),
        ("TILEBASE_RUNS_DIR", "chosen/.kernels"),
        ("UNKNOWN", f"shared/tilebase-{os.getuid()}"),
    ],
)
def test_kernels_are_kept_where_a_variable_says(variable, folder, shared, monkeypatch):
    monkeypatch.setenv(variable, str(shared.parent / "chosen"))
    assert paths.cache_folder() == shared.parent / folder
    assert Path(jit._kernel_cache.__wrapped__("bits")).parent == shared.parent / folder


def test_kernels_are_kept_where_the_home_cannot_be_written(tmp_path):
    (tmp_path / "shared").mkdir(mode=0o700)
    assert run_in_a_home_that_cannot_be_written(tmp_path) == ("", "")
    assert run_in_a_home_that_cannot_be_written(tmp_path) == ("1", "")
    assert list((tmp_path / f"shared/tilebase-{os.getuid()}").glob("coded-*"))


def test_where_nothing_can_be_written_a_line_names_the_variable(tmp_path):
    (tmp_path / "shared").touch()
    counts, said = run_in_a_home_that_cannot_be_written(tmp_path)
    assert not counts
    assert said.count("\n") == 1
    assert "set TILEBASE_CACHE_DIR to a folder" in said


def link(folder):
    folder.rename(folder.parent / "else")
    folder.symlink_to("else")


SPOILT = {
    "others write": lambda folder: folder.chmod(0o770),
    "others rename": lambda folder: folder.parent.chmod(0o777),
    "others own": lambda folder: os.chown(folder, 12345, -1),
    "a link": link,
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_folder_that_others_can_change_is_not_used(how, shared):
    """What lies in the folder is executed."""
    private = shared / f"tilebase-{os.getuid()}"
    assert paths.cache_folder() == private
    assert private.stat().st_mode & 0o777 == 0o700
    shared.chmod(0o1777)  # as folders of temporary files are
    assert paths.cache_folder() == private
    if how == "others own" and os.getuid():
        pytest.skip("only root can give a folder away")
    SPOILT[how](private)
    assert paths.cache_folder() is None


class Inner(NamedTuple):
    table: Any
    pair: tuple[Any, Any]


class Outer(NamedTuple):
    number: Any
    yes: bool
    inner: Inner
    bytes: Any


def make_outer(yes=True):
    pair = np.arange(3, dtype=np.uint32), np.arange(5, 9, dtype=np.uint32)
    inner = Inner(np.arange(12, dtype=np.uint64).reshape(3, 4), pair)
    return Outer(np.uint64(1 << 63), yes, inner, np.array([7, 8], dtype=np.uint8))


@jit.kernel()
def read_fields(outer, rows, out):
    inner = outer.inner
    out[0] = outer.number
    out[1] = outer.yes
    for k in range(2):
        out[2 + k] = inner.pair[k][1]
    out[4] = inner.table[rows, 2]
    out[5] = len(outer.bytes) + outer.bytes[1] + inner.table.shape[1]


@pytest.mark.parametrize("yes", [True, False])
def test_fields_of_a_packed_tuple_are_those_of_the_tuple(yes):
    outer, plain, read = make_outer(yes), np.zeros(6, dtype=np.uint64), np.zeros(6, dtype=np.uint64)
    read_fields(outer, 2, plain)
    read_fields(packed(outer), 2, read)
    assert read.tolist() == plain.tolist() == [1 << 63, yes, 1, 6, 10, 14]
    assert packed(outer).inner.table is outer.inner.table


def test_packed_tuples_of_a_class_have_one_type():
    packed(make_outer())
    with pytest.raises(TypeError, match="a Outer has fields of other types"):
        packed(make_outer()._replace(number=1.5))


@jit.linked(types.int64, types.int64)
def double(number):
    return 2 * number


@jit.linked(types.int64, types.int64, optional=True)
def treble(number):
    return 3 * number


@jit.kernel()
def call_both(number):
    return treble(number) if number < 0 else double(number)


def test_a_linked_kernel_is_made_when_it_is_called_and_wanted():
    assert call_both(3) == 6
    assert list(double._kernel.overloads) == [(types.int64,)]
    assert not treble._kernel.overloads
    treble.want()
    assert call_both(-3) == -9
    assert treble(5) == 15


def test_a_kernel_of_the_cache_is_compiled_into_another():
    words, out = np.arange(0, 50, 10, dtype=np.uint64), np.zeros(64, dtype=np.uint8)
    assert codec.encode_deltas(words, out) == 4  # now the cache has it
    kept = jit.kernel()(codec.encode_deltas.py_func)
    twice = jit.kernel()(lambda words, out: 2 * kept(words, out))
    assert twice(words, out) == 8
    (loaded,) = kept.overloads.values()
    assert isinstance(loaded.library, machine_code.MachineCode)
    assert kept(words, out) == 4


@pytest.fixture
def counting(tmp_path, monkeypatch):
    """Make a kernel, kept below tmp_path, and call it; return how often it was found there, and its code."""
    monkeypatch.setattr(jit, "_kernel_cache", lambda _module: str(tmp_path))

    def count():
        kept = jit.kernel()(codec.encode_deltas.py_func)
        assert kept(np.arange(0, 50, 10, dtype=np.uint64), np.zeros(64, dtype=np.uint8)) == 4
        (compiled,) = kept.overloads.values()
        return sum(kept._cache_hits.values()), compiled.library

    return count


def test_a_release_of_numba_that_was_not_tried_loads_kernels_its_own_way(counting, monkeypatch):
    """Private parts of Numba are used under the releases with which they were tried, and this is one."""
    first, last = machine_code.TRIED
    assert first <= numba.version_info.short <= last
    monkeypatch.setattr(machine_code, "TRIED", (first, (0, 0)))
    for number in range(2):
        hits, library = counting()
        assert hits == number
        assert not isinstance(library, machine_code.MachineCode)


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["flipped", "cut off", "empty"])
def test_a_damaged_file_of_the_cache_is_compiled_anew(damage, suffix, counting, tmp_path):
    assert [counting()[0] for _ in range(2)] == [0, 1]
    (file,) = tmp_path.rglob(f"*{suffix}")
    data = file.read_bytes()
    begin = data[: len(data) // 2]
    behind = bytes([data[len(begin)] ^ 4]) + data[len(begin) + 1 :]
    file.write_bytes({"flipped": begin + behind, "cut off": begin, "empty": b""}[damage])
    assert [counting()[0] for _ in range(2)] == [0, 1]


def test_a_kernel_that_cannot_be_kept_works_all_the_same(counting, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", no_space)
    assert counting()[0] == 0
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size]


def test_what_another_process_compiles_is_waited_for_unless_it_hangs(counting, tmp_path, monkeypatch):
    other = os.open(tmp_path / "encode_deltas.lock", os.O_RDWR | os.O_CREAT)
    assert system.lock(other)
    with monkeypatch.context() as patch:
        patch.setattr(machine_code, "PATIENCE", 0)
        assert counting()[0] == 0
    monkeypatch.setattr(machine_code.time, "sleep", lambda _: os.close(other))
    assert counting()[0] == 1
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(other)


def test_rules_want_the_slides_that_they_need(monkeypatch):
    def wanted(game):
        for kernel in kinds:
            monkeypatch.setattr(kernel, "_wanted", False)
        CompiledGame(game)
        return [kernel._wanted for kernel in kinds]

    kinds = boards.slide_by_pair, boards.slide_by_table, boards.slide_by_cell
    assert wanted(Game("3x3", 64)) == [True, False, False]
    assert wanted(Game("2x5", 32)) == [True, True, False]
    assert wanted(Game("2x8", 8)) == [True, False, True]
    kinds = boards.fold_bytes, boards.fold_square, boards.fold_rectangle
    assert wanted(Game("4x4", 64)) == [True, False, False]
    assert wanted(Game("2x2", 16)) == wanted(Game("3x3", 64, walls=[4])) == [False, True, False]
    assert wanted(Game("3x4", 64)) == [False, False, True]
    assert wanted(Game("4x4", 64, walls=[0])) == wanted(Game("2x8", 8)) == [False, False, False]


@pytest.mark.parametrize(
    ("shape", "goal"),
    [
        ("4x4", 32), ("4x4", 32768),  # the highest bit is set by a tile of 256
        ("3x3", 1024), ("2x2", 16), ("3x4", 64), ("4x3", 64), ("2x3", 16), ("3x5", 64), ("4x5", 16),
        ("2x2x2", 16), ("1x4", 16),
    ],
)  # fmt: skip
def test_each_way_to_make_images_finds_the_canonical_board(shape, goal):
    """On 600 random boards, and on every board with one tile and no other."""
    game = Game(shape, goal)
    cells = np.random.default_rng(5).integers(0, game.x, (600, game.cells))
    single = np.eye(game.cells, dtype=cells.dtype) * (game.x - 1)
    boards_of = [tuple(map(int, board)) for board in [*cells, *single]]
    keys = np.array([game.pack(board) for board in boards_of], dtype=np.uint64)
    least = [game.pack(canonical(game, board)) for board in boards_of]
    assert CompiledGame(game).canonical(keys).tolist() == least
    assert CompiledGame(game).canonical(keys[:3]).tolist() == least[:3]


def test_who_waits_is_told_that_kernels_are_compiled():
    said = []
    add = jit.kernel()(lambda a, b: a + b)
    with watching_compiler(said.append):
        add(1, 2)
        add(3, 4)
        add(1.0, 2)
    add(1, 2.0)
    assert said == [f"compiling kernels, once on this machine: {k} done" for k in (0, 1)]


def test_without_a_terminal_one_line_says_after_ten_seconds_that_kernels_are_compiled(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr("tilebase.cli.progress.time.monotonic", lambda: now[0])
    add = jit.kernel()(lambda a, b: a + b)
    with counting_progress():
        for now[0], a, b in ((9.0, 1, 2), (10.0, 1.0, 2), (69.0, 1, 2.0), (71.0, 1.0, 2.0)):
            add(a, b)
    assert capsys.readouterr().err.splitlines() == [
        "compiling kernels, once on this machine: 1 done",
        "compiling kernels, once on this machine: 3 done",
        "ended after 1:11",
    ]
