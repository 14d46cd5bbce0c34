"""Where an app begins in its topics, and which numbers its producers give out, from run to run."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from headgate.config import AppFile, parse_app
from headgate.kafka.settings import KafkaSettings
from headgate.wiring.kafka_side import KafkaSide

APP = """
name = "x"
[kafka]
bootstrap = "{bootstrap}"
[[topics]]
name = "{topic}-others"
partitions = 1
[[topics]]
name = "{topic}-out"
partitions = 1
[[operators]]
name = "first"
function = "m:f"
reads = ["{topic}", "{topic}-others"]
writes = "{topic}-out"
[[operators]]
name = "second"
function = "m:f"
reads = ["{topic}-out"]
sink = {{}}
[[producers]]
topic = "{topic}"
records = "rows"
workload = "constant:rate=100"
duration_s = 1
"""


@pytest.fixture
def app(tmp_path: Path, kafka: KafkaSettings) -> AppFile:
    (tmp_path / "app").mkdir()
    text = APP.format(bootstrap=kafka.bootstrap, topic=f"topics-{uuid4().hex[:8]}")
    return parse_app(text, where="app.toml").model_copy(update={"folder": tmp_path / "app"})


@contextlib.contextmanager
def producing(app: AppFile) -> Iterator[KafkaSide]:
    side = KafkaSide(app, say=print)
    with contextlib.ExitStack() as stack:
        side.open(stack)
        side.produce(stack)
        yield side


def until_produced(side: KafkaSide) -> None:
    deadline_s = time.monotonic() + 60
    while not side.all_produced():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def test_a_second_run_in_the_same_folder_gives_out_the_numbers_that_follow(app: AppFile) -> None:
    topic = app.producers[0].topic
    for run in (1, 2):
        with producing(app) as side:
            until_produced(side)
            assert side.produced() == {topic: 100}
            assert sum(side.ends([topic])[topic].values()) == 100 * run
        assert side.note.produced == {topic: 100 * run}
        assert side.note.whole
        assert set(side.note.starts[topic].values()) == {0}


def test_a_run_in_another_folder_begins_after_what_is_there_already(app: AppFile, tmp_path: Path) -> None:
    with producing(app) as side:
        until_produced(side)
    (tmp_path / "other").mkdir()
    with producing(app.model_copy(update={"folder": tmp_path / "other"})) as other:
        assert sum(other.note.starts[app.producers[0].topic].values()) == 100
        assert other.note.produced == {app.producers[0].topic: 100}


def test_a_run_that_was_cut_short_leaves_numbers_that_nobody_has_seen(app: AppFile) -> None:
    with producing(app.shortened(600.0)) as side:
        assert not side.all_produced()
    assert not side.note.whole
    assert side.note.produced[app.producers[0].topic] == 60_000


def test_what_another_cluster_has_left_is_set_aside(app: AppFile) -> None:
    with producing(app) as side:
        until_produced(side)
    note = app.folder / "topics.json"
    note.write_text(json.dumps({**json.loads(note.read_text()), "cluster": "gone"}))
    (app.folder / "checkpoints" / "first").mkdir(parents=True)
    with producing(app) as side:
        assert side.note.produced == {app.producers[0].topic: 100}
    assert not (app.folder / "checkpoints").exists()
    assert len(list((app.folder / "earlier").glob("*/checkpoints/first"))) == 1
