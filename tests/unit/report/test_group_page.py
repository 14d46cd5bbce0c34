"""The page about a consumer group, from its chronicle."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.consumers.chronicle import Chronicle
from headgate.errors import UserMistake
from headgate.report.group import GroupCourse, group_page


@pytest.fixture
def chronicle(tmp_path: Path) -> Path:
    path, now_s = tmp_path / "group.jsonl", 100.0
    told = Chronicle(path, now_s=lambda: now_s)
    plan = {"consumers": 2, "moved": 3, "rscore": 0.4, "bytes_per_s": 9.0, "capacity": 10.0}
    told.tell("note", code="plan", message="2 consumers <now>", figures=plan)
    for second in range(20):
        now_s = 100.0 + second
        lag = {"lag": {"rows-0": 10 * second, "rows-10": 5}} if second % 2 == 0 else {}
        told.tell(
            "group",
            speeds={"rows-10": 5.0, "rows-0": 4.0},
            records_per_s=9.0,
            assignment={"rows-0": 1, "rows-10": 2},
            consumers=[1] if second < 10 else [1, 2],
            phase="sentinel",
            **lag,
        )
    managed = {"ready_s": 12.0, "handover_s": 1.5, "seconds": 13.5, "consumers": 2}
    told.tell("note", code="managed", message="done", figures=managed)
    told.tell("note", code="lost", message="consumer 2 was silent", figures={"consumer": 2})
    told.close()
    return path


def test_figures_are_those_of_the_chronicle(chronicle: Path) -> None:
    found = GroupCourse.read(chronicle, app="rows").to_document()
    assert found["consumers"] == {"mean": 1.5, "min": 1.0, "max": 2.0}
    assert found["bytes_per_s"]["mean"] == 9.0
    assert found["lag_records"]["max"] == 185.0
    assert (found["plans"], found["moved"], found["rscore"]) == (1, 3, 0.4)
    assert (found["ready_s"], found["handover_s"], found["lost"]) == (12.0, 1.5, 1)


def test_a_change_is_over_when_the_lag_is_normal_again(tmp_path: Path) -> None:
    path, now_s = tmp_path / "group.jsonl", 0.0
    told = Chronicle(path, now_s=lambda: now_s)
    for second in range(30):
        now_s = float(second)
        if second == 9:
            told.tell("note", code="plan", message="", figures={"moved": 1, "rscore": 0.1, "plan_s": 0.25})
        if second == 12:
            managed = {"ready_s": 0.0, "handover_s": 3.0, "seconds": 3.0}
            told.tell("note", code="managed", message="", figures=managed)
        lag = {"rows-0": 41 if 10 <= second < 16 else 40}
        look = {"speeds": {"rows-0": 40.0}, "records_per_s": 4.0, "assignment": {}, "consumers": [1], "lag": lag}
        told.tell("group", **look, phase="sentinel")
    told.close()
    (change,) = GroupCourse.read(path, app="rows").to_document()["changes"]
    assert change == {"plan_s": 0.25, "ready_s": 0.0, "handover_s": 3.0, "seconds": 3.0, "calm_s": 4.0}


def test_a_lag_that_stays_is_not_normal_because_it_is_usual(tmp_path: Path) -> None:
    path, now_s = tmp_path / "group.jsonl", 0.0
    told = Chronicle(path, now_s=lambda: now_s)
    for second in range(30):
        now_s = float(second)
        if second == 9:
            told.tell("note", code="managed", message="", figures={"ready_s": 0.0, "handover_s": 3.0, "seconds": 3.0})
        look = {"speeds": {"rows-0": 40.0}, "records_per_s": 4.0, "assignment": {}, "consumers": [1]}
        told.tell("group", **look, phase="sentinel", lag={"rows-0": 41})
    told.close()
    (change,) = GroupCourse.read(path, app="rows").to_document()["changes"]
    assert change["calm_s"] is None


def test_the_page_has_every_figure_and_no_markup_of_others(chronicle: Path) -> None:
    page = group_page(GroupCourse.read(chronicle, app="rows"))
    for title in ("Consumers", "Write speed of each partition", "Lag of each partition", "Changes of the group"):
        assert title in page
    assert page.count("<figure") == 5
    assert "<now>" not in page
    # Partitions in the order of their numbers, not of their letters.
    assert page.index("rows-0") < page.index("rows-10")


def test_a_group_that_has_just_begun_has_a_page_too(tmp_path: Path) -> None:
    path = tmp_path / "group.jsonl"
    Chronicle(path).close()
    course = GroupCourse.read(path, app="rows")
    assert "Consumer group rows" in group_page(course)
    assert course.to_document()["consumers"]["mean"] == 0.0


def test_a_chronicle_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="cannot be read"):
        GroupCourse.read(tmp_path / "none.jsonl", app="rows")
