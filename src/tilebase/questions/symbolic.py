"""What can be forced, or made at all, with sets of boards as decision diagrams.

`bdd` says how.  The work is done by a child process, which reports each layer or sweep line; what it has
reported is kept if memory or time run out.
"""

from __future__ import annotations

import math
import time
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from tilebase._version import version as program_version
from tilebase.bdd.codes import ENCODINGS, ORDERS
from tilebase.bdd.export import check_export
from tilebase.bdd.library import KINDS, NODE_BYTES, capacity_for, require_oxidd
from tilebase.bdd.process import Task, run_task
from tilebase.bdd.sets import check_lines
from tilebase.bdd.strategies import PLAYERS, STRATEGIES, VARIANTS, Line, Rules
from tilebase.costs.estimate import WEEK, Span, refuse_endless, span_of
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import GameError, UsageError
from tilebase.files.run import Query, RunFolder
from tilebase.game.game import Game, check_is_game
from tilebase.game.names import board_words, spawn_words, start_words, winning_words, within_words
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use

MANY_BOARDS = 10**12
"""Boards from which on nobody knows whether a run ends: then it needs a time limit."""
NODES_A_BOARD, FEWEST_NODES = 64, 1 << 22
"""More nodes than diagrams of so few boards can have need no memory."""


@dataclass(frozen=True)
class Symbolic:
    """What was found with decision diagrams.

    Attributes
    ----------
    game:
        The game.
    wins:
        Whether the side `rules.player` wins from the start; None if memory or time ran out.
    rules:
        Who spawns, whose set was computed, and so on.
    strategy, encoding, order, kind:
        How.
    lines:
        What was found for each layer or sweep line, in the order of the work.
    seconds:
        Time for all of it.
    reason:
        Why the work or a file is not complete; empty if they are.
    out_of_memory:
        Whether memory is the reason, and not time.
    listed, exported:
        Boards in the certificate, bytes of the exported set, if they were asked for.
    version:
        The version of this program.
    """

    game: Game
    wins: bool | None
    rules: Rules
    strategy: str
    encoding: str
    order: str
    kind: str
    lines: tuple[Line, ...]
    seconds: float
    reason: str = ""
    out_of_memory: bool = False
    listed: int | None = None
    exported: int | None = None
    version: str = field(default_factory=program_version)

    def __repr__(self) -> str:
        verdict = {True: "yes", False: "no", None: "undecided"}[self.wins]
        return f"<Symbolic {self.game}: {verdict}, by the strategy {self.strategy}>"

    @property
    def states(self) -> int:
        """How many states the side wins, as far as they were computed and counted."""
        return sum(max(line.states, 0) for line in self.lines)

    @property
    def afterstates(self) -> int:
        """How many afterstates it wins, likewise."""
        return sum(max(line.afterstates, 0) for line in self.lines)

    @property
    def iterations(self) -> int:
        """How often preimages were computed."""
        return sum(line.iterations for line in self.lines)

    @property
    def peak(self) -> int:
        """Nodes of the largest set."""
        return max((line.peak for line in self.lines), default=0)

    @property
    def slider_wins(self) -> bool | None:
        """Whether the player reaches the goal."""
        return self.wins if self.wins is None or self.rules.player == "slider" else not self.wins

    @property
    def statement(self) -> str:
        """The result in words."""
        game = self.game
        spawns, start = spawn_words(game), start_words(game)
        if self.rules.variant == "cooperative":
            start = start.replace("every", "some")
        can = {
            True: "the player can",
            False: "the player cannot",
            None: "it is undecided whether the player can",
        }[self.slider_wins]
        verb, how = {
            "adversarial": ("force", f"against every spawn of {spawns}"),
            "cooperative": ("make", f"if spawns of {spawns} help"),
            "deterministic": ("force", f"if {spawns} are always spawned on the first empty cell"),
        }[self.rules.variant]
        goal = f"{winning_words(game)}{within_words(game)}"
        return f"2048 on {board_words(game)}, from {start}: {can} {verb} {goal} {how}"

    def rows(self) -> list[dict[str, Any]]:
        """Return the lines as rows of a table, with the bytes of nodes per state."""
        name = {"sum": "sum", "sweep": "line (k,l)", "accumulative": "boards"}[self.strategy]
        return [
            {name: int(line.name) if self.strategy == "sum" else line.name}
            | {
                field: getattr(line, field)
                for field in ("iterations", "states", "afterstates", "nodes", "peak")
                if self.rules.counts or field == "iterations"
            }
            | ({"bytes per state": bytes_per_state(line)} if self.rules.counts else {})
            | {"seconds": round(line.seconds, 3)}
            for line in self.lines
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "statement": self.statement,
            "game": self.game.identity,
            "wins": self.wins,
            "rules": asdict(self.rules),
            "strategy": self.strategy,
            "encoding": self.encoding,
            "order": self.order,
            "kind": self.kind,
            "states": self.states,
            "afterstates": self.afterstates,
            "iterations": self.iterations,
            "peak": self.peak,
            "seconds": round(self.seconds, 2),
            "reason": self.reason,
            "listed": self.listed,
            "exported": self.exported,
            "lines": [asdict(line) for line in self.lines],
            "version": self.version,
        }


