"""``tilebase export``: results as files for other programs; one file a subcommand."""

from __future__ import annotations

from cyclopts import App

from tilebase.cli.export.boards import boards
from tilebase.cli.export.data import data
from tilebase.cli.export.graph import graph
from tilebase.cli.export.mdp import mdp
from tilebase.cli.export.page import page
from tilebase.cli.export.values import values

export = App(name="export", help="Write data, pictures and pages for other programs.")
for command in (boards, data, graph, mdp, page, values):
    export.command(command)
