"""The slow tests, one after the other, each in a process of its own: ``scripts/test --slow``.

It says first how long the tests take that are still to do.  As each ends, it prints the result, seconds,
CPU seconds and peak memory.  What has passed is written to a journal that is named by the sources: so a
run goes on where it was stopped, and a change of the sources begins anew.  A test that was stopped begins
again, but those that solve for long keep their runs in a folder (the fixture `lasting`) and go on there.

    scripts/test --slow              all that have not passed on these sources
    scripts/test --slow WORD ...     only those in whose name all words occur
    scripts/test --slow --list       what is to do, what has passed
    scripts/test --slow --record     write the seconds of what has passed to tests/slow.tsv
"""

from __future__ import annotations

import csv
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "tests" / "slow.tsv"
KEPT = Path(os.environ.get("TILEBASE_SLOW_DIR", ROOT / ".slow"))
"""The journals, and the folders of tests that were stopped."""


@dataclass(frozen=True)
class Result:
    """One test that has ended."""

    test: str  # its name, as pytest says it
    result: str  # "passed" or "failed"
    seconds: float  # as a clock on the wall measures it
    cpu_seconds: float  # user and system together, of the process and its children
    peak_mb: int  # resident memory of the largest process
    ended: str  # when, in UTC


def sources() -> str:
    """A digest of all that decides what a slow test does."""
    digest = hashlib.sha256()
    for folder in ("src", "tests", "docs"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".tsv", ".md", ".js", ".html") and path != MEASURED:
                digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def read(path: Path) -> dict[str, Result]:
    """The last result of each test in a table; empty if there is no table."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        results = [
            Result(
                row["test"], row["result"], float(row["seconds"]), float(row["cpu_seconds"]),
                int(row["peak_mb"]), row["ended"],
            )
            for row in rows
        ]  # fmt: skip
    return {one.test: one for one in results}


def write(path: Path, results: list[Result], mode: str) -> None:
    """Write or append results, with the names of the columns first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    begins = mode == "w" or not path.exists()
    with path.open(mode, encoding="utf-8") as file:
        if begins:
            file.write("\t".join(field.name for field in fields(Result)) + "\n")
        for one in results:
            file.write("\t".join(map(str, asdict(one).values())) + "\n")


def pytest_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]


def collect() -> list[str]:
    """The names of all slow tests, in the order of their files."""
    done = subprocess.run(
        pytest_command("--collect-only", "-m", "slow"), cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("tests/") and "::" in line]
    if done.returncode or not found:
        sys.exit(f"test: the slow tests cannot be listed\n{done.stdout}{done.stderr}")
    return found


def run(test: str) -> Result:
    """Run one test; what it prints comes out if it fails.  Ctrl-C ends it, and nothing is written down."""
    folder = KEPT / "runs" / hashlib.sha256(test.encode()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with subprocess.Popen(
        # The name of a parameter may hold blanks and brackets, so the whole name is one argument.
        pytest_command("-m", "slow", "--basetemp", str(folder / "tmp"), test),
        cwd=ROOT, env=os.environ | {"TILEBASE_LASTING": str(folder / "lasting")},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            printed = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    passed = process.returncode == 0
    if not passed:
        print(printed)
    shutil.rmtree(folder, ignore_errors=True)
    return Result(
        test,
        "passed" if passed else "failed",
        round(time.monotonic() - began, 1),
        round(usage.ru_utime + usage.ru_stime, 1),
        usage.ru_maxrss // 1000,
        time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
    )


def main(arguments: list[str]) -> None:
    words = [word for word in arguments if not word.startswith("--")]
    if unknown := set(arguments) - set(words) - {"--list", "--record"}:
        sys.exit(f"test: --slow does not know {' '.join(sorted(unknown))}: see tests/slow.py")
    measured = read(MEASURED)
    journal = KEPT / f"{sources()}.tsv"
    known = read(journal)
    tests = [test for test in collect() if all(word in test for word in words)]
    passed = [test for test in tests if test in known and known[test].result == "passed"]
    if "--record" in arguments:
        merged = measured | {test: known[test] for test in passed}
        write(MEASURED, [merged[test] for test in collect() if test in merged], "w")
        print(f"test: {len(passed)} measured in {MEASURED.relative_to(ROOT)}")
        return
    to_do = [test for test in tests if test not in passed]
    seconds = sum(measured[test].cpu_seconds for test in to_do if test in measured)
    memory = max((measured[test].peak_mb for test in to_do if test in measured), default=0)
    unmeasured = sum(test not in measured for test in to_do)
    print(
        f"test: {len(to_do)} slow tests to do, {len(passed)} have passed on these sources; about "
        f"{seconds / 60:.0f} CPU minutes and {memory / 1000:.1f} GB of memory"
        + (f", and {unmeasured} that were never measured" if unmeasured else ""),
        flush=True,
    )
    if "--list" in arguments:
        for test in tests:
            print("passed " if test in passed else "to do  ", test)
        return
    failed = 0
    for number, test in enumerate(to_do, 1):
        expected = f", about {measured[test].cpu_seconds:,.0f} CPU seconds" if test in measured else ""
        print(f"[{number}/{len(to_do)}] {test}{expected}", flush=True)
        one = run(test)
        write(journal, [one], "a")
        failed += one.result == "failed"
        print(
            f"    {one.result}: {one.seconds:,.1f} s, {one.cpu_seconds:,.1f} CPU s, {one.peak_mb:,} MB",
            flush=True,
        )
    print(f"{len(tests) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the running test ends with this process
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("test: stopped; the same command goes on")
