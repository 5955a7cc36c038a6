"""Certificates, as ``tilebase verify`` checks them, and what they prove in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tilebase.check import RefusedError, check_certificate
from tilebase.cli.output import Shown, signed
from tilebase.cli.progress import share_progress
from tilebase.errors import CorruptError, StorageError
from tilebase.game.grid import by_rows
from tilebase.game.names import forced_sentence


def check(certificate: Path, show: Shown) -> int:
    """Check a certificate, and say what it proves.  Raises `CorruptError` if it proves nothing."""
    done = 0
    try:
        with share_progress("boards checked") as progress:

            def tell(more: int, every: int) -> None:
                nonlocal done
                done += more
                if progress is not None:
                    progress(done, every)

            header = check_certificate(certificate, tell)
    except RefusedError as error:
        raise CorruptError(f"{certificate} proves nothing: {error}") from error
    except OSError as error:
        raise StorageError(f"cannot read {certificate}: {error.strerror or error}") from error
    row = {"proved": statement(header), "boards": header["boards"]}
    text = f"proved, by {header['boards']:,} boards: {signed(row['proved'])}\n"
    show.write([row], row, text=text, game=None)
    return 0


def statement(header: dict[str, Any]) -> str:
    """Return the statement that a certificate with this header proves."""
    spawns = " and ".join(f"{tile}s" for tile in header["drops"])
    within = f" within the limits {','.join(map(str, header['limits']))}" if header["limits"] else ""
    if "horizon" in header:
        within += f" in the game that ends at the sum {header['horizon']}"
    forced, wins = header["claim"] == "forced", f"{_wins(header)}{within}"
    return forced_sentence(forced, f"2048 on {_board(header)}", _start(header), wins, spawns)


def _board(header: dict[str, Any]) -> str:
    """Return the shape, the x and the masks in words."""
    text = str(header["shape"])
    if header.get("x"):
        text += f" with {header['x']} movable tiles x that never merge"
    if header.get("masks"):
        width = int(header["shape"].rpartition("x")[2])
        masks = " or ".join(by_rows(mask, width, "") for mask in header["masks"])
        which = "the mask" if len(header["masks"]) == 1 else "one of the masks"
        text += f", which cover {which} {masks} after each slide"
    return text


def _start(header: dict[str, Any]) -> str:
    """Return where the game begins, in words."""
    states, afters = header["starts"], header.get("afterstates", [])
    texts = [",".join(map(_tile, word)) for word in [*states, *afters]]
    first = ", a spawn first" if afters and not states else ""
    if not texts:
        return "the empty board"
    if len(texts) == 1:
        return f"the board {texts[0]}{first}"
    return f"each of {len(texts)} starts{first}, the first of them {texts[0]}"


def _wins(header: dict[str, Any]) -> str:
    """Return what wins, in words."""
    goals = {"the tile": header["goal"], "the sum": header.get("goal_sum")}
    ways = [f"{name} {value}" for name, value in goals.items() if value is not None]
    width = int(header["shape"].rpartition("x")[2])
    ways += [f"the pattern {by_rows([*map(_tile, word)], width)}" for word in header.get("patterns", [])]
    return " or ".join(ways)


def _tile(sign: str) -> str:
    """Write a sign of a certificate as a tile."""
    return sign if sign in "0x*" else str(2 ** int(sign, 36))
