"""What is wrong with a session is said before anything starts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from headgate.core.allocation import Bounds
from headgate.errors import Permanent, Temporary, UserMistake
from headgate.spark.gateway import translate
from headgate.spark.session_check import check_session, cores_per_executor, detect_cluster, locality_wait, size_limit


def session(master: str = "spark://host:7077", *, stopped: bool = False, **settings: str) -> Any:
    conf = {key.replace("_", "."): value for key, value in settings.items()}
    scala_context = SimpleNamespace(isStopped=lambda: stopped)
    context = SimpleNamespace(
        master=master, _jsc=SimpleNamespace(sc=lambda: scala_context), getConf=lambda: SimpleNamespace(get=conf.get)
    )
    return SimpleNamespace(sparkContext=context)


def test_a_session_with_room_for_the_bounds_is_fine() -> None:
    check_session(session(spark_cores_max="8", spark_executor_cores="2"), Bounds(1, 4))
    check_session(session(), Bounds(1, 400))
    check_session(session("k8s://https://host:6443", spark_cores_max="1", spark_executor_cores="1"), Bounds(1, 4))


@pytest.mark.parametrize(("setting", "waits"), [({}, "3s"), ({"spark_locality_wait": "0s"}, None)])
def test_how_long_state_stays_put(setting: dict[str, str], waits: str | None) -> None:
    assert locality_wait(session(**setting)) == waits


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (session("local[*]"), ["local[*]", "local-cluster"]),
        (session("local"), ["no executors to add"]),
        (session(stopped=True), ["stopped"]),
        (session(spark_dynamicAllocation_enabled="true"), ["spark.dynamicAllocation.enabled", "false"]),
        (session(spark_cores_max="4", spark_executor_cores="2"), ["spark.cores.max=4", "2 executors", "up to 3"]),
        (session("local-cluster[2,1,512]"), ["local-cluster[2,1,512]", "2 executors"]),
    ],
)
def test_each_obstacle_is_one_sentence_with_a_remedy(wrong: Any, words: list[str]) -> None:
    with pytest.raises(UserMistake) as caught:
        check_session(wrong, Bounds(1, 3))
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_connect_session_is_refused() -> None:
    connect = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    with pytest.raises(UserMistake, match="Spark Connect"):
        check_session(connect, Bounds(1, 3))


@pytest.mark.parametrize(
    ("master", "name"),
    [
        ("spark://host:7077", "standalone"),
        ("local-cluster[2,1,1024]", "local-cluster"),
        ("k8s://https://host:6443", "kubernetes"),
        ("yarn", "yarn"),
        ("local[4]", "local"),
    ],
)
def test_the_cluster_manager_is_known_by_its_master(master: str, name: str) -> None:
    assert detect_cluster(session(master)) == name


def test_the_most_executors_that_settings_allow_is_known_where_they_say() -> None:
    assert size_limit(session(spark_cores_max="8", spark_executor_cores="2")) == 4
    assert size_limit(session("local-cluster[3,2,1024]", spark_executor_cores="1")) == 6
    assert size_limit(session("yarn")) is None
    assert cores_per_executor(session(spark_executor_cores="2")) == 2
    assert cores_per_executor(session()) is None


def test_what_py4j_raises_becomes_an_error_that_the_loop_knows() -> None:
    passing = translate(Py4JError("An error occurred\nwith a trace"), stopped=False)
    assert isinstance(passing, Temporary)
    assert "An error occurred" in str(passing)
    assert "\n" not in str(passing)
    assert isinstance(translate(Py4JError("x"), stopped=True), Permanent)
    assert isinstance(translate(Py4JNetworkError("refused"), stopped=None), Permanent)
