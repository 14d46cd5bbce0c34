"""Every shape, by numbers that can be worked out in the head."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.errors import UserMistake
from headgate.grammar import describe_options, spell
from headgate.workloads import SHAPES, Noise, parse_workload


def rates(text: str, *times_s: float, **transforms: float) -> list[float]:
    load = parse_workload(text, **transforms)  # type: ignore[arg-type]
    return [round(load.rate_at(time_s), 6) for time_s in times_s]


def test_shapes_are_listed_in_alphabetical_order_under_their_own_names() -> None:
    assert list(SHAPES) == sorted(SHAPES)
    assert all(SHAPES[name].name == name for name in SHAPES)
    assert set(SHAPES) == {
        "constant", "flash-crowd", "noise", "ramp", "sine", "spike", "square", "stair", "step", "weekly"
    }  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_works_with_its_defaults_and_explains_every_option(name: str) -> None:
    load = parse_workload(name)
    assert load.rates.min() >= 0
    assert 900 <= load.peak <= 1600
    assert all(row["meaning"] for row in describe_options(SHAPES[name]))
    assert parse_workload(spell(SHAPES[name]())).rates.tolist() == load.rates.tolist()


def test_constant_has_its_rate_always() -> None:
    assert rates("constant:rate=5000", 0, 1800, 3599) == [5000, 5000, 5000]
    assert parse_workload("constant").duration_s == 3600


def test_ramp_leads_from_low_to_peak_and_stays_there() -> None:
    assert rates("ramp:over=100,low=0.2,peak=50", 0, 50, 100, 150, duration_s=200) == [10, 30, 50, 50]
    assert rates("ramp:over=100,low=0.2,peak=50,down=true", 0, 50, 150, duration_s=200) == [50, 30, 10]
    assert parse_workload("ramp:over=100").duration_s == 100


def test_step_jumps_once() -> None:
    assert rates("step:at=10,low=0.25", 9, 10, duration_s=20) == [250, 1000]
    assert rates("step:at=10,low=0.25,down=true", 9, 10, duration_s=20) == [1000, 250]
    assert parse_workload("step:at=10").duration_s == 20


def test_stair_climbs_and_comes_down() -> None:
    text = "stair:stairs=3,width=10,low=0,peak=100"
    assert rates(text, 0, 10, 20, 30, 40) == [0, 50, 100, 50, 0]
    assert rates(text + ",way=up", 0, 10, 29) == [0, 50, 100]
    assert rates(text + ",way=down", 0, 10, 20, 60, duration_s=100) == [100, 50, 0, 0]
    assert parse_workload(text).duration_s == 50


def test_square_is_low_first_and_high_for_its_share() -> None:
    assert rates("square:period=100,share=0.25,low=0.1", 0, 74, 75, 99, 100) == [100, 100, 1000, 1000, 100]


def test_sine_begins_in_the_middle_and_swings_between_low_and_peak() -> None:
    assert rates("sine:period=3h,low=0.1", 0, 2700, 5400, 8100) == [550, 1000, 550, 100]
    assert rates("sine:period=100,low=0,phase=0.75", 0, 50) == [0, 1000]
    assert parse_workload("sine:period=3h").duration_s == 6 * 3600


def test_spike_is_a_triangle_and_nothing_else() -> None:
    text = "spike:at=100,width=20,height=2"
    assert rates(text, 0, 90, 95, 100, 105, 110) == [0, 0, 1000, 2000, 1000, 0]
    assert rates(text + ",every=50", 50, 100, 125, 150, 200, duration_s=300) == [0, 2000, 0, 2000, 2000]
    assert rates("spike:at=5,low=0.5,peak=10", 4, 5, 1000, duration_s=1001) == [9.916667, 10, 5]


def test_flash_crowd_rises_holds_and_decays() -> None:
    text = "flash-crowd:at=10,rise=10,hold=20,decay=30,low=0"
    assert rates(text, 9, 15, 20, 40, 70) == [0, 500, 1000, 1000, round(1000 * np.exp(-1), 6)]


def test_a_week_is_busiest_in_the_afternoon_and_weaker_on_weekends() -> None:
    load = parse_workload("weekly:low=0.2,weekend=0.5,day=1h")
    assert load.duration_s == 7 * 3600
    days = load.rates.reshape(7, 3600)
    assert np.argmax(days[1]) == 16 * 150
    assert np.argmin(days[1]) == 4 * 150
    assert days[1].max() == pytest.approx(1000)
    assert days[1].min() == pytest.approx(200)
    assert days[4].max() == pytest.approx(1000)
    assert days[6].max() == pytest.approx(600)
    assert np.abs(np.diff(load.rates)).max() < 2.5  # no jump at any midnight


def test_noise_multiplies_whatever_else_there_is() -> None:
    calm = parse_workload("step:at=30m,low=0")
    noisy = parse_workload("step:at=30m,low=0 + noise:sd=0.1", seed=3)
    assert (noisy.rates[:1800] == 0).all()
    ratio = noisy.rates[1800:] / calm.rates[1800:]
    assert ratio.mean() == pytest.approx(1, abs=0.01)
    assert ratio.std() == pytest.approx(0.1, rel=0.1)


def test_noise_with_memory_is_correlated_as_its_memory_says() -> None:
    deviation = Noise(sd=0.01, memory_s=10).factors(200_000, np.random.default_rng(1)) - 1
    assert deviation.std() == pytest.approx(0.01, rel=0.05)
    assert np.corrcoef(deviation[:-10], deviation[10:])[0, 1] == pytest.approx(np.exp(-1), abs=0.03)


def test_noise_is_the_recursion_that_it_claims_to_be() -> None:
    fresh = np.random.default_rng(5).standard_normal(50)
    keep = np.exp(-1 / 20)
    slow = [fresh[0]]
    for value in fresh[1:]:
        slow.append(keep * slow[-1] + np.sqrt(1 - keep**2) * value)
    assert Noise(sd=0.01, memory_s=20).factors(50, np.random.default_rng(5)) == pytest.approx(1 + 0.01 * np.array(slow))


def test_noise_depends_on_the_seed_and_never_goes_below_zero() -> None:
    text = "constant + noise:sd=2"
    assert parse_workload(text, seed=1).rates.tolist() == parse_workload(text, seed=1).rates.tolist()
    assert parse_workload(text, seed=1).rates.tolist() != parse_workload(text, seed=2).rates.tolist()
    assert parse_workload(text).rates.min() == 0


def test_two_noises_in_one_workload_are_independent() -> None:
    once = parse_workload("constant:rate=1 + noise").rates - 1
    twice = parse_workload("constant:rate=1 + noise + noise").rates - 1
    assert twice.std() == pytest.approx(once.std() * np.sqrt(2), rel=0.1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("sin", "workload 'sin' is unknown; did you mean 'sine'?"),
        ("sine:perod=3h", "workload 'sine' has no option 'perod'; did you mean 'period_s'?"),
        ("sine:low=2", "sine: low=2 is too large; give 1 or less"),
        ("sine:period=0", "sine: period_s=0 is too small; give 0.001 or more"),
        ("stair:way=left", "stair: way=left is not possible; choose one of up, down, up-down"),
        ("constant:rate=-1", "constant: rate=-1 is too small; give 0 or more"),
        ("", "the workload is empty"),
        ("sine + ", "has nothing on one side of a +"),
        ("weekly:day=365d", "keep it within 400d"),
        ("spike:peak=1G,height=3", "reaches 3e+09 records/s"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_remedy(text: str, sentence: str) -> None:
    with pytest.raises(UserMistake) as caught:
        parse_workload(text)
    assert sentence in str(caught.value)
