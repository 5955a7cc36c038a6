"""``tilebase review``: which slides of a written game lost how much, by a table."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tilebase.cli.library import offer_for_game, open_library
from tilebase.cli.options import ShownOptions
from tilebase.cli.output import STDIN, Shown
from tilebase.cli.probe import LabelOption, check_order
from tilebase.errors import BoardError, MissingBoardError, MissingLayerError, UsageError
from tilebase.game.names import title_of
from tilebase.objectives.numbers import MISTAKE_TEXT, loss_text, share_text
from tilebase.objectives.values import short_text
from tilebase.runtime.rows import table_text
from tilebase.runtime.storage import storage_errors

if TYPE_CHECKING:
    from tilebase.objectives.values import Found
    from tilebase.questions.review import Review, ReviewedMove
    from tilebase.tables.folders import TableFolder


def review(
    table: Annotated[
        str,
        Parameter(help="Folder, zip file or URL of a table, or a folder of tables. Default: your library."),
    ],
    game: Annotated[str | None, Parameter(help="File with the game, or - for standard input.")] = None,
    *,
    objective: LabelOption = None,
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Find the slides of a game that lost most.

    The game is a saved game, a replay of 2048verse.com, or a list of positions, one on each line, from which
    the slides are inferred. Prints how often the slides were best, what they lost, and the largest losses;
    other formats have every position. For a formation, give the game as it was played; positions that the
    table does not contain count as unknown.

    tilebase review 3x3-512/ game.json

    tilebase review 442-512/ replay.txt -f json

    tilebase review replay.txt
    """
    from tilebase.tables.folders import holds_tables, open_tables
    from tilebase.tables.probe import open_table

    show = shown.checked()
    if game is None:
        text = _read(table)
        try:
            opening = open_library()
        except MissingLayerError:
            sys.stdout.write(offer_for_game(_positions(text)))
            raise
        with opening as tables:
            return _review_folder(tables, text, objective, show)
    check_order("review", table, game)
    text = _read(game)
    if holds_tables(table):
        with open_tables(table) as tables:
            return _review_folder(tables, text, objective, show)
    from tilebase.questions.review import review as review_game

    with open_table(table) as opened:
        played, found = opened.game, review_game(opened, text, objective)
    show.write(_rows(found), found.as_dict(), text=f"{title_of(played)}: {_described(found)}", game=played)
    return 0


def _review_folder(tables: TableFolder, text: str, objective: str | None, show: Shown) -> int:
    """Review a game by all tables of a folder: each of its endgames on its own."""
    from tilebase.questions.review import review_game

    found = review_game(tables.tables, text, objective)
    if not found.reviewed:
        sys.stdout.write(offer_for_game([move.board for move in found.moves]))
    if not found.endgames:
        raise MissingBoardError(f"no table in {tables.path} knows a slide of this game")
    parts = {}
    for one in found.endgames:
        table = tables.tables[one.table]
        moves = found.moves[one.first - 1 : one.last]
        part = replace(found, meaning=table.meaning(objective), unit=table.unit(objective), moves=moves)
        named = f"moves {one.first:,} to {one.last:,}" if one.first < one.last else f"move {one.first:,}"
        parts[f"{named}, {one.table}"] = part
    judged = {name: part for name, part in parts.items() if part.reviewed}
    text = f"{table_text([_endgame(name, part) for name, part in judged.items()])}\n" if judged else ""
    text += "".join(f"{name}: {_described(part)}\n" for name, part in judged.items())
    reasons = {
        name: next((move.problem for move in part.unjudged), "the game ends here")
        for name, part in parts.items()
        if name not in judged
    }
    if reasons:
        text += table_text([{"no slide is judged": name, "why": why} for name, why in reasons.items()])
    rows = [{"table": move.table} | row for move, row in zip(found.moves, _rows(found), strict=True)]
    show.write(rows, found.as_dict(), text=text, game=None)
    return 0


def _positions(text: str) -> list[str]:
    """Return the positions of a written game on 4x4, the board of formations; none of a game on another."""
    from tilebase.game.game import Game
    from tilebase.game.records import parse_game, text_of
    from tilebase.questions.review import read_written

    game = Game("4x4", 8)
    try:
        written = parse_game(game, text, partial(read_written, game))
    except BoardError:
        return []
    return [text_of(game, one.tiles) for one in written.positions]


