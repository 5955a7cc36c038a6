"""Probing a table: the value of a position, and its best slides.

This loads neither Numba nor the solver.  A table may be a folder, a zip file (stored, not
compressed) or a URL.  Objects here are safe to share between threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilebase.errors import BoardError, MissingBoardError, MissingLayerError, UsageError
from tilebase.files import places
from tilebase.files.layers import PagedLayers
from tilebase.files.manifest import Manifest, is_winning, read_manifest
from tilebase.files.source import Folder, Location, address, is_certificate, local_path
from tilebase.game.board import Board
from tilebase.game.game import Cells
from tilebase.game.notation import count_of
from tilebase.objectives.numbers import SMALL, Unit
from tilebase.objectives.objective import Objective, find_objective
from tilebase.objectives.results import StartValues, proves_certain
from tilebase.objectives.rounding import Rounding
from tilebase.objectives.values import (
    Below,
    Exact,
    Found,
    Number,
    Unknown,
    Value,
    join_bounds,
    value_document,
    with_complement,
)
from tilebase.runtime.rows import html_text
from tilebase.tables.answers import INTERVAL, Answer, SlideAnswer, interval_answer, slides_by_rules
from tilebase.tables.large_tiles import LARGE, Reading, large_tiles_of, read_tiles
from tilebase.tables.prober import DenseProber, Prober
from tilebase.tables.real_boards import AnyBoard, RealBoard
from tilebase.tables.solved import BoardLike, Solved, opened_again


class Table(Solved):
    """A solved game to probe, from `open_table`.

    A table can be pickled: it is opened again from its absolute path or URL.  A deep copy is the same table.

    Attributes
    ----------
    manifest:
        The contents of the table.
    layers:
        ``layers[label]``: the layers of an objective.
    name, game:
        The name of its folder or file, and the game that was solved.
    objectives:
        The objectives with values in the table.
    dense:
        Whether it contains all boards within the limits, not only the reachable ones.
    """

    kind = "table"

    def __init__(self, location: Location, manifest: Manifest) -> None:
        self.manifest, self.location = manifest, location
        self.name, self.game, self.objectives = location.name, manifest.game, manifest.objectives
        self.dense = manifest.space == "all"
        layers = sum(2**top for top in manifest.game.tops if top) // 2
        self._slacks = {one.dtype: 2 * math.sqrt(layers) * one.type.tie for one in manifest.objectives}
        self._roundings = {one.label: Rounding(manifest.game, one) for one in manifest.objectives}
        thinned = manifest.thinned is not None
        self.layers = {
            label: PagedLayers(location, places.values_folder(label), manifest.contents(label), pages)
            for label, pages in manifest.layers.items()
        }
        arguments = (location.name, manifest.game, manifest.objectives, self.layers)
        self.prober = (
            DenseProber(*arguments)
            if self.dense
            else Prober(*arguments, thinned=thinned, least=manifest.least)
        )

    def __repr__(self) -> str:
        return f"<Table {self.location.name} of {self.game}: {', '.join(self.manifest.labels)}>"

    def __reduce__(self) -> Any:
        return opened_again, (type(self), address(self.location), self.manifest)

    def _repr_html_(self) -> str:
        rows = [
            {"objective": str(objective), "the start": str(self.start[objective.label])}
            for objective in self.objectives
        ]
        return html_text(f"Table {self.location.name} of {self.game}", rows)

    def close(self) -> None:
        """Release files and memory."""
        self.prober.close()
        self.location.close()

    # -- probing -----------------------------------------------------------------------------

    def probe(self, board: BoardLike, objective: str | None = None, *, made: str | None = None) -> Answer:
        """Return the value of a position, and of each of its slides.

        Parameters
        ----------
        board:
            A `Board`, text in any form, a packed key, or an array of tiles: see `Board.read`.  If the game
            has x that move, it may be a real board with large tiles in their places, rotated or mirrored
            (`tables.large_tiles`), also as a number whose digits are hexadecimal exponents.  Then the reading
            with the best value counts; directions and boards of the answer are those of the board as given.
        objective:
            The label of an objective of the table.  None: the interval if the table has both bounds, else the
            first.
        made:
            Among readings with the same value, prefer one that allows this slide.

        Raises
        ------
        BoardError
            If this is not a board of the game, and cannot be read as one.
        MissingBoardError
            If the table does not contain the board, because it is not reachable or was removed.
        CorruptError
            If a file is damaged.
        """
        return self._best_reading(self.read(board), lambda own: self._probe(own, objective), made)

    def _probe(self, state: Board, label: str | None) -> Answer:
        chosen, answers = self._choose(label), []
        if not state.sum and not self.game.empty_is_state:
            raise self.prober.missing(state.cells)
        for objective in chosen:
            try:
                answers.append(self._answer(state, objective))
            except MissingBoardError as error:
                # Of an interval, the bound that decides what a table leaves out may be known alone.
                if self._decides(objective) or not any(map(self._decides, chosen)):
                    raise self.prober.missing(state.cells) from error  # the error names an afterstate
        return answers[0] if len(answers) == 1 else interval_answer(*answers)

    def probe_after(self, board: BoardLike, objective: str | None = None) -> Answer:
        """Return the value of a board after a slide, before the next spawn; `Below` if it was removed.

        Arguments and errors are those of `probe`.  A bound is one of a table with both bounds only if no
        interval is known.
        """
        return self._best_reading(self.read(board), lambda own: self._probe_after(own, objective))

    def _probe_after(self, after: Board, objective: str | None) -> Answer:
        chosen, least = self._choose(objective), self.prober.least
        if least is not None and any(map(self._decides, chosen)) and self.prober.find(after.cells) is None:
            # Only the objective that decided this is known.
            value: Found = Below(least.bound, reached=False)
            return Answer(after, self.meaning(least.label), self.unit(least.label), value, after=True)
        values = [self._after_value(after.cells, one) for one in chosen]
        value = values[0] if len(values) == 1 else join_bounds(*values)
        return Answer(
            after, self.meaning(objective), self.unit(objective), value, after=True, cost=chosen[0].is_cost
        )

    def _best_reading(
        self, board: AnyBoard, ask: Callable[[Board], Answer], made: str | None = None
    ) -> Answer:
        """Return the answer for a board, also for a real one, where `ask` answers for boards of the game.

        Of several readings with the best value, it is the first that allows the slide `made`, or else the
        first: boards as given come before others.  Raises `NoReadingError` if the board cannot be read.
        """
        if isinstance(board, Board):
            return _noted(ask(board))
        readings = large_tiles_of(board.game).readings(board.tiles)
        answers: dict[Cells, Answer] = {}
        for cells in dict.fromkeys(reading.cells for reading in readings):
            with suppress(MissingBoardError):
                answers[cells] = ask(Board(board.game, cells))
        if not answers:
            why = "no play from its start makes it"
            if self.manifest.thinned is not None:
                why += ", or it was left out"
            raise MissingBoardError(
                f"{board.text} is not in {self.location.name}: its large tiles fit, but {why}"
            )

        def rank(reading: Reading) -> tuple[float, bool]:
            answer, names = answers[reading.cells], reading.orientation.directions
            return answer.rank, any(names[slide.direction] == made for slide in answer.slides)

        reading = max((one for one in readings if one.cells in answers), key=rank)
        answer = _turned(RealBoard(board.game, board.tiles, reading), answers.pop(reading.cells))
        others = sorted(answers.values(), key=lambda one: one.rank, reverse=True)
        return _noted(replace(answer, others=tuple(one.value for one in others)))

    def read(self, board: BoardLike) -> AnyBoard:
        """Return the board of any form that `Board.read` accepts; a real board if the game has x that move.

        Raises `BoardError`.
        """
        if isinstance(board, RealBoard):
            return board
        game = self.game
        tiles = read_tiles(game, board) if game.unmergeable else None
        if tiles is not None:
            return RealBoard(game, tiles)
        try:
            return Board.read(game, board)
        except BoardError:
            # The x stand in another corner, or it is a number, but no key: its digits are the exponents.
            number = f"{board:#x}" if isinstance(board, int) else str(board).strip().lower()
            digits = number.removeprefix("0x").zfill(game.cells)
            if game.unmergeable and number.startswith("0x"):
                tiles = read_tiles(game, digits) if len(digits) == game.cells else None
            elif game.unmergeable:
                tiles = read_tiles(game, board, LARGE)
            if tiles is None:
                raise
            large_tiles_of(game).readings(tiles)  # raises if it has none, as a board that is won
            return RealBoard(game, tiles)

    @property
    def start(self) -> StartValues:
        """``start[label]``: the value of the start under an objective, such as ``start["win"]``."""
        return StartValues(self.objectives, [self.manifest.starts[one.label] for one in self.objectives])

    @property
    def value(self) -> Value:
        """The value of the start under the first objective, or the interval if the table has both bounds."""
        values = [self.start[one.label] for one in self._choose(None)]
        return values[0] if len(values) == 1 else join_bounds(*values)

    def rounding(self, objective: Objective) -> Rounding:
        """Return the largest possible distance of the values of an objective from the optimum."""
        return self._roundings[objective.label]

    def slack(self, objective: Objective) -> float:
        """Return the largest difference by rounding of two equal values, relative to the larger one.

        Slides whose values differ by at most the slack are ties.  Integers are exact: their slack is 0. The
        slack of a float is ``2 * sqrt(n) * eps``, where n is the number of layers that the limits allow. This
        margin is not proved.  Where exact values are known, a quarter of it was enough (docs/solving.md).
        """
        return self._slacks[objective.dtype]

    def objective(self, label: str | None = None) -> Objective:
        """Return the objective of a label or name; the first if there is none.  Raises `UsageError`."""
        return self.objectives[0] if label is None else self._choose(label)[0]

    def plays_by(self, objective: Objective | str | None = None) -> Objective:
        """Return the objective by which the table plays if this one is wanted.

        This is the same one if the table has it, otherwise, or if none is named, its first.
        """
        words = (objective.label, objective.name) if isinstance(objective, Objective) else (objective or "",)
        found = (find_objective(self.objectives, word) for word in words)
        return next(filter(None, found), self.objectives[0])

    def meaning(self, objective: str | None = None) -> str:
        """Return the meaning, in words, of the values that `probe` returns for this label."""
        chosen = self._choose(objective)
        return chosen[0].text if len(chosen) == 1 else INTERVAL

    def unit(self, objective: str | None = None) -> Unit:
        """Return the unit of the values that `probe` returns for this label."""
        return self._choose(objective)[0].unit

    def _choose(self, label: str | None) -> tuple[Objective, ...]:
        if label is not None:
            if not isinstance(label, str):
                raise UsageError(f"{label!r} is not the label of an objective: give one as text")
            found = find_objective(self.objectives, label)
            if found is not None:
                return (found,)
            raise UsageError(
                f"{self.location.name} has no values of {label}: it has {', '.join(self.manifest.labels)}"
            )
        for low in self.objectives:
            for high in self.objectives:
                if (low.name, high.name) == ("lower", "upper") and low.discount == high.discount:
                    return low, high
        return self.objectives[:1]

    def _decides(self, objective: Objective) -> bool:
        return self.prober.least is not None and self.prober.least.label == objective.label

    def _answer(self, board: Board, objective: Objective) -> Answer:
        decides = self._decides(objective)
        answer = self._answer_alone(board, objective, known=decides)
        loss = self.loss_beside(objective)
        if loss is None or isinstance(answer.value, Below):
            return answer
        # Small probabilities to lose differ where those to win are rounded to the same number.
        # Slides that are left out for a low chance to win have no value here either.
        other = self._answer_alone(board, loss, known=decides)
        losses = {slide.direction: slide.value for slide in other.slides}
        slides = tuple(
            replace(slide, value=_beside(slide.value, losses.get(slide.direction))) for slide in answer.slides
        )
        best = other.best if other.best and float(other.value) < SMALL else answer.best
        return replace(answer, value=_beside(answer.value, other.value), slides=slides, best=best)

    def _answer_alone(self, board: Board, objective: Objective, *, known: bool) -> Answer:
        """Return the answer from the values of one objective; `known` as for `Prober.slides`."""
        found = self.prober.slides(board.cells, objective, known=known)
        worths = [worth for *_, worth in found if worth is not None]
        below: Found | None = None if len(worths) == len(found) else self._below(board)
        values = [
            below if worth is None else self._slide_value(after, wins, worth, objective)
            for _, after, wins, worth in found
        ]
        slides = tuple(
            SlideAnswer(self.game, direction, after, value, wins)
            for (direction, after, wins, _), value in zip(found, values, strict=True)
            if value is not None
        )
        if not worths:
            end = self.prober.evaluator(objective).end(board.cells, won=False)
            lost = (
                Exact(int(objective.told(end)))
                if objective.is_float
                else self._value(end, board.sum, objective)
            )
            return Answer(
                board, objective.text, objective.unit, below or lost, slides, cost=objective.is_cost
            )
        most = max(worths)
        slack = self.slack(objective)
        least = most - slack * abs(float(most)) if slack else most
        best = tuple(direction for direction, *_, worth in found if worth is not None and worth >= least)
        certain = objective.is_float and Exact(1) in values and proves_certain(objective)
        value = Exact(1) if certain else self._value(most, board.sum, objective)
        return Answer(board, objective.text, objective.unit, value, slides, best, cost=objective.is_cost)

    def _value(self, number: Number, total: int, objective: Objective) -> Value:
        return self.rounding(objective).value(number, total)

    def loss_beside(self, objective: Objective) -> Objective | None:
        """Return `loss` if the table has it beside `win`: it distinguishes slides that win almost surely."""
        return find_objective(self.objectives, "loss") if proves_certain(objective) else None

    def _slide_value(self, after: Cells, wins: bool, worth: Number, objective: Objective) -> Value:
        """Return the value of a slide: 1 for certain if it wins, or leads to where a win can be forced."""
        if proves_certain(objective) and (wins or (worth == 1 and self._is_forced(after))):
            return Exact(1)
        return self._value(worth, self.game.sum(after), objective)

    def _after_value(self, after: Cells, objective: Objective) -> Value:
        number = self.prober.afterstate(after, objective)
        if proves_certain(objective) and number == 1 and self._is_forced(after):
            return Exact(1)
        value, loss = self._value(number, self.game.sum(after), objective), self.loss_beside(objective)
        return value if loss is None else with_complement(value, self._after_value(after, loss))

    def _is_forced(self, after: Cells) -> bool:
        """Return whether the table says that a win can be forced from a board after a slide."""
        known = find_objective(self.objectives, "guaranteed")
        return known is not None and self.prober.afterstate(after, known) is True

    def _below(self, board: Board) -> Below:
        """Return what is said of the slides of a state that lead to boards that the table leaves out."""
        assert self.prober.least is not None
        return Below(self.prober.least.bound, self.prober.is_reached(board.cells))

    def facts(self) -> dict[str, Any]:
        """As `Solved.facts`."""
        manifest, sums = self.manifest, self.prober.sums()
        return {
            "adversary": any(one.spawns == "least" for one in self.objectives),
            "objectives": [
                {"label": one.label, "text": one.text, "type": one.dtype, "unit": one.unit}
                for one in self.objectives
            ],
            "start": {one.label: value_document(self.start[one.label], one.unit) for one in self.objectives},
            "positions": manifest.counts.get("afterstates", manifest.counts.get("boards")),
            "layers": len(sums),
            "sums": [sums[0], sums[-1]] if sums else None,
            "thinned": None if manifest.thinned is None else dict(manifest.thinned),
            "space": manifest.space,
        }

    def start_value(self, objective: str | None = None) -> Value:
        """Return the value of the start: see `value`, and `start` for one objective."""
        return self.value if objective is None else self.start[objective]


def _beside(value: Found, loss: Found | None) -> Found:
    """Return what is known of winning with the probability to lose beside it, if both are values."""
    if loss is None or isinstance(value, Below | Unknown) or isinstance(loss, Below | Unknown):
        return value
    return with_complement(value, loss)


def open_table(location: Table | Path | str) -> Table:
    """Open a table in a folder, a zip file, or at the URL of any web server.

    An open table is returned unchanged.

    Raises
    ------
    MissingLayerError
        If the location does not exist or holds no table.
    CorruptError
        If the manifest is damaged, or of a newer version.
    StorageError
        If the location cannot be read, for example without permission, or from a server that fails.

    >>> open_table("nowhere")
    Traceback (most recent call last):
        ...
    tilebase.errors.MissingLayerError: nowhere not found: name a folder or zip file of a table or winning set
    """
    if isinstance(location, Table):
        return location
    opened, name, data = read_manifest(location)
    if is_winning(data):
        raise MissingLayerError(
            f"{opened.name} holds a winning set, not a table: tilebase probe and serve take it"
        )
    return Table(opened, Manifest.parse(data, name))


def open_solved(location: Path | str) -> Solved:
    """Open the table, winning set or certificate at a location.

    Raises the errors of `open_table` and `open_certificate`.
    """
    path = local_path(location)
    if path is not None and is_certificate(path):
        from tilebase.tables.certificates import open_certificate  # most locations are tables

        return open_certificate(path)
    opened, name, data = read_manifest(location)
    if is_winning(data):
        from tilebase.tables.winning import WinningSet

        return WinningSet.of(opened, name, data)
    return Table(opened, Manifest.parse(data, name))


# -- boards with real tiles ------------------------------------------------------------------------


def _turned(board: RealBoard, answer: Answer) -> Answer:
    """Return an answer for a board of the game as one for the real board that was read as it."""
    directions = board.reading.orientation.directions
    values = {directions[slide.direction]: slide.value for slide in answer.slides}
    best = {directions[direction] for direction in answer.best}
    slides: list[SlideAnswer] = []
    for slide in slides_by_rules(board) if answer.slides else ():
        assert slide.real is not None
        merges = board.merges_large(slide.direction)
        slides.append(replace(slide, value=values[slide.direction], merges_large=merges))
    ordered = tuple(direction for direction in board.game.directions if direction in best)
    return replace(answer, board=board, slides=tuple(slides), best=ordered)


def _noted(answer: Answer) -> Answer:
    """Return an answer with notes on what the table does not know, or what was chosen."""
    if answer.after:
        return answer
    chosen = ""
    if answer.others:
        chosen = (
            f"{count_of(len(answer.others) + 1, 'reading')} of this board are in the table, and this is the "
            f"one with the best value; the next is worth {answer.others[0]}"
        )
    return replace(answer, notes=tuple(filter(None, (answer.doubt, chosen, answer.cut))))


# -- whole tables on this machine ------------------------------------------------------------------


def local_folder(table: Table) -> Path:
    """Return the folder of a whole table of reachable positions here.  Raises `UsageError` for others."""
    folder = reachable_folder(table)
    if table.manifest.thinned is not None:
        raise UsageError(f"{table.location.name} was thinned: name the whole table")
    return folder


def reachable_folder(table: Table) -> Path:
    """As `local_folder`, also for thinned tables."""
    if table.dense:
        raise UsageError(
            f"{table.location.name} holds all boards within limits, not those that occur: "
            "solve the reachable space"
        )
    if not isinstance(table.location, Folder):
        raise UsageError(f"{table.location.name} is not a folder on this machine: unpack or copy it first")
    return table.location.path


def afterstate_counts(table: Table) -> dict[int, int]:
    """Count afterstates by sum.  Raises `CorruptError` if files are not those of the manifest."""
    reachable_folder(table)
    return table.prober.sizes()
