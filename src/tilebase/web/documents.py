"""Games, positions, spawns and layers as JSON documents.

A board is written as text (``2,0/4,8``) and as ``cells``: one word for each cell, by rows, planes first;
``0`` is an empty cell, ``#`` a wall, ``x`` a large tile whose number is not known.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal

from tilebase.errors import BoardError, MissingBoardError, UsageError
from tilebase.game.board import Board
from tilebase.game.game import Cells, Game
from tilebase.game.names import title_of
from tilebase.game.notation import exponent_of, split_cells
from tilebase.objectives.numbers import Unit, is_mistake, loss_text
from tilebase.objectives.values import Exact, Found, Unknown, sort_key, value_document
from tilebase.questions.review import find_loss, size_of
from tilebase.runtime.progress import Progress, describe
from tilebase.tables.answers import LOST, WINNING, WON, Answer, SlideAnswer
from tilebase.tables.certificates import Certificate
from tilebase.tables.large_tiles import Reading, read_tiles
from tilebase.tables.layers import layer_sizes, layer_values
from tilebase.tables.playing import play_game, random_position, spawn
from tilebase.tables.probe import Table
from tilebase.tables.real_boards import RealAnswer, RealBoard, RealSlide
from tilebase.tables.winning import WinningSet
from tilebase.web.collection import Entry, Opened, kind_of
from tilebase.web.rules import describe_rules, goal_cells
from tilebase.web.surroundings import surroundings_to_dot

Document = dict[str, Any]
PLAY = "play"
"""The state of a position in which a slide is allowed."""
MOST_TEXT = 1000
"""Most characters of a board."""
DRAWN = 400
"""Most states of a game that is drawn whole; of larger ones, the surroundings of a board are."""

# -- what is served ----------------------------------------------------------------------------------


def served(entry: Entry) -> Document:
    """One line of the list of tables."""
    return {
        "name": entry.name,
        "kind": entry.kind,
        "state": entry.state,
        "game": "" if entry.game is None else title_of(entry.game),
        "shape": "" if entry.game is None else entry.game.shape_text,
        "progress": None if entry.progress is None else progress_document(entry.progress),
        "problem": entry.problem or None,
    }


def progress_document(progress: Progress) -> Document:
    """How far solving is."""
    return {"text": describe(progress), "fraction": progress.fraction}


def game_document(name: str, opened: Opened) -> Document:
    """The rules of a game, as the page needs them to move tiles, and what the table holds."""
    game = opened.game
    known = {
        "name": name,
        "kind": kind_of(opened),
        "state": "ready",
        "game": title_of(game),
        "rules": describe_rules(game),
        "named": title_of(game) != str(game),
        "goal_cells": [{"cell": cell, "tile": tile} for cell, tile in goal_cells(game).items()],
        "identity": game.identity,
        "plain": _is_plain(game),
        "shape": list(game.shape),
        "cells": game.cells,
        "goal": game.goal,
        "goal_sum": game.goal_sum,
        "directions": list(game.directions),
        "lines": {
            direction: [list(segment) for segment in segments]
            for direction, segments in game.segments.items()
        },
        "walls": sorted(game.walls),
        "unmergeable": bool(game.unmergeable),
        "formation": bool(game.unmergeable) and not game.fixed,
        "spawns": [{"tile": 1 << e, "chances": game.spawn_probabilities(e)} for e in game.spawn_exponents],
        "largest_sum": game.largest_sum if game.goal or game.largest or game.limits else None,
    }
    if isinstance(opened, Certificate):
        return known | _certificate_facts(opened)
    if isinstance(opened, WinningSet):
        return known | _winning_facts(opened)
    return known | _table_facts(opened)


def _is_plain(game: Game) -> bool:
    """Whether every slide that changes the board is allowed, and only the goal tile wins."""
    cut = game.largest is not None or game.limits is not None or bool(game.masks) or game.bounds.cuts_merges
    return not cut and not game.patterns and game.goal_sum is None and game.horizon is None


def _table_facts(table: Table) -> Document:
    manifest = table.manifest
    sums = sorted(manifest.layers)
    starts = {one.label: value_document(table.start[one.label], one.unit) for one in manifest.objectives}
    return {
        "adversary": any(one.meaning.spawns == "least" for one in table.objectives),
        "objectives": [
            {"label": one.label, "text": one.text, "type": one.dtype, "unit": one.unit}
            for one in table.objectives
        ],
        "start": starts,
        "positions": manifest.counts.get("afterstates", manifest.counts.get("boards")),
        "layers": len(sums),
        "sums": [sums[0], sums[-1]] if sums else None,
        "thinned": None if manifest.thinned is None else dict(manifest.thinned),
        "space": manifest.space,
    }


def _winning_facts(winning: WinningSet) -> Document:
    objective = {"label": WINNING, "text": winning.manifest.meaning, "type": "bit", "unit": "yes-no"}
    return {
        "adversary": True,
        "objectives": [objective],
        "start": {WINNING: value_document(winning.value, "yes-no")},
        "positions": len(winning),
        "layers": None,
        "sums": None,
        "thinned": None,
        "space": "reachable",
    }


def _certificate_facts(certificate: Certificate) -> Document:
    objective = {"label": WINNING, "text": "whether a win can be forced", "type": "bit", "unit": "yes-no"}
    return {
        "adversary": True,
        "objectives": [objective],
        "start": {WINNING: value_document(Exact(certificate.forced), "yes-no")},
        "positions": len(certificate),
        "layers": None,
        "sums": None,
        "thinned": None,
        "space": "reachable",
        "claim": certificate.claim,
        "starts": [board.text for board in certificate.starts],
    }


# -- boards ------------------------------------------------------------------------------------------


def words(text: str) -> list[str]:
    """The cells of a board as words, from its text."""
    return text.replace("/", ",").split(",")


def read_board(opened: Table | WinningSet | Certificate, text: str) -> Board | RealBoard:
    """The board of a text in any notation; a won board is read, too, since slides lead to it.

    Raises `BoardError`.
    """
    if len(text) > MOST_TEXT:
        raise BoardError(f"a text of {len(text):,} characters is not a board: at most {MOST_TEXT:,} are read")
    game = opened.game
    if isinstance(opened, Table) and game.unmergeable and not game.fixed:
        tiles = read_tiles(game, text)
        if tiles is not None:
            return RealBoard(game, tiles)
    try:
        return Board.read(game, text)
    except BoardError:
        won = _won_board(game, text)
        if won is None:
            raise
        return won


def _won_board(game: Game, text: str) -> Board | None:
    """The board of a text that holds the goal or has the goal sum; None if it is not such a board."""
    cells = split_cells(text)
    if len(cells) != game.cells:
        return None
    try:
        board = Board(game, tuple(_exponent(game, cell, word) for cell, word in enumerate(cells)))
    except (UsageError, ValueError):
        return None
    return board if board.won else None


def _exponent(game: Game, cell: int, word: str) -> int:
    if word == "#" and cell in game.walls:
        return 0
    if word == "x" and game.unmergeable:
        return game.x
    return exponent_of(int(word)) if word != "0" else 0


def board_document(board: Board | RealBoard) -> Document:
    """A board, its cells, its sum and its largest tile.  The large tiles of a real board are not counted."""
    text = board.text
    if isinstance(board, Board):
        return {"board": text, "cells": words(text), "sum": board.sum, "largest": board.max_tile}
    tiles = [1 << e for e in board.tiles if e]
    return {
        "board": text, "cells": words(text), "sum": sum(tiles), "largest": max(tiles, default=0)
    }  # fmt: skip


# -- positions ---------------------------------------------------------------------------------------


def position(name: str, opened: Opened, text: str, label: str | None) -> Document:
    """A position with the values of its slides.

    If the table does not hold it, the slides are listed without values, and ``problem`` says why.
    Raises the errors of `read_board`, `CorruptError`, and `UsageError` for an unknown objective.
    """
    return _position(name, opened, text, label)[0]


def _position(name: str, opened: Opened, text: str, label: str | None) -> tuple[Document, Found]:
    """A `position`, and its value as the table knows it."""
    board, unit = read_board(opened, text), opened.unit(label)
    if board.won:
        return _unanswered(name, board, WON, None), Unknown()
    try:
        answer = opened.ask(board, label)
    except MissingBoardError as error:
        return _unanswered(name, board, PLAY, str(error)), Unknown()
    return _answered(name, board, answer, unit), answer.value


def _unanswered(name: str, board: Board | RealBoard, state: str, problem: str | None) -> Document:
    """A position without values: a won one, or one that the table does not hold."""
    answer = Answer(board, "", Unknown(), (), ()) if isinstance(board, Board) else None
    slides: list[Document] = []
    if answer is not None and state == PLAY:
        unknown = [
            SlideAnswer(board.game, direction, after.cells, Unknown(), board.game.wins(after.cells))
            for direction, after in answer.board.slides().items()
        ]
        slides = [_slide(answer, slide, "yes-no") | {"value": None} for slide in unknown]
        state = state if slides else LOST
    return {
        "table": name,
        **board_document(board),
        "state": state,
        "meaning": "",
        "value": None,
        "best": [],
        "slides": slides,
        # Nothing is known of a real board, and nothing follows a win.
        "refused": answer.refused if answer is not None and state != WON else {},
        "goal_cells": _goals(board),
        "large_tiles": None,
        "orientation": None,
        "notes": [],
        "problem": problem,
    }


def _goals(board: Board | RealBoard, reading: Reading | None = None) -> list[int]:
    """The cells of a board on which the goal wins, if it does not win on all."""
    cells = list(goal_cells(board.game))
    if isinstance(board, Board):
        return cells
    return [] if reading is None else sorted(reading.orientation.sources[cell] for cell in cells)


def _answered(name: str, board: Board | RealBoard, answer: Answer | RealAnswer, unit: Unit) -> Document:
    slides = [_slide(answer, slide, unit) for slide in answer.slides]
    real = answer if isinstance(answer, RealAnswer) else None
    return {
        "table": name,
        **board_document(board),
        "state": PLAY if slides else LOST,
        "meaning": answer.meaning,
        "value": value_document(answer.value, unit),
        "best": list(answer.best),
        "slides": slides,
        "refused": answer.refused,
        "goal_cells": _goals(board, None if real is None else real.reading),
        "large_tiles": None if real is None else list(real.large_tiles),
        "orientation": None if real is None else real.reading.orientation.name,
        "notes": list(answer.notes),
        "problem": None,
    }


def _slide(answer: Answer | RealAnswer, slide: SlideAnswer | RealSlide, unit: Unit) -> Document:
    """A slide of a position with its value, and with what it loses against the best one."""
    loss, of, text = find_loss(answer, slide.direction), size_of(answer.value), slide.after.text
    return {
        "direction": slide.direction,
        "board": text,
        "cells": words(text),
        "value": value_document(slide.value, unit),
        "loss": loss,
        "loss_text": None if loss is None else loss_text(loss, unit, of),
        "mistake": loss is not None and is_mistake(loss, of),
        "best": slide.direction in answer.best,
        "ends": slide.end,
        "merges_large": slide.merges_large,
    }


# -- spawns ------------------------------------------------------------------------------------------


def spawns(name: str, opened: Opened, text: str, label: str | None) -> Document:
    """The states that a spawn on a board after a slide leads to, and what each is worth.

    ``worst`` marks those that the adversary prefers; of a certificate, the spawn that it names.
    """
    board = read_board(opened, text)
    found = list(_spawned(opened, board))
    after_spawn = [_position(name, opened, after.text, label) for _, _, _, after in found]
    if isinstance(opened, Certificate) and not opened.forced:
        assert isinstance(board, Board)  # only a table has real boards
        chosen = {opened.spawn(board).text}
    else:
        chosen = _worst({document["board"]: value for document, value in after_spawn})
    return {
        **board_document(board),
        "spawns": [
            {
                "cell": cell,
                "tile": 1 << exponent,
                "probability": float(p),
                "fraction": str(p),
                "board": after.text,
                "cells": words(after.text),
                "value": document["value"],
                "state": document["state"],
                "worst": after.text in chosen,
            }
            for (cell, exponent, p, after), (document, _) in zip(found, after_spawn, strict=True)
        ],
    }


def _worst(values: Mapping[str, Found]) -> set[str]:
    """The boards whose values are least; empty if no value is known."""
    known = {text: sort_key(value) for text, value in values.items() if value != Unknown()}
    least = min(known.values(), default=None)
    return {text for text, number in known.items() if number == least}


def _spawned(
    opened: Opened, board: Board | RealBoard
) -> Iterator[tuple[int, int, Fraction, Board | RealBoard]]:
    """Each spawn on a board after a slide: cell, exponent, probability, and the state that it makes."""
    if isinstance(board, Board):
        if opened.game.wins(board.cells):
            return
        for cells, p in opened.game.spawns(board.cells):
            cell = next(cell for cell, e in enumerate(cells) if e != board.cells[cell])
            yield cell, cells[cell], p, Board(board.game, cells)
        return
    assert isinstance(opened, Table)
    reading = next(iter(opened.large_tiles.readings(board.tiles)))
    for cells, p in board.game.spawns(reading.cells):
        at = next(cell for cell, e in enumerate(cells) if e != reading.cells[cell])
        cell = reading.orientation.sources[at]
        tiles: Cells = (*board.tiles[:cell], cells[at], *board.tiles[cell + 1 :])
        yield cell, cells[at], p, RealBoard(board.game, tiles)


# -- games -------------------------------------------------------------------------------------------


def start(
    opened: Opened,
    seed: int | None,
    total: int | None,
    by: Literal["start", "uniform", "optimal"],
    label: str | None,
    *,
    adversary: bool,
) -> Document:
    """A board to begin with: a start of the game, or a random position of a table."""
    rng = random.Random(seed)
    if isinstance(opened, Certificate):
        return board_document(rng.choice(opened.starts))
    if by == "start":
        if isinstance(opened, Table):
            return board_document(spawn(opened, opened.game.starts(), rng, worst=adversary, objective=label))
        boards = opened.game.starts()
        chosen = rng.choices([cells for cells, _ in boards], [float(p) for _, p in boards])[0]
        return board_document(Board(opened.game, chosen))
    return board_document(random_position(_table(opened), rng, total, by=by, objective=label))


def random_game(opened: Opened, seed: int | None, label: str | None, *, adversary: bool) -> Document:
    """A game by the optimal policy of a table, with the value of each state."""
    table = _table(opened)
    played = play_game(table, random.Random(seed), objective=label, worst=adversary)
    unit = table.objective(label).unit
    slides = [move.direction for move in played.record.moves]
    return {
        "record": played.record.as_dict(table.game),
        "moves": [
            {"board": state.text, "slide": slide, "value": value_document(value, unit)}
            for state, slide, value in zip(played.states, slides, played.values, strict=True)
        ],
        "end": played.end,
    }


def _table(opened: Opened) -> Table:
    if not isinstance(opened, Table):
        raise UsageError(f"this is a {kind_of(opened)}: ask a table")
    return opened


# -- layers and diagrams -----------------------------------------------------------------------------


def layers(opened: Opened) -> Document:
    """How many afterstates of each sum a table holds."""
    sizes = layer_sizes(_table(opened))
    return {"layers": [{"sum": total, "positions": count} for total, count in sizes.items()]}


def layer(opened: Opened, total: int, label: str | None) -> Document:
    """How the values of the afterstates of one sum spread."""
    return layer_values(_table(opened), total, label).as_dict()


def diagram(name: str, opened: Opened, text: str | None, label: str | None) -> Document:
    """A graph in the language DOT: the whole of a small game, or else the surroundings of a board.

    The whole is the Markov decision process.  The surroundings are the slides of a board (without one: of a
    start) and the states that spawns make of them, with the values that the table knows.  In the whole,
    ``boards[node]`` is the board of a node; in the surroundings, boards are links.
    """
    if isinstance(opened, Table) and _is_drawn_whole(opened, label):
        return _whole(opened.game, opened.objective(label).discount)
    board = start(opened, 1, None, "start", label, adversary=False)["board"] if text is None else text
    centre = position(name, opened, board, label)
    after = {
        slide["direction"]: [] if slide["ends"] else spawns(name, opened, slide["board"], label)["spawns"]
        for slide in centre["slides"]
    }
    dot = surroundings_to_dot(opened.game.shape, centre, after)
    return {"dot": dot, "boards": {}, "whole": False, "board": centre["board"]}


def _is_drawn_whole(table: Table, label: str | None) -> bool:
    """Whether the values are probabilities to win, and all states that a game can meet are few and stored."""
    objective = table.objective(label)
    stored = table.manifest.space == "reachable" and table.manifest.thinned is None
    live = table.manifest.counts.get("live")
    return objective.is_win and objective.is_mean and stored and live is not None and live <= DRAWN


def _whole(game: Game, discount: Fraction) -> Document:
    from tilebase.small.diagrams import decision_diagram, diagram_to_dot
    from tilebase.small.graphs import state_name

    found = decision_diagram(game, discount=discount, max_states=DRAWN)
    boards = {state_name(game, cells): game.format(cells) for cells in found.values}
    return {"dot": diagram_to_dot(found), "boards": boards, "whole": True, "board": None}


def certificate(opened: Opened, board: str | None, after: str | None) -> Document:
    """What a certificate says of a state, or which spawns it answers or names on a board after a slide."""
    if not isinstance(opened, Certificate):
        raise UsageError(f"this is a {kind_of(opened)}: ask a certificate")
    if (board is None) == (after is None):
        raise UsageError("give either board, with the player to move, or after, a board after a slide")
    if board is not None:
        return position(opened.path.name, opened, board, None)
    return spawns(opened.path.name, opened, str(after), None)
