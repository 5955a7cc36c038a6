"""Recompute published numbers: every line of the fact files that this version can compute.

The first of the functions below that can compute a line *claims* it.  A claim estimates its time before
it runs, so that expensive lines can be listed instead of computed.  A number agrees if it equals the
published one in the published digits.  A proved lower bound improves on the published one if it is larger
in those digits.  A published float is within rounding if it differs by at most what the rounding of its
type can change.  A number that differs is an erratum of the source if docs/errata.md says so, with the
number that was computed here.  Where a source leaves open what it counts, a line has the reading that is
counted here: no agreement is claimed.  What something costs, in seconds or nodes, is compared and never
right or wrong.

For lines that are not run, `records.tsv` has results of earlier runs, which are shown as recorded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from tilebase.bdd.library import NODE_BYTES
from tilebase.bdd.strategies import Line, Method
from tilebase.costs.forcing import forcing_seconds
from tilebase.costs.machines import seconds_here
from tilebase.costs.reachable import counting
from tilebase.counting.combinatorics import boards_by_sum, bound
from tilebase.counting.counts import CountResult
from tilebase.counting.tiles import groups_of, least_expected_slides
from tilebase.errors import TilebaseError
from tilebase.game.formations import formation
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
from tilebase.patterns.rules import Position, Rules
from tilebase.patterns.shortest import built_game
from tilebase.patterns.tallies import count_sequences
from tilebase.questions.count import count
from tilebase.questions.force import Forced, force, largest_forced
from tilebase.questions.prove import prove
from tilebase.questions.published import Fact, Record, agrees, read_facts, read_records
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
class Claim:
    """A function that computes a fact, an estimate of its time, and whether less improves on the source."""

    compute: Callable[[], Any]
    seconds: float
    cost: bool = False
    game: Game | None = None


@dataclass(frozen=True)
class Verdict:
    """The result of one line.

    Attributes
    ----------
    fact, computed:
        The line, and what was computed; with the verdict ``recorded``, what an earlier run computed.
    verdict:
        One of `VERDICTS`.
    seconds:
        The time, or its estimate if nothing was run.
    game:
        The game, if it is one of `Game`.
    record:
        The earlier run, with the verdict ``recorded``.
    """

    fact: Fact
    computed: str
    verdict: str
    seconds: float
    game: Game | None = None
    record: Record | None = None


QUICK = 0.2
"""The estimate for what takes a fraction of a second, in seconds."""


# -- claiming -------------------------------------------------------------------------------------


def _game(fact: Fact, **options: Any) -> Game:
    goal = fact.columns["goal"]
    return Game(fact.columns["board"], int(goal) if goal else None, **options)


def counting_seconds(game: Game, up_to: int | None = None) -> float:
    """Return a rough estimate of the seconds to count a game here, from the sizes of its layers."""
    return counting(game, Allowance.of(), up_to=up_to).seconds + 2e-3 * len(boards_by_sum(game))


class _Counts:
    """Counts that several lines need, each computed once; what takes more than a budget is not run."""

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self._results: dict[tuple[Game, int | None], CountResult] = {}
        self.forced: dict[Game, Forced] = {}
        self.symbolic: dict[tuple[object, ...], Symbolic] = {}
        self._boards: dict[Game, dict[str, int]] = {}

    def __call__(self, game: Game, up_to: int | None = None) -> CountResult:
        if (game, up_to) not in self._results:
            self._results[game, up_to] = count(game, up_to=up_to)
        return self._results[game, up_to]

    def boards_after_slides(self, game: Game) -> dict[str, int]:
        """By quantity of `formations.tsv`, the number of boards."""
        if game not in self._boards:
            self._boards[game] = _boards_after_slides(game)
        return self._boards[game]


def _claim_counts(fact: Fact, counts: _Counts) -> Claim | None:
    if fact.file != "state_counts.tsv":
        return None
    game, quantity = _game(fact), fact.columns["quantity"]
    if quantity == "combinatorial_bound":
        return Claim(lambda: bound(game).possible, QUICK, game=game)
    if quantity == "raw_states_without_symmetry_with_specials":
        return Claim(lambda: counts(game).total("raw_live") + 2, counting_seconds(game), game=game)
    if quantity == "raw_transitions_without_symmetry":
        # Win and lose are absorbing: one step from each to itself.
        return Claim(lambda: len(oracle.transitions(game)) + 2, QUICK, game=game)
    if quantity in ("live_states", "states_with_specials"):
        extra = 2 if quantity == "states_with_specials" else 0
        return Claim(lambda: counts(game).total("live") + extra, counting_seconds(game), game=game)
    layer = re.fullmatch(r"states_of_sum_(\d+)", quantity)
    if layer:
        total, until = int(layer[1]), None if game.goal else int(layer[1])

        def states() -> int:
            result = counts(game, until)
            # Of a game with a goal, live states are published.
            found = result.live if game.goal else result.states
            return int(found[result.sums == total].sum())

        return Claim(states, counting_seconds(game, until), game=game)
    if quantity == "most_live_states_of_a_sum":
        return Claim(lambda: int(counts(game).live.sum(axis=1).max()), counting_seconds(game), game=game)
    every = re.fullmatch(r"(states|raw_states|afterstates|terminal_states)(_of_sums_up_to_(\d+))?", quantity)
    if every:
        field, until = {"terminal_states": "losing"}.get(every[1], every[1]), int(every[3] or 0) or None
        return Claim(lambda: counts(game, until).total(field), counting_seconds(game, until), game=game)
    part = re.fullmatch(r"live_states_of_sum_(\d+)_with_largest_(\d+)_after_lookahead", quantity)
    if part:
        total, exponent = int(part[1]), int(part[2]).bit_length() - 1

        def some() -> int:
            result = count(game, lookahead=True, up_to=total)
            return int(result.live[result.sums == total, exponent].sum())

        return Claim(some, counting_seconds(game, total), game=game)
    if quantity == "least_expected_slides_to_win_without_a_board":
        return Claim(lambda: Fraction(least_expected_slides(game)), QUICK, game=game)
    return None


def _claim_sizes(fact: Fact, _: _Counts) -> Claim | None:
    if fact.file != "layer_sizes.tsv":
        return None
    quantity = fact.columns["quantity"]
    if quantity == "positions_within_A3_limits":
        limited = _game(fact, limits="1024,512,64,16,256,256,128,16,16,16,32,16,16,16,16,16")
        return Claim(lambda: 2 * bound(limited).boards, QUICK, game=limited)
    game = _game(fact)
    known: dict[str, Callable[[], Any]] = {
        "largest_layer": lambda: max(boards_by_sum(game).values()),
        "positions_both_turns": lambda: 2 * bound(game).boards,
        "three_layers_bytes": lambda: _three_layers(boards_by_sum(game)) // 8,
        "tile_multisets": lambda: len(groups_of(game)),
        "largest_multiset_class": lambda: groups_of(game).largest,
    }
    return Claim(known[quantity], QUICK, game=game) if quantity in known else None


def _three_layers(sizes: dict[int, int]) -> int:
    """Return the most boards of a layer and of the two that its spawns lead to."""
    return max(n + sizes.get(s + 2, 0) + sizes.get(s + 4, 0) for s, n in sizes.items())


def _claim_forced(fact: Fact, counts: _Counts) -> Claim | None:
    """Claim a line about forced tiles; the source starts from the empty board."""
    if fact.file == "guaranteed_max_tile.tsv":
        shape, tile = fact.columns["board"], int(fact.columns["max_tile"])
        cells = math.prod(parse_shape(shape))
        # The next larger goal takes longest.
        seconds = (
            forcing_seconds(Game(shape, 2 * tile, start="empty"), most=counts.budget)
            if tile < 2**cells and cells > 2
            else 0.1
        )
        return Claim(lambda: largest_forced(shape, known=counts.forced).tile, seconds)
    if fact.file == "guaranteed_with_limits.tsv":
        game = _game(fact, limits=fact.columns["limits"], start="empty")
        if len(set(game.tops)) == 1 and game.tops[0] == (game.goal_exponent or 0) - 1:
            game = _game(fact, start="empty")  # the goal itself limits the tiles as much
        note = fact.columns["note"]
        if note not in ("minimal", "maximal"):
            seconds = forcing_seconds(game, most=counts.budget)
            return Claim(lambda: _winnable(game, counts), seconds, game=game)
        beside = limits_beside(game, -1 if note == "minimal" else 1)
        seconds = forcing_seconds(game, most=counts.budget) * (1 + len(beside))
        return Claim(lambda: _at_border(game, note, beside, counts), seconds, game=game)
    return None


def _at_border(game: Game, note: str, beside: list[Game], counts: _Counts) -> str:
    """Return the verdict on limits, and if they are not minimal or maximal limits that show it."""
    found = _winnable(game, counts)
    alike = next((one for one in beside if _winnable(one, counts) == found), None)
    return found if alike is None else f"{found}, but not {note}: so is {alike.limits_text}"


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


def _winnable(game: Game, counts: _Counts) -> str:
    if game not in counts.forced:
        counts.forced[game] = force(game)
    return "winnable" if counts.forced[game].forced else "not_winnable"


SOLVING = 2.5
"""About how much longer solving takes than counting; only for estimates."""


def _claim_optimal_values(fact: Fact, _: _Counts) -> Claim | None:
    if fact.file != "optimal_values.tsv":
        return None
    game, discount = _game(fact), fact.columns["discount"]
    if game.cells <= 4:
        return Claim(lambda: oracle.values(game, discount=discount).start, QUICK, game=game)
    seconds = SOLVING * counting_seconds(game)
    return Claim(lambda: Fraction(float(solve(game, discount=discount).value)), seconds, game=game)


def _claim_checkerboards(fact: Fact, _: _Counts) -> Claim | None:
    """Claim a line about checkerboards; in the source, no tile above 4 is made and only 2s are dropped."""
    if fact.file != "checkerboards.tsv":
        return None
    board, question = fact.columns["board"], fact.columns["question"]
    if question == "deterministic_sequences":
        return Claim(lambda: count_sequences(board, deterministic=True).total, QUICK)
    if question == "cooperative_sequences":  # the source counts those to one of the two checkerboards
        return Claim(lambda: count_sequences(board).twos, QUICK)
    if question == "deterministically_reachable":
        return Claim(lambda: fact.published if two_lines_are_reachable(40) else "not all", 15.0)
    if question in FIGURES:
        return Claim(lambda: "yes" if _reaches(figure(FIGURES[question])) else "not decided", 10.0)
    return _claim_cooperative(board) if question == "cooperatively_reachable" else None


FIGURES = {"figure_7_reachable": 7, "figure_8_reachable": 8}
"""Questions about the boards of two figures."""


def _reaches(board: Position) -> bool:
    """Return whether a game with drops of 2s on a square board is found that ends with a board."""
    side = math.isqrt(len(board))
    found = reach(Rules(side, side).text(board), drops="2", seconds=60)
    return found.moves is not None and replay(found.rules, found.moves)[-1] == board


def _claim_shortest(fact: Fact, _: _Counts) -> Claim | None:
    """Claim the number of drops to an end position; fewer drops improve on it."""
    if fact.file != "checkerboards.tsv" or fact.columns["question"] != "drops_to_an_end_position":
        return None
    rows, columns = parse_shape(fact.columns["board"])
    rules = Rules(rows, columns)
    return Claim(lambda: drops_of(built_game(rules) or ()), 50.0)


def _claim_cooperative(board: str) -> Claim | None:
    """Claim a checkerboard: reachable if a sequence leads to it; that none does is decided by search."""

    def compute() -> str:
        if any(_replays(checkerboard(board, colouring)) for colouring in COLOURINGS):
            return "yes"
        verdicts = [checkerboard(board, colouring, search=True, seconds=600) for colouring in COLOURINGS]
        return "no" if all(verdict.reachable is False for verdict in verdicts) else "not decided"

    return Claim(compute, 1.0)


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


def _claim_bounds(fact: Fact, counts: _Counts) -> Claim | None:
    """Claim a line about bounds within limits: from the empty board, with lemma 1, over all boards."""
    if fact.file != "win_probability_bounds.tsv":
        return None
    pattern = "lemma1" if int(fact.columns["goal"]) >= 64 else None
    game = _game(fact, limits=fact.columns["limits"], start="empty", pattern=pattern)
    dtype = fact.columns["value_type"]
    if dtype.startswith("uint"):
        seconds = seconds_here(game, Objective("lower", dtype), most=counts.budget)
        return Claim(lambda: prove(game, dtype=dtype).bound, seconds, game=game)
    seconds = seconds_here(game, Objective("win", dtype), most=counts.budget)
    return Claim(lambda: Fraction(float(solve(game, f"win:{dtype}", space="all").value)), seconds, game=game)


SMALL_DIAGRAMS = 2.0
"""Rough seconds of the lines that were not measured, all of them of small boards."""


def _claim_symbolic(fact: Fact, counts: _Counts) -> Claim | None:
    """Claim a line about decision diagrams: only 2s are spawned, and play begins on the empty board.

    The source does not say which states it counts.  We read it as those that corollary 7 allows and that hold
    a 2, which is an inference; its nodes and times are compared without these conditions.
    """
    if fact.file != "symbolic_solving.tsv":
        return None
    side, exponent, measure = (fact.columns[name] for name in ("N", "M", "measure"))
    game = Game(f"{side}x{side}", 2 ** int(exponent), spawn=0, start="empty")
    line = re.fullmatch(r"line_(\d+)_(\d+)_(\w+)", measure)
    how, what = ("sweep", line[3]) if line else measure.split("_", 1) if "_" in measure else ("sum", measure)
    name = f"({line[1]},{line[2]})" if line else ""
    how = "sum" if how == "cumulative" else how
    until = name if exponent == "11" else ""
    corollary7 = what == "states"
    method = Method(strategy=how, until=until, corollary7=corollary7)
    key = side, exponent, method

    def compute() -> Any:
        if key not in counts.symbolic:
            counts.symbolic[key] = symbolic(game, method)
        answer = counts.symbolic[key]
        if what == "forced":
            return {True: "yes", False: "no", None: "undecided"}[answer.wins]
        return _measured(what, [one for one in answer.lines if name in ("", one.name)])

    cost = what not in ("forced", "states")
    known = expected_cost(game, method)
    seconds = known.seconds if known.measured else SMALL_DIAGRAMS
    return Claim(compute, seconds, cost=cost, game=game)


def _measured(what: str, lines: list[Line]) -> Any:
    """Return a measure of some sweep lines; states are counted at both turns, as in the source."""
    if what == "seconds":
        return Fraction(round(sum(line.seconds for line in lines), 2))
    if what == "largest_nodes":
        return max(line.peak for line in lines)
    nodes, states = sum(line.nodes for line in lines), sum(line.states + line.afterstates for line in lines)
    return {"nodes": nodes, "states": states, "bytes_per_state": Fraction(nodes * NODE_BYTES, states)}[what]


def _claim_formations(fact: Fact, counts: _Counts) -> Claim | None:
    """Claim a line about the table of a formation; the source counts boards that win after a slide, too."""
    if fact.file != "formations.tsv":
        return None
    game = formation(fact.columns["formation"]).game(int(fact.columns["goal"]))
    if fact.columns["quantity"] == "value_of_the_start":
        seconds = SOLVING * counting_seconds(game)
        return Claim(lambda: Fraction(float(solve(game).value)), seconds, game=game)
    return Claim(lambda: counts.boards_after_slides(game)[fact.columns["quantity"]], 40.0, game=game)


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


OBJECTIVES = {
    "expected score under optimal play": "score",
    "slides of the longest game": "longest",
    "fewest slides to a win, with luck": "fewest",
    "probability to win": "win",
}
"""The objectives of quantities of `other_sources.tsv`."""


def _claim_others(fact: Fact, counts: _Counts) -> Claim | None:
    """Claim a line of `other_sources.tsv`; a tile is forced from the empty board."""
    if fact.file != "other_sources.tsv":
        return None
    quantity = fact.columns["quantity"]
    if quantity == "largest tile that can be forced":
        game = Game(fact.columns["board"], int(fact.published), spawn=0, start="empty")
        seconds = forcing_seconds(game, most=counts.budget)  # a larger tile is refused by theory
        return Claim(lambda: largest_forced(fact.columns["board"], spawns="2").tile, seconds)
    game = _game(fact)
    if quantity == "whether the player can force it":
        game = game.changed(start="empty")
        seconds = forcing_seconds(game, most=counts.budget)
        return Claim(lambda: "yes" if force(game).forced else "no", seconds, game=game)
    objective, seconds = OBJECTIVES[quantity], SOLVING * counting_seconds(game)
    if fact.columns["rules"]:
        return Claim(lambda: _from_two_twos(game, objective), seconds, game=game)
    return Claim(lambda: Fraction(float(solve(game, objective).value)), seconds, game=game)


def _from_two_twos(game: Game, objective: str) -> Fraction:
    """Return the mean value of all states with two 2s."""
    with temporary_folder() as folder:
        solve(game, objective, table=folder / "table")
        with closing(open_table(folder / "table")) as table:
            pairs = list(combinations(range(game.cells), 2))
            boards = [game.format(tuple(int(cell in pair) for cell in range(game.cells))) for pair in pairs]
            values = [Fraction(float(table.probe(board).value)) for board in boards]
    return sum(values, Fraction()) / len(values)


CLAIMS = (
    _claim_counts,
    _claim_sizes,
    _claim_optimal_values,
    _claim_forced,
    _claim_checkerboards,
    _claim_shortest,
    _claim_bounds,
    _claim_symbolic,
    _claim_formations,
    _claim_others,
)


def reproduce(
    source: str | None = None, *, budget: float = 60.0, without: Container[tuple[str, str, str]] = ()
) -> Iterator[Verdict]:
    """Recompute the facts of a source (None: of all sources); yields one verdict per line.

    Lines whose estimate exceeds `budget` seconds are not run, and of those whose file, board and question
    are in `without` there is no verdict.  Raises `UsageError` for an unknown source.
    """
    counts = _Counts(budget)
    for fact in read_facts(source):
        if (fact.file, fact.board, fact.question) not in without:
            yield judge(fact, budget, counts)


def judge(fact: Fact, budget: float, counts: _Counts | None = None) -> Verdict:
    """Recompute one line, if its estimated time is at most `budget` seconds."""
    counts = counts or _Counts(budget)
    claim = next(filter(None, (find(fact, counts) for find in CLAIMS)), None)
    if claim is None:
        return Verdict(fact, "", "not in this version", 0.0)
    if claim.seconds > budget:
        record = read_records().get((fact.file, fact.board, fact.question))
        if record is None:
            return Verdict(fact, "", "over budget", claim.seconds, claim.game)
        return Verdict(fact, record.computed, "recorded", claim.seconds, claim.game, record)
    since = working_time()
    try:
        computed = claim.compute()
    except TilebaseError as error:  # the other lines are not lost
        return Verdict(fact, str(error), "not possible here", working_time() - since, claim.game)
    seconds = working_time() - since
    shown = digits_text(computed) if isinstance(computed, Fraction) else str(computed)
    return Verdict(fact, shown, compare(fact, computed, cost=claim.cost), seconds, claim.game)


def compare(fact: Fact, computed: Any, *, cost: bool = False) -> str:
    """Return the verdict on a computed value: one of `VERDICTS`."""
    if cost:
        return "costs less" if computed < Fraction(fact.published) else "costs more"
    if fact.reading:
        return "own reading"
    if agrees(fact.stated, computed):
        return "agrees"
    sign = {"at least": 1, "at most": -1}.get(fact.relation, 0)
    if sign and sign * computed > sign * Fraction(fact.published):
        return "improves"
    if _rounding(fact) >= 0 and abs(computed - Fraction(fact.published)) <= _rounding(fact):
        return "within rounding"
    explained = fact.erratum is not None and agrees(fact.erratum[1], computed)
    return "erratum" if explained else "differs"


def _rounding(fact: Fact) -> float:
    """Bound the rounding error of a published float: 0.5 ulp per slide, about T / 2 slides for a goal T."""
    kind = TYPES.get(fact.columns.get("value_type", ""))
    return (kind.tie / 2 if kind else -1.0) * int(fact.columns.get("goal", 0)) / 2


def summary(verdicts: Iterable[Verdict]) -> str:
    """Return one line of text: how many there are of each verdict."""
    names = [verdict.verdict for verdict in verdicts]
    return ", ".join(f"{names.count(name)} {name}" for name in VERDICTS if name in names)
