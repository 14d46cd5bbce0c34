"""A consumer group in an app file: what it reads, where it brings it, and how it is packed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from headgate.config.table import Seconds, Table


class KubernetesTable(Table):
    """Consumers as deployments instead of processes of one machine."""

    image: str = Field(min_length=1, description="a container image with headgate[consumers] in it")
    namespace: str = "default"
    lake_claim: str | None = Field(None, description="a volume claim that many pods may write to, mounted as /lake")
    storage: str = Field("500Mi", description="of each consumer's own volume")
    storage_class: str | None = None
    memory: str = "1Gi"
    cpu: str = "500m"


class ConsumersTable(Table):
    """Consumers that bring partitions into a lake, as many as their write speeds need."""

    reads: tuple[str, ...] = Field(min_length=1, description="topics")
    lake: str = Field("{folder}/lake", min_length=1, description="where the tables are; {folder} is the app's folder")
    format: Literal["parquet", "delta"] = "parquet"
    function: str = Field(
        "headgate.pipelines.lake:lake",
        min_length=1,
        description='from records to rows with a column table, as "module:function", or its name in the file',
    )
    file: Path | None = Field(None, description="a Python file that has the function")
    options: dict[str, Any] = Field(default_factory=dict, description="keyword arguments of the function")
    algorithm: str = Field("mbf", description="how partitions are packed: one of those of `headgate pack`")
    algorithm_capacity: float = Field(1.5e6, gt=0, description="bytes per second that packing gives a consumer")
    consumer_capacity: float = Field(2.0e6, gt=0, description="bytes per second above which a consumer has too much")
    most_consumers: int = Field(8, ge=1, le=1000)
    sentinel_s: Seconds = Field(10.0, description="longest watch before it is seen whether fewer would do")
    lease_s: Seconds = Field(30.0, description="silence after which a consumer is taken for lost")
    ready_within_s: Seconds = Field(120.0, description="time that a new consumer has until it must be heard of")
    rescue: bool = Field(True, description="let those that are there read what nobody reads until new ones are ready")
    batch_bytes: float = Field(5e6, gt=0, description="most bytes that a consumer takes in one cycle")
    wait_s: Seconds = Field(1.0, description="longest time that a consumer waits for them")
    estimator: str = Field("window", description="how speeds are estimated: window, exponential or trend")
    window_s: Seconds = Field(30.0, description="over how long they are")
    measured_by: Literal["offsets", "size"] = Field("offsets", description="how it is seen what was written")
    master: str = Field("local[1]", description="Spark's master of each consumer")
    memory_mb: int = Field(512, ge=450, description="heap of each consumer; Spark refuses less than 450")

    kubernetes: KubernetesTable | None = Field(None, description="absent: consumers are processes of this machine")

    @model_validator(mode="after")
    def _makes_sense(self) -> ConsumersTable:
        if self.consumer_capacity < self.algorithm_capacity:
            raise ValueError(
                f"consumer_capacity is {self.consumer_capacity:g}, below algorithm_capacity "
                f"({self.algorithm_capacity:g}): every packing would be given up at once; raise it"
            )
        if self.file is None and len([part for part in self.function.split(":") if part]) != 2:
            raise ValueError(
                f"function '{self.function}' names no module; write module:function, or give the file that has it"
            )
        if len(set(self.reads)) < len(self.reads):
            raise ValueError("reads names a topic twice; keep one of them")
        return self
