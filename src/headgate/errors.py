"""What can go wrong, as types, because each kind wants another answer.

    HeadgateError
    ├── UserMistake      the person can fix it: one sentence, exit code 2
    ├── NotReady         nothing to measure yet: skip this tick, record it
    ├── StreamEnded      the stream is over, and with it the work on it
    ├── Temporary        may pass by itself: retry with back-off, say so
    └── Permanent        will not pass: stop and report
        └── StaleEpoch   an order of a controller that has been replaced

Every message is one sentence that says what is wrong, where, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HeadgateError(Exception):
    """Everything that Headgate raises on purpose."""


class UserMistake(HeadgateError):
    """Input that cannot be used; the message names it and the remedy."""


class NotReady(HeadgateError):
    """There is nothing to measure yet; the next tick may be luckier."""


class StreamEnded(HeadgateError):
    """The query ended, by itself or by failing; the message says which."""


class Temporary(HeadgateError):
    """A peer did not answer; trying again may help."""


class Permanent(HeadgateError):
    """Trying again cannot help."""


class StaleEpoch(Permanent):
    """An order carried an older epoch than the agent has already obeyed."""

    def __init__(self, *, offered: int, newest: int) -> None:
        super().__init__(
            f"the order has epoch {offered}, but epoch {newest} has been seen: "
            "another controller has taken over, so this one must stop"
        )
        self.offered = offered
        self.newest = newest


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint to append to a sentence about an unknown word.

    >>> nearest("thresold", ["threshold", "static"])
    "; did you mean 'threshold'?"
    >>> nearest("x", ["alpha", "beta"])
    '; known: alpha, beta'
    """
    names = sorted(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; known: {', '.join(names)}" if names else ""
