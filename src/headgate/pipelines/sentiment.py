"""Sentiment of tweets: is what people write positive, negative or neutral?

The application T2 of ELYSIUM (Lombardi, Aniello, Bonomi, Querzoni: "Elastic Symbiotic Scaling of Operators and
Resources in Stream Processing Systems"). Five operators connected by topics, each a function from raw records (the
columns of Spark's Kafka source) to the messages for the next topic (``value``, JSON); the last one gives rows:

    ``tokenize`` → ``preprocess`` → ``tag`` → ``extract_features`` → ``classify``

All are stateless. A message keeps the partition and offset of its tweet in the first topic, by which it can be told
from the copies that topics written at least once may hold. ``sentiment`` does the same work in one query.

A record is ``{"sequence": 7, "time_ms": …, "user": "…", "text": "…"}``; one that is not a JSON object or has no text
or time is dropped, so that it cannot stop the stream, and so is a message that is not what an operator expects.

Nothing is downloaded. Parts of speech come from the Brill tagger of the package ``textblob`` (lexicon, then contextual
rules), opinion words with their strength from the lexicon of ``vaderSentiment`` (Hutto and Gilbert 2014), and the
classifier is a linear support vector machine of ``scikit-learn``. It learns from the definitions of 2 300 word senses
that ship with ``textblob`` and were rated positive, negative or neutral by people: real text, but no tweets, so
``trained`` reports how it does on definitions of words that it has not seen. It learns once, on the driver, and
travels to the tasks as two small arrays.
"""

from __future__ import annotations

import functools
import gc
import html
import importlib.util
import math
import re
import time
import warnings
import xml.etree.ElementTree as ElementTree
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's users know

LABELS = ("negative", "neutral", "positive")
GROUPS = {"J": "adjective", "V": "verb", "N": "noun", "R": "adverb"}
"""Parts of speech that are told apart, by the first letter of the tag; everything else is ``other``."""
_KINDS = (*GROUPS.values(), "other")
FEATURES = (
    *(f"positive_{kind}" for kind in _KINDS),
    *(f"negative_{kind}" for kind in _KINDS),
    *("total", "strongest", "weakest", "last", "after_but", "positives", "negatives", "no_opinion"),
    "negations",
    *(f"share_{kind}" for kind in GROUPS.values()),
    "length",
)
"""What the numbers of a feature vector mean, in their order."""

_LAST_MS = 253_402_300_799_999
_RECORD = "sequence BIGINT, time_ms BIGINT, user STRING, text STRING"
_HEAD = ("origin_partition", "origin_offset", "sequence", "time_ms", "user")
_MESSAGE = "origin_partition INT, origin_offset BIGINT, sequence BIGINT, time_ms BIGINT, user STRING"
_STRINGS, _NUMBERS = "ARRAY<STRING>", "ARRAY<DOUBLE>"
_ARROW = {
    "STRING": pa.string(),
    "DOUBLE": pa.float64(),
    _STRINGS: pa.list_(pa.string()),
    _NUMBERS: pa.list_(pa.float64()),
}
_VERDICT = {"label": "STRING", "score": "DOUBLE"}


# The operators.


def tokenize(records: DataFrame) -> DataFrame:
    """Raw tweets → messages with ``tokens``: words, emoticons, mentions, hashtags, links, punctuation."""
    return _messages(_each(_tweets(records), tokens, takes=["text"], gives={"tokens": _STRINGS}))


def preprocess(messages: DataFrame) -> DataFrame:
    """``tokens`` → ``words``: without links and mentions, negations written out, stretched words shortened."""
    return _messages(_each(_read(messages, tokens=_STRINGS), words, takes=["tokens"], gives={"words": _STRINGS}))


def tag(messages: DataFrame) -> DataFrame:
    """``words`` → ``words`` and ``tags``, the part of speech of each in the letters of the Penn Treebank."""
    read = _read(messages, words=_STRINGS)
    return _messages(_each(read, tags, takes=["words"], keeps={"words": _STRINGS}, gives={"tags": _STRINGS}))


def extract_features(messages: DataFrame) -> DataFrame:
    """``words`` and ``tags`` → ``features``, the numbers that ``FEATURES`` names."""
    tagged = _read(messages, words=_STRINGS, tags=_STRINGS).where("size(words) = size(tags)")
    return _messages(_each(tagged, features, takes=["words", "tags"], gives={"features": _NUMBERS}))


def classify(messages: DataFrame, model: Model | None = None) -> DataFrame:
    """``features`` → rows of ``origin_partition, origin_offset, sequence, time, user, label, score``."""
    chosen = trained().model if model is None else model
    measured = _read(messages, features=_NUMBERS).where(f"size(features) = {len(FEATURES)}")
    return _rows(_each(measured, chosen.judge, takes=["features"], gives=_VERDICT))


