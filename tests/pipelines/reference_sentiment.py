"""What the sentiment pipeline must find, by scikit-learn alone: no Spark, no messages, no arrays of our own."""

from __future__ import annotations

import functools
import json
import zlib
from collections.abc import Iterable
from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from headgate.pipelines.sentiment import rated_definitions, vector


@functools.cache
def machine() -> Any:
    """Trained on the definitions of four words out of five."""
    seen = [(text, label) for word, text, label in rated_definitions() if zlib.crc32(word.encode()) % 5 != 0]
    made = make_pipeline(StandardScaler(), LinearSVC(C=0.1, class_weight="balanced", dual=False))
    return made.fit([vector(text) for text, _ in seen], [label for _, label in seen])


def verdicts(values: Iterable[bytes | None]) -> dict[int, tuple[str, str, float]]:
    """User, label and score by sequence number; what is no tweet is left out."""
    tweets = [tweet for tweet in map(_tweet, values) if tweet is not None]
    scores = machine().decision_function([vector(tweet["text"]) for tweet in tweets])
    return {
        tweet["sequence"]: (tweet["user"], machine().classes_[row.argmax()], row.max())
        for tweet, row in zip(tweets, scores, strict=True)
    }


def _tweet(value: bytes | None) -> dict[str, Any] | None:
    try:
        tweet = json.loads(value or b"")
    except ValueError:
        return None
    whole = isinstance(tweet, dict) and {"text", "time_ms"} <= tweet.keys()
    return tweet if whole else None
