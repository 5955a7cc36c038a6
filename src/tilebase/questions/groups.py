"""Solving a game by groups of boards with the same tiles (`dense.groups`): the value of the start.

The value is that of a pass over all boards, ``solve(game, space="all")``, bit for bit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from tilebase.cluster.executors import Executor
from tilebase.cluster.opening import attached
from tilebase.cluster.runs import run_in
from tilebase.costs import estimate
from tilebase.costs.groups import grouping
from tilebase.dense.groups import GroupPass
from tilebase.dense.held import Held
from tilebase.errors import UsageError
from tilebase.files import places
from tilebase.files.run import Query, RunFolder
from tilebase.game.game import Game, check_is_game
from tilebase.objectives.objective import Objective, parse_objectives
from tilebase.objectives.rounding import Rounding
from tilebase.objectives.values import Value
from tilebase.questions.alternatives import instead_of_solving
from tilebase.runtime.resources import Use


@dataclass(frozen=True)
class GroupSolution:
    """The value of the start of a game, solved by groups, and what was held at once.

    Attributes
    ----------
    game, objective:
        The game, and what the value means.
    value:
        The value of the start.
    boards, groups, largest:
        How many boards and groups were solved, and the boards of the largest group.
    held:
        The most that was held at once.
    in_files:
        Whether the values that were not in work were in files.
    """

    game: Game
    objective: Objective
    value: Value
    boards: int
    groups: int
    largest: int
    held: Held
    in_files: bool

    def __repr__(self) -> str:
        return f"<GroupSolution of {self.game}: {self.objective.text} {self.value}>"

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "game": self.game.identity,
            "objective": self.objective.identity,
            "value": self.value.as_dict(),
            "boards": self.boards,
            "groups": self.groups,
            "largest": self.largest,
            "held": asdict(self.held),
            "in_files": self.in_files,
        }


def solve_by_groups(
    game: Game,
    objective: str | Objective = "win",
    *,
    discount: Fraction | float | str = 1,
    folder: Path | str | None = None,
    cluster: str | Executor | None = None,
    **use: Unpack[Use],
) -> GroupSolution:
    """Solve a game on all boards within the limits, one multiset of tiles at a time.

    A group is what a layer has of boards with the same tiles.  It takes more time per board than whole
    layers, and less memory: what is not in work may be in files, and is released when no later group reads
    it.

    Parameters
    ----------
    game:
        The game, without unmergeable tiles.
    objective, discount:
        One objective that counts no tiles: not score, merges or largest.
    folder:
        Folder in which the pass is saved, so that a call after a stop goes on.  None: if memory is too small,
        a folder of temporary files.
    cluster:
        Workers that do the large groups, as in `solve`; then the values that are not in work are in files.
    use:
        The keywords of `Use`.

    Raises
    ------
    UsageError
        If there is no pass by groups for the game or the objective.
    ResourceError
        If there are too many groups, or the run takes too long, too much memory or too much disk.
    StorageError, CorruptError, WrongGameError
        If the folder cannot be used.
    ClusterError, MissingExtraError
        If workers cannot be reached or used, or Dask is not installed.

    >>> solve_by_groups(Game("2x2", 32)).value
    <Rounded: 0.0828872890716>
    """
    check_is_game(game)
    one = _one(objective, discount)
    with run_in(folder, cluster=cluster, **use) as run:
        planned = partial(grouping, objective=one, allowed=run.most, shared=run.cluster is not None)
        others = partial(instead_of_solving, game, (one,), planned)
        in_files = estimate.check(game, planned, run.most, run.folder, others).disk > 0
        if folder is None and not in_files:
            solving = GroupPass(game, one, run)
            value = solving.run()
        else:
            with RunFolder(run.folder, Query(game)), attached(run.cluster, run.folder):
                place = run.folder / places.values_folder(f"{one.label}-groups")
                solving = GroupPass(game, one, run, folder=place, in_files=in_files, cluster=run.cluster)
                value = solving.run()
    sizes = solving.groups.sizes[solving.solved]
    return GroupSolution(
        game, one, Rounding(game, one).start(value), int(sizes.sum()), len(sizes), int(sizes.max()),
        solving.held, in_files,
    )  # fmt: skip


def _one(objective: str | Objective, discount: Any) -> Objective:
    """Return one objective.  Raises `UsageError` if there are several."""
    found = [objective] if isinstance(objective, Objective) else parse_objectives(objective, discount)
    if len(found) != 1:
        raise UsageError(f"groups are solved for one objective at a time, not for {objective}")
    return found[0]
