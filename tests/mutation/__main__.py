"""The command behind ``scripts/mutate``."""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from facts import facts
from mutation.changes import Change, changes_in, sample
from mutation.judge import ROOT, Judge, SpoiltError, Verdict, copy_kernels, copy_tree, digest, load

FOLDER = Path(__file__).parent
JOURNAL = ROOT / "mutants.jsonl"
GOAL = 0.97


def rows(name: str) -> list[dict[str, str]]:
    """The rows of one of the two tables; lines that begin with # are comments."""
    return [dict(one.row) for one in facts(name, FOLDER)]


def sources() -> dict[str, list[str]]:
    """The tests of each file that is changed, as sources.tsv says: arguments of pytest."""
    return {row["file"]: row["tests"].split("; ") for row in rows("sources.tsv") if row["tests"]}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The arguments of the command."""
    parser = argparse.ArgumentParser(
        prog="scripts/mutate",
        description="Change one operator, comparison or constant of a sampled line, run the tests that "
        "should notice, and print which changes lived; exit status 1 if one did.",
    )
    parser.add_argument("--seed", type=int, default=0, help="which lines and changes are drawn")
    parser.add_argument("--count", type=int, default=200, help="how many lines")
    parser.add_argument("--only", default="", metavar="PATH", help="only files whose path contains this")
    parser.add_argument("--jobs", type=int, default=1, help="how many at the same time")
    parser.add_argument("--list", action="store_true", help="print the changes, and judge none")
    return parser.parse_args(arguments)


class Journal:
    """What was judged, a line of JSON each.

    A change that died stays dead while its file is unchanged.  One that lived is judged again once its file
    or the tests that should notice it have changed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[tuple[Any, ...], dict[str, Any]] = {}
        for line in path.read_text("utf-8").splitlines() if path.exists() else []:
            with contextlib.suppress(ValueError):  # a line that a kill cut short
                record = json.loads(line)
                self._found[tuple(record["key"])] = record

    def get(self, key: tuple[Any, ...]) -> dict[str, Any] | None:
        """The last record of a key."""
        return self._found.get(key)

    def add(self, key: tuple[Any, ...], **record: Any) -> None:
        """Write a record."""
        self._found[key] = {"key": key, **record}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self._found[key]) + "\n")


