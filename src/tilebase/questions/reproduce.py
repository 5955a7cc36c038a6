"""Recompute published numbers: every claim of the fact files that this version can compute.

`WAYS` has for each quantity how its claims are computed, and an estimate of the seconds, so that expensive
lines can be listed instead.  A number agrees if it equals the published one in the
published digits.  A proved lower bound improves on the published one if it is larger in those digits.  A
published float is within rounding if it differs by at most what the rounding of its type can change.  A
number that differs is an erratum of the source if docs/errata.md says so, with the number that was computed
here.  Where a source leaves open what it counts, a line has the reading that is counted here: no agreement
is claimed.  What something costs, in seconds or nodes, is compared and never right or wrong.

For lines that are not run, `records.tsv` has results of earlier runs, which are shown as recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import combinations
from typing import Any, NamedTuple

from tilebase.bdd.library import NODE_BYTES
from tilebase.bdd.strategies import BITS, Line, Method
from tilebase.claims.facts import WORDS, Claim, Key, agrees, read_claims, read_records
from tilebase.costs.passes import forcing_seconds, seconds_here
from tilebase.costs.reachable import counting
from tilebase.counting.combinatorics import boards_by_sum, bound
from tilebase.counting.counts import CountResult
from tilebase.counting.tiles import groups_of, least_expected_slides
from tilebase.errors import TilebaseError
from tilebase.game.game import Cells, Game
from tilebase.game.grid import parse_shape
from tilebase.game.symmetry import symmetries
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.objective import Objective
from tilebase.objectives.types import TYPES
from tilebase.patterns.checkerboards import COLOURINGS, Checkerboard, checkerboard
from tilebase.patterns.filling import figure
from tilebase.patterns.moves import drops_of, replay
from tilebase.patterns.reach import reach
from tilebase.patterns.rules import Rules
from tilebase.patterns.shortest import built_game
from tilebase.patterns.tallies import count_sequences
from tilebase.questions.count import count
from tilebase.questions.force import Forced, force, largest_forced
from tilebase.questions.prove import prove
from tilebase.questions.solve import solve
from tilebase.questions.symbolic import Symbolic, symbolic
from tilebase.runtime.measured import working_time
from tilebase.runtime.progress import Progress
from tilebase.runtime.resources import Allowance, Use
from tilebase.runtime.storage import temporary_folder
from tilebase.small import oracle
from tilebase.tables.probe import open_table
from tilebase.tables.slides import Slider

VERDICTS = (
    "agrees", "improves", "within rounding", "erratum", "own reading", "costs less", "costs more", "differs",
    "recorded", "over budget", "not possible here", "not in this version",
)  # fmt: skip
"""What is said of a line.  Only ``differs`` is a disagreement that nothing explains."""


@dataclass(frozen=True)
class Verdict:
    """The result of one line."""

    claim: Claim
    computed: str  # with the verdict "recorded", what an earlier run computed
    verdict: str  # one of `VERDICTS`
    seconds: float  # the time, or its estimate if nothing was run
    game: Game | None  # if the line is about one
    record: Mapping[str, str]  # the row of the earlier run, with the verdict "recorded"; else empty


class _OverBudgetError(TilebaseError):
    """A line takes more than the budget, against its estimate."""


class Known:
    """Answers that several lines need, each computed once; what takes more than the budget is not run.

    Engines that report their progress are stopped where the estimate of a line was too low: `use` are their
    keywords.
    """

    def __init__(self, budget: float) -> None:
        self.budget, self.until = budget, math.inf
        self.use: Use = {"progress": self._check}
        self.forced: dict[Game, Forced] = {}
        self._count: Callable[[Game, int | None], CountResult] = cache(
            lambda game, up_to: count(game, up_to=up_to, **self.use)
        )
        self.symbolic: Callable[..., Symbolic] = cache(partial(symbolic, seconds=budget, **self.use))
        self.boards_after_slides = cache(_boards_after_slides)

    def _check(self, _: Progress) -> None:
        if working_time() > self.until:
            raise _OverBudgetError

    def counts(self, claim: Claim) -> CountResult:
        """Return the counts of the game of a claim, up to its sum if it has one."""
        return self._count(claim.game, _last_sum(claim))

    def winnable(self, game: Game) -> str:
        """Return whether the goal is forced, as the lines within limits say it."""
        if game not in self.forced:
            self.forced[game] = force(game, **self.use)
        return "winnable" if self.forced[game].forced else "not_winnable"


# -- estimates, in seconds ------------------------------------------------------------------------


SOLVING = 2.5
"""About how much longer solving takes than counting."""


def _seconds(number: float) -> Callable[[Claim, Known], float]:
    return lambda *_: number


QUICK = _seconds(0.2)
"""The estimate for what takes a fraction of a second."""


def counting_seconds(claim: Claim, _: Known) -> float:
    """Return a rough estimate of the seconds to count a game here, from the sizes of its layers."""
    return counting(claim.game, Allowance.of(), up_to=_last_sum(claim)).seconds


def _last_sum(claim: Claim) -> int | None:
    """Return the sum up to which states are counted; those from which wins are counted back need all."""
    if not claim.columns.get("sum") or claim.quantity.quantity == "live_states_of_sum":
        return None
    return int(claim.columns["sum"])


def _solving_seconds(claim: Claim, known: Known) -> float:
    return SOLVING * counting_seconds(claim, known)


def _discounted_seconds(claim: Claim, known: Known) -> float:
    return 0.2 if claim.game.cells <= SMALL else _solving_seconds(claim, known)


def _forcing_seconds(claim: Claim, known: Known) -> float:
    game = _within(claim)
    return forcing_seconds(game, most=known.budget) * (1 + len(_beside(claim, game)))


def _largest_seconds(claim: Claim, known: Known) -> float:
    """Estimate the search for the next larger tile, which takes longest, or is refused by theory."""
    shape, tile = claim.board, int(claim.value)
    cells = math.prod(parse_shape(shape))
    if tile == 2**cells or cells <= 2:
        return 0.1
    return forcing_seconds(Game(shape, 2 * tile, start="empty"), most=known.budget)


def _largest_of_2s_seconds(claim: Claim, known: Known) -> float:
    game = Game(claim.columns["board"], int(claim.value), start="empty", spawn=0)
    return forcing_seconds(game, most=known.budget)


def _bound_seconds(claim: Claim, known: Known) -> float:
    name = "lower" if claim.quantity.kind == "lower" else "win"
    return seconds_here(claim.game, Objective(name, claim.columns["value_type"]), most=known.budget)


LONG_DIAGRAMS = {
    "3x3 to 512 sum": 102.0, "3x3 to 512 sum corollary7": 400.0, "3x3 to 512 sweep": 3600.0,
    "3x3 to 512 sweep corollary7": 3600.0, "3x3 to 512 accumulative": 8700.0, "4x4 to 16 sweep": 15.4,
    "4x4 to 16 accumulative": 17.2, "4x4 to 32 sum": 9.2, "4x4 to 32 sweep": 7200.0,
    "4x4 to 2048 bits (10,7) corollary7": 20.0, "4x4 to 2048 bits (10,6) corollary7": 2500.0,
    "4x4 to 2048 sweep (10,6)": 7200.0,
}  # fmt: skip
"""Seconds that diagrams took on two cores, by board, goal and method; all others take 2 or less."""


def _diagrams_seconds(claim: Claim, _: Known) -> float:
    method = _method(claim)[1]
    words = [claim.board, method.strategy, method.until, "corollary7" * method.corollary7]
    return LONG_DIAGRAMS.get(" ".join(filter(None, words)), 2.0)


# -- states and boards ----------------------------------------------------------------------------


def _of_sum(kind: str, claim: Claim, known: Known) -> int:
    """Count the states of one layer, or the live ones."""
    result = known.counts(claim)
    return int(getattr(result, kind)[result.sums == int(claim.columns["sum"])].sum())


def _after_lookahead(claim: Claim, known: Known) -> int:
    total, exponent = int(claim.columns["sum"]), int(claim.columns["largest"]).bit_length() - 1
    result = count(claim.game, lookahead=True, up_to=total, **known.use)
    return int(result.live[result.sums == total, exponent].sum())


A3_LIMITS = "1024,512,64,16,256,256,128,16,16,16,32,16,16,16,16,16"


def _three_layers(sizes: dict[int, int]) -> int:
    """Return the most boards of a layer and of the two that its spawns lead to."""
    return max(n + sizes.get(s + 2, 0) + sizes.get(s + 4, 0) for s, n in sizes.items())


def _boards_after_slides(game: Game) -> tuple[int, int]:
    """Return how many boards a slide can make, without symmetry, and how many can still win: by plain rules.

    Of the sums from the horizon on, only won boards count as able to win.
    """
    slider = Slider(game)
    won: set[Cells] = set()
    following: dict[Cells, list[list[Cells]]] = {}
    waiting = list(game.start_afters)
    while waiting:
        after = waiting.pop()
        if after in following:
            continue
        slides = [slider.slides(board) for board, _ in game.spawns(after)]
        won.update(result for found in slides for _, result, wins in found if wins)
        following[after] = [[result for _, result, _ in found] for found in slides]
        waiting += [result for found in slides for _, result, wins in found if not wins]
    able = set(won)
    for after in sorted(following, key=game.sum, reverse=True):
        if any(result in able for results in following[after] for result in results):
            able.add(after)
    return len(following) + len(won), len(able)


# -- forced tiles ---------------------------------------------------------------------------------


def _within(claim: Claim) -> Game:
    """Return the game of a claim, without limits where the goal itself limits the tiles as much."""
    game = claim.game
    least = len(set(game.tops)) == 1 and game.tops[0] == (game.goal_exponent or 0) - 1
    return game.changed(limits=None) if least else game


def _within_limits(claim: Claim, known: Known) -> str:
    """Decide whether the goal is forced within limits, and whether these are minimal or maximal."""
    game = _within(claim)
    found = known.winnable(game)
    alike = next((one for one in _beside(claim, game) if known.winnable(one) == found), None)
    return found if alike is None else f"{found}, but not {claim.note}: so is {alike.limits_text}"


def _beside(claim: Claim, game: Game) -> list[Game]:
    """Return the games with lower limits, if a claim says that its own are minimal; so for maximal ones."""
    step = {"minimal": -1, "maximal": 1}.get(claim.note)
    return [] if step is None else limits_beside(game, step)


def limits_beside(game: Game, step: int) -> list[Game]:
    """Return the games in which the limit of one cell is a step lower or higher, one of each orbit.

    >>> [one.limits_text for one in limits_beside(Game("2x2", 16, limits="8,8/8,4"), -1)]
    ['4,8/8,4', '8,4/8,4']
    """
    least, most = max(game.spawn_exponents), (game.goal_exponent or 0) - 1
    found: dict[Cells, Game] = {}
    for cell, top in enumerate(game.tops):
        if least <= top + step <= most:
            tops = (*game.tops[:cell], top + step, *game.tops[cell + 1 :])
            turned = (tuple(tops[c] for c in way) for way in symmetries(game.changed(limits=None)))
            found.setdefault(min(turned), game.changed(limits=[1 << one for one in tops]))
    return [*found.values()]


# -- values ---------------------------------------------------------------------------------------


SMALL = 4
"""Cells of a board that the oracle solves."""


def _value(objective: str, claim: Claim, known: Known) -> Fraction:
    """Solve a game; it begins with two 2s where the line says so."""
    if claim.columns.get("rules"):
        return _from_two_twos(claim.game, objective, known)
    return Fraction(float(solve(claim.game, objective, **known.use).value))


def _discounted(claim: Claim, known: Known) -> Fraction:
    game, discount = claim.game, claim.columns["discount"]
    if game.cells <= SMALL:
        return oracle.values(game, discount=discount).start
    return Fraction(float(solve(game, discount=discount, **known.use).value))


def _win_within_limits(claim: Claim, known: Known) -> Fraction:
    label = f"win:{claim.columns['value_type']}"
    return Fraction(float(solve(claim.game, label, space="all", **known.use).value))


def _from_two_twos(game: Game, objective: str, known: Known) -> Fraction:
    """Return the mean value of all states with two 2s."""
    with temporary_folder() as folder:
        solve(game, objective, table=folder / "table", **known.use)
        with closing(open_table(folder / "table")) as table:
            pairs = list(combinations(range(game.cells), 2))
            boards = [game.format(tuple(int(cell in pair) for cell in range(game.cells))) for pair in pairs]
            values = [Fraction(float(table.probe(board).value)) for board in boards]
    return sum(values, Fraction()) / len(values)


# -- diagrams -------------------------------------------------------------------------------------
# The source does not say which states it counts.  We read it as those that corollary 7 allows and that hold a
# 2, which is an inference; its nodes and times are compared without these conditions.


MEASURES = {
    "forced_against_2s": ("forced", "sum"),
    "sweep_seconds": ("seconds", "sweep"),
    "sweep_largest_nodes": ("largest_nodes", "sweep"),
    "accumulative_seconds": ("seconds", "accumulative"),
    "accumulative_largest_nodes": ("largest_nodes", "accumulative"),
    "cumulative_states": ("states", "sum"),
    "cumulative_bytes_per_state": ("bytes_per_state", "sum"),
    "line_states": ("states", "sweep"),
    "line_nodes": ("nodes", "sweep"),
    "line_seconds": ("seconds", "sweep"),
}
"""By quantity, what is measured, and the strategy."""
LARGEST_DIAGRAMS = 2048
"""The goal of which only the lines up to that of a claim are computed."""


def _method(claim: Claim) -> tuple[str, Method]:
    """Return the line that is measured, and how diagrams are made."""
    what, strategy = MEASURES[claim.quantity.quantity]
    line = f"({claim.columns['line']})" if claim.columns.get("line") else ""
    until = line if claim.game.goal == LARGEST_DIAGRAMS else ""
    if until and what == "states":
        strategy = BITS  # the same states, and line (10,6) takes diagrams too much memory
    return line, Method(strategy=strategy, until=until, corollary7=what == "states")


def _diagrams(claim: Claim, known: Known) -> Any:
    """Compute winning sets as decision diagrams, and measure them or one of their lines."""
    name, method = _method(claim)
    found = known.symbolic(claim.game, method)
    if found.reason and not found.out_of_memory:
        raise _OverBudgetError
    what = MEASURES[claim.quantity.quantity][0]
    if what == "forced":
        return WORDS[found.wins]
    return _measured(what, [one for one in found.lines if name in ("", one.name)])


def _measured(what: str, lines: list[Line]) -> Any:
    """Return a measure of some sweep lines; states are counted at both turns, as in the source."""
    if what == "seconds":
        return Fraction(round(sum(line.seconds for line in lines), 2))
    if what == "largest_nodes":
        return max(line.peak for line in lines)
    nodes, states = sum(line.nodes for line in lines), sum(line.states + line.afterstates for line in lines)
    return {"nodes": nodes, "states": states, "bytes_per_state": Fraction(nodes * NODE_BYTES, states)}[what]


# -- checkerboards --------------------------------------------------------------------------------
# In the source, no tile above 4 is made and only 2s are dropped.


def _figure(number: int) -> str:
    """Find a game with drops of 2s that ends with the square board of a figure."""
    board = figure(number)
    side = math.isqrt(len(board))
    found = reach(Rules(side, side).text(board), drops="2", seconds=60)
    reached = found.moves is not None and replay(found.rules, found.moves)[-1] == board
    return "yes" if reached else "not decided"


def _shortest(claim: Claim, _: Known) -> int | None:
    rows, columns = parse_shape(claim.board)
    return drops_of(built_game(Rules(rows, columns)) or ())


def _cooperative(claim: Claim, _: Known) -> str:
    """A checkerboard is reachable if a sequence leads to it; that none does is decided by search."""
    if any(_replays(checkerboard(claim.board, colouring)) for colouring in COLOURINGS):
        return "yes"
    verdicts = [checkerboard(claim.board, colour, search=True, seconds=600) for colour in COLOURINGS]
    return "no" if all(verdict.reachable is False for verdict in verdicts) else "not decided"


def _replays(verdict: Checkerboard) -> bool:
    """Return whether the moves of a verdict lead to the checkerboard by the plain rules."""
    return bool(verdict.moves) and replay(verdict.rules, verdict.moves)[-1] == verdict.position


def two_lines_are_reachable(most: int) -> bool:
    """Tell whether deterministic games reach both checkerboards of m x 2 and 2 x n, sides up to `most`."""
    sizes = [size for length in range(2, most + 1) for size in (f"{length}x2", f"2x{length}")]
    return all(
        _replays(checkerboard(size, colouring, deterministic=True))
        for size in sizes
        for colouring in COLOURINGS
    )


# -- all ------------------------------------------------------------------------------------------


class Way(NamedTuple):
    """How claims of a quantity are computed, and an estimate of the seconds."""

    compute: Callable[[Claim, Known], Any]
    seconds: Callable[[Claim, Known], float] = QUICK


def _counted(number: Callable[[CountResult], int]) -> Way:
    return Way(lambda claim, known: number(known.counts(claim)), counting_seconds)


def _quick(value: Callable[[Game], Any]) -> Way:
    return Way(lambda claim, _: value(claim.game))


WAYS: dict[str, Way] = {
    "live_states": _counted(lambda found: found.total("live")),
    # Win and loss are one special state each.
    "states_with_specials": _counted(lambda found: found.total("live") + 2),
    "raw_states_without_symmetry_with_specials": _counted(lambda found: found.total("raw_live") + 2),
    # They are absorbing: one step leads from each to itself.
    "raw_transitions_without_symmetry": _quick(lambda game: len(oracle.transitions(game)) + 2),
    "states": _counted(lambda found: found.total("states")),
    "raw_states": _counted(lambda found: found.total("raw_states")),
    "afterstates": _counted(lambda found: found.total("afterstates")),
    "terminal_states": _counted(lambda found: found.total("losing")),
    "states_of_sums_up_to": _counted(lambda found: found.total("states")),
    "raw_states_of_sums_up_to": _counted(lambda found: found.total("raw_states")),
    "states_of_sum": Way(partial(_of_sum, "states"), counting_seconds),
    "live_states_of_sum": Way(partial(_of_sum, "live"), counting_seconds),
    "most_live_states_of_a_sum": _counted(lambda found: int(found.live.sum(axis=1).max())),
    "live_states_of_sum_with_largest_after_lookahead": Way(_after_lookahead, counting_seconds),
    "least_expected_slides_to_win_without_a_board": Way(
        lambda claim, _: Fraction(least_expected_slides(claim.game)), _seconds(7)
    ),
    "combinatorial_bound": _quick(lambda game: bound(game).possible),
    "positions_both_turns": _quick(lambda game: 2 * bound(game).boards),
    "positions_within_A3_limits": _quick(lambda game: 2 * bound(game.changed(limits=A3_LIMITS)).boards),
    "largest_layer": _quick(lambda game: max(boards_by_sum(game).values())),
    "three_layers_bytes": _quick(lambda game: _three_layers(boards_by_sum(game)) // 8),
    "tile_multisets": _quick(lambda game: len(groups_of(game))),
    "largest_multiset_class": _quick(lambda game: groups_of(game).largest),
    # The source counts boards of formations that win after a slide, too.
    "boards_generated": Way(lambda claim, known: known.boards_after_slides(claim.game)[0], _seconds(40)),
    "boards_worth_more_than_0": Way(
        lambda claim, known: known.boards_after_slides(claim.game)[1], _seconds(40)
    ),
    "largest_tile": Way(
        lambda claim, known: largest_forced(claim.board, known=known.forced, **known.use).tile,
        _largest_seconds,
    ),
    "largest_tile_that_can_be_forced": Way(
        lambda claim, known: largest_forced(claim.columns["board"], spawns="2", **known.use).tile,
        _largest_of_2s_seconds,
    ),
    "whether_the_player_can_force_it": Way(
        lambda claim, known: WORDS[force(claim.game, **known.use).forced], _forcing_seconds
    ),
    "forced_within_limits": Way(_within_limits, _forcing_seconds),
    "win": Way(_discounted, _discounted_seconds),
    "discounted_win": Way(_discounted, _discounted_seconds),
    "probability_to_win": Way(partial(_value, "win"), _solving_seconds),
    "value_of_the_start": Way(partial(_value, "win"), _solving_seconds),
    "expected_score_under_optimal_play": Way(partial(_value, "score"), _solving_seconds),
    "highest_score_with_luck": Way(partial(_value, "highest"), _solving_seconds),
    "slides_of_the_longest_game": Way(partial(_value, "longest"), _solving_seconds),
    "fewest_slides_to_a_win_with_luck": Way(partial(_value, "fewest"), _solving_seconds),
    "bound_within_limits": Way(
        lambda claim, known: prove(claim.game, dtype=claim.columns["value_type"], **known.use).bound,
        _bound_seconds,
    ),
    "win_within_limits": Way(_win_within_limits, _bound_seconds),
    **dict.fromkeys(MEASURES, Way(_diagrams, _diagrams_seconds)),
    "deterministic_sequences": Way(lambda claim, _: count_sequences(claim.board, deterministic=True).total),
    # The source counts those to one of the two checkerboards.
    "cooperative_sequences": Way(lambda claim, _: count_sequences(claim.board).twos),
    "cooperatively_reachable": Way(_cooperative, _seconds(1)),
    "deterministically_reachable": Way(
        lambda claim, _: claim.value if two_lines_are_reachable(40) else "not all", _seconds(15)
    ),
    "figure_7_reachable": Way(lambda *_: _figure(7), _seconds(10)),
    "figure_8_reachable": Way(lambda *_: _figure(8), _seconds(10)),
    "drops_to_an_end_position": Way(_shortest, _seconds(50)),
}
"""By quantity, how its claims are computed."""


def reproduce(
    source: str | None = None, *, budget: float = 60.0, without: Container[Key] = ()
) -> Iterator[Verdict]:
    """Recompute the claims of a source (None: of all sources); yields one verdict per line.

    Lines whose estimate exceeds `budget` seconds are not run, a line that takes longer is stopped where its
    engine reports progress, and of those whose file, board and question
    are in `without` there is no verdict.  Raises `UsageError` for an unknown source.
    """
    known = Known(budget)
    for claim in read_claims(source):
        if claim.key not in without:
            yield judge(claim, budget, known)


def judge(claim: Claim, budget: float, known: Known | None = None) -> Verdict:
    """Recompute one line, if its estimated time is at most `budget` seconds."""
    way, known = WAYS.get(claim.quantity.quantity), known or Known(budget)
    game = claim.game if claim.has_game else None
    if way is None:
        return Verdict(claim, "", "not in this version", 0.0, game, {})
    seconds = way.seconds(claim, known)
    if seconds > budget:
        return _not_run(claim, seconds, game)
    since = working_time()
    known.until = since + budget
    try:
        computed = way.compute(claim, known)
    except _OverBudgetError:
        return _not_run(claim, working_time() - since, game)
    except TilebaseError as error:  # the other lines are not lost
        return Verdict(claim, str(error), "not possible here", working_time() - since, game, {})
    seconds = working_time() - since
    shown = digits_text(computed) if isinstance(computed, Fraction) else str(computed)
    return Verdict(claim, shown, compare(claim, computed), seconds, game, {})


def _not_run(claim: Claim, seconds: float, game: Game | None) -> Verdict:
    """Return what is known of a line that takes more than the budget."""
    record = read_records().get(claim.key, {})
    verdict = "recorded" if record else "over budget"
    return Verdict(claim, record.get("computed", ""), verdict, seconds, game, record)


def compare(claim: Claim, computed: Any) -> str:
    """Return the verdict on a computed value: one of `VERDICTS`."""
    if claim.quantity.kind == "measured":
        return "costs less" if computed < Fraction(claim.value) else "costs more"
    if claim.is_reading:
        return "own reading"
    if agrees(claim.stated, computed):
        return "agrees"
    sign = {"at least": 1, "at most": -1}.get(claim.relation, 0)
    if sign and sign * computed > sign * Fraction(claim.value):
        return "improves"
    # The rounding error of a published float: at most 0.5 ulp per slide, about T / 2 slides for a goal T.
    if dtype := TYPES.get(claim.columns.get("value_type", "")):
        most = dtype.tie / 2 * int(claim.columns["goal"]) / 2
        if abs(computed - Fraction(claim.value)) <= most:
            return "within rounding"
    return "erratum" if claim.right and agrees(claim.right, computed) else "differs"


def summary(verdicts: Iterable[Verdict]) -> str:
    """Return one line of text: how many there are of each verdict."""
    names = [verdict.verdict for verdict in verdicts]
    return ", ".join(f"{names.count(name)} {name}" for name in VERDICTS if name in names)
