"""Two minutes of Daedalus on real Spark and Kafka: it learns, foresees, decides, and can be replayed."""

from __future__ import annotations

from pathlib import Path

import pytest
from app_process import copied, finished, sizes, started, ticks

from headgate.control.replay import replay
from headgate.core.decision import Outcome
from headgate.grammar import spell
from headgate.journal import read_journal
from headgate.policies import Daedalus
from headgate.wiring.specs import make_guards

pytestmark = [pytest.mark.spark, pytest.mark.timeout(700)]

POLICY = Daedalus(
    period_s=10.0,
    window_s=20.0,
    grace_s=20.0,
    long_lived_s=30.0,
    horizon_s=60.0,
    recovery_target_s=60.0,
    ignored_s=5.0,
    first_training_s=40.0,
    downtime_out_s=5.0,
)
SPEC = spell(POLICY)


def test_word_count_is_sized_by_what_was_learned_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HEADGATE_HOME", str(home))
    # More than one executor carries, in batches of some seconds at most, so that there is much to learn from.
    trigger = '"2s"\nrecords_per_trigger = 60000'
    app = copied("word-count.toml", tmp_path, policy=f'"{SPEC}"', peak="20000", trigger_s=trigger)
    with started(app, home) as process:
        document = finished(process, within_s=600)
    assert document["policy"] == SPEC
    assert document["unfinished"] is None
    assert document["query_restarts"] == 0
    assert document["operators"]["count"]["records"] == document["produced"]["lines"]
    journal = Path(document["journal"])
    recorded = ticks(journal)
    reasons = [reason for tick in recorded for reason in tick.decision.reasons if reason.by == "daedalus"]
    codes = {reason.code for reason in reasons}
    # A model was trained beside the loop, adopted at a tick, and used.
    assert {"training-adopted", "forecast-arima"} <= codes
    chosen = [reason.inputs for reason in reasons if "capacity" in reason.inputs]
    assert chosen
    assert all(figures["capacity"] > 0 for figures in chosen)
    assert any(tick.outcome is Outcome.APPLIED for tick in recorded)
    assert max(sizes(journal)) > 1
    with read_journal(journal) as reader:
        again = list(replay(reader, policy=POLICY, guards=make_guards(("step-limit:up=1",)), recorded=True))
    assert again
    assert all(tick.same for tick in again)
