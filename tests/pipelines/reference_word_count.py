"""Word count in plain Python: one loop over the letters."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator


def words_of(text: str) -> Iterator[str]:
    """Runs of letters, lower-cased.

    >>> list(words_of("To be, or NOT_2 be?"))
    ['to', 'be', 'or', 'not', 'be']
    """
    run = ""
    for letter in text.lower() + " ":
        if unicodedata.category(letter).startswith("L"):
            run += letter
        elif run:
            yield run
            run = ""


def word_counts(values: Iterable[bytes]) -> dict[str, dict[str, int]]:
    """Count and sum of sequence numbers of each word; ``records`` is the count once more."""
    counts: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for value in values:
        record = json.loads(value)
        for word in words_of(record["text"]):
            counts[word] += 1
            sums[word] += record["sequence"]
    return {word: {"count": counts[word], "records": counts[word], "sequence_sum": sums[word]} for word in counts}
