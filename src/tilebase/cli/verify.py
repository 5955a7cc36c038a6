"""``tilebase verify``: check all bytes against checksums, and values against their successors."""

from __future__ import annotations

import stat
import sys
from contextlib import closing, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tilebase.cli.certificate import check
from tilebase.cli.options import DEFAULT_SHOWN, AnywayOption, ClusterOption, QuietOption, ShownOptions
from tilebase.cli.output import Shown, planning
from tilebase.cli.probe import game_of_table
from tilebase.cli.progress import counting_progress, share_progress
from tilebase.errors import StorageError, TilebaseError, UsageError
from tilebase.files import places

if TYPE_CHECKING:
    from tilebase.tables.winning import WinningSet


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
    sample: Annotated[int, Parameter(help="Values of each objective to derive again.")] = 1000,
    every: Annotated[bool, Parameter(name="--all", negative=(), help="Derive all values again.")] = False,
    seed: Annotated[int, Parameter(help="Of the random sample.")] = 0,
    exact: Annotated[
        bool,
        Parameter(
            negative=(), help="Compare every float of a table of up to 3 million afterstates with fractions."
        ),
    ] = False,
    listed: Annotated[
        bool,
        Parameter(
            name="--list",
            negative=(),
            help="Print the SHA-256 sums of a sound table, to publish them.",
        ),
    ] = False,
    against: Annotated[
        Path | None, Parameter(help="Compare the files of a table with the SHA-256 sums in this list, too.")
    ] = None,
    cluster: ClusterOption = None,
    shown: ShownOptions = DEFAULT_SHOWN,
    anyway: AnywayOption = False,
    quiet: QuietOption = False,
) -> int:
    """Check a table, a run, a winning set or a certificate.

    Every byte by its checksum, values and proofs by the rules. In a folder that holds tables in subfolders,
    each of them. Of a table, values are derived again by the plain rules; of a winning set, nothing is. Of a
    certificate, all of the proof is checked, and what it proves is said; this checker is one file of Python
    without any of the kernels or the solver, and runs on its own: python src/tilebase/check.py FILE. Exits
    with 1 if anything is wrong.

    tilebase verify run/

    tilebase verify 3x3-512/ --sample 10000

    tilebase verify 3x3-512/ --list > 3x3-512.sha256

    tilebase verify 3x3-512/ --against 3x3-512.sha256

    tilebase verify 3x3-32.cert
    """
    if sample < 0:
        raise UsageError(f"the sample must be 0 values or more, not {sample}")
    if cluster is not None and not every:
        raise UsageError(
            "workers derive all values of a table again: give --all, too, or leave --cluster out"
        )
    from tilebase.files.source import is_certificate, local_path, mode_of
    from tilebase.tables.folders import holds_tables, subfolders

    path = local_path(location)
    is_table = path is None or path.suffix == ".zip" or (path / places.TABLE).exists()
    if (listed or against is not None) and not is_table:
        raise UsageError(f"{location} is not a table: --list and --against are for one table")
    show = shown.checked()
    if path is not None and is_certificate(path):
        if planning():
            raise UsageError("what checking a certificate takes is not known: give a table")
        return check(path, show, quiet=quiet)
    if exact:
        return _verify_exactly(location, show, quiet)
    if planning():
        return _print_plan(location, None if every else sample, show)
    checking = {"sample": None if every else sample, "seed": seed, "cluster": cluster, "anyway": anyway}
    if listed or against is not None:
        return _verify_sums(location, listed, against, quiet, **checking)
    if path is None:
        return _verify_table(location, quiet, **checking)
    folder = stat.S_ISDIR(mode_of(path))
    if folder and mode_of(path / places.QUERY) and not mode_of(path / places.TABLE):
        return _verify_run(path)
    if folder and holds_tables(path):
        return max([_verify_one(one, problem, quiet, checking) for one, problem in subfolders(path)])
    return _verify_table(path, quiet, **checking)


def _verify_exactly(location: str, show: Shown, quiet: bool) -> int:
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
            with counting_progress(quiet=quiet) as progress:
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