def _read(game: str) -> str:
    """Return the text of a file or of standard input, not more than is needed to see that it is too long."""
    from tilebase.game.records import MOST_TEXT

    try:
        if game == STDIN:
            if sys.stdin is None:
                raise UsageError("standard input is closed: name a file with the game")
            return sys.stdin.read(MOST_TEXT + 1)
        with storage_errors(game, "read"), Path(game).open(encoding="utf-8") as file:
            return file.read(MOST_TEXT + 1)
    except UnicodeDecodeError as error:
        raise UsageError(f"{game} is not text in UTF-8: save the game as text") from error


def _described(found: Review) -> str:
    """Return the summary, the largest losses, and slides that are not judged."""
    from tilebase.game.records import POSITIONS
    from tilebase.questions.review import MOST_DROPS

    form = "" if found.form == POSITIONS else f"{found.form}, "
    text = f"{form}{len(found.moves):,} positions: {found.meaning}\n\n" + table_text(_summary(found))
    drops = []
    for move in found.drops:
        worth, best = (_worth(one, found, move.loss or 0) for one in (move.slide_value, move.value))
        slides = _named(move) | {"its value": worth, "best": " or ".join(move.best), "best value": best}
        drops.append(slides | {"loss": _lost(move.loss or 0, found)})
    unjudged = [_named(move) | {"why": move.problem} for move in found.unjudged]
    heading = "slides that are not judged"
    if len(unjudged) > MOST_DROPS:
        heading += f", the first {MOST_DROPS} of {len(unjudged):,}"
    for title, rows in (("the largest losses", drops), (heading, unjudged[:MOST_DROPS])):
        text += f"\n{title}\n{table_text(rows)}" if rows else ""
    return text


def _endgame(name: str, part: Review) -> dict[str, Any]:
    """Return the row of an endgame in the summary of a whole game."""
    return {
        "endgame": name, "slides judged": f"{part.reviewed:,}", "no mistake": share_text(part.faultless or 0),
        f"mistakes, {MISTAKE_TEXT}": f"{part.mistakes:,}", "lost in total": _lost(part.total_loss, part),
    }  # fmt: skip


def _named(move: ReviewedMove) -> dict[str, Any]:
    return {"move": move.number, "board": move.board, "slide": " or ".join(move.slides)}


def _summary(found: Review) -> list[dict[str, Any]]:
    rows = {
        "judged": f"{found.reviewed:,}",
        "not judged": f"{len(found.unjudged):,}",
        "in positions that are not in the table": f"{found.unknown - len(found.unjudged):,}",
    }
    if breaks := sum(move.problem is not None and not move.slides for move in found.moves[:-1]):
        rows["breaks, where the review starts again"] = f"{breaks:,}"
    if found.faultless is not None and found.mean_loss is not None:
        rows |= {
            "no mistake": f"{found.reviewed - found.mistakes:,} ({share_text(found.faultless)})",
            f"mistakes, {MISTAKE_TEXT}": f"{found.mistakes:,}",
            "best, most in a row": f"{found.longest_run:,}",
            "lost in total, the sum of the losses of single slides": _lost(found.total_loss, found),
            "lost per slide, their mean": _lost(found.mean_loss, found),
        }
    if found.mistakes:
        rows["the worst mistake"] = f"{' or '.join(found.drops[0].slides)}, move {found.drops[0].number}"
    return [{"": name, "slides": text} for name, text in rows.items()]


def _lost(loss: float, found: Review) -> str:
    return loss_text(loss, found.unit, 0.0)


def _worth(value: Found | None, found: Review, loss: float) -> str:
    return "" if value is None else short_text(value, found.unit, loss)


def _rows(found: Review) -> list[dict[str, Any]]:
    return [
        {
            "number": move.number,
            "board": move.board,
            "slide": " ".join(move.slides),
            "best": " ".join(move.best),
            "value": "" if move.value is None else str(move.value),
            "slide_value": "" if move.slide_value is None else str(move.slide_value),
            "loss": "" if move.loss is None else repr(move.loss),
            "problem": move.problem or "",
        }
        for move in found.moves
    ]
