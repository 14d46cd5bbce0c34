"""Phoebe: the smallest size that profiling runs promise to be normal, and to recover in time.

Source: Geldenhuys, Scheinert, Kao and Thamsen, "Phoebe: QoS-Aware Distributed Stream Processing through Anticipating
Dynamic Workloads", ICWS 2022, its published code, and its use as a baseline by Daedalus (Pfister et al., ICPE 2024,
sections 4.3.3 and 4.7). Before an app runs, profiling runs at several sizes measure capacity, latency under rising
loads, and what an injected failure costs (``headgate profile``). From these follow capacity, latency and downtime of
every size (``models.quality``). Every ten minutes the workload is foreseen by ARIMA (``policies.foresight``), and of
the sizes that recover within the target, with a latency of the normal class, the smallest is taken (``pick``). A
checkpoint is asked for before each rescale, so that nothing is worked off twice.

What is done differently, or left open by the source:

- Latency is interpolated instead of regressed by boosted trees; see ``models.quality``. What is seen while the app runs
  is added to the points, as in the authors' code.
- Downtimes are those of the injected failures; the authors' code has constants of 80 to 120 s. Of the checkpoint
  interval a whole one is worked off again after a failure, as the worst case.
- The authors' code looks again every minute once ten minutes have passed since the last rescale; here, as the text
  says, decisions are ten minutes apart.
- The profile is read in the background, at the first tick; until then the size stays.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from headgate import codec
from headgate.core.allocation import Dimension
from headgate.core.decision import Proposal, Reason
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option
from headgate.core.profile import Profile
from headgate.errors import UserMistake
from headgate.models.forecasting import Forecast
from headgate.models.forecasting.forecast import Series
from headgate.models.quality import QualityModel
from headgate.models.recovery import recovery_s, replayed
from headgate.policies.foresight import Foreseeing, ForesightMemory, finite, trained, workload_of
from headgate.policies.phoebe.choice import Candidate, Pick, pick
from headgate.policies.phoebe.reading import read_profile

_MOST_SEEN = 50
"""Points from the running app that are kept beside the profile's."""
_GUESSED_DOWNTIME_S = 30.0
"""Where the profile has no failures."""


