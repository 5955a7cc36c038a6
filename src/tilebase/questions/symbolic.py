"""What can be forced, or made at all, with sets of boards as decision diagrams.

`bdd` says how.  The work is done by a child process, which reports each layer or sweep line; what it has
reported is kept if memory or time run out.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Unpack

from tilebase._version import version as program_version
from tilebase.bdd.export import check_export
from tilebase.bdd.library import NODE_BYTES, capacity_for, require_oxidd
from tilebase.bdd.sets import ENCODINGS, ORDERS, check_lines
from tilebase.bdd.strategies import BITS, PLAYERS, STRATEGIES, VARIANTS, Line, Method
from tilebase.bdd.worker import Task, run_task
from tilebase.costs.estimate import refuse_endless
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import UsageError
from tilebase.files.run import Query, RunFolder
from tilebase.game.findings import VERDICTS, Finding, Reported
from tilebase.game.game import Game, check_is_game
from tilebase.game.names import forced_words, title_of
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use

MANY_BOARDS = 2 * 10**12
"""Boards from which on nobody knows whether a run ends: then it needs a time limit.  4x5 to 16 has fewer."""
MOST_CELLS = 20
"""Cells of boards whose sweep lines bits can solve."""
NODES_A_BOARD, FEWEST_NODES = 64, 1 << 22
"""More nodes than diagrams of so few boards can have need no memory."""


@dataclass(frozen=True, repr=False)
class Symbolic(Reported):
    """The result of a solution by decision diagrams.

    Attributes
    ----------
    game:
        The game.
    wins:
        Whether the side `method.player` wins from the start; None if memory or time ran out.
    method:
        The winning set that was computed, and the strategy.
    lines:
        The results for each layer or sweep line, in the order of the work.
    seconds:
        The time of the whole work.
    reason:
        Why the work or a file is not complete; empty if both are.
    out_of_memory:
        Whether the reason is memory, not time.
    listed, exported:
        Boards in the certificate, and bytes of the exported set, if they were written.
    version:
        The version of this program.
    """

    facts = (
        "game", "wins", "method", "states", "afterstates", "iterations", "peak", "seconds", "reason",
        "listed", "exported", "version",
    )  # fmt: skip

    game: Game
    wins: bool | None
    method: Method
    lines: tuple[Line, ...]
    seconds: float
    reason: str = ""
    out_of_memory: bool = False
    listed: int | None = None
    exported: int | None = None
    version: str = field(default_factory=program_version)

    @property
    def states(self) -> int:
        """The number of states that the side wins, among those that were computed."""
        return sum(max(line.states, 0) for line in self.lines)

    @property
    def afterstates(self) -> int:
        """The number of afterstates that the side wins, among those that were computed."""
        return sum(max(line.afterstates, 0) for line in self.lines)

    @property
    def iterations(self) -> int:
        """The number of preimages that were computed."""
        return sum(line.iterations for line in self.lines)

    @property
    def peak(self) -> int:
        """Nodes of the largest set."""
        return max((line.peak for line in self.lines), default=0)

    @property
    def slider_wins(self) -> bool | None:
        """Whether the player reaches the goal."""
        return self.wins if self.wins is None or self.method.player == "slider" else not self.wins

    def asked(self) -> tuple[Finding, ...]:
        """Return whether the player reaches the goal."""
        how = {
            "adversarial": "can be forced",
            "cooperative": "can be made if spawns help",
            "deterministic": "can be forced if spawns are on the first empty cell",
        }[self.method.variant]
        sentence = forced_words(self.game, self.slider_wins, self.method.variant)
        verdict = VERDICTS[self.slider_wins]
        return (Finding(title_of(self.game), f"whether the goal {how}", *verdict, sentence=sentence),)

    def rows(self) -> list[dict[str, Any]]:
        """Return the lines as rows of a table, with the bytes of nodes per state."""
        nodes = self.method.strategy != BITS
        name = {"sum": "sum", "sweep": "line (k,l)", "accumulative": "boards"}[self.method.cut]
        return [
            {name: int(line.name) if self.method.strategy == "sum" else line.name}
            | {
                field: getattr(line, field)
                for field in ("iterations", "states", "afterstates", *("nodes", "peak") * nodes)
                if self.method.counts or field == "iterations"
            }
            | ({"more states": line.old} if line.old >= 0 else {})
            | ({"bytes per state": bytes_per_state(line)} if self.method.counts and nodes else {})
            | {"seconds": round(line.seconds, 3)}
            for line in self.lines
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return super().as_dict() | {"lines": [asdict(line) for line in self.lines]}


def bytes_per_state(line: Line) -> float:
    """Return bytes of the nodes of the larger set of a line for each state in it, to three digits.

    0 if empty.
    """
    most = max(line.states, line.afterstates)
    return float(f"{line.nodes * NODE_BYTES / most:.3g}") if most > 0 else 0.0


def symbolic(
    game: Game,
    method: Method | None = None,
    *,
    seconds: float = math.inf,
    folder: Path | str | None = None,
    export: Path | str | None = None,
    certificate: Path | str | None = None,
    **use: Unpack[Use],
) -> Symbolic:
    """Compute from which boards a side wins, with sets of boards as decision diagrams.

    Parameters
    ----------
    game:
        The game; of the probability of a 4, only whether it is 0, 1 or between counts.
    method:
        The side that spawns, the side whose winning set is computed, and the strategy.  None: an adversary,
        the player, by sums.
    seconds:
        The work stops after this time; then `Symbolic.wins` is None.
    folder:
        The folder in which the run saves its work once a minute, to continue after an interruption; not with
        an export or a certificate, which need all layers.  None: nothing is kept.
    export:
        Folder for the winning set, to probe (`bdd.export`).
    certificate:
        File for a proof that ``tilebase verify`` can check.
    use:
        Memory, threads and the like: the keywords of `Use`.  The tables of OxiDD use all of the memory.
        Progress is reported after each iteration, at most several times a second.

    Raises
    ------
    UsageError
        If the game has no goal, or the choices do not fit together.
    MissingExtraError
        If OxiDD is not installed.
    ResourceError
        If a line of the board has too many contents, or there is too little memory to begin.
    StorageError
        If a file cannot be written.

    >>> found = symbolic(Game("2x2", 16, spawn=0, start="empty"))
    >>> found.wins, found.states, found.afterstates
    (True, 237, 151)
    """
    check_is_game(game)
    allowed = Allowance.of(**use)
    method = method or Method()
    _check_method(game, method)
    _check_files(game, method, export, certificate)
    if method.strategy == BITS:
        return _by_bits(game, method, allowed, seconds)
    boards = sum(boards_by_sum(game).values())
    nodes = min(capacity_for(allowed.memory), max(FEWEST_NODES, NODES_A_BOARD * boards))
    if boards > MANY_BOARDS and seconds == math.inf and not (method.until or allowed.anyway):
        refuse_endless(f"the symbolic solution of {game}, of {boards:.1g} boards")
    pace, lines, done, share = Pace(allowed.progress, "states"), list[Line](), 0, 0.0
    began = time.perf_counter()

    def tell(line: Line, fraction: float) -> None:
        nonlocal done, share
        share = fraction
        lines.append(line)
        done += max(line.states, 0)
        if pace.due():
            layer = line.name.isdecimal()
            total, doing = (
                (int(line.name), "solve") if layer else (len(lines), f"iteration {line.iterations}")
            )
            pace.report(total, doing, done, fraction)

    def step(iterations: int) -> None:
        if pace.due():
            pace.report(len(lines) + 1, f"iteration {iterations}", done, share)

    task = Task(
        game, method, nodes, allowed.threads, export=str(export or ""), certificate=str(certificate or ""),
        work="" if folder is None or export or certificate else str(folder),  # these need all layers
    )  # fmt: skip
    with nullcontext() if folder is None else RunFolder(Path(folder), Query(game)):
        outcome = run_task(task, tell, step, began + seconds)
    spent = time.perf_counter() - began
    return Symbolic(
        game, outcome.wins, method, tuple(lines), spent,
        outcome.reason, outcome.out_of_memory, outcome.listed, outcome.exported,
    )  # fmt: skip


def _by_bits(game: Game, method: Method, allowed: Allowance, seconds: float) -> Symbolic:
    """Return what is won of the lines of the exponent below the goal, without diagrams."""
    from tilebase.dense.sweep import SweepPass  # needs the compiler, which takes a second to load

    pace, done, began = Pace(allowed.progress, "states"), 0, time.perf_counter()
    k, least = _line_of(method)

    def tell(total: int, share: float, boards: int) -> bool:
        nonlocal done
        done += boards
        if pace.due():
            pace.report(total, "solve", done, share)
        return time.perf_counter() - began < seconds

    sweep = SweepPass(game, least, allowed.threads, allowed.memory, corollary7=method.corollary7)
    won = sweep.run(tell)
    spent = time.perf_counter() - began
    if won is None:
        return Symbolic(game, None, method, (), spent, "time ran out")
    lines = tuple(
        Line(
            f"({k},{count})", 1, spent * (count == least), one.states - one.old * method.corollary7,
            one.afterstates, old=one.old if method.corollary7 else -1,
        )
        for count, one in won.items()
    )  # fmt: skip
    return Symbolic(game, None, method, lines, spent, f"stopped after {method.until}, as was asked")


def _line_of(method: Method) -> tuple[int, int]:
    """Return the sweep line after which a method stops; (0, 0) if it names none."""
    k, _, count = method.until.strip("()").partition(",")
    return (int(k), int(count)) if count else (0, 0)


def _check_bits(game: Game, method: Method) -> None:
    """Raise `UsageError` unless bits can solve the line."""
    k, (named, count) = max(game.tops), _line_of(method)
    if named != k or k + 1 != game.goal_exponent or not 1 <= count <= game.cells:
        raise UsageError(
            "the strategy bits solves the sweep lines of the largest tile below the goal: name the last one, "
            f"such as --up-to {k},{min(6, game.cells)}"
        )
    if method.variant != "adversarial" or method.player != "slider":
        raise UsageError("the strategy bits is about an adversary, and what the player wins: choose sweep")
    cut = game.walls or game.unmergeable or game.patterns or min(game.tops) < k or min(game.shape) < 2
    if cut or k <= game.spawn_exponents[-1] or game.cells > MOST_CELLS:
        raise UsageError(
            f"the strategy bits needs whole boards of two rows and columns or more and at most {MOST_CELLS} "
            "cells, without limits or patterns, and a goal above twice the spawned tiles: choose sweep"
        )


def _check_method(game: Game, method: Method) -> None:
    """Raise `UsageError`, `ResourceError` or `MissingExtraError` unless the choices fit together."""
    if not game.can_win:
        raise UsageError("without a goal there is nothing to force: give a tile or a goal sum")
    for name, chosen, known in (
        ("strategy", method.strategy, (*STRATEGIES, BITS)),
        ("encoding", method.encoding, tuple(ENCODINGS)),
        ("order", method.order_for(game), tuple(ORDERS)),
        ("variant", method.variant, VARIANTS),
        ("player", method.player, PLAYERS),
    ):
        if chosen not in known:
            raise UsageError(f"{name} {chosen!r} does not exist: choose one of {', '.join(known)}")
    if method.until and method.cut != ("sweep" if method.until.startswith("(") else "sum"):
        raise UsageError(
            f"the strategy {method.strategy} does not come to {method.until}: sum stops after a sum, such as "
            "128, and sweep or frontier after a sweep line, such as 10,6"
        )
    for what, total in (("goal sum", game.goal_sum), ("horizon", game.horizon)):
        if total is not None and method.strategy != "sum":
            raise UsageError(f"a {what} needs the strategy sum, whose layers have one sum each")
    if method.variant == "cooperative" and method.player == "dropper":
        raise UsageError("in the cooperative game both sides want the goal: leave out the player dropper")
    if method.corollary7 and (game.start not in ("empty", "two-tiles") or game.unmergeable):
        raise UsageError("corollary 7 is about play from an empty board: leave it out, or the start")
    if method.strategy == BITS:
        _check_bits(game, method)
        return
    check_lines(game, len({value for cell in range(game.cells) for value in game.codes(cell)}))
    require_oxidd()


def _check_files(
    game: Game, method: Method, export: Path | str | None, certificate: Path | str | None
) -> None:
    """Raise an error unless the set can be saved and the proof be made: before the work begins."""
    if export is not None:
        check_export(Path(export), game)
    if method.strategy == BITS and (export or certificate):
        raise UsageError("the strategy bits stores no sets: choose another one, or leave the file out")
    if certificate is not None:
        from tilebase.bdd.proofs import check_proof  # needs the compiler, which takes a second to load

        check_proof(Path(certificate), game, method.variant)
