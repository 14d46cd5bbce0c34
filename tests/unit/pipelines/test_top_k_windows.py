"""The rules of rolling top-k words, without Spark: windows, ties and stop words."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from headgate.pipelines import top_k
from headgate.workloads.records import words

sys.path.insert(0, str(Path(__file__).parents[2] / "pipelines"))

from reference_top_k import SLIDING_WINDOW_COUNTER, WindowCase, ranking, sliding_counts, top_words

SHARED_VECTORS = Path(__file__).parents[4] / "shared" / "vectors" / "vectors.json"


def published_cases() -> list[WindowCase]:
    """Those of the collection of vectors, where it lies beside the project."""
    if not SHARED_VECTORS.is_file():
        return []
    rows = json.loads(SHARED_VECTORS.read_text())["sliding_window_counter"]["rows_[slots,increments,expected]"]
    return [(slots, tuple(increments), tuple(expected)) for slots, increments, expected in rows]


def line(time_s: float, text: str) -> bytes:
    return json.dumps({"sequence": 0, "time_ms": round(time_s * 1000), "text": text}).encode()


@pytest.mark.parametrize("case", [*SLIDING_WINDOW_COUNTER, *published_cases()])
def test_a_sliding_window_counts_as_storms_does(case: WindowCase) -> None:
    slots, increments, expected = case
    assert tuple(sliding_counts(slots, increments)) == expected
    assert case in SLIDING_WINDOW_COUNTER, "a published case that the streaming counter is not tested with"


def test_a_word_is_in_the_three_windows_of_nine_seconds_that_end_after_it() -> None:
    assert top_words([line(600.0, "river"), line(602.999, "River"), line(603.0, "the river")]) == [
        (603_000, 1, "river", 2),
        (606_000, 1, "river", 3),
        (609_000, 1, "river", 3),
        (612_000, 1, "river", 1),
    ]


def test_windows_without_words_have_no_rows() -> None:
    ends = {end_ms // 1000 for end_ms, *_ in top_words([line(0, "dawn"), line(30, "of the of"), line(60, "dusk")])}
    assert ends == {3, 6, 9, 63, 66, 69}


def test_equal_counts_are_ranked_by_the_alphabet() -> None:
    counts = {"b": 2, "f": 1, "a": 2, "e": 1, "c": 7, "d": 1, "g": 1}
    assert ranking(counts) == [("c", 7), ("a", 2), ("b", 2), ("d", 1), ("e", 1)]


def test_filter_and_generated_records_have_the_same_stop_words() -> None:
    assert top_k.STOP_WORDS == words.STOP_WORDS


def test_window_interval_and_ranks_are_those_of_the_paper() -> None:
    assert (top_k.WINDOW_S, top_k.EMIT_S, top_k.TOP) == (9.0, 3.0, 5)