@dataclass(slots=True, kw_only=True)
class _Memory:
    foresight: ForesightMemory
    profile: Profile | None
    problem: str | None
    """Why the profile could not be read."""
    seen: list[tuple[int, float, float]]
    decided_s: float | None

    @classmethod
    def restored(cls, known: Mapping[str, Any]) -> _Memory:
        profile, problem, decided_s = (known.get(name) for name in ("profile", "problem", "decided_s"))
        return cls(
            foresight=ForesightMemory.restored(known),
            profile=_profile(profile),
            problem=problem if isinstance(problem, str) else None,
            seen=_points(known.get("seen")),
            decided_s=float(decided_s) if isinstance(decided_s, int | float) and math.isfinite(decided_s) else None,
        )

    @property
    def state(self) -> dict[str, Any]:
        return {
            **self.foresight.state,
            "profile": None if self.profile is None else codec.to_plain(self.profile),
            "problem": self.problem,
            "seen": [list(point) for point in self.seen],
            "decided_s": self.decided_s,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Phoebe(Foreseeing):
    """The smallest size that profiling runs promise to be normal and to recover in time.

    >>> Phoebe(profile="orders.json").interval_s
    600.0
    """

    name: ClassVar[str] = "phoebe"
    scales: ClassVar[frozenset[Dimension]] = frozenset({Dimension.EXECUTORS})
    needs: ClassVar[tuple[str, ...]] = ("operators.arrivals_per_s",)

    profile: str = option("", "file that headgate profile has written", reads=read_profile)
    recovery_target_s: float = option(600.0, "time in which a failure must be caught up with", above=0)
    interval_s: float = option(600.0, "time between two decisions", above=0)
    spared: int = option(2, "executors fewer than at present that are not worth a restart", least=0)
    checkpoint_interval_s: float = option(10.0, "records of so long are worked off again after a failure", least=0)
    horizon_s: float = option(600.0, "how far the workload is foreseen", least=1)

    def __post_init__(self) -> None:
        check_options(f"policy '{self.name}'", self)

    def lesson(self, evaluation: Evaluation, knowledge: Knowledge) -> Any:
        """Nothing, as long as the profile is not known; then the workload up to now."""
        if _Memory.restored(knowledge.memory).profile is None:
            return None
        return self.foresight.history(evaluation, knowledge)

    def train(self, lesson: Any) -> Mapping[str, Any]:
        """The profile, or a model of the workload."""
        return {"profile": codec.to_plain(read_profile(self.profile))} if lesson is None else trained(lesson)

    def decide(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        memory = _Memory.restored(knowledge.memory)
        workload = workload_of(evaluation)
        if not workload.size:
            return self.held(knowledge, memory.state, "missing-metrics", f"{self.needs[0]} is unknown")
        reasons, knowledge = self._adopt(memory, knowledge)
        if memory.profile is None:
            return self._without_profile(knowledge, memory, reasons)
        forecast, how = self.foresight.foresee(evaluation, knowledge, memory.foresight, workload)
        reasons += how
        train = self.foresight.wants_training(knowledge, memory.foresight)
        began_s = knowledge.started_s if memory.decided_s is None else memory.decided_s
        since_s = evaluation.time_s - began_s
        if 0 <= since_s < self.interval_s - self.period_s / 2:
            message = f"the last decision was {since_s:.0f} s ago"
            return self.held(knowledge, memory.state, "between-decisions", message, reasons, train=train)
        memory.decided_s = evaluation.time_s
        self._see(evaluation, memory, float(workload.mean()))
        candidates = self._candidates(memory, knowledge, forecast, workload)
        found = pick(
            candidates,
            current=knowledge.current.executors,
            growing=_slope(forecast) > 0,
            target_s=self.recovery_target_s,
            spared=self.spared,
        )
        reasons.append(self._picked(found, candidates, knowledge, forecast))
        return Proposal(
            allocation=knowledge.current.with_executors(found.executors),
            reasons=tuple(reasons),
            memory=memory.state,
            train=train,
            checkpoint=True,
        )

    def _adopt(self, memory: _Memory, knowledge: Knowledge) -> tuple[list[Reason], Knowledge]:
        """Take in a profile that was delivered; what else was delivered is left to the forecasts."""
        delivered = knowledge.delivered
        if delivered is None or memory.profile is not None:
            return [], knowledge
        memory.foresight.asked = False
        memory.profile = _profile(delivered.get("profile"))
        if memory.profile is None:
            memory.problem = str(delivered.get("problem", "it brought no profile"))
        rest = dataclasses.replace(knowledge, delivered=None)
        if memory.profile is None:
            return [], rest
        sizes = [size.executors for size in memory.profile.sizes]
        message = (
            f"the profile of app '{memory.profile.app}' was read: {len(sizes)} sizes from {sizes[0]} to {sizes[-1]}"
        )
        return [self.reason("profile-read", message, {"sizes": sizes})], rest

    def _without_profile(self, knowledge: Knowledge, memory: _Memory, reasons: list[Reason]) -> Proposal:
        if not self.profile:
            return self.held(
                knowledge,
                memory.state,
                "profile-missing",
                "no profile is given (phoebe:profile=FILE of headgate profile)",
            )
        if memory.problem is not None:
            return self.held(knowledge, memory.state, "profile-unreadable", memory.problem, reasons)
        asks = not memory.foresight.asked
        memory.foresight.asked = True
        return self.held(knowledge, memory.state, "profile-unread", f"profile {self.profile} is being read", train=asks)

    def _see(self, evaluation: Evaluation, memory: _Memory, rate: float) -> None:
        """What the present size shows of its latency is one more point."""
        latency_s, present = _latency_s(evaluation), len(evaluation.working_executors)
        if latency_s is not None and present:
            memory.seen = [*memory.seen, (present, rate, latency_s)][-_MOST_SEEN:]

    def _candidates(
        self, memory: _Memory, knowledge: Knowledge, forecast: Forecast, workload: Series
    ) -> tuple[Candidate, ...]:
        assert memory.profile is not None
        quality = QualityModel(profile=memory.profile, seen=tuple(memory.seen))
        rate, again = forecast.peak(), replayed(workload.tolist(), self.checkpoint_interval_s)
        bounds, found = knowledge.bounds, []
        for executors in range(max(1, bounds.least), bounds.most + 1):
            capacity = quality.capacity(executors)
            downtime_s = quality.downtime_s(executors)
            latency_s = quality.latency_s(executors, rate)
            found.append(
                Candidate(
                    executors=executors,
                    capacity=capacity,
                    recovery_s=recovery_s(
                        capacity=capacity,
                        forecast=forecast.mean,
                        downtime_s=_GUESSED_DOWNTIME_S if downtime_s is None else downtime_s,
                        replayed_records=again,
                    ),
                    latency_s=math.inf if latency_s is None and rate >= capacity else latency_s or 0.0,
                    normal=rate < capacity and (latency_s is None or latency_s <= quality.normal_s),
                )
            )
        return tuple(found)

    def _picked(
        self, found: Pick, candidates: tuple[Candidate, ...], knowledge: Knowledge, forecast: Forecast
    ) -> Reason:
        size, current = found.executors, knowledge.current.executors
        chosen = next((candidate for candidate in candidates if candidate.executors == size), None)
        inputs = {
            "current": current,
            "chosen": size,
            "foreseen": finite(forecast.peak()),
            "capacity": None if chosen is None else finite(chosen.capacity),
            "latency_s": None if chosen is None else finite(chosen.latency_s),
            "recovery_s": None if chosen is None else finite(chosen.recovery_s),
            "recovery_target_s": self.recovery_target_s,
            "valid": [candidate.executors for candidate in candidates if candidate.is_valid(self.recovery_target_s)],
        }
        load = f"{forecast.peak():.0f} records/s"
        messages = {
            "fits": f"{size} executors are the fewest that take {load} normally and recover in time",
            "fits-already": f"{size} executors are the fewest that take {load} normally and recover in time",
            "fits-while-growing": f"the workload grows, and {size} executors still take {load} normally",
            "not-worth-a-restart": f"at most {self.spared} executors could be spared, so {size} stay",
            "nothing-fits": f"no size takes {load} normally and recovers in time; {size} come nearest",
        }
        return self.reason(found.why, messages[found.why], inputs)


def _latency_s(evaluation: Evaluation) -> float | None:
    """Mean latency of the slowest way through the app's operators."""
    ends: dict[str, float] = {}
    for operator in evaluation.operators:
        if operator.latency_s is None:
            return None
        before = max((ends.get(name, 0.0) for name in operator.upstream), default=0.0)
        ends[operator.name] = before + operator.latency_s.mean
    return max(ends.values(), default=None)


def _slope(forecast: Forecast) -> float:
    """By how much the second half of a forecast is higher than the first."""
    middle = forecast.mean.size // 2
    if not middle:
        return 0.0
    return float(forecast.mean[middle:].mean() - forecast.mean[:middle].mean())


def _profile(known: Any) -> Profile | None:
    if not isinstance(known, Mapping):
        return None
    try:
        return codec.from_plain(Profile, known, where="profile")
    except UserMistake:
        return None


def _points(known: Any) -> list[tuple[int, float, float]]:
    points = []
    for point in known if isinstance(known, list) else ():
        if isinstance(point, list) and len(point) == 3 and all(isinstance(part, int | float) for part in point):
            executors, rate, latency_s = point
            if all(map(math.isfinite, point)) and executors >= 1 and rate >= 0 and latency_s >= 0:
                points.append((int(executors), float(rate), float(latency_s)))
    return points
