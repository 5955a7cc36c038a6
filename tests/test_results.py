"""Results as statements: every line of the fact files once, in its group, and files that commands wrote."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import runpy
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import tilebase.claims.results as found_results
from pages import ROOT, TABLES
from tilebase import Game, Interval, Lower, Rounded, Upper, __version__, formation, open_table
from tilebase.claims import facts
from tilebase.claims.results import (
    GROUPS,
    LOWER,
    better_chance,
    find_before,
    find_result,
    find_results,
    results,
)
from tilebase.cli import main
from tilebase.cli.cite import _cited
from tilebase.errors import CorruptError, UsageError
from tilebase.runtime.rows import latex_escaped


def test_every_line_is_a_result_with_a_name_of_its_own() -> None:
    found = results()
    lines = [*facts.read_claims(), *facts.read_facts(facts.NEW), *facts.read_facts(facts.OPEN)]
    assert len(found) == len(lines)
    assert len({one.name for one in found}) == len(found)
    assert {one.group for one in found} == set(GROUPS)
    assert all(find_result(one.name) == one for one in found)


def test_what_was_computed_is_told_from_what_was_published() -> None:
    for one in results():
        assert bool(one.command) == (one.group in ("recomputed", "improved", "new"))
        assert bool(one.published) == (one.group in ("published", "recomputed", "improved"))
        if one.command:
            assert one.command.startswith("tilebase ")
            assert re.fullmatch(r"0\.1\.0\.dev\d+\+g[0-9a-f]{8}(\.dirty)?", one.version)
            assert re.fullmatch(r"20\d\d-\d\d-\d\d", one.date)


def test_what_was_not_computed_says_what_it_would_take() -> None:
    for one in results():
        assert bool(one.needs) == (one.group in ("published", "open")), one.name
    needed = [row for row in facts.read_facts(facts.NEEDED) if row["file"] != "pages"]
    keys = {(row["file"], row["board"], row["question"]) for row in needed}
    assert keys <= {claim.key for claim in facts.read_claims()} | {
        (facts.OPEN, row["board"], row["question"]) for row in facts.read_facts(facts.OPEN)
    }
    limits = "1024-512-64-16-256-256-128-16-16-16-32-16-16-16-16-16"
    name = f"win-probability-bounds-4x4-to-2048-within-{limits}-uint32"
    said = find_result(name).text()
    assert "It would take: two cores: 2.98 days with 17.2 GB of memory (at least 9.64 GB)" in said
    assert said.endswith("--objective lower:uint32 --disk 50GB`.")


SAID = {
    "guaranteed_max_tile.tsv": {"256": "at least"},
    "checkerboards.tsv": {"157": "at most"},
    "symbolic_solving.tsv": {"1800": "about", "20": "about", "2100": "about"},
    "state_counts.tsv": {"80000": "about", "1.7": "about", "1.5": "about"},
    "other_sources.tsv": {"5470": "about", "50724.26": "about"},
}
"""By file and number, what the sources say other than that a quantity is equal to it: figure 3 has a question
mark beside 256, 157 is the length of a game, and appendix A.2 is called approximate, A.3 proved."""
PROVED = {"lower": "at least", "upper": "at most", "interval": "from", "found": "at most"}


def said(fact: facts.Claim) -> str:
    """A published number as its source states it, without what the program makes of its columns."""
    number = fact.columns["value"]
    if fact.file == "win_probability_bounds.tsv":
        return f"{'at least' if fact.columns['value_type'] == 'uint32' else 'about'} {number}"
    return f"{SAID.get(fact.file, {}).get(number, '')} {number}".lstrip()


def test_every_line_keeps_quantity_relation_and_value_in_all_forms(printed) -> None:
    """256 can be forced on 4x4, at least: it was cited as the largest tile that can be."""
    every = results()
    wanted = Counter((fact.board, said(fact), fact.source) for fact in facts.read_claims())
    assert Counter((one.board, one.published, one.source) for one in every if one.published) == wanted
    kinds = Counter(
        (row["board"], row["value"], PROVED.get(row["kind"], "")) for row in facts.read_facts(facts.NEW)
    )
    assert Counter((one.board, one.value, one.relation) for one in every if one.group == "new") == kinds
    listed = {row["result"]: row["value"] for row in csv.DictReader(io.StringIO(printed("cite -f csv")))}
    page = TABLES["filled"]((ROOT / "docs" / "results.md").read_text("utf-8")).splitlines()
    rows = {line.rsplit("<br>`", 1)[1].removesuffix("` |"): line for line in page if line.endswith("` |")}
    for one in every:
        relation = PROVED.get(one.kind, "")
        if one.kind == "published":
            relation = one.published.removesuffix(one.value).strip()
        stated = f"{relation} {one.value}".lstrip()
        proved = stated.replace("from ", "at least ").replace(" to ", " and at most ")
        assert one.question in one.statement
        is_proved = f"to be {proved} (" in one.statement
        assert f"{one.question}: {stated}" in one.statement or is_proved or one.group == "open"
        told = one.as_dict()
        assert (told["question"], told["relation"], told["value"]) == (one.question, relation, one.value)
        assert told["published"] == one.published
        assert latex_escaped(one.question) in one.bibtex()
        for text in filter(None, (one.published, stated if one.group != "open" else "")):
            assert latex_escaped(text) in one.bibtex() or latex_escaped(proved) in one.bibtex()
            assert text in rows[one.name]
        compared = f"; published: {one.published} (" in one.statement
        assert compared or one.kind == "published" or not one.published
        assert listed[one.name] == stated


TILE = "largest tile that can be forced"
WINNING = "probability to win"
LIMITED = Game("3x4", 512, limits="256,128,64,64/64,64,64,64/64,64,64,64", start="empty", pattern="lemma1")
WON = Game("3x3", 512)
COMPARED: list[tuple[Game, str, dict[str, str]]] = [
    (
        Game("4x4", start="empty", limits=32768), TILE,
        {"at least 128": "", "at least 256": "recomputed", "256": "improved", "at least 512": "improved",
         "128": "differs"},
    ),
    (
        Game("3x5", start="empty", limits=32768), TILE,
        {"at least 64": "", "at least 256": "differs", "128": "recomputed"},
    ),
    (WON, WINNING, {"0.736774177023": "recomputed", "0.75": "differs", "more than 1 - 1.6e-13": ""}),
    (WON, LOWER, {"at least 0.7367": "recomputed", "at least 0.5": "", "at least 0.8": "differs"}),
    (LIMITED, LOWER, {"at least 0.999997816": "improved", "at least 0.9": ""}),
]  # fmt: skip


@pytest.mark.parametrize(("game", "question", "verdicts"), COMPARED, ids=str)
def test_a_value_is_compared_with_what_was_published(game, question, verdicts) -> None:
    for value, verdict in verdicts.items():
        assert find_before(game, {question: value})[0][2] == verdict, value


FOUND: dict[str, set[str]] = {
    "5468.49": {"3x3 without a goal"},  # published, and computed with more digits
    "5468.487": {"3x3 without a goal"},  # rounded
    "5,470": {"3x3 without a goal"},
    "1152817492752": {"3x4 without a goal"},
    "50724.26": {"3x4 without a goal, from two 2s"},
    "0.011337880": {"3x3 to 1024"},  # of an interval
    "7.517e12": {"4x4 to 2048"},
    "25,179,014": {"3x3 to 1024"},
    "0.74": {"3x3 to 512"},
    "256 prob 3x4": {"3x4 to 256"},
    "64,64,64,32/64,... 4x4": {"4x4 to 128 within 64,64,64,32/64,64,64,32/64,32,32,32/32,32,32,32"},
    "new-3x4-to-256-prob": {"3x4 to 256"},
    "64-lose-3x3-optimal": {"3x3 to 64"},
    "yamashita score": {"3x3 without a goal", "3x4 without a goal, from two 2s"},
}
"""By words or a number, the boards of the results that they find."""


@pytest.mark.parametrize("words", FOUND)
def test_words_and_roundings_find_results(words: str) -> None:
    assert {one.board for one in find_results(*words.split())} == FOUND[words]


def test_a_checksum_holds_no_number() -> None:
    """5363e4575461, a part of one, took seconds to read; 1e99999999 would take hours."""
    assert found_results._numbers("8a55998f1b5ff2e7a5363e4575461cf and 1.5e3") == {Fraction(1500)}


QUICK = ("free10", "solve 4x4 128", "reachable", "count 4x4 2048")
"""Words of commands that are planned within seconds; an index of the others takes half a minute."""


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(one, marks=[] if any(word in one for word in QUICK) else [pytest.mark.all], id=one[9:60])
        for one in sorted({row["command"] for row in facts.read_facts(facts.NEEDED) if row["boards"]})
    ],
)
def test_what_it_would_take_is_what_plan_says(command: str) -> None:
    """`scripts/make-facts plan` writes it again, if this fails after a change of the estimates."""
    rows = [row for row in facts.read_facts(facts.NEEDED) if row["command"] == command]
    told = runpy.run_path(str(ROOT / "scripts" / "make-facts"))["planned"](command)
    assert [row | told for row in rows] == rows


CODE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
MEASURED = ("51 min, one thread, busy | 2.4 hours, one thread, busy",)
"""What pages say of runs that were made."""


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_no_page_repeats_a_plan_by_hand(page: Path) -> None:
    """A plan stood as 5.49, 10.3 and 12.2 days on three pages; now pages have rows made from `NEEDED`."""
    text = CODE.sub("", page.read_text("utf-8"))
    for run in MEASURED:
        text = text.replace(run, "")
    assert not re.findall(r".*\d (?:days|hours|h|years)\b.*|.*\d [TP]B\b.*", text)


def test_an_improved_bound_is_larger_than_the_published_one() -> None:
    lower = [one for one in results() if one.group == "improved" and one.kind == "lower"]
    assert lower
    assert all(Fraction(one.value) > Fraction(one.published.removeprefix("at least ")) for one in lower)


def test_every_row_of_errata_and_runs_is_on_a_page() -> None:
    """In a table, or in a section that a page names."""
    pages = [
        (ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("errata", "performance", "results")
    ]
    text = "".join(pages)
    for source in {row["source"] for row in facts.read_facts(facts.ERRATA)}:
        assert f"rows: errata/{source} " in text
    for section in {row["section"] for row in facts.read_facts(facts.RUNS)}:
        assert f"rows: runs/{section} " in text or f"`{section}`" in text, section


@pytest.mark.parametrize("file", [facts.ERRATA, facts.RUNS, facts.NEW, "records.tsv"])
def test_rows_have_a_cell_for_each_column_and_a_version_that_recorded_them(file: str) -> None:
    lines = (ROOT / "src" / "tilebase" / "facts" / file).read_text("utf-8").splitlines()
    heads, *rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert max(map(len, rows)) <= len(heads)
    for row in rows:
        found = dict(zip(heads, row, strict=False))
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", found["date"])
        assert re.fullmatch(r"0\.1\.0\.dev\d+\+g[0-9a-f]{8}", found["version"])


def test_a_recorded_result_says_what_its_run_took() -> None:
    one = find_result("new-formation-ll")
    assert one.size == "12,995,882,712 states, 6,847,204,380 afterstates"
    took = "51 min, 2125 CPU s, below 1 GB of memory, 25.8 GB on disk, busy, half of it paused"
    assert f"(2 virtual cores, 24 GiB, {took})." in one.text()
    assert "no number of this one was found. Note: 3.8 bytes a position;" in one.text()


def test_cite_lists_what_is_open(printed) -> None:
    assert printed("cite --group open").count("open") >= 2 * len(facts.read_facts(facts.OPEN))


RANDOM = "from two random tiles, spawns of 2 with probability 9/10 and 4 with probability 1/10"


with Path(__file__).with_name("cited.tsv").open(encoding="utf-8") as rows:
    CITED = list(csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("row", CITED, ids=[row["command"] for row in CITED])
def test_a_file_that_a_command_wrote_is_a_result(row, tmp_path, capsys, printed) -> None:
    """It says who published the same.  Between the parts of a statement stands `` ... ``."""
    file, undecided = tmp_path / "r.json", "--budget" in row["command"]
    work = ["--work", str(tmp_path / "w")] if undecided else []
    assert main([*row["command"].split(), *work, "--record", str(file), "-f", "json", "-q"]) == undecided
    told = json.loads(file.read_text("utf-8"))
    made = (told[0] if isinstance(told, list) else told)["run"]
    assert made["cpu_seconds"] > 0
    assert "processors" in made["machine"]
    capsys.readouterr()
    out = printed(f"cite {file}")
    begin, *parts = row["statement"].replace("RANDOM", RANDOM).split(" ... ")
    assert out.startswith(f"2048 on {begin}")
    assert all(part in out for part in parts)
    assert ("Published: " in out) is ("Published: " in row["statement"])
    assert find_result(str(file)).group == row["group"]
    took = f"{made['machine']}, {made['cpu_seconds']:,} processor seconds"
    assert f"tilebase {__version__}, {made['date']} ({took})." in out


def test_a_policy_is_cited_with_the_game_of_its_table(tmp_path, printed) -> None:
    table, file = tmp_path / "t", tmp_path / "r.json"
    assert main(["solve", "2x2", "16", "-o", str(table), "-q"]) == 0
    for words, said in (
        (
            ["random"],
            r"probability to win, by the policy random: 0\.\d+ \(rounded\); probability to win, under ",
        ),
        (["--games", "100"], r"by the policy \S+, which plays by win: 0\.9\S+ .*\(mean of 100 games\)"),
        (
            ["--distribution", "tile"],
            r"mean of the tile at the end, by the policy \S+, which plays by win: 15\.\d+ \(rounded\)",
        ),
    ):
        printed("evaluate", str(table), *words, "--record", str(file), "-q")
        out = printed(f"cite {file}")
        assert out.startswith(f"2048 on 2x2, to 16 {RANDOM}: ")
        assert re.search(said, out)


def test_a_file_of_several_results_names_each_board_and_question_once(tmp_path: Path) -> None:
    parts, file = [tmp_path / "1.json", tmp_path / "2.json"], tmp_path / "r.json"
    for shape, part in zip(("1x3", "2x2"), parts, strict=True):
        assert main(["force", "largest", shape, "--record", str(part), "-q"]) == 0
    file.write_text(json.dumps([json.loads(part.read_text("utf-8")) for part in parts]), "utf-8")
    found = find_result(str(file))
    assert (found.board, found.question) == ("1x3, 2x2", "largest tile that can be forced")
    assert (found.value, found.group) == ("4, 8", "new")
    assert found.statement.count("2048 on ") == 2


def test_a_record_has_the_checksum_of_its_layers(tmp_path: Path) -> None:
    for at, words in enumerate(("count 2x2 32", "solve 2x2 32 --objective lower,upper")):
        file = tmp_path / f"{at}.json"
        assert main([*words.split(), "--record", str(file), "-q"]) == 0
        told = json.loads(file.read_text("utf-8"))
        rows = [{name: row[name] for name in sorted(row) if name != "mean"} for row in told["layers"]]
        text = json.dumps(rows, separators=(",", ":"))
        assert told["checksum"] == hashlib.sha256(text.encode()).hexdigest()
        assert find_result(str(file)).text().endswith(f"SHA-256 of the layers: {told['checksum']}.")


def test_a_file_of_a_table_has_the_checksums_of_its_layers(tmp_path: Path) -> None:
    table, file = tmp_path / "t", tmp_path / "r.json"
    assert main(["solve", "2x2", "16", "-o", str(table), "--record", str(file), "-q"]) == 0
    with open_table(table) as opened:
        layer = opened.prober.layer(8)
    assert json.loads(file.read_text("utf-8"))["checksums"]["win"]["8"] == layer.record.text


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "[3]", '{"game": 3}', '{"claim": {}, "command": 1}', '{"claim": [], "run": 3}']
)
def test_another_file_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text(text)
    with pytest.raises((CorruptError, UsageError)):
        find_result(str(file))


def test_a_name_that_is_not_unique_says_what_there_is() -> None:
    with pytest.raises(UsageError, match=r"results are found by 'new-': name one, such as new-3x3"):
        find_result("new-")


def test_better_recorded_bounds_are_named() -> None:
    limited = Game("3x4", 256, limits="128,64,32,32/32,32,32,32/32,32,32,32", pattern="lemma1")
    line = "recorded for 3x4 to 256, probability to win: from 0.999999999999995 to 1; "
    line += "tilebase cite new-3x4-to-256-probability-to-win\n"
    assert better_chance(limited) == line
    assert better_chance(limited, Lower(Fraction(4503599621707003, 1 << 52))) == line
    assert better_chance(limited, Rounded(0.9, "float64", 1e-12)) == line
    assert better_chance(limited, Lower(Fraction(1) - Fraction(1, 1 << 52))) == ""
    assert better_chance(Game("3x4", 256), Rounded(0.9, "float64", 1e-12)) == "", (
        "a value is not bounded by what is recorded"
    )
    assert better_chance(Game("3x4", 256, start="empty")) == "", "another game"
    assert better_chance(Game("3x4", 512), Upper(Fraction(1))) != ""
    assert better_chance(formation("LL").game(512), Upper(Fraction(1))) == "", (
        "only a lower bound is recorded"
    )
    assert "at least 0.999974801240023" in better_chance(formation("LL").game(512))
    wide = Interval(Fraction(0), Fraction(1))
    assert better_chance(Game("3x3", 1024), wide) != ""
    assert better_chance(Game("3x3")) == ""


def test_a_result_keeps_its_command_and_version(printed) -> None:
    one = find_result("new-3x3-to-64-probability-to-lose-under")
    told = json.loads(printed(f"cite {one.name} -f json"))
    assert (told["command"], told["version"]) == (one.command, one.version)
    (row,) = csv.DictReader(io.StringIO(printed(f"cite {one.name} -f csv")))
    assert (row["command"], row["version"]) == (one.command, one.version)


@pytest.mark.parametrize(
    ("command", "planned"),
    [
        ("tilebase solve 3x3 64 --objective loss", True),
        ("tilebase solve exact 3x3 64 --objective loss ", False),
        ("tilebase count 4x4 64 --up-to 260", True),
        ("tilebase count 4x4 64 --keep states -o t && python examples/one_move_ahead.py t 260 2048", False),
        ("tilebase force 2x7 128", True),
        ("tilebase force --formation 442 16", True),
        ("tilebase force largest 2x7", False),
        ("tilebase force starts 3x3 32", False),
        ("tilebase lemma 2x3 64", False),
        ("", False),
    ],
)
def test_a_plan_is_named_only_where_there_is_one(command: str, planned: bool) -> None:
    one = replace(find_result("new-3x3-to-64-probability-to-lose-under"), command=command)
    assert ("\ntilebase plan" in _cited(one)) is planned


def test_a_published_result_is_credited_to_its_source() -> None:
    sources = {facts.Cited.of(one.source) for one in results() if one.kind == "published"}
    assert {(one.author, one.year) for one in sources} == {
        ("Slizkov", "2023"), ("Lees-Miller", "2017"), ("Edixhoven", "2019"), ("Kaneko and Yamashita", "2025"),
    }  # fmt: skip
    (bound,) = find_results("0.99969486")
    assert bound.bibtex().startswith(
        "@misc{tilebase-win-probability-bounds-4x4-to-2048-within-1024-512-64-16-256-256-128-16-16-16-32-16-16-16"
        "-16-16-uint32,\n  author = {{Slizkov}},\n  title = {{Computational bounds for the 2048 game}},\n"
        "  year = {2023},\n  note = {arXiv:2303.07266, appendices A.2"
    )
    assert f"0.99969486. Not computed by tilebase {__version__}" in bound.bibtex()
    assert [one.name for one in results() if ".)." in one.statement] == []


def test_types_of_results_are_true() -> None:
    for one in results():
        if one.kind == "exact":
            assert not re.fullmatch(r"\d+\.\d+(e-\d+)?", one.value), one.name
        measured = re.search("seconds|nodes|bytes per", one.question) is not None
        assert (one.kind == "measured") == (one.group == "recomputed" and measured)
    (small,) = find_results("256,128,64,32,32/64,64,32,32,32/64,32,32,32,32", "float16")
    assert (small.value, small.published) == ("1", "about 0.997")
    assert small.kind == "rounded at each slide in float16, differs"
    fewer = find_result("checkerboards-10x10-drops-to-an-end-position")
    assert (fewer.value, fewer.kind, fewer.group) == ("156", "found", "improved")


def test_words_list_the_results_that_have_them_all(printed) -> None:
    found = find_results("3x4", "256")
    assert {one.name for one in found} >= {"new-3x4-to-256-probability-to-win"}
    assert all("3x4" in one.board.split() and "256" in one.board.split() for one in found)
    assert find_results("256,128,64,64/64,64,64,64/64,64,64,64", "uint32")[0].kind == "lower"
    assert len(find_results("new-3x4")) > 1
    assert len(find_results("winnable")) > 5
    listed = printed("cite 3x4 256 --group new")
    assert "new-3x4-to-256-probability-to-win" in listed
    assert "open" not in listed
    assert "least 0.957944887 (in" in printed("cite 3x4 2048 probability").partition("@")[0]
    assert printed("cite probability 3x4 256").startswith("2048 on 3x4 to 256 from two random tiles, spawns")
    assert "tilebase cite RESULT cites one, also as BibTeX" in printed("cite")
    assert printed("cite tilebase").startswith("@misc{tilebase,\n  author = {{tilebase contributors}},\n")


def test_recorded_bounds_say_of_which_game() -> None:
    (limited,) = find_results("3x4", "512", "256,128,16,16/64,64,32,16/16,16,16,16", "uint32")
    assert "from the empty board, a spawn first, spawns of 2" in limited.statement


def test_bounds_that_hold_for_every_probability_have_no_sentence(tmp_path, printed) -> None:
    file = tmp_path / "bounds.json"
    text = printed(f"solve 2x2 8 --objective lower,upper -q --record {file}")
    assert "at most 1\n" in text
    assert "no strategy" not in text
    (lower,) = re.findall(r"at least (\S+)\n", text)
    assert f"which is {lower} (proved" in text
    said = find_result(str(file)).statement
    assert "there is a strategy" in said
    assert "no strategy" not in said


def test_what_is_recorded_is_told_before_a_long_solve(monkeypatch, capsys) -> None:
    monkeypatch.setattr("tilebase.costs.estimate.WORTH_TELLING", 0.0)
    monkeypatch.setattr("tilebase.cli.solve._recorded", lambda *_: "\nrecorded for it; tilebase cite it\n")
    assert main(["solve", "2x2", "8", "--objective", "lower"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith("expected: solving 2x2, to 8")
    assert told[2] == "recorded for it; tilebase cite it"


def test_every_published_line_is_in_one_section_of_the_first_page() -> None:
    lines_of = TABLES["lines_of"]
    rows = facts.read_facts(facts.SECTIONS)
    found = Counter(one.name for row in rows if row["files"] for one in lines_of(row))
    assert found == Counter(one.name for one in results() if one.published)
    assert all(bool(row["files"]) != bool(row["state"]) for row in rows)
    assert all(row["command"].startswith("tilebase ") for row in rows)