def sentiment(records: DataFrame, model: Model | None = None) -> DataFrame:
    """Raw tweets → the rows of ``classify``, all in one query and one Python process a task."""
    chosen = trained().model if model is None else model
    return _rows(_each(_tweets(records), chosen.judge_text, takes=["text"], gives=_VERDICT))


def _tweets(records: DataFrame) -> DataFrame:
    tweet = F.from_json(F.col("value").cast("string"), _RECORD)
    origin = (F.col("partition").alias("origin_partition"), F.col("offset").alias("origin_offset"))
    tweets = records.select(*origin, tweet.alias("tweet")).select("origin_partition", "origin_offset", "tweet.*")
    return tweets.where(f"text IS NOT NULL AND time_ms BETWEEN 0 AND {_LAST_MS}")


def _read(messages: DataFrame, **lists: str) -> DataFrame:
    """Messages of the operator before, with these lists; what has none of them or no origin is left out."""
    schema = ", ".join((_MESSAGE, *(f"{name} {kind}" for name, kind in lists.items())))
    read = messages.select(F.from_json(F.col("value").cast("string"), schema).alias("message")).select("message.*")
    needed = ("origin_partition", "origin_offset", *lists)
    whole = read.where(" AND ".join(f"{name} IS NOT NULL" for name in needed))
    timed = whole.where(f"time_ms BETWEEN 0 AND {_LAST_MS}")
    return timed.select(*_HEAD, *(F.array_compact(name).alias(name) for name in lists))


def _each(
    frame: DataFrame,
    work: Callable[..., Any],
    *,
    takes: Sequence[str],
    gives: Mapping[str, str],
    keeps: Mapping[str, str] = MappingProxyType({}),
) -> DataFrame:
    """What ``work`` makes of the columns it takes, row by row, beside those that every message keeps.

    Work that gives several columns returns a tuple of their values.
    """
    passed = [*_HEAD, *keeps]

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _settle()
        for batch in batches:
            taken = zip(*(batch.column(name).to_pylist() for name in takes), strict=True)
            made = [work(*values) if len(gives) > 1 else (work(*values),) for values in taken]
            new = [
                pa.array([row[place] for row in made], type=_ARROW[kind]) for place, kind in enumerate(gives.values())
            ]
            yield pa.RecordBatch.from_arrays([*map(batch.column, passed), *new], names=[*passed, *gives])

    schema = ", ".join((_MESSAGE, *(f"{name} {kind}" for name, kind in {**keeps, **gives}.items())))
    return frame.select(*dict.fromkeys((*passed, *takes))).mapInArrow(run, schema)


def _messages(frame: DataFrame) -> DataFrame:
    return frame.select(F.to_json(F.struct("*")).alias("value"))


def _rows(judged: DataFrame) -> DataFrame:
    timed = judged.withColumn("time", F.timestamp_millis("time_ms"))
    return timed.select("origin_partition", "origin_offset", "sequence", "time", "user", *_VERDICT)


# The work on one text.

_TOKEN = re.compile(
    r"""https?://\S+ | www\.\S+ | @\w+ | \#\w+                # links, mentions, hashtags
    | <3 | [:;=8xX][-o*']?[)\](\[dDpP/\\|*3](?!\w)            # emoticons
    | [)\](\[][-o]?[:;=8](?!\w)                               # the same, mirrored
    | [^\W\d_]+(?:['’][^\W\d_]+)* | \d+(?:[.,:]\d+)*          # words, numbers
    | \.{2,} | [!?]+ | [^\w\s]                                # punctuation, anything else by itself""",
    re.VERBOSE,
)
_STRETCHED = re.compile(r"(\w)\1{2,}")
_CLITIC = re.compile(r"'(?:s|re|m|ll|ve|d)$")
_STEMS = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
_BARE = {"cant": "can", "wont": "will", "dont": "do", "didnt": "did", "doesnt": "does", "isnt": "is", "wasnt": "was"}
_NEGATIONS, _BOOSTERS, _DAMPERS = (
    frozenset(listed.split())
    for listed in (
        "not no never none nobody nothing neither nor cannot without hardly barely nowhere",
        (
            "absolutely completely deeply entirely especially exceptionally extremely fully highly hugely "
            "incredibly intensely more most particularly really remarkably so super thoroughly too totally truly "
            "unbelievably utterly very"
        ),
        "almost barely hardly kinda less little marginally partly scarcely slightly somewhat sorta",
    )
)
_REACH = 3
"""So many words before an opinion may negate or strengthen it."""
_STEP = 0.3
_SHOUT = 0.7
_NEGATED = -0.74
"""What a booster adds, what capitals add, and what a negation makes of a valence: the sizes that Hutto and Gilbert
(2014) found by asking people, rounded."""


