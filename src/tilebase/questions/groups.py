"""Solving a game by groups of boards with the same tiles (`dense.groups`): the value of the start.

The value is that of a pass over all boards, ``solve(game, space="all")``, bit for bit.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

from tilebase.costs import estimate
from tilebase.costs.groups import grouping
from tilebase.dense.groups import GroupPass, Held
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective, parse_objectives
from tilebase.objectives.rounding import Rounding
from tilebase.objectives.values import Value
from tilebase.runtime.resources import Allowance, Use
from tilebase.runtime.storage import make_folder, storage_errors, temporary_folder


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
    **use: Unpack[Use],
) -> GroupSolution:
    """Solve a game on all boards within the limits, one multiset of tiles at a time.

    A group is what a layer has of boards with the same tiles.  It takes more time per board than whole
    layers, and less memory: what is not in work may be in files, and is released when no later group reads
    it.  A call that is stopped begins anew.

    Parameters
    ----------
    game:
        The game, without unmergeable tiles.
    objective, discount:
        One objective that counts no tiles: not score, merges or largest.
    folder:
        Folder for the values that are not in work; its files are deleted at the end.  None: memory, or if
        that is too small a folder of temporary files.
    use:
        The keywords of `Use`.

    Raises
    ------
    UsageError
        If there is no pass by groups for the game or the objective.
    ResourceError
        If there are too many groups, or the run takes too long, too much memory or too much disk.
    StorageError
        If files cannot be written or read.

    >>> solve_by_groups(Game("2x2", 32)).value
    <Rounded: 0.0828872890716>
    """
    one = _one(objective, discount)
    allowed = Allowance.of(**use)
    expected = estimate.check(game, partial(grouping, objective=one, allowed=allowed), allowed, _path(folder))
    in_files = folder is not None or expected.disk > 0
    with ExitStack() as stack:
        place = None
        if folder is not None:
            make_folder(Path(folder))
            with storage_errors(Path(folder), "make a folder in"):
                place = Path(stack.enter_context(TemporaryDirectory(prefix="groups-", dir=folder)))
        elif in_files:
            place = stack.enter_context(temporary_folder())
        solving = GroupPass(game, one, allowed, folder=place)
        value = Rounding(game, one).start(solving.run())
    sizes = solving.groups.sizes[solving.solved]
    return GroupSolution(
        game, one, value, int(sizes.sum()), len(sizes), int(sizes.max()), solving.held, in_files
    )


def _path(folder: Path | str | None) -> Path | None:
    return None if folder is None else Path(folder)


def _one(objective: str | Objective, discount: Any) -> Objective:
    """Return one objective.  Raises `UsageError` if there are several."""
    found = [objective] if isinstance(objective, Objective) else parse_objectives(objective, discount)
    if len(found) != 1:
        raise UsageError(f"groups are solved for one objective at a time, not for {objective}")
    return found[0]
