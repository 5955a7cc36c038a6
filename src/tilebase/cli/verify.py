"""``tilebase verify``: check all bytes against checksums, and values against their successors."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tilebase.check import RefusedError, check_certificate
from tilebase.cli.options import ClusterOption, Options, ShownOptions
from tilebase.cli.output import PLANNING, Shown, plannable, signed
from tilebase.cli.progress import counting_progress, share_progress
from tilebase.errors import CorruptError, StorageError, TilebaseError, UsageError
from tilebase.files import places
from tilebase.files.source import is_certificate, local_path, mode_of
from tilebase.game.grid import by_rows
from tilebase.game.names import forced_sentence
from tilebase.runtime.measured import ANYWAY
from tilebase.tables.folders import holds_tables, subfolders

if TYPE_CHECKING:
    from tilebase.tables.winning import WinningSet


@dataclass(frozen=True)
class DerivedOptions(Options):
    """Which values are derived again, and by whom."""

    sample: int = 1000
    """Values of each objective to derive again."""
    every: Annotated[bool, Parameter(name="--all")] = False
    """Derive all values again."""
    seed: int = 0
    """Seed of the random sample."""
    cluster: ClusterOption = None


@plannable
def verify(
    location: Annotated[
        str,
        Parameter(
            name="PATH",
            help="A table or a winning set (folder, zip file or URL), a folder of tables, the folder of a "
            "run, or a certificate that tilebase force -c wrote.",
        ),
    ],
    *,
    exact: Annotated[
        bool, Parameter(help="Compare every float of a table of up to 3 million afterstates with fractions.")
    ] = False,
    derived: DerivedOptions = DerivedOptions(),
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Check a table, a run, a winning set or a certificate.

    Compares every byte with its checksum. Of a table, also derives values again by the plain rules. Of a
    certificate, checks the whole proof and prints what it proves; this checker is one file of Python without
    kernels and solver, and runs on its own: python src/tilebase/check.py FILE. In a folder of tables, checks
    each. If anything is wrong, the exit status is 1.

    tilebase verify run/

    tilebase verify 3x3-512/ --sample 10000

    tilebase verify 3x3-32.cert
    """
    if derived.sample < 0:
        raise UsageError(f"the sample must be 0 values or more, not {derived.sample}")
    if derived.cluster is not None and not derived.every:
        raise UsageError(
            "workers derive all values of a table again: give --all, too, or leave --cluster out"
        )
    path = local_path(location)
    show = shown.checked()
    if path is not None and is_certificate(path):
        if PLANNING.get():
            raise UsageError("what checking a certificate takes is not known: give a table")
        return _check_certificate(path, show)
    if exact:
        return _verify_exactly(location, show)
    if PLANNING.get():
        from tilebase.tables.probe import open_table
        from tilebase.tables.verify import expected_cost

        with open_table(location) as table:
            row = expected_cost(table, None if derived.every else derived.sample).row()
        return show.plan(row, game=table.game)
    report = _Report()
    try:  # if the user stops the command, what is checked so far is written
        _verify_what_is_there(location, path, report, derived)
    finally:
        report.write(show)
    return report.status


def _verify_what_is_there(location: str, path: Path | None, report: _Report, derived: DerivedOptions) -> None:
    """Verify a table, a run, or each table of a folder."""
    if path is None or not stat.S_ISDIR(mode_of(path)):
        _verify_table(location, report, derived)
    elif mode_of(path / places.QUERY) and not mode_of(path / places.TABLE):
        _verify_run(path, report)
    elif holds_tables(path):
        for one, problem in subfolders(path):
            try:
                if problem:
                    raise StorageError(problem)
                _verify_table(one, report, derived)
            except TilebaseError as error:  # the others are checked all the same
                report.enter(one, [str(error)], str(error))
    else:
        _verify_table(path, report, derived)


