"""Exact answers about the game 2048.

The flat public API; importing it loads neither Numba nor NumPy until something is used.

>>> import tilebase
>>> tilebase.count(tilebase.Game("2x2", 32)).total("live")
57
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as typing's, whose import takes longer than all of this
if TYPE_CHECKING:
    from typing import Any

    from tilebase._version import __version__ as __version__
    from tilebase.check import RefusedError as RefusedError
    from tilebase.check import check_certificate as check_certificate
    from tilebase.costs.formations import TableSize as TableSize
    from tilebase.costs.formations import size_of_table as size_of_table
    from tilebase.costs.formations import tables_that_fit as tables_that_fit
    from tilebase.counting.combinatorics import BoundResult as BoundResult
    from tilebase.counting.combinatorics import bound as bound
    from tilebase.counting.counts import CountResult as CountResult
    from tilebase.dense.index import PerfectIndex as PerfectIndex
    from tilebase.errors import BoardError as BoardError
    from tilebase.errors import ChildError as ChildError
    from tilebase.errors import ClusterError as ClusterError
    from tilebase.errors import CorruptError as CorruptError
    from tilebase.errors import GameError as GameError
    from tilebase.errors import MissingBoardError as MissingBoardError
    from tilebase.errors import MissingExtraError as MissingExtraError
    from tilebase.errors import MissingLayerError as MissingLayerError
    from tilebase.errors import MissingObjectiveError as MissingObjectiveError
    from tilebase.errors import ResourceError as ResourceError
    from tilebase.errors import StorageError as StorageError
    from tilebase.errors import TilebaseError as TilebaseError
    from tilebase.errors import UsageError as UsageError
    from tilebase.errors import WrongGameError as WrongGameError
    from tilebase.files.format import LayerFile as LayerFile
    from tilebase.files.format import ValueFile as ValueFile
    from tilebase.files.work_folders import LeftRun as LeftRun
    from tilebase.files.work_folders import list_runs as list_runs
    from tilebase.files.work_folders import remove_runs as remove_runs
    from tilebase.game.board import Board as Board
    from tilebase.game.formations import Formation as Formation
    from tilebase.game.formations import formation as formation
    from tilebase.game.formations import formations as formations
    from tilebase.game.game import Game as Game
    from tilebase.game.symmetry import canonical as canonical
    from tilebase.game.symmetry import orbit_size as orbit_size
    from tilebase.game.symmetry import symmetries as symmetries
    from tilebase.objectives.objective import Objective as Objective
    from tilebase.objectives.results import LayerSummary as LayerSummary
    from tilebase.objectives.results import Solution as Solution
    from tilebase.objectives.results import StartValues as StartValues
    from tilebase.objectives.values import Below as Below
    from tilebase.objectives.values import Exact as Exact
    from tilebase.objectives.values import Interval as Interval
    from tilebase.objectives.values import Lower as Lower
    from tilebase.objectives.values import Rounded as Rounded
    from tilebase.objectives.values import Upper as Upper
    from tilebase.patterns.checkerboards import Checkerboard as Checkerboard
    from tilebase.patterns.checkerboards import checkerboard as checkerboard
    from tilebase.patterns.checking import LemmaCheck as LemmaCheck
    from tilebase.patterns.checking import check_lemmas as check_lemmas
    from tilebase.patterns.filling import Filled as Filled
    from tilebase.patterns.filling import fill_board as fill_board
    from tilebase.patterns.lemmas import Lemma as Lemma
    from tilebase.patterns.reach import Reach as Reach
    from tilebase.patterns.reach import reach as reach
    from tilebase.patterns.recurrences import Recurrence as Recurrence
    from tilebase.patterns.recurrences import find_recurrence as find_recurrence
    from tilebase.patterns.replays import Replay as Replay
    from tilebase.patterns.replays import replay_moves as replay_moves
    from tilebase.patterns.shortest import Shortest as Shortest
    from tilebase.patterns.shortest import shortest_game as shortest_game
    from tilebase.patterns.tallies import Tally as Tally
    from tilebase.patterns.tallies import count_sequences as count_sequences
    from tilebase.questions.borders import Border as Border
    from tilebase.questions.borders import find_border as find_border
    from tilebase.questions.count import count as count
    from tilebase.questions.count import remove_run as remove_run
    from tilebase.questions.distributions import Distribution as Distribution
    from tilebase.questions.distributions import Distributions as Distributions
    from tilebase.questions.distributions import distributions as distributions
    from tilebase.questions.exact import ExactCheck as ExactCheck
    from tilebase.questions.exact import ExactLayer as ExactLayer
    from tilebase.questions.exact import ExactSolution as ExactSolution
    from tilebase.questions.exact import check_exactly as check_exactly
    from tilebase.questions.exact import solve_exactly as solve_exactly
    from tilebase.questions.force import Forced as Forced
    from tilebase.questions.force import Largest as Largest
    from tilebase.questions.force import StartVerdict as StartVerdict
    from tilebase.questions.force import force as force
    from tilebase.questions.force import force_starts as force_starts
    from tilebase.questions.force import forced_table as forced_table
    from tilebase.questions.force import largest_forced as largest_forced
    from tilebase.questions.lemma import PatternCheck as PatternCheck
    from tilebase.questions.lemma import check_pattern as check_pattern
    from tilebase.questions.limits import Search as Search
    from tilebase.questions.limits import search_limits as search_limits
    from tilebase.questions.policies import Evaluation as Evaluation
    from tilebase.questions.policies import evaluate as evaluate
    from tilebase.questions.prove import ProvedBound as ProvedBound
    from tilebase.questions.prove import prove as prove
    from tilebase.questions.pruning import Pruned as Pruned
    from tilebase.questions.pruning import prune as prune
    from tilebase.questions.results import Result as Result
    from tilebase.questions.results import find_result as find_result
    from tilebase.questions.results import results as results
    from tilebase.questions.review import Review as Review
    from tilebase.questions.review import ReviewedMove as ReviewedMove
    from tilebase.questions.review import review as review
    from tilebase.questions.simulation import Simulation as Simulation
    from tilebase.questions.simulation import simulate as simulate
    from tilebase.questions.solve import solve as solve
    from tilebase.questions.symbolic import Symbolic as Symbolic
    from tilebase.questions.symbolic import Trial as Trial
    from tilebase.questions.symbolic import search_orders as search_orders
    from tilebase.questions.symbolic import symbolic as symbolic
    from tilebase.questions.thinning import Thinning as Thinning
    from tilebase.questions.thinning import thin as thin
    from tilebase.runtime.progress import Progress as Progress
    from tilebase.runtime.resources import Use as Use
    from tilebase.small.mdp import MDP as MDP
    from tilebase.small.mdp import to_mdp as to_mdp
    from tilebase.sparse.forward import Work as Work
    from tilebase.tables.answers import Answer as Answer
    from tilebase.tables.answers import SlideAnswer as SlideAnswer
    from tilebase.tables.certificates import Certificate as Certificate
    from tilebase.tables.certificates import open_certificate as open_certificate
    from tilebase.tables.folders import FolderAnswer as FolderAnswer
    from tilebase.tables.folders import TableFolder as TableFolder
    from tilebase.tables.folders import open_tables as open_tables
    from tilebase.tables.layers import LayerValues as LayerValues
    from tilebase.tables.layers import layer_sizes as layer_sizes
    from tilebase.tables.layers import layer_values as layer_values
    from tilebase.tables.playing import Played as Played
    from tilebase.tables.playing import play_game as play_game
    from tilebase.tables.playing import random_position as random_position
    from tilebase.tables.probe import Table as Table
    from tilebase.tables.probe import open_table as open_table
    from tilebase.tables.real_boards import RealBoard as RealBoard
    from tilebase.tables.sums import compare_sums as compare_sums
    from tilebase.tables.sums import read_sums as read_sums
    from tilebase.tables.sums import table_sums as table_sums
    from tilebase.tables.verify import Verification as Verification
    from tilebase.tables.verify import verify_table as verify_table
    from tilebase.tables.winning import WinningSet as WinningSet
    from tilebase.tables.winning import open_winning_set as open_winning_set
    from tilebase.web.app import serve as serve
    from tilebase.web.export import ExportedPage as ExportedPage
    from tilebase.web.export import export_page as export_page

_HOMES = {
    "_version": ("__version__",),
    "check": (
        "RefusedError",
        "check_certificate",
    ),
    "counting.combinatorics": (
        "BoundResult",
        "bound",
    ),
    "counting.counts": ("CountResult",),
    "costs.formations": (
        "TableSize",
        "size_of_table",
        "tables_that_fit",
    ),
    "dense.index": ("PerfectIndex",),
    "errors": (
        "BoardError",
        "ChildError",
        "ClusterError",
        "CorruptError",
        "GameError",
        "MissingBoardError",
        "MissingExtraError",
        "MissingLayerError",
        "MissingObjectiveError",
        "ResourceError",
        "StorageError",
        "TilebaseError",
        "UsageError",
        "WrongGameError",
    ),
    "files.format": (
        "LayerFile",
        "ValueFile",
    ),
    "files.work_folders": (
        "LeftRun",
        "list_runs",
        "remove_runs",
    ),
    "game.board": ("Board",),
    "game.formations": (
        "Formation",
        "formation",
        "formations",
    ),
    "game.game": ("Game",),
    "game.symmetry": (
        "canonical",
        "orbit_size",
        "symmetries",
    ),
    "objectives.objective": ("Objective",),
    "objectives.results": (
        "LayerSummary",
        "Solution",
        "StartValues",
    ),
    "objectives.values": (
        "Below",
        "Exact",
        "Interval",
        "Lower",
        "Rounded",
        "Upper",
    ),
    "patterns.checkerboards": (
        "Checkerboard",
        "checkerboard",
    ),
    "patterns.checking": (
        "LemmaCheck",
        "check_lemmas",
    ),
    "patterns.filling": (
        "Filled",
        "fill_board",
    ),
    "patterns.lemmas": ("Lemma",),
    "patterns.reach": (
        "Reach",
        "reach",
    ),
    "patterns.recurrences": (
        "Recurrence",
        "find_recurrence",
    ),
    "patterns.replays": (
        "Replay",
        "replay_moves",
    ),
    "patterns.shortest": (
        "Shortest",
        "shortest_game",
    ),
    "patterns.tallies": (
        "Tally",
        "count_sequences",
    ),
    "questions.borders": (
        "Border",
        "find_border",
    ),
    "questions.count": (
        "count",
        "remove_run",
    ),
    "questions.distributions": (
        "Distribution",
        "Distributions",
        "distributions",
    ),
    "questions.exact": (
        "ExactCheck",
        "ExactLayer",
        "ExactSolution",
        "check_exactly",
        "solve_exactly",
    ),
    "questions.force": (
        "Forced",
        "Largest",
        "StartVerdict",
        "force",
        "force_starts",
        "forced_table",
        "largest_forced",
    ),
    "questions.lemma": (
        "PatternCheck",
        "check_pattern",
    ),
    "questions.limits": (
        "Search",
        "search_limits",
    ),
    "questions.policies": (
        "Evaluation",
        "evaluate",
    ),
    "questions.prove": (
        "ProvedBound",
        "prove",
    ),
    "questions.pruning": (
        "Pruned",
        "prune",
    ),
    "questions.results": (
        "Result",
        "find_result",
        "results",
    ),
    "questions.review": (
        "Review",
        "ReviewedMove",
        "review",
    ),
    "questions.simulation": (
        "Simulation",
        "simulate",
    ),
    "questions.solve": ("solve",),
    "questions.symbolic": (
        "Symbolic",
        "Trial",
        "search_orders",
        "symbolic",
    ),
    "questions.thinning": (
        "Thinning",
        "thin",
    ),
    "runtime.progress": ("Progress",),
    "runtime.resources": ("Use",),
    "small.mdp": (
        "MDP",
        "to_mdp",
    ),
    "sparse.forward": ("Work",),
    "tables.answers": (
        "Answer",
        "SlideAnswer",
    ),
    "tables.certificates": (
        "Certificate",
        "open_certificate",
    ),
    "tables.folders": (
        "FolderAnswer",
        "TableFolder",
        "open_tables",
    ),
    "tables.layers": (
        "LayerValues",
        "layer_sizes",
        "layer_values",
    ),
    "tables.playing": (
        "Played",
        "play_game",
        "random_position",
    ),
    "tables.probe": (
        "Table",
        "open_table",
    ),
    "tables.real_boards": ("RealBoard",),
    "tables.sums": (
        "compare_sums",
        "read_sums",
        "table_sums",
    ),
    "tables.verify": (
        "Verification",
        "verify_table",
    ),
    "tables.winning": (
        "WinningSet",
        "open_winning_set",
    ),
    "web.app": ("serve",),
    "web.export": (
        "ExportedPage",
        "export_page",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605  (sorted gives a list)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'tilebase' has no attribute {name!r}")
    home = f"tilebase.{_HOME_OF[name]}"
    __import__(home)
    value = getattr(sys.modules[home], name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
