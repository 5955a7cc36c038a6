"""The tables that the pages show, which several files of tests ask for; each help is made once."""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path

from tilebase.cli.commands import load_commands

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TABLES = runpy.run_path(str(DOCS / "extensions" / "tables.py"))
load_commands()
TABLES["help_text"].__globals__["help_text"] = cache(TABLES["help_text"])
