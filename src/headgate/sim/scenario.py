"""What a simulated app is: its engine, operators, executors, nodes and their imperfections.

A scenario is a checked, frozen value that is read from and written to TOML. Whatever is wrong with
one is said in a sentence that names the key and the remedy.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from headgate.core.graph import Graph, OperatorNode
from headgate.errors import UserMistake, nearest

Duration = Annotated[float, Field(ge=0, le=1e7)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Count = Annotated[int, Field(ge=1, le=10_000)]

_CONFIG = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class OperatorScenario(BaseModel):
    """One step of the simulated app."""

    model_config = _CONFIG

    name: Name = "query"
    upstream: tuple[Name, ...] = ()
    capacity: float = Field(default=5000.0, gt=0, le=1e12, description="records/s of one executor slot")
    selectivity: float = Field(default=1.0, ge=0, le=1e6, description="records out per record in")
    share: float = Field(default=1.0, gt=0, le=1, description="part of its input stream that it reads")
    stateful: bool = Field(default=False, description="moves state when executors change")
    scalable: bool = Field(default=False, description="its parallelism may be changed while it runs")
    parallelism: Count | None = Field(default=None, description="instances at the start; none: its partitions")
    max_parallelism: Count | None = None
    service_scv: float | None = Field(
        default=None,
        ge=0,
        le=100,
        description="squared variation of service times; if given, the continuous engine simulates single records",
    )


class NodeScenario(BaseModel):
    """A place for executors; a latency given on one side holds for the way back too."""

    model_config = _CONFIG

    name: Name
    latency_s: Mapping[str, Duration] = Field(default_factory=dict, description="round trip to other nodes")


class Scenario(BaseModel):
    """A simulated app."""

    model_config = _CONFIG

    name: Name
    description: str = ""
    notes: tuple[str, ...] = Field(default=(), description="where the figures come from and what they lack")

    engine: Literal["spark", "continuous"] = "spark"
    rescale: Literal["seamless", "restart"] = "seamless"
    operators: tuple[OperatorScenario, ...] = Field(default=(OperatorScenario(),), min_length=1, max_length=1000)

    trigger_s: float = Field(default=1.0, ge=0, le=1e6, description="micro-batch trigger; 0: as soon as possible")
    records_per_trigger: float | None = Field(default=None, gt=0, le=1e15, description="limit of a source's batch")
    overhead_s: float = Field(default=0.1, ge=0.001, le=1e6, description="the driver's time for every batch")
    task_overhead_s: Duration = Field(default=0.0, description="fixed time of every task")
    partitions: Count = Field(default=60, description="of an operator's input: the tasks that a batch is cut into")
    skew: float = Field(default=0.0, ge=0, le=10, description="Zipf exponent of the tasks' sizes; 0: even")
    shares: tuple[Annotated[float, Field(ge=0, le=1e12)], ...] = Field(
        default=(), description="relative sizes of the partitions, instead of skew", max_length=10_000
    )
    placement: Literal["balanced", "hashed"] = Field(
        default="balanced",
        description="how partitions come to slots: to the one that is free first, or by a hash, as keyed state does",
    )
    noise: float = Field(default=0.0, ge=0, le=2, description="relative standard deviation of the speed")
    step_s: float = Field(default=1.0, ge=0.01, le=1, description="resolution of the continuous engine")
    buffer_records: float | None = Field(
        default=None, gt=0, le=1e15, description="queue between operators of the continuous engine; none: unlimited"
    )

    executors: Count | None = Field(default=None, description="at the start; none: what the first minute's load needs")
    cores: Count = Field(default=1, description="slots of one executor")
    size_limit: Count | None = Field(default=None, description="the most executors that the cluster can give")
    startup_s: Duration = Field(default=10.0, description="from asking for an executor to its joining")
    startup_sd_s: Duration = 0.0
    slow_batch_s: Duration = Field(default=0.0, description="what a joining executor adds to the next batch")
    warm_up_s: Duration = Field(default=0.0, description="how long a new executor is slower")
    warm_up_speed: float = Field(default=1.0, gt=0, le=1, description="its speed during that time")
    starts_cold: bool = Field(default=False, description="whether the executors at the start have to warm up, too")
    stop_s: Duration = Field(default=5.0, description="from its last task to an executor's end")
    failure_interval_s: float | None = Field(
        default=None, ge=1, le=1e12, description="mean life of an executor; none: they do not fail"
    )
    state_reload_s: Duration = Field(default=0.0, description="pause of stateful operators when executors change")
    scaling_exponent: float = Field(default=1.0, gt=0, le=1.5, description="n executors work like n to this power")

    checkpoint_interval_s: float = Field(default=10.0, gt=0, le=1e6)
    downtime_out_s: Duration = Field(default=30.0, description="stand-still when restarting with more executors")
    downtime_in_s: Duration = Field(default=15.0, description="stand-still when restarting with fewer")
    downtime_failure_s: Duration | None = Field(
        default=None, description="stand-still when an executor was lost, noticing it included; none: downtime_out_s"
    )

    nodes: tuple[NodeScenario, ...] = Field(default=(), max_length=1000)
    round_trips_per_record: float = Field(
        default=0.0, ge=0, le=1e6, description="waits of an instance for the farthest node in use, per record"
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.engine == "spark" and self.rescale == "restart":
            raise ValueError('rescale="restart" needs engine="continuous"; the spark engine rescales seamlessly')
        if self.shares and self.skew:
            raise ValueError("skew and shares are both given; keep one of them")
        if self.shares and (len(self.shares) != self.partitions or sum(self.shares) <= 0):
            raise ValueError(
                f"shares has {len(self.shares)} numbers for {self.partitions} partitions; "
                "give one each, and at least one above 0"
            )
        if self.single_records and (self.engine != "continuous" or self.rescale != "seamless"):
            raise ValueError(
                'service_scv needs engine="continuous" and rescale="seamless"; change them or leave it out'
            )
        for index, operator in enumerate(self.operators):
            _check_operator(f"operators.{index}", operator, engine=self.engine)
        self.graph()
        _check_nodes(self.nodes)
        return self

    def graph(self) -> Graph:
        return Graph(
            tuple(
                OperatorNode(
                    name=operator.name,
                    upstream=operator.upstream,
                    scalable=operator.scalable,
                    max_parallelism=operator.max_parallelism,
                )
                for operator in self.operators
            )
        )

    def changed(self, **values: Any) -> Scenario:
        """The same with other values, checked again."""
        return scenario_from(self.model_dump() | values, where=f"scenario '{self.name}'")

    @property
    def record_s(self) -> float:
        """Task time that one record of the sources costs on its whole way through the operators."""
        visits: dict[str, float] = {}
        outputs = {operator.name: operator.selectivity for operator in self.operators}
        shares = {operator.name: operator.share for operator in self.operators}
        capacities = {operator.name: operator.capacity for operator in self.operators}
        for node in self.graph():
            arriving = sum(visits[name] * outputs[name] for name in node.upstream) if node.upstream else 1.0
            visits[node.name] = arriving * shares[node.name]
        return sum(visits[name] / capacities[name] for name in visits)

    @property
    def single_records(self) -> bool:
        """Whether each record is simulated, and not only how many there are."""
        return any(operator.service_scv is not None for operator in self.operators)

    @property
    def limit(self) -> int | None:
        """The most executors there can be: one a node where nodes are named."""
        limits = [limit for limit in (self.size_limit, len(self.nodes) or None) if limit is not None]
        return min(limits) if limits else None


def _check_operator(where: str, operator: OperatorScenario, *, engine: str) -> None:
    if engine == "spark" and operator.stateful and operator.scalable:
        raise ValueError(
            f"{where} is stateful and scalable, but the spark engine fixes the partitions of state; drop one of them"
        )
    most = operator.max_parallelism
    if most is not None and operator.parallelism is not None and operator.parallelism > most:
        raise ValueError(f"{where}.parallelism={operator.parallelism} is above max_parallelism={most}; lower it")
    if len(set(operator.upstream)) < len(operator.upstream):
        raise ValueError(f"{where}.upstream names an operator twice; name each once")


def _check_nodes(nodes: tuple[NodeScenario, ...]) -> None:
    names = [node.name for node in nodes]
    for index, node in enumerate(nodes):
        if names.count(node.name) > 1:
            raise ValueError(f"nodes.{index}: '{node.name}' appears twice; give every node a name of its own")
        for other in node.latency_s:
            if other not in names:
                raise ValueError(f"nodes.{index}.latency_s: '{other}' is not a node{nearest(other, names)}")


def parse_scenario(text: str, *, where: str) -> Scenario:
    """A scenario from TOML; ``where`` names the text in errors."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = _one_line(str(error)) or "nested too deeply"
        raise UserMistake(f"{where} is not valid TOML ({reason}); correct that place") from None
    return scenario_from(data, where=where)


