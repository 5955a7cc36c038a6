"""A page that plays and trains on any web host: values in few bits an afterstate, and the explorer's views.

A state is a start, or what a spawn makes of a stored afterstate.  The page holds the value of each afterstate
of the table, up to symmetry, and computes from them the value of each slide, and which are best.  A thinned
table leaves out afterstates, so that it does not know the best slides of every state.  Then the probability
that a game of optimal play comes to such a state is computed: forward over the layers, exact up to rounding.
"""

from __future__ import annotations

import base64
import hashlib
import html
import posixpath
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from tilebase._version import version
from tilebase.errors import CorruptError, MissingLayerError, ResourceError, WrongGameError
from tilebase.files import places
from tilebase.files.policy import FORMAT, VERSION, PolicyWriter, Scale, Slides, order
from tilebase.files.source import new_folder, read_file
from tilebase.game.game import Game
from tilebase.game.names import title_of
from tilebase.game.symmetry import symmetries
from tilebase.objectives.encoding import FIRST, NONE, WON, sentinels, slide_gains
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective, potentials
from tilebase.objectives.values import value_document
from tilebase.runtime.documents import to_json
from tilebase.runtime.progress import Pace, Progress
from tilebase.runtime.storage import folder_bytes, write_whole
from tilebase.sparse.flow import Walk, best_slides, even, ratings
from tilebase.sparse.reading import MISSING, LayerReader, Links, ReadLayer, distinct
from tilebase.tables.probe import Table, afterstate_counts, open_table, reachable_folder
from tilebase.web.documents import game_document

Array = npt.NDArray[Any]

MOST_BYTES = 200_000_000
"""A larger policy is refused, unless the caller insists."""
BITS = 7
"""Bits of an afterstate, for the estimate before the work."""
MODULES = {
    "explorer": (
        "api.js", "board.js", "chart.js", "course.js", "game.js", "games.js", "language.js", "notebook.js",
        "parts.js", "play.js", "route.js", "rules.js", "setup.js", "store.js", "text.js", "tiles.js",
        "trainer.js", "vendor/htm-preact.js",
    ),
    "player": ("answers.js", "coder.js", "moves.js", "player.js", "policy.js"),
}  # fmt: skip
"""By folder: modules of the explorer's page that the player uses, too; and its own."""
STYLES = ("explorer/style.css", "player/player.css")
CATALOGUE = "explorer/zh.json"
"""The texts of the page in Chinese."""
WORKER, LICENSE = "player/worker.js", "explorer/vendor/htm-preact.LICENSE"
"""Files that lie beside the page: what lets it work offline, and the licence of what it holds of others."""
INFO = {"sums": None, "notation": "Rows of tiles, 0 for an empty cell."}
"""What the page can do less than a server: begin at some sum, read other notations."""
COMMENT = re.compile(r"^ *//.*\n|^ */\*\*.*\*/\n", re.MULTILINE)
"""A line of a module that is a comment."""
SAFE = " !\"$&'()*+,-./:;<=>?@[]^_`{|}~"
"""What may stand in an address that holds a module."""


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
    anyway: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> ExportedPage:
    """Write a folder with a page that plays a table, to be copied to any web host.

    Parameters
    ----------
    table:
        A table of reachable positions in a folder on this machine, whole or thinned.
    output:
        A new folder, or one with a page of an earlier call, which is replaced.
    objective:
        The objective of optimal play.  None: that of `probe`, the first, or `loss` beside `win`.
    anyway:
        Write the policy even if it takes more than 200 MB.

    Raises
    ------
    UsageError
        If the table holds all boards or is not a folder.
    ResourceError
        If the policy would take more than 200 MB.
    WrongGameError, StorageError
        If the output holds other files, or cannot be written.
    CorruptError
        If a file of the table is damaged.
    """
    opened = open_table(table)
    chosen = opened.objective(objective)
    if objective is None:
        chosen = opened.loss_beside(chosen) or chosen
    reachable_folder(opened)
    reader = LayerReader(opened.name, opened.game, opened.layers, chosen)
    _check_size(opened, afterstate_counts(opened), anyway)
    target = Path(output)
    refused = WrongGameError(f"{target} is not an exported page: choose a new folder")
    with new_folder(target, _is_page, refused) as folder:
        states, leaves, files_of_policy = _write_policy(opened, reader, chosen, folder, progress)
        header = _header(opened, chosen, states, leaves) | files_of_policy
        _write_page(folder, opened.game, header)
    size = folder_bytes(target)
    policy = files_of_policy["policy"]["bytes"]
    return ExportedPage(target, chosen.label, states, policy, size, leaves)


