"""Many games that are played at once, step by step, from random spawns.

`Simulator` holds n games as arrays.  Whoever chooses the slides (a learner, an agent that is measured, an
environment) gives an action for each game.  What follows is compiled.

>>> from tilebase import Game
>>> from tilebase.simulator import Simulator
>>> games = Simulator(Game("2x2", 16), 1000, seed=1)
>>> while games.going.any():
...     games.step(games.allowed.argmax(axis=1))  # the first slide that is allowed
>>> int(games.won.sum())
153
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase._kernels import play, wide
from tilebase._kernels.arguments import Scratch
from tilebase._kernels.packed import packed
from tilebase.arrays import CACHED, Flags, GameArrays, Keys, sums_of
from tilebase.errors import UsageError
from tilebase.game.board import Board
from tilebase.game.game import Cells, Game, check_is_game
from tilebase.objectives.objective import MEANINGS, Meaning, merge_worth, potential
from tilebase.sparse.reading import word_potentials

Illegal: TypeAlias = Literal["noop", "terminate"]

REWARDS = tuple(
    name
    for name, meaning in MEANINGS.items()
    if meaning.spawns == "mean" and not (meaning.rounding or meaning.end or meaning.lost)
)
"""The rewards, by the names of the objectives that are the mean of their sum: win, score, merges, moves."""
ILLEGAL = ("noop", "terminate")
"""What a slide that is not allowed does: nothing, or it ends the game."""
SCALE = 1 << 63


@dataclass(frozen=True, eq=False)
class State:
    """The state of all games of a `Simulator`, as `Simulator.clone_state` returns it.

    Can be pickled, compared and a key of dictionaries.
    """

    game: Game
    arrays: Mapping[str, npt.NDArray[Any]] = field(repr=False)
    steps: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = field(default=None, repr=False)
    """What a vector environment keeps of its games: which have ended, and how many steps they have."""

    def _key(self) -> tuple[Any, ...]:
        return self.game, *(one.tobytes() for one in (*self.arrays.values(), *(self.steps or ())))

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, State) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())


class Simulator:
    """Games that are played at once.  Not safe to share between threads.

    Copies (`copy.deepcopy`, pickled ones) continue with the same spawns.  See also `simulator_of`.

    Parameters
    ----------
    game:
        What is played.
    n:
        How many games.
    reward:
        One of `REWARDS`.
    seed:
        Game i has the stream of seed ``seed + i``; or one seed for each game.  A game depends only on its
        own seed and its own actions.

    Attributes
    ----------
    keys:
        ``uint64[n]``: the packed boards.  That of a game that is won by a slide is the one after this slide;
        a goal of twice the largest tile has no code, and is left out.
    boards:
        ``uint8[n, *shape]``: the same as exponents.
    allowed:
        ``bool[n, A]``: which slides are allowed, in the order of ``game.directions``; none in a game that has
        ended.
    after:
        ``uint64[n, A]``: the packed board after each slide; 0 if the slide is not allowed.
    wins:
        ``bool[n, A]``: whether each slide wins.
    rewards:
        ``float64[n]``: what the last step has earned.
    refused:
        ``bool[n]``: whether the last action was not allowed.

    The arrays are changed in place by the next call.

    Raises
    ------
    UsageError
        If the reward does not exist, the game has no win to reward, or n or a seed is no such number.

    >>> games = Simulator(Game("2x2", 32), 2, reward="score", seed=[1, 5])
    >>> games.step([0, 3])  # left, down
    >>> games
    <Simulator of 2 games: 2x2, to 32>
    """

    _WIDE: ClassVar = False
    _MEMORY: ClassVar[tuple[str, ...]] = ("_spawns", "_cells", "_scratch", "_marks")
    """What `_make_memory` makes: it holds addresses."""

    def __init__(self, game: Game, n: int, *, reward: str = "win", seed: int | npt.ArrayLike = 0) -> None:
        check_is_game(game, wide=self._WIDE)
        if reward not in REWARDS:
            raise UsageError(f"the reward must be one of {', '.join(REWARDS)}, not {reward!r}")
        if MEANINGS[reward].win and not game.can_win:
            raise UsageError(f"{game} cannot be won: give it a goal, or choose another reward")
        if n < 1:
            raise UsageError(f"the number of games must be 1 or more, not {n}")
        self.game, self.reward, self.actions = game, reward, game.directions
        self.boards: npt.NDArray[np.uint8] = np.zeros((n, *game.shape), dtype=np.uint8)
        self.allowed: Flags = np.zeros((n, len(self.actions)), dtype=np.bool_)
        self.rewards = np.zeros(n)
        self.refused: Flags = np.zeros(n, dtype=np.bool_)
        self._standing = np.zeros(n, dtype=np.uint8)
        self._streams = np.zeros(n, dtype=np.uint64)
        self._every = np.ones(n, dtype=np.bool_)
        self._make_state()
        self._make_memory()
        self.seed(seed)
        self.begin()

    def _make_state(self) -> None:
        """Make what packed boards need beside the boards."""
        self.arrays = GameArrays(self.game)
        self.keys: Keys = np.zeros(len(self), dtype=np.uint64)
        self.after: Keys = np.zeros(self.allowed.shape, dtype=np.uint64)
        self.wins: Flags = np.zeros_like(self.allowed)
        self._kinds = np.zeros(self.allowed.shape, dtype=np.uint8)

    def _make_memory(self) -> None:
        """Make what kernels read and write beside the state of the games, and what shares its memory."""
        self._spawns = _spawn_rules(self.game, self.reward)
        self._cells = self.boards.reshape(len(self), self.game.cells)
        width = min(len(self), CACHED)
        self._scratch = packed(Scratch.of(2 * width + 8))
        self._marks = np.zeros(2 * width, dtype=np.uint8)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in self._MEMORY}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._make_memory()

    def __repr__(self) -> str:
        return f"<Simulator of {len(self):,} games: {self.game}>"

    def __len__(self) -> int:
        """Return how many games there are."""
        return len(self.boards)

    @property
    def going(self) -> Flags:
        """``bool[n]``: whether the game has not ended."""
        return np.equal(self._standing, play.GOING)

    @property
    def won(self) -> Flags:
        """``bool[n]``: whether the game is won."""
        return np.equal(self._standing, play.WON)

    def seed(self, seed: int | npt.ArrayLike, which: Flags | None = None) -> None:
        """Seed the games i with ``which[i]``, None: all, by the parameter `seed` of the class."""
        chosen = self._chosen(which)
        self._streams[chosen] = streams_of(seed, len(self))[chosen]

    def clone_state(self, *, include_rng: bool = False) -> State:
        """Copy the state of all games for `restore_state`; with `include_rng`, also which spawns follow."""
        kept = self.__getstate__() if include_rng else self.__getstate__() | {"_streams": None}
        return State(self.game, {k: v.copy() for k, v in kept.items() if isinstance(v, np.ndarray)})

    def restore_state(self, state: State) -> None:
        """Continue all games from a state of `clone_state`, of this or of another simulator.

        Without `include_rng`, spawns continue where they are.  Raises `UsageError` if the state is of other
        games.
        """
        given: object = state
        of = (given.game, len(given.arrays["boards"])) if isinstance(given, State) else None
        if of != (self.game, len(self)):
            raise UsageError(f"restore what clone_state returned for {self!r}, not {repr(given)[:80]}")
        for name, array in state.arrays.items():
            getattr(self, name)[...] = array

    def pack(self, boards: Any) -> npt.NDArray[Any]:
        """Return n boards of any form as `place` takes them: keys ``uint64[n]``.

        Raises `UsageError` if there are not as many as games, or as `GameArrays.pack`.
        """
        states = self._pack(boards)
        if states.shape not in ((len(self),), (len(self), self.game.cells)):
            raise UsageError(f"give {len(self)} boards to begin with, not a batch {list(states.shape)}")
        return states

    def _pack(self, boards: Any) -> npt.NDArray[Any]:
        return self.arrays.pack(boards)

    def begin(self, which: Flags | None = None) -> None:
        """Begin the games i with ``which[i]`` again; None: all."""
        chosen = self._chosen(which)
        self._begin(chosen)
        self._look_ahead(np.flatnonzero(chosen))

    def place(self, keys: Keys, which: Flags | None = None) -> None:
        """Put the states of keys ``uint64[n]`` on the boards i with ``which[i]``; None: on all.

        The keys are not checked: take those of `pack`.
        """
        chosen = self._chosen(which)
        self.keys[chosen] = keys[chosen]
        self._stand(chosen)
        self._look_ahead(np.flatnonzero(chosen))

    def step(
        self,
        actions: npt.ArrayLike,
        *,
        which: Flags | None = None,
        begin: Flags | None = None,
        illegal: Illegal = "noop",
    ) -> None:
        """Slide and spawn in all games that have not ended.

        Parameters
        ----------
        actions:
            ``int[n]``, in the order of `actions`.
        which:
            ``bool[n]``: the games that go on; the others stay as they are, with the reward 0.  None: all.
        begin:
            ``bool[n]``: games that begin again instead, with the reward 0.
        illegal:
            One of `ILLEGAL`: what a slide does that is not allowed.

        Raises
        ------
        UsageError
            If the actions are not ``n`` whole numbers from 0 to A - 1, `which` or `begin` not ``bool[n]``, or
            `illegal` is not one of `ILLEGAL`.
        """
        if illegal not in ILLEGAL:
            raise UsageError(f"illegal must be one of {', '.join(ILLEGAL)}, not {illegal!r}")
        given, chosen = self.checked(actions), self._chosen(which)
        wide_goal = not self._WIDE and self.arrays.wide_goal
        before = (self.keys.copy(), self.going) if wide_goal else None
        begun = None if begin is None else self._chosen(begin)
        self._play(given, chosen if begun is None else chosen & ~begun, illegal == "terminate")
        if begun is not None and begun.any():
            self._begin(begun)
        if before is None:
            self._look_ahead()
        else:  # a board that was won before keeps its goal, for which a key has no room
            keys, going = before
            self._look_ahead(np.flatnonzero(going if begun is None else going | begun))
            self._write_goals(keys, given)

    def checked(self, actions: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return actions as ``int64[n]``.  Raises `UsageError` as `step` says."""
        given = np.asarray(actions)
        if given.dtype.kind not in "iu" or given.shape != (len(self),):
            raise UsageError(
                f"actions must be an array [{len(self)}] of whole numbers, not {list(given.shape)} of "
                f"{given.dtype}"
            )
        if given.min() < 0 or given.max() >= len(self.actions):
            wrong = given[(given < 0) | (given >= len(self.actions))][0]
            raise UsageError(f"actions are 0 to {len(self.actions) - 1}, not {wrong}")
        return given.astype(np.int64)

    # -- how it is done ------------------------------------------------------------------------

    def _chosen(self, which: Flags | None) -> Flags:
        """Return which games are meant.  Kernels read a flag for each without a check."""
        chosen = self._every if which is None else np.ascontiguousarray(which)
        if chosen.dtype != np.bool_ or chosen.shape != (len(self),):
            raise UsageError(
                f"name games by an array [{len(self)}] of Boolean values, not {list(chosen.shape)} of "
                f"{chosen.dtype}"
            )
        return chosen

    def _play(self, actions: npt.NDArray[np.int64], chosen: Flags, ends: bool) -> None:
        """Slide and spawn in some games; `ends`: a slide that is not allowed ends the game."""
        play.play_games(
            self.keys, self.after, self._kinds, chosen, actions, ends, self._streams, self.arrays.rules,
            self._spawns, self._standing, self.rewards, self.refused,
        )  # fmt: skip

    def _begin(self, chosen: Flags) -> None:
        play.begin_games(self.keys, chosen, self._streams, self._spawns)
        self._stand(chosen)

    def _stand(self, chosen: Flags) -> None:
        """Say of states, of which a spawn may have made the goal sum, whether they are won."""
        self._standing[chosen] = play.GOING
        if self.game.goal_sum is not None:
            won = sums_of(self.game, self.keys) >= self.game.goal_sum
            self._standing[chosen & won] = play.WON

    def _look_ahead(self, games: npt.NDArray[np.intp] | None = None) -> None:
        """Slide the boards of some games, None: of all, and write what follows."""
        written: list[npt.NDArray[Any]] = [self._standing, self.after, self._kinds, self._cells]
        some = written if games is None else [array[games] for array in written]
        play.look_ahead(
            self.keys if games is None else self.keys[games], self.arrays.rules, self._scratch, self._marks,
            self.game.cells, *some,
        )  # fmt: skip
        if games is not None:
            for array, part in zip(written, some, strict=True):
                array[games] = part
        np.not_equal(self._kinds, play.REFUSED, out=self.allowed)
        np.equal(self._kinds, play.WINS, out=self.wins)

    def _write_goals(self, before: Keys, actions: npt.NDArray[np.int64]) -> None:
        """Write the boards of games that the last step has won, and what it has earned."""
        game, meaning = self.game, MEANINGS[self.reward]
        for i in np.flatnonzero(self.won & (before != self.keys)):
            state = game.unpack(int(before[i]))
            after = game.slide_any(state, self.actions[actions[i]])
            self._cells[i] = after
            earned = potential(game, after, meaning.merge) - potential(game, state, meaning.merge)
            self.rewards[i] = meaning.slide + meaning.win + earned


