"""``tilebase pattern``: which boards can be reached when both sides want it; one file a subcommand."""

from __future__ import annotations

from cyclopts import App

from tilebase.cli.pattern.checkerboard import checkerboard
from tilebase.cli.pattern.lemmas import lemmas
from tilebase.cli.pattern.reach import reach
from tilebase.cli.pattern.replay import replay

pattern = App(name="pattern", help="Which boards can be reached: checkerboards, full boards, dead ends.")
for command in (checkerboard, lemmas, reach, replay):
    pattern.command(command)
