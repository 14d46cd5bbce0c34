"""Keys: none, uniform, Zipf."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.errors import UserMistake
from headgate.workloads.records import key_bytes, parse_keys
from headgate.workloads.records.mixing import draws, normals, shares

SEQUENCES = np.arange(200_000)


def counts(text: str) -> np.ndarray:
    numbers = parse_keys(text, seed=3).numbers(SEQUENCES)
    assert numbers is not None
    return np.bincount(numbers)


def test_no_keys_are_no_keys() -> None:
    assert parse_keys("none").numbers(SEQUENCES) is None


def test_uniform_keys_are_equally_frequent() -> None:
    seen = counts("uniform:keys=100")
    assert len(seen) == 100
    assert np.allclose(seen, 2000, atol=6 * np.sqrt(2000))


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_the_frequency_of_zipf_keys_falls_with_a_power_of_their_rank(exponent: float) -> None:
    seen = counts(f"zipf:keys=50,exponent={exponent}")
    expected = np.arange(1, 51) ** -exponent
    expected *= len(SEQUENCES) / expected.sum()
    assert np.all(np.abs(seen - expected[: len(seen)]) < 6 * np.sqrt(expected[: len(seen)]) + 1)


def test_keys_follow_from_seed_and_sequence_alone() -> None:
    keys = parse_keys("zipf", seed=3)
    whole = keys.numbers(SEQUENCES[:1000])
    assert whole is not None
    assert np.array_equal(keys.numbers(SEQUENCES[400:1000]), whole[400:])
    assert not np.array_equal(parse_keys("zipf", seed=4).numbers(SEQUENCES[:1000]), whole)
    assert len(set(key_bytes(whole))) == len(set(whole.tolist()))


@pytest.mark.parametrize(
    ("text", "words"), [("zip", "did you mean 'zipf'"), ("uniform:keys=0", "too small"), ("zipf:exponent=-1", "small")]
)
def test_wrong_keys_are_refused_with_a_sentence(text: str, words: str) -> None:
    with pytest.raises(UserMistake, match=words):
        parse_keys(text)


def test_draws_of_different_seeds_and_streams_are_unrelated() -> None:
    several = [shares(seed, stream, SEQUENCES) for seed, stream in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 7))]
    assert np.abs(np.corrcoef(several) - np.eye(5)).max() < 0.02
    assert len(np.unique(draws(0, 0, SEQUENCES))) == len(SEQUENCES)
    drawn = normals(1, 4, SEQUENCES)
    assert abs(drawn.mean()) < 0.02
    assert drawn.std() == pytest.approx(1.0, abs=0.01)
