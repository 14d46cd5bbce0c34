"""ARIMA: rates that follow from the rates and the surprises before them (Box and Jenkins 1970).

With w the rates differenced d times and e what was not foreseen of them:

    w(t) − mean = Σ φᵢ (w(t−i) − mean) + e(t) + Σ θⱼ e(t−j)

``learn`` finds orders and coefficients with the automatic search of the package ``statsforecast`` (Hyndman and
Khandakar 2008), which takes seconds and is for the background. Once they are known, forecasting is a recursion over the
latest rates: it needs no library and takes a millisecond. Surprises before the rates that are looked at count as none
(conditional least squares). Between two trainings the mean follows what comes (``following``).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import mul
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headgate.errors import UserMistake
from headgate.models.forecasting.forecast import Forecast, Series
from headgate.models.forecasting.tendency import Tendency

_LEAST_RATES = 30
_MOST_LAGS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Arima:
    """
    A rate that keeps half of its distance from 100 each second:

    >>> Arima(ar=(0.5,), mean=100.0).forecast(np.array([100.0, 180.0]), 3).mean.tolist()
    [140.0, 120.0, 110.0]
    """

    ar: tuple[float, ...] = ()
    """φ: weights of the rates before, the latest first."""
    ma: tuple[float, ...] = ()
    """θ: weights of the surprises before."""
    differences: int = 0
    mean: float = 0.0
    """Of the differenced rates: the level, or the drift a second."""
    variance: float = 0.0
    """Of the surprises."""
    looks_at_s: int = 600

    def following(self, tendency: Tendency) -> Self:
        """The same model with the level or drift of all that has come, instead of what had come when it was trained.

        What rose by 20 a second while it was trained would otherwise be foreseen to rise for ever:

        >>> Arima(differences=1, mean=20.0).following(Tendency.of(np.full(600, 500.0))).mean
        0.0
        """
        known = {0: tendency.level, 1: tendency.drift}.get(self.differences)
        return self if not self.mean or known is None else replace(self, mean=known)

    def forecast(self, history: Series, horizon: int) -> Forecast:
        known = np.asarray(history, dtype=np.float64)[-(self.looks_at_s + self.differences) :]
        if known.size <= self.differences:
            last = float(known[-1]) if known.size else 0.0
            return Forecast.around(np.full(horizon, last), np.zeros(horizon))
        ends = [float(np.diff(known, n)[-1]) for n in range(self.differences)]
        course = self._ahead(np.diff(known, self.differences) - self.mean, horizon) + self.mean
        for end in reversed(ends):
            course = end + np.cumsum(course)
        return Forecast.around(course, np.sqrt(self.variance) * _spread(self.ar, self.ma, self.differences, horizon))

    def _ahead(self, away: NDArray[np.float64], horizon: int) -> NDArray[np.float64]:
        """How far from the mean the differenced rates will be."""
        rates, surprises = away.tolist(), self._surprises(away)
        for _ in range(horizon):
            # A surprise that is still to come is none.
            rates.append(_weighed(self.ar, rates) + _weighed(self.ma, surprises))
            surprises.append(0.0)
        return np.array(rates[len(away) :])

    def _surprises(self, away: NDArray[np.float64]) -> list[float]:
        told = np.zeros(away.size)
        for lag, weight in enumerate(self.ar, start=1):
            told[lag:] += weight * away[:-lag]
        left: list[float] = (away - told).tolist()
        if not self.ma:
            return left
        surprises: list[float] = []
        for rest in left:
            surprises.append(rest - _weighed(self.ma, surprises))
        return surprises

    @property
    def state(self) -> dict[str, Any]:
        return {
            "ar": list(self.ar),
            "ma": list(self.ma),
            "differences": self.differences,
            "mean": self.mean,
            "variance": self.variance,
        }

    @classmethod
    def restored(cls, state: Any) -> Self | None:
        """As it was learned; ``None`` from anything that is no state."""
        if not isinstance(state, Mapping):
            return None
        try:
            ar, ma = (tuple(float(weight) for weight in state[name]) for name in ("ar", "ma"))
            made = cls(
                ar=ar,
                ma=ma,
                differences=int(state["differences"]),
                mean=float(state["mean"]),
                variance=float(state["variance"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
        figures = (*ar, *ma, made.mean, made.variance)
        possible = all(map(math.isfinite, figures)) and made.variance >= 0 and 0 <= made.differences <= 2
        return made if possible and max(len(ar), len(ma)) <= _MOST_LAGS else None


def _weighed(weights: Sequence[float], course: list[float]) -> float:
    """Weights times the latest values, the latest first; as many as there are."""
    return sum(map(mul, weights, course[: -len(weights) - 1 : -1])) if weights else 0.0


@lru_cache(maxsize=8)
def _spread(ar: tuple[float, ...], ma: tuple[float, ...], differences: int, horizon: int) -> NDArray[np.float64]:
    """How far the coming rates may be from their forecast, in standard deviations of a surprise.

    ψ: how much of a surprise is left in the rate so many seconds later; their squares add up.
    """
    polynomial = np.array([1.0, *(-weight for weight in ar)])
    for _ in range(differences):
        polynomial = np.convolve(polynomial, [1.0, -1.0])
    recent: list[float] = (-polynomial[1:]).tolist()
    shares = [1.0]
    for time in range(1, horizon):
        own = ma[time - 1] if time <= len(ma) else 0.0
        shares.append(own + _weighed(recent, shares))
    spread: NDArray[np.float64] = np.sqrt(np.cumsum(np.square(shares[:horizon])))
    spread.setflags(write=False)
    return spread


def learn(rates: Sequence[float] | Series) -> Arima:
    """Orders and coefficients for a history of rates, one a second, oldest first."""
    history = np.asarray(rates, dtype=np.float64)
    if history.size < _LEAST_RATES:
        raise UserMistake(f"{history.size} rates are too few to learn from; wait until there are {_LEAST_RATES}")
    if float(np.ptp(history)) == 0.0:
        return Arima(mean=float(history[-1]))
    try:
        from statsforecast.models import AutoARIMA
    except ModuleNotFoundError as error:
        raise UserMistake(
            "automatic ARIMA needs the package statsforecast; run pip install 'headgate[forecasting]'"
        ) from error
    with warnings.catch_warnings():
        # Candidates that do not converge are left out by the search itself.
        warnings.simplefilter("ignore")
        found: Mapping[str, Any] = AutoARIMA(season_length=1, approximation=True).fit(history).model_
    return read_fitted(found)


def read_fitted(found: Mapping[str, Any]) -> Arima:
    """From the library's own words: a mapping with ``arma`` and named coefficients."""
    p, q, _, _, _, differences, _ = found["arma"]
    weights = {str(name): float(value) for name, value in found["coef"].items()}
    return Arima(
        ar=tuple(weights[f"ar{lag}"] for lag in range(1, p + 1)),
        ma=tuple(weights[f"ma{lag}"] for lag in range(1, q + 1)),
        differences=int(differences),
        mean=weights.get("intercept", weights.get("drift", 0.0)),
        variance=max(0.0, float(found["sigma2"])),
    )
