"""Games, positions, spawns and layers as JSON documents.

A board is written as text (``2,0/4,8``) and as ``cells``: one word for each cell, by rows, planes first;
``0`` is an empty cell, ``#`` a wall, ``x`` a large tile whose number is not known.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, Literal

from tilebase.costs.estimate import number_in_words
from tilebase.costs.rates import busy
from tilebase.errors import BoardError, CorruptError, MissingBoardError, StorageError, UsageError
from tilebase.game.board import Board
from tilebase.game.game import Game
from tilebase.game.names import title_of
from tilebase.game.notation import count_of, split_cells, tile_text
from tilebase.game.spawns import ORIGINAL
from tilebase.objectives.numbers import byte_text, chance_text
from tilebase.objectives.values import Unknown, value_document
from tilebase.questions.fitting import Fit, catalogue, fits, shape_of
from tilebase.runtime.progress import Progress, describe
from tilebase.runtime.storage import folder_bytes
from tilebase.small.diagrams import surroundings
from tilebase.tables.answers import Answer, board_document, goal_cells, slides_by_rules
from tilebase.tables.folders import best_first
from tilebase.tables.large_tiles import large_tiles_of
from tilebase.tables.layers import layer_sizes, layer_values
from tilebase.tables.playing import choose_state, play_game, random_position
from tilebase.tables.probe import Table
from tilebase.tables.real_boards import AnyBoard
from tilebase.tables.solved import Solved
from tilebase.web.collection import Collection, Entry

Document = dict[str, Any]
MOST_TEXT = 1000
"""Most characters of a board."""
DRAWN = 400
"""Most states of a game that is drawn whole; of larger ones, the surroundings of a board are."""

# -- what is served ----------------------------------------------------------------------------------


def served(entry: Entry) -> Document:
    """Return one line of the list of tables."""
    return {
        "name": entry.name,
        "kind": entry.kind,
        "state": entry.state,
        "game": "" if entry.game is None else title_of(entry.game),
        "shape": "" if entry.game is None else entry.game.shape_text,
        "progress": progress(entry.progress),
        "problem": entry.problem or None,
    }


def progress(done: Progress | None) -> Document | None:
    """Return how far something is; None before it says that."""
    return None if done is None else {"text": describe(done), "fraction": done.fraction}


def library(collection: Collection) -> Document:
    """Return the tables that players solve, and which of them are there."""
    return {
        "folder": str(collection.library) if collection.library else None,
        "token": collection.token if collection.solves else None,
        "failed": collection.failed or None,
        "busy": busy() or None,
        "kept": {name: byte_text(folder_bytes(path)) for name, path in collection.kept().items()},
        "tables": [fit_document(collection, fit) for fit in catalogue()],
    }


def fit_document(collection: Collection, fit: Fit) -> Document:
    """Return what a table is and takes, and whether it is there, being solved, begun or not."""
    one, there = fit.formation, collection.entries.get(fit.name)
    done = there is not None and bool(there.location or there.state == "solving")
    known = there.state if done and there else "begun" if collection.is_begun(fit.name) else "new"
    return {
        "name": fit.name,
        "formation": one.name if one else None,
        "shape": fit.game.shape_text,
        "picture": one.picture if one else None,
        "free": one.free_cells if one else fit.game.cells,
        "goal": fit.goal,
        "chance": chance_text(fit.chance) or None,
        "positions": number_in_words(fit.expected.positions),
        "seconds": fit.expected.seconds,
        "time": fit.takes[0],
        "disk": fit.takes[1],
        "problem": fit.problem(collection.library) or None,
        "equal": fit.equal,
        "state": known,
        "command": fit.command(collection.library),
    }


def answers(collection: Collection, board: str) -> Document:
    """Return what each table says that holds a real board, by goal and value, and what could be solved.

    Raises `BoardError` if this is not a board.
    """
    shape = shape_of(board)
    found: dict[str, Answer] = {}
    others: dict[str, str] = {}
    for name, entry in list(collection.entries.items()):
        if entry.game is None or entry.state != "ready" or entry.kind == "certificate":
            continue
        if entry.game.shape != shape:
            others[name] = f"its boards have the shape {entry.game.shape_text}"
            continue
        try:
            opened = collection.open(name)
            found[name] = opened.probe(board_of(opened, board))
        except (UsageError, MissingBoardError, StorageError, CorruptError) as error:
            others[name] = str(error)
    try:
        offered, problem = fits(board), None
    except MissingBoardError as error:
        offered, problem = [], str(error)
    return {
        "answers": [
            {"table": name, "game": title_of(one.board.game), **_brief(one)}
            for name, one in best_first(found).items()
        ],
        "others": others,
        "fits": [fit_document(collection, fit) for fit in offered],
        "problem": problem,
    }


def _brief(answer: Answer) -> Document:
    """Return the value of a position and its best slides, without the others."""
    told = answer.as_dict()
    return {name: told[name] for name in ("board", "meaning", "value", "best", "notes", "orientation")}


def game_document(name: str, opened: Solved) -> Document:
    """Return the rules of a game, as the page needs them to move tiles, and what the table holds."""
    game = opened.game
    return {
        "name": name,
        "kind": opened.kind,
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
        "formation": bool(game.unmergeable),
        "spawns": [{"tile": 1 << e, "chance": float(game.spawn.chance(e))} for e in game.spawn_exponents],
        "largest_sum": game.largest_sum if game.goal or game.limits else None,
    } | opened.facts()


def _is_plain(game: Game) -> bool:
    """Return whether every slide that changes the board is allowed, and only the goal tile wins."""
    cut = game.limits is not None or bool(game.masks) or game.bounds.cuts_merges
    return not cut and not game.patterns and game.goal_sum is None and game.horizon is None


# -- boards ------------------------------------------------------------------------------------------


def board_of(opened: Solved, text: str) -> AnyBoard:
    """Return the board of a text in any notation; a won board is read, too, since slides lead to it.

    Raises `BoardError`.
    """
    if len(text) > MOST_TEXT:
        raise BoardError(f"a text of {len(text):,} characters is not a board: at most {MOST_TEXT:,} are read")
    try:
        return opened.read(text)
    except BoardError:
        with suppress(BoardError):
            return Board.read_won(opened.game, text)
        raise


# -- positions ---------------------------------------------------------------------------------------


def position(name: str, opened: Solved, text: str, label: str | None) -> Document:
    """Return a position with the values of its slides.

    If the table does not hold it, the slides are listed without values, and ``problem`` says why.
    Raises the errors of `board_of`, `CorruptError`, and `UsageError` for an unknown objective.
    """
    return {"table": name} | _ask(opened, board_of(opened, text), label).as_dict()


def _ask(opened: Solved, board: AnyBoard, label: str | None) -> Answer:
    """Return what is known of a board with the player to move, also if it is won or not held."""
    unit = opened.unit(label)
    if board.won:
        return Answer(board, "", unit, Unknown())
    try:
        return opened.probe(board, label)
    except MissingBoardError as error:
        return Answer(board, "", unit, Unknown(), slides_by_rules(board), problem=str(error))


# -- spawns ------------------------------------------------------------------------------------------


def spawns(opened: Solved, board: str, objective: str | None) -> Document:
    """Return the states that a spawn on a board after a slide leads to, and what each is worth.

    ``worst`` marks those that leave the player least, ``best`` those that leave most.  Of a certificate,
    ``worst`` is the spawn that it names.
    """
    after = board_of(opened, board)
    states = [] if opened.game.wins(after.cells) else after.spawns()
    answers = [_ask(opened, state, objective) for state, _ in states]
    named = opened.named_spawn(after) if isinstance(after, Board) else None
    chosen = _extreme(answers, -1) if named is None else {named.text}
    best = _extreme(answers, 1)
    return board_document(after) | {
        "spawns": [
            _spawn(after, answer, p)
            | {"worst": answer.board.text in chosen, "best": answer.board.text in best}
            for answer, (_, p) in zip(answers, states, strict=True)
        ],
    }


def _spawn(board: AnyBoard, answer: Answer, p: Fraction) -> Document:
    """Return a spawn: its cell, tile and probability, and what is known of the state that it makes."""
    known = answer.as_dict()
    before, after = split_cells(board.text), known["cells"]
    cell = next(cell for cell, word in enumerate(after) if word != before[cell])
    return {
        "cell": cell, "tile": int(after[cell]), "probability": float(p), "fraction": str(p),
        **{name: known[name] for name in ("board", "cells", "value", "state")},
    }  # fmt: skip


def _extreme(answers: Sequence[Answer], sign: Literal[-1, 1]) -> set[str]:
    """Return the boards whose values are least (-1) or most (1); empty if no value is known."""
    known = {answer.board.text: sign * answer.rank for answer in answers if answer.value != Unknown()}
    most = max(known.values(), default=None)
    return {text for text, number in known.items() if number == most}


# -- games -------------------------------------------------------------------------------------------


def start(
    opened: Solved,
    seed: int | None,
    sum: int | None,  # noqa: A002  (as the interface names it)
    by: Literal["start", "uniform", "optimal"] | None,
    objective: str | None,
    *,
    adversary: bool | None,
) -> Document:
    """Return a board to begin with: a start of the game, or a random position of a table of this sum.

    Raises `UsageError` for the sum of a start.
    """
    rng = random.Random(seed)
    if by in (None, "start"):
        if sum is not None:
            raise UsageError("the start of a game is not chosen by its sum: add by=uniform or by=optimal")
        states = opened.start_states()
        return board_document(choose_state(opened, states, rng, worst=bool(adversary), objective=objective))
    return board_document(random_position(need_table(opened), rng, sum, by=by, objective=objective))


def random_game(
    opened: Solved, seed: int | None, objective: str | None, *, adversary: bool | None
) -> Document:
    """Return a game of optimal play by a table, with the value of each state."""
    table = need_table(opened)
    played = play_game(table, random.Random(seed), objective=objective, worst=bool(adversary))
    unit = table.objective(objective).unit
    slides = [move.direction for move in played.record.moves]
    return {
        "record": played.record.as_dict(table.game),
        "moves": [
            {"board": state.text, "slide": slide, "value": value_document(value, unit)}
            for state, slide, value in zip(played.states, slides, played.values, strict=True)
        ],
        "end": played.end,
    }


def need_table(opened: Solved) -> Table:
    """Return a table as it is.  Raises `UsageError` for what has no layers of values."""
    if not isinstance(opened, Table):
        raise UsageError(f"this is a {opened.kind}: ask a table")
    return opened


# -- layers and diagrams -----------------------------------------------------------------------------


def layers(opened: Solved) -> Document:
    """Return how many afterstates of each sum a table holds."""
    sizes = layer_sizes(need_table(opened))
    return {"layers": [{"sum": total, "positions": count} for total, count in sizes.items()]}


def layer(opened: Solved, sum: int, objective: str | None) -> Document:  # noqa: A002  (as above)
    """Return how the values of the afterstates of one sum spread."""
    return layer_values(need_table(opened), sum, objective).as_dict()


def diagram(opened: Solved, board: str | None, objective: str | None) -> Document:
    """Return a graph as SVG: the whole of a small game, or else the surroundings of a board.

    The whole is the Markov decision process.  The surroundings are the slides of a board (without one: of a
    start) and the states that spawns make of them, with the values that the table knows.  In the whole,
    ``boards[node]`` is the board of a node; in the surroundings, boards are links.
    """
    if isinstance(opened, Table) and _is_drawn_whole(opened, objective):
        return _whole(opened.game, opened.objective(objective).discount)
    if board is None:
        board = str(start(opened, 1, None, "start", objective, adversary=False)["board"])
    centre = _ask(opened, board_of(opened, board), objective).as_dict()
    after = {
        slide["direction"]: [] if slide["ends"] else spawns(opened, slide["board"], objective)["spawns"]
        for slide in centre["slides"]
    }
    svg = surroundings(opened.game.shape, centre, after).svg()
    return {"svg": svg, "boards": {}, "whole": False, "board": centre["board"]}


def _is_drawn_whole(table: Table, label: str | None) -> bool:
    """Return whether values are probabilities to win, and all states that play meets are few and stored."""
    objective = table.objective(label)
    stored = table.manifest.space == "reachable" and table.manifest.thinned is None
    live = table.manifest.counts.get("live")
    return objective.is_win and objective.is_mean and stored and live is not None and live <= DRAWN


def _whole(game: Game, discount: Fraction) -> Document:
    from tilebase.small.diagrams import decision_diagram, diagram_picture
    from tilebase.small.graphs import state_name

    found = decision_diagram(game, discount=discount, max_states=DRAWN)
    boards = {state_name(game, cells): game.format(cells) for cells in found.values}
    return {"svg": diagram_picture(found).svg(), "boards": boards, "whole": True, "board": None}


# -- the rules of a game in sentences ----------------------------------------------------------------


def describe_rules(game: Game) -> list[str]:
    """Return the rules in sentences, for people.

    >>> describe_rules(Game("2x3", 64, spawn="1/5", start="empty"))
    ['The board is 2x3.', 'The tile 64 wins.', 'Play begins with one tile.', 'One of 5 new tiles is a 4.']
    """
    return [*_board_rules(game), *_goal(game), *_large_tiles(game), *_play(game)]


def _board_rules(game: Game) -> Iterator[str]:
    yield f"The board is {game.shape_text}."
    if game.walls:
        yield f"There are walls on {_places(game, sorted(game.walls))}."
    if game.limits:
        these = "these: " if len(set(game.limits)) > 1 else ""
        yield f"No tile may be larger than {these}{game.limits_text}."


def _goal(game: Game) -> Iterator[str]:
    cells = goal_cells(game)
    if game.goal is not None:
        yield f"The tile {game.goal} wins."
    for tile in sorted(set(cells.values())):
        places = _places(game, [cell for cell in cells if cells[cell] == tile], "or")
        yield f"The tile {tile} wins on {places}."
    if game.patterns and not cells:
        yield f"A board wins that matches {' or '.join(str(game.pattern).split('|'))}; * is any cell."
    if game.goal_sum is not None:
        yield f"Tiles whose sum is {game.goal_sum} or more win."
    if not game.can_win:
        yield "There is no goal."


def _large_tiles(game: Game) -> Iterator[str]:
    if not game.unmergeable:
        return
    count = len(game.unmergeable)
    yield (
        f"{count_of(count, 'large tile')}, written x, slide and never merge: "
        f"each stands for a tile that is {tile_text(large_tiles_of(game).least)} or more."
    )
    if game.masks:
        masks = " or ".join(game.masks_text.split("|"))
        yield f"After each slide, large tiles stand on every x of {masks}."


def _play(game: Game) -> Iterator[str]:
    if game.start_afters and game.start != "empty":
        boards = " or ".join(game.format(cells) for cells in game.start_afters)
        yield f"Play begins with a new tile on {boards}."
    elif game.start_board is not None:
        yield f"Play begins on {game.format(game.start_board)}."
    else:
        yield f"Play begins with {'one tile' if game.start == 'empty' else 'two tiles'}."
    if game.spawn != ORIGINAL:
        yield _share(game.spawn.four)
    if game.horizon is not None:
        yield f"Play ends after a slide if the tiles, without the large ones, have the sum {game.horizon}."


def _share(four: Fraction) -> str:
    if four in (0, 1):
        return f"Every new tile is a {4 if four else 2}."
    share = "One" if four.numerator == 1 else f"{four.numerator:,}"
    return f"{share} of {four.denominator:,} new tiles {'is' if four.numerator == 1 else 'are'} a 4."


def _places(game: Game, cells: Iterable[int], last: str = "and") -> str:
    """Cells in words: ``row 1, column 2 and row 3, column 1``."""
    rows, columns = game.shape[-2:]
    words = [
        (f"plane {cell // (rows * columns) + 1}, " if len(game.shape) > 2 else "")
        + f"row {cell // columns % rows + 1}, column {cell % columns + 1}"
        for cell in cells
    ]
    return f" {last} ".join(words)
