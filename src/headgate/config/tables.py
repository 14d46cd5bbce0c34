"""Where an app runs, the user's own pipeline, and who decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from headgate.config.table import Seconds, Table
from headgate.core.allocation import Bounds
from headgate.errors import UserMistake


class ClusterTable(Table):
    """Where it runs: a cluster of its own on this machine, or a master that is already there."""

    master: str | None = Field(None, description="URL of a running cluster; absent: one is started on this machine")
    nodes: int = Field(4, ge=1, le=64, description="nodes of the local cluster, one executor each")
    cores: int = Field(1, ge=1, le=64, description="cores per executor")
    memory_mb: int = Field(512, ge=450, description="heap of an executor; Spark refuses less than 450")
    quota: float | None = Field(0.35, gt=0, description="share of a processor that a node may use, where possible")
    initial: int = Field(1, ge=1, description="executors at the start")
    conf: dict[str, str] = Field(default_factory=dict, description="further Spark settings")


class PipelineTable(Table):
    """The user's own PySpark: a function that takes a session and returns started queries."""

    file: Path
    function: str = "start"
    options: dict[str, Any] = Field(
        default_factory=dict, description="keyword arguments of the function; {folder} in a text is the app's folder"
    )


class ControllerTable(Table):
    """Who decides, within which limits."""

    policy: str = "hpa"
    executors: tuple[int, int] = Field((1, 4), description="least and most executors")
    guards: tuple[str, ...] = ()
    sampling_interval_s: Seconds = 1.0
    retention_s: Seconds | None = Field(None, description="how long the journal keeps samples and ticks")
    dry_run: bool = False
    process: Literal["thread", "separate"] = Field("thread", description="beside the agent, or a process of its own")
    port: int = Field(0, ge=0, le=65535, description="where terminals reach the levers; 0 takes any that is free")

    @property
    def bounds(self) -> Bounds:
        return Bounds(*self.executors)

    @model_validator(mode="after")
    def _bounds_make_sense(self) -> ControllerTable:
        try:
            _ = self.bounds
        except UserMistake as mistake:
            raise ValueError(str(mistake)) from None
        return self
