"""What a question may use that works in a folder, perhaps with workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, Unpack

from tilebase.cluster.executors import Executor
from tilebase.cluster.opening import open_cluster
from tilebase.runtime.resources import Allowance, Use, parse_bytes
from tilebase.runtime.storage import temporary_folder


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
    def most(self) -> Allowance:
        """The memory of this process, or else of each worker; the threads of all, or of this process."""
        if self.cluster is None:
            return self
        return replace(self, memory=self.cluster.memory, threads=max(self.threads, self.cluster.threads))

    def within(self, name: str) -> Self:
        """Return the same in a subfolder."""
        return replace(self, folder=self.folder / name)


@contextmanager
def run_in(
    folder: Path | str | None, *, cluster: str | Executor | None = None, **use: Unpack[Use]
) -> Iterator[Run]:
    """Give a run in a folder, or in a temporary one, with its workers, which are let go at the end.

    Raises as `Allowance.of` and `open_cluster` do.
    """
    allowed = Allowance.of(**use)
    with ExitStack() as stack:
        executor = stack.enter_context(open_cluster(cluster, parse_bytes(use.get("memory"))))
        place = stack.enter_context(temporary_folder()) / "run" if folder is None else Path(folder)
        yield Run(**vars(allowed), folder=place, cluster=executor)
