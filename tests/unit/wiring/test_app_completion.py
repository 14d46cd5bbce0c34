"""When an app of operators is over, judged by checkpoints as Spark writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from headgate.errors import Temporary
from headgate.wiring.completion import Completion, Offsets, Step, position_of


class Chain:
    """Two operators, lines → words → a sink, with a clock of their own."""

    def __init__(self, folder: Path) -> None:
        self.now_s = 0.0
        self.ends: dict[str, dict[int, int]] = {"lines": {0: 0, 1: 0}, "words": {0: 0}}
        self.gone = False
        self.split = Step(name="split", reads=("lines",), checkpoint=folder / "split", trigger_s=1.0)
        self.count = Step(name="count", reads=("words",), checkpoint=folder / "count", trigger_s=2.0)
        self.completion = self.watch()

    def watch(self, starts: Offsets | None = None) -> Completion:
        return Completion(
            [self.split, self.count],
            starts=starts or {},
            ends=self._ends,
            now_s=lambda: self.now_s,
            patience_s=60.0,
        )

    def _ends(self, topics: Sequence[str]) -> Offsets:
        if self.gone:
            raise Temporary("Kafka does not answer")
        return {topic: self.ends[topic] for topic in topics}

    def plan(self, step: Step, batch: int, offset: object) -> None:
        folder = step.checkpoint / "offsets"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(batch)).write_text("\n".join(["v1", "{}", json.dumps(offset)]))
        (folder / f".{batch}.crc").write_bytes(b"")

    def done(self, step: Step, batch: int, offset: object) -> None:
        self.plan(step, batch, offset)
        folder = step.checkpoint / "commits"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')

    def is_over_after(self, seconds: float) -> bool:
        self.completion.reached()
        self.now_s += seconds
        return self.completion.reached()


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    return Chain(tmp_path)


def test_an_app_is_over_when_every_operator_has_taken_all_there_is(chain: Chain) -> None:
    chain.ends = {"lines": {0: 5, 1: 3}, "words": {0: 80}}
    assert not chain.is_over_after(10)
    chain.done(chain.split, 0, {"lines": {"0": 5, "1": 2}})
    assert not chain.is_over_after(10)
    chain.done(chain.split, 1, {"lines": {"0": 5, "1": 3}})
    assert not chain.is_over_after(10)
    chain.done(chain.count, 0, {"words": {"0": 80}})
    assert chain.is_over_after(10)
    assert chain.completion.left is None
    assert chain.completion.taken() == {"split": 8, "count": 80}


def test_a_batch_under_way_may_still_write_and_is_waited_for(chain: Chain) -> None:
    chain.done(chain.split, 0, {"lines": {"0": 0, "1": 0}})
    chain.plan(chain.count, 0, {"words": {"0": 0}})
    assert not chain.is_over_after(10)
    chain.done(chain.count, 0, {"words": {"0": 0}})
    assert chain.is_over_after(10)


def test_it_is_over_only_when_no_further_batch_has_come_for_a_while(chain: Chain) -> None:
    chain.done(chain.split, 0, {"lines": {"0": 0, "1": 0}})
    chain.done(chain.count, 0, {"words": {"0": 0}})
    assert not chain.is_over_after(2)
    chain.done(chain.count, 1, {"words": {"0": 0}})
    assert not chain.is_over_after(4)
    assert chain.is_over_after(2)


def test_nothing_to_do_from_the_start_is_over_too(chain: Chain) -> None:
    assert chain.is_over_after(10)
    assert chain.completion.taken() == {"split": 0, "count": 0}


def test_what_was_in_the_topics_before_the_app_does_not_count(chain: Chain) -> None:
    chain.ends = {"lines": {0: 100, 1: 100}, "words": {0: 7}}
    chain.completion = chain.watch({"lines": {0: 90, 1: 100}, "words": {0: 7}})
    assert not chain.is_over_after(10)
    chain.done(chain.split, 0, {"lines": {"0": 100, "1": 100}})
    assert chain.is_over_after(10)
    assert chain.completion.taken() == {"split": 10, "count": 0}


def test_when_nothing_moves_for_long_waiting_ends_with_the_reason(chain: Chain) -> None:
    chain.ends["lines"] = {0: 5, 1: 0}
    assert not chain.is_over_after(59)
    chain.done(chain.split, 0, {"lines": {"0": 3, "1": 0}})
    assert not chain.is_over_after(59)
    assert chain.is_over_after(2)
    assert chain.completion.left == "nothing has moved for 61 s although 2 records wait for operator 'split'"


def test_a_broker_that_does_not_answer_is_waited_for(chain: Chain) -> None:
    chain.gone = True
    assert not chain.is_over_after(30)
    chain.gone = False
    assert chain.is_over_after(1)


def test_the_embedded_stream_counts_as_a_topic_of_one_partition(tmp_path: Path, chain: Chain) -> None:
    step = Step(name="split", reads=("stream",), checkpoint=tmp_path / "x", trigger_s=1.0)
    assert position_of(step).offsets == {}
    chain.done(step, 4, {"records": 12})
    assert position_of(step).offsets == {"stream": {0: 12}}
    assert not position_of(step).busy