class WideSimulator(Simulator):
    """Games of a `WideGame`: a `Simulator` without ``keys``, ``after`` and ``wins``.

    Its states are exponents: ``uint8[n, cells]``.
    """

    _WIDE = True
    _MEMORY = ("_rules", "_cells")

    def _make_state(self) -> None:
        pass

    def _make_memory(self) -> None:
        self._rules = _wide_rules(self.game, self.reward)
        self._cells = self.boards.reshape(len(self), self.game.cells)

    def _pack(self, boards: Any) -> npt.NDArray[Any]:
        """Return exponents ``uint8[n, cells]`` of boards: `Board`, text, or arrays of exponents."""
        some = boards if hasattr(boards, "__iter__") else [boards]
        read = [Board.read(self.game, one).cells if isinstance(one, Board | str) else one for one in some]
        return np.array([self.game.check(np.ravel(one).tolist()) for one in read], dtype=np.uint8)

    def place(self, keys: npt.NDArray[Any], which: Flags | None = None) -> None:
        """Put states, as `pack` returns them, on the boards i with ``which[i]``; None: on all."""
        chosen = self._chosen(which)
        self._cells[chosen] = keys[chosen]
        self._stand(chosen)
        self._look_ahead()

    def _play(self, actions: npt.NDArray[np.int64], chosen: Flags, ends: bool) -> None:
        wide.play_wide(
            self._cells, self.allowed, chosen, actions, ends, self._streams, self._rules, self._standing,
            self.rewards, self.refused,
        )  # fmt: skip

    def _begin(self, chosen: Flags) -> None:
        wide.begin_wide(self._cells, chosen, self._streams, self._rules)
        self._stand(chosen)

    def _look_ahead(self, _: Any = None) -> None:
        wide.look_ahead_wide(self._cells, self._rules, self._standing, self.allowed)


