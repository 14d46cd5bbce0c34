"""What an operator does with each micro-batch, on frames that only remember what was asked of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from headgate.errors import UserMistake
from headgate.spark import operators
from headgate.spark.operators import Operator, OperatorPlan


@dataclass(frozen=True)
class Frame:
    done: tuple[str, ...] = ()
    columns: tuple[str, ...] = ("value",)

    def repartition(self, tasks: int) -> Frame:
        return Frame((*self.done, f"dealt out to {tasks}"))

    def transformed(self) -> Frame:
        return Frame((*self.done, "transformed"))


@dataclass
class Remembering:
    written: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)

    def write(self, frame: Any, batch_id: int) -> None:
        self.written.append((batch_id, frame.done))


class Rig:
    def __init__(self, *, mode: str = "FIFO", slots: int = 4, **given: Any) -> None:
        self.pools: list[tuple[str, str]] = []
        self.sink = Remembering()
        context = SimpleNamespace(
            getConf=lambda: {"spark.scheduler.mode": mode},
            setLocalProperty=lambda name, value: self.pools.append((name, value)),
            defaultParallelism=slots,
        )
        spark: Any = SimpleNamespace(sparkContext=context)
        plan = OperatorPlan(
            name="filter",
            transform=lambda raw: raw.transformed(),  # type: ignore[attr-defined]
            checkpoint="checkpoint",
            reads=("words",),
            sink=self.sink,
            **given,
        )
        self.operator = Operator(plan, max_parallelism=plan.max_parallelism)
        self._write: Any = self.operator._batch_writer(spark)

    def batch(self, batch_id: int) -> tuple[str, ...]:
        self._write(Frame(), batch_id)
        (written_id, done), *_ = self.sink.written[::-1]
        assert written_id == batch_id
        return done


def test_the_next_batch_follows_the_parallelism_that_was_set() -> None:
    rig = Rig(parallelism=1)
    assert rig.batch(0) == ("dealt out to 1", "transformed")
    rig.operator.set_parallelism(4)
    assert rig.batch(1) == ("dealt out to 4", "transformed")
    rig.operator.set_parallelism(2)
    assert rig.batch(2) == ("dealt out to 2", "transformed")


def test_a_stateful_operator_was_transformed_by_the_query_and_is_only_written() -> None:
    rig = Rig(scalable=False, max_parallelism=6)
    assert rig.batch(0) == ()
    assert rig.operator.parallelism == 6
    with pytest.raises(UserMistake, match="state in 6 partitions"):
        rig.operator.set_parallelism(2)


@pytest.mark.parametrize("parallelism", [0, 9])
def test_a_parallelism_beyond_the_limits_is_refused(parallelism: int) -> None:
    rig = Rig()
    with pytest.raises(UserMistake, match="give 1 to 8"):
        rig.operator.set_parallelism(parallelism)
    assert rig.operator.parallelism == 1


def test_operators_take_turns_where_the_session_lets_them() -> None:
    fair, first_come = Rig(mode="FAIR"), Rig(mode="FIFO")
    fair.batch(0)
    first_come.batch(0)
    assert fair.pools == [("spark.scheduler.pool", "filter")]
    assert first_come.pools == []


def test_with_fewer_slots_than_operators_whoever_came_first_is_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of pools without a running task Spark prefers the first by name, and others would starve."""
    monkeypatch.setattr(operators, "_running", dict.fromkeys(["a", "b", "c"]))
    few, enough = Rig(mode="FAIR", slots=2), Rig(mode="FAIR", slots=3)
    few.batch(0)
    enough.batch(0)
    assert few.pools == [("spark.scheduler.pool", "operators")]
    assert enough.pools == [("spark.scheduler.pool", "filter")]


def test_operators_of_a_session_that_has_ended_with_its_java_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unreachable:
        @property
        def isActive(self) -> bool:  # noqa: N802 - as PySpark calls it
            raise ConnectionRefusedError

    gone: Any = SimpleNamespace(query=Unreachable())
    fresh: Any = SimpleNamespace(query=SimpleNamespace(isActive=True, runId="new"))
    monkeypatch.setattr(operators, "_running", {"old": gone})
    operators._remember(fresh)
    assert operators._running == {"new": fresh}
