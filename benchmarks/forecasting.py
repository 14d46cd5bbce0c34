"""Libraries that find ARIMA models, and simpler forecasters: how long they take, and how far off they are.

Whatever of the libraries is installed is measured; ``docs/dependencies.md`` has the table of all of them. Times are
the processor's, which other work on the machine lengthens less than those of the clock.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headgate.models.forecasting import HoltSmoothing, SeasonalNaive, StraightLine, Tendency, wape
from headgate.models.forecasting.arima import learn
from headgate.workloads import parse_workload, read_trace

Series = NDArray[np.float64]
Forecasting = Callable[[Series, int], Series]
"""History and horizon to forecast."""

HORIZON = 900
HOURS = (1, 6, 24)
TRACES = Path("../shared/traces")
RECORDED = ("wordcount-sine-6h", "advertising-6h", "traffic-6h")
TRAINED_ON_S = 3600
MOST_S = 240.0
"""A fit that takes longer than this is not tried on more data."""


def run() -> None:
    libraries = _libraries()
    for name, (module, make) in libraries.items():
        print(f"  {name}: import {_import_s(module):.2f} s", flush=True)
        for hours in HOURS:
            fit_s, update_s = _times_s(make, _day()[: hours * 3600])
            print(
                f"    {hours:>2} h of 1 s data: fit {fit_s:7.2f} s   "
                f"a further minute and a forecast {update_s * 1e3:8.1f} ms",
                flush=True,
            )
            if fit_s > MOST_S:
                print("    (more data was not tried)")
                break
    own: dict[str, Forecasting] = {
        "straight line": lambda history, horizon: StraightLine().forecast(history, horizon).mean,
        "exponential smoothing": lambda history, horizon: HoltSmoothing().forecast(history, horizon).mean,
        "seasonal naive, 3 h": lambda history, horizon: SeasonalNaive(period_s=10_800).forecast(history, horizon).mean,
    }
    print("  WAPE of 15 min forecasts, every 5 min, trained on the hour before; median (90th percentile):")
    for trace in _recorded():
        for name, (_, make) in libraries.items():
            _accuracy(f"{trace[0]}: {name}", trace[1], make)
        for name, forecast in own.items():
            _accuracy(f"{trace[0]}: {name}", trace[1], lambda _, forecast=forecast: forecast)  # type: ignore[misc]


Learning = Callable[[Series], Forecasting]
"""A history to something that forecasts."""


def _libraries() -> dict[str, tuple[str, Learning]]:
    known: dict[str, tuple[str, Learning]] = {
        "headgate on statsforecast": ("statsforecast.models", _headgate),
        "pmdarima": ("pmdarima", _pmdarima),
        "statsmodels ETS": ("statsmodels.tsa.exponential_smoothing.ets", _statsmodels),
    }
    return {name: pair for name, pair in known.items() if importlib.util.find_spec(pair[0].split(".")[0])}


def _headgate(history: Series) -> Forecasting:
    model = learn(history)
    return lambda latest, horizon: model.following(Tendency.of(latest)).forecast(latest, horizon).mean


def _pmdarima(history: Series) -> Forecasting:
    import pmdarima

    model = pmdarima.auto_arima(history, seasonal=False, suppress_warnings=True, error_action="ignore")
    known: int | None = None

    def forecast(latest: Series, horizon: int) -> Series:
        nonlocal known
        # It was trained up to the moment of its first forecast.
        if known is not None and known < len(latest):
            model.update(latest[known:], maxiter=1)
        known = len(latest)
        return np.asarray(model.predict(horizon))

    return forecast


def _statsmodels(history: Series) -> Forecasting:
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    parameters = ETSModel(history, trend="add", damped_trend=True).fit(disp=False).params

    def forecast(latest: Series, horizon: int) -> Series:
        return np.asarray(ETSModel(latest, trend="add", damped_trend=True).smooth(parameters).forecast(horizon))

    return forecast


def _times_s(make: Learning, history: Series) -> tuple[float, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        forecast = make(history)
        fit_s = time.process_time() - began
        forecast(history, HORIZON)
        taken = []
        for minutes in range(1, 4):
            longer = np.concatenate([history, history[: 60 * minutes]])
            began = time.process_time()
            forecast(longer, HORIZON)
            taken.append(time.process_time() - began)
    return fit_s, sorted(taken)[1]


def _accuracy(what: str, rates: Series, make: Learning) -> None:
    errors = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in range(TRAINED_ON_S, len(rates) - HORIZON, 3600):
            forecast = make(rates[start - TRAINED_ON_S : start])
            for now in range(start, min(start + 3600, len(rates) - HORIZON), 300):
                error = wape(rates[now : now + HORIZON], np.maximum(0.0, forecast(rates[:now], HORIZON)))
                if error is not None and np.isfinite(error):
                    errors.append(error)
    middle, high = np.quantile(errors, [0.5, 0.9])
    print(f"    {what:<52} {middle:6.3f} ({high:.3f})", flush=True)


def _recorded() -> list[tuple[str, Series]]:
    found = [
        (name, read_trace(str(TRACES / f"{name}.csv")).recorded)
        for name in RECORDED
        if (TRACES / f"{name}.csv").is_file()
    ]
    return found or [("sine with noise", parse_workload("sine:period=3h + noise", duration_s=21_600.0).rates)]


def _day() -> Series:
    return parse_workload("sine:period=3h,low=0.1 + noise:sd=0.02", peak=50_000.0, duration_s=86_400.0).rates


def _import_s(module: str) -> float:
    """The best of three, in a Python of its own."""
    code = f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    return min(
        float(
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()[-1]
        )
        for _ in range(3)
    )
