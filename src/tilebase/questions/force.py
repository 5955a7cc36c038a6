"""Deciding whether a goal is forced: whether the player can make it against every spawn.

This depends only on whether 2s and 4s may be spawned, and not on the probability of a 4.  There are
four engines:

* ``search``: a depth-first search of canonical afterstates with a table of decided ones
  (`search.search`).  It opens a few percent of the boards up to symmetry, and finds a strategy.
* ``dense``: a pass over all boards within the limits (`dense.passes`), with one bit per board.  It is the
  fastest engine for many boards, if their layers fit into memory.
* ``diagrams``: sets of boards as decision diagrams (`questions.symbolic`).  It is the fastest for boards of
  many cells and few different tiles, such as 4x4 to 32.
* ``reachable``: counting and solving the reachable positions (`questions.solve`), for comparisons.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tilebase._version import version as program_version
from tilebase.cluster.runs import check_shared
from tilebase.costs.estimate import WEEK, WORTH_TELLING, refuse_endless
from tilebase.costs.passes import FIRST_PATIENCE, patience_for, search_seconds
from tilebase.errors import ResourceError, UsageError
from tilebase.files.run import Query, RunFolder
from tilebase.game.findings import VERDICTS, Finding, Reported
from tilebase.game.game import Cells, Game, check_is_game
from tilebase.game.grid import parse_shape
from tilebase.game.names import forced_words, spawn_words, start_words, title_of
from tilebase.game.spawns import law_of
from tilebase.game.symmetry import canonical, canonical_starts, orbit_size
from tilebase.objectives.values import Exact
from tilebase.runtime.measured import duration, working_time
from tilebase.runtime.progress import EXPECTED, Progress
from tilebase.runtime.resources import Allowance, Use
from tilebase.search.search import Search

if TYPE_CHECKING:
    from tilebase.cluster.pieces import Executor
    from tilebase.questions.again import Again

LOG = logging.getLogger(__name__)
ENGINES = ("search", "dense", "diagrams", "reachable")
"""What decides a query; `force` says how each does it."""


@dataclass(frozen=True)
class ForcedLayer:
    """The afterstates of one sum: how many boards there are, and from how many the goal is forced."""

    sum: int
    boards: int
    won: int


@dataclass(frozen=True, repr=False)
class Forced(Reported):
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
        How many afterstates the search opened or ``"reachable"`` solved, or how many boards the pass or the
        diagrams solved.
    seconds:
        The time of the last call, without calls that it continued.
    listed:
        Boards in the certificate, if one was written.
    layers:
        Of a dense pass, the boards and the won boards of each sum, ascending.
    again:
        What diagrams found for these layers, if they were to count them again.
    version:
        The version of this program.
    """

    facts = (
        "game", "forced", "engine", "positions", "seconds", "listed", "layers", "checksum", "again",
        "version",
    )  # fmt: skip

    game: Game
    forced: bool | None
    engine: str
    positions: int
    seconds: float
    listed: int | None = None
    layers: tuple[ForcedLayer, ...] = ()
    again: Again | None = None
    version: str = field(default_factory=program_version)

    @property
    def unit(self) -> str:
        """What `positions` counts."""
        return "boards" if self.engine in ("dense", "diagrams") else "afterstates"

    @property
    def checksum(self) -> str:
        """The SHA-256 of a line ``SUM BOARDS WON`` for each layer, each with a newline; empty without any."""
        lines = (f"{one.sum} {one.boards} {one.won}\n" for one in self.layers)
        return hashlib.sha256("".join(lines).encode()).hexdigest() if self.layers else ""

    def asked(self) -> tuple[Finding, ...]:
        """Return the verdict."""
        sentence, what = forced_words(self.game, self.forced), "whether the goal can be forced"
        return (Finding(title_of(self.game), what, *VERDICTS[self.forced], sentence=sentence),)


