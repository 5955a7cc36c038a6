"""``tilebase reach``: which boards can be reached when both sides want it; one file a subcommand."""

from __future__ import annotations

from cyclopts import App

from tilebase.cli.reach.board import board
from tilebase.cli.reach.checkerboard import checkerboard
from tilebase.cli.reach.fill import fill
from tilebase.cli.reach.lemmas import lemmas
from tilebase.cli.reach.replay import replay
from tilebase.cli.reach.shortest import shortest


def _app() -> App:
    app = App(name="reach", help="Decide which boards can be reached, as checkerboards.")
    for command in (board, checkerboard, fill, lemmas, replay, shortest):
        app.command(command)
    return app


reach, planned = _app(), _app()
"""The command, and the same behind ``tilebase plan``, which hides it."""
