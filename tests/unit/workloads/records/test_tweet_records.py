"""Tweets: what they look like, and that they can be made again anywhere."""

from __future__ import annotations

import json

import pytest

from headgate.errors import UserMistake
from headgate.workloads.records.tweets import LABELS, Tweets

TIMES = list(range(1_700_000_000_000, 1_700_000_002_000))


def test_a_tweet_says_who_when_and_what() -> None:
    tweet = json.loads(Tweets().values(7, TIMES[:1])[0])
    assert list(tweet) == ["sequence", "time_ms", "user", "text"]
    assert (tweet["sequence"], tweet["time_ms"]) == (7, TIMES[0])
    assert tweet["user"].startswith("user")


def test_a_tweet_depends_on_seed_and_sequence_alone() -> None:
    whole = Tweets(seed=4).values(0, TIMES)
    assert Tweets(seed=4).values(600, TIMES[600:700]) == whole[600:700]
    assert Tweets(seed=4).labels(600, 100) == Tweets(seed=4).labels(0, 2000)[600:700]
    assert Tweets(seed=5).values(0, TIMES) != whole


def test_every_tweet_is_valid_json_and_of_a_tweets_length() -> None:
    texts = [json.loads(value)["text"] for value in Tweets().values(0, TIMES)]
    assert texts == Tweets().texts(0, len(TIMES))
    assert all(5 < len(text) <= 140 for text in texts)
    assert not any("{" in text for text in texts)
    assert len(set(texts)) > 1900


def test_labels_come_in_the_shares_asked_for() -> None:
    labels = Tweets(positive=0.5, negative=0.2).labels(0, 20_000)
    shares = {label: labels.count(label) / len(labels) for label in LABELS}
    assert shares == pytest.approx({"negative": 0.2, "neutral": 0.3, "positive": 0.5}, abs=0.02)
    assert set(Tweets(positive=0, negative=0).labels(0, 50)) == {"neutral"}


@pytest.mark.parametrize("sign", ["@user", "#", "https://", ":)", ":(", "isn't", "not ", " but ", "sooo "])
def test_tweets_have_what_makes_real_ones_hard(sign: str) -> None:
    assert sum(sign in text for text in Tweets().texts(0, 2000)) > 10


def test_shares_beyond_all_tweets_are_refused() -> None:
    with pytest.raises(UserMistake, match="more than all tweets"):
        Tweets(positive=0.7, negative=0.4)
