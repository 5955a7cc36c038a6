"""Sets of boards as decision diagrams: against plain Python over all boards within the limits."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial, reduce
from operator import xor
from typing import Any

import pytest

from conformance.games import SMALL_GAMES
from tilebase.bdd.library import ATTEMPTS, LEAST_NODES, Library, capacity_for
from tilebase.bdd.sets import ENCODINGS, FREE, ORDERS, Code, Sets, codes_of, order_of
from tilebase.bdd.strategies import STRATEGIES, Analysis, Line, Method
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Cells, Game

NODES = 1 << 18


@dataclass(frozen=True)
class Won:
    """The states and the afterstates that a side wins, and whether it wins from the start."""

    states: frozenset[Cells]
    afterstates: frozenset[Cells]
    verdict: bool


class AllBoards:
    """All boards within the limits of a game, and the rules, each board alone."""

    def __init__(self, game: Game) -> None:
        self.game = game

    @cached_property
    def by_sum(self) -> dict[int, list[Cells]]:
        """The boards that are not won, by sum, the largest first."""
        game, found = self.game, dict[int, list[Cells]]()
        for board in itertools.product(*map(self._contents, range(game.cells))):
            if board.count(game.x) == len(game.unmergeable) and not game.has_goal_sum(board):
                found.setdefault(game.sum(board), []).append(board)
        return {total: found[total] for total in sorted(found, reverse=True)}

    def _contents(self, cell: int) -> Sequence[int]:
        game = self.game
        x = [game.x] if game.unmergeable and cell not in game.walls else []
        return [*range(game.tops[cell] + 1), *x]

    @cached_property
    def boards(self) -> frozenset[Cells]:
        return frozenset(itertools.chain.from_iterable(self.by_sum.values()))

    @cached_property
    def slides(self) -> dict[Cells, list[Cells]]:
        """What slides make of each state; of what is no goal, only boards that play can make."""
        game = self.game
        return {
            board: [
                after
                for after in game.slides(board).values()
                if game.holds_goal(after) or after in self.boards
            ]
            for board in self.boards
        }

    def spawns(self, board: Cells, dropper: str) -> list[Cells]:
        """What spawns make of a board: of the first empty cell only, if this is the dropper's rule."""
        spawned = [state for state, _ in self.game.spawns(board)]
        if dropper != "deterministic":
            return spawned
        return spawned[: len(self.game.spawn_exponents)]

    def starts(self, dropper: str) -> list[Cells]:
        game = self.game
        if game.start_board is not None:
            return [game.start_board]
        begun = [game.empty_board]
        for _ in range({"empty": 1, "two-tiles": 2}[game.start]):
            begun = [state for board in begun for state in self.spawns(board, dropper)]
        return begun

    def won_by(self, winner: str, dropper: str) -> Won:
        """What a side wins: every state with a higher sum is decided before."""
        game, states, afterstates = self.game, set[Cells](), set[Cells]()
        slider = winner == "slider"
        pick = all if slider and dropper != "cooperative" else any
        for boards in self.by_sum.values():
            for board in boards:
                spawned = self.spawns(board, dropper)
                ends = [state in states or (slider and game.has_goal_sum(state)) for state in spawned]
                if slider if game.matches(board) else ends and pick(ends):
                    afterstates.add(board)
            for board in boards:
                slides = self.slides[board]
                if slider == any(game.holds_goal(one) or (one in afterstates) == slider for one in slides):
                    states.add(board)
        starts = pick([start in states for start in self.starts(dropper)])
        return Won(frozenset(states), frozenset(afterstates), starts)


@cache
def reference(game: Game, dropper: str, winner: str) -> Won:
    return all_boards(game).won_by(winner, dropper)


all_boards = cache(AllBoards)


@dataclass(frozen=True)
class Way:
    """How sets are kept and computed."""

    encoding: str
    order: str
    strategy: str

    def __str__(self) -> str:
        return f"{self.encoding}-{self.order}-{self.strategy}"

    def method(self, rules: Method) -> Method:
        return replace(rules, strategy=self.strategy)

    def sets(self, game: Game, nodes: int = NODES) -> Sets:
        return Sets(game, self.encoding, self.order, Library(nodes, 1))


def name_of(game: Game, board: Cells, strategy: str) -> str:
    """The line that a board belongs to."""
    if strategy == "accumulative":
        return "all"
    if strategy == "sum":
        return str(game.sum(board))
    k = game.max_exponent(board)
    return f"({k},{board.count(k) if k else 0})"


