"""The app file: what ``headgate run`` starts, as TOML, validated before anything happens.

Every mistake is reported with its key and a remedy. Paths are relative to the file. Nothing here
starts anything; ``wiring`` does.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from headgate.core.allocation import Bounds
from headgate.core.units import parse_duration_s
from headgate.errors import UserMistake, nearest


def _seconds(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_duration_s(value)
    except UserMistake as mistake:
        raise ValueError(str(mistake)) from None


Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ClusterTable(_Table):
    """Where it runs: a cluster of its own on this machine, or a master that is already there."""

    master: str | None = Field(None, description="URL of a running cluster; absent: one is started on this machine")
    nodes: int = Field(4, ge=1, le=64, description="nodes of the local cluster, one executor each")
    cores: int = Field(1, ge=1, le=64, description="cores per executor")
    memory_mb: int = Field(512, ge=450, description="heap of an executor; Spark refuses less than 450")
    quota: float | None = Field(0.35, gt=0, description="share of a processor that a node may use, where possible")
    initial: int = Field(1, ge=1, description="executors at the start")
    conf: dict[str, str] = Field(default_factory=dict, description="further Spark settings")


class StreamTable(_Table):
    """The embedded stream: records by a workload, real work on each, a Parquet sink that can be audited."""

    workload: str = Field(description="shape or CSV, as on the command line")
    peak: float | None = Field(None, gt=0, description="rescale the workload's maximum to this rate")
    duration_s: Seconds | None = Field(None, description="cut or repeat the workload")
    time_scale: float = Field(1.0, gt=0, description="compress time")
    process: Literal["even", "poisson"] = "even"
    seed: int = 0
    partitions: int = Field(8, ge=1, le=1024, description="tasks that a micro-batch is cut into")
    cost_us: float = Field(100.0, ge=0, description="processor time to spend on each record, in microseconds")
    trigger_s: Seconds = 1.0
    records_per_trigger: int | None = Field(None, ge=1)


class PipelineTable(_Table):
    """The user's own PySpark: a function that takes a session and returns started queries."""

    file: Path
    function: str = "start"
    options: dict[str, Any] = Field(
        default_factory=dict, description="keyword arguments of the function; {folder} in a text is the app's folder"
    )


class ControllerTable(_Table):
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


class AppFile(_Table):
    """One app: a pipeline, the cluster it runs on, and its controller."""

    name: str = Field(min_length=1, max_length=100, pattern=r"^[\w.-]+$")
    folder: Path = Field(Path(), description="for journal, checkpoint and sink")
    slo_latency_s: Seconds = Field(10.0, description="latency that a record should stay under")
    cluster: ClusterTable = ClusterTable()
    stream: StreamTable | None = None
    pipeline: PipelineTable | None = None
    controller: ControllerTable = ControllerTable()

    @model_validator(mode="after")
    def _one_stream(self) -> AppFile:
        if (self.stream is None) == (self.pipeline is None):
            raise ValueError("give either a [stream] or a [pipeline] table, and not both")
        if self.cluster.master is None and self.controller.bounds.most > self.cluster.nodes:
            raise ValueError(
                f"controller.executors goes up to {self.controller.bounds.most}, but cluster.nodes is "
                f"{self.cluster.nodes}; raise cluster.nodes or lower controller.executors"
            )
        return self


def load_app(path: Path) -> AppFile:
    """Read and check an app file; its paths become absolute."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserMistake(f"app file {path} cannot be read: {reason}; check the path") from None
    app = parse_app(text, where=str(path))
    home = path.resolve().parent
    pipeline = app.pipeline
    if pipeline is not None:
        pipeline = pipeline.model_copy(update={"file": home / pipeline.file})
        if not pipeline.file.is_file():
            raise UserMistake(f"{path}: pipeline.file {pipeline.file} does not exist; give the path of a Python file")
    return app.model_copy(update={"folder": home / app.folder, "pipeline": pipeline})


def parse_app(text: str, *, where: str) -> AppFile:
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserMistake(f"{where} is not valid TOML: {error}; correct it there") from None
    try:
        return AppFile.model_validate(data)
    except ValidationError as error:
        raise UserMistake(f"{where}: {_sentence(error)}") from None


def _sentence(error: ValidationError) -> str:
    # An unknown key is often the misspelling of one that is then missing, so it is the better one to name.
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    key = ".".join(str(part) for part in first["loc"]) or "the file"
    if first["type"] == "extra_forbidden":
        known = _keys_beside(first["loc"])
        return f"{key} is not a known key{nearest(str(first['loc'][-1]), known)}"
    if first["type"] == "missing":
        return f"{key} is missing; add it (`headgate schema app` lists every key)"
    message = first["msg"].removeprefix("Value error, ")
    return f"{key}: {message[0].lower() + message[1:]} (`headgate schema app` lists what each key takes)"


def _keys_beside(place: tuple[int | str, ...]) -> list[str]:
    """The keys that the table of an unknown key does have."""
    table: Any = AppFile
    for part in place[:-1]:
        annotation = table.model_fields[str(part)].annotation
        options = [annotation, *getattr(annotation, "__args__", ())]
        table = next(option for option in options if isinstance(option, type) and issubclass(option, BaseModel))
    return list(table.model_fields)
