"""``tilebase pattern``: which boards can be reached when both sides want it; one file a subcommand."""

from __future__ import annotations

from cyclopts import App

from tilebase.cli.pattern.checkerboard import checkerboard
from tilebase.cli.pattern.fill import fill
from tilebase.cli.pattern.lemmas import lemmas
from tilebase.cli.pattern.reach import reach
from tilebase.cli.pattern.replay import replay
from tilebase.cli.pattern.shortest import shortest

pattern = App(name="pattern", help="Which boards can be reached: checkerboards, full boards, dead ends.")
for command in (checkerboard, fill, lemmas, reach, replay, shortest):
    pattern.command(command)