def force(
    game: Game,
    *,
    engine: str | None = None,
    folder: Path | str | None = None,
    keep: bool = True,
    seconds: float = math.inf,
    certificate: Path | str | None = None,
    again: bool = False,
    cluster: str | Executor | None = None,
    **use: Unpack[Use],
) -> Forced:
    """Decide whether the player can force the goal against every spawn.

    Parameters
    ----------
    game:
        The game; of the probability of a 4, only whether it is 0, 1 or between counts.
    engine:
        One of `ENGINES`.  None: the search, then a dense pass.  The pass begins if it fits into memory and 50
        % of the time left, and the search has not ended after 1 s plus 1/10 of the estimated time of the
        pass, plus the time to compile its kernels if they are not cached.
    folder:
        The folder for decided afterstates of the search and layers of the passes, to continue after an
        interruption.  None: nothing is stored.
    keep:
        Keep the afterstates that a search has decided in the folder, for another query or a certificate.
    seconds:
        The search stops after this time; then `Forced.forced` is None.  Without it, a search that may never
        end has `TRIED` seconds.  A pass does not stop.
    certificate:
        File for a proof (`search.certificates`), which the search and diagrams can make.
    again:
        Count the boards and wins of each layer of a dense pass again, by diagrams (`questions.again`).
    cluster:
        Workers that do the large layers, as in `solve`, for the engine ``"reachable"``.
    use:
        Memory, threads and the like: the keywords of `Use`.  `anyway` is for the pass or the diagrams named
        as `engine`; a search continues for `seconds`.

    Raises
    ------
    UsageError
        If the game has no goal, the engine does not exist, or certificates do not support the game.
    ResourceError, StorageError, CorruptError, WrongGameError
        If it does not fit into memory, if the search may never end and `seconds` is missing, or if the folder
        cannot be used.
    ClusterError, MissingExtraError
        If workers cannot be reached or used, or Dask is not installed.

    >>> force(Game("2x2", 8, start="empty")).forced, force(Game("2x2", 16, start="empty")).forced
    (True, False)
    """
    check_is_game(game)
    allowed = Allowance.of(**use)
    check_ways(game, engine, certificate, cluster)
    if again and engine != "dense":
        raise UsageError("diagrams count the layers of a dense pass again: choose the engine dense")
    since = working_time()
    if engine in (None, "search"):
        free = engine is None and certificate is None
        limit, tried = _time_limit(game, seconds, allowed, free=free)
        opened = searching(game, folder, allowed, time.perf_counter() + limit)
        patience = partial(patience_for, game, allowed) if free else None
        found = _by_search(opened, certificate, patience, keep=keep, progress=allowed.progress)
        if found is not None and found.forced is None and tried:
            refuse_endless(_endless(game))
        if found is not None:
            return found
    if engine == "diagrams":
        return _by_diagrams(game, folder, seconds, certificate, use)
    use["anyway"] = allowed.anyway or engine is None
    found = _by_pass(game, engine or "dense", folder, again, cluster, use)
    return replace(found, seconds=working_time() - since)


def check_adversary(game: Game) -> None:
    """Raise `UsageError` without a goal."""
    if not game.can_win:
        raise UsageError("without a goal there is nothing to force: give a tile or a goal sum")


def check_ways(
    game: Game, engine: str | None, certificate: Path | str | None, cluster: str | Executor | None
) -> None:
    """Raise `UsageError` for what `check_adversary` refuses, and for ways that do not exist or do not fit."""
    check_adversary(game)
    if engine is not None and engine not in ENGINES:
        raise UsageError(f"engine {engine!r} does not exist: choose one of {', '.join(ENGINES)}")
    check_shared(cluster, engine)
    if certificate is not None:
        if engine not in (None, "search", "diagrams"):
            raise UsageError("a certificate is made by the engines search and diagrams: leave the engine out")
        from tilebase.search.certificates import check_target

        check_target(Path(certificate), game)


def _by_search(
    opened: AbstractContextManager[Search],
    certificate: Path | str | None,
    patience: Callable[[float], float] | None,
    *,
    keep: bool,
    progress: Callable[[Progress], None] | None,
) -> Forced | None:
    """Return what a search finds until its deadline; None if a pass is to be tried instead (`_patiently`)."""
    since = working_time()
    with opened as search:
        gives_way, listed = False, None
        if patience is None:
            forced = decide_starts(search)
        else:
            forced, gives_way = _patiently(search, patience)
        if keep or certificate is not None or (forced is None and not gives_way):
            search.save()
        if certificate is not None and forced is not None:
            search.deadline = math.inf  # forgotten afterstates may have to be decided again
            from tilebase.search.certificates import write_certificate

            listed = write_certificate(Path(certificate), search, forced, progress=progress)
        opened_boards = search.opened
    found = {True: "forced", False: "not forced", None: "undecided"}[forced]
    LOG.debug("the search opened %d afterstates: %s", opened_boards, found)
    if gives_way:
        LOG.debug("the search gives way to a pass over all boards, which is expected to be faster")
        return None
    return Forced(search.game, forced, "search", opened_boards, working_time() - since, listed)


def _patiently(search: Search, patience: Callable[[float], float]) -> tuple[bool | None, bool]:
    """Return the verdict of a search, and whether it gives way to a pass.

    It does if it is undecided after a second, and again after the time that ``patience(seconds left)`` gives,
    unless its deadline comes before.
    """
    end = search.deadline
    for wait in (lambda _: FIRST_PATIENCE, patience):
        now = time.perf_counter()
        search.deadline = until = min(now + wait(end - now), end)
        forced = decide_starts(search)
        if forced is not None or until == end:
            return forced, False
        end += search.deadline - until  # compiling takes nothing of the time
    return None, True


def _by_pass(
    game: Game, engine: str, folder: Path | str | None, again: bool, cluster: str | Executor | None, use: Use
) -> Forced:
    """Return the verdict of a pass over all boards, or over those that occur."""
    from tilebase.questions.solve import solve

    space = "all" if engine == "dense" else "reachable"
    solved = solve(game, "guaranteed", folder=folder, space=space, cluster=cluster, **use)
    assert isinstance(solved.value, Exact)
    forced = solved.value.value == 1
    found = Forced(game, forced, engine, solved.positions, 0.0)
    if engine != "dense":
        return found
    layers = tuple(ForcedLayer(one.sum, one.positions, one.won) for one in solved.layers[0])
    found = replace(found, layers=layers)
    if not again:
        return found
    from tilebase.questions.again import reproduce_layers

    return replace(found, again=reproduce_layers(game, found.layers, forced=forced, **use))


