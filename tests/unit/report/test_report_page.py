from __future__ import annotations

import re
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from headgate.errors import UserMistake
from headgate.journal.memory import MemoryJournal
from headgate.report import ReportRun, write_report
from headgate.scoring import score

RunMaker = Callable[..., MemoryJournal]

FIGURES = ("Load against throughput", "Executors", "Lag", "Latency over time", "Latency distribution")
_VOID = {"meta", "path", "br"}


class Structure(HTMLParser):
    """Which elements there are, and whether every one is closed in its turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.seen)


def parsed(text: str) -> Structure:
    structure = Structure()
    structure.feed(text)
    structure.close()
    assert structure.open == []
    return structure


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    def write(*runs: ReportRun, **options: Any) -> str:
        path = tmp_path / "report.html"
        write_report(runs, path, **options)
        return path.read_text(encoding="utf-8")

    return write


@pytest.fixture(scope="module")
def hour(make_run: RunMaker) -> MemoryJournal:
    return make_run()


def plain(text: str) -> str:
    return text.replace("\u202f", " ").replace("\u00a0", " ")


def test_one_run_has_all_figures_each_with_a_name_for_screen_readers(
    hour: MemoryJournal, written: Callable[..., str]
) -> None:
    structure = parsed(written(ReportRun(label="hpa", reader=hour)))

    drawings = [attributes["aria-label"] for tag, attributes in structure.seen if tag == "svg" and "role" in attributes]
    assert [name.split(".")[0] for name in drawings if name] == list(FIGURES)


def test_the_first_sentence_says_what_the_run_achieved(hour: MemoryJournal, written: Callable[..., str]) -> None:
    result = score(hour)

    text = plain(written(ReportRun(label="hpa", reader=hour, result=result)))

    assert "Carried 2.88 M records with 3.75 executors on average (38 % fewer than always running 6)" in text
    assert f"{result.rescalings} rescalings, no restarts." in text
    assert "1 executor was lost on the way." in text


def test_a_given_result_is_shown_instead_of_a_computed_one(hour: MemoryJournal, written: Callable[..., str]) -> None:
    document = score(hour).to_document() | {"rescalings": 777}

    assert "777 rescalings" in written(ReportRun(label="hpa", reader=hour, result=document))


def test_every_change_is_told_with_its_reasons_and_quiet_times_are_told_together(
    hour: MemoryJournal, written: Callable[..., str]
) -> None:
    text = written(ReportRun(label="hpa", reader=hour))

    changes = [tick for tick in hour.ticks() if tick.decision.changes]
    assert len(re.findall('<tr class="row-change">', text)) == len(changes)
    assert len(re.findall('<tr class="row-(?:quiet|held)">', text)) < len(list(hour.ticks())) - len(changes)
    assert "7 is outside 1..6" in text
    assert "no batch has finished yet" in text


def test_events_are_listed_and_the_alarming_ones_marked_in_the_figure(
    hour: MemoryJournal, written: Callable[..., str]
) -> None:
    text = written(ReportRun(label="hpa", reader=hour))

    assert 'title="executor lost: executor 4 was lost: exit 137 (0:25:00)"' in text
    assert "<td>executor 4 was lost: exit 137</td>" in text


def test_the_page_calls_nowhere(hour: MemoryJournal, written: Callable[..., str]) -> None:
    text = written(ReportRun(label="hpa", reader=hour))

    assert not re.search(r"https?://|//[a-z]+\.|@import|url\(", text)
    assert all("src" not in attributes and "href" not in attributes for _, attributes in parsed(text).seen)
    assert "default-src 'none'" in text


def test_the_page_is_made_for_phones_dark_rooms_and_paper(hour: MemoryJournal, written: Callable[..., str]) -> None:
    text = written(ReportRun(label="hpa", reader=hour))

    assert 'name="viewport"' in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_what_users_name_is_never_read_as_html(make_run: RunMaker, written: Callable[..., str]) -> None:
    evil = "<script>alert(1)</script>\"'>"
    journal = make_run(app=evil, policy=evil, workload=evil, reason=evil, duration_s=300)

    for text in (
        written(ReportRun(label=evil, reader=journal)),
        written(ReportRun(label=evil, reader=journal), ReportRun(label="b", reader=journal), title=evil),
    ):
        assert "<script>alert" not in text
        assert parsed(text).count("script") == 1


def test_several_runs_begin_with_a_comparison_and_share_their_figures(
    hour: MemoryJournal, make_run: RunMaker, written: Callable[..., str]
) -> None:
    lean = make_run(target=1.0, mishaps=False)

    text = written(ReportRun(label="roomy", reader=hour), ReportRun(label="lean", reader=lean))

    comparison = text.index('class="scroll comparison"')
    assert comparison < text.index("<figure")
    assert "lean needed the fewest executors" in text
    assert re.search(r'<td class="number best">3\.13</td>', text)
    assert not re.search(r'<td class="number best">3\.75</td>', text)
    assert text.count('data-label="lean"') == 3
    assert text.count('class="chart small"') == 2


def test_runs_of_different_workloads_are_compared_within_their_workload(
    make_run: RunMaker, written: Callable[..., str]
) -> None:
    runs = [
        ReportRun(label=f"{target}", reader=make_run(target=target, workload=workload, duration_s=600))
        for workload in ("sine", "spike")
        for target in (0.5, 1.0)
    ]

    text = written(*runs)

    assert "Workload <code>sine</code>" in text
    assert "Workload <code>spike</code>" in text
    assert text.count('class="scroll comparison"') == 2


def test_a_day_sampled_every_second_is_still_a_small_page(make_run: RunMaker, written: Callable[..., str]) -> None:
    day = make_run(duration_s=86_400, period_s=60, started_s=1_790_000_000.0)

    text = written(ReportRun(label="hpa", reader=day))

    assert len(text) < 1_000_000
    assert len(re.findall(r"[LV]", max(re.findall(r' d="([^"]*)"', text), key=len))) <= 4_000


def test_a_run_that_has_just_begun_has_a_page_too(make_run: RunMaker, written: Callable[..., str]) -> None:
    text = written(ReportRun(label="hpa", reader=make_run(duration_s=1)))

    parsed(text)
    assert "No decision was recorded." in text
    parsed(written(ReportRun(label="hpa", reader=make_run(duration_s=0))))


def test_no_charting_library_is_needed(
    hour: MemoryJournal, written: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)

    assert "<figure" in written(ReportRun(label="hpa", reader=hour))


def test_a_place_that_cannot_be_written_is_named(hour: MemoryJournal, tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="cannot be written"):
        write_report([ReportRun(label="hpa", reader=hour)], tmp_path / "absent" / "report.html")

    assert list(tmp_path.iterdir()) == []


def test_a_report_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="at least one run"):
        write_report([], tmp_path / "report.html")


def test_a_long_run_shows_its_changes_apart_from_its_quiet_times(
    make_run: RunMaker, written: Callable[..., str]
) -> None:
    journal = make_run(duration_s=4 * 3600)

    text = written(ReportRun(label="hpa", reader=journal))

    changes = sum(tick.decision.changes for tick in journal.ticks())
    apart, whole = re.findall(
        r"<details[^>]*><summary>[^<]*(?:change of size|changes of size|without a change).*?</details>", text
    )
    assert 'class="changes"' in apart
    assert apart.count('class="row-change"') == whole.count('class="row-change"') == changes
    assert "row-quiet" not in apart
    assert "row-quiet" in whole


def test_a_table_that_is_cut_says_how_much_it_leaves_off(
    hour: MemoryJournal, written: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    events = sum(len(sample.events) for sample in hour.samples())
    assert "more rows in the journal" not in written(ReportRun(label="hpa", reader=hour))

    monkeypatch.setattr("headgate.report.sections._MOST_ROWS", 2)
    text = written(ReportRun(label="hpa", reader=hour))

    parsed(text)
    (table,) = re.findall(r"<details[^>]*><summary>[^<]* events?, .*?</details>", text)
    assert f"… and {events - 2} more rows in the journal" in plain(table)
    assert table.count('<td class="when">') == 2