def _check_size(table: Table, sizes: dict[int, int], anyway: bool) -> None:
    """Raise `ResourceError` if the policy would be too large for a page."""
    expected = sum(sizes.values()) * BITS / 8
    if expected > MOST_BYTES and not anyway:
        raise ResourceError(
            f"the policy of {table.location.name} takes about {byte_text(expected)}, more than "
            f"{byte_text(MOST_BYTES)}: thin the table with tilebase thin, or give --anyway (anyway=True)"
        )


def _is_page(folder: Path) -> bool:
    try:
        return f'"format": "{FORMAT}"' in read_file(folder / places.POLICY)[:200].decode()
    except (MissingLayerError, CorruptError, UnicodeDecodeError):
        return False


# -- the policy ------------------------------------------------------------------------------------


def _write_policy(
    table: Table,
    reader: LayerReader,
    objective: Objective,
    folder: Path,
    progress: Callable[[Progress], None] | None,
) -> tuple[int, float, dict[str, Any]]:
    """Write the file of the policy; return the states, the probability to leave them, and the header."""
    game = reader.game
    # No state of a whole table is unknown.
    flow = None if table.manifest.thinned is None else Walk(reader.compiled).begin()
    pace, states, left = Pace(progress, "states"), 0, 0.0
    largest = max([*table.prober.sums(), *(game.sum(board) for board, _ in game.starts())])
    last = largest + max(1 << e for e in game.spawn_exponents)
    with closing(PolicyWriter(folder, game, last)) as writer:
        for total, keys in _states(reader, table.prober.sums(), last):
            layer = reader.layer(total)
            judged = _judge(table, layer, objective, keys)
            if flow is not None and total in flow:
                left += _advance(flow, judged)
            _add(writer, layer, objective, judged)
            states += int(judged.known.sum())
            if pace.due() or total == last:
                pace.report(total, "pack", states, (total + 1) / (last + 1))
        return states, left, writer.finish()


class _States(NamedTuple):
    """The states of one sum, canonical and ascending, and what the table says of them."""

    keys: Array
    links: Links
    there: Array  # there[k, x]: whether slide k of state x is allowed and its afterstate is in the table
    known: Array  # known[x]: whether the table says which slide of state x is best
    lost: Array  # lost[x]: whether no slide is allowed
    best: Array  # best[k, x]: whether slide k is one of the best


def _states(reader: LayerReader, layers: Any, last: int) -> Iterator[tuple[int, Array]]:
    """Yield the sums, ascending, and the canonical states of each: starts, and spawns on afterstates."""
    game = reader.game
    flow = Walk(reader.compiled).begin(0)
    for total in range(min([*layers, *(game.sum(board) for board, _ in game.starts())]), last + 1):
        there = total in flow and not game.reached(total)
        if there or total in layers:
            yield total, flow.pop()[1][0] if there else np.empty(0, dtype=np.uint64)
        if total in layers and not game.ended(total):
            keys = reader.keys(total)
            for exponent in game.spawn_exponents:
                flow.add(total + (1 << exponent), distinct(reader.spawns(keys, exponent)[0]))


def _judge(table: Table, layer: ReadLayer, objective: Objective, states: Array) -> _States:
    """Return what the table says of the states of one sum; with the slides of `sparse.flow`."""
    least = table.manifest.least
    links = layer.link(states) if table.manifest.thinned is None else layer.link_known(states)
    allowed, missing = links.slots != NONE, links.slots == MISSING
    there = allowed & ~missing
    # If boards below a value were left out, the value of one slide is enough: it is larger.
    known = there.any(axis=0)
    if least is None or least.label != objective.label:
        known &= ~missing.any(axis=0)
    best = best_slides(ratings(objective, layer, links), table.slack(objective))
    return _States(states, links, there, known, ~allowed.any(axis=0), best)


def _add(writer: PolicyWriter, layer: ReadLayer, objective: Objective, states: _States) -> None:
    """Write the values of a layer, and the best slides of the states that a reader would not find."""
    values = layer.values.copy()
    values[:FIRST] = values[WON]
    scale = Scale.of(objective, values)
    links, known = states.links, states.known
    added = slide_gains(objective, links.gains)
    gains = np.repeat(added, 2, axis=0) if isinstance(added, np.ndarray) else np.full((1, len(known)), added)
    slides = Slides(links.slots, states.there, gains, states.best)
    halvings, wrong = order(scale, slides if known.all() else slides.take(known))
    wrong = np.flatnonzero(known)[wrong]
    writer.correct(layer.total, states.keys[wrong], states.best[:, wrong])
    if len(layer.keys):
        writer.add(layer.total, layer.keys, scale, halvings)


