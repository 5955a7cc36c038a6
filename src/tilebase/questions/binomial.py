"""The exact interval of a probability from how often something happened: that of Clopper and Pearson (1934).

Of n independent trials k had the result.  The lower end of the interval is the probability under which k or
more results would be as rare as half of what is left to 1, and the upper end that under which k or fewer
would be. So an interval misses the true probability at most as often as it says, however small this is.
"""

from __future__ import annotations

import math

from tilebase.errors import UsageError

CONFIDENCE = 0.9999
"""With this probability an interval of played games holds the probability to win."""
STEPS = 200
"""Bisections of an interval; fewer are made where neighbouring floats are reached."""


def binomial_interval(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    """Return the ends of the interval that holds the probability with this confidence.

    Raises `UsageError` unless there are trials, no more successes than trials, and the confidence lies
    between 0 and 1.

    >>> [round(end, 6) for end in binomial_interval(0, 1000, 0.95)]
    [0.0, 0.003682]
    """
    if not 0 <= successes <= trials or trials < 1 or not 0 < confidence < 1:
        raise UsageError(
            f"{successes} of {trials} with confidence {confidence} has no interval: give 1 trial or more, "
            "at most as many successes, and a confidence between 0 and 1"
        )
    rare = (1 - confidence) / 2
    return _lower(successes, trials, rare), 1 - _lower(trials - successes, trials, rare)


def _lower(successes: int, trials: int, rare: float) -> float:
    """Return the largest probability under which so many successes or more are at most as rare as `rare`."""
    if not successes:
        return 0.0
    low, high = 0.0, successes / trials
    for _ in range(STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if _at_least(successes, trials, middle) > rare:
            high = middle
        else:
            low = middle
    return low


def _at_least(successes: int, trials: int, p: float) -> float:
    """Return the probability of so many successes or more, where fewer are expected."""
    log_term = (
        math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
        + successes * math.log(p) + (trials - successes) * math.log1p(-p)
    )  # fmt: skip
    # Each term is smaller than the one before it, so the sum may end where terms do not count any more.
    term = total = 1.0
    odds = p / (1 - p)
    for k in range(successes, trials):
        term *= (trials - k) / (k + 1) * odds
        total += term
        if term < 1e-17 * total:
            break
    return math.exp(log_term) * total
