"""Words: their law, their stop words, and the lengths of lines."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from headgate.workloads.records.words import STOP_WORDS, VOCABULARY, Words, word_shares

LINES = 50_000


@pytest.fixture(scope="module")
def lines() -> list[list[str]]:
    values = Words(seed=5).values(0, [1_800_000_000_000] * LINES)
    return [json.loads(value)["text"].split(" ") for value in values]


def test_the_vocabulary_has_thousands_of_different_words_and_stop_words_lead_it() -> None:
    assert len(VOCABULARY) > 5000
    assert len(set(VOCABULARY)) == len(VOCABULARY)
    assert VOCABULARY[: len(STOP_WORDS)] == STOP_WORDS
    assert all(word.isascii() and word.islower() for word in VOCABULARY)


def test_a_line_has_17_86_words_on_average(lines: list[list[str]]) -> None:
    lengths = np.array([len(line) for line in lines])
    assert lengths.mean() == pytest.approx(17.86, abs=4 * lengths.std() / np.sqrt(LINES))
    assert (lengths.min(), lengths.max()) == (8, 28)


def test_68_of_100_words_are_no_stop_words(lines: list[list[str]]) -> None:
    stops = set(STOP_WORDS)
    kept = [word not in stops for line in lines for word in line]
    assert np.mean(kept) == pytest.approx(0.68, abs=0.003)


def test_frequencies_follow_the_law(lines: list[list[str]]) -> None:
    counts = Counter(word for line in lines for word in line)
    total = sum(counts.values())
    shares = word_shares()
    for rank in (1, 2, 5, 20, 100, 500):
        expected = shares[rank - 1] * total
        assert counts[VOCABULARY[rank - 1]] == pytest.approx(expected, abs=5 * np.sqrt(expected))
    assert len(counts) > 0.99 * len(VOCABULARY)
    # On logarithmic scales the tail is a line of slope -1.
    ranks = np.arange(100, 2000)
    frequencies = np.array([counts[VOCABULARY[rank - 1]] for rank in ranks])
    slope = np.polyfit(np.log(ranks + 2.827), np.log(frequencies), 1)[0]
    assert slope == pytest.approx(-1.0, abs=0.05)
