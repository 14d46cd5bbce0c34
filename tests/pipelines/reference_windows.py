"""Windows of event time in plain Python."""

from __future__ import annotations

import datetime

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def window_start(time_ms: int, window_s: int) -> datetime.datetime:
    """The beginning of the window that an event falls into; windows are counted from 1970.

    >>> window_start(1_700_000_019_999, 10).isoformat()
    '2023-11-14T22:13:30+00:00'
    """
    return EPOCH + datetime.timedelta(seconds=time_ms // 1000 // window_s * window_s)
