"""``tilebase check``: verify a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.check import RefusedError, check_certificate
from tilebase.cli.options import QuietOption
from tilebase.cli.output import signature
from tilebase.cli.progress import share_progress
from tilebase.errors import CorruptError, StorageError


def check(
    certificate: Annotated[Path, Parameter(help="A file that tilebase force -c wrote.")],
    *,
    quiet: QuietOption = False,
) -> int:
    """Check a certificate by the plain rules, and say what it proves.

    The checker is one file of Python without any of the kernels or the solver, and runs on its own:
    python src/tilebase/check.py FILE. Exit status 1 if the certificate proves nothing.

    tilebase check 3x3-32.cert
    """
    done = 0
    try:
        with share_progress("boards checked", quiet=quiet) as progress:

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
    print(f"proved, by {header['boards']:,} boards: {statement(header)} {signature()}")
    return 0


def statement(header: dict[str, Any]) -> str:
    """The statement that a certificate with this header proves."""
    spawns = " and ".join(f"{tile}s" for tile in header["drops"])
    starts = header["starts"]
    texts = [",".join(str(2 ** int(digit, 36) if digit != "0" else 0) for digit in word) for word in starts]
    begin = (
        "the empty board" if not texts
        else f"the board {texts[0]}" if len(texts) == 1
        else f"each of {len(texts)} starts, the first of them {texts[0]}"
    )  # fmt: skip
    within = f" within the limits {','.join(map(str, header['limits']))}" if header["limits"] else ""
    can = "can" if header["claim"] == "forced" else "cannot"
    goals = {"the tile": header["goal"], "the sum": header.get("goal_sum")}
    wins = " or ".join(f"{name} {value}" for name, value in goals.items() if value is not None)
    return (
        f"on {header['shape']}, from {begin}: the player {can} force {wins}{within} "
        f"against every spawn of {spawns}"
    )
