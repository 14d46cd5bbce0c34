"""Short messages in the manner of tweets, whose opinion is known because it was drawn before the words.

They have what makes real ones hard: opinions that are negated ("not bad at all"), strengthened ("sooo good"), turned
by a *but*, or said without any opinion word ("would buy it again"); and mentions, hashtags, emoticons and links around
them. The words were chosen by hand, not out of a lexicon: a classifier's lexicon may know them or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headgate.core.options import check_options, option
from headgate.errors import UserMistake
from headgate.workloads.records.mixing import Numbers, below, shares

LABELS = ("negative", "neutral", "positive")

_GOOD, _BAD, _LIKE, _DISLIKE, _THINGS, _PLACES = (
    listed.split()
    for listed in (
        (
            "good great lovely brilliant excellent fantastic beautiful superb wonderful delightful gorgeous perfect "
            "charming impressive stunning splendid smooth tasty comfy neat awesome sweet fun reliable flawless"
        ),
        (
            "bad awful terrible horrible dreadful ugly broken useless boring pathetic disappointing slow painful nasty "
            "lousy ridiculous annoying rubbish overpriced clumsy sad dirty noisy shabby unbearable"
        ),
        "love like enjoy adore admire appreciate recommend",
        "hate dislike despise regret fear loathe mistrust",
        (
            "phone match concert train coffee movie update keyboard hotel song burger bus game laptop weather book "
            "show airport camera bike restaurant speech app museum garden lecture"
        ),
        "station harbour office stadium library market square campus beach theatre",
    )
)
_WHEN = ["today", "tonight", "this morning", "on friday", "right now", "again", "this week", "after lunch"]
_BOOSTERS = ["", "", "", "really ", "so ", "sooo ", "very ", "absolutely ", "totally ", "REALLY ", "pretty "]
_GLAD = ["", "", "", "", " :)", " :D", " ;)", " <3", "!", "!!"]
_SAD = ["", "", "", "", " :(", " :-(", " :/", "...", "!", "!!"]
_CALM = ["", "", "", "", "", ".", ".", " ..."]

_OPINIONS = (
    "the {thing} is {booster}{mine}",
    "what a {mine} {thing} {when}",
    "I {feel} the {thing} at the {place}",
    "this {thing} was not {other} at all",
    "the {thing} {when} isn't {other}, it's {booster}{mine}",
    "the {place} is {other} but the {thing} is {booster}{mine}",
    "{mine} {thing}, {booster}{mine2}",
    "{place} {when}: {thing} looks {booster}{mine}",
    "{implied}",
)
_IMPLIED = {
    "positive": (
        "would buy that {thing} again",
        "can't stop smiling since the {thing}",
        "10/10 for the {thing} {when}",
    ),
    "negative": ("want my money back for that {thing}", "never again, {thing}", "0/10 for the {thing} {when}"),
}
_FACTS = (
    "the {thing} starts at {number} {when}",
    "does anyone know when the {thing} opens?",
    "{number} people at the {place} {when}",
    "on my way to the {place} {when}",
    "a new {thing} at the {place}",
    "reading about the {thing} {when}",
    "they moved the {thing} to the {place}",
    "the {thing} is on page {number}",
)

_LABEL, _USER, _FORM, _FIRST, _SECOND, _THING, _PLACE, _TIME, _BOOSTER, _SIGN, _EXTRA, _NUMBER = range(1, 13)
_USERS = 10_000
_EXTRAS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Tweets:
    """``{"sequence": 7, "time_ms": …, "user": "user0042", "text": "the match is sooo good :)"}``"""

    name: ClassVar[str] = "tweets"

    positive: float = option(0.4, "share of positive tweets", least=0, most=1)
    negative: float = option(0.3, "share of negative tweets; the rest is neutral", least=0, most=1)
    seed: int = option(0, "which records", least=0)

    def __post_init__(self) -> None:
        check_options(self.name, self)
        if self.positive + self.negative > 1:
            raise UserMistake(
                f"tweets: positive={self.positive:g} and negative={self.negative:g} are more than all tweets; "
                "give shares that add up to 1 or less"
            )

    def values(self, first: int, times_ms: Sequence[int]) -> list[bytes]:
        sequences = np.arange(first, first + len(times_ms))
        users = below(_USERS, self.seed, _USER, sequences).tolist()
        # No text has a quotation mark, a backslash or a letter beyond ASCII: JSON needs no escapes.
        return [
            f'{{"sequence": {sequence}, "time_ms": {time_ms}, "user": "user{user:04d}", "text": "{text}"}}'.encode()
            for sequence, time_ms, user, text in zip(
                sequences.tolist(), times_ms, users, self.texts(first, len(times_ms)), strict=True
            )
        ]

    def labels(self, first: int, count: int) -> list[str]:
        """What each of these tweets was meant to be: one of ``LABELS``."""
        drawn = shares(self.seed, _LABEL, np.arange(first, first + count))
        return [self._label(share) for share in drawn.tolist()]

    def texts(self, first: int, count: int) -> list[str]:
        """The wording of these tweets alone."""
        sequences = np.arange(first, first + count)
        drawn = [self._draw(stream, sequences).tolist() for stream in range(_FORM, _NUMBER + 1)]
        return [_worded(label, *each) for label, *each in zip(self.labels(first, count), *drawn, strict=True)]

    def _label(self, share: float) -> str:
        if share < self.positive:
            return "positive"
        return "negative" if share < self.positive + self.negative else "neutral"

    def _draw(self, stream: int, sequences: Numbers) -> NDArray[np.int64]:
        # A multiple of every list's length would be needed to be exactly fair; so many is fair to a millionth.
        return below(1 << 31, self.seed, stream, sequences)


def _worded(
    label: str,
    form: int,
    first: int,
    second: int,
    thing: int,
    place: int,
    when: int,
    booster: int,
    sign: int,
    extra: int,
    number: int,
) -> str:
    words = {
        "thing": _THINGS[thing % len(_THINGS)],
        "place": _PLACES[place % len(_PLACES)],
        "when": _WHEN[when % len(_WHEN)],
        "number": str(2 + number % 48),
    }
    if label == "neutral":
        text = _FACTS[form % len(_FACTS)].format_map(words) + _CALM[sign % len(_CALM)]
    else:
        glad = label == "positive"
        mine, other = (_GOOD, _BAD) if glad else (_BAD, _GOOD)
        verbs, signs, implied = (_LIKE if glad else _DISLIKE), (_GLAD if glad else _SAD), _IMPLIED[label]
        words |= {
            "mine": mine[first % len(mine)],
            "mine2": mine[second % len(mine)],
            "other": other[second % len(other)],
            "feel": verbs[first % len(verbs)],
            "booster": _BOOSTERS[booster % len(_BOOSTERS)],
            "implied": implied[first % len(implied)].format_map(words),
        }
        text = _OPINIONS[form % len(_OPINIONS)].format_map(words) + signs[sign % len(signs)]
    return _dressed(text, extra % _EXTRAS, words["thing"], number)


def _dressed(text: str, extra: int, thing: str, number: int) -> str:
    """With a mention, a hashtag or a link around it, or as it is."""
    if extra < 2:
        return f"@user{number % _USERS:04d} {text}"
    if extra < 4:
        return f"{text} #{thing}"
    if extra < 5:
        return f"{text} https://example.org/{number:x}"
    return f"RT @user{number % _USERS:04d}: {text}" if extra < 6 else text