def _advance(flow: Walk, layer: _States) -> float:
    """Spread visits over the spawns after slides; return the probability to come to unknown states."""
    total, (keys, visit) = flow.pop()
    index = np.searchsorted(layer.keys, keys)
    known, lost, best = layer.known[index], layer.lost[index], layer.best[:, index]
    going = known & best & (layer.links.slots[:, index] != WON)
    flow.spread(total, layer.links.afters[:, index][going], (visit * even(best))[going])
    return float(visit[~known & ~lost].sum())


# -- the page --------------------------------------------------------------------------------------


def _header(table: Table, objective: Objective, states: int, leaves: float) -> dict[str, Any]:
    """Return what the player has to know before the first slide."""
    least, (_, won) = table.manifest.least, sentinels(table.game, objective)
    codes = table.game.bounds.code + 1  # x is none of them
    return {
        "format": FORMAT,
        "version": VERSION,
        "program": version(),
        "info": game_document(title(table.game), table) | INFO,
        "rules": _rules(table.game),
        "logits": objective.unit in ("probability", "yes-no"),
        "objective": {
            "label": objective.label,
            "text": objective.text,
            "unit": objective.unit,
            "slide": objective.slide,
            "won": won,
            "lost": objective.lost,
            "rounded": objective.is_float,
            "discount": float(objective.discount),
            "potential": potentials(objective.merge)[:codes] if objective.merge else None,
        },
        "start": value_document(table.start[objective.label], objective.unit),
        "thinned": table.manifest.thinned is not None,
        "leaves": leaves,
        "states": states,
        "below": least is not None and least.label == objective.label,
    }


def title(game: Game) -> str:
    """Return the title of the page: ``2048 on 3x3, to 512``, or ``2048 in formation 442, to 512``."""
    text = title_of(game)
    return f"2048 on {game}" if text == str(game) else f"2048 in {text}"


def _rules(game: Game) -> dict[str, Any]:
    """Return the rules that `game_document` leaves out.  Tiles are exponents, and x is `x`; see `Game`."""
    start, number = game.start_board, game.directions.index
    return {
        "x": game.x if game.unmergeable else None,
        "highest": game.bounds.allowed,
        "goal": game.goal_exponent,
        "goalSum": game.goal_sum,
        "horizon": game.horizon,
        "patterns": game.patterns,
        "masks": game.masks,
        "start": {
            "boards": [start] if start is not None else game.start_afters or [game.empty_board],
            "spawns": 0 if start is not None else 1 if game.start_afters else 2,
        },
        "symmetries": [
            [list(p), [number(name) for name in game.grid.turned(p).values()]] for p in symmetries(game)
        ],
    }


def _write_page(folder: Path, game: Game, header: dict[str, Any]) -> None:
    """Write the page, one file, so that browsers run it without a host, too, and what lies beside it."""
    web = files("tilebase") / "web"
    modules = [f"{part}/{name}" for part, names in MODULES.items() for name in names]
    imports = {name: _address((web / name).read_text("utf-8"), name) for name in modules}
    parts = {
        "STYLE": "\n".join((web / name).read_text("utf-8") for name in STYLES),
        "MODULES": to_json({"imports": imports}, "compact"),
        "START": 'import "player/player.js";',
    }
    values = parts | {
        "STYLE_HASH": _hash(parts["STYLE"]),
        "HASHES": f"{_hash(parts['MODULES'])} {_hash(parts['START'])}",
        "TITLE": html.escape(title(game)),
        "FORMAT": FORMAT,
        "CHINESE": (web / CATALOGUE).read_text("utf-8").replace("<", "\\u003c"),
        "HEADER": to_json(header, "compact").replace("<", "\\u003c"),
    }
    page = Template((web / "player" / places.POLICY).read_text("utf-8")).substitute(values)
    write_whole(folder / places.POLICY, page, durable=False)
    for name in (WORKER, LICENSE):
        write_whole(folder / Path(name).name, (web / name).read_text("utf-8"), durable=False)


def _address(text: str, name: str) -> str:
    """Return a module as an address that holds it, without comments; it names others by folder and file."""
    folder = posixpath.dirname(name)
    named = re.sub(
        r'(from|import) "(\.[^"]+)"',
        lambda found: f'{found[1]} "{posixpath.normpath(posixpath.join(folder, found[2]))}"',
        COMMENT.sub("", text),
    )
    return f"data:text/javascript;charset=utf-8,{quote(named, safe=SAFE)}"


def _hash(text: str) -> str:
    """Return the hash by which the page's policy allows a script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
