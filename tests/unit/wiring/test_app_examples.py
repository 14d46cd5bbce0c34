"""Every example app is one that could be started: its functions exist, take its options, and its loads can be made."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle

from headgate.config import load_app
from headgate.kafka.settings import KafkaSettings
from headgate.wiring.consumer_group import Group
from headgate.wiring.functions import operator_function
from headgate.wiring.loads import check_loads
from headgate.wiring.specs import make_guards, make_policy

EXAMPLES = Path(__file__).parents[3] / "examples"
PIPELINES = ["advertising", "images", "lake", "sentiment", "taxi", "top-k", "traffic", "word-count"]


@pytest.mark.parametrize("name", PIPELINES)
def test_functions_options_loads_and_policies_of_an_example_exist(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr(cloudpickle.cloudpickle, "_PICKLE_BY_VALUE_MODULES", set())
    app = load_app(EXAMPLES / f"{name}.toml")
    assert app.name == name
    check_loads(app)
    make_policy(app.controller.policy)
    make_guards(app.controller.guards)
    for table in app.operators:
        assert callable(operator_function(table, folder=tmp_path))
    assert {producer.duration_s for producer in app.producers} == {120}


def test_the_example_of_a_consumer_group_could_be_started(tmp_path: Path) -> None:
    app = load_app(EXAMPLES / "consumers.toml")
    check_loads(app)
    group = Group(app=app, app_file=EXAMPLES / "consumers.toml", kafka=KafkaSettings("127.0.0.1:9092"))
    group.check()
    assert group.settings.algorithm == "mbf"
    assert group.lake == app.folder / "lake"
    assert group.command("monitor")[-1] == "--quiet"
