"""Five minutes of a consumer group with everything going wrong once, and what it took to put it right."""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))

from group_bench import GroupBench, running_group

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.timeout(1800)]

DURATION_S = float(os.environ.get("HEADGATE_SOAK_S", "300"))
CAPACITY = 1_500_000.0
PEAK = 2.2 * CAPACITY / 500
"""Records of 500 bytes a second that need one to four consumers, as they are spread over partitions; two processors
also have to start consumers meanwhile, and to catch up."""


@pytest.mark.parametrize("lake", ["parquet", "delta"])
def test_five_minutes_with_every_fault_once(
    lake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    # Delta writes a transaction for each table of a cycle: up to half a minute while several consumers start.
    scale = 1.0 if lake == "parquet" else 0.25
    with running_group(
        tmp_path / "group",
        capacity=scale * CAPACITY,
        peak=scale * PEAK,
        workload=f"sine:period={DURATION_S:.0f}s,low=0.2,phase=0.75",
        duration_s=DURATION_S,
        lease_s=20.0,
        window_s=30.0,
        tables=2,
        wait_s=2.0,
        # More than the published 5 MB: what has piled up while consumers start is worked off in fewer cycles.
        batch_bytes=20e6,
        format=lake,
    ) as group:
        began_s = time.monotonic()
        group.wait_for_note("managed", within_s=180)

        def at(share: float) -> None:
            wanted_s = began_s + share * DURATION_S
            time.sleep(max(0.0, wanted_s - time.monotonic()))

        at(0.25)
        group.wait_for(lambda: len(group.readers()) > 0, "somebody who reads")
        victim = group.readers()[-1]
        group.kill_consumer(victim)
        at(0.4)
        group.kill_controller()
        at(0.55)
        lost = len(group.notes("lost"))
        group.wait_for(lambda: len(group.readers()) > 0, "somebody who reads")
        with group.paused_consumer(group.readers()[0]):
            group.wait_for(lambda: len(group.notes("lost")) > lost, "a lease that ran out", within_s=90)
            group.wait_for_note("managed", after=len(group.notes("managed")), within_s=120)
        at(0.8)
        group.broker.stop(1)
        time.sleep(3.0)
        group.broker.start(1)
        found = group.finished(within_s=600)
        group.check_commits()
    with capsys.disabled():
        _tell(lake, found, group)
    assert found["sink"]["exact"], found["sink"]["summary"]
    assert found["left"] == 0
    assert all(change["calm_s"] is not None for change in found["changes"])
    assert found["consumers"]["max"] >= 3
    assert found["lost"] >= 1


def _tell(lake: str, found: dict[str, Any], group: GroupBench) -> None:
    changes = found["changes"]
    grown = [change for change in changes if change["ready_s"] > 1]
    print(f"\n{lake}: {found['sink']['summary']}; {len(group.commits())} commits, no offset twice")
    print(
        f"  consumers {found['consumers']['mean']:.2f} on average, {found['consumers']['max']:.0f} at most; "
        f"{found['plans']} plans, {found['moved']} partitions moved, Rscore {found['rscore']:.2f} in all; "
        f"lag at most {found['lag_records']['max']:.0f}, {found['lost']} taken for lost, {found['restarted']} restarted"
    )
    if grown:
        ready = [change["ready_s"] for change in grown]
        print(
            f"  new consumers ready after {statistics.median(ready):.1f} s (median), {max(ready):.1f} at most "
            "(published: 10 to 50 s)"
        )
    if changes:
        handed = [change["handover_s"] for change in changes]
        planned = [change["plan_s"] for change in changes if change["plan_s"] is not None]
        calm = [change["calm_s"] for change in changes if change["calm_s"] is not None]
        print(
            f"  plans made in {1000 * max(planned, default=0.0):.1f} ms at most (published: < 1 s); handover "
            f"{statistics.median(handed):.1f} s (median), {max(handed):.1f} at most (published: about 5 s)"
        )
        print(
            f"  lag normal {statistics.median(calm or [0.0]):.1f} s (median), {max(calm, default=0.0):.1f} at most "
            f"after {len(calm)} of {len(changes)} changes"
        )
