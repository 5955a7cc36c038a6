"""Deciding whether a goal is forced: whether the player can make it against every spawn.

This depends only on whether 2s and 4s may be spawned, and not on the probability of a 4.  There are
four engines:

* ``search``: a depth-first search of canonical afterstates with a table of decided ones
  (`search.search`).  It opens a few percent of the boards up to symmetry, and finds a strategy.
* ``dense``: a pass over all boards within the limits (`dense.passes`), with one bit per board.  It is the
  fastest engine for many boards, if their layers fit into memory.
* ``diagrams``: sets of boards as decision diagrams (`questions.symbolic`).  It is the fastest for boards of
  many cells and few different tiles, as 4x4 to 32.
* ``reachable``: counting and solving the reachable positions (`questions.solve`), for comparisons.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from tilebase._version import version as program_version
from tilebase.cluster.executors import Executor
from tilebase.costs.estimate import WEEK, refuse_endless
from tilebase.costs.passes import FIRST_PATIENCE, patience_for, search_seconds
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import ResourceError, UsageError
from tilebase.files.run import Query, RunFolder
from tilebase.game.game import Cells, Game, check_is_game
from tilebase.game.grid import parse_shape
from tilebase.game.names import board_words, spawn_words, start_words, winning_words, within_words
from tilebase.game.spawns import law_of
from tilebase.game.symmetry import canonical, canonical_starts, orbit_size
from tilebase.objectives.values import Exact
from tilebase.questions.again import (
    Again,
    ForcedLayer,
    check_second,
    checksum,
    forced_layers,
    reproduce_layers,
)
from tilebase.questions.solve import solve
from tilebase.questions.symbolic import symbolic
from tilebase.runtime.measured import working_time
from tilebase.runtime.progress import Progress
from tilebase.runtime.resources import Allowance, Use
from tilebase.search.certificates import check_target, write_certificate
from tilebase.search.search import Search

LOG = logging.getLogger(__name__)
ENGINES = ("search", "dense", "diagrams", "reachable")
"""What decides a query; `force` says how each does it."""


@dataclass(frozen=True)
class Forced:
    """Whether a goal can be forced.

    Attributes
    ----------
    game:
        The game.
    forced:
        Whether the goal is forced; None if time ran out.
    engine:
        One of `ENGINES`.
    positions:
        Afterstates opened by the search, boards of the pass, afterstates solved by ``"reachable"``; boards of
        the layers that were solved with diagrams.
    seconds:
        The time of the last call, without earlier calls that it continued.
    listed:
        Boards in the certificate, if one was written.
    layers:
        Of a dense pass, the boards and the won boards of each sum, ascending.
    again:
        What a second engine found of these layers, if one was asked.
    version:
        The version of this program.
    """

    game: Game
    forced: bool | None
    engine: str
    positions: int
    seconds: float
    listed: int | None = None
    layers: tuple[ForcedLayer, ...] = ()
    again: Again | None = None
    version: str = field(default_factory=program_version)

    def __repr__(self) -> str:
        verdict = {True: "yes", False: "no", None: "undecided"}[self.forced]
        return f"<Forced {self.game}: {verdict}, by the engine {self.engine}>"

    @property
    def unit(self) -> str:
        """What `positions` counts."""
        return "boards" if self.engine in ("dense", "diagrams") else "afterstates"

    @property
    def statement(self) -> str:
        """The result in words."""
        game = self.game
        verdict = {
            True: "the player can force",
            False: "the player cannot force",
            None: "it is undecided whether the player can force",
        }[self.forced]
        return (
            f"2048 on {board_words(game)}, from {start_words(game)}: {verdict} {winning_words(game)}"
            f"{within_words(game)} against every spawn of {spawn_words(game)}"
        )

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "statement": self.statement,
            "game": self.game.identity,
            "forced": self.forced,
            "engine": self.engine,
            "positions": self.positions,
            "seconds": round(self.seconds, 2),
            "listed": self.listed,
            **({"layers": [asdict(one) for one in self.layers]} if self.layers else {}),
            **({"checksum": checksum(self.layers)} if self.layers else {}),
            **({"again": self.again.as_dict()} if self.again else {}),
            "version": self.version,
        }


def force(
    game: Game,
    *,
    engine: str | None = None,
    folder: Path | str | None = None,
    keep: bool = True,
    seconds: float = math.inf,
    certificate: Path | str | None = None,
    again: str | None = None,
    cluster: str | Executor | None = None,
    **use: Unpack[Use],
) -> Forced:
    """Decide whether the player can force the goal against every spawn.

    Parameters
    ----------
    game:
        The game; of the probability of a 4, only whether it is 0, 1 or between counts.
    engine:
        One of `ENGINES`.  None: the search.  It is replaced by a dense pass if it has not ended after 1 s
        plus 1/10 of the estimated time of the pass, plus the time to compile its kernels if they are not
        kept, and the pass fits into memory and 50 % of the time.
    folder:
        Where the search stores decided afterstates, and the passes their layers, to continue after an
        interruption.  None: nothing is stored.
    keep:
        Whether the afterstates that a search has decided stay in the folder after its end, for another
        query or a certificate.
    seconds:
        The search gives up after this time; then `Forced.forced` is None.  If it is not given and the search
        may never end, it has `TRIED` seconds.  A pass does not give up.  But unless it is named as `engine`,
        it begins only if it probably takes at most 50 % of the time left.
    certificate:
        File for a proof (`search.certificates`), which the search and diagrams can make.
    again:
        One of `again.SECOND`: a second engine that counts the boards and the won boards of each layer of a
        dense pass anew (`questions.again`).  None: no second engine.
    cluster:
        Workers that do the large layers of a pass, as in `solve`, for the engines ``"dense"`` and
        ``"reachable"``.
    use:
        Memory, threads and the like: the keywords of `Use`.  `anyway` is about the pass or the
        diagrams named as `engine`; a search continues for `seconds`.

    Raises
    ------
    UsageError
        If the game has no goal, the engine does not exist, or certificates do not support the game.
    ResourceError, StorageError, CorruptError, WrongGameError
        If it does not fit into memory, nobody knows whether the search ends and `seconds` are not given, or
        the folder cannot be used.
    ClusterError, MissingExtraError
        If workers cannot be reached or used, or Dask is not installed.

    >>> force(Game("2x2", 8, start="empty")).forced, force(Game("2x2", 16, start="empty")).forced
    (True, False)
    """
    check_is_game(game)
    allowed = Allowance.of(**use)
    check_ways(game, engine, certificate, cluster)
    if again is not None:
        if engine != "dense":
            raise UsageError("a second engine reproduces the layers of a dense pass: choose the engine dense")
        check_second(game, again)
    since = working_time()
    if engine in (None, "search"):
        limit, tried = _time_limit(game, seconds, allowed)
        opened = searching(game, folder, allowed, time.perf_counter() + limit)
        free = engine is None and certificate is None
        patience = partial(patience_for, game, allowed) if free else None
        found = _by_search(opened, certificate, patience, keep=keep, progress=allowed.progress)
        if found is not None and found.forced is None and tried:
            refuse_endless(_endless(game))
        if found is not None:
            return found
    if engine == "diagrams":
        return _by_diagrams(game, folder, seconds, certificate, use)
    chosen = engine or "dense"
    space = "all" if chosen == "dense" else "reachable"
    use["anyway"] = allowed.anyway or engine is None
    solved = solve(game, "guaranteed", folder=folder, space=space, cluster=cluster, **use)
    assert isinstance(solved.value, Exact)
    seconds = working_time() - since
    found = Forced(game, solved.value.value == 1, chosen, solved.positions, seconds)
    if chosen != "dense":
        return found
    found = replace(found, layers=forced_layers(solved.layers[0]))
    if again is None:
        return found
    second = reproduce_layers(game, found.layers, forced=solved.value.value == 1, engine=again, **use)
    return replace(found, again=second)


def check_adversary(game: Game) -> None:
    """Raise `UsageError` without a goal, with other spawns than 2s and 4s, or with weights of cells."""
    if not game.can_win:
        raise UsageError("without a goal there is nothing to force: give a tile or a goal sum")
    if not game.spawn.is_common:
        raise UsageError(
            f"the adversary spawns 2s and 4s, and not {game.spawn}: solve it for the objective guaranteed"
        )
    if game.spawn.cells:
        raise UsageError(
            "what can be forced does not depend on weights of cells: leave them out of the spawn law"
        )


def check_ways(
    game: Game, engine: str | None, certificate: Path | str | None, cluster: str | Executor | None
) -> None:
    """Raise `UsageError` for what `check_adversary` refuses, and for ways that do not exist or do not fit."""
    check_adversary(game)
    if engine is not None and engine not in ENGINES:
        raise UsageError(f"engine {engine!r} does not exist: choose one of {', '.join(ENGINES)}")
    if cluster is not None and engine not in ("dense", "reachable"):
        raise UsageError("workers share the layers of a pass: choose the engine dense or reachable")
    if certificate is not None:
        if engine not in (None, "search", "diagrams"):
            raise UsageError("a certificate is made by the engines search and diagrams: leave the engine out")
        check_target(Path(certificate), game)


def _by_search(
    opened: AbstractContextManager[Search],
    certificate: Path | str | None,
    patience: Callable[[float], float] | None,
    *,
    keep: bool,
    progress: Callable[[Progress], None] | None,
) -> Forced | None:
    """Return what a search finds until its deadline; None if a pass is to be tried instead.

    With `patience` that is so after a second and after the time that ``patience(seconds left)`` gives, unless
    the deadline comes before.
    """
    since = working_time()
    with opened as search:
        end, forced, listed = search.deadline, None, None
        gives_way = patience is not None
        if patience is not None:
            first = search.deadline = min(end, time.perf_counter() + FIRST_PATIENCE)
            forced = decide_starts(search)
            end += search.deadline - first  # what compiling took
            now = time.perf_counter()
            change = now + patience(end - now) if forced is None else end
            gives_way = change < end
            search.deadline = min(change, end)
        if forced is None:
            forced = decide_starts(search)
        gives_way &= forced is None
        if keep or certificate is not None or (forced is None and not gives_way):
            search.save()
        if certificate is not None and forced is not None:
            search.deadline = math.inf  # forgotten afterstates may have to be decided again
            listed = write_certificate(Path(certificate), search, forced, progress=progress)
        opened_boards = search.opened
    found = {True: "forced", False: "not forced", None: "undecided"}[forced]
    LOG.debug("the search opened %d afterstates: %s", opened_boards, found)
    if gives_way:
        LOG.debug("the search gives way to a pass over all boards, which is expected to be faster")
        return None
    return Forced(search.game, forced, "search", opened_boards, working_time() - since, listed)


def _by_diagrams(
    game: Game, folder: Path | str | None, seconds: float, certificate: Path | str | None, use: Use
) -> Forced:
    """Return the verdict of decision diagrams.  Raises `ResourceError` if memory runs out."""
    found = symbolic(
        game, strong=False, counts=False, seconds=seconds, folder=folder, certificate=certificate, **use
    )
    if found.wins is None and found.out_of_memory:
        raise ResourceError(found.reason)
    if found.wins is not None and found.reason:  # the proof could not be written
        raise ResourceError(f"{found.statement}; but {found.reason}")
    layers = boards_by_sum(game)
    boards = sum(layers.get(int(line.name), 0) for line in found.lines)
    return Forced(game, found.wins, "diagrams", boards, found.seconds, found.listed)


@contextmanager
def searching(game: Game, folder: Path | str | None, allowed: Allowance, deadline: float) -> Iterator[Search]:
    """Give a `Search` in its folder, if it has one; if an error ends it, decided afterstates are saved."""
    path = None if folder is None else Path(folder)
    with nullcontext() if path is None else RunFolder(path, Query(game)):
        search = Search(game, allowed, folder=path, deadline=deadline)
        try:
            yield search
        except BaseException:
            search.save()
            raise
        finally:
            search.close()


def decide_starts(search: Search) -> bool | None:
    """Return whether the goal is forced from every start; None if time ran out."""
    game = search.game
    undecided = False
    afters = sorted({canonical(game, after) for after in game.start_afters})
    for board in afters or canonical_starts(game):
        found = search.decide(game.pack(board)) if afters else decide_state(search, board)
        if found is False:
            return False
        undecided |= found is None
    return None if undecided else True


def decide_state(search: Search, state: Cells) -> bool | None:
    """Return whether the player, to move, forces the goal; None if time ran out."""
    game = search.game
    afters = set(game.slides(state).values())
    if any(game.wins(after) for after in afters):
        return True
    undecided = False
    for after in sorted(afters):
        found = search.decide(game.pack(canonical(game, after)))
        if found:
            return True
        undecided |= found is None
    return None if undecided else False


# -- several queries ------------------------------------------------------------------------------


@dataclass(frozen=True)
class StartVerdict:
    """One start of two tiles: the least board of its orbit, the orbit's size, whether the goal is forced."""

    board: Cells
    boards: int
    forced: bool | None