def tokens(text: str) -> list[str]:
    """
    >>> tokens("@bob I can't wait!! :) #friday https://t.co/x1")
    ['@bob', 'I', "can't", 'wait', '!!', ':)', '#friday', 'https://t.co/x1']
    """
    return _TOKEN.findall(html.unescape(text))


def words(token_list: Sequence[str]) -> list[str]:
    """
    >>> words(["@bob", "I", "can't", "believe", "it's", "sooooo", "GOOD", "#win"])
    ['i', 'can', 'not', 'believe', 'it', 'so', 'GOOD', 'win']
    """
    kept: list[str] = []
    for token in token_list:
        if token.startswith(("http://", "https://", "www.")) or (token[:1] == "@" and len(token) > 1):
            continue
        word = token[1:] if token[:1] == "#" and len(token) > 1 else token
        kept += _plain(word.replace("’", "'")) if word[:1].isalpha() else [word]
    return kept


def _plain(word: str) -> list[str]:
    low = _shortened(word).lower()
    if low.endswith("n't") or low in _BARE:
        return [_BARE.get(low) or _STEMS.get(low[:-3], low[:-3]), "not"]
    if word.isupper() and len(word) > 1:
        return [_shortened(word)]
    return [_CLITIC.sub("", low)]


def _shortened(word: str) -> str:
    """``sooooo`` → ``so``, but ``gooood`` → ``good``: two letters where that is an opinion word, else one."""
    twice = _STRETCHED.sub(r"\1\1", word)
    return twice if twice == word or twice.lower() in _valences() else _STRETCHED.sub(r"\1", word)


def tags(word_list: Sequence[str]) -> list[str]:
    """
    >>> tags(["they", "will", "drink", "the", "cold", "water"])
    ['PRP', 'MD', 'VB', 'DT', 'JJ', 'NN']
    """
    parser = _parser()
    first = parser.find_tags([word.lower() for word in word_list])
    return [part for _, part in parser.lexicon.context.apply([list(pair) for pair in first])]


def features(word_list: Sequence[str], tag_list: Sequence[str]) -> list[float]:
    """Opinion by part of speech and as a whole, and the grammar of the text, as ``FEATURES`` lists them."""
    kinds = [GROUPS.get(part[:1], "other") for part in tag_list]
    low = [word.lower() for word in word_list]
    valences = _felt(word_list, low)
    positive, negative = dict.fromkeys(_KINDS, 0.0), dict.fromkeys(_KINDS, 0.0)
    for position, valence in valences:
        side = positive if valence > 0 else negative
        # An emoticon says how something is, as an adjective does; the tagger knows no part of speech for it.
        kind = kinds[position] if low[position][0].isalpha() else "adjective"
        side[kind] += abs(valence)
    felt = [valence for _, valence in valences]
    turn = len(low) - 1 - low[::-1].index("but") if "but" in low else -1
    length = max(len(low), 1)
    return [
        *(math.sqrt(positive[kind]) for kind in _KINDS),
        *(math.sqrt(negative[kind]) for kind in _KINDS),
        _squashed(math.fsum(felt)),
        max(felt, default=0.0),
        min(felt, default=0.0),
        felt[-1] if felt else 0.0,
        _squashed(math.fsum(valence for position, valence in valences if position > turn)),
        float(sum(valence > 0 for valence in felt)),
        float(sum(valence < 0 for valence in felt)),
        float(not felt),
        float(sum(word in _NEGATIONS for word in low)),
        *(kinds.count(kind) / length for kind in GROUPS.values()),
        math.log(length),
    ]


def _felt(word_list: Sequence[str], low: Sequence[str]) -> list[tuple[int, float]]:
    """Positions of the opinion words, and how good or bad each is where it stands."""
    lexicon = _valences()
    shouting = not all(word.isupper() for word in word_list)
    felt = []
    for position, (word, plain) in enumerate(zip(word_list, low, strict=True)):
        valence = lexicon.get(plain) or lexicon.get(word, 0.0)
        if not valence or plain in _NEGATIONS:
            continue
        before = low[max(0, position - _REACH) : position]
        strength = abs(valence) + _STEP * sum((one in _BOOSTERS) - (one in _DAMPERS) for one in before)
        if shouting and word.isupper() and len(word) > 1 and word.isalpha():
            strength += _SHOUT
        turned = _NEGATED if any(one in _NEGATIONS for one in before) else 1.0
        felt.append((position, math.copysign(max(strength, 0.0), valence) * turned))
    return felt


def _squashed(total: float) -> float:
    """Between -1 and 1."""
    return total / math.sqrt(total * total + 15.0)


