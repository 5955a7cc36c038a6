"""The command line: what it prints, and how it refuses."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib import import_module
from inspect import signature
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from cyclopts import App
from cyclopts.completion import detect
from cyclopts.completion.detect import ShellDetectionError

import cached_oracle as oracle
from conformance.games import GAMES as GAMES_OF_ENGINES
from stopping import raise_at
from stored import chunks_of, layers_of, zipped
from tilebase import Board, __version__, evaluate, explain, force, open_table, solve
from tilebase.cli import main, output
from tilebase.cli.commands import NAMES, app, load_commands
from tilebase.cli.options import GameOptions, make_game
from tilebase.cli.output import MOST_ROWS
from tilebase.cli.usage import EXAMPLES
from tilebase.counting.counts import FIELDS
from tilebase.game.formations import formation
from tilebase.game.game import Game
from tilebase.game.names import game_text
from tilebase.policies import compare, judge
from tilebase.runtime import paths
from tilebase.sparse.forward import ForwardPass
from transcripts import function_of

with Path(__file__).with_name("answers.tsv").open(encoding="utf-8") as file:
    ANSWERS = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("row", ANSWERS, ids=[row["command"] for row in ANSWERS])
def test_a_command_says(row, solved, folder, capsys) -> None:
    """Each of ``answers.tsv`` prints its words in this order; `` ... `` stands for what is left out.

    In the folder is a table ``t``.
    """
    if " t" in row["command"]:
        shutil.copytree(solved(Game("2x2", 32), "win,lower,upper,score"), folder / "t")
    assert main(shlex.split(row["command"])) == int(row["status"])
    printed = capsys.readouterr()
    words = ".*".join(map(re.escape, row["words"].split(" ... ")))
    assert re.search(words, printed.out + printed.err, re.DOTALL)


def test_count_writes_what_it_prints(tmp_path, capsys):
    for suffix in ("csv", "json", "parquet"):
        record = ["--record", str(tmp_path / f"a.{suffix}")]
        assert main(["count", "2x2", "32", "-q", "--by", "sum,max", *record]) == 0
    rows = pq.read_table(tmp_path / "a.parquet").to_pylist()
    document = json.loads((tmp_path / "a.json").read_text())
    origin = {"game": "2x2 32", "command": "tilebase count 2x2 32 --by sum,max", "version": __version__}
    assert [layer | origin for layer in document["layers"]] == rows
    assert sum(row["live"] for row in rows) == document["totals"]["live"] == 57
    assert len((tmp_path / "a.csv").read_text().splitlines()) == len(rows) + 1
    printed = capsys.readouterr().out
    assert printed == 3 * printed[: len(printed) // 3]  # what is recorded is printed, too
    assert printed.splitlines()[0].split()[:4] == ["sum", "max", "states", "live"]


def test_no_goal_is_needed_where_no_tile_is_too_large_for_a_cell(printed):
    small = "--up-to 8 -q --threads 1"
    assert printed(f"count 4x4 {small}") == printed(f"count 4x4 65536 {small}")


def test_many_rows_are_recorded_and_not_printed_too(tmp_path, printed):
    file = tmp_path / "a.csv"
    said = printed(f"count 3x3 64 --by sum -q --record {file}")
    rows = len(file.read_text().splitlines()) - 1
    assert rows > MOST_ROWS
    assert "states, up to symmetry" in said
    assert said.endswith(f"\n{rows:,} rows are in {file}\n")
    assert len(printed("count 3x3 64 --by sum -q").splitlines()) == rows + 1, "a heading"


@pytest.mark.parametrize(
    ("suffix", "second"),
    [("md", "|---|---:|"), ("tex", r" & 2x2, to 8 \\"), ("txt", "states, up to symmetry 16")],
)
def test_a_record_is_a_table_for_readers(suffix, second, tmp_path):
    record = tmp_path / f"a.{suffix}"
    assert main(["count", "2x2", "8", "-q", "--record", str(record)]) == 0
    assert second.split() == record.read_text().splitlines()[1].split()


def test_a_folder_is_kept_verified_and_exported(tmp_path, capsys, printed):
    run = tmp_path / "run"
    assert main(["count", "2x3", "16", "-q", "-o", str(run), "--keep", "states"]) == 0
    assert main(["verify", str(run)]) == 0
    export = ["export", "boards", str(run), "--sum", "20", "-o", str(tmp_path / "20.parquet")]
    for kind in ("states", "afterstates"):
        assert main([*export, *(["--states"] if kind == "states" else [])]) == 0
        with layers_of(run / kind) as layers:
            boards = [key for keys in layers.layer(20) for key in keys.tolist()]
        assert pq.read_table(tmp_path / "20.parquet")["key"].to_pylist() == boards
    chunks_of(run / "states", 20).flip(-1, 1)
    said = printed(f"verify {run}", status=1)
    assert said.count("damaged in chunk 0") == said.count("damaged") - 1 == 1
    assert main([*export, "--states"]) == 1
    assert "states, sum 20, is damaged in chunk 0" in capsys.readouterr().err


def test_a_layer_is_named_by_its_folder_and_sum(tmp_path, printed):
    """Of tables, in folders and in zip files, and of runs."""
    game, out = Game("2x2", 16), ["-o", str(tmp_path / "x.parquet")]
    solve(game, table=tmp_path / "t", threads=1)
    assert main(["count", "2x2", "16", "-q", "-o", str(tmp_path / "run"), "--keep", "afterstates"]) == 0
    with layers_of(tmp_path / "t" / "values" / "win") as layers:
        size = layers.records[10].boards
    zipped(tmp_path / "t", tmp_path / "u.zip")
    for place in ("t", "u.zip", "run"):
        command = ["export", "boards", str(tmp_path / place), *out]
        assert printed(*command, "--sum", "10") == f"{out[1]}: {size} boards up to symmetry\n"


def test_values_are_exported_for_data_frames(solved, tmp_path, printed):
    game, cells = Game("2x3", 64), "cells are exponents: 8 for the tile 256"
    command = f"export values {solved(game)}"
    said = printed(f"{command} -o {tmp_path / 'a.parquet'}")
    rows = (read := pq.read_table(tmp_path / "a.parquet")).to_pylist()
    assert f"tilebase {command}" in read.schema.metadata[b"tilebase"].decode()
    assert f": {len(rows):,} afterstates up to symmetry, which polars.read_parquet, or pandas.r" in said
    assert said.endswith(f"; {cells}; --states writes states, and what each slide is worth\n")
    assert len(rows) == 4_375
    with open_table(solved(game)) as table:
        for row in rows[::500]:
            board = Board(game, tuple(row["cells"]))
            assert (board.sum, board.key, board.text) == (row["sum"], row["key"], row["board"])
            assert float(table.probe_after(board).value) == row["v"]
    said = printed(f"{command} --states --sum 30 -o {tmp_path / 'a.csv'}")
    assert said.endswith(f" with dtype_backend='pyarrow', reads; {cells}\n")
    states = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert states
    for row in states:
        slides = [float(row[f"q_{name}"]) for name in game.directions if row[f"q_{name}"]]
        assert float(row["v"]) == max(slides, default=0.0)
        assert not row["v"].isdecimal()  # or a reader would take all values for whole numbers
        assert game.parse(row["board"]) == tuple(json.loads(row["cells"]))


def test_the_default_folder_goes_when_all_is_done(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TILEBASE_RUNS_DIR", str(tmp_path))
    with monkeypatch.context() as patch:
        raise_at(patch, ForwardPass, "_layer", (14,))
        assert main(["count", "2x2", "32", "-q"]) == 130
    assert len(list(tmp_path.iterdir())) == 1
    assert "the same command continues" in capsys.readouterr().err
    assert main(["count", "2x2", "32", "-q"]) == 0
    assert list(tmp_path.iterdir()) == []
    with monkeypatch.context() as patch:
        raise_at(patch, ForwardPass, "_layer", (14,))
        assert main(["solve", "exact", "2x2", "32", "-q"]) == 130
    assert capsys.readouterr().err == "tilebase: stopped\n"


def test_a_closed_output_is_one_sentence():
    command = f"{shlex.quote(sys.executable)} -m tilebase count 2x2 8 >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == "tilebase: cannot write the output: standard output is closed"


def test_closed_error_and_input_streams_are_as_good_as_empty_ones():
    """Files do not get the numbers of closed streams, and what is meant for them is printed nowhere."""
    command = f"{shlex.quote(sys.executable)} -m tilebase count 2x2 8 --log - <&-"
    with_errors, without = (
        subprocess.run(["sh", "-c", command + more], capture_output=True, text=True, check=True)
        for more in ("", " 2>&-")
    )
    assert "ended after" in with_errors.stderr
    assert without.stderr == ""
    assert without.stdout == with_errors.stdout


def test_what_an_encoding_lacks_is_written_in_plain_characters():
    text, written = "┌──┐ │ 2 │ 3 ± 1 × 5 µs ≤ 7 \udcff 盤\n", []
    for encoding in ("ascii", "latin-1", "utf-8"):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
        output.replace_unprintable(stream, None)
        print(text, end="", file=stream, flush=True)
        written.append(stream.buffer.getvalue().decode(encoding))
    assert written == [
        "+--+ | 2 | 3 +- 1 x 5 us <= 7 ? ?\n",
        "+--+ | 2 | 3 ± 1 × 5 µs <= 7 ? ?\n",
        text.replace("\udcff", "?"),
    ]


def test_a_board_is_printed_in_latin_1(tmp_path):
    assert main(["solve", "2x2", "8", "-q", "-o", str(tmp_path)]) == 0
    command = [sys.executable, "-m", "tilebase", "probe", str(tmp_path), "2,2/0,0"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert b"+-----+-----+" in done.stdout


def test_a_game_without_an_input_is_refused(monkeypatch, refused):
    monkeypatch.setattr(sys, "stdin", None)
    refused(["play", "2x2", "8"], 2, "standard input is closed")


@pytest.mark.parametrize("command", ["count", "solve", "force"])
def test_without_a_home_a_run_needs_a_folder(command, tmp_path, monkeypatch, refused):
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("TILEBASE_RUNS_DIR", "TILEBASE_CACHE_DIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    monkeypatch.setattr(paths, "_is_private", lambda _: False)
    assert paths.cache_folder() is None
    refused([command, "2x2", "8", "-q"], 1, "there is no home folder")
    folder = ["--work" if command == "force" else "-o", str(tmp_path / "run")]
    assert main([command, "2x2", "8", "-q", *folder]) == 0


def test_a_home_that_cannot_be_written_is_refused_with_what_to_do(tmp_path, monkeypatch, refused):
    monkeypatch.setenv("TILEBASE_RUNS_DIR", str(tmp_path / "file" / "runs"))
    (tmp_path / "file").touch()
    sentence = f"runs: Not a directory; {paths.OTHER_RUNS}"
    assert "--work" in sentence
    refused(["count", "2x2", "8", "-q"], 1, sentence)


def test_the_help_says_what_each_command_does(printed):
    lines = printed("--help").splitlines()
    for name in NAMES:
        assert [line for line in lines if re.match(rf"│ {name} +\w", line)], name


def test_bare_tilebase_shows_examples_that_are_commands(capsys):
    assert main([]) == main(["--help"]) == 0
    printed = capsys.readouterr().out.splitlines()
    shown = [line for line in printed if line.startswith("tilebase ")]
    assert [line.split("  ")[0] for line in shown] == 2 * [command for command, _ in EXAMPLES]
    assert max(map(len, printed)) <= 80
    for command, _ in EXAMPLES:
        assert callable(function_of(shlex.split(command)[1:])), command


@pytest.mark.parametrize("command", ["count", "solve", "plan", "play", "export values"])
def test_the_help_names_shared_options_and_describes_them_on_request(command, printed):
    brief, short, full = (printed(f"{command} {flag}") for flag in ("--help", "-h", "--help-all"))
    assert brief == short
    assert len(brief.split()) < 500
    assert brief.endswith("--help-all describes these, too.\n")
    assert "standard error" in full
    assert "standard error" not in brief
    options = set(re.findall("^│ +[*A-Z ]*(--[a-z-]+)", full, re.MULTILINE))
    assert len(options) > 2
    assert all(re.search(rf"{one}\b", brief) for one in options)


@pytest.mark.parametrize(
    ("word", "found"),
    [
        *((field, field.replace("states", "state").split("_")) for field in FIELDS if field != "afterstates"),
        ("afterstates", ["afterstate"]),
        ("formations", ["formation"]),
        ("winning sets", ["winning set"]),
        ("losses", ["loss", "loss"]),
        ("masks", ["masks"]),
        ("v q_left", ["v", "q_left"]),
    ],
)
def test_explain_knows_the_rows_of_count_and_plurals(word, found):
    assert [one.word for one in explain(word)] == found


def test_explain_tells_the_words_that_it_knows(printed):
    assert "\nsurvival (objective): " in printed("explain undo survival lowr", status=2)


def test_a_word_without_a_meaning_of_its_own_finds_what_speaks_of_it() -> None:
    wanted = {"lemma1": "pattern", "two-tiles": "start", "undo": "play", "rules": "walls", "types": "bit"}
    assert all(found in [one.word for one in explain(word)] for word, found in wanted.items())


def test_a_table_for_papers_has_words_and_signs_that_latex_knows():
    rows = [{"sound": True, "value": "≈ 0 %"}, {"sound": False, "value": "≥ 1"}]
    assert "yes & $\\approx$ 0 \\% \\\\\nno & $\\geq$ 1 " in output.latex_text(rows)
    assert output.markdown_text(rows).splitlines()[1:3] == ["|---|---|", "| yes | ≈ 0 % |"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_completion_is_installed(shell, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ZSH_CUSTOM", raising=False)
    assert main(["--install-completion", "--shell", shell]) == 0
    scripts = [path for path in tmp_path.rglob("*tilebase*") if path.is_file()]
    assert len(scripts) == 1
    assert str(scripts[0]) in capsys.readouterr().out
    text = scripts[0].read_text()
    assert all(word in text for word in ("explain", "starts", "certificate", "minimal"))


def test_bash_completes_commands_and_options(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["--install-completion", "--shell", "bash"]) == 0
    (script,) = (path for path in tmp_path.rglob("tilebase") if path.is_file())

    def complete(*words: str) -> set[str]:
        line = (
            f"source {shlex.quote(str(script))}; COMP_WORDS=({shlex.join(words)}); "
            f"COMP_CWORD={len(words) - 1}; _tilebase; echo ${{COMPREPLY[*]}}"
        )
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    assert complete("tilebase", "p") == {"plan", "play", "probe"}
    assert complete("tilebase", "export", "") == {"boards", "data", "graph", "mdp", "page", "values"}
    assert complete("tilebase", "force", "3x4", "64", "--li") == {"--limits"}
    assert complete("tilebase", "bo") == set()


def test_a_shell_that_is_not_known_has_to_be_named(monkeypatch, capsys):
    def unknown() -> str:
        raise ShellDetectionError

    monkeypatch.setattr(detect, "detect_shell", unknown)
    assert main(["--install-completion"]) == 1
    assert "specify --shell" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "game"),
    [
        ("count 2x2 16 --spawn 0.2", Game("2x2", 16, spawn="0.2")),
        ("plan count 2x2 16", Game("2x2", 16)),
        ("solve 2x2 16", Game("2x2", 16)),
        ("force 2x2 8", Game("2x2", 8, start="empty")),
        ("force largest 2x2", None),
        ("force starts 2x2 8", Game("2x2", 8)),
        ("force diagrams 2x2 8 --spawns 2", Game("2x2", 8, start="empty", spawn=0)),
        ("limits 2x2 16 --start empty --boards 200", Game("2x2", 16, start="empty")),
        ("limits 2x2 8 --start empty --minimal", Game("2x2", 8, start="empty")),
        ("plan 2x2 16", Game("2x2", 16)),
        ("rank 2x2 16", Game("2x2", 16)),
        ("reach checkerboard 2x3 --deterministic", "2x3 --drops 2 --deterministic --convention rows"),
        ("reach board 2,2/0,0", "2x2 --drops 2,4"),
        ("reach fill 2x2", "2x2"),
    ],
    ids=str,
)
def test_rows_name_game_command_and_version(command, game, tmp_path, capsys, printed):
    words = command.split()
    more = ["-q"] * (words[0] not in ("plan", "rank") or words[1] == "count")
    assert main([*words, *more, "--record", str(tmp_path / "a.parquet")]) == 0
    can_be_cited = command.startswith(("force", "limits"))
    assert (f"(tilebase {__version__})" in capsys.readouterr().out) == can_be_cited
    text = game_text(game) if isinstance(game, Game) else game
    rows = list(
        csv.DictReader(io.StringIO(printed(*words, *more, "--record", str(tmp_path / "a.json"), "-f", "csv")))
    )
    for found in (rows, pq.read_table(tmp_path / "a.parquet").to_pylist()):
        assert found
        for row in found:
            named = (row.get("game"), row["command"], row["version"])
            assert named == (text, f"tilebase {command}", __version__)
    document = json.loads((tmp_path / "a.json").read_text())
    for one in document if isinstance(document, list) else [document]:
        assert (one["command"], one["version"]) == (f"tilebase {command}", __version__)
        if game is None:  # several goals of one board
            assert one["game"]["goal"] is None
        else:
            assert one["game"] == (json.loads(json.dumps(game.identity)) if isinstance(game, Game) else game)


def test_a_command_is_named_without_where_its_result_goes(tmp_path, printed):
    words = ["-f=json", "--by", "max", "-o", str(tmp_path / "work"), "-q", "--start", "2,0/0,2"]
    words += ["--log", str(tmp_path / "log")]
    assert (
        json.loads(printed("count", "2x2", "16", *words))["command"]
        == "tilebase count 2x2 16 --by max --start 2,0/0,2"
    )


GAMES = [
    *GAMES_OF_ENGINES,
    Game("2x3", pattern="pair", goal=32, spawn="1/3"),
    formation("LL").game(512),
    formation("442").game(64, spawn=0, horizon=120, at_least=True),
    formation("t").game(goal_sum=200),
    formation("3x3").game(128),
    formation("442").game(64).changed(start="2,2,0,0/0,0,0,0/0,0,x,x/x,x,x,x", unmergeable=range(10, 16)),
]


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_the_text_of_a_game_is_read_again(game):
    found = []
    app = App()

    @app.default
    def read(shape: str = "", goal: int | None = None, *, rules: GameOptions = GameOptions()):  # noqa: B008
        found.append(make_game(shape, goal, rules))

    app(shlex.split(game_text(game)), result_action="return_value")
    assert found == [game]


def test_commands_without_kernels_do_not_load_the_compiler(tmp_path):
    game = Game("2x2", 16)
    solve(game, table=tmp_path / "table")
    force(game, certificate=tmp_path / "proof")
    commands = [
        ["--help"], ["runs"], ["verify", "proof"], ["probe", "table", "2,2/0,0"],
        *([name, "--help"] for name in ("runs", "plan", "verify", "probe")),
    ]  # fmt: skip
    script = (
        "import sys\n"
        "from tilebase.cli import main\n"
        f"for command in {commands}:\n"
        "    if main(command) != 0 or {'numba', 'llvmlite'} & sys.modules.keys():\n"
        "        sys.exit(f'tilebase {command}')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr  # where a plan says, too, that the machine is busy


def test_kept_kernels_are_loaded_without_what_only_compiling_needs(tmp_path):
    command = ["solve", "2x2", "16", "--threads", "1", "-q", "-o"]
    assert main([*command, str(tmp_path / "first")]) == 0  # kernels are compiled and kept, if they were not
    script = (
        "import sys\n"
        "from tilebase.cli import main\n"
        f"assert main({command} + ['second']) == 0\n"
        "assert 'numba' in sys.modules and 'numba.np.arraymath' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("columns", ["0", "1", "2"])
def test_help_ends_in_the_narrowest_terminal(columns: str) -> None:
    words = ["solve", "--help"] if columns == "1" else []
    shown = subprocess.run(
        [sys.executable, "-m", "tilebase", *words], env=os.environ | {"COLUMNS": columns},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    assert "Usage: tilebase" in shown.stdout


def test_rules_stand_in_a_file_or_in_lines(tmp_path, printed):
    file = tmp_path / "rules.toml"
    file.write_text("walls = [0]  # a corner\nhorizon = 20\n")
    found = [
        json.loads(printed(f"count 3x3 16 -q -f json --rules '{rules}'"))
        for rules in (file, "walls = [0]; horizon = 20")
    ]
    assert found[0]["totals"] == found[1]["totals"]
    assert Game.from_identity(found[0]["game"]) == Game("3x3", 16, walls=[0], horizon=20)


def options_of(inner: App, words: tuple[str, ...] = ()) -> Iterator[tuple[str, list[str]]]:
    """Each command and its options, without those of every command."""
    if inner.default_command is not None:
        yield " ".join(words), [one.name for one in inner.assemble_argument_collection() if one.index is None
                                and one.parameter.parse is not False and not one.children]  # fmt: skip
    for name in inner:
        if not name.startswith("-"):
            yield from options_of(inner[name], (*words, name))


def test_no_command_has_more_than_eighteen_options() -> None:
    load_commands()
    found = dict(options_of(app))
    assert "--objective" in found["solve"]
    assert {name: len(options) for name, options in found.items() if len(options) > 18} == {}


@pytest.mark.parametrize(
    ("command", "function", "names"),
    [
        ("evaluate", "policies.evaluation.evaluate", "objective"),
        ("evaluate:AgentOptions", "policies.evaluation.evaluate", "states symmetry returns"),
        ("evaluate:SampleOptions", "policies.evaluation.evaluate", "games seed"),
        ("verify:DerivedOptions", "tables.verify.verify_table", "sample seed cluster"),
        ("serve", "web.app.serve", "objective"),
        ("serve:ServerOptions", "web.app.serve", "host port rate"),
        ("solve:values", "questions.solve.solve", "objective"),
        ("solve:EngineOptions", "questions.solve.solve", "space down_to cluster"),
        ("solve:TableOptions", "questions.solve.solve", "above"),
        ("count", "questions.count.count", "lookahead"),
        ("count:RunOptions", "questions.count.count", "keep up_to cluster"),
        ("force:EngineOptions", "questions.force.force", "engine again cluster"),
        ("limits", "questions.limits.search_limits", "boards"),
    ],
)
def test_options_default_to_what_the_function_does(command: str, function: str, names: str) -> None:
    """Commands write these numbers down again, since the modules of the functions load the compiler."""
    module, _, name = f"tilebase.{function}".rpartition(".")
    of, _, options = command.partition(":")
    asked = signature(getattr(import_module(f"tilebase.cli.{of}"), options or of)).parameters
    done = signature(getattr(import_module(module), name)).parameters
    for one in names.split():
        assert asked[one].default == done[one].default


SMALL = Game("2x2", 32)
VALUE = f"{float(oracle.values(SMALL).start):.12g}"


@pytest.fixture
def table(solved: Callable[..., Path], folder: Path) -> Path:
    """A table of 2x2 to 32 with an interval and a score, as ``t`` in the current folder."""
    return Path(shutil.copytree(solved(SMALL, "win,lower,upper,score"), folder / "t"))


def type_in(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_solve_by_sum(folder, printed):
    document = json.loads(printed("solve 2x2 32 -q --objective win,lower,upper -f json"))
    exact = oracle.values(SMALL)
    low, high = (Fraction(start["bound"]) for start in document["start"][1:])
    assert low <= exact.start <= high
    rows = [row for row in document["layers"] if row["objective"] == "win"]
    for row in rows:
        worths = [w for after, w in exact.afterstates.items() if SMALL.sum(after) == int(row["sum"])]
        assert int(row["positions"]) == len(worths)
        assert float(row["mean"]) == pytest.approx(float(sum(worths) / len(worths)), abs=1e-15)
    assert document["complete"]
    assert sum(int(row["positions"]) for row in rows) == len(exact.afterstates)
    rows = list(csv.reader(io.StringIO(printed("solve 2x2 32 -q -f csv"))))
    assert rows[0] == ["objective", "kind", "type", "value", "game", "command", "version"]
    assert rows[1][:3] == ["win", "rounded", "float64"]
    assert float(rows[1][3]) == pytest.approx(float(VALUE))


def test_probe_in_json(table, printed):
    with open_table(table) as opened:
        answer = opened.probe("2,0/0,4")
    document = json.loads(printed("probe t 1002 -f json"))
    assert (document.pop("version"), document.pop("command")) == (__version__, "tilebase probe t 1002")
    assert document == json.loads(json.dumps(answer.as_dict(spawns=True)))
    assert document["value"]["kind"] == "interval"


def test_play_by_hand(table, monkeypatch, printed):
    type_in(monkeypatch, "?", "h", "left", "sideways", "f", "u", "u", "v", "a", "n", "", "hint", "q", "left")
    out = printed("play t --start 0,2/0,4 --seed 1")
    assert "w a s d or the names of directions slide" in out
    assert "best: " in out
    assert "sideways is not allowed here; allowed: left" in out
    assert "back is not allowed here" in out
    assert "nothing to take back" in out


def test_play_to_a_win_and_back(table, monkeypatch, printed):
    type_in(monkeypatch, "up", "h", "left", "p", "undo", "p")
    out = printed("play t --start 16,16/0,2 --seed 1 --delay 0 --objective win")
    assert out.count("won after 1 slide") >= 1
    type_in(monkeypatch, "left", "h", "up", "p", "undo", "p")
    out = printed("play t --start 16,16/0,2 --seed 1 --delay 0 --objective win")
    assert "the table does not know" in out
    assert "allowed: none: u takes a slide back, n starts again" in out
    assert out.count("won after 1 slide") >= 3


def test_the_table_plays(table, printed):
    first = printed("play t --auto --delay 0 --seed 1")
    assert first == printed("play t --auto --delay 0 --seed 1")
    assert first != printed("play t --auto --delay 0 --seed 2")
    assert "no slide is left after" in first or "won after" in first


def test_play_where_the_table_ends(folder, printed, monkeypatch):
    solve(Game("2x2", 32, start="16,8/4,0"), table=folder / "t")
    assert "the table does not hold this position" in printed("play t --start 0,2/2,0 --auto", status=1)
    type_in(monkeypatch, "h", "p", "left", "q")
    assert "the table does not know" in printed("play t --start 0,2/2,0")


@pytest.mark.parametrize(
    ("goal", "answer", "end"), [(16, "yes", "won after"), (32, "no", "no slide is left")]
)
def test_an_adversary_prevents_what_is_not_forced_and_nothing_else(solved, printed, goal, answer, end):
    table = solved(Game("2x3", goal), "guaranteed")
    for seed in range(3):
        out = printed(f"play {table} --adversary --auto --delay 0 --seed {seed}")
        assert f"whether a win can be forced: {answer}" in out
        assert end in out


def test_evaluate(table, folder, printed):
    (folder / "leftward.py").write_text("def left(board):\n    return next(iter(board.slides()))\n")
    assert "live states reached, without symmetry" in printed("evaluate t leftward:left -q")
    assert "regret" in printed("evaluate t greedy -q --record found.csv")
    assert (folder / "found.csv").read_text().splitlines()[1].startswith("greedy,")


def test_verify_writes_rows(table, folder, printed):
    (row,) = json.loads(printed("verify t -q -f json --record v.csv"))
    assert (row["what"], row["sound"], row["layers"], row["values"]) == ("t", True, 16, 180)
    assert row["problems"] == []
    assert row["command"] == "tilebase verify t"
    (folder / "many").mkdir()
    shutil.copytree(table, folder / "many" / "a")
    shutil.copytree(table, folder / "many" / "b")
    (folder / "many" / "c").mkdir()
    chunks_of(folder / "many/b/values/win", 20).flip(20, 1)
    (folder / "many/c/manifest.json").write_text("{}")
    lines = list(csv.DictReader(io.StringIO(printed("verify many -q --record v.json -f csv", status=1))))
    assert [line["sound"] for line in lines] == ["True", "False", "False"]
    assert [line["what"] for line in lines] == ["many/a", "many/b", "many/c"]
    assert "sum 20, is damaged in chunk 0" in lines[1]["problems"]
    assert [len(row["problems"]) for row in json.loads((folder / "v.json").read_text())] == [0, 1, 1]
    assert main(["count", "2x2", "16", "-o", "run", "-q"]) == 0
    assert printed("verify run -q --record v.txt") == (folder / "v.txt").read_text() == "run: sound\n"


def test_a_full_disk_behind_standard_output():
    command = [sys.executable, "-m", "tilebase", "rank", "2x2", "32", "-f", "json"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "tilebase: cannot write the output: No space left on device\n"


@pytest.fixture(scope="session")
def almost_won(tmp_path_factory: pytest.TempPathFactory, solved: Callable[..., Path]) -> Path:
    """A folder with tables of 3x3 to 64, which is lost with a probability of 7e-18, and a game on it."""
    folder = tmp_path_factory.mktemp("almost")
    shutil.copytree(solved(Game("3x3", 64)), folder / "win")
    shutil.copytree(solved(Game("3x3", 64), "win,loss"), folder / "both")
    (folder / "game.txt").write_text("2,2,0/0,0,0/0,0,0\n4,0,0/0,2,0/0,0,0\n0,0,0/0,2,0/4,2,0\n")
    return folder


UNCERTAIN = re.compile(r"(^|(?<!≈)[ >])(1|0|1\.0|0\.0|100(\.0+)? ?%|0(\.0+)? ?%)(?! - )([ <(]|$)")


@pytest.mark.parametrize("table", ["win", "both"])
@pytest.mark.parametrize(
    "command",
    [
        "probe TABLE", "probe TABLE 2,2,0/0,0,0/0,0,0", "review TABLE game.txt", "evaluate TABLE random",
        "evaluate TABLE greedy", "evaluate TABLE TABLE", "evaluate TABLE --games 100",
        "evaluate TABLE TABLE --distribution tile,length --resolution 10 --meets 2,2,0/0,0,0/0,0,0",
        "evaluate TABLE TABLE --symmetry check", "evaluate TABLE random --symmetry canonical",
        "solve 3x3 64 -o TABLE", "thin TABLE --visited 0.01 -o small-TABLE",
    ],
)  # fmt: skip
def test_nothing_uncertain_is_printed_as_certain(almost_won, monkeypatch, capsys, table, command) -> None:
    """The probability to win is 1 - 7e-18, so no 1 and no 0 stands for a probability; counts are others."""
    monkeypatch.chdir(almost_won)
    quiet = ["-q"] * (command.split()[0] in ("evaluate", "solve"))
    assert main([*command.replace("TABLE", table).split(), *quiet]) == 0
    certain = "1 in each game; to 1;in positions;z  ;mistakes;judged;no mistake;in a row;lost ;worst mistake"
    first = {}
    for line in capsys.readouterr().out.splitlines():
        name = line.partition(" ")[0]
        if name in ("tile", "length") and first.setdefault(name, line) == line:
            line = line.removesuffix(" 1")  # every game has at least the least value
        if not line.startswith(("│", "   ")) and not any(word in line for word in certain.split(";")):
            assert not UNCERTAIN.search(line), line


def test_nothing_uncertain_is_shown_as_certain_in_python(almost_won: Path) -> None:
    for table in (almost_won / "win", almost_won / "both"):
        judged, found = judge(table, "greedy"), evaluate(table, "greedy")
        texts = [judged._repr_html_(), repr(judged), found._repr_html_(), repr(found)]
        compared = compare(table, {"best": table})
        texts += [compared._repr_html_(), repr(compared)]
        with open_table(table) as opened:
            answer = opened.probe("2,2,0/0,0,0/0,0,0", "win")
            texts += [opened._repr_html_(), answer._repr_html_(), repr(answer)]
        for text in texts:
            assert not re.search(r"(win|optimum|value:?) 1\b(?! -)|<td>[01]</td>", text), text
