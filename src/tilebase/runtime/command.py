"""The command that runs: how results and pictures name it, and what was asked of all commands."""

from __future__ import annotations

from contextvars import ContextVar

COMMAND: ContextVar[str] = ContextVar("COMMAND", default="tilebase")
"""The words of the command as in a shell, without those that say where and how a result is shown.

Outside of the command line it is the name of the program.
"""
QUIET: ContextVar[bool] = ContextVar("QUIET", default=False)
"""Whether progress is not shown."""
ANYWAY: ContextVar[bool] = ContextVar("ANYWAY", default=False)
"""Whether a command begins even if it is expected to take too much."""
