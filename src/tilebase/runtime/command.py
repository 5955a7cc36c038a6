"""The command whose results are written meanwhile, which results and pictures name."""

from __future__ import annotations

from contextvars import ContextVar

COMMAND: ContextVar[str] = ContextVar("COMMAND", default="tilebase")
"""The words of the command as in a shell, without those that say where and how a result is shown.

Outside of the command line it is the name of the program.
"""
