"""Exact answers about the game 2048.

    play        Game Board Formation formation formations Objective
    count       count CountResult bound
    solve       solve Solution prove ProvedBound, and values: Exact Rounded Lower Upper Interval Below
    force       force Forced symbolic Symbolic check_pattern check_certificate
    use         open_table Table Answer open_tables open_certificate Certificate open_winning_set
                WinningSet evaluate review thin verify_table serve export_page
    other       explain Use Progress TilebaseError UsageError

docs/api.md lists them and the names of other modules: tilebase.errors, tilebase.arrays, tilebase.policies,
tilebase.pictures, tilebase.datasets, tilebase.envs, tilebase.patterns (which boards can be reached),
tilebase.questions (limits, fractions, results), tilebase.tables, tilebase.files, tilebase.small and
tilebase.costs.
Importing tilebase loads neither Numba nor NumPy until something is used.

>>> import tilebase
>>> tilebase.count(tilebase.Game("2x2", 32)).total("live")
57
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    raise ImportError(
        "tilebase runs on Linux, macOS and other POSIX systems: on Windows, run it in the Windows Subsystem "
        "for Linux (WSL)"
    )
TYPE_CHECKING = False  # as typing's, whose import takes longer than all of this
if TYPE_CHECKING:
    from typing import Any

    from tilebase._version import __version__ as __version__
    from tilebase.check import check_certificate as check_certificate
    from tilebase.counting.combinatorics import bound as bound
    from tilebase.counting.counts import CountResult as CountResult
    from tilebase.errors import TilebaseError as TilebaseError
    from tilebase.errors import UsageError as UsageError
    from tilebase.game.board import Board as Board
    from tilebase.game.formations import Formation as Formation
    from tilebase.game.formations import formation as formation
    from tilebase.game.formations import formations as formations
    from tilebase.game.game import Game as Game
    from tilebase.objectives.objective import Objective as Objective
    from tilebase.objectives.results import Solution as Solution
    from tilebase.objectives.values import Below as Below
    from tilebase.objectives.values import Exact as Exact
    from tilebase.objectives.values import Interval as Interval
    from tilebase.objectives.values import Lower as Lower
    from tilebase.objectives.values import Rounded as Rounded
    from tilebase.objectives.values import Upper as Upper
    from tilebase.policies.evaluation import evaluate as evaluate
    from tilebase.questions.count import count as count
    from tilebase.questions.explain import explain as explain
    from tilebase.questions.force import Forced as Forced
    from tilebase.questions.force import force as force
    from tilebase.questions.lemma import check_pattern as check_pattern
    from tilebase.questions.prove import ProvedBound as ProvedBound
    from tilebase.questions.prove import prove as prove
    from tilebase.questions.review import review as review
    from tilebase.questions.solve import solve as solve
    from tilebase.questions.symbolic import Symbolic as Symbolic
    from tilebase.questions.symbolic import symbolic as symbolic
    from tilebase.runtime.progress import Progress as Progress
    from tilebase.runtime.resources import Use as Use
    from tilebase.tables.answers import Answer as Answer
    from tilebase.tables.certificates import Certificate as Certificate
    from tilebase.tables.certificates import open_certificate as open_certificate
    from tilebase.tables.folders import open_tables as open_tables
    from tilebase.tables.probe import Table as Table
    from tilebase.tables.probe import open_table as open_table
    from tilebase.tables.thinning import thin as thin
    from tilebase.tables.verify import verify_table as verify_table
    from tilebase.tables.winning import WinningSet as WinningSet
    from tilebase.tables.winning import open_winning_set as open_winning_set
    from tilebase.web.app import serve as serve
    from tilebase.web.export import export_page as export_page

_HOMES = {
    "_version": "__version__",
    "check": "check_certificate",
    "counting.combinatorics": "bound",
    "counting.counts": "CountResult",
    "errors": "TilebaseError UsageError",
    "game.board": "Board",
    "game.formations": "Formation formation formations",
    "game.game": "Game",
    "objectives.objective": "Objective",
    "objectives.results": "Solution",
    "objectives.values": "Below Exact Interval Lower Rounded Upper",
    "questions.count": "count",
    "questions.explain": "explain",
    "questions.force": "Forced force",
    "questions.lemma": "check_pattern",
    "policies.evaluation": "evaluate",
    "questions.prove": "ProvedBound prove",
    "questions.review": "review",
    "questions.solve": "solve",
    "questions.symbolic": "Symbolic symbolic",
    "tables.thinning": "thin",
    "runtime.progress": "Progress",
    "runtime.resources": "Use",
    "tables.answers": "Answer",
    "tables.certificates": "Certificate open_certificate",
    "tables.folders": "open_tables",
    "tables.probe": "Table open_table",
    "tables.verify": "verify_table",
    "tables.winning": "WinningSet open_winning_set",
    "web.app": "serve",
    "web.export": "export_page",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
# There is no __all__, so that help(tilebase) is a screen and not the documentation of every class.


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'tilebase' has no attribute {name!r}")
    home = f"tilebase.{_HOME_OF[name]}"
    __import__(home)
    value = getattr(sys.modules[home], name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME_OF)
