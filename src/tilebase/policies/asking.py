"""Policies that are asked for many boards at once: what they are shown, and what their answers mean.

`as_policy` makes an `ArrayPolicy` of whatever chooses slides: a function of arrays or of one board, an object
with ``predict``, a table.  Agents that were trained elsewhere number actions and write boards in their own
way: `ACTION_ORDERS` and `OBSERVATIONS` state the ways of some packages.

>>> from tilebase import Game
>>> from tilebase.arrays import GameArrays
>>> game = Game("2x2", 32)
>>> def first(board):
...     return next(iter(board.slides()))
>>> policy = as_policy(first, game, asked="board")
>>> keys = GameArrays(game).pack([[[1, 1], [0, 0]]])
>>> policy.probabilities(keys)  # left, right, up, down
array([[1., 0., 0., 0.]])
>>> as_policy("greedy", game).probabilities(keys)
array([[0.5, 0.5, 0. , 0. ]])
"""

from __future__ import annotations

import importlib
import inspect
import math
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase.arrays import Flags, Floats, GameArrays, Keys, TableArrays, as_array
from tilebase.errors import UsageError
from tilebase.game.board import Board
from tilebase.game.findings import Finding
from tilebase.game.game import Game
from tilebase.game.names import rules_of, title_of
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Unknown, Value
from tilebase.sparse.flow import even, largest
from tilebase.tables.probe import Table, open_table

Boards: TypeAlias = npt.NDArray[np.uint8]
Asked: TypeAlias = Literal["batch", "one", "board", "predict"]
Output: TypeAlias = Literal["actions", "probabilities", "scores"]
Illegal: TypeAlias = Literal["raise", "mask"]


class BatchPolicy(Protocol):
    """A function of many boards."""

    def __call__(self, boards: Boards, allowed: Flags, /) -> Any:
        """Return actions ``int[n]`` or probabilities ``float[n, A]``, in what `as_array` takes.

        `boards` are exponents ``uint8[n, *shape]``, `allowed` says which actions are allowed: ``bool[n, A]``.
        """


ASKED = ("batch", "one", "board", "predict")
OUTPUTS = ("actions", "probabilities", "scores")
ILLEGAL = ("raise", "mask")
BUILT_IN = ("random", "greedy")
SUM_ERROR = 1e-6
"""How far the probabilities of a board may be from the sum 1, since agents compute in 32 bits."""
ACTION_ORDERS = {
    "gymnasium-2048": ("up", "right", "down", "left"),
    "jumanji": ("up", "right", "down", "left"),
    "open-spiel": ("up", "right", "down", "left"),
    "pgx": ("left", "up", "right", "down"),
}
"""``ACTION_ORDERS[package][a]``: the direction that an environment of another package calls action a."""


def _one_hot(depth: int, dtype: type, boards: Boards) -> Any:
    """Give each cell `depth` numbers: 1 for its exponent, 0 for the others."""
    if boards.max(initial=0) >= depth:
        raise UsageError(f"the observation holds exponents below {depth}: a board has a larger tile")
    return np.eye(depth, dtype=dtype)[boards]


def _tiles(dtype: type, boards: Boards) -> Any:
    return np.where(boards, np.int64(1) << boards.astype(np.int64), 0).astype(dtype)


def largest_exponent(game: Game) -> int:
    """Return the largest exponent on the boards of a game, won ones included."""
    goal = game.goal_exponent or 0
    high = max(*game.bounds.packed, goal)
    return max(high, game.x, goal + (goal == game.x)) if game.unmergeable else high


def shown(observation: str | Callable[[Boards], Any], game: Game) -> Callable[[Boards], Any]:
    """Return what makes an observation of boards.  Raises `UsageError` for another name."""
    if callable(observation):
        return observation
    if observation == "one-hot":
        return partial(_one_hot, largest_exponent(game) + 1, np.uint8)
    if observation not in OBSERVATIONS:
        names = ", ".join((*OBSERVATIONS, "one-hot"))
        raise UsageError(f"the observation must be one of {names}, not {observation!r}")
    return OBSERVATIONS[observation]