def force_starts(
    game: Game,
    *,
    folder: Path | str | None = None,
    seconds: float = math.inf,
    **use: Unpack[Use],
) -> tuple[StartVerdict, ...]:
    """Decide every start of two tiles separately, one of each orbit.  Arguments and errors as of `force`.

    >>> [(one.boards, one.forced) for one in force_starts(Game("2x2", 8))]
    [(4, True), (8, True), (4, True), (2, True), (4, True), (2, True)]
    """
    check_is_game(game)
    allowed = Allowance.of(**use)
    if game.start != "two-tiles":
        raise UsageError("every start of two tiles is decided: leave the start out")
    check_adversary(game)
    seconds, tried = _time_limit(game, seconds, allowed)
    states = canonical_starts(game)
    with searching(game, folder, allowed, time.perf_counter() + seconds) as search:
        found = tuple(
            StartVerdict(state, orbit_size(game, state), decide_state(search, state)) for state in states
        )
        if any(one.forced is None for one in found):
            search.save()
            if tried:
                refuse_endless(_endless(game))
    return found


@dataclass(frozen=True)
class Largest:
    """The largest tile that can be forced.

    Attributes
    ----------
    game:
        The game, without a goal; the largest tile that fits ends it.
    tile:
        The largest tile that is known to be forced.
    exact:
        Whether the next larger tile is known not to be forced.
    positions, seconds:
        Afterstates opened, and seconds, for all goals together.
    answers:
        The results for each goal, the smallest goal first.
    """

    game: Game
    tile: int
    exact: bool
    positions: int
    seconds: float
    answers: tuple[Forced, ...]

    @property
    def shape(self) -> str:
        """The shape."""
        return self.game.shape_text

    def __repr__(self) -> str:
        return f"<Largest forced on {self.shape}: {self.tile}{'' if self.exact else ' or more'}>"