def scenario_from(data: Mapping[str, Any], *, where: str) -> Scenario:
    """A scenario from plain tables and lists."""
    try:
        return Scenario.model_validate(_with_tuples(data))
    except ValidationError as error:
        raise UserMistake(f"{where}: {_one_line(_sentence(error))}") from None
    except UserMistake as error:
        raise UserMistake(f"{where}: {_one_line(str(error))}") from None


def scenario_to_toml(scenario: Scenario) -> str:
    """TOML from which ``parse_scenario`` makes an equal scenario."""
    return tomli_w.dumps(scenario.model_dump(mode="json", exclude_none=True))


def scenario_schema() -> dict[str, Any]:
    """JSON Schema of a scenario file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Scenario.model_json_schema()}


def _with_tuples(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _with_tuples(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_with_tuples(part) for part in value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**18:
        return float("inf")
    return value


def _one_line(text: str) -> str:
    """The text with whatever would break a line, or a terminal, spelt out."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    context, kind = first.get("ctx", {}), first["type"]
    if kind == "value_error":
        return str(context["error"])
    remedies = {
        "extra_forbidden": f"is not a key of a scenario{nearest(str((*first['loc'], '')[-2]), _keys(first['loc']))}",
        "missing": "is missing; add it",
        "greater_than": f"is too small; give more than {context.get('gt')}",
        "greater_than_equal": f"is too small; give {context.get('ge')} or more",
        "less_than_equal": f"is too large; give {context.get('le')} or less",
        "literal_error": f"is not possible; choose {context.get('expected')}",
        "finite_number": "is not a usable number; give a finite one",
        "float_type": "is not a number; give one",
        "int_type": "is not a whole number; give one",
        "bool_type": "is neither true nor false; write true or false",
        "string_type": "is not a text; put it in quotes",
        "tuple_type": "is not a list; write it in [ ] (or as [[operators]] tables)",
        "model_type": "is not a table; write key = value lines",
        "mapping_type": "is not a table; write key = value pairs",
        "string_too_short": "is empty; give a name",
    }
    remedy = remedies.get(kind, f"is refused ({first['msg']}); see `headgate schema scenario`")
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{place} {remedy}{more}"


def _keys(place: tuple[int | str, ...]) -> tuple[str, ...]:
    models: dict[int | str, type[BaseModel]] = {"operators": OperatorScenario, "nodes": NodeScenario}
    owner = models.get(place[0], Scenario) if len(place) > 1 else Scenario
    return tuple(owner.model_fields)