OBSERVATIONS: dict[str, Callable[[Boards], Any]] = {
    "exponents": np.asarray,
    "tiles": partial(_tiles, np.int64),
    "gymnasium-2048": partial(_one_hot, 16, np.uint8),
    "jumanji": partial(np.asarray, dtype=np.int32),
    "open-spiel": partial(_tiles, np.float32),
    "pgx": partial(_one_hot, 31, np.bool_),
}
"""What a policy is shown of ``boards[n, *shape]``: exponents ``uint8``, tiles ``int64``, or as in a package:
one-hot ``uint8[n, *shape, 16]``, exponents ``int32``, tiles ``float32``, one-hot ``bool[n, *shape, 31]``."""


class ArrayPolicy:
    """A policy of one game.  `as_policy` makes it.  It can be pickled if what it was made of can be.

    Attributes
    ----------
    name:
        What it is called in results: the name of the function, class or table, unless it is set.
    boards:
        The rules of its game.
    by:
        The objective by which a table plays; None for other policies.
    """

    def __init__(
        self,
        name: str,
        boards: GameArrays,
        answer: Callable[[Keys, Flags], Floats],
        by: Objective | None = None,
    ) -> None:
        self.name, self.boards, self._answer, self.by = name, boards, answer, by

    def __repr__(self) -> str:
        return f"<ArrayPolicy {self.name}: {self.boards.game}>"

    def __call__(self, boards: npt.ArrayLike, allowed: Flags) -> Floats:
        """Return the probabilities ``float64[n, A]`` for boards of exponents, as a `BatchPolicy` does."""
        return self.probabilities(self.boards.pack(boards), allowed)

    def probabilities(self, keys: Keys, allowed: Flags | None = None) -> Floats:
        """Return the probability of each slide, ``float64[n, A]``, for packed states that have a slide.

        `allowed` says which slides are allowed, if that is known.  Raises `UsageError` if the policy answers
        in a wrong shape, or slides where it is not allowed.
        """
        if allowed is None:
            allowed = self.boards.slide(keys).allowed
        chances = self._answer(keys, allowed)
        wrong = (chances > 0) & ~allowed
        if wrong.any():
            at, action = np.argwhere(wrong)[0]
            game, slide = self.boards.game, self.boards.actions[action]
            board = game.format(game.unpack(int(keys[at])))
            raise UsageError(f"the policy slides {slide} on {board}, which is not allowed")
        return chances


