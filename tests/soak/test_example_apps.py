"""Every example pipeline, run as users run it: fed by its producer, sized by its policy, worked off to its end."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow.dataset
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))

from app_process import copied, eventually, finished, sizes, started, ticks

from headgate.config import AppFile, load_app
from headgate.kafka.broker import LocalBroker

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.timeout(900)]

AUDITED = {"images", "lake", "sentiment", "taxi"}
"""Those whose sink has a row for each record."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize("name", ["images", "sentiment", "taxi", "top-k"])
def test_an_example_works_off_what_is_produced_and_ends_by_itself(name: str, tmp_path: Path, home: Path) -> None:
    path = copied(f"{name}.toml", tmp_path)
    with started(path, home, "--duration", "60s") as process:
        document = finished(process, within_s=500)
    check(load_app(path), document)


@pytest.mark.parametrize(
    ("name", "restarts"), [("word-count", False), ("advertising", False), ("traffic", True), ("lake", True)]
)
def test_two_minutes_under_a_sine_are_worked_off_also_when_the_broker_restarts(
    name: str, restarts: bool, tmp_path: Path, home: Path
) -> None:
    with LocalBroker() as broker:
        path = copied(f"{name}.toml", tmp_path, bootstrap=f'"{broker.settings.bootstrap}"')
        app = load_app(path)
        with started(path, home, "--duration", "2m") as process:
            if restarts:
                journal = app.folder / f"{name}.db"
                eventually(lambda: len(ticks(journal)) >= 12, what="a minute of the stream")
                broker.stop(1)
                broker.start(1)
            document = finished(process, within_s=600)
    check(app, document)
    assert max(sizes(Path(document["journal"]))) > 1, "the peak needs more than one executor"
    page = Path(document["report"]).read_text()
    assert all(word in page for word in ("Executors", "Lag"))
    # Lines are broken where a terminal would end.
    said = " ".join((path.parent / "stderr.txt").read_text().split())
    if restarts:
        assert "is away; the producer goes on trying" in said
        assert "Kafka is back" in said


def check(app: AppFile, document: dict[str, Any]) -> None:
    """Nothing is left, nothing was restarted, and every sink has what it should."""
    told = {key: document[key] for key in ("executors", "latency_s", "lag_records", "rescalings", "produced", "sink")}
    sys.stdout.write(f"\n{app.name}: {told}\n")
    assert document["unfinished"] is None
    assert document["query_restarts"] == 0
    first = app.producers[0].topic
    for table in app.operators:
        taken = document["operators"][table.name]["records"]
        assert taken > 0
        if table.reads == (first,):
            assert taken == document["produced"][first]
        if table.sink is not None:
            sink = Path(table.sink.path.replace("{folder}", str(app.folder)))
            assert pyarrow.dataset.dataset(sink, format="parquet").count_rows() > 0
    assert (document["sink"] is not None) == (app.name in AUDITED)
    assert document["sink"] is None or document["sink"]["exact"], document["sink"]
