"""Decision processes as files in the explicit format of the model checker PRISM.

A folder has three text files.  States are numbered from 0: the start, the live states in the order of
`mdp.MDP`, won and lost.

``mdp.sta``
    The variables, ``(phase,sum,cell_0,...)``, then a line ``STATE:(VALUES)`` for each state.  `phase` is 0
    for the start, 1 for a live state, 2 for won and 3 for lost.  `sum` is that of the tiles, and cells are
    exponents, row-major; both are 0 where the phase is not 1.  States ascend by their values.
``mdp.tra``
    The numbers of states, choices and transitions, then a line ``STATE CHOICE STATE PROBABILITY ACTION``
    for each transition, by state, choice and target.  The start has one choice, which draws a start board.
``mdp.lab``
    ``0="init" 1="deadlock" 2="win" 3="lose"``, then the labels of states that have some; no state is a
    deadlock, since the last two states have a choice that stays.

So the largest probability to reach ``"win"`` is the value of the start under `win`.  Probabilities are the
floats of the process with all digits: those of a choice sum to 1 within a few roundings, not exactly.

Source: the PRISM manual, appendix Explicit Model Files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Unpack

import numpy as np

from tilebase.arrays import GameArrays
from tilebase.errors import UsageError
from tilebase.files.source import beginning, new_folder
from tilebase.game.game import Game
from tilebase.questions.mdp import MDP, to_mdp
from tilebase.runtime.resources import Use
from tilebase.runtime.storage import LOCK, atomic_file

STATES, TRANSITIONS, LABELS = "mdp.sta", "mdp.tra", "mdp.lab"
"""The names of the files."""
NAMED = '0="init" 1="deadlock" 2="win" 3="lose"\n'
"""The first line of the labels, by which a folder of an earlier call is known."""
START, LIVE, WON, LOST = range(4)
"""The phases of states."""

Chances = list[tuple[int, float]]
"""States with the probabilities to reach them."""


class Exported(NamedTuple):
    """How many states, choices and transitions were written."""

    states: int
    choices: int
    transitions: int


def export_mdp(game: Game, folder: Path | str, **use: Unpack[Use]) -> Exported:
    """Write the decision process of a game with a goal, up to symmetry, in PRISM's explicit format.

    Parameters
    ----------
    game:
        The game; it must have a goal.
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
        mdp = to_mdp(game, **use)
        start = _start(mdp)
        pairs, states = len(mdp.pair_slides), len(mdp.keys) + 3
        counts = Exported(states, pairs + 1, mdp.transitions.nnz + len(start))
        _write(part / STATES, _state_lines(mdp))
        _write(part / TRANSITIONS, _transition_lines(mdp, counts, start))
        _write(part / LABELS, [NAMED, "0: 0\n", f"{states - 2}: 2\n", f"{states - 1}: 3\n"])
    return counts


def _is_process(folder: Path) -> bool:
    """Return whether a folder holds only the files of an earlier call."""
    names = {path.name for path in folder.iterdir()} - {LOCK}
    return names == {STATES, TRANSITIONS, LABELS} and (
        beginning(folder / LABELS, len(NAMED)) == NAMED.encode()
    )


def _write(path: Path, lines: Iterable[str]) -> None:
    with atomic_file(path, durable=False) as file:
        file.writelines(line.encode() for line in lines)


def _start(mdp: MDP) -> Chances:
    """Return the states of `mdp` that the game starts from, in the order of their numbers."""
    game, states = mdp.game, len(mdp.keys)
    number = {key: i for i, key in enumerate(mdp.keys.tolist())}
    starts = game.starts()
    boards = GameArrays(game)
    keys = boards.least(boards.pack(np.array([board for board, _ in starts]))).tolist()
    found: dict[int, float] = {}
    for (_, p), key in zip(starts, keys, strict=True):
        at = number.get(key, states + 1)  # a start has no goal sum: it is live or lost
        found[at] = found.get(at, 0.0) + float(p)
    return sorted(found.items())


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


def _transition_lines(mdp: MDP, counts: Exported, start: Chances) -> Iterator[str]:
    yield f"{counts.states} {counts.choices} {counts.transitions}\n"
    for target, chance in start:
        yield f"0 0 {target + 1} {chance!r} start\n"
    # The process numbers its states without the start before them.
    rows = mdp.transitions
    pairs = zip(mdp.pair_states.tolist(), mdp.action_numbers.tolist(), mdp.actions, strict=True)
    for pair, (state, choice, name) in enumerate(pairs):
        here = slice(rows.indptr[pair], rows.indptr[pair + 1])
        action = name.replace("=", "_")
        for target, chance in sorted(zip(rows.indices[here].tolist(), rows.data[here].tolist(), strict=True)):
            yield f"{state + 1} {choice} {target + 1} {chance!r} {action}\n"