def as_policy(
    policy: Any,
    game: Game,
    *,
    asked: Asked | None = None,
    output: Output | None = None,
    observation: str | Callable[[Boards], Any] | None = None,
    actions: str | Sequence[str] = "tilebase",
    illegal: Illegal = "raise",
    objective: Objective | str | None = None,
) -> ArrayPolicy:
    """Make a policy of whatever chooses slides.

    Parameters
    ----------
    policy:
        A function, an object with ``predict``, a table of the game or its folder, ``random`` (every allowed
        slide with the same probability) or ``greedy`` (the slide that merges most).  A table plays each of
        its best slides with the same probability.
    game:
        What is played.
    asked:
        ``batch``: ``policy(boards, allowed)`` for n boards at once (`BatchPolicy`).  ``one``: the same for
        one board, without the first axis.  ``board``: ``policy(board)`` with a `Board`, which answers a
        direction, or directions with probabilities.  ``predict``: ``policy.predict(boards)`` for n boards,
        with ``action_masks=allowed`` if it takes this; of a tuple the first is the answer.
        A function or method with a parameter ``deterministic``, such as ``predict`` of Stable-Baselines3,
        gets ``deterministic=True``.
        None: ``predict`` if there is such a method, ``board`` for a function that takes one argument only,
        else ``batch``.
    output:
        What arrays mean: ``actions`` (``int[n]``), ``probabilities`` or ``scores`` (``float[n, A]``; of the
        allowed slides the one with the largest, equal ones with the same probability).  None: whole numbers
        are actions, floats are probabilities.
    observation:
        How boards are shown: one of `OBSERVATIONS`; ``one-hot``, ``uint8[n, *shape, K]`` for the K exponents
        from 0 on that boards of the game hold; or a function of exponents ``uint8[n, *shape]``.  None:
        one-hot vectors of K numbers if the `observation_space` of the policy, such as a model of
        Stable-Baselines3, is ``[*shape, K]``; else ``exponents``.
    actions:
        How actions are numbered, in answers and in `allowed`: ``tilebase`` (left, right, up, down; in a box
        front and back follow), a package of `ACTION_ORDERS`, or the directions in their order.
    illegal:
        What follows if a slide is not allowed: ``raise``, or ``mask``: its probability is shared out to the
        allowed slides in proportion to theirs, equally if they have none.
    objective:
        For which objective a table plays: by its values of this one if it has them, else by its first.

    Raises
    ------
    UsageError
        If a parameter has another value, or the table is of another game.
    """
    boards = GameArrays(game)
    if isinstance(policy, ArrayPolicy):
        if policy.boards.game != game:
            raise UsageError(f"{policy.name} is a policy for {policy.boards.game}, not for {game}")
        return policy
    for word, words in ((asked, (None, *ASKED)), (output, (None, *OUTPUTS)), (illegal, ILLEGAL)):
        if word not in words:
            raise UsageError(f"{word!r} is not one of {', '.join(filter(None, words))}")
    if isinstance(policy, str) and policy in BUILT_IN:
        return ArrayPolicy(policy, boards, _random if policy == "random" else partial(_greedy, boards))
    if isinstance(policy, Table | Path | str):
        table = open_table(policy)
        check_plays(table, game)
        by = table.plays_by(objective)
        arrays = TableArrays(table, by.label)
        return ArrayPolicy(table.location.name, boards, partial(_best, arrays), by)
    if asked is None:
        asked = (
            "predict" if hasattr(policy, "predict") else "board" if _arguments(policy)[1] == 1 else "batch"
        )
    function = policy.predict if asked == "predict" and hasattr(policy, "predict") else policy
    if not callable(function):
        raise UsageError(f"the policy must be a function, a table or an object with predict, not {policy!r}")
    if "deterministic" in _parameters(function):  # else it may draw its answers
        function = partial(function, deterministic=True)
    order = _order(game, actions)
    if observation is None:
        space: tuple[int, ...] = getattr(getattr(policy, "observation_space", None), "shape", None) or ()
        one_hot = len(space) == len(game.shape) + 1
        observation = partial(_one_hot, space[-1], np.uint8) if one_hot else "exponents"
    ask: Callable[[Keys, Flags], Any] = (
        partial(_ask_boards, function, game, illegal)
        if asked == "board"
        else partial(_ask_arrays, function, boards, asked, shown(observation, game), order)
    )
    if asked == "board":  # its answers name directions, and so are in our order
        order = np.arange(len(order))
    named = str(getattr(policy, "__name__", type(policy).__name__))
    return ArrayPolicy(named, boards, _Meaning(ask, output, order, illegal))


def check_plays(policy: Table, game: Game) -> None:
    """Raise `UsageError` unless a table is one of this game, so that it can play it."""
    if policy.game == game:
        return
    text = f"{policy.location.name} is a table of {policy.game}, not of {game}"
    if policy.game.can_win or policy.game.goal is not None or policy.game.changed(goal=game.goal) != game:
        raise UsageError(f"{text}: name a table of this game, or wrap it in a function")
    name = policy.location.name
    raise UsageError(
        f"{text}: tilebase evaluate {name} {name} --distribution tile says how often its games make "
        f"{game.goal} (at_least)"
    )


def takes_arrays(policy: Any) -> bool:
    """Return whether a policy has ``predict`` or needs two arguments, as a `BatchPolicy`, not a `Board`."""
    return hasattr(policy, "predict") or (callable(policy) and _arguments(policy)[0] == 2)


def _arguments(policy: Any) -> tuple[int, float]:
    """Return how many arguments by position a function needs, and how many it takes."""
    found = _parameters(policy)
    if found is UNKNOWN:
        return 0, math.inf
    named = [
        one for name, one in found.items()
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) and name != "deterministic"
    ]  # fmt: skip
    needed = sum(one.default is one.empty for one in named)
    return needed, math.inf if any(one.kind is one.VAR_POSITIONAL for one in found.values()) else len(named)


UNKNOWN: Mapping[str, inspect.Parameter] = {}


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a function by name; `UNKNOWN` for what is not written in Python."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return UNKNOWN


# -- what is asked -----------------------------------------------------------------------------


def _order(game: Game, actions: str | Sequence[str]) -> npt.NDArray[np.int64]:
    """Return ``order[b]``: our number of the action that the policy calls b."""
    if isinstance(actions, str) and actions not in ("tilebase", *ACTION_ORDERS):
        raise UsageError(
            f"actions must be tilebase, {', '.join(ACTION_ORDERS)} or directions, not {actions!r}"
        )
    if isinstance(actions, str):
        actions = ACTION_ORDERS.get(actions, game.directions)
    if sorted(actions) != sorted(game.directions):
        raise UsageError(f"actions must be the directions of {game}: {', '.join(game.directions)}")
    return np.array([game.directions.index(direction) for direction in actions], dtype=np.int64)