def simulator_of(game: Game, n: int, *, reward: str = "win", seed: int | npt.ArrayLike = 0) -> Simulator:
    """Return a `Simulator`, also of a `WideGame`.  Parameters and errors are those of the class."""
    made = WideSimulator if getattr(game, "wide", False) else Simulator
    return made(game, n, reward=reward, seed=seed)


def streams_of(seed: int | npt.ArrayLike, n: int) -> npt.NDArray[np.uint64]:
    """Return the first words of n streams: of the seeds ``seed + i``, or of one seed for each."""
    given = np.asarray(seed)
    if given.dtype.kind not in "iu" or given.shape not in ((), (n,)):
        raise UsageError(f"give one seed, or {n}, as whole numbers")
    if given.min() < 0:
        raise UsageError(f"a seed must be 0 or more, not {given.min()}")
    words = given.astype(np.uint64) + (np.arange(n, dtype=np.uint64) if given.ndim == 0 else np.uint64(0))
    # Mixed as in the kernel, so that the streams of neighbouring seeds begin far from each other.
    for _ in range(2):
        words = words + play.STRIDE
        words = (words ^ words >> play.U30) * play.FACTORS[0]
        words = (words ^ words >> play.U27) * play.FACTORS[1]
        words = words ^ words >> play.U31
    return words