MOST_UNBOUNDED = 12
"""Cells up to which `largest_forced` needs no time limit; a board of one line never does."""


def largest_forced(
    shape: str,
    *,
    spawns: str = "2,4",
    start: str = "empty",
    limits: str | None = None,
    seconds: float = math.inf,
    known: dict[Game, Forced] | None = None,
    **use: Unpack[Use],
) -> Largest:
    """The largest tile that can be forced.  Goals are tried upwards, since a tile needs two of tile // 2.

    If only 2s are spawned, no tile above 2**n can be made on n cells, so an adversary that may spawn 2s
    prevents it.  `known` are results that are not computed again; new ones are added.  Raises the same
    errors as `force`, and `ResourceError` for a board of more than `MOST_UNBOUNDED` cells without `seconds`.

    >>> largest_forced("2x2").tile, largest_forced("2x2", spawns="2").tile
    (8, 16)
    """
    return _largest(
        shape, spawns=spawns, start=start, limits=limits, seconds=seconds, known=known,
        stops=(KeyboardInterrupt,), **use,
    )  # fmt: skip


def _largest(
    shape: str, *, spawns: str, start: str, limits: str | None, seconds: float,
    known: dict[Game, Forced] | None, stops: tuple[type[BaseException], ...], **use: Unpack[Use],
) -> Largest:  # fmt: skip
    """As `largest_forced`; where one of `stops` is raised, what is known by then is the result."""
    Allowance.of(**use)  # refuses here, too, where no goal is tried
    law, cells = law_of(spawns), math.prod(parse_shape(shape))
    if math.isinf(seconds) and cells > MOST_UNBOUNDED and max(parse_shape(shape)) < cells:
        refuse_endless(f"the largest tile on {shape}, of {cells} cells")
    before, began = time.perf_counter(), working_time()
    most = 15 if cells <= 16 else 7 if cells <= 21 else 3  # the largest exponent that fits into 64 bits
    whole = Game(shape, spawn=law, start=start, limits=limits, largest=2**most)
    there = max(whole.start_tiles)
    forced, exact = max(whole.spawn_exponents[0], there), True
    answers: list[Forced] = []
    # With the smallest spawn alone, each exponent above the spawned one needs one more cell.
    for exponent in range(forced + 1, forced + cells):
        if exponent > most + 1:
            exact = False
            break
        least = 0 if exponent == 2 else law  # the goal 4 must be made, not spawned
        game = Game(shape, 2**exponent, spawn=least, start=start, limits=limits)
        left = seconds - (time.perf_counter() - before)
        answer = known.get(game) if known else None
        if answer is None:
            try:
                answer = force(game, seconds=left, **use)
            except stops:
                exact = False
                break
        answers.append(answer)
        if known is not None and answer.forced is not None:
            known[game] = answer
        if not answer.forced:
            exact = answer.forced is False
            break
        forced = exponent
    positions = sum(answer.positions for answer in answers)
    return Largest(whole, 2**forced, exact, positions, working_time() - began, tuple(answers))