def check(game: Game, way: Way, rules: Method) -> None:
    """The verdict, every board, and the counts of every line."""
    lines: list[Line] = []
    sets = way.sets(game)
    analysis = Analysis(sets, way.method(rules), lambda line, _: lines.append(line), keep=True)
    verdict, wanted = analysis.run(), reference(game, rules.variant, rules.player)
    assert verdict == wanted.verdict
    for after, boards, kept, counts in (
        (False, wanted.states, analysis.won, {line.name: line.states for line in lines}),
        (True, wanted.afterstates, analysis.won_afters, {line.name: line.afterstates for line in lines}),
    ):
        found = sets.union(kept.values())
        assert {b for b in all_boards(game).boards if sets.holds(found, b, after=after)} == boards
        named = Counter(name_of(game, board, way.strategy) for board in boards)
        assert {name: count for name, count in counts.items() if count} == named


WAYS = [
    Way(encoding, order, strategy) for encoding in ENCODINGS for order in ORDERS for strategy in STRATEGIES
]
RULES = (
    Method(),
    Method("cooperative"),
    Method("deterministic"),
    Method("adversarial", "dropper"),
    Method("deterministic", "dropper"),
)
GAMES = [game for game in SMALL_GAMES if game.can_win and not game.masks]


def can_take(way: Way, game: Game) -> bool:
    return game.goal_sum is None or way.strategy == "sum"


def cases() -> list[tuple[Game, Way, Method]]:
    """Each game with each way, a large one with every other; with two of the rules, others for each."""
    return [
        (game, way, RULES[(index + number + more) % len(RULES)])
        for number, game in enumerate(GAMES)
        for index, way in enumerate(WAYS)
        for more in (0, 2)
        if can_take(way, game)
        if index % 2 == number % 2 or sum(boards_by_sum(game).values()) <= 1000
    ]


@pytest.mark.parametrize(("game", "way", "rules"), cases(), ids=str)
def test_every_board_is_as_the_rules_say(game: Game, way: Way, rules: Method) -> None:
    check(game, way, rules)


def test_the_cases_cover_all_pairs() -> None:
    assert {(way, rules) for _, way, rules in cases()} == set(itertools.product(WAYS, RULES))
    assert {(game, rules) for game, _, rules in cases()} == set(itertools.product(GAMES, RULES))


def possible(game: Game, board: Cells) -> bool:
    """Whether a spawn makes a state that corollary 7 allows: k - 1 cells below each tile of exponent k."""
    spawned = game.spawn_exponents[-1]  # k - 2 cells with 4s
    return any(e in game.spawn_exponents for e in board) and all(
        sum(e < k for e in board) >= k - spawned for k in board
    )


@pytest.mark.parametrize("way", WAYS[::5], ids=str)
@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("four", [0, "1/10"])
def test_the_lemma_leaves_out_boards_that_play_cannot_make(way: Way, rules: Method, four: Any) -> None:
    game = Game("2x3", 16, spawn=four)
    wanted = reference(game, rules.variant, rules.player)
    sets = way.sets(game)
    analysis = Analysis(sets, replace(way.method(rules), corollary7=True), ignore, keep=True)
    assert analysis.run() == wanted.verdict
    found = sets.union(analysis.won.values())
    assert {board for board in all_boards(game).boards if sets.holds(found, board)} == {
        board for board in wanted.states if possible(game, board)
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("start", ["two-tiles", "empty", "4,8,0/0,0,8", "2,2,2/2,2,2", "8,4,8/4,8,4"])
def test_a_start_can_be_decided_without_the_rest(strategy: str, rules: Method, start: str) -> None:
    game = Game("2x3", 16, start=start)
    lines: list[Line] = []
    weak = replace(rules, strong=False, counts=False, strategy=strategy)
    sets = Way("short", "rows", strategy).sets(game)
    analysis = Analysis(sets, weak, lambda line, _: lines.append(line))
    assert analysis.run() == reference(game, rules.variant, rules.player).verdict
    assert {(line.states, line.afterstates, line.nodes) for line in lines} == {(-1, -1, 0)}
    assert not analysis.won
    if strategy != "accumulative":
        starts = [name_of(game, board, strategy) for board in all_boards(game).starts(rules.variant)]
        assert lines[-1].name in starts


def ignore(line: Line, fraction: float) -> None:
    assert line.iterations >= 1
    assert 0 < fraction <= 1 + 1e-9


def matching(code: Code) -> list[Code]:
    """What a code may be written as."""
    return list(itertools.product(*((0, 1) if bit == FREE else (bit,) for bit in code)))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("count", range(1, 17))
def test_codes_can_be_read(encoding: str, count: int) -> None:
    found = codes_of(encoding, count)
    written = [bits for code in found for bits in matching(code)]
    assert len(found) == count
    assert {len(code) for code in found} == {len(found[0])}
    assert len(set(written)) == len(written)
    if encoding == "short":
        assert len(written) == 2 ** len(found[0])
        assert len(found[0]) == len(codes_of("binary", count)[0])
    free: dict[Code, set[bool]] = {}
    for code in found:
        for bits in matching(code):
            for length, bit in enumerate(code):
                free.setdefault(bits[:length], set()).add(bit == FREE)
    assert all(len(answers) == 1 for answers in free.values()), "the bits before say whether a bit is free"


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (2, 3), (3, 2), (4, 4), (2, 2, 3)])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("width", [1, 3])
def test_orders_hold_every_bit_once(shape: tuple[int, ...], order: str, width: int) -> None:
    game = Game(shape, limits=2, start="empty", spawn=0)
    found = order_of(order, game.grid, width)
    place = {bit: index for index, bit in enumerate(found)}
    assert sorted(found) == list(itertools.product(range(game.cells), range(width)))
    assert len(place) == len(found)
    for cell in range(game.cells):
        places = [place[cell, bit] for bit in range(width)]
        assert places == sorted(places)
    for line in game.grid.lines["left" if order == "rows" else "front" if len(shape) == 3 else "up"]:
        places = sorted(place[cell, bit] for cell in line for bit in range(width))
        assert places == [*range(places[0], places[0] + len(places))]


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match=r"one of short, binary$"):
        codes_of("gray", 3)
    with pytest.raises(UsageError, match=r"one of rows, columns$"):
        order_of("spiral", Game("2x2", 32).grid, 2)
    with pytest.raises(ResourceError, match="9 cells with 9 values have 387,420,489, more than 1,048,576"):
        Sets(Game("1x9", 512), "short", "rows", Library(NODES, 1))


