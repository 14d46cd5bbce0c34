"""A real embedded cluster in a program of its own, seen and killed from outside."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from headgate.errors import UserMistake
from headgate.spark.cluster import LocalCluster
from headgate.spark.leftovers import reclaim, state_folder

APP = Path(__file__).with_name("embedded_app.py")


class EmbeddedApp:
    """The program, what it has said so far, and what became of it."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.home = folder / "home"
        self.words = folder / "stderr"
        temporary = folder / "tmp"
        temporary.mkdir(parents=True)
        environment = os.environ | {"HEADGATE_HOME": str(self.home), "TMPDIR": str(temporary)}
        with self.words.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(APP), *arguments],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
                cwd=folder,
            )
        self.folder = folder

    def hears(self, kind: str) -> dict[str, Any]:
        """The next thing it says; anything else on its output is a failure."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the program ended: {self.words.read_text()}"
        said: dict[str, Any] = json.loads(line)
        assert said["kind"] == kind
        return said

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        reclaim(self.home)


def bearing(token: str) -> list[int]:
    """The processes whose command line has the token."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(token in word for word in process.cmdline()):
                found.append(process.pid)
    return found


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedApp]:
    made = EmbeddedApp(tmp_path_factory.mktemp("app"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def up(app: EmbeddedApp) -> dict[str, Any]:
    return app.hears("up")


@pytest.fixture(scope="module")
def small(app: EmbeddedApp, up: dict[str, Any]) -> dict[str, Any]:
    assert up
    return app.hears("small")


@pytest.fixture(scope="module")
def large(app: EmbeddedApp, small: dict[str, Any]) -> dict[str, Any]:
    assert small
    return app.hears("large")


@pytest.mark.spark
def test_it_says_whether_nodes_have_a_quota(up: dict[str, Any]) -> None:
    assert ("each node has 0.5 of a core" if up["groups"] else "no CPU quotas") in up["note"]


@pytest.mark.spark
def test_a_session_starts_small_although_the_cluster_is_large(small: dict[str, Any]) -> None:
    assert small["registered"] == ["0"]
    assert [place[0] for place in small["executors"].values()] == ["node-1"]


@pytest.mark.spark
def test_asking_for_more_brings_one_executor_to_each_node(large: dict[str, Any]) -> None:
    assert sorted(place[0] for place in large["executors"].values()) == ["node-1", "node-2", "node-3"]
    if sys.platform == "linux":
        assert len({place[1] for place in large["executors"].values()}) == 3


@pytest.mark.spark
def test_the_quota_is_in_force_once_executors_have_worked(up: dict[str, Any], large: dict[str, Any]) -> None:
    assert large["limits"] == ["25000"] * len(up["groups"])


@pytest.mark.spark
def test_spark_says_nothing_on_the_terminal_and_leaves_nothing_in_the_working_folder(
    app: EmbeddedApp, large: dict[str, Any]
) -> None:
    assert large["rows"] == 3
    assert app.words.read_text() == ""
    assert sorted(path.name for path in app.folder.iterdir()) == ["home", "stderr", "tmp"]


@pytest.mark.spark
def test_after_kill_9_the_next_start_clears_up(app: EmbeddedApp, up: dict[str, Any], large: dict[str, Any]) -> None:
    assert large
    app.process.send_signal(signal.SIGKILL)
    app.process.wait()
    assert len(bearing(up["token"])) >= 4, "the master and three Workers outlive their parent"
    found = reclaim(app.home)
    assert found.clusters == 1
    assert found.processes >= 4
    assert bearing(up["token"]) == []
    assert not Path(up["folder"]).exists()
    assert not any(Path(group).exists() for group in up["groups"])
    assert list(state_folder(app.home).iterdir()) == []


@pytest.mark.spark
def test_a_polite_signal_ends_everything(tmp_path: Path) -> None:
    app = EmbeddedApp(tmp_path / "app", "--daemons-only")
    try:
        up = app.hears("up")
        assert len(bearing(up["token"])) == 2
        app.process.send_signal(signal.SIGTERM)
        assert app.process.wait(timeout=60) == 128 + signal.SIGTERM
        assert bearing(up["token"]) == []
        assert not Path(up["folder"]).exists()
        assert not any(Path(group).exists() for group in up["groups"])
        assert list(state_folder(app.home).iterdir()) == []
    finally:
        app.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nodes": 0}, "nodes=0"),
        ({"cores_per_node": 0}, "cores_per_node=0"),
        ({"memory_mb": 100}, "450"),
        ({"initial": 9}, "initial=9"),
        ({"quota": 0.0}, "quota=0"),
    ],
)
def test_an_impossible_cluster_is_refused_in_one_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserMistake, match=words):
        LocalCluster(**options)


def test_a_session_needs_a_running_cluster() -> None:
    with pytest.raises(UserMistake, match="not running"):
        LocalCluster().session("early")
