"""What a controller knows, as one on another machine finds it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from headgate import codec
from headgate.core.allocation import Allocation, Bounds
from headgate.core.decision import Decision, Outcome, Tick
from headgate.core.knowledge import AppDescription, Engine
from headgate.core.ports import JournalHeader
from headgate.errors import Temporary
from headgate.journal import SqliteJournal, read_journal
from headgate.kafka.knowledge import KnowledgeTopic, Known, SharedJournal
from headgate.kafka.settings import KafkaSettings

DECIDES_AND_DIES = """
import os, sys
from headgate import codec
from headgate.core.decision import Tick
from headgate.kafka.knowledge import KnowledgeTopic
from headgate.kafka.settings import KafkaSettings

topic = KnowledgeTopic(KafkaSettings(sys.argv[1]), "killed")
topic.publish_tick(codec.from_json(Tick, sys.argv[2].encode(), where="arguments"))
os._exit(9)
"""


def header(app: str) -> JournalHeader:
    description = AppDescription(app=app, engine=Engine.MICRO_BATCH, bounds=Bounds(1, 12))
    return JournalHeader(app=app, policy="static:executors=3", description=description)


def tick(index: int, time_s: float) -> Tick:
    size = Allocation(executors=3)
    decision = Decision(time_s=time_s, current=size, wanted=size.with_executors(4), granted=size.with_executors(4))
    return Tick(index=index, time_s=time_s, epoch=2, outcome=Outcome.APPLIED, evaluation=None, decision=decision)


def of_epoch(epoch: int, each: Tick) -> Tick:
    return replace(each, epoch=epoch)


def test_what_a_leader_decided_is_known_although_it_was_killed_just_afterwards(kafka: KafkaSettings) -> None:
    command = [sys.executable, "-c", DECIDES_AND_DIES, kafka.bootstrap, codec.to_json(tick(0, 1.0)).decode()]
    died = subprocess.run(command, timeout=60, check=False)
    assert died.returncode == 9
    assert KnowledgeTopic(kafka, "killed").read().ticks == (tick(0, 1.0),)


def test_what_a_leader_decided_after_the_next_one_led_is_not_gone_on_with(kafka: KafkaSettings) -> None:
    topic = KnowledgeTopic(kafka, "stopped")
    ticks = {
        "before": of_epoch(1, tick(0, 1.0)),
        "next": of_epoch(2, tick(1, 9.0)),
        "last": of_epoch(2, tick(3, 10.0)),
        "late": of_epoch(1, tick(2, 11.0)),
    }
    for each in ticks.values():
        topic.publish_tick(each)
    assert topic.read().ticks == (ticks["before"], ticks["next"], ticks["last"])


def test_who_was_refused_does_not_write_over_what_the_next_leader_knows(kafka: KafkaSettings, tmp_path: Path) -> None:
    topic = KnowledgeTopic(kafka, "refused")
    next_leader = of_epoch(3, tick(0, 5.0))
    refused = replace(of_epoch(2, tick(0, 6.0)), outcome=Outcome.REFUSED)
    journal = SharedJournal(SqliteJournal(tmp_path / "refused.db"), topic)
    journal.open_run(header("refused"))
    topic.publish_tick(next_leader)
    journal.append_tick(refused)
    journal.close()
    assert topic.read().ticks == (next_leader,)
    with read_journal(tmp_path / "refused.db") as reader:
        assert list(reader.ticks()) == [refused], "its own journal tells what happened to it"


def test_a_new_leader_begins_with_what_the_one_before_it_decided(kafka: KafkaSettings, tmp_path: Path) -> None:
    topic = KnowledgeTopic(kafka, "followed")
    topic.publish_header(header("followed"))
    topic.publish_tick(tick(0, 1.0))
    topic.publish_tick(tick(1, 2.0))
    journal = SharedJournal(SqliteJournal(tmp_path / "followed.db"), topic)
    assert list(journal.ticks()) == [tick(0, 1.0), tick(1, 2.0)]
    assert journal.header() == header("followed")
    journal.close()


class Silent(KnowledgeTopic):
    """Kafka does not answer."""

    def read(self) -> Known:
        raise Temporary("Kafka does not tell what is known; trying again")


def test_a_journal_is_let_go_of_when_what_is_known_cannot_be_read(kafka: KafkaSettings, tmp_path: Path) -> None:
    own = SqliteJournal(tmp_path / "silent.db")
    own.open_run(header("silent"))
    own.append_tick(tick(0, 1.0))
    with pytest.raises(Temporary, match="does not tell"):
        SharedJournal(own, Silent(kafka, "silent"))
    assert not (tmp_path / "silent.db-wal").exists(), "its log is folded into the file"


class Unanswered:
    """A producer to which nothing is ever acknowledged."""

    def __init__(self) -> None:
        self.sent, self.waited_s = 0, list[float]()

    def __len__(self) -> int:
        return self.sent

    def produce(self, *_: object, **__: object) -> None:
        self.sent += 1

    def poll(self, _: float) -> int:
        return 0

    def flush(self, within_s: float) -> int:
        self.waited_s.append(within_s)
        return self.sent


def test_a_loop_waits_for_a_broker_that_does_not_answer_only_once(kafka: KafkaSettings) -> None:
    topic = KnowledgeTopic(kafka, "unanswered")
    topic._producer = producer = Unanswered()
    for index in range(3):
        topic.publish_tick(tick(index, float(index)))
    assert producer.sent == 3
    assert len(producer.waited_s) == 1