def _ask_arrays(
    policy: Any,
    boards: GameArrays,
    asked: str,
    look: Callable[[Boards], Any],
    order: npt.NDArray[np.int64],
    keys: Keys,
    allowed: Flags,
) -> Any:
    """Ask a policy that takes arrays."""
    seen, mask = look(boards.unpack(keys)), allowed[:, order]
    try:
        if asked == "batch":
            return policy(seen, mask)
        if asked == "one":
            return np.array([as_array(policy(one, may)) for one, may in zip(seen, mask, strict=True)])
        masked = "action_masks" in _parameters(policy)
        answer = policy(seen, action_masks=mask) if masked else policy(seen)
        return answer[0] if isinstance(answer, tuple) else answer
    except Exception as error:  # the user's function may raise anything
        raise UsageError(
            f"the policy fails on {len(keys)} boards: {type(error).__name__}: {error}"
        ) from error


def _ask_boards(policy: Any, game: Game, illegal: Illegal, keys: Keys, allowed: Flags) -> Floats:
    """Ask a policy that takes one `Board` after the other."""
    chances = np.zeros(allowed.shape)
    for row, key, may in zip(chances, keys, allowed, strict=True):
        slides = [direction for direction, yes in zip(game.directions, may, strict=True) if yes]
        board = Board(game, game.unpack(int(key)))
        taken = slides if illegal == "raise" else game.directions
        for direction, weight in weights_of(policy, board, taken).items():
            row[game.directions.index(direction)] = weight
    return chances


def weights_of(policy: Callable[[Board], Any], board: Board, directions: Collection[str]) -> dict[str, float]:
    """Ask a function of one `Board`: return the directions that it answers, with their probabilities.

    Raises `UsageError` if it fails, or answers anything but these directions with probabilities.
    """
    try:
        answer: Any = policy(board)
    except Exception as error:  # the user's function may raise anything
        raise UsageError(f"the policy fails on {board.text}: {type(error).__name__}: {error}") from error
    weights = {answer: 1.0} if isinstance(answer, str) else answer
    if not isinstance(weights, Mapping) or not set(weights) <= set(directions):
        raise UsageError(
            f"the policy answers {answer!r} to {board.text}, where {', '.join(directions)} are allowed"
        )
    try:
        numbers = [float(weight) for weight in weights.values()]
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"the policy's probabilities for {board.text} are not numbers: {answer!r}"
        ) from error
    # Written in this form so that NaN is refused, too.
    if not (all(number >= 0 for number in numbers) and abs(sum(numbers) - 1) <= SUM_ERROR):
        raise UsageError(
            f"the policy's probabilities for {board.text} are {numbers}: none may be negative, "
            "and they must sum to 1"
        )
    return {direction: number / sum(numbers) for direction, number in zip(weights, numbers, strict=True)}


def _random(_: Keys, allowed: Flags) -> Floats:
    return even(allowed, axis=1)


def _greedy(boards: GameArrays, keys: Keys, allowed: Flags) -> Floats:
    return even(largest(boards.slide(keys).reward, allowed, axis=1), axis=1)


def _best(arrays: TableArrays, keys: Keys, _: Flags) -> Floats:
    return even(arrays.probe_known(keys).best, axis=1)


# -- policies by name --------------------------------------------------------------------------


def player_text(policy: str, by: Objective | None) -> str:
    """Return the name of a policy; of a table also by which objective it plays."""
    return policy if by is None else f"{policy}, which plays by {by}"


def findings_of(
    game: Game, what: str, policy: str, text: str, start: Value | Unknown, kind: str = "rounded"
) -> tuple[Finding, ...]:
    """Return what a policy is worth, and optimal play if that is known; `what` says of which value."""
    board, rules = title_of(game), rules_of(game)
    own = Finding(board, f"{what}, by the policy {policy}", text, kind, rules)
    if isinstance(start, Unknown):
        return (own,)
    return own, Finding(board, f"{what}, under optimal play", str(start), start.kind, rules)


