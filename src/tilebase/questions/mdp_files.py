"""Decision processes as files: for the model checkers PRISM and Storm, and as sparse matrices.

A folder has six files.  In all but the last, states are numbered from 0: the start, the live states in the
order of `mdp.MDP`, won and lost.  The start has one choice, without a reward, which draws a start board.

``mdp.sta``
    The variables, ``(phase,sum,cell_0,...)``, then a line ``STATE:(VALUES)`` for each state.  `phase` is 0
    for the start, 1 for a live state, 2 for won and 3 for lost.  `sum` is that of the tiles, and cells are
    exponents, row-major; both are 0 where the phase is not 1.  States ascend by their values.
``mdp.tra``
    The numbers of states, choices and transitions, then a line ``STATE CHOICE STATE PROBABILITY ACTION``
    for each transition, by state, choice and target.
``mdp.trew``
    The same numbers, then a line ``STATE CHOICE STATE REWARD`` for each transition of a choice with a reward
    other than 0: each has the mean reward of its choice.
``mdp.lab``
    ``0="init" 1="deadlock" 2="won" 3="lost"``, then the labels of states that have some; no state is a
    deadlock, since the last two states have a choice that stays.
``mdp.drn``
    All this in one file of Storm.  The name of the rewards is that of the objective.
``mdp.npz``
    Arrays.  States are numbered as in `MDP`, without the start; `keys`, `start`, `pair_states`,
    `pair_slides` and `rewards` are its attributes, `discount` is a number, `won` and `lost` are states, and
    `direction_pairs[a, j]` is the pair of direction a in state j, or of its first pair.  `data`, `indices`,
    `indptr`, `shape` and `format` are the transitions, as ``scipy.sparse.load_npz`` reads them.

So the largest probability to reach ``"won"`` is the value of the start under `win`, and the largest expected
reward that under other objectives.  Text has no place for a discount; the step that draws the start takes it,
too, so that the discounted reward of the start is the value that `solve` gives.  Probabilities are the floats
of the process with all digits: those of a choice sum to 1 within a few roundings, not exactly.

Sources: the PRISM manual, appendix Explicit Model Files; the documentation of Storm, DRN input format.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np

from tilebase.errors import UsageError
from tilebase.files.source import beginning, new_folder
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.questions.mdp import MDP, to_mdp
from tilebase.runtime.resources import Use
from tilebase.runtime.storage import LOCK, atomic_file

STATES, TRANSITIONS, REWARDS, LABELS, STORM, ARRAYS = (
    f"mdp.{suffix}" for suffix in ("sta", "tra", "trew", "lab", "drn", "npz")
)
"""The names of the files."""
FILES = {STATES, TRANSITIONS, REWARDS, LABELS, STORM, ARRAYS}
NAMED = '0="init" 1="deadlock" 2="won" 3="lost"\n'
"""The first line of the labels, by which a folder of an earlier call is known."""
START, LIVE, WON, LOST = range(4)
"""The phases of states."""


class Exported(NamedTuple):
    """How many states, choices and transitions were written."""

    states: int
    choices: int
    transitions: int


class Choice(NamedTuple):
    """A choice of a state: its number there, its name and reward, and where it leads."""

    state: int
    number: int
    action: str
    reward: float
    leads: list[tuple[int, float]]


def export_mdp(
    game: Game,
    folder: Path | str,
    objective: Objective | str = "win",
    *,
    discount: Fraction | str | float = 1,
    **use: Unpack[Use],
) -> Exported:
    """Write the decision process of a game, up to symmetry, for PRISM, for Storm, and as sparse matrices.

    Parameters
    ----------
    game, objective, discount:
        As for `to_mdp`.
    folder:
        A new folder, or one of an earlier call, which is replaced as a whole.
    use:
        Memory, progress and the like: the keywords of `Use`.  One thread works.

    Raises
    ------
    UsageError, ResourceError, MissingExtraError
        As `to_mdp` does; `UsageError` also if the folder holds other files.
    StorageError
        If it cannot be written.
    """
    target = Path(folder)
    refused = UsageError(f"{target} holds other files than a decision process: name a new folder")
    with new_folder(target, _is_process, refused) as part:
        mdp = to_mdp(game, objective, discount=discount, **use)
        states, pairs = len(mdp.keys) + 3, len(mdp.pair_slides)
        drawn = np.count_nonzero(mdp.start)
        counts = Exported(states, pairs + 1, int(mdp.transitions.nnz + drawn))
        _write(part / STATES, _state_lines(mdp))
        _write(part / TRANSITIONS, _transition_lines(mdp, counts))
        _write(part / REWARDS, _reward_lines(mdp, counts))
        _write(part / LABELS, [NAMED, "0: 0\n", f"{states - 2}: 2\n", f"{states - 1}: 3\n"])
        _write(part / STORM, _storm_lines(mdp, counts))
        with atomic_file(part / ARRAYS, durable=False) as file:
            np.savez_compressed(file, **_arrays(mdp))
    return counts


def _is_process(folder: Path) -> bool:
    """Return whether a folder holds only the files of an earlier call."""
    names = {path.name for path in folder.iterdir()} - {LOCK}
    return names == FILES and beginning(folder / LABELS, len(NAMED)) == NAMED.encode()


def _write(path: Path, lines: Iterable[str]) -> None:
    with atomic_file(path, durable=False) as file:
        file.writelines(line.encode() for line in lines)


def _choices(mdp: MDP) -> Iterator[Choice]:
    """Yield the choices of all states, as they are numbered with the start before them."""
    started = np.flatnonzero(mdp.start)
    yield Choice(START, 0, "start", 0.0, _leads(started, mdp.start[started]))
    rows = mdp.transitions
    pairs = zip(
        mdp.pair_states.tolist(), mdp.action_numbers.tolist(), mdp.actions, mdp.rewards.tolist(), strict=True
    )
    for pair, (state, number, name, reward) in enumerate(pairs):
        here = slice(rows.indptr[pair], rows.indptr[pair + 1])
        leads = _leads(rows.indices[here], rows.data[here])
        yield Choice(state + 1, number, name.replace("=", "_"), reward, leads)


def _leads(targets: Any, chances: Any) -> list[tuple[int, float]]:
    return sorted(zip((targets + 1).tolist(), chances.tolist(), strict=True))


def _state_lines(mdp: MDP) -> Iterator[str]:
    cells = mdp.game.cells
    yield f"({','.join(['phase', 'sum', *(f'cell_{cell}' for cell in range(cells))])})\n"
    ends = (0,) * (1 + cells)
    yield _state_line(0, START, ends)
    last = len(mdp.keys) + 1
    for i, key in enumerate(mdp.keys.tolist(), 1):
        board = mdp.game.unpack(key)
        yield _state_line(i, LIVE, (mdp.game.sum(board), *board))
    yield _state_line(last, WON, ends)
    yield _state_line(last + 1, LOST, ends)


def _state_line(number: int, phase: int, board: tuple[int, ...]) -> str:
    return f"{number}:({','.join(map(str, (phase, *board)))})\n"


def _transition_lines(mdp: MDP, counts: Exported) -> Iterator[str]:
    yield f"{counts.states} {counts.choices} {counts.transitions}\n"
    for one in _choices(mdp):
        for target, chance in one.leads:
            yield f"{one.state} {one.number} {target} {chance!r} {one.action}\n"


def _reward_lines(mdp: MDP, counts: Exported) -> Iterator[str]:
    lengths = np.diff(mdp.transitions.indptr)
    yield f"{counts.states} {counts.choices} {lengths[mdp.rewards != 0].sum()}\n"
    for one in _choices(mdp):
        for target, _ in one.leads if one.reward else ():
            yield f"{one.state} {one.number} {target} {one.reward!r}\n"


def _storm_lines(mdp: MDP, counts: Exported) -> Iterator[str]:
    yield f"@type: MDP\n@parameters\n\n@reward_models\n{mdp.objective.name}\n"
    yield f"@nr_states\n{counts.states}\n@nr_choices\n{counts.choices}\n@model\n"
    labels = {0: " init", counts.states - 2: " won", counts.states - 1: " lost"}
    for one in _choices(mdp):
        if one.number == 0:
            yield f"state {one.state} [0]{labels.get(one.state, '')}\n"
        yield f"\taction {one.action} [{one.reward!r}]\n"
        yield from (f"\t\t{target} : {chance!r}\n" for target, chance in one.leads)


def _arrays(mdp: MDP) -> dict[str, Any]:
    rows, (won,), (lost,) = mdp.transitions, mdp.labels["won"], mdp.labels["lost"]
    return {
        "format": b"csr", "_is_array": True, "shape": rows.shape, "data": rows.data, "indices": rows.indices,
        "indptr": rows.indptr, "rewards": mdp.rewards, "pair_states": mdp.pair_states,
        "pair_slides": mdp.pair_slides, "direction_pairs": mdp.direction_pairs, "keys": mdp.keys,
        "start": mdp.start, "discount": float(mdp.objective.discount), "won": won, "lost": lost,
    }  # fmt: skip
