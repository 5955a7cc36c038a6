"""What any policy is worth, exactly; hence what it loses against optimal play.

`random` (every allowed slide with the same probability), `greedy` (the slide that merges most)
and the policies of tables treat equivalent boards alike, and are evaluated up to symmetry by
the backward pass, with the policy's slide in place of the best.  Ties are broken evenly.
A Python callable may treat every board as it likes, so it is evaluated without symmetry, over
the states that it can reach, in plain Python: for small games.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from tilebase.backward import BackwardPass
from tilebase.board import Board
from tilebase.enumerate import Progress, check_resources
from tilebase.errors import UsageError
from tilebase.game import Cells, Game
from tilebase.layers.folds import PolicyFold
from tilebase.layers.reading import LayerReader
from tilebase.layers.spaces import Reachable
from tilebase.objectives import Objective, find_objective
from tilebase.tables.format import LayerFile
from tilebase.tables.probe import Prober, Table, open_table
from tilebase.tables.slides import Slider
from tilebase.tables.source import Folder

Policy: TypeAlias = Callable[[Board], str | Mapping[str, float]]
"""A function from a state to a direction, or to directions with their probabilities."""

MOST_STATES = 2_000_000
"""States that a callable may reach: about a minute and 2 GB."""
BUILT_IN = ("random", "greedy")


@dataclass(frozen=True)
class Evaluation:
    """What a policy is worth from the start.

    Attributes
    ----------
    policy, objective:
        What was evaluated, and under which objective.
    value, optimum:
        Of the start, under the policy and under optimal play; floats, up to rounding.
    states:
        States that the policy can reach, without symmetry, for a callable; None otherwise.
    """

    policy: str
    objective: Objective
    value: float
    optimum: float
    states: int | None = None

    @property
    def regret(self) -> float:
        """What is lost against optimal play."""
        return self.optimum - self.value

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "policy": self.policy,
            "objective": self.objective.identity,
            "value": self.value,
            "optimum": self.optimum,
            "regret": self.regret,
            "states": self.states,
        }


def evaluate(
    table: Table | Path | str,
    policy: str | Path | Table | Policy,
    *,
    objective: str | None = None,
    memory: int | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """The exact value of a policy in the game of a table.

    Parameters
    ----------
    table:
        A table in a folder on this machine, with values of `objective`.
    policy:
        ``"random"``, ``"greedy"``, another table of the same game or the folder of one,
        ``"module:function"``, or a callable.  The module is imported, also from the current folder, so its
        code runs: name only modules that you trust.
    objective:
        Label of the table's objective: win, score or moves.  None: the first of those.
    memory, threads, progress:
        As for `solve`.

    Raises
    ------
    UsageError
        For a policy that does not exist or returns a slide that is not allowed, a table without
        such an objective, or a callable that reaches more than `MOST_STATES` states.
    """
    memory, threads = check_resources(memory, threads)
    opened = table if isinstance(table, Table) else open_table(table)
    chosen = _objective(opened, objective)
    optimum = float(opened.start(chosen.label))
    guide = _find_policy(policy)
    if callable(guide) and not isinstance(guide, Table):
        name = policy if isinstance(policy, str) else getattr(guide, "__name__", "callable")
        value, states = evaluate_callable(opened.game, guide, chosen)
        return Evaluation(name, chosen, value, optimum, states)
    path = local_folder(opened)
    exact = Objective(chosen.name, "float64", chosen.discount)  # whatever type the table's values have
    fold = _policy_fold(opened, exact, guide)
    with tempfile.TemporaryDirectory(prefix="tilebase-") as temporary:
        values = Path(temporary)
        backward_pass = BackwardPass(
            path, opened.game, [exact], folds=[fold], values=values, release=True, memory=memory,
            threads=threads, progress=progress,
        )  # fmt: skip
        try:
            backward_pass.run(Reachable(path, afterstate_counts(opened)))
        finally:
            backward_pass.close()
        value = _start_value(path, values, opened.game, exact, guide)
    name = guide.location.name if isinstance(guide, Table) else guide
    return Evaluation(name, chosen, value, optimum)


def _objective(table: Table, label: str | None) -> Objective:
    fit = [o for o in table.objectives if o.is_mean and not o.is_bound]
    found = next(iter(fit), None) if label is None else find_objective(fit, label)
    if found is not None:
        return found
    raise UsageError(
        f"a policy is evaluated under win, score or moves, and {table.location.name} has no values of "
        + (f"{label} that are such" if label else "these")
    )


def _find_policy(policy: Any) -> Any:
    """A callable, a table, or one of `BUILT_IN`.  Raises `UsageError`."""
    if callable(policy) or isinstance(policy, Table) or policy in BUILT_IN:
        return policy
    if isinstance(policy, str | Path) and _is_there(policy):
        return open_table(policy)
    if isinstance(policy, str) and ":" in policy and "://" not in policy:
        return _import(policy)
    raise UsageError(
        f"policy {policy!r} is none: give random, greedy, the folder of a table, or module:function"
    )


def _is_there(path: str | Path) -> bool:
    try:
        return bool(str(path)) and Path(path).exists()
    except (OSError, ValueError):  # too long, or not a name at all
        return False


def _import(name: str) -> Any:
    module, _, function = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), function)
    except Exception as error:  # whatever the module raises
        raise UsageError(f"policy {name} cannot be imported: {error}") from error
    finally:
        sys.path.pop(0)
    if not callable(found):
        raise UsageError(f"policy {name} is no function")
    return found


def local_folder(table: Table) -> Path:
    """The folder of a table of reachable positions on this machine.  Raises `UsageError` if it is none."""
    if table.dense:
        raise UsageError(
            f"{table.location.name} holds all boards within limits, not those that occur: "
            "solve the reachable space"
        )
    if not isinstance(table.location, Folder):
        raise UsageError(f"{table.location.name} is no folder on this machine: unpack or copy it first")
    if table.manifest.thinned is not None:
        raise UsageError(f"{table.location.name} was thinned: name the whole table")
    return table.location.path


def afterstate_counts(table: Table) -> dict[int, int]:
    """Afterstates by sum."""
    path = local_folder(table)
    sizes = {}
    for total in table.manifest.layers:
        with LayerFile(path / "afterstates" / f"{total:06d}.tbl") as file:
            sizes[total] = len(file)
    return sizes


def _policy_fold(table: Table, objective: Objective, guide: Table | str) -> PolicyFold:
    if not isinstance(guide, Table):
        return PolicyFold(table.game, objective, greedy=guide == "greedy")
    if guide.game != table.game:
        raise UsageError(
            f"{guide.location.name} is a table of {guide.game}, not of {table.game}: "
            "wrap it in a function to evaluate its policy here"
        )
    by = guide.objectives[0]
    reader = LayerReader(local_folder(guide), guide.game)
    return PolicyFold(
        table.game,
        objective,
        guide=partial(reader.values, by),
        scored=by.name == "score",
        slack=guide.slack(by),
    )


def _start_value(path: Path, values: Path, game: Game, objective: Objective, guide: Table | str) -> float:
    """The mean over the starts of what the policy makes of them."""
    prober = Prober(_Split(path, values), game, [objective])
    other = guide.prober if isinstance(guide, Table) else None
    total = Fraction(0)
    for board, p in game.starts():
        slides = prober.slides(board, objective)
        if not slides:
            continue
        if other is not None and isinstance(guide, Table):
            opinions = [float(w) for *_, w in other.slides(board, guide.objectives[0])]
        elif guide == "greedy":
            opinions = [
                float(prober.slider.potential(after) - prober.slider.potential(board))
                for _, after, *_ in slides
            ]
        else:
            opinions = [0.0] * len(slides)
        most = max(opinions)
        slack = guide.slack(guide.objectives[0]) if isinstance(guide, Table) else 0.0
        least = most - slack * abs(most)
        chosen = [worth for (*_, worth), opinion in zip(slides, opinions, strict=True) if opinion >= least]
        total += p * sum((Fraction(worth) for worth in chosen), Fraction(0)) / len(chosen)
    prober.close()
    return float(total)


class _Split(Folder):
    """Keys of a table, values of a run elsewhere."""

    def __init__(self, path: Path, values: Path) -> None:
        super().__init__(path)
        self._values = values

    def open(self, name: str) -> Any:
        """The file of this name."""
        if name.startswith("values/"):
            return Folder(self._values).open(name.removeprefix("values/"))
        return super().open(name)


# -- callables ----------------------------------------------------------------------------------


def evaluate_callable(
    game: Game, policy: Policy, objective: Objective, *, most_states: int = MOST_STATES
) -> tuple[float, int]:
    """The value of the start under a policy in plain Python, and how many states it can reach.

    No symmetry is used.  Raises `UsageError` if the policy returns what is not allowed or
    reaches too many states.
    """
    slider = Slider(game)
    chosen = _reach(game, slider, policy, most_states)
    V: dict[Cells, float] = {}
    for total in sorted(chosen, reverse=True):
        for board, choices in chosen[total].items():
            V[board] = float(objective.discount) * sum(
                weight * _worth(game, slider, objective, board, after, wins, V)
                for after, wins, weight in choices
            )
    value = sum(float(p) * V[board] for board, p in game.starts())
    return value, len(V)


_Choices: TypeAlias = list[tuple[Cells, bool, float]]


def _reach(game: Game, slider: Slider, policy: Policy, most_states: int) -> dict[int, dict[Cells, _Choices]]:
    """By sum, the states that a policy reaches, and what it does there."""
    layers: dict[int, dict[Cells, _Choices]] = {}
    waiting: dict[int, set[Cells]] = {}
    for board, _ in game.starts():
        waiting.setdefault(game.sum(board), set()).add(board)
    count = 0
    while waiting:
        total = min(waiting)
        layer = layers[total] = {}
        for board in waiting.pop(total):
            count += 1
            if count > most_states:
                raise UsageError(
                    f"the policy reaches more than {most_states:,} states: evaluate it in a smaller game"
                )
            choices = layer[board] = _choices(game, slider, policy, board)
            for after, wins, weight in choices:
                if not wins and weight:
                    for state, _ in game.spawns(after):
                        waiting.setdefault(game.sum(state), set()).add(state)
    return layers


def _choices(game: Game, slider: Slider, policy: Policy, board: Cells) -> _Choices:
    slides = {direction: (after, wins) for direction, after, wins in slider.slides(board)}
    if not slides:
        return []
    try:
        answer: Any = policy(Board(game, board))
    except Exception as error:  # whatever the user's function may raise
        raise UsageError(
            f"the policy fails on {game.format(board)}: {type(error).__name__}: {error}"
        ) from error
    weights = {answer: 1.0} if isinstance(answer, str) else answer
    if not isinstance(weights, Mapping) or not set(weights) <= set(slides):
        raise UsageError(
            f"the policy answers {answer!r} to {game.format(board)}, where {', '.join(slides)} are allowed"
        )
    try:
        numbers = [float(weight) for weight in weights.values()]
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"the policy's probabilities for {game.format(board)} are no numbers: {answer!r}"
        ) from error
    # Written so that a probability that is not a number is refused, too.
    if not (all(number >= 0 for number in numbers) and abs(sum(numbers) - 1) <= 1e-9):
        raise UsageError(
            f"the policy's probabilities for {game.format(board)} are {numbers}: none may be negative, "
            "and they must sum to 1"
        )
    return [(*slides[direction], number) for direction, number in zip(weights, numbers, strict=True)]


def _worth(
    game: Game,
    slider: Slider,
    objective: Objective,
    board: Cells,
    after: Cells,
    wins: bool,
    V: dict[Cells, float],
) -> float:
    here = {"win": float(wins), "moves": 1.0}.get(objective.name)
    if here is None:
        here = float(slider.potential(after) - slider.potential(board))
    if wins:
        return here
    return here + sum(float(p) * V[state] for state, p in game.spawns(after))