def table_shapes() -> Iterator[str]:
    """Shapes by their number of cells: m x n with m <= n, and boxes without a side of 1."""
    for cells in range(1, 33):
        for rows in range(1, cells + 1):
            if cells % rows == 0 and rows <= cells // rows:
                yield f"{rows}x{cells // rows}"
        for planes in range(2, cells + 1):
            for rows in range(planes, cells // planes + 1):
                if cells % (planes * rows) == 0 and rows <= cells // (planes * rows):
                    yield f"{planes}x{rows}x{cells // (planes * rows)}"


def forced_table(
    *,
    spawns: str = "2,4",
    seconds: float = 60.0,
    **use: Unpack[Use],
) -> Iterator[Largest]:
    """Yield the largest forced tile of each shape, from one cell on, until time runs out.

    The last result may not be exact.  Shapes whose boards do not fit into 64 bits are left out.
    """
    end = time.perf_counter() + seconds
    for shape in table_shapes():
        left = end - time.perf_counter()
        if left <= 0:
            return
        yield _largest(
            shape, spawns=spawns, start="empty", limits=None, seconds=left, known=None, stops=(), **use
        )


def _time_limit(game: Game, seconds: float, allowed: Allowance) -> tuple[float, bool]:
    """The seconds of a search, and whether it is only tried, since it may never end and has no limit."""
    endless = math.isinf(seconds) and search_seconds(game, allowed) > WEEK
    return (TRIED, True) if endless else (seconds, False)


def _endless(game: Game) -> str:
    return f"{game}, which is undecided after {TRIED:.0f} s,"


TRIED = 5.0
"""Seconds for a search that may never end and was asked without a time limit: some are decided at once."""
