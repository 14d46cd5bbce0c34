"""What a workload is made of: a shape gives a rate for every moment.

One rule for all units: **every height of a shape is a share of its** ``peak``, and ``peak`` is in
records per second (1000 unless given). ``sine:low=0.1`` therefore swings between 100 and 1000
records/s, ``sine:low=0.1,peak=5k`` between 500 and 5000. The one exception says so in its name:
``constant:rate=5000``. Asking for a ``peak`` of the whole workload rescales what comes out, so
that shapes can be written without thinking of any absolute rate.

Shapes are functions of time without an end: a longer run sees more of a sine and the last level of
a stair. ``natural_s`` is how long a shape takes to show itself, and the length of a workload for
which no duration is asked.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

DEFAULT_PEAK = 1000.0
MOST_RATE = 1e9
"""Records per second beyond which a workload is a slip of the pen; keeps all sums in 64 bits."""

MOST_HEIGHT = 1e6
SHORTEST_S = 1e-3
LONGEST_OPTION_S = 1e9
"""Limits of options that only keep arithmetic finite; no sensible shape comes near them."""

PEAK_HELP = "records/s that a height of 1 means"
LOW_HELP = "lowest rate, as a share of peak"

Series = NDArray[np.float64]


class Shape(Protocol):
    """A rate for every moment; frozen, and its fields are its options."""

    name: ClassVar[str]

    @property
    def natural_s(self) -> float | None:
        """Time in which it shows all of itself; ``None`` if any length is as good."""
        ...

    def rates(self, times_s: Series) -> Series:
        """Records per second at each of these times, which start at 0."""
        ...