def test_capacities_fit_into_the_memory() -> None:
    nodes = [capacity_for(memory) for memory in (1 << 20, 1 << 25, 1 << 30, 1 << 35, 1 << 45)]
    assert nodes == sorted(nodes)
    assert all(
        16 * found <= memory for found, memory in zip(nodes, (1 << 20, 1 << 25, 1 << 30), strict=False)
    )
    with pytest.raises(ResourceError, match=r"^1,000 bytes are too little for decision diagrams") as raised:
        capacity_for(1000)
    least = int(re.findall(r"[\d,]+", str(raised.value))[-1].replace(",", ""))
    assert capacity_for(least) >= LEAST_NODES
    with pytest.raises(ResourceError):
        capacity_for(least - 100)


def parities(library: Library, numbers: Iterable[int], held: list[Any]) -> list[Any]:
    """For each number, put the parity of some of 40 variables onto a list."""
    manager = library.manager
    if not manager.num_vars():
        manager.add_vars(40)
    for number in numbers:
        chosen = [manager.var(place) for place in range(40) if number * 2654435761 >> place & 1]
        held.append(reduce(xor, chosen))
    return held


def test_a_full_table_is_one_sentence() -> None:
    """Full of what is held: what is held no more, the manager may remove in the background at any time."""
    many = range(10**6, 10**6 + 400)
    large = Library(1 << 16, 1)
    kept = parities(large, many, [])
    large.manager.gc()
    assert len(kept) == len(many)
    assert large.manager.num_inner_nodes() > LEAST_NODES
    library, held = Library(LEAST_NODES, 1), list[Any]()
    sentence = rf"^the diagrams need more than the {LEAST_NODES:,} nodes that fit into the memory: [^.]*$"
    with pytest.raises(ResourceError, match=sentence):
        library.careful(parities, library, itertools.count(1), held)
    assert len(held) > 50
    with pytest.raises(ResourceError, match=sentence):
        library.careful(parities, library, many, [])
    held.clear()
    assert len(library.careful(parities, library, range(10**6, 10**6 + 5), [])) >= 5


def test_a_full_table_is_tried_again() -> None:
    library, calls = Library(LEAST_NODES, 1), list[int]()

    def step(failures: int) -> int:
        calls.append(failures)
        if len(calls) <= failures:
            parities(library, itertools.count(1), [])
        return len(parities(library, range(10**6, 10**6 + 5), []))

    assert library.careful(step, 1) == 5
    assert 2 <= len(calls) < ATTEMPTS
    calls.clear()
    with pytest.raises(ResourceError):
        library.careful(step, ATTEMPTS)
    assert len(calls) == ATTEMPTS


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_too_few_nodes_are_one_sentence(strategy: str) -> None:
    """Whatever the number of nodes is, the result is right or missing."""
    game, way = Game("2x3", 16), Way("binary", "rows", strategy)
    wanted, right = reference(game, "adversarial", "slider"), 0
    for nodes in (1 << 8, 1 << 10, 1 << 12, 1 << 13, 1 << 14, 1 << 17):
        lines: list[Line] = []
        analysis = Analysis(way.sets(game, nodes), way.method(Method()), partial(note, lines))
        try:
            verdict = analysis.run()
        except ResourceError as error:
            sentence = str(error)
            assert sentence.startswith(f"the diagrams need more than the {nodes:,} nodes")
        else:
            right += 1
            assert verdict == wanted.verdict
            assert sum(line.states for line in lines) == len(wanted.states)
            assert sum(line.afterstates for line in lines) == len(wanted.afterstates)
    assert 1 <= right <= 4


def note(lines: list[Line], line: Line, fraction: float) -> None:
    assert 0 < fraction <= 1 + 1e-9
    lines.append(line)
