"""How policies foresee their workload: a model that is watched, replaced by a line while it is poor, and trained anew.

The mechanism of Daedalus (Pfister et al., ICPE 2024, section 3.3), which Phoebe's ARIMA forecasts use as well. The last
forecast is compared with what came (WAPE). Where that was poor, a straight line through the latest observations
stands in; where it was poor many times in a row, a new model is asked for, and adopted at the tick after it has come.
In between, a model goes on from the latest rates, and with the level and drift of all that has come.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from headgate.core.decision import Proposal, Reason
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import option
from headgate.models.forecasting import Forecast, Forecaster, HoltSmoothing, SeasonalNaive, StraightLine, Tendency, wape
from headgate.models.forecasting.arima import Arima, learn
from headgate.models.forecasting.forecast import Series

FORECASTERS = ("arima", "line", "seasonal-naive", "smoothing")


@dataclass(slots=True, kw_only=True)
class ForesightMemory:
    """What is known of forecasts from one tick to the next."""

    model: Arima | None = None
    tendency: Tendency = field(default_factory=Tendency)
    told: list[float] = field(default_factory=list)
    """What was forecast for the coming period."""
    poor: int = 0
    """Forecasts in a row that were."""
    asked: bool = False
    """Whether a training is under way."""
    rest: int = 0
    """Ticks to wait after a training that failed."""

    @property
    def state(self) -> dict[str, Any]:
        return {
            "model": None if self.model is None else self.model.state,
            "tendency": self.tendency.state,
            "told": self.told,
            "poor": self.poor,
            "asked": self.asked,
            "rest": self.rest,
        }

    @classmethod
    def restored(cls, known: Mapping[str, Any]) -> Self:
        """From what the last tick left; anything else in it is forgotten."""
        poor, rest = known.get("poor"), known.get("rest")
        return cls(
            model=Arima.restored(known.get("model")),
            tendency=Tendency.restored(known.get("tendency")),
            told=numbers(known.get("told")),
            poor=poor if isinstance(poor, int) else 0,
            asked=known.get("asked") is True,
            rest=rest if isinstance(rest, int) else 0,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Foresight:
    """How one policy foresees its workload."""

    policy: str
    """Whose reasons they are."""
    period_s: float
    forecaster: str
    season_s: float
    horizon_s: float
    poor_wape: float
    retrain_after: int
    first_training_s: float
    history_s: float

    def foresee(
        self, evaluation: Evaluation, knowledge: Knowledge, memory: ForesightMemory, workload: Series
    ) -> tuple[Forecast, list[Reason]]:
        """The workload of the next minutes, by the model, or by a straight line while the model is poor."""
        reasons = self._adopt(knowledge, memory)
        memory.tendency.learn(evaluation.time_s, workload[-max(1, round(self.period_s)) :])
        forecast, why = self._forecast(evaluation, knowledge, memory, workload)
        memory.told = forecast.mean[: round(self.period_s)].tolist()
        return forecast, [*reasons, why]

    def _forecast(
        self, evaluation: Evaluation, knowledge: Knowledge, memory: ForesightMemory, workload: Series
    ) -> tuple[Forecast, Reason]:
        error = wape(workload[-len(memory.told) :], memory.told) if memory.told else None
        poor = error is not None and error >= self.poor_wape
        memory.poor = memory.poor + 1 if poor else 0
        horizon = round(self.horizon_s)
        inputs: dict[str, Any] = {"wape": finite(error), "poor_in_a_row": memory.poor}
        made, known = self._forecaster(evaluation, knowledge, memory)
        if made is None or poor:
            forecast = StraightLine(through_s=max(2, round(self.period_s))).forecast(workload, horizon)
            why = "there is no model yet" if made is None else f"the last forecast was off by {error:.0%}"
            inputs["peak"] = forecast.peak()
            return forecast, self._reason("forecast-line", f"{why}, so a straight line goes on", inputs)
        forecast = made.forecast(known, horizon)
        inputs["peak"] = forecast.peak()
        minutes = self.horizon_s / 60
        message = f"at most {forecast.peak():.0f} records/s are foreseen for the next {minutes:.0f} min"
        return forecast, self._reason(f"forecast-{self.forecaster}", message, inputs)

    def _forecaster(
        self, evaluation: Evaluation, knowledge: Knowledge, memory: ForesightMemory
    ) -> tuple[Forecaster | None, Series]:
        """What foresees the workload, once there is one, and the history that it looks at."""
        back = partial(self.history, evaluation, knowledge)
        match self.forecaster:
            case "arima" if memory.model is not None:
                return memory.model.following(memory.tendency), back(least_s=memory.model.looks_at_s)
            case "seasonal-naive":
                return SeasonalNaive(period_s=max(1, round(self.season_s))), back(least_s=2 * self.season_s)
            case "smoothing":
                return HoltSmoothing(), back(least_s=self.horizon_s)
            case _:
                return None, np.zeros(0)

    def _adopt(self, knowledge: Knowledge, memory: ForesightMemory) -> list[Reason]:
        delivered = knowledge.delivered
        if delivered is None:
            return []
        memory.asked = False
        model = Arima.restored(delivered.get("model"))
        if model is None:
            problem = str(delivered.get("problem", "it brought no model"))
            memory.rest = self.retrain_after
            return [self._reason("training-failed", f"the training of a forecast failed: {problem}", {})]
        memory.model, memory.poor, memory.told = model, 0, []
        order = f"({len(model.ar)}, {model.differences}, {len(model.ma)})"
        return [self._reason("training-adopted", f"a new model ARIMA{order} was trained", dict(model.state))]

    def wants_training(self, knowledge: Knowledge, memory: ForesightMemory) -> bool:
        """Whether a model should be trained now; it then counts as asked for."""
        memory.rest = max(0, memory.rest - 1)
        if self.forecaster != "arima" or memory.asked or memory.rest:
            return False
        if memory.model is None:
            seconds = sum(tick.evaluation is not None for tick in knowledge.history) * self.period_s + self.period_s
            memory.asked = seconds >= self.first_training_s
        else:
            memory.asked = memory.poor >= self.retrain_after
        if memory.asked:
            memory.poor = 0
        return memory.asked

    def history(self, evaluation: Evaluation, knowledge: Knowledge, *, least_s: float | None = None) -> Series:
        """The workload second by second, as far back as wanted."""
        wanted_s = self.history_s if least_s is None else least_s
        period = max(1, round(self.period_s))
        parts, length = [workload_of(evaluation)[-period:]], 0
        for tick in reversed(knowledge.history):
            if length >= wanted_s:
                break
            if tick.evaluation is not None and tick.evaluation.time_s < evaluation.time_s:
                parts.append(workload_of(tick.evaluation)[-period:])
                length += parts[-1].size
        return np.concatenate(parts[::-1])

    def _reason(self, code: str, message: str, inputs: Mapping[str, Any]) -> Reason:
        return Reason(by=self.policy, code=code, message=message, inputs=inputs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseeing:
    """What policies that foresee their workload have in common: the options of it, and how they say why."""

    name: ClassVar[str]

    forecaster: str = option("arima", "how the workload is foreseen; the paper has arima", choices=FORECASTERS)
    season_s: float = option(86400.0, "period of a workload that repeats itself, for seasonal-naive", least=1)
    horizon_s: float = option(900.0, "how far the workload is foreseen", least=1)
    poor_wape: float = option(0.25, "error of the last forecast from which on a straight line is taken", above=0)
    retrain_after: int = option(15, "poor forecasts in a row after which a new model is trained", least=1)
    first_training_s: float = option(300.0, "history from which the first model is trained", least=30)
    history_s: float = option(21600.0, "history that a model is trained on at most", least=60)
    period_s: float = option(60.0, "time between two looks at the workload", above=0)
    window_s: float = option(60.0, "length of the window that an evaluation describes", above=0)

    @property
    def looks_back_s(self) -> float:
        return self.history_s

    @property
    def foresight(self) -> Foresight:
        return Foresight(
            policy=self.name,
            period_s=self.period_s,
            forecaster=self.forecaster,
            season_s=self.season_s,
            horizon_s=self.horizon_s,
            poor_wape=self.poor_wape,
            retrain_after=self.retrain_after,
            first_training_s=self.first_training_s,
            history_s=self.history_s,
        )

    def lesson(self, evaluation: Evaluation, knowledge: Knowledge) -> Any:
        """The workload up to now."""
        return self.foresight.history(evaluation, knowledge)

    def train(self, lesson: Any) -> Mapping[str, Any]:
        """An ARIMA model of it."""
        return trained(lesson)

    def held(
        self,
        knowledge: Knowledge,
        memory: Mapping[str, Any],
        code: str,
        why: str,
        reasons: Sequence[Reason] = (),
        *,
        train: bool = False,
    ) -> Proposal:
        """The size stays, for a reason that is more than that nothing has to change."""
        size = knowledge.current.executors
        reason = self.reason(code, f"{why}, so {size} executors stay", {"current": size})
        return Proposal(allocation=knowledge.current, reasons=(*reasons, reason), memory=memory, train=train)

    def reason(self, code: str, message: str, inputs: Mapping[str, Any]) -> Reason:
        return Reason(by=self.name, code=code, message=message, inputs=inputs)


def trained(workload: Series) -> dict[str, Any]:
    """What a training delivers: a model of a workload, as ``Foresight`` adopts it."""
    return {"model": learn(workload).state}


def workload_of(evaluation: Evaluation) -> Series:
    """Records that came to the app in each second, from all its sources."""
    return added([operator.arrivals_per_s for operator in evaluation.sources])


def added(courses: list[tuple[float, ...]]) -> Series:
    """Courses second by second that end together, summed as far back as all of them go."""
    known = [np.asarray(course, dtype=np.float64) for course in courses if course]
    if not known:
        return np.zeros(0)
    length = min(course.size for course in known)
    total: Series = np.sum([course[-length:] for course in known], axis=0)
    return total


def finite(value: float | None) -> float | None:
    """As JSON can have it."""
    return None if value is None or not np.isfinite(value) else float(value)


def numbers(value: Any) -> list[float]:
    """A list of finite numbers; an empty one from anything else."""
    try:
        found = [float(number) for number in value]
    except (TypeError, ValueError, OverflowError):
        return []
    return found if all(map(math.isfinite, found)) else []
