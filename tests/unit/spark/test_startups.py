"""The watch over starting executors, on processes that only pretend."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headgate.spark import startups
from headgate.spark.startups import LIFTED_FOR_PROCESSOR_S, ExecutorProcess, StartupWatch, WatchedNode


@dataclass
class RecordingGroup:
    path: Path = Path()
    limits: list[float | None] = field(default_factory=list)

    def add(self, pid: int) -> None: ...

    def limit(self, cores: float | None) -> None:
        self.limits.append(cores)

    def pids(self) -> tuple[int, ...]:
        return ()


@dataclass
class Scene:
    group: RecordingGroup
    node: WatchedNode
    watch: StartupWatch
    present: list[ExecutorProcess] = field(default_factory=list)
    worked: set[str] = field(default_factory=set)
    started: list[str] = field(default_factory=list)
    used_s: float = 0.0

    def executor(self, name: str) -> None:
        self.present.append(ExecutorProcess(executor=name, node="node-1", host="127.0.0.2", pid=100 + int(name)))

    def look(self) -> None:
        self.watch.look(self.node)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    group = RecordingGroup()
    node = WatchedNode(name="node-1", host="127.0.0.2", group=group, worker_pid=1, lifted=True)
    watch = StartupWatch(
        [node],
        quota=0.35,
        has_worked=lambda executor: executor in made.worked,
        on_start=lambda process: made.started.append(process.executor),
        used_s=lambda pid: made.used_s,
    )
    made = Scene(group=group, node=node, watch=watch)
    monkeypatch.setattr(startups, "executor_processes", lambda node: list(made.present))
    return made


def test_a_node_without_executors_goes_under_its_quota_once(scene: Scene) -> None:
    scene.look()
    scene.look()
    assert scene.group.limits == [0.35]


def test_the_quota_is_lifted_from_an_executors_start_until_it_has_worked(scene: Scene) -> None:
    scene.look()
    scene.executor("7")
    scene.look()
    scene.look()
    assert scene.group.limits == [0.35, None]
    scene.worked.add("7")
    scene.look()
    assert scene.group.limits == [0.35, None, 0.35]
    assert scene.started == ["7"]


def test_an_executor_that_never_finishes_a_task_gets_only_so_much(scene: Scene) -> None:
    scene.executor("7")
    scene.look()
    scene.used_s = LIFTED_FOR_PROCESSOR_S + 1
    scene.look()
    assert scene.group.limits == [None, 0.35]


def test_a_replacement_on_the_same_node_is_a_start_again(scene: Scene) -> None:
    scene.executor("7")
    scene.worked.add("7")
    scene.look()
    scene.look()
    scene.present.clear()
    scene.executor("8")
    scene.look()
    assert scene.group.limits == [None, 0.35, None]
    assert scene.started == ["7", "8"]


def test_a_node_whose_daemon_is_not_up_is_left_alone(scene: Scene) -> None:
    scene.node.worker_pid = None
    scene.look()
    assert scene.group.limits == []