def find_policy(policy: Any) -> Any:
    """Return a callable, an object with ``predict``, a table, or one of `BUILT_IN`.  Raises `UsageError`."""
    if callable(policy) or hasattr(policy, "predict") or (isinstance(policy, str) and policy in BUILT_IN):
        return policy
    if isinstance(policy, Table) or (isinstance(policy, str | Path) and _is_there(policy)):
        return open_table(policy)
    if isinstance(policy, str) and ":" in policy and not re.search(r"[/\\]", policy):
        return _import(policy)
    raise UsageError(
        f"there is no policy {policy!r}: give random, greedy, the folder of a table, or module:function, "
        "such as agent:choose for the function choose of agent.py"
    )


def _is_there(path: str | Path) -> bool:
    try:
        return bool(str(path)) and Path(path).exists()
    except (OSError, ValueError):  # too long, or with a zero byte
        return False


def _import(name: str) -> Any:
    module, _, function = name.partition(":")
    if module.endswith(".py"):
        raise UsageError(f"{name} names a file: name its module, {module.removesuffix('.py')}:{function}")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), function)
    except Exception as error:  # the module may raise anything
        raise UsageError(f"policy {name} cannot be imported: {error}") from error
    finally:
        sys.path.pop(0)
    if not callable(found) and not hasattr(found, "predict"):
        raise UsageError(f"policy {name} is not a function, nor has it a method predict")
    return found


# -- what an answer means ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Meaning:
    """Asks a policy, and turns its answers into probabilities."""

    ask: Callable[[Keys, Flags], Any]
    output: str | None
    order: npt.NDArray[np.int64]  # order[b]: our number of the action that the policy calls b
    illegal: str

    def __call__(self, keys: Keys, allowed: Flags) -> Floats:
        """Return the probability of each slide, in our order.  Raises `UsageError`."""
        n, actions = allowed.shape
        answer = as_array(self.ask(keys, allowed))
        whole = answer.dtype.kind in "iu" and answer.shape == (n,)
        real = answer.dtype.kind in "iuf" and answer.shape == (n, actions)
        if whole and self.output in (None, "actions"):
            return self._masked(self._chosen(answer, actions), allowed)
        if real and self.output == "scores":
            return self._largest(answer, allowed)
        if real and self.output in (None, "probabilities") and answer.dtype.kind == "f":
            return self._masked(self._weighed(answer), allowed)
        raise UsageError(
            f"the policy answers an array {list(answer.shape)} of {answer.dtype}; {n} boards need "
            + {
                "actions": f"{n} whole numbers", None: f"{n} whole numbers, or floats [{n}, {actions}]",
            }.get(self.output, f"floats [{n}, {actions}]")
        )  # fmt: skip

    def _chosen(self, answer: npt.NDArray[Any], actions: int) -> Floats:
        outside = (answer < 0) | (answer >= actions)
        if outside.any():
            raise UsageError(
                f"the policy answers {int(answer[outside][0])}, but actions are 0 to {actions - 1}"
            )
        chances = np.zeros((len(answer), actions))
        chances[np.arange(len(answer)), self.order[answer]] = 1.0
        return chances

    def _weighed(self, answer: npt.NDArray[Any]) -> Floats:
        # Written in this form so that NaN is refused, too.
        if not ((answer >= 0).all() and (np.abs(answer.sum(axis=1) - 1) <= SUM_ERROR).all()):
            raise UsageError(
                "the probabilities of the policy must be at least 0 and add up to 1; if they are scores, "
                "say so: as_policy(..., output='scores')"
            )
        chances = np.empty(answer.shape)
        chances[:, self.order] = answer / answer.sum(axis=1, keepdims=True, dtype=np.float64)
        return chances

    def _largest(self, answer: npt.NDArray[Any], allowed: Flags) -> Floats:
        scores = np.empty(answer.shape)
        scores[:, self.order] = answer
        if np.isnan(scores[allowed]).any():
            raise UsageError("the policy gives the score NaN to a slide that is allowed")
        return even(largest(scores, allowed, axis=1), axis=1)

    def _masked(self, chances: Floats, allowed: Flags) -> Floats:
        if self.illegal == "raise":
            return chances
        kept = np.where(allowed, chances, 0.0)
        total = kept.sum(axis=1, keepdims=True)
        return np.where(total > 0, kept / np.where(total > 0, total, 1.0), even(allowed, axis=1))
