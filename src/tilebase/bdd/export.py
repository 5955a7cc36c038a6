"""A winning set as a folder, which `tilebase.open_winning_set` reads without OxiDD.

The file of diagrams has two diagrams for each layer that was solved, and not two for all boards.  A probe
knows the layer of its board, and the union of layers by sum takes time and memory to make.  Measured on 3x3
to 64: the diagrams of all sums share 1.1 million nodes, those of the unions 0.7 million.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

from tilebase.bdd.library import check_end
from tilebase.bdd.sets import FREE
from tilebase.bdd.strategies import Analysis
from tilebase.errors import CorruptError, ResourceError, StorageError, UsageError, WrongGameError
from tilebase.files import places, winning
from tilebase.files.dddmp import MOST_NODES
from tilebase.files.source import read_file, refuse_kept
from tilebase.files.winning import AFTERSTATES, FILE, STATES, Layer, WinningManifest, root_name
from tilebase.game.game import Game
from tilebase.runtime.storage import atomic_file, check_writable, part_path, storage_errors

MANIFEST = places.TABLE
PIECE = 1 << 20
"""Bytes in which the number of nodes stands: those of the first lines."""


def check_export(folder: Path, game: Game) -> None:
    """Raise an error if a winning set cannot be written to a folder; to be called before it is computed.

    That is a `UsageError` if the diagrams do not have all boards that the rules allow, `WrongGameError` if
    the folder holds something else, and `StorageError` if it cannot be written.
    """
    if not game.bounds.closed:
        most = 2 ** max(game.tops)
        raise UsageError(
            f"a winning set of {game} cannot be saved: it has boards up to the tile {most}, the largest that "
            f"play from the start can make, and slides lead to larger ones: give {most} as the limit"
        )
    refuse_kept(folder)
    if not folder.exists():
        check_writable(folder)
        return
    if not folder.is_dir():
        raise StorageError(f"cannot write {folder}: it is a file, but a winning set is a folder")
    _check_content(folder, game)
    check_writable(folder / FILE)


def _check_content(folder: Path, game: Game) -> None:
    """Raise `WrongGameError` unless a folder is empty or holds a winning set of the game."""
    own = [folder / name for name in (MANIFEST, FILE)]
    with storage_errors(folder, "read"):
        others = set(folder.iterdir()) - {*own, *map(part_path, own)}
    if others:
        raise WrongGameError(f"{folder} holds other files, as {min(others).name}: name a new folder")
    if not own[0].exists():
        return
    try:
        before = WinningManifest.parse(read_file(own[0]), str(own[0]))
    except CorruptError as error:
        raise WrongGameError(f"{error}: delete the folder, or name a new one") from error
    if before.game != game:
        raise WrongGameError(
            f"{folder} holds a winning set of {before.game}: delete it, or name a new folder"
        )


def write_set(folder: Path, analysis: Analysis, verdict: bool | None) -> int:
    """Write what an analysis, run with `keep`, has found; return the bytes of the file of diagrams.

    `verdict` is what its `run` has returned.
    A winning set of the same game that the folder holds is replaced.  Raises the errors of `check_export`,
    `StorageError` if the disk is full, and `ResourceError` if there are too many nodes.
    """
    check_export(folder, analysis.game)
    with storage_errors(folder):
        folder.mkdir(exist_ok=True)
    return write_files(folder, analysis, verdict)


def write_files(folder: Path, analysis: Analysis, verdict: bool | None) -> int:
    """As `write_set`, to an existing folder and for every game; a certificate needs only boards of play."""
    sets, method = analysis.sets, analysis.method
    # A spawn that makes the goal sum wins, so these boards have no states and no afterstates.
    names = [name for name in analysis.won if method.strategy != "sum" or not sets.game.reached(int(name))]
    # The diagrams get their name before the manifest that names them.
    with atomic_file(folder / MANIFEST) as text, atomic_file(folder / FILE) as diagrams:
        nodes, size, digest = _write_diagrams(analysis, names, diagrams, folder / FILE)
        manifest = WinningManifest(
            game=sets.game, variant=method.variant, player=method.player, strategy=method.cut,
            strong=method.strong, corollary7=method.corollary7, verdict=verdict, encoding=method.encoding,
            order=method.order_for(sets.game),
            codes={
                value: "".join(winning.FREE if bit == FREE else str(bit) for bit in code)
                for value, code in sets.codes.items()
            },
            variables=sets.order,
            layers=[
                Layer(name, sets.count(analysis.won[name]), sets.count(analysis.won_afters[name], after=True))
                for name in names
            ],
            nodes=nodes, size=size, sha256=digest,
        )  # fmt: skip
        with storage_errors(folder / MANIFEST):
            text.write(manifest.text.encode())
            text.flush()
            # A folder with a manifest is a complete set, so the old one goes before the file that it names.
            (folder / MANIFEST).unlink(missing_ok=True)
    return size


def _write_diagrams(analysis: Analysis, names: list[str], file: BinaryIO, path: Path) -> tuple[int, int, str]:
    """Write the diagrams; return the number of their nodes, and size and SHA-256 sum of the file.

    `file` is the open part file of `path`.  OxiDD opens it once more to write it.
    """
    found = {STATES: analysis.won, AFTERSTATES: analysis.won_afters}
    roots = [(found[what][name], root_name(what, name)) for what in found for name in names]
    part = part_path(Path(os.path.realpath(path)))
    with storage_errors(path):
        analysis.sets.library.manager.export_dddmp_with_names(part, roots, ascii=True)
        file.seek(0)
        nodes = _nodes(file.read(PIECE))
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256")  # type: ignore[arg-type]  # it has `readinto`
        check_end(file, path)
    return nodes, os.fstat(file.fileno()).st_size, digest.hexdigest()


def _nodes(header: bytes) -> int:
    """Return the number of nodes in the header of a file.

    Raises `ResourceError` if there are too many to read.
    """
    words = header.split()
    nodes = int(words[words.index(b".nnodes") + 1])
    if nodes > MOST_NODES:
        raise ResourceError(f"the winning set has {nodes:,} nodes, and at most {MOST_NODES:,} can be read")
    return nodes
