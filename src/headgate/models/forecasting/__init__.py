"""What will come: forecasts of a workload second by second, with the interval that it will probably stay in.

A forecaster is a value with one method, ``forecast(history, horizon)``; what it has learned are its fields, plain
numbers that fit into JSON. ``learn`` of its module makes one from a history. None forecasts less than nothing.
"""

from headgate.models.forecasting.forecast import Forecast, Forecaster, wape
from headgate.models.forecasting.seasonal_naive import SeasonalNaive
from headgate.models.forecasting.smoothing import HoltSmoothing
from headgate.models.forecasting.straight_line import StraightLine
from headgate.models.forecasting.tendency import Tendency

__all__ = ["Forecast", "Forecaster", "HoltSmoothing", "SeasonalNaive", "StraightLine", "Tendency", "wape"]
