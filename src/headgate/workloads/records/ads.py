"""Advertising events, with the members of the Yahoo streaming benchmark (Chintapalli et al. 2016)."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headgate.core.options import check_options, option
from headgate.workloads.records.mixing import below, draws

CAMPAIGNS = 100
ADS_PER_CAMPAIGN = 10
AD_TYPES = ("banner", "modal", "sponsored-search", "mail", "mobile")
EVENT_TYPES = ("view", "click", "purchase")

_USER, _PAGE, _AD, _END = range(1, 5)
_NAMES = 0xAD5


def _names(kind: int, count: int) -> tuple[str, ...]:
    high, low = (draws(_NAMES, 2 * kind + half, np.arange(count)).tolist() for half in (0, 1))
    return tuple(str(uuid.UUID(int=(a << 64) | b, version=4)) for a, b in zip(high, low, strict=True))


AD_IDS = _names(0, CAMPAIGNS * ADS_PER_CAMPAIGN)
CAMPAIGN_IDS = _names(1, CAMPAIGNS)
CAMPAIGN_ADS = tuple((ad, CAMPAIGN_IDS[number // ADS_PER_CAMPAIGN]) for number, ad in enumerate(AD_IDS))
"""Every pair of (ad_id, campaign_id), whatever the seed: the table that events are joined with."""
_CAMPAIGN_OF = dict(CAMPAIGN_ADS)


def campaign_of(ad_id: str) -> str:
    """The campaign that an ad belongs to."""
    return _CAMPAIGN_OF[ad_id]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ads:
    """Who saw, clicked or bought which ad on which page; all equally likely, as in the benchmark."""

    name: ClassVar[str] = "ads"

    users: int = option(100, "different users", least=1, most=1_000_000)
    pages: int = option(100, "different pages", least=1, most=1_000_000)
    seed: int = option(0, "which records", least=0)

    def __post_init__(self) -> None:
        check_options(self.name, self)

    def values(self, first: int, times_ms: Sequence[int]) -> list[bytes]:
        sequences = np.arange(first, first + len(times_ms))
        people, pages, ads = _people(self.users), _pages(self.pages), _ads()
        ends = _ends()
        drawn = (
            below(self.users, self.seed, _USER, sequences).tolist(),
            below(self.pages, self.seed, _PAGE, sequences).tolist(),
            below(len(AD_IDS), self.seed, _AD, sequences).tolist(),
            below(len(ends), self.seed, _END, sequences).tolist(),
        )
        return [
            b'{"sequence": %d, "time_ms": %d%b%b%b%b'
            % (sequence, time_ms, people[user], pages[page], ads[ad], ends[end])
            for sequence, time_ms, user, page, ad, end in zip(sequences.tolist(), times_ms, *drawn, strict=True)
        ]


# The members that repeat are kept as text, so that a record is put together from five pieces.


@functools.lru_cache(maxsize=4)
def _people(count: int) -> list[bytes]:
    addresses = below(1 << 24, _NAMES, _USER, np.arange(count)).tolist()
    return [
        b', "user_id": "%b", "ip_address": "10.%d.%d.%d"' % (name.encode(), *address.to_bytes(3, "big"))
        for name, address in zip(_names(2, count), addresses, strict=True)
    ]


@functools.lru_cache(maxsize=4)
def _pages(count: int) -> list[bytes]:
    return [b', "page_id": "%b"' % name.encode() for name in _names(3, count)]


@functools.lru_cache(maxsize=1)
def _ads() -> list[bytes]:
    return [b', "ad_id": "%b"' % name.encode() for name in AD_IDS]


@functools.lru_cache(maxsize=1)
def _ends() -> list[bytes]:
    return [
        f', "ad_type": "{ad_type}", "event_type": "{event_type}"}}'.encode()
        for ad_type in AD_TYPES
        for event_type in EVENT_TYPES
    ]
