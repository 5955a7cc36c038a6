"""Recompute published numbers: every claim of the fact files that this version can compute.

`COMPUTED` has a function for each quantity.  It returns how a claim is computed, with an estimate of the
time, so that expensive lines can be listed instead.  A number agrees if it equals the published one in the
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
from typing import Any

from tilebase.bdd.library import NODE_BYTES
from tilebase.bdd.strategies import Line
from tilebase.claims.facts import WORDS, Claim, Key, agrees, read_claims, read_records
from tilebase.costs.forcing import forcing_seconds
from tilebase.costs.machines import seconds_here
from tilebase.costs.reachable import counting
from tilebase.counting.combinatorics import boards_by_sum, bound
from tilebase.counting.counts import CountResult
from tilebase.counting.groups import groups_of
from tilebase.counting.tiles import least_expected_slides
from tilebase.errors import TilebaseError
from tilebase.game.game import Cells, Game
from tilebase.game.grid import parse_shape
from tilebase.game.symmetry import symmetries
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.objective import Objective
from tilebase.objectives.types import TYPES
from tilebase.patterns.checkerboards import COLOURINGS, Checkerboard, checkerboard
from tilebase.patterns.moves import replay
from tilebase.patterns.near import figure
from tilebase.patterns.reach import reach
from tilebase.patterns.rules import Rules
from tilebase.patterns.shortest import built_game, drops_of
from tilebase.patterns.tallies import count_sequences
from tilebase.questions.count import count
from tilebase.questions.force import Forced, force, largest_forced
from tilebase.questions.prove import prove
from tilebase.questions.solve import solve
from tilebase.questions.symbolic import Symbolic, expected_cost, symbolic
from tilebase.runtime.measured import working_time
from tilebase.runtime.resources import Allowance
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
class Computation:
    """A function that computes a claim, an estimate of its seconds, and the game if it is one of `Game`."""

    compute: Callable[[], Any]
    seconds: float
    game: Game | None = None


@dataclass(frozen=True)
class Verdict:
    """The result of one line.

    Attributes
    ----------
    claim, computed:
        The line, and what was computed; with the verdict ``recorded``, what an earlier run computed.
    verdict:
        One of `VERDICTS`.
    seconds:
        The time, or its estimate if nothing was run.
    game:
        The game, if it is one of `Game`.
    record:
        The row of the earlier run, with the verdict ``recorded``; empty otherwise.
    """

    claim: Claim
    computed: str
    verdict: str
    seconds: float
    game: Game | None
    record: Mapping[str, str]


class Known:
    """Answers that several lines need, each computed once; what takes more than the budget is not run."""

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.forced: dict[Game, Forced] = {}
        self.count: Callable[[Game, int | None], CountResult] = cache(
            lambda game, up_to: count(game, up_to=up_to)
        )
        self.symbolic: Callable[..., Symbolic] = cache(symbolic)
        self.boards_after_slides = cache(_boards_after_slides)

    def winnable(self, game: Game) -> str:
        """Return whether the goal is forced, as the lines within limits say it."""
        if game not in self.forced:
            self.forced[game] = force(game)
        return "winnable" if self.forced[game].forced else "not_winnable"


Function = Callable[[Claim, Known], Computation]
"""What computes the claims of a quantity."""
QUICK = 0.2
"""The estimate for what takes a fraction of a second, in seconds."""
SOLVING = 2.5
"""About how much longer solving takes than counting; only for estimates."""
SMALL_DIAGRAMS = 2.0
"""Rough seconds of the lines that were not measured, all of them of small boards."""


# -- states and boards ----------------------------------------------------------------------------


def counting_seconds(game: Game, up_to: int | None = None) -> float:
    """Return a rough estimate of the seconds to count a game here, from the sizes of its layers."""
    return counting(game, Allowance.of(), up_to=up_to).seconds + 2e-3 * len(boards_by_sum(game))


def _quick(value: Callable[[Game], Any]) -> Function:
    """Compute a value of the game alone."""

    def computation(claim: Claim, _: Known) -> Computation:
        game = claim.game
        return Computation(lambda: value(game), QUICK, game)

    return computation


def _total(number: Callable[[CountResult], int]) -> Function:
    """Count all states of a game, or those up to the sum of the line."""

    def computation(claim: Claim, known: Known) -> Computation:
        game, up_to = claim.game, int(claim.columns.get("sum") or 0) or None
        return Computation(lambda: number(known.count(game, up_to)), counting_seconds(game, up_to), game)

    return computation


def _states_of_sum(claim: Claim, known: Known) -> Computation:
    """Count one layer; of a game with a goal, live states are published."""
    game, total = claim.game, int(claim.columns["sum"])
    up_to = None if game.goal else total

    def states() -> int:
        result = known.count(game, up_to)
        found = result.live if game.goal else result.states
        return int(found[result.sums == total].sum())

    return Computation(states, counting_seconds(game, up_to), game)


def _after_lookahead(claim: Claim, _: Known) -> Computation:
    game, total = claim.game, int(claim.columns["sum"])
    exponent = int(claim.columns["largest"]).bit_length() - 1

    def states() -> int:
        result = count(game, lookahead=True, up_to=total)
        return int(result.live[result.sums == total, exponent].sum())

    return Computation(states, counting_seconds(game, total), game)


def _within_a3(claim: Claim, _: Known) -> Computation:
    limited = claim.game.changed(limits="1024,512,64,16,256,256,128,16,16,16,32,16,16,16,16,16")
    return Computation(lambda: 2 * bound(limited).boards, QUICK, limited)


def _three_layers(sizes: dict[int, int]) -> int:
    """Return the most boards of a layer and of the two that its spawns lead to."""
    return max(n + sizes.get(s + 2, 0) + sizes.get(s + 4, 0) for s, n in sizes.items())


# -- forced tiles ---------------------------------------------------------------------------------


def _largest(claim: Claim, known: Known) -> Computation:
    """Find the largest tile; a larger one takes longest to refute, except what theory refutes."""
    shape, tile = claim.columns["board"], int(claim.value)
    if claim.quantity.spawn:  # 2s only
        seconds = forcing_seconds(Game(shape, tile, spawn=0, start="empty"), most=known.budget)
        return Computation(lambda: largest_forced(shape, spawns="2").tile, seconds)
    cells, seconds = math.prod(parse_shape(shape)), 0.1
    if tile < 2**cells and cells > 2:
        seconds = forcing_seconds(Game(shape, 2 * tile, start="empty"), most=known.budget)
    return Computation(lambda: largest_forced(shape, known=known.forced).tile, seconds)


def _can_force(claim: Claim, known: Known) -> Computation:
    game = claim.game
    return Computation(lambda: WORDS[force(game).forced], forcing_seconds(game, most=known.budget), game)


def _within_limits(claim: Claim, known: Known) -> Computation:
    game = claim.game
    if len(set(game.tops)) == 1 and game.tops[0] == (game.goal_exponent or 0) - 1:
        game = game.changed(limits=None)  # the goal itself limits the tiles as much
    seconds = forcing_seconds(game, most=known.budget)
    if claim.note not in ("minimal", "maximal"):
        return Computation(lambda: known.winnable(game), seconds, game)
    beside = limits_beside(game, -1 if claim.note == "minimal" else 1)

    def at_border() -> str:
        found = known.winnable(game)
        alike = next((one for one in beside if known.winnable(one) == found), None)
        return found if alike is None else f"{found}, but not {claim.note}: so is {alike.limits_text}"

    return Computation(at_border, seconds * (1 + len(beside)), game)


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


def _value(objective: str, claim: Claim, _: Known) -> Computation:
    """Solve a game; it begins with two 2s where the line says so."""
    game = claim.game
    seconds = SOLVING * counting_seconds(game)
    if claim.columns.get("rules"):
        return Computation(lambda: _from_two_twos(game, objective), seconds, game)
    return Computation(lambda: Fraction(float(solve(game, objective).value)), seconds, game)


def _discounted(claim: Claim, _: Known) -> Computation:
    game, discount = claim.game, claim.columns["discount"]
    if game.cells <= 4:
        return Computation(lambda: oracle.values(game, discount=discount).start, QUICK, game)
    seconds = SOLVING * counting_seconds(game)
    return Computation(lambda: Fraction(float(solve(game, discount=discount).value)), seconds, game)


def _from_two_twos(game: Game, objective: str) -> Fraction:
    """Return the mean value of all states with two 2s."""
    with temporary_folder() as folder:
        solve(game, objective, table=folder / "table")
        with closing(open_table(folder / "table")) as table:
            pairs = list(combinations(range(game.cells), 2))
            boards = [game.format(tuple(int(cell in pair) for cell in range(game.cells))) for pair in pairs]
            values = [Fraction(float(table.probe(board).value)) for board in boards]
    return sum(values, Fraction()) / len(values)


def _bound(claim: Claim, known: Known) -> Computation:
    """Prove a bound within limits, over all boards."""
    game, dtype = claim.game, claim.columns["value_type"]
    seconds = seconds_here(game, Objective("lower", dtype), most=known.budget)
    return Computation(lambda: prove(game, dtype=dtype).bound, seconds, game)


def _win_within_limits(claim: Claim, known: Known) -> Computation:
    """Solve a game within limits, over all boards."""
    game, dtype = claim.game, claim.columns["value_type"]
    seconds = seconds_here(game, Objective("win", dtype), most=known.budget)
    solved = partial(solve, game, f"win:{dtype}", space="all")
    return Computation(lambda: Fraction(float(solved().value)), seconds, game)


# -- diagrams -------------------------------------------------------------------------------------


def _diagrams(what: str, strategy: str, claim: Claim, known: Known) -> Computation:
    """Compute winning sets as decision diagrams.

    The source does not say which states it counts.  We read it as those that corollary 7 allows and that hold
    a 2, which is an inference; its nodes and times are compared without these conditions.
    """
    game, corollary7 = claim.game, what == "states"
    name = f"({claim.columns['line']})" if claim.columns.get("line") else ""
    until = name if game.goal == LARGEST_DIAGRAMS else ""

    def compute() -> Any:
        found = known.symbolic(game, strategy=strategy, until=until, corollary7=corollary7)
        if what == "forced":
            return WORDS[found.wins]
        return _measured(what, [one for one in found.lines if name in ("", one.name)])

    cost = expected_cost(game, strategy, until, corollary7=corollary7)
    return Computation(compute, cost.seconds if cost.measured else SMALL_DIAGRAMS, game)


LARGEST_DIAGRAMS = 2048
"""The goal of which only the lines up to that of a claim are computed."""


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


def _sequences(number: Callable[[str], int]) -> Function:
    return lambda claim, _: Computation(lambda: number(claim.board), QUICK)


def _deterministic(claim: Claim, _: Known) -> Computation:
    return Computation(lambda: claim.value if two_lines_are_reachable(40) else "not all", 15.0)


def _figure(number: int, _claim: Claim, _: Known) -> Computation:
    """Find a game with drops of 2s that ends with the square board of a figure."""

    def compute() -> str:
        board = figure(number)
        side = math.isqrt(len(board))
        found = reach(Rules(side, side).text(board), drops="2", seconds=60)
        reached = found.moves is not None and replay(found.rules, found.moves)[-1] == board
        return "yes" if reached else "not decided"

    return Computation(compute, 10.0)


def _shortest(claim: Claim, _: Known) -> Computation:
    rows, columns = parse_shape(claim.board)
    return Computation(lambda: drops_of(built_game(Rules(rows, columns)) or ()), 50.0)


def _cooperative(claim: Claim, _: Known) -> Computation:
    """A checkerboard is reachable if a sequence leads to it; that none does is decided by search."""

    def compute() -> str:
        if any(_replays(checkerboard(claim.board, colouring)) for colouring in COLOURINGS):
            return "yes"
        verdicts = [checkerboard(claim.board, colour, search=True, seconds=600) for colour in COLOURINGS]
        return "no" if all(verdict.reachable is False for verdict in verdicts) else "not decided"

    return Computation(compute, 1.0)


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


# -- formations -----------------------------------------------------------------------------------


def _boards(claim: Claim, known: Known) -> Computation:
    """Count boards of a formation; the source counts boards that win after a slide, too."""
    game = claim.game
    return Computation(lambda: known.boards_after_slides(game)[claim.quantity.quantity], 40.0, game)


def _boards_after_slides(game: Game) -> dict[str, int]:
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
    return {"boards_generated": len(following) + len(won), "boards_worth_more_than_0": len(able)}


# -- all ------------------------------------------------------------------------------------------


COMPUTED: dict[str, Function] = {
    "live_states": _total(lambda found: found.total("live")),
    # Win and loss are one special state each.
    "states_with_specials": _total(lambda found: found.total("live") + 2),
    "raw_states_without_symmetry_with_specials": _total(lambda found: found.total("raw_live") + 2),
    # They are absorbing: one step leads from each to itself.
    "raw_transitions_without_symmetry": _quick(lambda game: len(oracle.transitions(game)) + 2),
    "states": _total(lambda found: found.total("states")),
    "raw_states": _total(lambda found: found.total("raw_states")),
    "afterstates": _total(lambda found: found.total("afterstates")),
    "terminal_states": _total(lambda found: found.total("losing")),
    "states_of_sums_up_to": _total(lambda found: found.total("states")),
    "raw_states_of_sums_up_to": _total(lambda found: found.total("raw_states")),
    "states_of_sum": _states_of_sum,
    "most_live_states_of_a_sum": _total(lambda found: int(found.live.sum(axis=1).max())),
    "live_states_of_sum_with_largest_after_lookahead": _after_lookahead,
    "least_expected_slides_to_win_without_a_board": _quick(
        lambda game: Fraction(least_expected_slides(game))
    ),
    "combinatorial_bound": _quick(lambda game: bound(game).possible),
    "positions_both_turns": _quick(lambda game: 2 * bound(game).boards),
    "positions_within_A3_limits": _within_a3,
    "largest_layer": _quick(lambda game: max(boards_by_sum(game).values())),
    "three_layers_bytes": _quick(lambda game: _three_layers(boards_by_sum(game)) // 8),
    "tile_multisets": _quick(lambda game: len(groups_of(game))),
    "largest_multiset_class": _quick(lambda game: groups_of(game).largest),
    "largest_tile": _largest,
    "largest_tile_that_can_be_forced": _largest,
    "whether_the_player_can_force_it": _can_force,
    "forced_within_limits": _within_limits,
    "win": _discounted,
    "discounted_win": _discounted,
    "probability_to_win": partial(_value, "win"),
    "value_of_the_start": partial(_value, "win"),
    "expected_score_under_optimal_play": partial(_value, "score"),
    "slides_of_the_longest_game": partial(_value, "longest"),
    "fewest_slides_to_a_win_with_luck": partial(_value, "fewest"),
    "bound_within_limits": _bound,
    "win_within_limits": _win_within_limits,
    "forced_against_2s": partial(_diagrams, "forced", "sum"),
    "sweep_seconds": partial(_diagrams, "seconds", "sweep"),
    "sweep_largest_nodes": partial(_diagrams, "largest_nodes", "sweep"),
    "accumulative_seconds": partial(_diagrams, "seconds", "accumulative"),
    "accumulative_largest_nodes": partial(_diagrams, "largest_nodes", "accumulative"),
    "cumulative_states": partial(_diagrams, "states", "sum"),
    "cumulative_bytes_per_state": partial(_diagrams, "bytes_per_state", "sum"),
    "line_states": partial(_diagrams, "states", "sweep"),
    "line_nodes": partial(_diagrams, "nodes", "sweep"),
    "line_seconds": partial(_diagrams, "seconds", "sweep"),
    "deterministic_sequences": _sequences(lambda board: count_sequences(board, deterministic=True).total),
    # The source counts those to one of the two checkerboards.
    "cooperative_sequences": _sequences(lambda board: count_sequences(board).twos),
    "cooperatively_reachable": _cooperative,
    "deterministically_reachable": _deterministic,
    "figure_7_reachable": partial(_figure, 7),
    "figure_8_reachable": partial(_figure, 8),
    "drops_to_an_end_position": _shortest,
    "boards_generated": _boards,
    "boards_worth_more_than_0": _boards,
}
"""By quantity, the function that returns how a claim is computed."""


def reproduce(
    source: str | None = None, *, budget: float = 60.0, without: Container[Key] = ()
) -> Iterator[Verdict]:
    """Recompute the claims of a source (None: of all sources); yields one verdict per line.

    Lines whose estimate exceeds `budget` seconds are not run, and of those whose file, board and question
    are in `without` there is no verdict.  Raises `UsageError` for an unknown source.
    """
    known = Known(budget)
    for claim in read_claims(source):
        if claim.key not in without:
            yield judge(claim, budget, known)


def judge(claim: Claim, budget: float, known: Known | None = None) -> Verdict:
    """Recompute one line, if its estimated time is at most `budget` seconds."""
    if claim.quantity.quantity not in COMPUTED:
        return Verdict(claim, "", "not in this version", 0.0, None, {})
    way = COMPUTED[claim.quantity.quantity](claim, known or Known(budget))
    if way.seconds > budget:
        record = read_records().get(claim.key, {})
        verdict = "recorded" if record else "over budget"
        return Verdict(claim, record.get("computed", ""), verdict, way.seconds, way.game, record)
    since = working_time()
    try:
        computed = way.compute()
    except TilebaseError as error:  # the other lines are not lost
        return Verdict(claim, str(error), "not possible here", working_time() - since, way.game, {})
    seconds = working_time() - since
    shown = digits_text(computed) if isinstance(computed, Fraction) else str(computed)
    return Verdict(claim, shown, compare(claim, computed), seconds, way.game, {})


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
    rounding = _rounding(claim)
    if rounding >= 0 and abs(computed - Fraction(claim.value)) <= rounding:
        return "within rounding"
    return "erratum" if claim.right and agrees(claim.right, computed) else "differs"


def _rounding(claim: Claim) -> float:
    """Bound the rounding error of a published float: 0.5 ulp per slide, about T / 2 slides for a goal T."""
    dtype = TYPES.get(claim.columns.get("value_type", ""))
    return (dtype.tie / 2 if dtype else -1.0) * int(claim.columns.get("goal") or 0) / 2


def summary(verdicts: Iterable[Verdict]) -> str:
    """Return one line of text: how many there are of each verdict."""
    names = [verdict.verdict for verdict in verdicts]
    return ", ".join(f"{names.count(name)} {name}" for name in VERDICTS if name in names)
