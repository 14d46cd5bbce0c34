"""Time that passes only when somebody waits for it."""

from __future__ import annotations

import threading


class VirtualClock:
    """A clock that jumps to the moment that is waited for.

    >>> clock = VirtualClock()
    >>> clock.wait_until(15.0, threading.Event())
    >>> clock.now_s()
    15.0
    """

    def __init__(self) -> None:
        self._now_s = 0.0

    def now_s(self) -> float:
        return self._now_s

    def wait_until(self, time_s: float, stop: threading.Event) -> None:
        """Jump there; a moment that has passed, or a stop that is set, leaves the time as it is."""
        if not stop.is_set() and time_s > self._now_s:
            self._now_s = time_s
