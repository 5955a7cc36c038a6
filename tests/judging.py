"""What a computed value must be, given the exact one; and journals as older versions wrote them."""

from __future__ import annotations

import json
import zlib
from fractions import Fraction
from pathlib import Path

from tilebase.game.game import Game
from tilebase.objectives.objective import Objective


def objectives_of(game: Game) -> str:
    """All objectives and types that a game has."""
    always = "score,merges,moves,survival,longest"
    if not game.can_win:
        return always
    bounds = "lower,upper,lower:uint32,upper:uint32,lower:uint16,upper:uint16"
    return f"win,win:float32,win:float16,{bounds},guaranteed,{always}"


def check(objective: Objective, value: object, exact: Fraction) -> None:
    """Assert that a value is as near to the exact one as its type allows, and on the right side."""
    number = Fraction(value)  # type: ignore[arg-type]
    if objective.is_bound:
        slack = {"uint16": Fraction(1, 10**3), "uint32": Fraction(1, 10**8), "uint64": Fraction(1, 10**13)}
        low, high = (number, exact) if objective.name == "lower" else (exact, number)
        assert low <= high < low + slack[objective.dtype]
    elif objective.dtype in ("bit", "int32"):
        assert number == exact
    else:
        tolerance = {"float64": 1e-13, "float32": 1e-6, "float16": 5e-3}[objective.dtype]
        assert abs(number - exact) <= tolerance * max(1, exact)


def without_promises(journal: Path) -> None:
    """Make a journal what the first version wrote: its lines name neither a question nor checksums."""
    lines = [json.loads(line.partition("\t")[0]) for line in journal.read_text().splitlines()]
    texts = [
        json.dumps({k: v for k, v in line.items() if k not in ("of", "file", "files")}, sort_keys=True,
                   separators=(",", ":"))
        for line in lines
    ]  # fmt: skip
    journal.write_text("".join(f"{text}\t{zlib.crc32(text.encode()):08x}\n" for text in texts))
