"""The version of this program: worked out when it is first asked for, once in a process.

A release is called `RELEASE`.  In a checkout the version names the commit that runs, as in
``0.1.0.dev495+g5a984541``: the next release, the number of commits, and the first digits of the commit's
hash.  ``.dirty`` follows if files that git knows were changed.  In a shallow clone the number of commits is
not known and 0 stands in its place; the hash says all the same which commit it is.

The build evaluates `version` in the checkout and writes the result into the wheel or the source distribution.
An installation that lies in no checkout, or where git is missing, has the version of its metadata.
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

RELEASE = "0.1.0"
"""The last release, or the next one; only a checkout of the tag ``v`` + `RELEASE` has this version."""
HASH_DIGITS = 8
GIT_SECONDS = 60
"""The longest that git may take."""

__version__: str


@functools.cache
def version() -> str:
    """The version, as PEP 440 spells it.  Imports nothing heavy; in a checkout it runs git, 0.03 s."""
    checkout = Path(__file__).resolve().parents[2]
    found = _of_checkout(checkout) if (checkout / ".git").exists() else None
    return found or _of_installation()


def _of_checkout(folder: Path) -> str | None:
    """The version of a checkout; None if git is missing or refuses to read it."""
    release = f"v{RELEASE}"
    described = _git(
        folder, "describe", "--always", "--dirty", "--tags", "--long", "--abbrev=40", "--match", release
    )
    commits = _git(folder, "rev-list", "--count", "HEAD")
    found = re.fullmatch(r"(?:(v.*)-(\d+)-g)?([0-9a-f]{40,})(-dirty)?", described or "")
    if found is None or commits is None:
        return None
    tag, since, commit, dirty = found.groups()
    if tag == release and since == "0" and not dirty:
        return RELEASE
    if _git(folder, "rev-parse", "--is-shallow-repository") != "false":
        commits = "0"
    return f"{RELEASE}.dev{commits}+g{commit[:HASH_DIGITS]}{'.dirty' if dirty else ''}"


def _git(folder: Path, *words: str) -> str | None:
    """What git prints; None if it cannot be run, or fails."""
    import subprocess

    # Git must look at this checkout, also where a hook of another one calls us, and must not write to it.
    inherited = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, encoding="utf-8", check=True,
            timeout=GIT_SECONDS, env=inherited | {"GIT_OPTIONAL_LOCKS": "0"},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _of_installation() -> str:
    from importlib import metadata

    try:
        return metadata.version("tilebase")
    except metadata.PackageNotFoundError:  # sources without git that nobody installed
        return f"{RELEASE}.dev0+unknown"


def __getattr__(name: str) -> str:
    if name == "__version__":
        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
