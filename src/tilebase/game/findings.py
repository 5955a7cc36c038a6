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
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tilebase.runtime.documents import to_json

VERDICTS = {True: ("yes", "verdict"), False: ("no", "verdict"), None: ("undecided", "unknown")}
"""What is said of a question that is decided or not, and the type of that: the end of a `Finding`."""


@dataclass(frozen=True)
class Finding:
    """One answer of a result.

    Attributes
    ----------
    board:
        What is played, as `title_of` names a game.
    quantity, value, kind:
        What was asked, the answer as text, and its type: exact, rounded, lower, upper, interval, verdict,
        sampled or unknown.
    rules:
        How play begins and what is spawned, in words with a blank in front; empty where the board says it.
    sentence:
        The answer as a sentence with its full stop, if a quantity and a value do not say it well.
    """

    board: str
    quantity: str
    value: str
    kind: str
    rules: str = ""
    sentence: str = ""


class Reported(ABC):
    """A result that a command prints and records, of which `tilebase cite` reads the record.

    Attributes
    ----------
    facts:
        Names of the fields and properties that the document holds, in order; empty: all fields.
    """

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
    }
    return {"statement": statement_of(every), "claim": parts}


def plain(value: Any, name: str = "") -> Any:
    """Return a value as JSON has it: what has an identity as that, fractions as text, infinity as None.

    >>> plain({"bound": Fraction(1, 3), "seconds": 1.23456})
    {'bound': '1/3', 'seconds': 1.23}
    """
    if isinstance(value, float):
        return None if math.isinf(value) else round(value, 2) if name == "seconds" else value
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
