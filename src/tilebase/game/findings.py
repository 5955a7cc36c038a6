"""What a result found: the question, the answer and its type.  What is printed follows from these.

A result of a question derives from `Reported` and says in `asked` what it found::

    @dataclass(frozen=True, repr=False)  # `Reported` has the repr
    class Forced(Reported):
        facts = ("game", "forced", "engine", "positions", "seconds")

        game: Game
        ...

        def asked(self) -> tuple[Finding, ...]:
            goal = "whether the goal can be forced"
            return (Finding(title_of(self.game), goal, *VERDICTS[self.forced], sentence="2048 on ..."),)

Then its sentence (`statement`) is the same in the terminal and in the JSON document, where `tilebase cite`
reads it.  The document (`as_dict`), the row of a table (`row`) and the repr need no code of their own.
"""

from __future__ import annotations

import hashlib
import math
import shlex
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

from tilebase._version import version
from tilebase.errors import readable
from tilebase.game.game import Game
from tilebase.game.names import game_text
from tilebase.runtime.documents import to_json
from tilebase.runtime.measured import COMMAND, run_facts
from tilebase.runtime.storage import write_whole

VERDICTS = {True: ("yes", "verdict"), False: ("no", "verdict"), None: ("undecided", "unknown")}
"""What is said of a question that is decided or not, and the type of that: the end of a `Finding`."""


@dataclass(frozen=True)
class Finding:
    """One answer of a result."""

    board: str  # what is played, as `title_of` names a game
    quantity: str  # what was asked
    value: str  # the answer as text
    # The type of the answer: exact, rounded (with a float other than float64), lower, upper, interval,
    # verdict, found, sampled or unknown.
    kind: str
    rules: str = ""  # how play begins and what is spawned, with a blank in front; empty where `board` says it
    sentence: str = ""  # the answer with its full stop, if a quantity and a value do not say it well


class Reported(ABC):
    """A result that a command prints and records, of which `tilebase cite` reads the record."""

    # Names of the fields and properties that the document holds, in order; empty: all fields.
    facts: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def asked(self) -> tuple[Finding, ...]:
        """Return what was found, the answer to the question first."""

    @property
    def statement(self) -> str:
        """What was found, in sentences."""
        return statement_of(self.asked())

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values: the sentence, its parts as the ``claim``, and the `facts`."""
        names = self.facts or tuple(one.name for one in fields(self))  # type: ignore[arg-type]
        return claim_of(self.asked()) | {name: plain(getattr(self, name), name) for name in names}

    def record(self, file: Path | str, *, command: str = "") -> None:
        """Write the result to a JSON file, as ``--record`` does.  ``tilebase cite FILE`` cites it.

        `command` says what computed it; without one, how Python was started: of a script only the name is
        told.  Raises `StorageError`.
        """
        command = command or shlex.join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
        told = claim_of(self.asked()) | self.as_dict() | {"command": command, "run": run_facts()}
        told = with_origin(told, getattr(self, "game", None))
        write_whole(Path(file), readable(to_json(told, "pretty")) + "\n")

    @property
    def row(self) -> dict[str, Any]:
        """The members of the document that fit into the cells of a table."""
        return {name: one for name, one in self.as_dict().items() if not isinstance(one, dict | list)}

    def __repr__(self) -> str:
        asked = self.asked()
        return f"<{type(self).__name__} of {asked[0].board}: {', '.join(one.value for one in asked)}>"


def statement_of(findings: Iterable[Finding]) -> str:
    """Return findings about one game as sentences: one for all that have none of their own, then those."""
    every = list(findings)
    plainly = [one for one in every if not one.sentence]
    told = "; ".join(f"{one.quantity}: {one.value} ({one.kind})" for one in plainly)
    sentences = [f"2048 on {plainly[0].board}{plainly[0].rules}: {told}."] if plainly else []
    return " ".join(sentences + [one.sentence for one in every if one.sentence])


def claim_of(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return findings about one game as a record holds them: the sentences, and their parts."""
    every = list(findings)
    parts = {
        "board": every[0].board,
        "question": ", ".join(one.quantity for one in every),
        "value": ", ".join(one.value for one in every),
        "kind": " and ".join(dict.fromkeys(one.kind for one in every)),
        "answers": {one.quantity: one.value for one in every},
    }
    return {"statement": statement_of(every), "claim": parts}


def plain(value: Any, name: str = "") -> Any:
    """Return a value as JSON has it: what has an identity as that, fractions as text, infinity, NaN as None.

    >>> plain({"bound": Fraction(1, 3), "seconds": 1.23456})
    {'bound': '1/3', 'seconds': 1.23}
    """
    if isinstance(value, float):
        return None if not math.isfinite(value) else round(value, 2) if name == "seconds" else value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(one, str(key)) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if hasattr(value, "as_dict"):
        return value.as_dict()
    if hasattr(value, "identity"):
        return value.identity
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name), one.name) for one in fields(value)}
    return value


def layers_checksum(layers: Sequence[Mapping[str, Any]]) -> str:
    """Return the SHA-256 of the layers of a document, in order; empty without any.

    It is that of their canonical JSON without means, which may be rounded otherwise with other threads.
    """
    if not layers:
        return ""
    rows = [{name: value for name, value in row.items() if name != "mean"} for row in layers]
    return hashlib.sha256(to_json(rows, "canonical").encode()).hexdigest()


def with_origin(document: Any, game: Game | str | None = None, *, text: bool = False) -> Any:
    """A JSON object, or each of a list of objects, with its game, its command and the program's version.

    The game is its identity or, as `text`, the words that name it on the command line.  An object that names
    its game, command or version itself keeps them: a result that is cited was computed by another command.
    """
    if not isinstance(document, Mapping):
        return [with_origin(one, game, text=text) for one in document]
    named = game if game is None or isinstance(game, str) else game_text(game) if text else game.identity
    origin = {} if named is None else {"game": named}
    origin |= {"command": COMMAND.get(), "version": version()}
    return {**document, **{name: value for name, value in origin.items() if name not in document}}
