"""Random games, many at once, and what follows from how many are won.

`simulate` plays by a table, optimally, and compares the mean with the table's value.  All games at one sum
are played together, so that each layer of the table is read once.  The same seed gives the same games.

`sample_games` plays by a policy that is asked for many boards at once.  Games are played side by side,
`WIDTH` at most; the policy is asked on the boards of those that go on, `BATCH` at a time.  So what is done
beside the policy takes less than a microsecond a slide.  Game i has a stream of random numbers of its own for
its spawns; slides that a policy draws are drawn from one stream for all.

`binomial_interval` is the exact interval of a probability by Clopper and Pearson (1934).  Of n independent
trials k had the result.  The lower end of the interval is the probability under which k or more results would
be as rare as half of what is left to 1, and the upper end that under which k or fewer would be.  So an
interval misses the true probability at most as often as it says, however small this is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from tilebase._kernels import backward
from tilebase.arrays import Floats, GameArrays, Keys
from tilebase.errors import ResourceError, UsageError
from tilebase.game.findings import Finding, Reported
from tilebase.game.game import Game
from tilebase.game.names import rules_of, title_of
from tilebase.objectives.encoding import NONE, WON, end_values, sentinels
from tilebase.objectives.numbers import estimate_text
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Rounded, Value
from tilebase.policies.asking import ArrayPolicy
from tilebase.policies.following import Agent
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use
from tilebase.simulator import REWARDS, Simulator
from tilebase.sparse.flow import Flow, best_slides, drawn_slides, gains, ratings
from tilebase.sparse.reading import LayerReader
from tilebase.tables.probe import Table, afterstate_counts, local_folder, open_table

Array = npt.NDArray[Any]
GAME_BYTES = 200
"""Bytes that each game takes at most, while all are played together."""
NORMAL = 10
"""Of fewer wins or losses that are expected, no number of standard errors is given."""
WIDTH = 1 << 16
"""Most games that are played side by side."""
PICKS = 1 << 62
"""The seed of the slides that are drawn is this plus that of the games."""
CONFIDENCE = 0.9999
"""With this probability an interval of played games holds the probability to win."""
STEPS = 200
"""Bisections of an interval; fewer are made where neighbouring floats are reached."""


@dataclass(frozen=True)
class Simulation(Reported):
    """The result of simulated games.

    Attributes
    ----------
    games, wins, slides:
        How many games were played and won, and their slides in total.
    mean, error:
        The mean of the values of the games (discounted wins, losses, score, slides), and its standard
        error.  The error is computed from the table's value for wins without a discount, else from the
        games; it is None for a single game.
    value:
        The table's value of the start; None if it is not a mean (bounds, forced wins).
    """

    facts = (
        "objective", "games", "wins", "slides", "mean", "error", "value", "seed", "z", "interval",
        "confidence",
    )  # fmt: skip
    confidence: ClassVar[float] = CONFIDENCE

    game: Game
    objective: Objective
    games: int
    wins: int
    slides: int
    mean: float
    error: float | None
    value: Value | None
    seed: int

    def __repr__(self) -> str:
        mean = estimate_text(self.mean, self.error)
        return f"<Simulation of {self.games:,} games: {self.objective.label} {mean}>"

    @property
    def interval(self) -> tuple[float, float]:
        """The probability to win by this policy, with the confidence `CONFIDENCE`, from the wins alone."""
        return binomial_interval(self.wins, self.games, CONFIDENCE)

    @property
    def z(self) -> float | None:
        """Standard errors between the mean and the table's value; 0 if rounding explains the difference.

        None if the value or the error is not known, if all games paid the same, so that the error is 0, and
        of wins without a discount, if fewer than `NORMAL` wins or losses are expected: see `interval`.
        """
        if self.value is None or self.error is None:
            return None
        number = float(self.value)
        rounding = self.value.error if isinstance(self.value, Rounded) else 0.0
        difference = self.mean - number
        # The payoffs of games are rounded like values, and no more often.
        if abs(difference) <= 2 * rounding < math.inf:
            return 0.0
        few = counts_wins(self.objective) and min(number, 1 - number) * self.games < NORMAL
        return None if few or not self.error else difference / self.error

    def asked(self) -> tuple[Finding, ...]:
        """Return the mean of the games."""
        objective = self.objective
        what = f"value of {objective.name}"
        if counts_wins(objective):
            what = "probability to win"
        elif objective.is_mean and not objective.is_bound:
            what = objective.text
        what += f", by the policy of a table for {objective.name}"
        mean, kind = estimate_text(self.mean, self.error), f"mean of {self.games:,} games"
        return (Finding(title_of(self.game), what, mean, kind, rules_of(self.game)),)


def counts_wins(objective: Objective) -> bool:
    """Return whether a game pays 1 if it is won and else 0."""
    return objective.is_win and objective.discount == 1


def simulate(
    table: Table | Path | str,
    games: int = 100_000,
    *,
    seed: int = 0,
    objective: str | None = None,
    **use: Unpack[Use],
) -> Simulation:
    """Play random games of optimal play by a table, and compare their mean with its value of the start.

    Raises `UsageError` unless there is at least one game, the seed is not negative and the table is a folder
    on this machine; `ResourceError` if the games do not fit into memory.
    """
    if games < 1:
        raise UsageError(f"the number of games must be 1 or more, not {games}")
    if seed < 0:
        raise UsageError(f"the seed must be 0 or more, not {seed}")
    allowed = Allowance.of(**use)
    if games * GAME_BYTES > allowed.memory:
        raise ResourceError(
            f"{games:,} games do not fit into memory together: play fewer, with several seeds"
        )
    opened = open_table(table)
    chosen = opened.objective(objective)
    afterstate_counts(opened)  # its files are compared with its manifest
    local_folder(opened)
    reader = LayerReader(opened.name, opened.game, opened.layers, (chosen,))
    slack = opened.slack(chosen)
    played = _play(reader, chosen, slack, games, np.random.default_rng(seed), allowed.progress)
    payoffs = played.payoffs
    value = opened.start[chosen.label] if chosen.is_mean and not chosen.is_bound else None
    return Simulation(
        opened.game, chosen, games, played.wins, played.slides, float(chosen.told(payoffs.mean())),
        _error(chosen, payoffs, value), value, seed,
    )  # fmt: skip


def _error(objective: Objective, payoffs: Array, value: Value | None) -> float | None:
    """Return the standard error of the mean."""
    if value is not None and counts_wins(objective) and 0 < float(value) < 1:
        return math.sqrt(float(value) * (1 - float(value)) / len(payoffs))
    return standard_error(payoffs) if len(payoffs) > 1 else None


def standard_error(payoffs: Array) -> float:
    """Return the standard error of the mean of two numbers or more."""
    # The mean of equal numbers is rounded, and so would be their deviation, which is 0.
    same = bool(payoffs.min() == payoffs.max())
    return 0.0 if same else float(payoffs.std(ddof=1)) / math.sqrt(len(payoffs))


def _play(
    reader: LayerReader,
    objective: Objective,
    slack: float,
    games: int,
    rng: np.random.Generator,
    progress: Any,
) -> _Tally:
    """Play all games, layer by layer."""
    game = reader.game
    flow = Flow()  # columns: states, slides so far, payoffs so far
    boards, chances = zip(*game.starts(), strict=True)
    keys = np.array([game.pack(board) for board in boards], dtype=np.uint64)
    sums = np.array([game.sum(board) for board in boards])
    picked = rng.choice(len(keys), size=games, p=np.array(chances, dtype=np.float64))
    for total in np.unique(sums[picked]).tolist():
        states = keys[picked[sums[picked] == total]]
        flow.add(total, states, np.zeros(len(states), int), np.zeros(len(states)))
    discount = float(objective.discount)
    tally = _Tally(games, Pace(progress, "games"))
    while flow:
        total, (states, slides, payoffs) = flow.pop()
        if game.reached(total):
            won = sentinels(game, objective)[1]
            tally.end(total, slides, payoffs + won * discount**slides, len(states))
            continue
        layer = reader.layer(total)
        links = layer.link(states)
        best = best_slides(ratings(objective, layer, links), slack)
        choice = drawn_slides(best, rng)
        every = np.arange(len(states))
        slot = links.slots[choice, every]
        over, won = slot == NONE, slot == WON
        slides = slides + ~over
        done = over | won | game.ended(total)  # at the horizon no tile is spawned any more
        worth = np.where(over, 0.0, gains(objective, links, choice))
        worth[done & ~won] += objective.lost
        worth[won] += sentinels(game, objective)[1]
        if objective.counts_end:
            ended = done & ~won
            last = np.where(over, states, links.afters[choice, every])[ended]
            worth[ended] += end_values(objective, reader.compiled.tops(last))
        payoffs = payoffs + worth * discount**slides
        tally.end(total, slides[done], payoffs[done], int(won.sum()))
        afters = links.afters[choice, every][~done]
        _spawn(reader, afters, slides[~done], payoffs[~done], total, rng, flow)
    return tally


class _Tally:
    """Games that have ended: their payoffs, how many were won, and their slides."""

    def __init__(self, games: int, pace: Pace) -> None:
        self.games, self._pace = games, pace
        self.paid: list[Array] = []
        self.wins = self.slides = self.ended = 0

    def end(self, total: int, slides: Array, payoffs: Array, wins: int) -> None:
        """Add games that end at a sum."""
        self.paid.append(payoffs)
        self.wins += wins
        self.slides += int(slides.sum())
        self.ended += len(slides)
        if self._pace.due() or self.ended == self.games:
            self._pace.report(total, "play", self.ended, self.ended / self.games)

    @property
    def payoffs(self) -> Array:
        """The payoffs of all games."""
        return np.concatenate(self.paid)


def _spawn(
    reader: LayerReader,
    afters: Array,
    slides: Array,
    payoffs: Array,
    total: int,
    rng: np.random.Generator,
    flow: Flow,
) -> None:
    """Add a random spawn to each game that continues."""
    game, rules = reader.game, reader.compiled.rules
    tiles, cells = rng.random(len(afters)), rng.random(len(afters))
    states, fours = np.empty_like(afters), np.empty(len(afters), dtype=np.bool_)
    backward.spawn_one(afters, cells, tiles, float(game.spawn.four), rules, states, fours)
    for chosen, tile in ((~fours, 2), (fours, 4)):
        flow.add(total + tile, states[chosen], slides[chosen], payoffs[chosen])


# -- games of a policy that is asked for many boards at once ----------------------------------------


def sample_games(
    policy: ArrayPolicy, objective: Objective, games: int, allowed: Allowance, *, seed: int = 0
) -> Floats:
    """Play games; return what each pays, ``float64[games]``: 1 or 0 for a win, a score and so on.

    The values of the objective are means.  Raises `UsageError` as `ArrayPolicy.probabilities` does.
    """
    pace, paid = Pace(allowed.progress, "games"), np.zeros(games)
    rng = np.random.default_rng(PICKS + seed)
    rounds = -(-games // WIDTH)  # of equal size, since a round takes as many steps as its longest game
    ends = [games * i // rounds for i in range(rounds + 1)]
    for begin, end in pairwise(ends):
        part = slice(begin, end)
        paid[part] = _play_round(policy, objective, part.stop - begin, seed + begin, rng)
        if pace.due() or part.stop == games:
            pace.report(0, "play", part.stop, part.stop / games)
    return paid


def _play_round(
    policy: ArrayPolicy, objective: Objective, games: int, seed: int, rng: np.random.Generator
) -> Floats:
    boards, agent, earned = policy.boards, Agent(policy, "none"), objective.name in REWARDS
    playing = Simulator(boards.game, games, reward=objective.name if earned else "moves", seed=seed)
    actions, paid, factor = np.zeros(games, dtype=np.int64), np.zeros(games), 1.0
    going = playing.going.copy()
    while going.any():
        chances = agent.ask(playing.keys[going], playing.allowed[going])
        actions[going] = drawn_slides(chances.T, rng)
        playing.step(actions)
        factor *= float(objective.discount)
        paid[going] += factor * playing.rewards[going]
        going = playing.going.copy()
    if earned:
        return paid
    ends = (worth_at_end(boards, objective, playing.keys, won=won) for won in (True, False))
    return np.where(playing.won, *ends)


def worth_at_end(boards: GameArrays, objective: Objective, keys: Keys, *, won: bool) -> Floats:
    """Return what boards are worth on which games end, as `Objective.end` does of one."""
    if won and objective.counts_end and boards.wide_goal:  # a key has no room for the tile
        return np.full(len(keys), sentinels(boards.game, objective)[1])
    if won and not objective.counts_end:
        return np.full(len(keys), float(objective.meaning.win))
    return end_values(objective, boards.tops(keys))


# -- the interval of a probability ------------------------------------------------------------------


def binomial_interval(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    """Return the ends of the interval that holds the probability with this confidence.

    Raises `UsageError` unless there are trials, no more successes than trials, and the confidence lies
    between 0 and 1.

    >>> [round(end, 6) for end in binomial_interval(0, 1000, 0.95)]
    [0.0, 0.003682]
    """
    if not 0 <= successes <= trials or trials < 1 or not 0 < confidence < 1:
        raise UsageError(
            f"{successes} of {trials} with confidence {confidence} has no interval: give 1 trial or more, "
            "at most as many successes, and a confidence between 0 and 1"
        )
    rare = (1 - confidence) / 2
    return _lower(successes, trials, rare), 1 - _lower(trials - successes, trials, rare)


def _lower(successes: int, trials: int, rare: float) -> float:
    """Return the largest probability under which `successes` or more are at most as rare as `rare`."""
    if not successes:
        return 0.0
    low, high = 0.0, successes / trials
    for _ in range(STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if _at_least(successes, trials, middle) > rare:
            high = middle
        else:
            low = middle
    return low


def _at_least(successes: int, trials: int, p: float) -> float:
    """Return the probability of this number of successes or more, where fewer are expected."""
    log_term = (
        math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
        + successes * math.log(p) + (trials - successes) * math.log1p(-p)
    )  # fmt: skip
    # Each term is smaller than the one before it, so the sum may end where terms do not count any more.
    term = total = 1.0
    odds = p / (1 - p)
    for k in range(successes, trials):
        term *= (trials - k) / (k + 1) * odds
        total += term
        if term < 1e-17 * total:
            break
    return math.exp(log_term) * total
