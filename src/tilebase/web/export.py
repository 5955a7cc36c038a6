"""A page that plays a table on any web host: the policy in few bits a state, and a player of files.

A state is a start, or what a spawn makes of a stored afterstate.  The page holds the best slides of each
state for which the table says which they are, up to symmetry.  These are all states of a whole table in which
a slide is allowed.  A thinned table leaves out afterstates, so that it does not know the best slides of every
state.  Then the probability that a game of optimal play comes to such a state is computed: forward over the
layers, exact up to rounding.
"""

from __future__ import annotations

import html
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase._version import version
from tilebase.errors import CorruptError, MissingLayerError, ResourceError, UsageError, WrongGameError
from tilebase.files import places
from tilebase.files.policy import FORMAT, VALUE_STEP, VERSION, PolicyWriter, coarse
from tilebase.files.source import new_folder, read_file
from tilebase.game.game import Cells, Game
from tilebase.game.names import title_of
from tilebase.game.symmetry import symmetries
from tilebase.objectives.encoding import NONE, WON
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import value_document
from tilebase.runtime.documents import parse_json, to_json
from tilebase.runtime.progress import Pace, Progress
from tilebase.runtime.storage import write_whole
from tilebase.sparse.flow import Walk, best_slides, even, ratings
from tilebase.sparse.reading import MISSING, LayerReader
from tilebase.tables.probe import Table, afterstate_counts, open_table, reachable_folder

Array = npt.NDArray[Any]

MOST_BYTES = 200_000_000
"""A larger policy is refused, unless the caller insists."""
STATE_BITS, VALUE_BITS = 5, 5
"""Bits of a state, and of its value, for the estimate before the work.  Whole tables: 4.5 to 5 and 4 to 5."""
STATES = 1.5
"""States in which a slide is allowed, per afterstate, where a table does not count them."""
PAGE = "index.html"
MODULES = {
    "explorer": (
        "board.js", "parts.js", "rules.js", "store.js", "style.css", "text.js", "tiles.js",
        "vendor/htm-preact.js", "vendor/htm-preact.LICENSE",
    ),
    "player": ("moves.js", "player.css", "player.js", "policy.js"),
}  # fmt: skip
"""By folder: files of the explorer's page that the player uses, too; and its own."""


@dataclass(frozen=True)
class ExportedPage:
    """An exported page.

    Attributes
    ----------
    folder:
        Where it is.
    objective:
        The label of the objective whose policy it plays.
    states:
        States with a slide, up to symmetry.
    policy, size:
        Bytes of the policy with its index, and of all files together.
    leaves:
        The probability that a game by the policy comes to a state whose slide is not known; 0 for a whole
        table.
    """

    folder: Path
    objective: str
    states: int
    policy: int
    size: int
    leaves: float

    def __repr__(self) -> str:
        return f"<ExportedPage {self.folder}: {self.states:,} states, {byte_text(self.size)}>"

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return self.__dict__ | {"folder": str(self.folder)}