def _by_diagrams(
    game: Game, folder: Path | str | None, seconds: float, certificate: Path | str | None, use: Use
) -> Forced:
    """Return the verdict of decision diagrams.  Raises `ResourceError` if memory runs out."""
    from tilebase.bdd.strategies import Method
    from tilebase.counting.combinatorics import boards_by_sum
    from tilebase.questions.symbolic import symbolic

    method = Method(strong=False, counts=False)
    found = symbolic(game, method, seconds=seconds, folder=folder, certificate=certificate, **use)
    if found.wins is None and found.out_of_memory:
        raise ResourceError(found.reason)
    if found.wins is not None and found.reason:  # the proof could not be written
        raise ResourceError(f"{found.statement.removesuffix('.')}; but {found.reason}")
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


@dataclass(frozen=True, repr=False)
class Starts(Reported):
    """The starts of two tiles from which a goal can be forced, one of each orbit."""

    facts = ("game", "boards", "forced", "undecided")

    game: Game
    starts: tuple[StartVerdict, ...]

    @property
    def boards(self) -> int:
        """The number of starts."""
        return sum(one.boards for one in self.starts)

    @property
    def forced(self) -> int:
        """From how many of them the goal is forced."""
        return sum(one.boards for one in self.starts if one.forced)

    @property
    def undecided(self) -> int:
        """How many are undecided, since time ran out."""
        return sum(one.boards for one in self.starts if one.forced is None)

    def asked(self) -> tuple[Finding, ...]:
        """Return from how many starts the goal is forced."""
        spawns = spawn_words(self.game)
        what = f"starts of two tiles from which the goal can be forced against every spawn of {spawns}"
        value = f"{self.forced} of {self.boards}" + f", {self.undecided} undecided" * bool(self.undecided)
        return (Finding(title_of(self.game), what, value, "exact"),)


def force_starts(
    game: Game, *, folder: Path | str | None = None, seconds: float = math.inf, **use: Unpack[Use]
) -> Starts:
    """Decide every start of two tiles separately, one of each orbit.  Arguments and errors as of `force`.

    >>> found = force_starts(Game("2x2", 8))
    >>> found.forced, found.boards, len(found.starts)
    (24, 24, 6)
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
    return Starts(game, found)


@dataclass(frozen=True, repr=False)
class Largest(Reported):
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
        Afterstates opened by searches and boards of passes, and seconds, for all goals together.
    answers:
        The results for each goal, the smallest goal first.
    """

    facts = ("game", "shape", "tile", "exact", "positions", "seconds", "answers")

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

    def asked(self) -> tuple[Finding, ...]:
        """Return the largest tile, or a lower bound of it."""
        game, what = self.game, "largest tile that can be forced"
        value, kind = (str(self.tile), "exact") if self.exact else (f"at least {self.tile}", "lower")
        limits = f" within the limits {game.limits_text}" if game.low_limits else ""
        sentence = (
            f"2048 on {self.shape}, from {start_words(game)}: {what}{limits} against every spawn of "
            f"{spawn_words(game)}: {value} ({kind})."
        )
        return (Finding(f"{self.shape}{limits}", what, value, kind, sentence=sentence),)


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
    Ctrl-C ends the search with what was decided before.

    >>> largest_forced("2x2").tile, largest_forced("2x2", spawns="2").tile
    (8, 16)
    """
    Allowance.of(**use)  # refuses here, too, where no goal is tried
    law, cells = law_of(spawns), math.prod(parse_shape(shape))
    if math.isinf(seconds) and cells > MOST_UNBOUNDED and max(parse_shape(shape)) < cells:
        refuse_endless(f"the largest tile on {shape}, of {cells} cells")
    before, began = time.perf_counter(), working_time()
    most = 15 if cells <= 16 else 7 if cells <= 21 else 3  # the largest exponent that fits into 64 bits
    whole = Game(shape, spawn=law, start=start, limits=limits or 2**most)
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
            except KeyboardInterrupt:
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


def _time_limit(game: Game, seconds: float, allowed: Allowance, *, free: bool = False) -> tuple[float, bool]:
    """The seconds of a search, and whether it is only tried, since it may never end and has no limit.

    A search that may take long is logged as expected; a `free` one may be replaced by a pass.
    """
    expected = search_seconds(game, allowed)
    if expected > WEEK and math.isinf(seconds):
        return TRIED, True
    if expected >= WORTH_TELLING:
        sooner = " unless a pass over all boards replaces it" * free
        takes = f"roughly {duration(min(expected, seconds))} if it is not decided early"
        LOG.info(EXPECTED, f"searching {title_of(game)}: {takes}{sooner}")
    return seconds, False


def _endless(game: Game) -> str:
    return f"{game}, which is undecided after {TRIED:.0f} s,"


TRIED = 5.0
"""Seconds for a search that may never end and was asked without a time limit: some are decided at once."""
