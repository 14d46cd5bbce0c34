"""An agent and a controller that do as they are told, for the tests of links."""

from __future__ import annotations

from collections.abc import Callable

from headgate.core.allocation import Allocation, Bounds
from headgate.core.graph import Graph, OperatorNode
from headgate.core.knowledge import AppDescription, Engine
from headgate.core.ports import Order
from headgate.core.sample import ArrivalPoint, Batch, ExecutorSample, OperatorSample, Sample
from headgate.core.status import Status

DESCRIPTION = AppDescription(
    app="orders",
    engine=Engine.MICRO_BATCH,
    bounds=Bounds(1, 12),
    graph=Graph.of(OperatorNode(name="parse"), OperatorNode(name="join", upstream=("parse",))),
    newest_epoch=3,
)
SAMPLE = Sample(
    time_s=12.5,
    operators=(
        OperatorSample(name="parse", arrivals=(ArrivalPoint(12.5, 99.0),), batches=(Batch(1, 10.0, 11.5, 0.0, 50.0),)),
    ),
    executors=(ExecutorSample("1", "n1", 1, 30.0, 9.5, None),),
)
STATUS = Status(app="orders", policy="hpa:target=0.8", time_s=5.0, started_s=1.0, epoch=3, bounds=Bounds(1, 12))


class FakeAgent:
    def __init__(self) -> None:
        self.orders: list[Order] = []
        self.fault: Exception | None = None
        self.before_collecting: Callable[[], object] = lambda: None

    def describe(self) -> AppDescription:
        return DESCRIPTION

    def collect(self) -> Sample:
        self.before_collecting()
        if self.fault is not None:
            raise self.fault
        return SAMPLE

    def apply(self, order: Order) -> None:
        if self.fault is not None:
            raise self.fault
        self.orders.append(order)


class FakeControls:
    def __init__(self) -> None:
        self.pulled: list[str] = []

    def status(self) -> Status:
        return STATUS

    def pause(self) -> None:
        self.pulled.append("pause")

    def resume(self) -> None:
        self.pulled.append("resume")

    def pin(self, executors: int) -> None:
        self.pulled.append(f"pin {executors}")

    def unpin(self) -> None:
        self.pulled.append("unpin")


def order(*, epoch: int = 4, executors: int = 5) -> Order:
    return Order(
        allocation=Allocation(executors=executors, parallelism={"join": 2}), epoch=epoch, request_id=f"{epoch}-1"
    )