def export_page(
    table: Table | Path | str,
    output: Path | str,
    *,
    objective: str | None = None,
    values: bool = False,
    anyway: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> ExportedPage:
    """Write a folder with a page that plays a table, to be copied to any web host.

    Parameters
    ----------
    table:
        A table of the reachable positions in a folder on this machine, whole or thinned.
    output:
        A new folder, or one with a page of an earlier call, which is replaced as a whole.
    objective:
        The objective of optimal play; None for the first.
    values:
        Whether the page also holds a coarse value of each state.  This needs probabilities to win, and
        doubles the size of the policy.
    anyway:
        Write the policy even if it is large.

    Raises
    ------
    UsageError
        If the table holds all boards or is not a folder, or its values are no probabilities to win.
    ResourceError
        If the policy would take more than 200 MB.
    WrongGameError, StorageError
        If the output holds other files, or cannot be written.
    CorruptError
        If a file of the table is damaged.
    """
    opened = open_table(table)
    chosen = opened.objective(objective)
    reachable_folder(opened)
    reader = LayerReader(opened.name, opened.game, opened.layers, (chosen,))
    if values and (not chosen.is_win or chosen.is_boolean or chosen.is_bound):
        raise UsageError(
            f"{chosen.label} has no probabilities to win for the page to show: leave out the values"
        )
    _check_size(opened, afterstate_counts(opened), values, anyway)
    target = Path(output)
    refused = WrongGameError(f"{target} is not an exported page: choose a new folder")
    with new_folder(target, _is_page, refused) as folder:
        states, leaves, files_of_policy = _write_policy(opened, reader, chosen, folder, values, progress)
        header = _header(opened, chosen, values, leaves, files_of_policy)
        _write_page(folder, opened.game, header)
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    policy = files_of_policy["index"]["bytes"] + files_of_policy["policy"]["bytes"]
    return ExportedPage(target, chosen.label, states, policy, size, leaves)


def _check_size(table: Table, sizes: dict[int, int], values: bool, anyway: bool) -> None:
    """Raise `ResourceError` if the policy would be too large for a page."""
    counts, stored = table.manifest.counts, sum(sizes.values())
    known = "live" in counts and counts.get("afterstates")
    states = stored * (counts["live"] / counts["afterstates"] if known else STATES)
    expected = states * (STATE_BITS + values * VALUE_BITS) / 8
    if expected > MOST_BYTES and not anyway:
        raise ResourceError(
            f"the policy of {table.location.name} takes about {byte_text(expected)}, more than "
            f"{byte_text(MOST_BYTES)}: thin the table with tilebase thin, or give --anyway (anyway=True)"
        )


def _is_page(folder: Path) -> bool:
    header = folder / places.POLICY
    try:
        found = parse_json(read_file(header), str(header))
    except (MissingLayerError, CorruptError):
        return False
    return isinstance(found, dict) and found.get("format") == FORMAT


# -- the policy ------------------------------------------------------------------------------------


class _Layer(NamedTuple):
    """The states of one sum, canonical and ascending, and what the table says of them."""

    states: Array
    known: Array  # known[x]: whether the table says which slide of state x is best
    lost: Array  # lost[x]: whether no slide is allowed
    best: Array  # best[k, x]: whether slide k is one of the best
    wins: Array  # wins[k, x]: whether it is, and wins
    afters: Array  # afters[k, x]: the canonical afterstate of slide k, if it does not win
    worths: Array  # worths[x]: the value


def _write_policy(
    table: Table,
    reader: LayerReader,
    objective: Objective,
    folder: Path,
    values: bool,
    progress: Callable[[Progress], None] | None,
) -> tuple[int, float, dict[str, Any]]:
    """Write the files of the policy.  Return the states, the probability to leave them, and the files."""
    game = reader.game
    # No state of a whole table is unknown.
    flow = None if table.manifest.thinned is None else Walk(reader.compiled).begin()
    pace, states, left = Pace(progress, "states"), 0, 0.0
    largest = max([*table.prober.sums(), *(game.sum(board) for board, _ in game.starts())])
    last = largest + max(1 << e for e in game.spawn_exponents)
    with closing(PolicyWriter(folder, game, last)) as writer:
        for total, keys in _states(reader, table.prober.sums(), last):
            layer = _judge(table, reader, objective, total, keys)
            if flow is not None and total in flow:
                left += _advance(flow, layer)
            kept = layer.known
            if kept.any():
                certain = layer.wins.any(axis=0) & (layer.worths >= 1)
                worths = coarse(layer.worths[kept], certain[kept]) if values else None
                writer.add(total, layer.states[kept], layer.best[:, kept], worths)
            states += int(kept.sum())
            if pace.due() or total == last:
                pace.report(total, "pack", states, (total + 1) / (last + 1))
        return states, left, writer.finish()


def _advance(flow: Walk, layer: _Layer) -> float:
    """Spread visits over the spawns after slides; return the probability to come to unknown states."""
    total, (keys, visit) = flow.pop()
    index = np.searchsorted(layer.states, keys)
    known, lost, best = layer.known[index], layer.lost[index], layer.best[:, index]
    going = known & best & ~layer.wins[:, index]
    flow.spread(total, layer.afters[:, index][going], (visit * even(best))[going])
    return float(visit[~known & ~lost].sum())


def _states(reader: LayerReader, layers: Any, last: int) -> Iterator[tuple[int, Array]]:
    """Yield the sums, ascending, and the canonical states of each: starts, and spawns on afterstates."""
    game = reader.game
    flow = Walk(reader.compiled).begin(0)
    for total in range(min([*layers, *(game.sum(board) for board, _ in game.starts())]), last + 1):
        if total in flow and not game.reached(total):
            yield total, flow.pop()[1][0]
        if total in layers and not game.ended(total):
            keys = reader.keys(total)
            for exponent in game.spawn_exponents:
                flow.add(total + (1 << exponent), np.unique(reader.spawns(keys, exponent)[0]))


def _judge(table: Table, reader: LayerReader, objective: Objective, total: int, states: Array) -> _Layer:
    """Return what the table says of the states of one sum; with the slides of `sparse.flow`."""
    layer, least = reader.layer(total), table.manifest.least
    links = layer.link(states) if table.manifest.thinned is None else layer.link_known(states)
    allowed, missing = links.slots != NONE, links.slots == MISSING
    # If boards below a value were left out, the value of one slide is enough: it is larger.
    below = least is not None and least.label == objective.label
    known = (allowed & ~missing).any(axis=0)
    if not below:
        known &= ~missing.any(axis=0)
    q = ratings(objective, layer, links)
    best = best_slides(q, table.slack(objective))
    return _Layer(
        states, known, ~allowed.any(axis=0), best, best & (links.slots == WON), links.afters,
        q.max(axis=0) * float(objective.discount),
    )  # fmt: skip


# -- the page --------------------------------------------------------------------------------------


def _header(
    table: Table, objective: Objective, values: bool, leaves: float, policy: dict[str, Any]
) -> dict[str, Any]:
    """Return what the player has to know before the first slide."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "program": version(),
        "title": title(table.game),
        "game": table.game.identity,
        "rules": _rules(table.game),
        "objective": {"label": objective.label, "text": objective.text, "unit": objective.unit},
        "start": value_document(table.start[objective.label], objective.unit),
        "thinned": table.manifest.thinned is not None,
        "leaves": leaves,
        "valueStep": VALUE_STEP if values else None,
        **policy,
    }


def title(game: Game) -> str:
    """Return the title of the page: ``2048 on 3x3, to 512``, or ``2048 in formation 442, to 512``."""
    text = title_of(game)
    return f"2048 on {game}" if text == str(game) else f"2048 in {text}"


def _rules(game: Game) -> dict[str, Any]:
    """Return the rules as plain data.  Tiles are exponents, and x is `x`; see `Game`."""
    start = game.start_board
    return {
        "shape": game.shape,
        "directions": game.directions,
        "lines": game.segments,
        "walls": game.walls,
        "x": game.x if game.unmergeable else None,
        "highest": game.bounds.allowed,
        "goal": game.goal_exponent,
        "goalSum": game.goal_sum,
        "horizon": game.horizon,
        "patterns": game.patterns,
        "masks": game.masks,
        "spawns": [[e, float(game.spawn.chance(e))] for e in game.spawn_exponents],
        "start": {
            "boards": [start] if start is not None else game.start_afters or [game.empty_board],
            "spawns": 0 if start is not None else 1 if game.start_afters else 2,
        },
        "symmetries": [[list(p), _directions(game, p)] for p in symmetries(game)],
    }


def _directions(game: Game, permutation: Cells) -> list[int]:
    """Return ``[d]``: the direction on a board that is direction d on its image."""
    longer = [[line for line in game.grid.lines[name] if len(line) > 1] for name in game.directions]
    direction = {line: k for k, lines in enumerate(longer) for line in lines}
    return [
        direction[tuple(permutation[cell] for cell in lines[0])] if lines else k
        for k, lines in enumerate(longer)
    ]


def _write_page(folder: Path, game: Game, header: dict[str, Any]) -> None:
    """Write the header and the files of the player; the page holds the checksum of the header."""
    text = to_json(header, "compact") + "\n"
    write_whole(folder / places.POLICY, text, durable=False)
    web = files("tilebase") / "web"
    for part, names in MODULES.items():
        for name in names:
            path = folder / part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, (web / part / name).read_text("utf-8"), durable=False)
    page = (web / "player" / PAGE).read_text("utf-8")
    page = page.replace("$TITLE", html.escape(title(game)))
    page = page.replace("$CHECK", f"{zlib.crc32(text.encode()):08x}")
    write_whole(folder / PAGE, page, durable=False)
