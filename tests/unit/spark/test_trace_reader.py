"""The trace source without Spark: schedule, limits, partitions and content."""

from __future__ import annotations

import datetime
import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from headgate.errors import UserMistake
from headgate.spark import trace_source
from headgate.spark.content import KEYS, keys_of, values_of
from headgate.spark.trace_options import TraceOptions
from headgate.spark.trace_source import TraceReader, TraceSource, cut

START_S = 1_800_000_000.0


def reader(**options: object) -> TraceReader:
    given = {"workload": "constant:rate=100", "start_time_s": START_S, "duration_s": 60.0, **options}
    return TraceReader(TraceOptions(**given))  # type: ignore[arg-type]


def at(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(trace_source.time, "time", lambda: START_S + seconds)


def read(source: TraceReader, first: int, end: int) -> pa.Table:
    partitions = source.partitions({"records": first}, {"records": end})
    return pa.Table.from_batches([batch for partition in partitions for batch in source.read(partition)])


def test_the_clock_decides_how_many_records_have_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    source = reader()
    for seconds, records in ((-5, 0), (0, 0), (2.5, 250), (60, 6000), (1e6, 6000)):
        at(monkeypatch, seconds)
        assert source.latestOffset({"records": 0}, ReadAllAvailable()) == {"records": records}
        assert source.reportLatestOffset() == {"records": records}


def test_a_limit_holds_back_and_the_backlog_stays_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    source = reader(records_per_trigger=70)
    at(monkeypatch, 10)
    limit = source.getDefaultReadLimit()
    assert limit == ReadMaxRows(70)
    assert source.latestOffset({"records": 100}, limit) == {"records": 170}
    assert source.latestOffset({"records": 990}, limit) == {"records": 1000}
    assert source.reportLatestOffset() == {"records": 1000}
    assert reader().getDefaultReadLimit() == ReadAllAvailable()


def test_a_clock_set_back_takes_no_record_back(monkeypatch: pytest.MonkeyPatch) -> None:
    source = reader()
    at(monkeypatch, 1)
    assert source.latestOffset({"records": 500}, ReadAllAvailable()) == {"records": 500}


def test_available_now_stops_at_what_had_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    source = reader()
    at(monkeypatch, 3)
    source.prepareForTriggerAvailableNow()
    at(monkeypatch, 9)
    assert source.latestOffset({"records": 0}, ReadAllAvailable()) == {"records": 300}


@pytest.mark.parametrize("process", ["even", "poisson"])
def test_however_a_range_is_cut_its_rows_are_the_same(process: str) -> None:
    whole = read(reader(process=process, seed=5), 0, 5000)
    pieces = [read(reader(process=process, seed=5, partitions=7), *span) for span in ((0, 1234), (1234, 5000))]
    assert pa.concat_tables(pieces).combine_chunks() == whole.combine_chunks()
    offsets = whole.column("offset").to_numpy()
    assert np.array_equal(offsets, np.arange(5000))
    assert np.array_equal(whole.column("value").to_numpy(), values_of(offsets))


def test_a_record_is_seen_from_its_arrival_time_on(monkeypatch: pytest.MonkeyPatch) -> None:
    source = reader(workload="ramp:low=0.1,peak=200", process="poisson", seed=3)
    for row in read(source, 0, 400).to_pylist()[::37]:
        arrived_s = row["time"].timestamp() - START_S
        assert row["time"].tzinfo == datetime.UTC or row["time"].utcoffset() == datetime.timedelta()
        at(monkeypatch, arrived_s + 1e-5)
        assert source.reportLatestOffset()["records"] > row["offset"]
        at(monkeypatch, arrived_s - 1e-3)
        assert source.reportLatestOffset()["records"] <= row["offset"]


def test_nothing_new_makes_no_partition() -> None:
    assert reader().partitions({"records": 10}, {"records": 10}) == []


@given(
    first=st.integers(0, 10**12),
    length=st.integers(0, 10**6),
    partitions=st.integers(1, 200),
    skew=st.floats(0, 5),
)
def test_cuts_cover_the_range_without_overlap(first: int, length: int, partitions: int, skew: float) -> None:
    cuts = cut(first, first + length, partitions, skew)
    assert cuts[0] == first
    assert cuts[-1] == first + length
    assert cuts == sorted(set(cuts))
    assert len(cuts) - 1 <= partitions


def test_skew_makes_the_first_partition_the_largest() -> None:
    sizes = np.diff(cut(0, 10_000, 4, 1.0))
    assert list(sizes) == sorted(sizes, reverse=True)
    assert sizes[0] == pytest.approx(4 * sizes[3], rel=0.01)


def test_what_travels_to_a_task_is_small() -> None:
    source = reader(duration_s=36_000.0)
    partitions = source.partitions({"records": 0}, {"records": 1000})
    assert len(pickle.dumps(reader())) < 2000
    assert len(pickle.dumps(partitions[0])) < 2000
    restored = pickle.loads(pickle.dumps(partitions[0]))
    assert next(source.read(restored)) == next(source.read(partitions[0]))


def test_content_is_spread_and_depends_on_the_offset_only() -> None:
    offsets = np.arange(100_000, dtype=np.int64)
    assert len(np.unique(values_of(offsets))) == len(offsets)
    counts = np.bincount(keys_of(offsets), minlength=KEYS)
    assert counts.min() > 50
    assert np.array_equal(keys_of(offsets[5:9]), keys_of(offsets)[5:9])


def test_options_survive_the_way_through_sparks_texts() -> None:
    options = TraceOptions(
        workload="constant:rate=5",
        start_time_s=1_800_000_000.125,
        peak=30.5,
        partitions=3,
        records_per_trigger=9,
        skew=0.5,
    )
    assert TraceOptions.read(options.write()) == options
    lower = {name.lower().replace("_", ""): text for name, text in options.write().items()}
    assert TraceOptions.read(lower) == options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"start_time_s": "1"}, "workload"),
        ({"workload": "constant:rate=5"}, "start_time_s"),
        ({"workload": "constant:rate=5", "start_time_s": "1", "partitions": "0"}, "partitions"),
        ({"workload": "constant:rate=5", "start_time_s": "1", "process": "odd"}, "process"),
        ({"workload": "constant:rate=5", "start_time_s": "1", "partition": "2"}, "did you mean 'partitions'"),
        ({"workload": "constant:rate=5", "start_time_s": "now"}, "start_time_s"),
    ],
)
def test_wrong_options_are_named(options: dict[str, str], words: str) -> None:
    with pytest.raises(UserMistake) as mistake:
        TraceSource(options)
    assert words in str(mistake.value)
    assert "\n" not in str(mistake.value)