class Session:
    """One run of the command: what is to be judged on this tree, and what is known of it."""

    def __init__(self, options: argparse.Namespace, tree: Path) -> None:
        self.tree, self.journal = tree, Journal(JOURNAL)
        self.tests = {file: tests for file, tests in sources().items() if options.only in file}
        if not self.tests:
            sys.exit(f"mutate: no file of tests/mutation/sources.tsv has {options.only!r} in its path")
        found = [
            change for file in self.tests for change in changes_in(file, (tree / file).read_text("utf-8"))
        ]
        self.changes = sample(found, options.count, options.seed)
        self.reasons = {
            (row["file"], row["function"], row["line"], row["becomes"]): row["why"]
            for row in rows("equivalent.tsv")
        }

    def keys(self, change: Change) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Under which keys the journal holds that a change died, and that it lived."""
        died = (*change.key, change.start, digest(self.tree, change.file))
        files = [test.split()[0].split("::")[0] for test in self.tests[change.file]]
        return died, (*died, *self.tests[change.file], digest(self.tree, *files))

    def known(self, change: Change) -> str | None:
        """What is known of a change: equivalent, died or lived."""
        if change.key in self.reasons:
            return "equivalent"
        died, lived = map(self.journal.get, self.keys(change))
        return "died" if died and died["by"] else "lived" if lived else None

    def add(self, verdict: Verdict) -> str:
        """Write down what was judged."""
        died, lived = self.keys(verdict.change)
        key = died if verdict.by else lived
        self.journal.add(key, by=verdict.by, cpu=round(verdict.cpu, 1), confirmed=not verdict.by)
        return f"died by {verdict.by}" if verdict.by else "lived"

    def unconfirmed(self) -> dict[str, list[tuple[Any, ...]]]:
        """Tests that noticed changes and have not been run without them yet, with the keys in the journal."""
        found: dict[str, list[tuple[Any, ...]]] = {}
        for change in self.changes:
            key, _ = self.keys(change)
            record = self.journal.get(key)
            if record and record["by"] and not record["confirmed"]:
                found.setdefault(record["by"], []).append(key)
        return found

    def confirm(self, failing: set[str]) -> None:
        """Write down which tests were right to fail; the others judged nothing."""
        for test, keys in self.unconfirmed().items():
            for key in keys:
                self.journal.add(key, by=None if test in failing else test, confirmed=True)


_judge: Judge  # of this process; there is one for each job


def _begin(folder: str) -> None:
    global _judge
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    signal.signal(signal.SIGTERM, _end)
    tree = Path(tempfile.mkdtemp(dir=folder)) / "tree"
    copy_tree(tree)
    copy_kernels(tree.parent / "kernels")
    _judge = Judge(tree)


def _end(*_: object) -> None:
    _judge.kill()
    os._exit(1)


def _one(change: Change, tests: list[str]) -> Verdict:
    return _judge.judge(change, tests)


def _failing(tests: list[str]) -> set[str]:
    return _judge.failing(tests)


def judge_all(session: Session, changes: list[Change], pool: ProcessPoolExecutor) -> None:
    """Judge changes, then run the tests that noticed them without any change."""
    began = time.monotonic()
    futures = [pool.submit(_one, change, session.tests[change.file]) for change in changes]
    for number, future in enumerate(as_completed(futures), 1):
        verdict = future.result()
        state = session.add(verdict)
        left = (time.monotonic() - began) / number * (len(changes) - number) / 60
        place = f"[{number}/{len(changes)}, {left:.0f} min left]"
        say(f"{place} {verdict.change}  {state} ({verdict.cpu:.1f} CPU s)")
    noticed = list(session.unconfirmed())
    say(f"running the {len(noticed)} tests that noticed something without any change")
    failing = pool.submit(_failing, noticed).result()
    session.confirm(failing)
    if failing:
        raise SpoiltError(f"fails without any change, and judged nothing: {', '.join(sorted(failing))}")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def report(session: Session, seed: int) -> int:
    """Print the changes that lived, and how many there are of each; return the exit status."""
    states = {change: session.known(change) for change in session.changes}
    lived = [change for change, state in states.items() if state == "lived"]
    died = sum(state == "died" for state in states.values())
    equivalent = sum(state == "equivalent" for state in states.values())
    if lived:
        say("lived: each needs a test, or a line of tests/mutation/equivalent.tsv with a reason")
    for change in lived:
        say(f"  {change.file}:{change.number} {change.function}\n    - {change.line}\n    + {change.becomes}")
    share = died / max(1, died + len(lived))
    say(
        f"seed {seed}: {len(states)} changes: {died} died, {len(lived)} lived, {equivalent} equivalent: "
        f"{share:.1%} of those that matter died (goal {GOAL:.0%})"
    )
    return 1 if lived else 0


def run(options: argparse.Namespace, folder: str) -> int:
    """Judge what is not known yet, and report."""
    copy_tree(Path(folder) / "read")
    session = Session(options, Path(folder) / "read")
    if options.list:
        for change in session.changes:
            say(str(change))
        return 0
    todo = [change for change in session.changes if session.known(change) is None]
    todo.sort(key=lambda change: "_kernels/" in change.file)  # what must be compiled comes last
    say(f"{len(session.changes)} changes of seed {options.seed}; {len(todo)} are still to be judged")
    if todo or session.unconfirmed():
        load()
        fork = multiprocessing.get_context("fork")
        pool = ProcessPoolExecutor(options.jobs, fork, initializer=_begin, initargs=(folder,))
        try:
            judge_all(session, todo, pool)
        except KeyboardInterrupt:
            for process in multiprocessing.active_children():
                process.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
    return report(session, options.seed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge changes; return 1 if one lived, 2 if the tests cannot judge, 130 after Ctrl-C."""
    options = parse(arguments)
    with tempfile.TemporaryDirectory(prefix="tilebase-mutants-", ignore_cleanup_errors=True) as folder:
        try:
            return run(options, folder)
        except SpoiltError as error:
            sys.stderr.write(f"mutate: {error}\n")
            return 2
        except KeyboardInterrupt:
            sys.stderr.write("mutate: stopped; the same command goes on\n")
            return 130
        except BrokenPipeError:  # the reader of a list has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1


if __name__ == "__main__":
    sys.exit(main())
