"""Controllers that stand by for each other, as real processes: the leader is killed, and stopped for a while."""

from __future__ import annotations

from pathlib import Path

import pytest
from standby_bench import standby_bench, wait_until

from headgate.journal import read_journal

pytestmark = pytest.mark.timeout(180)


def test_a_leader_that_is_killed_or_stopped_is_replaced_and_cannot_act_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    with standby_bench(tmp_path, takeover_s=2.0) as bench:
        bench.start()
        bench.wait_for_epoch_after(0)
        bench.start()
        bench.kill()
        bench.start()
        stopped = bench.leader()
        bench.pause()
        # It comes back, finds that another leads, and says so.
        log = tmp_path / "controllers.log"
        wait_until(lambda: "taken over" in log.read_text() or "leads by now" in log.read_text(), what="its standing by")
        assert stopped.poll() is None
        assert bench.leader() is not stopped
        orders = len(bench.agent.accepted)
        wait_until(lambda: len(bench.agent.accepted) > orders + 1, what="orders of the new leader")
    epochs = [epoch for _, epoch in bench.agent.accepted]
    assert epochs == sorted(epochs), "no order of an older leader was obeyed after one of a newer"
    assert all(offered < newest for offered, newest in bench.agent.refused)
    assert max(epochs) >= 3
    with read_journal(tmp_path / "watched.db") as reader:
        recorded = [tick.epoch for tick in reader.ticks()]
    assert recorded == sorted(recorded)
    assert recorded[-1] == max(epochs)