def bytes_per_state(line: Line) -> float:
    """Return bytes of the nodes of the larger set of a line for each state in it, to three digits.

    0 if empty.
    """
    most = max(line.states, line.afterstates)
    return float(f"{line.nodes * NODE_BYTES / most:.3g}") if most > 0 else 0.0


def symbolic(
    game: Game,
    *,
    strategy: str = "sum",
    encoding: str | None = None,
    order: str | None = None,
    kind: str = "bdd",
    variant: str = "adversarial",
    player: str = "slider",
    strong: bool = True,
    corollary7: bool = False,
    counts: bool = True,
    until: str = "",
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
    strategy:
        One of `bdd.strategies.STRATEGIES`.
    encoding:
        One of `bdd.codes.ENCODINGS`.  None: short, or binary in a ZBDD.
    order:
        One of `bdd.codes.ORDERS`.  None: by columns where these are shorter than rows, otherwise by rows.
    kind:
        ``"bdd"``, or ``"zbdd"`` for zero-suppressed diagrams.
    variant:
        Who spawns: ``"adversarial"``; ``"cooperative"``: someone who wants the goal too;
        ``"deterministic"``: always on the first empty cell, by rows (of 2s and 4s an adversary chooses).
    player:
        Whose winning set is computed: ``"slider"`` or ``"dropper"``.
    strong:
        Whether the whole set is computed.  Otherwise the work stops once the start is decided.
    corollary7:
        Whether states are left out that play from an empty board cannot make: those that break Edixhoven's
        corollary 7, and, a condition of ours, those without a tile that was just spawned.  They are then in
        no set.
    counts:
        Whether boards and nodes are counted: about a fifth of the time.
    until:
        The last layer or sweep line to compute, by its name: ``"128"``, ``"(10,6)"``; then `Symbolic.wins` is
        None.  Empty: all.
    seconds:
        The work stops after this time; then `Symbolic.wins` is None.
    folder:
        Where the run writes, once a minute, what it needs to continue after an interruption; not for an
        export or a certificate, which need all layers.  None: nothing is kept.
    export:
        Folder for the winning set, which ``tilebase probe`` can ask (`bdd.export`).
    certificate:
        File for a proof that ``tilebase verify`` can check.
    use:
        Memory, threads and the like: the keywords of `Use`.  The tables of the library take all memory that
        is given.  Progress is told after each iteration, at most several times a second.

    Raises
    ------
    UsageError
        If the game has no goal, or the choices do not fit together.
    MissingExtraError
        If OxiDD is not installed.
    ResourceError
        If a line of the board has too many contents, or the memory is too little to begin.
    StorageError
        If a file cannot be written.

    >>> found = symbolic(Game("2x2", 16, spawn=0, start="empty"))
    >>> found.wins, found.states, found.afterstates
    (True, 237, 151)
    """
    check_is_game(game)
    allowed = Allowance.of(**use)
    encoding = encoding or {"bdd": "short", "zbdd": "binary"}.get(kind, "short")
    order = order or ("columns" if game.shape[0] < game.shape[-1] else "rows")
    rules = Rules(variant, player, strong, counts, corollary7, until)
    task = Task(game, rules, strategy, kind, encoding, order, 0, allowed.threads)
    check_task(task)
    check_files(task, export, certificate)
    boards = sum(boards_by_sum(game).values())
    nodes = min(capacity_for(allowed.memory), max(FEWEST_NODES, NODES_A_BOARD * boards))
    task = replace(task, nodes=nodes, export=str(export or ""), certificate=str(certificate or ""))
    known = expected_cost(game, strategy, until, corollary7=corollary7).seconds <= WEEK
    if boards > MANY_BOARDS and seconds == math.inf and not (until or known or allowed.anyway):
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

    if folder is not None and not (export or certificate):  # these need all layers
        task = replace(task, work=str(folder))
    with nullcontext() if folder is None else RunFolder(Path(folder), Query(game)):
        outcome = run_task(task, tell, step, began + seconds)
    spent = time.perf_counter() - began
    return Symbolic(
        game, outcome.wins, rules, strategy, encoding, order, kind, tuple(lines), spent,
        outcome.reason, outcome.out_of_memory, outcome.listed, outcome.exported,
    )  # fmt: skip


def expected_cost(game: Game, strategy: str, until: str = "", *, corollary7: bool = False) -> Span:
    """Return what diagrams of a game take, between games on whole boards that were measured."""
    limits = game.limits or game.largest or game.walls or game.unmergeable or game.masks
    if game.goal is None or limits or game.pattern or game.goal_sum or game.horizon:
        return Span(None, None)
    spawns = ",".join(str(2**exponent) for exponent in game.spawn_exponents)
    words = ["diagrams", spawns, strategy, until, "corollary7" if corollary7 else ""]
    return span_of(" ".join(filter(None, words)), game.shape, game.goal)


def check_task(task: Task) -> None:
    """Raise `UsageError`, `ResourceError` or `MissingExtraError` unless the choices fit together."""
    game, rules = task.game, task.rules
    if not game.can_win:
        raise UsageError("without a goal there is nothing to force: give a tile or a goal sum")
    for name, chosen, known in (
        ("strategy", task.strategy, STRATEGIES),
        ("encoding", task.encoding, tuple(ENCODINGS)),
        ("order", task.order, tuple(ORDERS)),
        ("kind", task.kind, tuple(KINDS)),
        ("variant", rules.variant, VARIANTS),
        ("player", rules.player, PLAYERS),
    ):
        if chosen not in known:
            raise UsageError(f"{name} {chosen!r} does not exist: choose one of {', '.join(known)}")
    if rules.until and (rules.until.startswith("("), task.strategy) not in ((False, "sum"), (True, "sweep")):
        raise UsageError(
            f"the strategy {task.strategy} does not come to {rules.until}: sum stops after a sum, as 128, "
            "and sweep after a sweep line, as 10,6"
        )
    if game.goal_sum is not None and task.strategy != "sum":
        raise UsageError("a goal sum needs the strategy sum, whose layers have one sum each")
    if game.horizon is not None and task.strategy != "sum":
        raise UsageError("a horizon needs the strategy sum, whose layers have one sum each")
    if rules.variant == "cooperative" and rules.player == "dropper":
        raise UsageError("in the cooperative game both sides want the goal: leave out the player dropper")
    if task.kind == "zbdd" and task.encoding == "short":
        raise UsageError("a ZBDD has no free bits: use the encoding binary or one-hot")
    if rules.corollary7 and (game.start not in ("empty", "two-tiles") or game.unmergeable):
        raise UsageError("corollary 7 is about play from an empty board: leave it out, or the start")
    check_lines(game, len({value for cell in range(game.cells) for value in game.codes(cell)}))
    require_oxidd()


def check_files(task: Task, export: Path | str | None, certificate: Path | str | None) -> None:
    """Raise an error unless the set can be saved and the proof be made: before the work begins."""
    if export is not None:
        check_export(Path(export), task.game, task.kind)
    if certificate is not None:
        if task.kind != "bdd":
            raise UsageError("a proof is made from BDDs: leave out the kind zbdd")
        from tilebase.bdd.proofs import check_proof  # needs the compiler, which takes a second to load

        check_proof(Path(certificate), task.game, task.rules.variant)


# -- which order -----------------------------------------------------------------------------------

TRIAL_BOARDS, TRIAL_SECONDS = 1 << 18, 10.0
"""Most boards of the smaller game, and most seconds for each trial on it."""


@dataclass(frozen=True)
class Trial:
    """How many nodes all layers of a smaller game have together, with one encoding and order."""

    game: Game
    encoding: str
    order: str
    nodes: int
    seconds: float


def search_orders(
    game: Game,
    *,
    variant: str = "adversarial",
    kind: str = "bdd",
    encoding: str | None = None,
    **use: Unpack[Use],
) -> tuple[Trial, ...]:
    """Try every order, and every encoding unless one is given, on a smaller board; the fewest nodes first.

    A trial that takes too long is left out.  Raises `UsageError` if no smaller board exists.
    """
    check_is_game(game)
    smaller = smaller_game(game)
    encodings = [encoding] if encoding else [one for one in ENCODINGS if (kind, one) != ("zbdd", "short")]
    trials = []
    for one in encodings:
        for order in ORDERS:
            found = symbolic(
                smaller, encoding=one, order=order, kind=kind, variant=variant,
                seconds=TRIAL_SECONDS, **use,
            )  # fmt: skip
            if found.wins is not None:
                nodes = sum(line.nodes for line in found.lines)
                trials.append(Trial(smaller, one, order, nodes, found.seconds))
    return tuple(sorted(trials, key=lambda trial: (trial.nodes, trial.seconds)))


def smaller_game(game: Game) -> Game:
    """A game with the same spawns on as many boards as trials allow: fewer rows, lower tiles, no limits.

    Raises `UsageError` if there is none.
    """
    least = 4 if game.spawn_exponents == (1,) else 8
    candidates = []
    shape = game.shape
    while shape[0] >= 1:
        tile = game.goal or 1 << max(game.tops)
        while tile >= least:
            with suppress(GameError):  # too few cells for the tile
                candidates.append(Game(shape, tile, spawn=game.spawn, start="empty"))
            tile //= 2
        shape = (shape[0] - 1, *shape[1:])
    sizes = [(sum(boards_by_sum(one).values()), one) for one in candidates if one.goal_fits]
    most = min(TRIAL_BOARDS, sum(boards_by_sum(game).values()) - 1)
    fitting = [(boards, one) for boards, one in sizes if boards <= most]
    if not fitting:
        raise UsageError("no smaller board has this goal: choose an order")
    return max(fitting, key=lambda pair: pair[0])[1]
