"""How a policy's games end, exactly: the largest tile, the slides, the score, and what they meet.

A policy makes the game a Markov chain.  The probability of each state is computed forward over the sums
(`sparse.flow`): a game meets at most one state of each sum.  A sum tells the number of spawns only together
with the number f of the larger tiles among them, so each state carries a probability for each f.  Then, for a
game that began with the board b, and in which the tiles S and, f times, L are spawned,

    spawns = (s - sum(b) - L f) / S + f,
    score = potential(x) - potential(b) - potential(L) f - potential(S) (spawns - f),

where the potential of a tile 2**e, (e - 1) 2**e, is the score of making it of 2s.  So the distributions of
all three numbers follow from one pass.  Probabilities are floats; each step rounds them once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from tilebase.arrays import GameArrays
from tilebase.errors import ResourceError, UsageError
from tilebase.game.board import Board
from tilebase.game.findings import Finding, Reported
from tilebase.game.game import Cells, Game
from tilebase.game.names import rules_of, title_of
from tilebase.objectives.numbers import byte_text, digits_text, rounded_text
from tilebase.objectives.objective import Objective, find_objective, potential, potentials
from tilebase.policies.asking import ArrayPolicy, find_policy, player_text
from tilebase.policies.evaluation import Policy, asked_policy, usual_symmetry
from tilebase.policies.following import Agent, Symmetry, chances_of
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use
from tilebase.sparse.flow import Walk
from tilebase.sparse.reading import board_potentials
from tilebase.tables.probe import Table, local_folder, open_table

Array = npt.NDArray[Any]

NAMES = {"tile": "largest tile at the end", "length": "slides of a game", "score": "score of a game"}
"""What has a distribution, and in words."""
MOST_STATES = 2_000_000
"""States that a callable may reach by default; these take a few minutes and 2 GB."""
DIGITS = 9
"""How many digits of probabilities and means are printed."""
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""The shares of games below the entries of a summary."""
ROUNDING = 1e-9
"""A relative error that no probability reaches: a million roundings."""


def _chance_text(chance: float, others: float) -> str:
    return rounded_text(chance, 0.0, DIGITS, most=1, complement=others)


