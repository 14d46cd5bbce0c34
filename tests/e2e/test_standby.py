"""Controllers that stand by for each other, as real processes: the leader is killed, and stopped for a while."""

from __future__ import annotations

from pathlib import Path

import pytest
from standby_bench import APP, POLICY, StandbyBench, standby_bench, wait_until

from headgate.core.decision import Tick
from headgate.journal import read_journal
from headgate.kafka.knowledge import KnowledgeTopic
from headgate.kafka.settings import KafkaSettings

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))


def replaced_twice(bench: StandbyBench) -> None:
    """The first leader is killed and the second one stopped; what it does when it comes back is seen."""
    bench.start()
    bench.wait_for_epoch_after(0)
    bench.wait_for_orders(2)
    bench.start()
    bench.kill()
    bench.start()
    stopped = bench.leader()
    bench.pause()
    # It comes back, finds that another leads, and says so.
    log = bench.folder / "controllers.log"
    wait_until(lambda: "taken over" in log.read_text() or "leads by now" in log.read_text(), what="its standing by")
    assert stopped.poll() is None
    assert bench.leader() is not stopped
    bench.wait_for_orders(2)


def check_epochs(bench: StandbyBench) -> None:
    epochs = [epoch for _, epoch in bench.agent.accepted]
    assert epochs == sorted(epochs), "no order of an older leader was obeyed after one of a newer"
    assert all(offered < newest for offered, newest in bench.agent.refused)
    assert max(epochs) >= 3


def ticks(journal: Path) -> list[Tick]:
    with read_journal(journal) as reader:
        return list(reader.ticks())


def test_a_leader_that_is_killed_or_stopped_is_replaced_and_cannot_act_any_more(tmp_path: Path) -> None:
    with standby_bench(tmp_path, takeover_s=2.0) as bench:
        replaced_twice(bench)
    check_epochs(bench)
    recorded = [tick.epoch for tick in ticks(tmp_path / "watched.db")]
    assert recorded == sorted(recorded)
    assert recorded[-1] == bench.agent.accepted[-1][1]


def test_on_several_machines_a_leader_is_found_through_kafka_and_knows_what_the_one_before_it_knew(
    tmp_path: Path, kafka: KafkaSettings
) -> None:
    with standby_bench(tmp_path, takeover_s=10.0, kafka=kafka.bootstrap) as bench:
        replaced_twice(bench)
        newest = bench.agent.epoch
    check_epochs(bench)
    # The newest leader has a journal of its own, and in it what the first one decided.
    first, *others = [ticks(path) for path in sorted(tmp_path.glob("watched-*.db"))]
    (of_the_newest,) = [found for found in others if found and found[-1].epoch == newest]
    assert first
    assert {tick.index for tick in first} <= {tick.index for tick in of_the_newest if tick.epoch == first[0].epoch}
    known = KnowledgeTopic(kafka, "watched").read()
    assert known.epoch >= newest
    assert known.header is not None
    assert known.ticks[-1].time_s >= first[-1].time_s


def test_one_process_controls_two_apps_and_goes_on_when_one_of_them_is_gone(tmp_path: Path) -> None:
    with standby_bench(tmp_path, takeover_s=2.0) as bench:
        with standby_bench(tmp_path, takeover_s=2.0, app="other") as other:
            bench.start_with(
                *("--app", APP, "--app", "other", "--journal", str(tmp_path / "journals")),
                *("--policy", POLICY, "--policy", "other=threshold-busy:low=0.2,high=0.5,period_s=1,window_s=2"),
            )
            bench.wait_for_epoch_after(0)
            other.wait_for_epoch_after(0)
            bench.wait_for_orders(1)
            other.wait_for_orders(1)
        # The other app's agent is gone; this one's controller does not mind.
        bench.wait_for_orders(2)
    journals = sorted((tmp_path / "journals").glob("*.db"))
    assert [path.name.partition("-")[0] for path in journals] == ["other", APP]
    assert all(ticks(path) for path in journals)
