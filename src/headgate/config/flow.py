"""What happens to the records: the embedded stream, operators and sinks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from headgate.config.kafka import TOPIC_NAME
from headgate.config.table import Seconds, Table

STREAM = "stream"
"""What an operator reads that takes the embedded stream instead of topics."""


class StreamTable(Table):
    """The embedded stream: records by a workload, without a broker.

    Alone it does real work on each record and writes a Parquet sink that can be audited; with
    ``records`` it is what operators read as "stream".
    """

    workload: str = Field(description="shape or CSV, as on the command line")
    records: str | None = Field(None, description='what the records contain, for operators that read "stream"')
    peak: float | None = Field(None, gt=0, description="rescale the workload's maximum to this rate")
    duration_s: Seconds | None = Field(None, description="cut or repeat the workload")
    time_scale: float = Field(1.0, gt=0, description="compress time")
    process: Literal["even", "poisson"] = "even"
    seed: int = 0
    partitions: int = Field(8, ge=1, le=1024, description="tasks that a micro-batch is cut into")
    cost_us: float = Field(100.0, ge=0, description="processor time to spend on each record, in microseconds")
    trigger_s: Seconds = 1.0
    records_per_trigger: int | None = Field(None, ge=1)


class SinkTable(Table):
    """Where the results of a last operator are kept, exactly once."""

    format: Literal["parquet", "delta", "tables"] = Field(
        "parquet", description="one table as Parquet or Delta, or one table per value of a column"
    )
    path: str = Field("{folder}/sink", min_length=1, description="{folder} is the app's folder")
    by: str = Field("table", min_length=1, description="with tables: the column that names the table")
    tables: Literal["parquet", "delta"] = Field("parquet", description="with tables: what each of them is")
    audit: bool = Field(
        True, description="compare the sequence numbers in the sink with those produced, if it has that column"
    )

    @property
    def needs_delta(self) -> bool:
        return self.format == "delta" or (self.format == "tables" and self.tables == "delta")

    @model_validator(mode="after")
    def _makes_sense(self) -> SinkTable:
        needless = sorted({"by", "tables"} & self.model_fields_set)
        if self.format != "tables" and needless:
            raise ValueError(f'{needless[0]} is for format = "tables", not for {self.format}; remove it')
        return self


class OperatorTable(Table):
    """One step: a streaming query that reads topics and writes a topic or a sink."""

    name: str = Field(max_length=100, pattern=r"^\w[\w.-]*$")
    function: str = Field(
        min_length=1, description='from records to results, as "module:function", or its name in the file'
    )
    file: Path | None = Field(None, description="a Python file that has the function")
    options: dict[str, Any] = Field(
        default_factory=dict, description="keyword arguments of the function; {folder} in a text is the app's folder"
    )
    reads: tuple[str, ...] = Field(min_length=1, description='topics, or "stream" for the embedded stream')
    writes: str | None = Field(None, pattern=TOPIC_NAME, description="the topic that the results go to")
    sink: SinkTable | None = Field(None, description="instead of a topic, for a last operator")
    scalable: bool = Field(True, description="false for a stateful function, which is sized at max_parallelism")
    parallelism: int = Field(1, ge=1, le=1024, description="tasks of a batch at the start")
    max_parallelism: int = Field(8, ge=1, le=1024)
    trigger_s: Seconds = 1.0
    records_per_trigger: int | None = Field(None, ge=1, description="the most records that a micro-batch takes")
    output_mode: Literal["append", "update", "complete"] = Field(
        "append", description="which results of a stateful function are written: final, changed or all"
    )
    starting: Literal["earliest", "latest"] = Field(
        "earliest", description="where to begin in a topic that neither a producer nor an operator of this app fills"
    )
    deduplicate: tuple[str, ...] | None = Field(
        None, min_length=1, description="columns that tell messages apart, where a topic may repeat them"
    )
    watermark_s: Seconds | None = Field(None, description="how late a message to be told apart may come")

    @property
    def reads_stream(self) -> bool:
        return STREAM in self.reads

    @model_validator(mode="after")
    def _makes_sense(self) -> OperatorTable:
        if (self.writes is None) == (self.sink is None):
            raise ValueError("give it either writes (a topic) or a sink, and not both")
        if self.parallelism > self.max_parallelism:
            raise ValueError(
                f"parallelism is {self.parallelism}, but max_parallelism is {self.max_parallelism}; raise the latter"
            )
        if not self.scalable and "parallelism" in self.model_fields_set:
            raise ValueError("a stateful operator has max_parallelism tasks from the start; remove parallelism")
        if self.deduplicate is None and self.watermark_s is not None:
            raise ValueError("watermark_s says how long deduplicate remembers; add that or remove watermark_s")
        if self.file is None and len([part for part in self.function.split(":") if part]) != 2:
            raise ValueError(
                f"function '{self.function}' names no module; write module:function, or give the file that has it"
            )
        if len(set(self.reads)) < len(self.reads):
            raise ValueError("reads names a topic twice; keep one of them")
        if self.reads_stream and len(self.reads) > 1:
            raise ValueError('reads has "stream" beside topics; read the one or the others')
        if self.scalable and self.deduplicate is not None:
            raise ValueError("deduplicate keeps state, and a stateful operator is not scalable; set scalable = false")
        if self.scalable and self.output_mode != "append":
            raise ValueError(f"output_mode {self.output_mode} is for stateful functions; set scalable = false")
        if self.writes is not None and self.output_mode != "append":
            raise ValueError("a topic takes results in append mode only; remove output_mode or give it a sink")
        return self


def upstream_first(operators: Sequence[OperatorTable]) -> tuple[OperatorTable, ...]:
    """Every operator after those that write what it reads; a circle is a mistake.

    >>> count = OperatorTable(name="count", function="m:count", reads=("words",), sink=SinkTable())
    >>> split = OperatorTable(name="split", function="m:split", reads=("lines",), writes="words")
    >>> [operator.name for operator in upstream_first([count, split])]
    ['split', 'count']
    """
    waiting = list(operators)
    placed: list[OperatorTable] = []
    while waiting:
        missing = {operator.writes for operator in waiting}
        ready = [operator for operator in waiting if missing.isdisjoint(operator.reads)]
        if not ready:
            names = ", ".join(operator.name for operator in waiting)
            raise ValueError(f"operators {names} wait for each other's topics in a circle; break it")
        placed += ready
        waiting = [operator for operator in waiting if operator not in ready]
    return tuple(placed)
