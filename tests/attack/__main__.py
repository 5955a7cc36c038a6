"""The command behind ``scripts/attack``."""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from attack.case import Failure, one_case

ATTACKS = ("games", "calls", "hostile", "commands", "certificates")
HANGS = 900
"""Seconds after which a case counts as one that never ends: its place in the code is printed."""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The arguments of the command."""
    parser = argparse.ArgumentParser(
        prog="scripts/attack",
        description="Attack tilebase with random questions and hostile files; exit status 1 if a case "
        "finds something.",
    )
    parser.add_argument(
        "what", nargs="*", metavar="WHAT", help=f"{', '.join(ATTACKS)}; all of them if left out"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case; the next ones count on")
    parser.add_argument("--count", type=int, default=100, help="cases of each attack")
    parser.add_argument("--minutes", type=float, help="stop each attack after this time")
    parser.add_argument("--report", type=Path, default=Path("attack-report.txt"), help="file for failures")
    options = parser.parse_args(arguments)
    unknown = set(options.what) - set(ATTACKS)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: no such attack; there are {', '.join(ATTACKS)}")
    return options


def run_case(name: str, seed: int) -> tuple[list[Failure], Counter[str]]:
    """One case of an attack."""
    module = importlib.import_module(f"attack.{name}")
    with one_case(name, seed) as case:
        module.attack(case)
        return case.failures, case.done


def run_attack(name: str, options: argparse.Namespace) -> list[Failure]:
    """All cases of an attack; failures are printed and written as they are found."""
    end = time.monotonic() + (60 * options.minutes if options.minutes else float("inf"))
    found: list[Failure] = []
    done: Counter[str] = Counter()
    cases = 0
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() > end:
            break
        faulthandler.dump_traceback_later(HANGS, exit=True)
        failures, tried = run_case(name, seed)
        faulthandler.cancel_dump_traceback_later()
        cases, done, found = cases + 1, done + tried, found + failures
        for failure in failures:
            report(f"{failure}\n", options.report)
    tried_text = ", ".join(f"{count:,} {what}" for what, count in sorted(done.items()))
    sys.stdout.write(
        f"{name}: {cases} cases from seed {options.seed} ({tried_text}): {len(found)} failures\n"
    )
    for kind, count in Counter(failure.kind for failure in found).most_common():
        sys.stdout.write(f"  {count:5} {kind}\n")
    sys.stdout.flush()
    return found


def report(text: str, path: Path) -> None:
    """Print a failure, and add it to the report at once: a later case may crash."""
    sys.stdout.write(text)
    sys.stdout.flush()
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run attacks; return 1 if any found something."""
    options = parse(arguments)
    failures = [failure for name in options.what or ATTACKS for failure in run_attack(name, options)]
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