def vector(text: str) -> list[float]:
    """All steps before the classifier."""
    word_list = words(tokens(text))
    return features(word_list, tags(word_list))


# What comes inside packages, read once per process.


@functools.cache
def _valences() -> dict[str, float]:
    lines = (_package("vaderSentiment") / "vader_lexicon.txt").read_text("utf-8").splitlines()
    return {word: float(valence) for word, valence, *_ in (line.split("\t") for line in lines)}


@functools.cache
def _parser() -> Any:
    # Imported here because it takes two seconds and 100 MB, which only the tagger's processes shall pay.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it reads its files without closing them
        from textblob.en import parser

        parser.find_tags(["warm"])
        parser.lexicon.context.apply([["warm", "JJ"]])
    gc.freeze()  # see _settle
    return parser


@functools.cache
def _settle() -> None:
    """Spare what is loaded the search for garbage, which PySpark's daemon makes after every task."""
    gc.freeze()


def _package(name: str) -> Path:
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"{name} is not installed; run pip install textblob vaderSentiment scikit-learn")
    return Path(next(iter(found.submodule_search_locations)))


# Learning.


@dataclass(frozen=True, slots=True)
class Model:
    """A linear support vector machine, one against the rest: the label with the greatest score wins."""

    weights: NDArray[np.float64]
    """One row for each label, one column for each feature."""
    bias: NDArray[np.float64]

    def judge(self, measured: Sequence[float]) -> tuple[str, float]:
        """Label and score of a feature vector."""
        scores = self.weights @ np.asarray(measured) + self.bias
        return LABELS[scores.argmax()], float(scores.max())

    def judge_text(self, text: str) -> tuple[str, float]:
        """Label and score of a text."""
        return self.judge(vector(text))

    def labels(self, texts: Sequence[str]) -> list[str]:
        """What it makes of these texts."""
        return [label for label, _ in map(self.judge_text, texts)]


@dataclass(frozen=True, slots=True)
class Trained:
    """A model, and how good it is on text that it has not seen."""

    model: Model
    accuracy: float
    """Share of the held-out texts that got the right label."""
    majority: float
    """What always naming the most frequent label would reach."""
    texts: int
    held_out: int
    seconds: float


def rated_definitions() -> list[tuple[str, str, str]]:
    """``(word, definition, label)`` of every word sense in textblob's lexicon; a definition comes once."""
    ratings: dict[str, tuple[str, list[float]]] = {}
    for entry in ElementTree.parse(_package("textblob") / "en" / "en-sentiment.xml").getroot():
        if entry.get("sense"):
            _, known = ratings.setdefault(str(entry.get("sense")), (str(entry.get("form")), []))
            known.append(float(str(entry.get("polarity"))))
    return [(word, text, _rated(math.fsum(known) / len(known))) for text, (word, known) in ratings.items()]


def _rated(polarity: float) -> str:
    return "positive" if polarity > 0.1 else "negative" if polarity < -0.1 else "neutral"


def train(texts: Sequence[str], labels: Sequence[str]) -> Model:
    """A linear SVM on the features of these texts, all labels weighing the same; no randomness in it."""
    from sklearn.svm import LinearSVC

    matrix = np.array([vector(text) for text in texts])
    mean, spread = matrix.mean(axis=0), matrix.std(axis=0)
    spread[spread == 0.0] = 1.0
    machine = LinearSVC(C=0.1, class_weight="balanced", dual=False)
    machine.fit((matrix - mean) / spread, [LABELS.index(label) for label in labels])
    # Scaling is folded into the weights, so that tasks need not know of it.
    weights = machine.coef_ / spread
    return Model(weights=weights, bias=machine.intercept_ - weights @ mean)


@functools.cache
def trained() -> Trained:
    """The model that operators use when they are given none. The definitions of every fifth word are held out."""
    begin = time.perf_counter()
    rated = rated_definitions()
    seen = [(text, label) for word, text, label in rated if zlib.crc32(word.encode()) % 5]
    unseen = [(text, label) for word, text, label in rated if not zlib.crc32(word.encode()) % 5]
    model = train([text for text, _ in seen], [label for _, label in seen])
    seconds = time.perf_counter() - begin
    truth = [label for _, label in unseen]
    return Trained(
        model=model,
        accuracy=accuracy(model, [text for text, _ in unseen], truth),
        majority=max(truth.count(label) for label in LABELS) / len(truth),
        texts=len(seen),
        held_out=len(unseen),
        seconds=seconds,
    )


def accuracy(model: Model, texts: Sequence[str], labels: Sequence[str]) -> float:
    """Share of the texts that get the right label."""
    return sum(map(str.__eq__, model.labels(texts), labels)) / len(labels)
