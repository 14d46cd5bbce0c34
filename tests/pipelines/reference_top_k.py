"""Rolling top-k words in plain Python, all records at once: what the chain of operators must arrive at."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from headgate.workloads.records.words import STOP_WORDS

Row = tuple[int, int, str, int]
"""End of the window in milliseconds, rank, word, count."""

WindowCase = tuple[int, tuple[int, ...], tuple[int, ...]]
"""Slots of a window, what comes in each slot, and the count after it."""

SLIDING_WINDOW_COUNTER: tuple[WindowCase, ...] = (
    (2, (3, 2, 0, 0, 1, 0, 0, 0), (3, 5, 2, 0, 1, 1, 0, 0)),
    (3, (3, 2, 0, 0, 1, 0, 0, 0), (3, 5, 5, 2, 1, 1, 1, 0)),
    (4, (3, 2, 0, 0, 1, 0, 0, 0), (3, 5, 5, 5, 3, 1, 1, 1)),
)
"""The cases of SlidingWindowCounterTest in Apache Storm's storm-starter (3f5f9112, Apache-2.0)."""


def sliding_counts(slots: int, increments: Sequence[int]) -> list[int]:
    """After each slot, what came in the last ``slots`` of them."""
    return [sum(increments[max(0, last - slots + 1) : last + 1]) for last in range(len(increments))]


def word_counts(records: Iterable[bytes], *, window_s: int = 9, emit_s: int = 3) -> dict[int, Counter[str]]:
    """How often each word that is no stop word is in each window, by the window's end in milliseconds."""
    per_slot: dict[int, Counter[str]] = {}
    for record in records:
        line = json.loads(record)
        words = [word for word in line["text"].lower().split() if word not in STOP_WORDS]
        per_slot.setdefault(line["time_ms"] // (emit_s * 1000), Counter()).update(words)
    first, slots = min(per_slot), window_s // emit_s
    span = range(first, max(per_slot) + slots)
    vocabulary = {word for counter in per_slot.values() for word in counter}
    counted: dict[int, Counter[str]] = {(slot + 1) * emit_s * 1000: Counter() for slot in span}
    for word in vocabulary:
        increments = [per_slot.get(slot, Counter())[word] for slot in span]
        for slot, count in zip(span, sliding_counts(slots, increments), strict=True):
            if count:
                counted[(slot + 1) * emit_s * 1000][word] = count
    return counted


def ranking(counts: Mapping[str, int], top: int = 5) -> list[tuple[str, int]]:
    """The most frequent words, equal ones by the alphabet."""
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:top]


def top_words(records: Iterable[bytes], *, window_s: int = 9, emit_s: int = 3, top: int = 5) -> list[Row]:
    """The rows that the final ranker must give, in the order of windows and ranks."""
    counted = word_counts(records, window_s=window_s, emit_s=emit_s)
    return [
        (end_ms, rank, word, count)
        for end_ms in sorted(counted)
        for rank, (word, count) in enumerate(ranking(counted[end_ms], top), 1)
    ]
