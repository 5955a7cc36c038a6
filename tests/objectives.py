"""The objectives that tests ask, derived from `MEANINGS`: a new one is asked everywhere."""

from __future__ import annotations

from tilebase.objectives.objective import MEANINGS, WITHOUT_GOAL

ALL = tuple(
    name if dtype == meaning.types[0] else f"{name}:{dtype}"
    for name, meaning in MEANINGS.items()
    for dtype in meaning.types
)
"""Every objective in every type of values, as a command names it."""
CONTINUED = tuple(name for name in WITHOUT_GOAL if not MEANINGS[name].end)
"""The objectives of all games without a goal tile, also of those that a pattern or a sum wins."""