@dataclass(frozen=True)
class Distribution:
    """The distribution of one number over the games of a policy.

    Attributes
    ----------
    name, policy:
        One of `NAMES`, and the policy.
    chances:
        ``chances[v]``: the probability of the values from v on, below v plus the resolution; ascending.
    resolution:
        How many values each entry stands for: 1 for tiles.
    mean:
        The mean, of the values themselves.
    """

    name: str
    policy: str
    chances: Mapping[int, float] = field(hash=False)
    resolution: int
    mean: float

    def __repr__(self) -> str:
        return f"<Distribution of the {NAMES[self.name]} by {self.policy}: mean {digits_text(self.mean, 6)}>"

    def at_least(self, value: int) -> float:
        """Return the probability of the entries from this value on."""
        return math.fsum(p for v, p in self.chances.items() if v >= value)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one dictionary for each value: its probability, and that of at least this value."""
        for value, p, left in zip(self.chances, self.chances.values(), self._at_least(), strict=True):
            yield {"of": self.name, "value": value, "probability": p, "at_least": min(left, 1.0)}

    def text_rows(self) -> Iterator[dict[str, Any]]:
        """Yield the same rows as they are printed: 1 minus the others where nearly all games have a value."""
        below = 0.0
        above = [*self._at_least()[1:], 0.0]
        for row, more in zip(self.rows(), above, strict=True):
            p = row["probability"]
            texts = {"probability": _chance_text(p, below + more)}
            yield row | texts | {"at_least": _chance_text(row["at_least"], below)}
            below += p

    def quantile(self, share: float) -> int:
        """Return the least entry such that at least this share of the games end with it or below."""
        below = accumulate(self.chances.values())
        reached = (v for v, p in zip(self.chances, below, strict=True) if p >= share * (1 - ROUNDING))
        return next(reached, max(self.chances))

    def summary(self) -> dict[str, Any]:
        """Return the least and the largest entry, and the quantiles between, as one row."""
        between = {f"{share:.0%}": self.quantile(share) for share in QUANTILES}
        return {"of": self.name, "least": min(self.chances), **between, "largest": max(self.chances)}

    @property
    def mean_text(self) -> str:
        """The mean as it is printed."""
        return digits_text(self.mean, DIGITS)

    def _at_least(self) -> list[float]:
        """``[i]``: the probability of the i-th value and all larger ones: of the first, 1.

        They are added from the last on, since the last are mostly the smallest.
        """
        return [1.0, *list(accumulate(reversed([*self.chances.values()])))[-2::-1]]

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "of": self.name,
            "meaning": NAMES[self.name],
            "policy": self.policy,
            "resolution": self.resolution,
            "mean": self.mean,
            "chances": {str(value): p for value, p in self.chances.items()},
        }


@dataclass(frozen=True, repr=False)  # `Reported` has the repr
class Distributions(Reported):
    """What `distributions` found.

    Attributes
    ----------
    game, policy:
        What is played, and the policy.
    of:
        ``of[name]``: the distribution of each of the numbers that were asked for.
    meets:
        ``meets[text]``: the probability that a game comes to this board, with the player to move, in any
        orientation.
    states:
        How many states the policy meets, up to symmetry; of a function, without.
    plays_by:
        The objective by which the policy plays, if it is a table.
    """

    facts = ("policy", "plays_by", "states", "distributions", "meets")

    game: Game
    policy: str
    of: Mapping[str, Distribution] = field(hash=False)
    meets: Mapping[str, float] = field(hash=False)
    states: int
    plays_by: Objective | None = None

    @property
    def player(self) -> str:
        """The policy; of a table also by which objective it plays."""
        return player_text(self.policy, self.plays_by)

    def meets_text(self, board: str) -> str:
        """Return the probability that a game comes to a board, as it is printed."""
        return rounded_text(self.meets[board], ROUNDING * self.meets[board], DIGITS, most=1)

    def __getitem__(self, name: str) -> Distribution:
        return self.of[name]

    @property
    def distributions(self) -> tuple[Distribution, ...]:
        """The distributions, as the document lists them."""
        return tuple(self.of.values())

    def asked(self) -> tuple[Finding, ...]:
        """Return the means of distributions, and the probabilities to meet boards."""
        told = {f"mean of the {name} at the end": one.mean_text for name, one in self.of.items()}
        told |= {f"probability to meet {board}": self.meets_text(board) for board in self.meets}
        title, rules = title_of(self.game), rules_of(self.game)
        return tuple(
            Finding(title, f"{what}, by the policy {self.player}", value, "rounded", rules)
            for what, value in told.items()
        )


def distributions(
    table: Table | Path | str,
    policy: str | Path | Table | Policy | ArrayPolicy,
    *,
    of: Sequence[str] = tuple(NAMES),
    resolution: int = 1,
    boards: Sequence[str] = (),
    objective: str | None = None,
    states: int = MOST_STATES,
    symmetry: Symmetry | None = None,
    **use: Unpack[Use],
) -> Distributions:
    """Compute how the games of a policy end, in one pass forward, without playing games.

    Parameters
    ----------
    table:
        A table of reachable positions in a folder on this machine; its game is played.
    policy:
        As for `evaluate`; a table takes each of its best slides with the same probability.
    of:
        Names of `NAMES`.
    resolution:
        So many lengths or scores have one entry together.
    boards:
        Boards with the player to move: the probability that a game comes to each of them.
    objective:
        A table plays by its values of the objective with this label if it has them, and else, or with None,
        by its first.  `table` or the policy must have it.
    states:
        A callable is refused if it reaches more states, without symmetry.
    symmetry:
        As for `evaluate`.
    use:
        Memory, threads and the like: the keywords of `Use`.

    Raises
    ------
    UsageError
        If a name or the policy does not exist, or the largest tile at the end is asked for in a game that a
        pattern or a sum wins.
    BoardError
        If a board is not one of the game.
    ResourceError
        If the probabilities do not fit into memory.
    """
    if wrong := [name for name in of if name not in NAMES]:
        raise UsageError(f"{wrong[0]!r} has no distribution: choose among {', '.join(NAMES)}")
    if not of and not boards:
        raise UsageError(f"name what has a distribution ({', '.join(NAMES)}), or a board to meet")
    if resolution < 1:
        raise UsageError(f"the resolution must be 1 or more, not {resolution}")
    allowed, opened, found = Allowance.of(**use), open_table(table), find_policy(policy)
    game = opened.game
    if "tile" in of and (game.patterns or game.goal_sum is not None):
        raise UsageError("the largest tile at the end is for games that a goal tile wins, or without a goal")
    asked = {text: Board.read(game, text) for text in boards}
    ends, agent = _Ends(game, of), _agent(opened, found, objective, policy, symmetry)
    walk, name = _Games(agent, ends, states, allowed), agent.policy.name
    meets = walk.run({board.cells for board in asked.values()})
    return Distributions(
        game, name, {one: ends.distribution(one, name, resolution) for one in of},
        {text: min(meets.get(board.cells, 0.0), 1.0) for text, board in asked.items()}, walk.states,
        agent.policy.by,
    )  # fmt: skip


class _Base(NamedTuple):
    """What games begin with: the sum and the potential of a board, and how many tiles are spawned first."""

    sum: int
    potential: int
    spawns: int


def _bases(ends: _Ends) -> list[tuple[_Base, list[tuple[Cells, int, Fraction]]]]:
    """Return what games begin with: for each board the states, their larger tiles, their probabilities."""
    game = ends.game
    boards, found = game.begin.boards or (game.empty_board,), []
    for board in boards:
        base = _Base(game.sum(board), potential(game, board, "tile"), game.begin.spawns)
        states = {(board, 0): Fraction(1, len(boards))}
        for _ in range(base.spawns):
            after: dict[tuple[Cells, int], Fraction] = {}
            for (state, larger), p in states.items():
                for following, q in game.spawns(state):
                    key = following, larger + ends.is_larger(game.sum(following) - game.sum(state))
                    after[key] = after.get(key, Fraction(0)) + p * q
            states = after
        found.append((base, [(state, larger, p) for (state, larger), p in states.items()]))
    return found


class _Ends:
    """The numbers of games that have ended, with their probabilities."""

    def __init__(self, game: Game, names: Sequence[str]) -> None:
        self.game, self.names = game, names
        self._sums: dict[str, dict[int, list[float]]] = {name: {} for name in names}
        self.smaller, self.larger = (1 << pick(game.spawn_exponents) for pick in (min, max))

    @property
    def counts_larger(self) -> bool:
        """Whether states have to carry the number of larger tiles among the spawned ones."""
        return "length" in self.names or "score" in self.names

    def is_larger(self, tile: int) -> int:
        """Return 1 for the larger one of two tiles that are spawned, else 0."""
        return int(tile == self.larger != self.smaller)

    def add_games(self, base: _Base, total: int, score: Array, chances: Array, *, more: int) -> None:
        """Add lengths and scores of games that end `more` slides after those that led to the sum.

        ``chances[i, f]``: f of the spawned tiles are larger; ``score[i]`` is the potential of the last board.
        """
        larger = np.arange(chances.shape[1])
        spawns = (total - base.sum - self.larger * larger) // self.smaller + larger
        self.add("length", np.broadcast_to(spawns - base.spawns + more, chances.shape), chances)
        worth = potentials("tile")[self.larger.bit_length() - 1] * larger + potentials("tile")[
            self.smaller.bit_length() - 1
        ] * (spawns - larger)
        self.add("score", score[..., None] - base.potential - worth, chances)

    def add(self, name: str, values: Array, chances: Array) -> None:
        """Add games: their values of one number, and their probabilities, arrays of one shape."""
        if name not in self._sums or not values.size:
            return
        distinct, index = np.unique(values.ravel(), return_inverse=True)
        sums = np.bincount(index.ravel(), chances.ravel(), len(distinct))
        for value, p in zip(distinct.tolist(), sums.tolist(), strict=True):
            if p:
                self._sums[name].setdefault(value, []).append(p)

    def distribution(self, name: str, policy: str, resolution: int) -> Distribution:
        """Return the distribution of one number."""
        single = {value: math.fsum(parts) for value, parts in sorted(self._sums[name].items())}
        mean = math.fsum(value * p for value, p in single.items())
        step = 1 if name == "tile" else resolution
        parts: dict[int, list[float]] = {}
        for value, p in single.items():
            parts.setdefault(value // step * step, []).append(p)
        chances = {v: min(math.fsum(some), 1.0) for v, some in parts.items()}
        return Distribution(name, policy, chances, step, mean)


def _agent(table: Table, policy: Any, objective: str | None, name: Any, symmetry: Symmetry | None) -> Agent:
    """Return who is asked for slides; a function may treat turned boards differently.

    Raises `UsageError` for a table of another game.
    """
    asked = asked_policy(policy, table.game, name, objective)
    playing = policy if isinstance(policy, Table) else None
    built_in = playing is not None or isinstance(policy, str)
    if objective is not None and find_objective(table.objectives, objective) is None:
        (playing or table).objective(objective)  # raises unless it has it
    if built_in:
        local_folder(playing or table)
    return Agent(asked, symmetry or usual_symmetry(policy) or "canonical", again=not built_in)


class _Follow(Walk):
    """Follows all games from one board: each state has a probability for each number of larger tiles."""

    def __init__(self, boards: GameArrays, ends: _Ends, base: _Base, *, turned: bool) -> None:
        super().__init__(boards.compiled, turned=turned)
        self._ends, self._base = ends, base

    def width(self, total: int) -> int:
        """Return how many numbers states of a sum carry."""
        return (total - self._base.sum) // self._ends.larger + 1 if self._ends.counts_larger else 1

    def carried(self, total: int, exponent: int, weights: Array) -> Array:
        """Count the tile that is spawned, if it is the larger one."""
        wide = np.zeros((len(weights), self.width(total + (1 << exponent))))
        shift = self._ends.is_larger(1 << exponent) * self._ends.counts_larger
        wide[:, shift : shift + weights.shape[1]] = weights
        return wide


class _Games:
    """Follows all games of a policy, from the smallest sum on."""

    def __init__(self, agent: Agent, ends: _Ends, most: int, allowed: Allowance) -> None:
        self._agent, self._ends, self._most, self._allowed = agent, ends, most, allowed
        self._boards, self._game = agent.boards, agent.boards.game
        self._pace = Pace(allowed.progress, "states")
        self.states = 0

    def run(self, boards: set[Cells]) -> dict[Cells, float]:
        """Follow the games; return the probabilities that they come to some boards."""
        game, meets = self._game, dict.fromkeys(boards, 0.0)
        images = {
            board: self._boards.least(np.array([game.pack(board)], dtype=np.uint64))[0] for board in boards
        }
        for base, starts in _bases(self._ends):
            flow = _Follow(self._boards, self._ends, base, turned=self._agent.turned)
            for board, larger, p in starts:
                chances = np.zeros((1, flow.width(game.sum(board))))
                chances[0, larger if self._ends.counts_larger else 0] = float(p)
                flow.enter(board, chances)
            while flow:
                total, (keys, chances) = flow.pop()
                self.states += len(keys)
                self._check_size(chances)
                for board, image in images.items():
                    if game.sum(board) == total:
                        meets[board] += float(chances[self._boards.least(keys) == image].sum())
                self._layer(flow, base, total, keys, chances)
                if self._pace.due():
                    self._pace.report(total, "follow", self.states, min(total / game.largest_sum, 0.999))
        self._pace.report(0, "done", self.states, 1.0)
        return meets

    def _check_size(self, chances: Array) -> None:
        if not self._agent.turned and self.states > self._most:
            raise ResourceError(
                f"the policy reaches more than {self._most:,} states: allow more with --states (states=)"
            )
        if 6 * chances.nbytes > self._allowed.memory:
            raise ResourceError(
                f"the probabilities of {len(chances):,} states take about {byte_text(6 * chances.nbytes)} of "
                "memory: allow more with --memory (memory=), or ask for the distribution of the tile alone"
            )

    def _layer(self, flow: _Follow, base: _Base, total: int, keys: Array, chances: Array) -> None:
        """End the games that end at a sum, and let the others go on."""
        game, tops_of = self._game, self._boards.tops
        score, tops = board_potentials(game, keys), tops_of(keys)
        if game.reached(total):  # its sum has won: no slide is made
            self._end(base, total, 0, score, tops, chances)
            return
        slid = self._boards.slide(keys)
        chosen = chances_of(self._agent, keys, slid)
        stuck = ~slid.allowed.any(axis=1)
        self._end(base, total, 0, score[stuck], tops[stuck], chances[stuck])
        going_keys, going = [], []
        columns = (slid.wins, slid.after, slid.reward, chosen)
        for wins, afters, reward, weights in zip(*(column.T for column in columns), strict=True):
            taken, gained = weights > 0, score + reward
            part = chances * weights[:, None]
            won = taken & wins
            goal = np.full(int(won.sum()), game.goal_exponent or 0)
            self._end(base, total, 1, gained[won], goal, part[won])
            left = taken & ~wins
            if game.ended(total):
                self._end(base, total, 1, gained[left], tops_of(afters[left]), part[left])
            else:
                going_keys.append(afters[left])
                going.append(part[left])
        if going:
            flow.spread(total, flow.like(np.concatenate(going_keys)), np.concatenate(going))

    def _end(self, base: _Base, total: int, more: int, score: Array, tops: Array, chances: Array) -> None:
        """End games: with `more` slides after those that led to the sum."""
        tiles = np.where(tops > 0, np.int64(1) << tops.astype(np.int64), 0)
        self._ends.add("tile", tiles, chances.sum(axis=1))
        if self._ends.counts_larger:
            self._ends.add_games(base, total, score, chances, more=more)
