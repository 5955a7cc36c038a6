"""What is asked, what a run may use, and what remains: values that a question makes at its door."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from tilebase.cluster.executors import Executor
from tilebase.cluster.opening import open_cluster
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.runtime.progress import Progress
from tilebase.runtime.resources import check_resources
from tilebase.runtime.storage import temporary_folder

if TYPE_CHECKING:
    from tilebase.objectives.results import Solution
    from tilebase.questions.pruning import Pruning

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
class Keep:
    """What remains of a run: nothing, a table, or a table that leaves boards out (`pruning`)."""

    table: Path | None = None
    pruning: Pruning | None = None

    @property
    def whole(self) -> bool:
        """Whether the values of all layers remain."""
        return self.table is not None and self.pruning is None

    @property
    def folder(self) -> Path | None:
        """The folder of the run; None if any will do."""
        return self.table if self.pruning is None else self.pruning.work

    def finished(self) -> Solution | None:
        """The result of an earlier call that has finished a table that leaves boards out."""
        done = None if self.pruning is None else self.pruning.finished()
        if self.pruning is not None and done is not None:
            self.pruning.clean()
        return done


NOTHING = Keep()


class Use(TypedDict, total=False):
    """What a question may use: the keywords that `count`, `solve`, `prove`, `force` and others share.

    Attributes
    ----------
    memory:
        Bytes to use.  None: 3/4 of the available memory.  This includes compiled code and libraries, but not
        the page cache.
    threads:
        None: one for each processor this process may use.
    anyway:
        Begin even if the estimate (`costs`) says that it takes more than a week, or more memory
        or disk than there is.  The time of a search cannot be estimated.
    progress:
        Called with a `Progress` several times a second.
    """

    memory: int | None
    threads: int | None
    anyway: bool
    progress: Callable[[Progress], None] | None


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What a question may use, after the checks: bytes, threads and the rest of `Use`."""

    memory: int
    threads: int
    anyway: bool = False
    progress: Callable[[Progress], None] | None = None

    @classmethod
    def of(
        cls,
        *,
        memory: int | None = None,
        threads: int | None = None,
        anyway: bool = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> Allowance:
        """What the keywords of `Use` allow.  Raises as `check_resources` does."""
        used, count = check_resources(memory, threads)
        return Allowance(memory=used, threads=count, anyway=anyway, progress=progress)


@dataclass(frozen=True, kw_only=True)
class Run(Allowance):
    """What a question may use that works in a folder.

    Attributes
    ----------
    folder:
        Where it keeps its layers.
    cluster:
        Workers that do the large layers.
    """

    folder: Path
    cluster: Executor | None = None

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
    folder: Path | str | None, *, cluster: str | Executor | None = None, **use: Unpack[Use]
) -> Iterator[Run]:
    """A run in a folder, or in a temporary one, with its workers, which are let go at the end.

    Raises as `check_resources` and `open_cluster` do.
    """
    allowed = Allowance.of(**use)
    with ExitStack() as stack:
        executor = stack.enter_context(open_cluster(cluster, use.get("memory")))
        place = stack.enter_context(temporary_folder()) / "run" if folder is None else Path(folder)
        yield Run(**vars(allowed), folder=place, cluster=executor)
