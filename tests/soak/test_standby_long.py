"""The leader of two controllers is killed or stopped twenty times."""

from __future__ import annotations

import contextlib
import random
import statistics
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))

from standby_bench import standby_bench

from headgate.kafka.broker import LocalBroker

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

TIMES, TAKEOVER_S, SEED = 20, 10.0, 7


@pytest.mark.parametrize("by", ["file", "kafka"])
def test_twenty_leaders(
    by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    chance, took = random.Random(SEED), dict[str, list[float]]({"killed": [], "stopped": []})
    with contextlib.ExitStack() as stack:
        bootstrap = stack.enter_context(LocalBroker()).settings.bootstrap if by == "kafka" else None
        bench = stack.enter_context(standby_bench(tmp_path, takeover_s=TAKEOVER_S, kafka=bootstrap))
        bench.start()
        bench.wait_for_epoch_after(0)
        bench.start()
        for _ in range(TIMES):
            if chance.random() < 0.5:
                took["killed"].append(bench.kill())
                bench.start()
            else:
                took["stopped"].append(bench.pause())
            bench.wait_for_orders(1)
    epochs = [epoch for _, epoch in bench.agent.accepted]
    with capsys.disabled():
        for how, times in took.items():
            print(
                f"\n  by {by}, {how} {len(times)} times: taken over after {statistics.median(times):.1f} s (median), "
                f"{min(times):.1f} to {max(times):.1f} s; allowed {TAKEOVER_S:.0f} s"
            )
        print(f"  {len(epochs)} orders obeyed, {len(bench.agent.refused)} of older leaders refused")
    assert epochs == sorted(epochs)
    assert max(epochs) >= TIMES + 1
    assert all(offered < newest for offered, newest in bench.agent.refused)
