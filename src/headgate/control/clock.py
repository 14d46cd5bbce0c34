"""Real time that never goes backwards."""

from __future__ import annotations

import threading
import time


class WallClock:
    """Epoch seconds at the start plus what the monotonic clock has counted since."""

    def __init__(self) -> None:
        self._offset_s = time.time() - time.monotonic()

    def now_s(self) -> float:
        return self._offset_s + time.monotonic()

    def wait_until(self, time_s: float, stop: threading.Event) -> None:
        stop.wait(max(0.0, time_s - self.now_s()))