def _chances(game: Game, meaning: Meaning) -> tuple[list[Cells], dict[str, Any]]:
    """Return the boards that a game begins with, and what the rules of packed and of wide boards share."""
    boards, chances = zip(*game.starts(), strict=True)
    below = [int(total * SCALE) for total in itertools.accumulate(chances)]
    return list(boards), {
        "four": np.uint64(int(game.spawn.four * SCALE)),
        "below": np.array(below, dtype=np.uint64),
        "bonus": np.array([meaning.slide, meaning.win], dtype=np.float64),
    }


@lru_cache(maxsize=16)  # so that copies of an environment share them
def _spawn_rules(game: Game, reward: str) -> play.SpawnRules:
    """Return what chance decides in a game, and what slides earn."""
    meaning = MEANINGS[reward]
    starts, shared = _chances(game, meaning)
    merges = (
        word_potentials(game, (meaning.merge,))[0] if meaning.merge else np.zeros(1 << 16, dtype=np.int32)
    )
    return packed(
        play.SpawnRules(
            starts=np.array(list(map(game.pack, starts)), dtype=np.uint64), potentials=merges, **shared
        )
    )


@lru_cache(maxsize=16)
def _wide_rules(game: Game, reward: str) -> wide.WideRules:
    """Return the rules of a game for boards with a byte for each cell."""
    meaning, segments = MEANINGS[reward], [game.segments[direction] for direction in game.directions]
    starts, shared = _chances(game, meaning)
    lines = np.full((len(segments), max(map(len, segments)), max(game.shape)), -1, dtype=np.int64)
    for action, found in enumerate(segments):
        for row, cells in enumerate(found):
            lines[action, row, : len(cells)] = cells
    rules = wide.WideRules(
        lines=lines, enters=~np.isin(np.arange(game.cells), game.walls),
        goal=np.int64(game.goal_exponent or 256), starts=np.array(starts, dtype=np.uint8),
        worth=np.array([merge_worth(meaning.merge, e) for e in range(256)], dtype=np.float64), **shared,
    )  # fmt: skip
    return packed(rules)
