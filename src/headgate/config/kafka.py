"""Kafka in an app file: how it is reached, its topics, and what fills them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from headgate.config.table import Seconds, Table

TOPIC_NAME = r"^[a-zA-Z0-9._-]{1,249}$"
PARTITIONS = 4


class KafkaTable(Table):
    """Which Kafka: a broker of our own on this machine, or one that is there."""

    bootstrap: str = Field(
        "local",
        min_length=1,
        description='"local": the running `headgate broker`, or one that is started for this app and ends with it; '
        'else "host:port"',
    )
    config: Path | None = Field(None, description="a file of client settings (key=value) for a secured cluster")

    @property
    def is_local(self) -> bool:
        return self.bootstrap == "local"

    @model_validator(mode="after")
    def _settings_have_a_cluster(self) -> KafkaTable:
        if self.is_local and self.config is not None:
            raise ValueError("config is for a cluster that is there already; give its address as bootstrap")
        return self


class TopicTable(Table):
    """A topic that the app reads or writes; made if it is not there."""

    name: str = Field(pattern=TOPIC_NAME)
    partitions: int = Field(PARTITIONS, ge=1, le=1024)


class ProducerTable(Table):
    """A paced producer that fills a topic while the app runs; the app ends when its records are worked off."""

    topic: str = Field(pattern=TOPIC_NAME)
    records: str = Field(description="what the records contain, as words, ads or rows:size=100")
    workload: str = Field(description="shape or CSV, as on the command line")
    peak: float | None = Field(None, gt=0, description="rescale the workload's maximum to this rate")
    duration_s: Seconds | None = Field(None, description="cut or repeat the workload")
    time_scale: float = Field(1.0, gt=0, description="compress time")
    keys: str = Field("none", description="keys of the records, as none, uniform:keys=1000 or zipf:keys=1000")
    partition_skew: float = Field(0.0, ge=0, le=5, description="0: even; 1: each partition gets 1/rank of the first")
    partition_drift_s: Seconds | None = Field(
        None, description="time after which the skew has moved on by one partition; absent: it stays"
    )
    arrivals: Literal["even", "poisson"] = Field("even", description="how records are spread within a second")
    processes: int = Field(1, ge=1, le=64, description="processes that share the work")
    seed: int = Field(0, ge=0)
