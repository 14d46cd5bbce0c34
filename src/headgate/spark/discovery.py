"""How an app's operators are found: the topics that queries read, and operators that are started while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from headgate.spark.facts import OperatorControl, QueryView
from headgate.spark.gateway import PySparkQuery, SparkGateway
from headgate.spark.operator_group import OperatorGroup
from headgate.spark.operators import started_operators
from headgate.spark.queries import ArrivalProbe
from headgate.spark.trace_probe import trace_probe


class TopicProbe(Protocol):
    """Makes the probe of some topics, given the options by which Spark reaches their brokers, or none."""

    def __call__(self, options: Mapping[str, str], topics: Sequence[str], /) -> ArrivalProbe | None: ...


class Newcomer(NamedTuple):
    """An operator that was started while its app is running."""

    view: QueryView
    operator: OperatorControl
    arrivals: ArrivalProbe | None = None
    output: ArrivalProbe | None = None


def no_probe(options: Mapping[str, str], topics: Sequence[str]) -> ArrivalProbe | None:  # noqa: ARG001
    return None


def shared(make: TopicProbe) -> TopicProbe:
    """One probe for a topic that one operator writes and another reads."""
    made: dict[tuple[str, tuple[str, ...]], ArrivalProbe | None] = {}

    def probe(options: Mapping[str, str], topics: Sequence[str]) -> ArrivalProbe | None:
        key = (options.get("kafka.bootstrap.servers", ""), tuple(topics))
        if key not in made:
            made[key] = make(options, topics)
        return made[key]

    return probe


def arrivals_of(
    sources: Sequence[Mapping[str, str]], topic_probe: TopicProbe, *, now_s: Callable[[], float]
) -> ArrivalProbe | None:
    """The probe of a query's only source, if that is a trace or whole topics."""
    known = trace_probe(sources, now_s=now_s)
    if known is not None or len(sources) != 1:
        return known
    topics = topics_of(sources)
    return topic_probe(sources[0], topics) if topics else None


def topics_of(sources: Sequence[Mapping[str, str]]) -> list[str]:
    """Topics that a query is seen to read."""
    named = [topic.strip() for source in sources for topic in source.get("subscribe", "").split(",")]
    return [topic for topic in named if topic]


class Discovery:
    """Finds operators that are started in this process from now on and are connected with an app."""

    def __init__(self, gateway: SparkGateway, topic_probe: TopicProbe, now_s: Callable[[], float]) -> None:
        self._gateway = gateway
        self._topic_probe = topic_probe
        self._now_s = now_s
        # Whoever was there and was not named was left out on purpose.
        self._seen = {str(operator.query.runId) for operator in started_operators()}

    def __call__(self, group: OperatorGroup) -> Iterator[Newcomer]:
        strangers = {str(each.query.runId): each for each in started_operators()}
        for run_id in self._seen.intersection(strangers):
            del strangers[run_id]
        while found := {run_id: each for run_id, each in strangers.items() if group.belongs(each)}:
            for run_id, operator in found.items():
                self._seen.add(run_id)
                del strangers[run_id]
                view, writes = PySparkQuery(operator.query, gateway=self._gateway), operator.writes
                yield Newcomer(
                    view,
                    operator,
                    arrivals_of(view.source_options(), self._topic_probe, now_s=self._now_s),
                    None if writes is None else self._topic_probe(operator.topic_options, (writes,)),
                )
