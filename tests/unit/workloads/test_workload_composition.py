"""Sums, traces and the order of rescaling, compressing and cutting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from headgate.errors import UserMistake
from headgate.workloads import SHAPES, Workload, parse_workload

SHARED_TRACES = Path(__file__).parents[4] / "shared" / "traces"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "load.csv"
    path.write_text("seconds,records_per_second\n0,100\n10,200\n20,0\n")
    return path


def test_shapes_add_up_with_or_without_spaces() -> None:
    for text in ("constant:rate=100 + step:at=5,low=0", "constant:rate=100+step:at=5,low=0"):
        load = parse_workload(text, duration_s=10)
        assert load.rates.tolist() == [100.0] * 5 + [1100.0] * 5


def test_a_plus_inside_a_number_is_not_a_sum() -> None:
    assert parse_workload("constant:rate=1e+3 + constant:rate=+5").peak == 1005


def test_the_example_of_the_manual_has_its_spike_on_top_of_the_sine() -> None:
    sine = parse_workload("sine:period=3h,low=0.1")
    both = parse_workload("sine:period=3h,low=0.1 + spike:at=1h,height=2")
    assert both.duration_s == sine.duration_s == 21600
    assert both.rate_at(3600) == pytest.approx(sine.rate_at(3600) + 2000)
    assert both.rate_at(7200) == sine.rate_at(7200)


def test_the_longest_part_decides_the_length() -> None:
    assert parse_workload("ramp:over=10m + step:at=10m").duration_s == 1200


def test_a_trace_is_interpolated_and_lasts_one_step_after_its_last_row(trace: Path) -> None:
    load = parse_workload(str(trace))
    assert load.duration_s == 30
    assert [load.rate_at(time_s) for time_s in (0, 5, 10, 15, 20, 29)] == [100, 150, 200, 100, 0, 0]


def test_a_trace_by_the_second_is_reproduced_row_by_row(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 1000, 50)
    path = tmp_path / "fine.csv"
    path.write_text("".join(f"{second},{rate}\n" for second, rate in enumerate(rows)))
    assert parse_workload(str(path)).rates.tolist() == rows.tolist()


def test_a_trace_needs_neither_header_nor_zero_nor_suffix(tmp_path: Path) -> None:
    path = tmp_path / "monday"
    path.write_text("\n1000, 5\r\n\n1001, 7\r\n")
    assert parse_workload(str(path)).rates.tolist() == [5, 7]


def test_a_trace_of_one_row_is_a_constant(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("0,42")
    load = parse_workload(str(path))
    assert (load.duration_s, load.rates.min(), load.peak) == (3600, 42, 42)


def test_a_trace_can_be_part_of_a_sum_even_with_a_plus_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a+b.csv"
    path.write_text("0,1\n1,1\n2,1\n")
    assert parse_workload(f"{path} + constant:rate=9", duration_s=5).rates.tolist() == [10] * 5
    assert parse_workload(str(path)).rates.tolist() == [1, 1, 1]


def test_peak_rescales_the_maximum_of_the_whole() -> None:
    load = parse_workload("sine:period=100,low=0.1 + spike:at=50,width=10", peak=5000)
    assert load.peak == pytest.approx(5000)
    beginning = parse_workload("ramp:over=100,low=0", peak=1000, duration_s=50)
    assert beginning.peak == pytest.approx(1000 * 49 / 99)


def test_time_scale_shortens_and_keeps_rates(trace: Path) -> None:
    load = parse_workload(str(trace), time_scale=2)
    assert load.duration_s == 15
    assert load.rates[0] == pytest.approx((100 + 110) / 2)
    assert load.cumulative()[-1] == pytest.approx(parse_workload(str(trace)).cumulative()[-1] / 2)
    assert parse_workload("constant:rate=7", time_scale=4).rates.tolist() == [7.0] * 900
    assert parse_workload("sine:period=3h", time_scale=4).duration_s == 5400


def test_time_scale_below_one_stretches() -> None:
    load = parse_workload("step:at=10,low=0", time_scale=0.5)
    assert load.duration_s == 40
    assert load.rates.tolist() == [0.0] * 20 + [1000.0] * 20


def test_peak_is_reached_also_in_compressed_time(tmp_path: Path) -> None:
    path = tmp_path / "spiky.csv"
    path.write_text("".join(f"{second},{100 if second == 7 else 10}\n" for second in range(20)))
    assert parse_workload(str(path), peak=500, time_scale=4).peak == 500


def test_duration_cuts_and_repeats_traces_while_shapes_go_on(trace: Path) -> None:
    whole = parse_workload(str(trace)).rates.tolist()
    assert parse_workload(str(trace), duration_s=12).rates.tolist() == whole[:12]
    assert parse_workload(str(trace), duration_s=70).rates.tolist() == (whole * 3)[:70]
    assert parse_workload("ramp:over=10,low=0", duration_s=20).rates[10:].tolist() == [1000] * 10


def test_a_part_of_a_second_counts_as_a_whole_one() -> None:
    assert parse_workload("constant", duration_s=2.5).duration_s == 3
    assert parse_workload("constant", duration_s=0.1).duration_s == 1


def test_a_longer_run_begins_like_a_shorter_one() -> None:
    text = "sine + noise:memory=60"
    short = parse_workload(text, duration_s=500, seed=4)
    assert parse_workload(text, duration_s=900, seed=4).rates[:500] == pytest.approx(short.rates)


def test_the_name_of_a_workload_is_what_was_typed() -> None:
    assert parse_workload(" sine + noise ").name == "sine + noise"


def test_rates_cannot_be_changed_afterwards() -> None:
    with pytest.raises(ValueError, match="read-only"):
        parse_workload("sine").rates[0] = 1


def test_there_is_no_load_outside_the_run() -> None:
    load = parse_workload("constant", duration_s=10)
    assert [load.rate_at(time_s) for time_s in (-1, 0, 9.99, 10, float("nan"), float("inf"))] == [
        0,
        1000,
        1000,
        0,
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty; give rows of seconds,records_per_second"),
        ("seconds,records_per_second\n", "is empty"),
        ("time,rate\n0,1\n", "line 1: 'time,rate' is not two numbers"),
        ("0,1\n1\n", "line 2: '1' is not two numbers"),
        ("0,1\n\n1,2,3\n", "line 3: '1,2,3' is not two numbers"),
        ("0,1\n1,nan\n", "line 2: '1,nan' has a value that is not finite"),
        ("0,1\ninf,1\n", "line 2: 'inf,1' has a value that is not finite"),
        ("0,1\n1,-5\n", "line 2: a rate of -5 records/s is negative; give 0 or more"),
        ("seconds,records_per_second\n0,1\n5,1\n4,1\n", "line 4: 4 s goes back behind the row before"),
        ("0,1\n0,1\n", "line 2: 0 s repeats the time of the row before"),
        ("0,1\n0.0001,1\n", "line 2: less than a millisecond"),
        ("0,1\n1,1e10\n", "line 2: '1,1e10' is too large"),
        ("0,1\n1e9,1\n", "keep it within 400d"),
    ],
)
def test_a_bad_trace_is_refused_with_file_and_line(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(UserMistake) as caught:
        parse_workload(str(path))
    assert sentence in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_missing_unreadable_or_binary_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match=r"none\.csv does not exist"):
        parse_workload(str(tmp_path / "none.csv"))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(UserMistake, match="cannot be read"):
        parse_workload(str(tmp_path / "folder.csv"))
    (tmp_path / "image.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(UserMistake, match="is not a text file"):
        parse_workload(str(tmp_path / "image.csv"))


@pytest.mark.parametrize(
    ("transforms", "sentence"),
    [
        ({"peak": 0.0}, "peak=0 is not possible"),
        ({"peak": float("nan")}, "peak=nan is not possible"),
        ({"duration_s": -1.0}, "duration=-1 is not possible"),
        ({"duration_s": 1e9}, "duration=1e+09 is not possible"),
        ({"time_scale": 0.0}, "time-scale=0 is not possible"),
        ({"time_scale": 1e6, "duration_s": 1e6}, "keep it within 400d"),
        ({"seed": -1}, "seed=-1 is negative"),
    ],
)
def test_impossible_transforms_are_refused(transforms: dict[str, float], sentence: str) -> None:
    with pytest.raises(UserMistake) as caught:
        parse_workload("sine", **transforms)  # type: ignore[arg-type]
    assert sentence in str(caught.value)


def test_a_load_of_nothing_has_no_peak_to_rescale() -> None:
    with pytest.raises(UserMistake, match="0 everywhere"):
        parse_workload("constant:rate=0", peak=10)


@pytest.mark.parametrize("bad", [[], [1.0, -1.0], [float("nan")], [[1.0]]])
def test_a_workload_of_impossible_rates_is_refused(bad: list[float]) -> None:
    with pytest.raises(UserMistake):
        Workload(name="mine", rates=np.array(bad))


def test_recorded_traces_have_the_rows_that_they_have(tmp_path: Path) -> None:
    path = SHARED_TRACES / "traffic-6h.csv"
    if not path.is_file():
        path = tmp_path / "made.csv"
        made = parse_workload("sine:peak=3k + noise", seed=1, duration_s=25_000).rates.round()
        rows = "".join(f"{second},{rate:g}\n" for second, rate in enumerate(made))
        path.write_text("seconds,records_per_second\n" + rows)
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    load = parse_workload(str(path))
    assert load.rates == pytest.approx([float(rate) for _, rate in rows])
    assert parse_workload(str(path), peak=500, time_scale=4).duration_s == len(rows) / 4


names = st.sampled_from([*SHAPES, "sin", ""])
keys = st.sampled_from(
    ["peak", "low", "period", "at", "height", "width", "sd", "memory", "stairs", "every", "rate", "x"]
)
values = st.one_of(
    st.floats().map(str),
    st.integers().map(str),
    st.sampled_from(["1h", "3h30m", "0.5", "2k", "1e-9", "none", "1e+2", ""]),
)
specs = st.builds(
    lambda name, options: name + (":" + ",".join(f"{key}={value}" for key, value in options) if options else ""),
    names,
    st.lists(st.tuples(keys, values), max_size=3),
)


@settings(max_examples=300)
@given(st.one_of(st.text(max_size=60), st.lists(specs, min_size=1, max_size=3).map(" + ".join)))
@example("sine:period=\x00.csv")
@example("constant:rate=1e999")
@example("/" + "x" * 5000)
def test_any_text_is_a_workload_or_a_users_mistake(text: str) -> None:
    try:
        load = parse_workload(text, duration_s=30)
    except UserMistake:
        return
    assert np.isfinite(load.rates).all()
    assert (load.rates >= 0).all()
    assert (np.diff(load.cumulative()) >= 0).all()


cells = st.one_of(st.floats().map(repr), st.integers().map(str), st.text(max_size=5))
rows = st.one_of(st.text(max_size=20), st.tuples(cells, cells).map(",".join))
sorted_rows = st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 1e9)), max_size=8).map(
    lambda pairs: [f"{time_s},{rate}" for time_s, rate in sorted(pairs)]
)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.one_of(st.lists(rows, max_size=6), sorted_rows),
    peak=st.one_of(st.none(), st.floats(1e-3, 1e9)),
    time_scale=st.floats(0.1, 50),
)
def test_any_csv_is_a_workload_or_a_users_mistake(
    tmp_path: Path, lines: list[str], peak: float | None, time_scale: float
) -> None:
    path = tmp_path / "any.csv"
    path.write_text("\n".join(lines), encoding="utf-8", errors="replace", newline="")
    try:
        load = parse_workload(str(path), peak=peak, time_scale=time_scale, duration_s=100)
    except UserMistake:
        return
    assert load.duration_s == 100
    assert np.isfinite(load.rates).all()
    assert (load.rates >= 0).all()
    assert (np.diff(load.cumulative()) >= 0).all()
