"""The names of the files in the folders of runs and of tables, as paths in the folder.

run.json                          what a run is asked
counts.jsonl                      the journal of the layers that are counted
manifest.json                     of a table or a winning set
index.html                        an exported page
lock                              held by the process that writes
afterstates/, states/             layers of keys (`files.layers`): an index and segments
values/LABEL/                     layers of values, and of the keys of the reachable boards
values/LABEL/layers.jsonl         the journal of the layers that are solved
values/LABEL/S.states, S.bits     checkpoints of passes over all boards
afterstates/S.bits                those of a count over all boards
decided.bin                       what a search has decided
diagrams.jsonl, diagrams-N.dddmp  the journal and the checkpoints of a symbolic run

A part has a name that begins with a point and ends in ``.part``; workers exchange parts in a folder of
their own.
"""

from __future__ import annotations

import re

QUERY = "run.json"
COUNTS = "counts.jsonl"
TABLE = "manifest.json"
POLICY = "index.html"
LOCK = "lock"
VALUES = "values"
"""The folder of the folders of values."""
SOLVED = "layers.jsonl"
INDEX = "layers.idx"
SEGMENT = re.compile(r"\d{3,7}\.seg", re.ASCII)
"""Matches the names of segments."""
DECIDED = "decided.bin"
DELETED = ".run.json.deleted"
"""The name of run.json while its folder is being deleted."""
BEFORE_QUESTION = (LOCK, ".run.json.part")
"""Names that a run killed at its beginning may leave in a folder without run.json."""
KNOWN = re.compile(
    "|".join(map(re.escape, (LOCK, QUERY, TABLE, COUNTS, DECIDED, DELETED))) + r"|\..*\.(part|spill)"
    r"|diagrams\.jsonl|diagrams-\d+\.dddmp"
    rf"|(afterstates|states)(/({re.escape(INDEX)}|{SEGMENT.pattern}|\d+\.bits|\..*\.part))?"
    rf"|values(/[^/]+(/({re.escape(INDEX)}|{SEGMENT.pattern}|\d+\.(states|bits)|{re.escape(SOLVED)}|\..*\.part))?)?"
)
"""Matches the files that runs write.  Other files are never deleted."""


def of_sum(total: int, ending: str) -> str:
    """Return the name of a file of one sum: names are in the order of the sums."""
    return f"{total:06d}.{ending}"


def bits(total: int) -> str:
    """Return the file of the afterstates of a sum that a count over all boards keeps."""
    return f"afterstates/{of_sum(total, 'bits')}"


def segment(number: int) -> str:
    """Return the name of a segment of layers."""
    return f"{number:03d}.seg"


def layer(folder: str, total: int) -> str:
    """Return a name for the layer of one sum in a folder of layers, for messages and pieces of work."""
    return f"{folder}/{total}"


def sum_of(layer: str) -> int:
    """Return the sum of a layer that `layer` named."""
    return int(layer.rpartition("/")[2])


def values_folder(label: str) -> str:
    """Return the folder of the values of an objective."""
    return f"{VALUES}/{label}"


def exchanged(total: int, *words: str | int) -> str:
    """Return the name of a part that workers exchange; whole numbers are in order."""
    numbered = (word if isinstance(word, str) else f"{word:06d}" for word in (total, *words))
    return "-".join(numbered) + ".part"
