"""Views per campaign and window in plain Python."""

from __future__ import annotations

import datetime
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping

from reference_windows import window_start

Window = tuple[str, datetime.datetime]


def campaign_views(values: Iterable[bytes], campaigns: Mapping[str, str], *, window_s: int) -> dict[Window, list[int]]:
    """The sequence numbers of the views of each campaign in each window."""
    views: dict[Window, list[int]] = defaultdict(list)
    for value in values:
        event = json.loads(value)
        campaign = campaigns.get(event["ad_id"])
        if event["event_type"] == "view" and campaign is not None:
            views[campaign, window_start(event["time_ms"], window_s)].append(event["sequence"])
    return dict(views)
