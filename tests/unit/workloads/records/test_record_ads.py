"""Advertising events as the Yahoo streaming benchmark has them."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from headgate.workloads.records.ads import AD_TYPES, CAMPAIGN_ADS, EVENT_TYPES, Ads, campaign_of


def test_a_hundred_campaigns_have_ten_ads_each() -> None:
    assert len({ad for ad, _ in CAMPAIGN_ADS}) == 1000
    assert set(Counter(campaign for _, campaign in CAMPAIGN_ADS).values()) == {10}
    assert all(campaign_of(ad) == campaign for ad, campaign in CAMPAIGN_ADS)


def test_ads_and_events_are_equally_likely_and_independent() -> None:
    count = 60_000
    events = [json.loads(value) for value in Ads(seed=1).values(0, [1_800_000_000_000] * count)]
    kinds = Counter((event["ad_type"], event["event_type"]) for event in events)
    assert set(kinds) == {(ad_type, event_type) for ad_type in AD_TYPES for event_type in EVENT_TYPES}
    for seen in kinds.values():
        assert seen == pytest.approx(count / 15, rel=0.08)
    campaigns = Counter(campaign_of(event["ad_id"]) for event in events)
    assert len(campaigns) == 100
    assert min(campaigns.values()) > 0.7 * count / 100
    assert len({event["user_id"] for event in events}) == 100
    assert len({event["page_id"] for event in events}) == 100
    address = {event["user_id"]: event["ip_address"] for event in events}
    assert all(event["ip_address"] == address[event["user_id"]] for event in events)
