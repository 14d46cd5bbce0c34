"""Operators among an app's queries: their graph, their part of samples, and orders to them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from fake_driver import FakeGateway, FakeQuery, HandClock, progress, records

from headgate.core.allocation import Allocation, Bounds, Dimension
from headgate.core.graph import OperatorNode
from headgate.core.knowledge import AppDescription, Engine
from headgate.core.ports import Order
from headgate.core.sample import EventKind, OperatorSample
from headgate.errors import StaleEpoch, Temporary, UserMistake
from headgate.spark.agent import DriverAgent
from headgate.spark.discovery import Newcomer
from headgate.spark.facts import QueryState
from headgate.spark.operator_group import OperatorGroup


@dataclass
class FakeOperator:
    name: str
    reads: tuple[str, ...] = ()
    writes: str | None = None
    scalable: bool = True
    parallelism: int = 1
    max_parallelism: int = 4

    def set_parallelism(self, parallelism: int) -> None:
        self.parallelism = parallelism


class FakeProbe:
    def __init__(self, records: float = 0.0) -> None:
        self.records = records
        self.asked = 0
        self.fault: Temporary | None = None

    def probe(self) -> float:
        self.asked += 1
        if self.fault is not None:
            raise self.fault
        return self.records


def chain() -> list[FakeOperator]:
    return [
        FakeOperator("count", reads=("kept", "extra"), writes="counts", scalable=False, parallelism=4),
        FakeOperator("split", reads=("lines",), writes="words"),
        FakeOperator("filter", reads=("words",), writes="kept"),
    ]


def test_operators_are_joined_where_one_reads_what_another_writes() -> None:
    group = OperatorGroup(["count", "split", "audit", "filter"], chain())
    assert group.graph["split"] == OperatorNode(name="split", scalable=True, max_parallelism=4)
    assert group.graph["filter"].upstream == ("split",)
    assert group.graph["count"] == OperatorNode(name="count", upstream=("filter",), max_parallelism=4)
    assert group.graph["audit"] == OperatorNode(name="audit")
    assert [node.name for node in group.graph].index("split") < [node.name for node in group.graph].index("filter")


def test_operators_that_feed_each_other_in_a_circle_are_refused() -> None:
    with pytest.raises(UserMistake):
        OperatorGroup(["a", "b"], [FakeOperator("a", ("x",), "y"), FakeOperator("b", ("y",), "x")])


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(UserMistake, match="'orders' appears twice"):
        OperatorGroup(["orders", "other", "orders"])


def test_a_query_that_is_no_operator_is_joined_by_the_topics_that_it_is_seen_to_read() -> None:
    group = OperatorGroup(["split", "audit"], chain()[1:2], reads={"audit": ("words",)})
    assert group.graph["audit"] == OperatorNode(name="audit", upstream=("split",))
    assert group.complete(OperatorSample(name="audit"), 1.0).upstream == ("split",)


def test_a_topic_of_two_writers_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """Both feed whoever reads it: ways may join."""
    two = [FakeOperator("a", ("x",), "words"), FakeOperator("b", ("y",), "words"), FakeOperator("c", ("words",))]
    group = OperatorGroup(["a", "b", "c"], two)
    assert group.graph["c"].upstream == ("a", "b")
    assert "operators 'a' and 'b' write to one topic, 'words'" in caplog.text


def test_parallelism_can_be_scaled_if_any_operator_is_stateless() -> None:
    assert OperatorGroup(["split"], chain()[1:2]).scales == {Dimension.EXECUTORS, Dimension.PARALLELISM}
    assert OperatorGroup(["count"], chain()[:1]).scales == {Dimension.EXECUTORS}
    assert OperatorGroup(["orders"]).scales == {Dimension.EXECUTORS}


def test_a_sample_says_what_was_set_and_not_what_the_last_batch_had() -> None:
    operators = chain()
    group = OperatorGroup(["count", "split", "filter"], operators)
    operators[2].parallelism = 3
    sample = group.complete(OperatorSample(name="filter", parallelism=1, partitions=7), 10.0)
    assert sample == OperatorSample(
        name="filter", upstream=("split",), scalable=True, parallelism=3, max_parallelism=4, partitions=7
    )


def test_a_query_that_is_no_operator_keeps_its_sample() -> None:
    sample = OperatorSample(name="orders", parallelism=2)
    assert OperatorGroup(["orders"]).complete(sample, 10.0) is sample


class TestOutput:
    def output(self, group: OperatorGroup, at_s: float) -> float | None:
        return group.complete(OperatorSample(name="split"), at_s).output_records

    def test_it_is_how_far_the_topic_reaches_asked_no_more_often_than_told(self) -> None:
        probe = FakeProbe(40.0)
        group = OperatorGroup(["split"], chain()[1:2], outputs={"split": probe}, probe_every_s=1.0)
        assert self.output(group, 10.0) == 40.0
        probe.records = 70.0
        assert self.output(group, 10.5) == 40.0
        assert self.output(group, 11.0) == 70.0
        assert probe.asked == 2

    def test_it_is_unknown_while_nobody_answers(self) -> None:
        probe = FakeProbe(40.0)
        group = OperatorGroup(["split"], chain()[1:2], outputs={"split": probe})
        probe.fault = Temporary("broker away")
        assert self.output(group, 10.0) is None
        probe.fault = None
        assert self.output(group, 12.0) == 40.0

    def test_a_topic_of_two_writers_tells_of_neither_how_much(self) -> None:
        two = [FakeOperator("split", ("a",), "words"), FakeOperator("other", ("b",), "words")]
        group = OperatorGroup(["split", "other"], two, outputs={"split": FakeProbe(1.0), "other": FakeProbe(1.0)})
        assert self.output(group, 10.0) is None


class Rig:
    def __init__(self) -> None:
        self.newcomers: list[Newcomer] = []
        self.gateway = FakeGateway()
        self.gateway.add("0", tasks_done=1)
        self.operators = chain()
        names = [operator.name for operator in self.operators]
        source = records(0, 100)
        self.queries = [
            FakeQuery(name=name, run_id=name, events=[progress(0, at_s=990, source=source, run_id=name)])
            for name in names
        ]
        group = OperatorGroup(names, self.operators)
        description = AppDescription(
            app="chain", engine=Engine.MICRO_BATCH, bounds=Bounds(1, 4), graph=group.graph, scales=group.scales
        )
        self.agent = DriverAgent(
            self.gateway,
            self.queries,
            description=description,
            group=group,
            discover=lambda _: [self.newcomers.pop() for _ in tuple(self.newcomers)],
            now_s=HandClock(),
        )

    def order(self, *, epoch: int = 1, request_id: str = "a", **parallelism: int) -> None:
        allocation = Allocation(executors=2, parallelism=parallelism)
        self.agent.apply(Order(allocation=allocation, epoch=epoch, request_id=request_id))

    def set(self) -> dict[str, int]:
        return {operator.name: operator.parallelism for operator in self.agent.collect().operators}


class TestOrders:
    def test_an_order_sets_what_it_names_and_leaves_the_rest(self) -> None:
        rig = Rig()
        rig.order(split=3)
        assert rig.set() == {"count": 4, "split": 3, "filter": 1}
        rig.order(request_id="b")
        assert rig.set() == {"count": 4, "split": 3, "filter": 1}
        assert rig.agent.target == 2

    def test_an_order_beyond_the_limits_is_obeyed_up_to_them(self) -> None:
        rig = Rig()
        rig.order(split=9, filter=0)
        assert rig.set() == {"count": 4, "split": 4, "filter": 1}

    @pytest.mark.parametrize(
        ("name", "words"), [("splitt", "did you mean 'split'"), ("count", "fixed by its state; leave it out")]
    )
    def test_an_order_that_cannot_be_obeyed_changes_nothing(self, name: str, words: str) -> None:
        rig = Rig()
        with pytest.raises(UserMistake, match=words):
            rig.order(epoch=7, **{"filter": 2, name: 2})
        assert rig.set() == {"count": 4, "split": 1, "filter": 1}
        assert rig.agent.target == 1
        assert rig.agent.describe().newest_epoch == 0

    def test_an_order_of_a_replaced_controller_sets_nothing(self) -> None:
        rig = Rig()
        rig.order(epoch=7, split=3)
        with pytest.raises(StaleEpoch):
            rig.order(epoch=6, request_id="b", split=1)
        assert rig.set()["split"] == 3

    def test_a_query_that_was_started_otherwise_is_told_how_to_start_it(self) -> None:
        with pytest.raises(UserMistake, match=r"headgate\.operator"):
            OperatorGroup(["orders"]).checked({"orders": 2})


class TestComingAndGoing:
    def start(self, rig: Rig, operator: FakeOperator) -> FakeQuery:
        name = operator.name
        query = FakeQuery(name=name, run_id=name, events=[progress(0, at_s=990, source=records(0, 40), run_id=name)])
        rig.newcomers.append(Newcomer(query, operator))
        return query

    def test_an_operator_that_is_started_later_joins_where_its_topics_say(self) -> None:
        rig = Rig()
        rig.agent.collect()
        self.start(rig, FakeOperator("rank", reads=("counts",), writes="ranks"))
        sample = rig.agent.collect()
        assert {operator.name: operator.upstream for operator in sample.operators}["rank"] == ("count",)
        assert [event.kind for event in sample.events] == [EventKind.OPERATOR_JOINED]
        assert rig.agent.describe().graph["rank"].upstream == ("count",)
        rig.order(rank=3)
        assert rig.set()["rank"] == 3

    def test_one_that_has_not_finished_a_batch_does_not_keep_the_others_waiting(self) -> None:
        rig = Rig()
        query = self.start(rig, FakeOperator("rank", reads=("counts",)))
        query.events.clear()
        assert "rank" not in rig.set()
        query.events.append(progress(0, at_s=995, source=records(0, 40), run_id="rank"))
        assert "rank" in rig.set()

    def test_one_that_would_close_a_circle_is_left_out_and_named(self, caplog: pytest.LogCaptureFixture) -> None:
        rig = Rig()
        self.start(rig, FakeOperator("loop", reads=("counts",), writes="lines"))
        assert {operator.name for operator in rig.agent.collect().operators} == {"count", "split", "filter"}
        assert "operator 'loop' is left out of the app" in caplog.text
        assert "in a circle" in caplog.text

    def test_one_that_its_owner_ends_is_gone_and_the_others_go_on(self) -> None:
        rig = Rig()
        rig.queries[2].current = QueryState(active=False)
        last = rig.agent.collect()
        assert [event.kind for event in last.events] == [EventKind.OPERATOR_LEFT]
        sample = rig.agent.collect()
        assert {operator.name: operator.upstream for operator in sample.operators} == {"count": (), "split": ()}
        assert not rig.agent.ended
        # An order that was decided on before that is obeyed as far as it can be.
        rig.order(filter=3, split=2)
        assert rig.set() == {"count": 4, "split": 2}

    def test_one_that_is_started_again_is_back(self) -> None:
        rig = Rig()
        rig.queries[2].current = QueryState(active=False)
        rig.agent.collect()
        assert "filter" not in rig.set()
        self.start(rig, FakeOperator("filter", reads=("words",), writes="kept"))
        for _ in range(3):
            sample = rig.agent.collect()
            assert {operator.name for operator in sample.operators} == {"count", "split", "filter"}
        assert rig.agent.describe().graph["count"].upstream == ("filter",)
        for query in (*rig.queries[:2], rig.agent._queries[-1]):
            query.current = QueryState(active=False)  # type: ignore[attr-defined]
        rig.agent.collect()
        assert rig.agent.ended

    def test_one_that_failed_stays_in_sight(self) -> None:
        rig = Rig()
        rig.queries[2].current = QueryState(active=False, failure="boom")
        rig.agent.collect()
        assert {operator.name for operator in rig.agent.collect().operators} == {"count", "split", "filter"}
        assert rig.agent.failure == "query 'filter' failed: boom"

    def test_which_operators_belong_to_an_app(self) -> None:
        group = OperatorGroup(["count", "split", "filter"], chain())
        assert group.belongs(FakeOperator("a", reads=("words",)))
        assert group.belongs(FakeOperator("b", reads=("elsewhere",), writes="lines"))
        assert not group.belongs(FakeOperator("c", reads=("lines",)))
        assert not group.belongs(FakeOperator("d", reads=("elsewhere",)))
