"""What is asked, and what a run may use: two values that a question makes at its door and hands on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tilebase.cluster.executors import Executor
from tilebase.cluster.opening import open_cluster
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.runtime.progress import Progress
from tilebase.runtime.resources import check_resources
from tilebase.runtime.storage import temporary_folder

SPACES = ("reachable", "all", "auto")


@dataclass(frozen=True)
class Ask:
    """Which values are asked for.

    Attributes
    ----------
    game, objectives:
        The game, and the objectives, which fit it.
    space:
        On which boards, one of `SPACES`.
    down_to:
        The sum of the last layer that is solved; None for all.

    Raises
    ------
    UsageError
        If the space does not exist.
    """

    game: Game
    objectives: tuple[Objective, ...]
    space: str
    down_to: int | None = None

    def __post_init__(self) -> None:
        if self.space not in SPACES:
            raise UsageError(f"space {self.space!r} does not exist: choose one of {', '.join(SPACES)}")

    @property
    def least(self) -> int:
        """The least sum of a layer that is solved."""
        return 0 if self.down_to is None else self.down_to


@dataclass(frozen=True)
class Run:
    """What a run may use.

    Attributes
    ----------
    folder:
        Where it keeps its layers.
    memory, threads:
        Bytes and threads of this process.
    cluster:
        Workers that do the large layers.
    anyway:
        Whether it begins even if it is expected to take too long.
    progress:
        Called with a `Progress` several times a second.
    """

    folder: Path
    memory: int
    threads: int
    cluster: Executor | None = None
    anyway: bool = False
    progress: Callable[[Progress], None] | None = None

    @property
    def most_memory(self) -> int:
        """Bytes that this process, or else each worker, may use."""
        return self.memory if self.cluster is None else self.cluster.memory

    @property
    def most_threads(self) -> int:
        """Threads of this process or of all workers, whichever are more."""
        return self.threads if self.cluster is None else max(self.threads, self.cluster.threads)


@contextmanager
def run_in(
    folder: Path | str | None,
    *,
    memory: int | None = None,
    threads: int | None = None,
    cluster: str | Executor | None = None,
    anyway: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[Run]:
    """A run in a folder, or in a temporary one, with its workers, which are let go at the end.

    Raises as `check_resources` and `open_cluster` do.
    """
    used, count = check_resources(memory, threads)
    with ExitStack() as stack:
        executor = stack.enter_context(open_cluster(cluster, memory))
        place = stack.enter_context(temporary_folder()) / "run" if folder is None else Path(folder)
        yield Run(place, used, count, executor, anyway, progress)
