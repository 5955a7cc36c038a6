"""``tilebase runs``: the folders that killed runs left."""

from __future__ import annotations

import time
from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import ShownOptions, parse_time
from tilebase.objectives.numbers import byte_text
from tilebase.runtime.measured import duration


def runs(
    *which: Annotated[str, Parameter(help="Names of runs, as this command prints them; default: all.")],
    remove: Annotated[bool, Parameter(help="Delete the runs, apart from those of running commands.")] = False,
    older_than: Annotated[
        str | None, Parameter(help="Only runs that have written nothing for this time: 90min, 2h, 7d.")
    ] = None,
    shown: ShownOptions = ShownOptions(),
) -> int:
    """List or delete the folders of runs.

    A command (count, solve, force or lemma) without --work or -o keeps its run in a folder, continues there
    after a kill, and deletes it at the end. The list has the folders of running commands, and those that were
    left unfinished.

    tilebase runs

    tilebase runs --remove --older-than 7d
    """
    from tilebase.files.work_folders import list_runs, remove_runs, select_runs

    show, age = shown.checked(), parse_time(older_than, 0.0)
    found = remove_runs(which, older_than=age) if remove else select_runs(list_runs(), which, age)
    rows: list[dict[str, Any]] = [
        {
            "run": run.name,
            "question": run.question,
            "size": byte_text(run.nbytes),
            "last written": f"{duration(ago)} ago" if (ago := time.time() - run.changed) >= 1 else "just now",
            "": "deleted" if remove else "running" if run.in_use else "unfinished",
        }
        for run in found
    ]
    data = [run.as_dict() for run in found]
    show.write(rows, data, data=data, text=None if rows else "no runs\n", game=None)
    return 0
