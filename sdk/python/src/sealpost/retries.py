"""Which calls are repeated, and after which time."""
from __future__ import annotations

from typing import Literal

from .errors import ApiError, ConnectionError, RateLimitError, SealpostError

Repeats = Literal["key", "idempotent", "never"]
"""
What makes a call safe to repeat. `key`: its Idempotency-Key. `idempotent`: it reads, sets what it names to what
it says, or deletes what has this id. `never`: it could do something twice.
"""

FIRST_WAIT_SECONDS = 0.5
WAIT_SECONDS_MAX = 8.0
UNCERTAIN = (502, 503, 504)
"""Answers after which a call may have been made, or only a part of it."""


def may_repeat(error: SealpostError, repeats: Repeats) -> bool:
    """Whether a call that failed so may be made again."""
    # A 429 refuses before anything is done.
    if isinstance(error, RateLimitError):
        return True
    if repeats == "never":
        return False
    if isinstance(error, ApiError):
        # The first request of the key, whose answer was lost, is still at work.
        return error.code == "idempotency_in_progress" or error.status in UNCERTAIN
    return isinstance(error, ConnectionError)


def wait_seconds(error: SealpostError, made: int, chance: float) -> float:
    """
    How long to wait before the call is made again: half a second doubling to eight, of which `chance` (0 to 1)
    takes up to a half; never less than the answer's `retry-after`, of which chance adds up to a tenth.
    `made`: how many attempts there were, 1 at least.
    """
    doubled = min(WAIT_SECONDS_MAX, FIRST_WAIT_SECONDS * 2 ** min(made - 1, 10))
    demanded = (error.retry_after or 0) if isinstance(error, ApiError) else 0
    return max(doubled * (1 - chance / 2), demanded * (1 + chance / 10))
