"""Lines of English-looking words, whose frequencies follow Zipf's law in Mandelbrot's form.

The word of rank *r* has a probability in proportion to 1/(r + q). The first ranks are stop words, as in
real text. The law's offset *q* and the lengths of lines are set so that a line has 17.86 words on average
and 0.68 of all words are no stop words: the selectivities that ELYSIUM (Lombardi et al. 2018) measured for
its word generator and its stop-word filter.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headgate.core.options import check_options, option
from headgate.workloads.records.mixing import Numbers, draws, shares

_STOPPED = (
    "the of and to a in is it that was for on you with as i he be at by this are but from they have had not or we an "
    "his"
)
STOP_WORDS = tuple(_STOPPED.split())
"""The most frequent words of the vocabulary, the most frequent first; no other word of it is one."""

_STEMS = (
    "account act age air animal arm art bank bar base beach bear bed bell bird block blood board boat bond bone book "
    "border bottle box brain branch bread bridge brother brush build burn button cake call camera camp car card "
    "cash cat cause chain chair chance change check cheese child church city claim class clean clear client clock "
    "cloud coach coast coat coffee color cook copy corner count court cover credit crew crop cross crowd cup "
    "current dance dark daughter day deal debt deep desk doctor dog door doubt dozen draft drama dream dress drink "
    "drop dust ear earth east edge editor effect egg end engine event exam eye face fact fair faith fall farm father "
    "fear field fight film finger fire fish flag flight floor flower food foot force forest form friend front "
    "fruit fuel garden gas gate ghost gift girl glass goal gold golf grain grass green ground group guard guest guide "
    "hair hall hand harbor hat head heart heat hill hint hole home hook horse hotel hour house ice idea inch iron "
    "island jacket job judge juice jump key king kitchen knee lab lake lamp land leader leaf lemon letter level light "
    "line list load lock log loss luck lunch mail map mark market master match meal meat"
)
_ENDINGS = "s ed ing er ers ly less ful ness y ish like ward wise able man men work room time land side line most"

_OFFSET = 2.827
_SHORTEST, _SPREAD = 8, 20.71006
"""A line has from 8 to 28 words, all lengths but the longest equally likely: 17.86 on average."""
_MOST_WORDS = 28
_TABLE_BITS = 18
_PER_DRAW = 64 // _TABLE_BITS
_LENGTH_STREAM, _WORD_STREAM = 1, 2


def _vocabulary() -> tuple[str, ...]:
    return STOP_WORDS + tuple(f"{stem}{ending}" for ending in ("", *_ENDINGS.split()) for stem in _STEMS.split())


VOCABULARY = _vocabulary()
"""Every word, by rank."""


def word_shares() -> NDArray[np.float64]:
    """How often each word of the vocabulary comes, as shares of 1."""
    weights = 1.0 / (np.arange(1, len(VOCABULARY) + 1) + _OFFSET)
    chances: NDArray[np.float64] = weights / weights.sum()
    return chances


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """``{"sequence": 7, "time_ms": …, "text": "the bridge of market …"}``"""

    name: ClassVar[str] = "words"

    seed: int = option(0, "which records", least=0)

    def __post_init__(self) -> None:
        check_options(self.name, self)

    def values(self, first: int, times_ms: Sequence[int]) -> list[bytes]:
        sequences = np.arange(first, first + len(times_ms))
        lengths = (_SHORTEST + _SPREAD * shares(self.seed, _LENGTH_STREAM, sequences)).astype(np.int64).tolist()
        lines = _spelled()[self._ranks(sequences)].tolist()
        return [
            b'{"sequence": %d, "time_ms": %d, "text": "%b"}' % (sequence, time_ms, b" ".join(line[:length]))
            for sequence, time_ms, length, line in zip(sequences.tolist(), times_ms, lengths, lines, strict=True)
        ]

    def _ranks(self, sequences: Numbers) -> NDArray[np.uint16]:
        """As many words for each line as the longest one has."""
        per_line = -(-_MOST_WORDS // _PER_DRAW)
        cells = (sequences[:, np.newaxis] * per_line + np.arange(per_line)).reshape(-1)
        drawn = draws(self.seed, _WORD_STREAM, cells)[:, np.newaxis]
        spots = (drawn >> (np.arange(_PER_DRAW, dtype=np.uint64) * np.uint64(_TABLE_BITS))) & np.uint64(
            (1 << _TABLE_BITS) - 1
        )
        ranks: NDArray[np.uint16] = _table()[spots].reshape(len(sequences), per_line * _PER_DRAW)
        return ranks


@functools.lru_cache(maxsize=1)
def _table() -> NDArray[np.uint16]:
    """Ranks, each as often as it is likely: drawing a word is one look into it."""
    ends = np.cumsum(word_shares())
    spots = (np.arange(1 << _TABLE_BITS) + 0.5) / (1 << _TABLE_BITS)
    return np.minimum(np.searchsorted(ends, spots), len(VOCABULARY) - 1).astype(np.uint16)


@functools.lru_cache(maxsize=1)
def _spelled() -> NDArray[np.object_]:
    return np.array([word.encode() for word in VOCABULARY], dtype=object)
