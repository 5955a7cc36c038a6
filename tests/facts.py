"""Published numbers: the rows of tests/facts/*.tsv, which print where they come from when a test fails."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "facts"


@dataclass(frozen=True, repr=False)
class Fact:
    """One row: ``fact["value"]`` is a column as text; printed, it is its file, line and text."""

    place: str
    row: tuple[tuple[str, str], ...]

    def __getitem__(self, column: str) -> str:
        return dict(self.row)[column]

    def __repr__(self) -> str:
        return f"{self.place}: " + ", ".join(f"{name} {value}" for name, value in self.row if value)


def facts(file: str, folder: Path = FOLDER, **wanted: str | set[str]) -> list[Fact]:
    """The rows of a file whose columns hold what is wanted: a text, or one of a set.

    Lines that begin with # are comments; the first other line names the columns.  Raises
    LookupError if no row is left, so that no test passes for want of facts.
    """
    columns: list[str] = []
    found = []
    for number, line in enumerate((folder / file).read_text("utf-8").splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        words = line.split("\t")
        if not columns:
            columns = words
            continue
        row = dict(zip(columns, words + [""] * (len(columns) - len(words)), strict=True))
        if all(row[name] in ({value} if isinstance(value, str) else value) for name, value in wanted.items()):
            found.append(
                Fact(f"{(folder / file).relative_to(FOLDER.parents[1])}:{number}", tuple(row.items()))
            )
    if not found:
        raise LookupError(f"no row of {file} has {wanted}")
    return found
