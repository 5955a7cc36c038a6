"""One case of an attack: its seed, its folder, and what was found."""

from __future__ import annotations

import random
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tilebase.errors import TilebaseError

T = TypeVar("T")
REFUSED = object()
"""What `Case.call` returns where a call was refused or failed."""


@dataclass(frozen=True)
class Failure:
    """Something that is not as promised."""

    attack: str
    seed: int  # ``scripts/attack ATTACK --seed SEED --count 1`` is the same case again
    kind: str  # a few words by which failures are counted
    what: str  # what was expected and what was found
    lines: str  # Python lines or a command that show it

    def __str__(self) -> str:
        again = f"scripts/attack {self.attack} --seed {self.seed} --count 1"
        return f"[{self.attack}] {self.kind}\n  {self.what}\n  again: {again}\n  shown by:\n    " + (
            self.lines.replace("\n", "\n    ")
        )


@dataclass
class Case:
    """What an attack is given: everything random comes from `rng`, all files go to `folder`."""

    attack: str
    seed: int
    folder: Path
    rng: random.Random
    failures: list[Failure] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)  # what was tried, by name

    def fail(self, kind: str, what: str, lines: str) -> None:
        """Add a failure; the same kind is kept three times at most, since one defect shows often."""
        if sum(failure.kind == kind for failure in self.failures) < 3:
            self.failures.append(Failure(self.attack, self.seed, kind, what, lines))

    def expect(self, holds: bool, kind: str, what: str, lines: str) -> bool:
        """Fail unless `holds`; return it."""
        if not holds:
            self.fail(kind, what, lines)
        return holds

    def call(self, kind: str, lines: str, function: Callable[..., T], *args: Any, **options: Any) -> T | Any:
        """The result of a call that ought to succeed; `REFUSED` and a failure where it does not."""
        try:
            return function(*args, **options)
        except TilebaseError as error:
            self.fail(f"{kind}: refused", f"{type(error).__name__}: {error}", lines)
        except Exception:
            self.fail(f"{kind}: traceback", traceback.format_exc(limit=-4).strip(), lines)
        return REFUSED


@contextmanager
def one_case(attack: str, seed: int) -> Iterator[Case]:
    """A case with an empty folder, which is deleted at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f"attack-{attack}-"))
    try:
        yield Case(attack, seed, folder, random.Random(f"{attack} {seed}"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
