"""The experiment of Elastic Pulsar Functions on real Spark, with shorter intervals than it has by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.experiments import elastic_on_spark
from headgate.experiments.trials import Runner

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.timeout(3600)]


def test_all_four_policies_recognize_every_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(elastic_on_spark, "INTERVAL_S", 40.0)
    found = elastic_on_spark.reproduce(Runner(), tmp_path, lambda _: None)
    (section,) = found.sections
    with capsys.disabled():
        print(f"\n{found.verdict}")
    assert [row.label for row in section.rows] == ["threshold", "DS2", "queueing, path", "queueing, function"]
    for row in section.rows:
        assert row.lag_final.mean == 0
        assert row.mean_s is not None
        assert row.mean_s.mean > 0
    assert not found.virtual