def _print_plan(location: str, sample: int | None, show: Shown) -> int:
    from tilebase.tables.probe import open_table
    from tilebase.tables.verify import expected_cost

    with open_table(location) as table:
        row = expected_cost(table, sample).row()
    show.write([row], row, game=game_of_table(location))
    return 0


def _verify_one(path: Path, problem: str, quiet: bool, checking: dict[str, Any]) -> int:
    """Verify one table of many, unless there is a problem: a table that cannot be checked is a line, too."""
    try:
        if problem:
            raise StorageError(problem)
        return _verify_table(path, quiet, **checking)
    except TilebaseError as error:
        print(f"{path}: {error}")
        return 1


def _verify_run(path: Path) -> int:
    from tilebase.files.findings import Findings, StopCheckError
    from tilebase.files.run import verify_run
    from tilebase.files.solved import verify_values

    found = Findings()
    begun = sorted(index.parent for index in (path / "values").glob(f"*/{places.INDEX}"))
    with suppress(StopCheckError):
        verify_run(path, found)
        for folder in begun:
            verify_values(folder, found)
    unfinished = "sound so far; the table is not finished: the same tilebase solve goes on"
    return _say(path, found.wrong, found.unread, unfinished if begun else "sound")


def _verify_sums(location: str, listed: bool, against: Path | None, quiet: bool, **checking: Any) -> int:
    """Verify a table, compare it with a list, and print its own list if nothing is wrong."""
    from tilebase.tables.sums import compare_sums, format_sums, read_sums, table_sums

    expected = None if against is None else read_sums(against)
    with redirect_stdout(sys.stderr if listed else sys.stdout):
        status = _verify_table(location, quiet, **checking)
        if expected is not None:
            with share_progress("files", quiet=quiet) as progress:
                wrong = compare_sums(location, expected, progress=progress)
            for sentence in wrong or [f"{location}: its {len(expected):,} files are those of {against}"]:
                print(sentence)
            status = status or int(bool(wrong))
    if listed and not status:
        with share_progress("files", quiet=quiet) as progress:
            sums = table_sums(location, progress=progress)
        sys.stdout.write(format_sums(sums))
    return status


def _verify_table(location: Path | str, quiet: bool, **checking: Any) -> int:
    from tilebase.files.run import verify_run
    from tilebase.files.source import local_path, mode_of
    from tilebase.tables.opening import open_solved
    from tilebase.tables.probe import Table
    from tilebase.tables.verify import verify_table
    from tilebase.tables.winning import WinningSet

    opened = open_solved(location)
    if isinstance(opened, WinningSet):
        return _verify_winning(opened)
    assert isinstance(opened, Table)  # certificates are checked elsewhere
    with counting_progress(quiet=quiet) as progress:
        found = verify_table(opened, progress=progress, **checking)
    wrong, unread = list(found.wrong), list(found.unread)
    path = local_path(location)
    if path is not None and mode_of(path / places.QUERY) and not unread:
        more = verify_run(path)
        wrong += [sentence for sentence in more.wrong if sentence not in wrong]
        unread += more.unread
    sound = f"sound, {found.layers} layers, {found.values:,} values derived again"
    if found.skipped:
        sound += f", {found.skipped:,} not checked, since boards that follow were left out of the table"
    return _say(location, wrong, unread, sound)


def _verify_winning(winning: WinningSet) -> int:
    from tilebase.files.findings import Findings

    found = Findings()
    with closing(winning), found.checking():
        winning.check()
    return _say(
        winning.name, found.wrong, found.unread,
        f"as it was written, by its checksums: {len(winning):,} states of {len(winning.manifest.layers)} "
        f"layers in which {winning.text}, not derived again",
    )  # fmt: skip


def _say(path: Path | str, wrong: list[str], unread: list[str], sound: str) -> int:
    for sentence in (*wrong, *unread):
        print(sentence)
    verdicts = []
    if wrong:
        made_here = (Path(path) / places.QUERY).exists()
        remedy = "the command that made it, called again, mends it" if made_here else "make the folder anew"
        verdicts.append(f"{len(wrong)} damaged; {remedy}")
    if unread:
        verdicts.append("not all of it could be read, so verify again when it can be")
    print(f"{path}: {'; '.join(verdicts) or sound}")
    return 1 if verdicts else 0
