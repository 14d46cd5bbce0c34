"""Durations and numbers as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.core.units import format_duration, parse_duration_s, parse_number
from headgate.errors import UserMistake


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("1.5h", 5400), ("1h30m", 5400), ("250ms", 0.25), ("2d", 172800), ("1 h 30 min", 5400)],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "-5s", "5x", "1h30", "nan", "1e999s", "5s5"])
def test_other_texts_are_refused_in_a_sentence_that_shows_how(text: str) -> None:
    with pytest.raises(UserMistake, match="duration"):
        parse_duration_s(text)


@given(st.text())
def test_any_text_is_a_duration_or_a_users_mistake(text: str) -> None:
    try:
        assert parse_duration_s(text) >= 0
    except UserMistake:
        pass


@given(st.integers(min_value=0, max_value=10**7))
def test_a_formatted_duration_reads_back(seconds: int) -> None:
    assert parse_duration_s(format_duration(seconds)) == seconds


@pytest.mark.parametrize(("text", "number"), [("1200", 1200), ("1.2k", 1200), ("3M", 3e6), ("-2", -2), ("1e3", 1000)])
def test_numbers_are_read(text: str, number: float) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize("text", ["", "x", "1kk", "nan", "inf", "1e999"])
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    with pytest.raises(UserMistake, match="number"):
        parse_number(text)
