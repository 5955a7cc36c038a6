"""Exact answers about the game 2048.

The flat public API; importing it loads neither Numba nor NumPy until something is used.

>>> import tilebase
>>> tilebase.count(tilebase.Game("2x2", 32)).total("live")
57
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tilebase._version import __version__ as __version__

if TYPE_CHECKING:
    from tilebase.board import Board as Board
    from tilebase.borders import Border as Border
    from tilebase.borders import find_border as find_border
    from tilebase.bounds import ProvedBound as ProvedBound
    from tilebase.bounds import prove as prove
    from tilebase.check import RefusedError as RefusedError
    from tilebase.check import check_certificate as check_certificate
    from tilebase.combinatorics import BoundResult as BoundResult
    from tilebase.combinatorics import bound as bound
    from tilebase.counts import CountResult as CountResult
    from tilebase.enumerate import Work as Work
    from tilebase.enumerate import count as count
    from tilebase.enumerate import remove_run as remove_run
    from tilebase.errors import BoardError as BoardError
    from tilebase.errors import CorruptError as CorruptError
    from tilebase.errors import GameError as GameError
    from tilebase.errors import MissingBoardError as MissingBoardError
    from tilebase.errors import MissingExtraError as MissingExtraError
    from tilebase.errors import MissingLayerError as MissingLayerError
    from tilebase.errors import ResourceError as ResourceError
    from tilebase.errors import StorageError as StorageError
    from tilebase.errors import TilebaseError as TilebaseError
    from tilebase.errors import UsageError as UsageError
    from tilebase.errors import WrongGameError as WrongGameError
    from tilebase.forcing import Forced as Forced
    from tilebase.forcing import Largest as Largest
    from tilebase.forcing import StartVerdict as StartVerdict
    from tilebase.forcing import force as force
    from tilebase.forcing import force_starts as force_starts
    from tilebase.forcing import forced_table as forced_table
    from tilebase.forcing import largest_forced as largest_forced
    from tilebase.game import Game as Game
    from tilebase.limits import Search as Search
    from tilebase.limits import search_limits as search_limits
    from tilebase.mdp import MDP as MDP
    from tilebase.mdp import to_mdp as to_mdp
    from tilebase.objectives import Objective as Objective
    from tilebase.patterns import PatternCheck as PatternCheck
    from tilebase.patterns import check_pattern as check_pattern
    from tilebase.perfect import PerfectIndex as PerfectIndex
    from tilebase.policies import Evaluation as Evaluation
    from tilebase.policies import evaluate as evaluate
    from tilebase.progress import Progress as Progress
    from tilebase.results import LayerSummary as LayerSummary
    from tilebase.results import Solution as Solution
    from tilebase.runs import LeftRun as LeftRun
    from tilebase.runs import list_runs as list_runs
    from tilebase.runs import remove_runs as remove_runs
    from tilebase.simulation import Simulation as Simulation
    from tilebase.simulation import simulate as simulate
    from tilebase.solver import solve as solve
    from tilebase.symmetry import canonical as canonical
    from tilebase.symmetry import orbit_size as orbit_size
    from tilebase.symmetry import symmetries as symmetries
    from tilebase.tables.format import LayerFile as LayerFile
    from tilebase.tables.format import ValueFile as ValueFile
    from tilebase.tables.probe import Answer as Answer
    from tilebase.tables.probe import SlideAnswer as SlideAnswer
    from tilebase.tables.probe import Table as Table
    from tilebase.tables.probe import open_table as open_table
    from tilebase.tables.sums import compare_sums as compare_sums
    from tilebase.tables.sums import read_sums as read_sums
    from tilebase.tables.sums import table_sums as table_sums
    from tilebase.tables.verify import Verification as Verification
    from tilebase.tables.verify import verify_table as verify_table
    from tilebase.thinning import Thinning as Thinning
    from tilebase.thinning import thin as thin
    from tilebase.values import Exact as Exact
    from tilebase.values import Interval as Interval
    from tilebase.values import Lower as Lower
    from tilebase.values import Upper as Upper

_HOMES = {
    "board": ("Board",),
    "borders": ("Border", "find_border"),
    "bounds": ("ProvedBound", "prove"),
    "check": ("RefusedError", "check_certificate"),
    "combinatorics": ("BoundResult", "bound"),
    "counts": ("CountResult",),
    "enumerate": ("Work", "count", "remove_run"),
    "errors": (
        "BoardError",
        "CorruptError",
        "GameError",
        "MissingBoardError",
        "MissingExtraError",
        "MissingLayerError",
        "ResourceError",
        "StorageError",
        "TilebaseError",
        "UsageError",
        "WrongGameError",
    ),
    "forcing": (
        "Forced",
        "Largest",
        "StartVerdict",
        "force",
        "force_starts",
        "forced_table",
        "largest_forced",
    ),
    "game": ("Game",),
    "limits": ("Search", "search_limits"),
    "mdp": ("MDP", "to_mdp"),
    "objectives": ("Objective",),
    "patterns": ("PatternCheck", "check_pattern"),
    "perfect": ("PerfectIndex",),
    "policies": ("Evaluation", "evaluate"),
    "progress": ("Progress",),
    "results": ("LayerSummary", "Solution"),
    "runs": ("LeftRun", "list_runs", "remove_runs"),
    "simulation": ("Simulation", "simulate"),
    "solver": ("solve",),
    "symmetry": ("canonical", "orbit_size", "symmetries"),
    "tables.format": ("LayerFile", "ValueFile"),
    "tables.probe": ("Answer", "SlideAnswer", "Table", "open_table"),
    "tables.sums": ("compare_sums", "read_sums", "table_sums"),
    "tables.verify": ("Verification", "verify_table"),
    "thinning": ("Thinning", "thin"),
    "values": ("Exact", "Interval", "Lower", "Upper"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "__version__"])  # noqa: PLE0605  (sorted gives a list)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'tilebase' has no attribute {name!r}")
    value = getattr(import_module(f"tilebase.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