class _Report:
    """What is found of each thing that is checked: sentences, and an entry."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._entries: list[dict[str, Any]] = []

    def add(
        self, what: Path | str, wrong: Sequence[str], unread: Sequence[str], sound: str, **numbers: int | None
    ) -> None:
        """Enter the faults of a table or a run; `sound` is said if there are none."""
        verdicts = []
        if wrong:
            made_here = (Path(what) / places.QUERY).exists()
            remedy = "rerun the original command to repair it" if made_here else "make the folder again"
            verdicts.append(f"{len(wrong)} damaged; {remedy}")
        if unread:
            verdicts.append("not all of it could be read, so verify again when it can be")
        self._lines += [*wrong, *unread]
        self.enter(what, [*wrong, *unread], "; ".join(verdicts) or sound, **numbers)

    def enter(self, what: Path | str, problems: list[str], verdict: str, **numbers: int | None) -> None:
        """Enter a verdict, which is one line, and the numbers of what was checked, if it was."""
        told = dict.fromkeys(("layers", "values", "skipped")) | numbers
        self._entries.append({"what": str(what), "sound": not problems, **told, "problems": problems})
        self._lines.append(f"{what}: {verdict}")

    @property
    def status(self) -> int:
        """The exit status: 1 if anything is wrong or could not be read."""
        return int(not all(one["sound"] for one in self._entries))

    def write(self, show: Shown) -> None:
        """Print and record what was entered, if anything was."""
        if not self._entries:
            return
        rows = [
            {name: "" if value is None else value for name, value in one.items()}
            | {"problems": "; ".join(one["problems"])}
            for one in self._entries
        ]
        show.write(rows, self._entries, text="".join(f"{line}\n" for line in self._lines), game=None)


def _verify_exactly(location: str, show: Shown) -> int:
    """Compare the floats of a table with exact values, for each of its means in floats."""
    from tilebase.questions.exact import check_exactly
    from tilebase.tables.probe import open_table

    wrong = 0
    with open_table(location) as table:
        means = [one for one in table.objectives if one.is_mean and not one.is_bound]
        if not means:
            raise UsageError(f"{location} has no means in floats: its integers are exact or proved")
        rows = []
        for one in means:
            with counting_progress() as progress:
                found = check_exactly(table, one.label, progress=progress)
            wrong += found.wrong
            rows.append(
                {
                    "objective": one.label,
                    "values": f"{found.values:,}",
                    "largest relative error": f"{found.largest_error:.2g}",
                    "proved to be at most": f"{found.proved:.2g}",
                    "further off": f"{found.wrong:,}",
                }
            )
        show.write(rows, rows, game=table.game)
    return 1 if wrong else 0


def _verify_run(path: Path, report: _Report) -> None:
    from tilebase.files.run import Findings, StopCheckError, verify_run
    from tilebase.files.solved import verify_values

    found = Findings()
    begun = sorted(index.parent for index in (path / places.VALUES).glob(f"*/{places.INDEX}"))
    with suppress(StopCheckError):
        verify_run(path, found)
        for folder in begun:
            verify_values(folder, found)
    unfinished = "sound so far; the table is not finished: the same tilebase solve continues"
    report.add(path, found.wrong, found.unread, unfinished if begun else "sound")


def _verify_table(location: Path | str, report: _Report, derived: DerivedOptions) -> None:
    from tilebase.tables.probe import Table, open_solved
    from tilebase.tables.verify import verify_table
    from tilebase.tables.winning import WinningSet

    opened = open_solved(location)
    if isinstance(opened, WinningSet):
        _verify_winning(opened, report)
        return
    assert isinstance(opened, Table)  # certificates are checked elsewhere
    with counting_progress() as progress:
        found = verify_table(
            opened, sample=None if derived.every else derived.sample, seed=derived.seed,
            cluster=derived.cluster, progress=progress, anyway=ANYWAY.get(),
        )  # fmt: skip
    sound = f"sound, {found.layers} layers, {found.values:,} values derived again"
    if found.skipped:
        why = "boards that follow were left out of the table, or no error of a step is proved"
        sound += f", {found.skipped:,} not checked, since {why}"
    numbers = {"layers": found.layers, "values": found.values, "skipped": found.skipped}
    report.add(location, found.wrong, found.unread, sound, **numbers)


def _verify_winning(winning: WinningSet, report: _Report) -> None:
    from tilebase.files.run import Findings

    found = Findings()
    with closing(winning), found.checking():
        winning.check()
    report.add(
        winning.name, found.wrong, found.unread,
        f"as it was written, by its checksums: {winning.states:,} states of {len(winning.manifest.layers)} "
        f"layers in which {winning.text}, not derived again",
        layers=len(winning.manifest.layers),
    )  # fmt: skip


# -- certificates ----------------------------------------------------------------------------------


def _check_certificate(certificate: Path, show: Shown) -> int:
    """Check a certificate, and say what it proves.  Raises `CorruptError` if it proves nothing."""
    try:
        with share_progress("boards checked") as tell:
            header = check_certificate(certificate, tell)
    except RefusedError as error:
        raise CorruptError(f"{certificate} proves nothing: {error}") from error
    except OSError as error:
        raise StorageError(f"cannot read {certificate}: {error.strerror or error}") from error
    row = {"proved": proved_by(header), "boards": header["boards"]}
    text = f"proved, by {header['boards']:,} boards: {signed(row['proved'])}\n"
    show.write([row], row, text=text, game=None)
    return 0


def proved_by(header: dict[str, Any]) -> str:
    """Return the statement that a certificate with this header proves."""
    width = int(header["shape"].rpartition("x")[2])

    def board_text(word: str) -> str:
        return by_rows([sign if sign in "0x*" else str(2 ** int(sign, 36)) for sign in word], width)

    # The shape, the x and the masks.
    board = f"2048 on {header['shape']}"
    if header.get("x"):
        board += f" with {header['x']} movable tiles x that never merge"
    if header.get("masks"):
        masks = " or ".join(by_rows(mask, width, "") for mask in header["masks"])
        which = "the mask" if len(header["masks"]) == 1 else "one of the masks"
        board += f", which cover {which} {masks} after each slide"
    # Where the game begins.
    states, afters = header["starts"], header.get("afterstates", [])
    starts = [board_text(word) for word in [*states, *afters]]
    first = ", a spawn first" if afters and not states else ""
    if not starts:
        start = "the empty board"
    elif len(starts) == 1:
        start = f"the board {starts[0]}, up to symmetry{first}"
    else:
        start = f"each of {len(starts)} starts{first}, the first of them {starts[0]}"
    # What wins, and until when.
    goals = {"the tile": header["goal"], "the sum": header.get("goal_sum")}
    ways = [f"{name} {value}" for name, value in goals.items() if value is not None]
    ways += [f"the pattern {board_text(word)}" for word in header.get("patterns", [])]
    wins = " or ".join(ways)
    if header["limits"]:
        wins += f" within the limits {','.join(map(str, header['limits']))}"
    if "horizon" in header:
        wins += f" in the game that ends at the sum {header['horizon']}"
    spawns = " and ".join(f"{tile}s" for tile in header["drops"])
    return forced_sentence(header["claim"] == "forced", board, start, wins, spawns)
