"""The oracle, for tests that ask it the same thing several times and change nothing of what it says."""

from __future__ import annotations

from functools import lru_cache

from tilebase.small import oracle
from tilebase.small.oracle import Values as Values
from tilebase.small.oracle import _end as _end
from tilebase.small.oracle import _potential as _potential
from tilebase.small.oracle import _worth as _worth
from tilebase.small.oracle import transitions as transitions
from tilebase.small.oracle import worths as worths

values = lru_cache(maxsize=32)(oracle.values)
count = lru_cache(maxsize=32)(oracle.count)
reachable = lru_cache(maxsize=32)(oracle.reachable)
