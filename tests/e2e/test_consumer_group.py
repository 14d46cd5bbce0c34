"""A consumer group on real Kafka, with PySpark consumers: it grows, loses a consumer, and leaves an exact lake."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer
from group_bench import GroupBench, running_group

from headgate.consumers.lake import read_table
from headgate.consumers.messages import METADATA, METADATA_TOPIC, SPEEDS_TOPIC, Held, StartConsumingCommand
from headgate.kafka.topics import Topic, ensure_topics

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))


def test_a_group_grows_with_its_load_survives_the_loss_of_a_consumer_and_leaves_an_exact_lake(tmp_path: Path) -> None:
    # Long enough also where a consumer takes most of a minute to start.
    with running_group(tmp_path / "group", workload="step:at_s=35,low=0.3", peak=800.0, duration_s=130.0) as group:
        group.wait_for_note("managed")
        group.wait_for(lambda: len(group.commits()) > 3, "first commits")
        speak_nonsense(group.broker.settings.bootstrap)
        ensure_topics(group.broker.settings, [Topic("rows", 17)], grow=True)
        group.wait_for(lambda: "rows-16" in claimed(group), "the new partition to be read")
        group.wait_for(lambda: any(plan["figures"]["consumers"] > 1 for plan in group.notes("plan")), "a larger plan")
        (reader, *_) = group.readers()
        group.kill_consumer(reader)
        found = group.finished(within_s=240)
        group.check_commits()
    assert found["sink"] == {"exact": True, "summary": f"all {found['produced']} records are in the sink exactly once"}
    assert found["left"] == 0
    assert found["consumers"]["max"] >= 2
    assert found["restarted"] + found["lost"] >= 1
    # What was committed is what the reader for plain Parquet finds, and what lies in the tables' folders.
    tables = [folder.name for folder in group.lake.iterdir() if folder.name[0] not in "._"]
    assert sum(read_table(group.lake, table).num_rows for table in tables) == found["produced"]
    assert Path(found["report"]).read_text().count("<figure") == 5
    log = (group.folder / "controller.log").read_text() + "".join(
        path.read_text() for path in (group.folder / "consumers").glob("*.log")
    )
    for said in ("no message of ours", "unknown schema", "there is none", "never announced itself"):
        assert said in log
    assert "Traceback" not in log


def claimed(group: GroupBench) -> set[str]:
    return {partition for commit in group.commits() for partition in commit.claims}


def speak_nonsense(bootstrap: str) -> None:
    """Garbage on both topics, a command for a partition that does not exist, and one of nobody's controller."""
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    none_such = (Held(topic="rows", number=999, epoch=1 << 40),)
    for number in range(3):
        producer.produce(METADATA_TOPIC, b"garbage", partition=number)
    producer.produce(METADATA_TOPIC, None, partition=0)
    producer.produce(SPEEDS_TOPIC, b"\xc3\x01unknown!and more", partition=0)
    # The first controller's announcement was the first message of all.
    for term in (0, 1 << 40):
        command = StartConsumingCommand(term=term, request=1, partitions=none_such)
        producer.produce(METADATA_TOPIC, METADATA.encode(command), partition=1)
    assert producer.flush(30) == 0
