"""The experiments of Daedalus (Pfister et al., ICPE 2024, section 4), and what its authors leave open.

Three jobs on an engine that restarts to be rescaled, with 12 workers as the static size and 18 as the limit; word
count on Kafka Streams with strong skew; Phoebe on a sine load. What the paper does not print is chosen here, and said
on the page: downtimes, capacities, skew, and how far below the capacity of 12 executors the peaks lie.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from headgate import codec
from headgate.core.allocation import Bounds
from headgate.experiments.reproduction import Arm, Figure, Job, Published, Reproduction, Row, Section, Sweep
from headgate.experiments.trials import Runner, unpublished
from headgate.sim import load_scenario
from headgate.wiring.profiling import Profiling, ProfilingWishes, SimulatedBench

HOURS_S = 6 * 3600.0
BOUNDS = Bounds(1, 18)
STATIC = 12
JUST_UNDER = 0.95
"""Peak of a workload, as a share of what the static size carries."""
WORD_COUNT_PEAK = 0.70
"""The share at which word count's published means are possible."""
TARGETS_S = (60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0)
FAILURES_S = 6 * 3600.0
"""Mean life of an executor where failures are injected."""
PROFILED = (1, 4, 8, 11, 15, 18)

SHAPES = {
    "wordcount-sine-6h": "sine:period=3h,low=0.025",
    "advertising-6h": (
        "sine:peak=0.45,period=6h,low=0.02,phase=0.75 + spike:peak=0.2,at=30m,width=40m"
        " + spike:peak=0.35,at=2h,width=90m + spike:peak=0.55,at=3h30m,width=70m"
    ),
    "traffic-6h": (
        "constant:rate=0.12 + spike:peak=0.6,at=1h45m,width=50m + spike:peak=0.25,at=3h15m,width=70m"
        " + spike:peak=0.88,at=4h,width=80m"
    ),
}
"""Stand-ins of the same kind where the recorded workloads are not there."""

_FLINK = load_scenario("flink-like").changed(downtime_failure_s=80.0)
_KAFKA_STREAMS = _FLINK.changed(
    name="kafka-streams-like",
    description="keys come to executors by a hash of 100 keys, so that some have twice as much as others",
    partitions=100,
    placement="hashed",
)
_SPARK = load_scenario("spark")


def reproduce(runner: Runner, traces: Path) -> Reproduction:
    """All of it."""
    word_count, lower, yahoo, traffic = flink_jobs(traces)
    kafka_streams = kafka_streams_job(traces)
    sections = runner.sections([word_count, lower, yahoo, traffic, kafka_streams])
    with tempfile.TemporaryDirectory(prefix="headgate-profile-") as folder:
        profile = Path(folder) / "phoebe.json"
        cost_s = write_profile(profile)
        (phoebe,) = runner.sections([phoebe_job(profile)])
    phoebe = _with_profiling(phoebe, cost_s)
    jobs = (word_count, yahoo, traffic)
    beyond = runner.sections([_failing(job) for job in jobs] + [_seamless(job) for job in jobs])
    return Reproduction(
        paper="daedalus",
        title="Daedalus, reproduced",
        source="Pfister, Scheinert, Geldenhuys and Kao, ICPE 2024, sections 4.5 to 4.7",
        repetitions=runner.repetitions,
        verdict=_verdict(sections, phoebe),
        notes=_notes(traces, word_count),
        sections=(*sections, phoebe),
        beyond=tuple(beyond),
        sweeps=(_sweep(runner, jobs),),
    )


def flink_jobs(traces: Path) -> tuple[Job, ...]:
    """Word count (twice: with the peak as the text has it, and as its figures want it), Yahoo, traffic."""
    word_count = Job(
        title="Word count",
        about="A sine of two periods.",
        trace=_trace(traces, "wordcount-sine-6h"),
        scenario=_FLINK,
        bounds=BOUNDS,
        arms=_arms(executors=(5.4, 7.8, 7.0), latency_ms=(1171, 1791, 961, 1408)),
        duration_s=HOURS_S,
        peak_share=JUST_UNDER,
        peak_executors=STATIC,
    )
    lower = dataclasses.replace(
        word_count,
        title="Word count, lower peak",
        about="The same with a peak at 70 % of what 12 executors carry: with it the published means are possible.",
        peak_share=WORD_COUNT_PEAK,
    )
    yahoo = dataclasses.replace(
        word_count,
        title="Yahoo streaming benchmark",
        about="Clicks on advertisements: a slow rise with sudden peaks.",
        trace=_trace(traces, "advertising-6h"),
        arms=_arms(executors=(5.5, 10.0, 9.6), latency_ms=(9106, 7862, 8042, 7576)),
    )
    traffic = dataclasses.replace(
        word_count,
        title="Traffic monitoring",
        about="Vehicles in a city: two large peaks.",
        trace=_trace(traces, "traffic-6h"),
        arms=_arms(executors=(3.5, 5.9, 5.6), latency_ms=(6176, 5566, 5671, 8778)),
        time_scale=_fitted(traces, "traffic-6h", 25_000.0),
    )
    return word_count, lower, yahoo, traffic


def kafka_streams_job(traces: Path) -> Job:
    return Job(
        title="Word count on Kafka Streams",
        about="Strong skew: keys come to executors by a hash. Peak at 70 % of what 12 executors carry, as above.",
        trace=_trace(traces, "wordcount-sine-6h"),
        scenario=_KAFKA_STREAMS,
        bounds=BOUNDS,
        arms=(
            Arm(label="Daedalus", policy="daedalus", published=Published(executors=5.2, latency_s=10.566)),
            Arm(label="HPA 60", policy="hpa:target=0.6", published=Published(executors=5.8, latency_s=15.453)),
            Arm(label="HPA 80", policy="hpa:target=0.8", published=Published(executors=4.0, latency_s=102.153)),
            Arm(label="static 12", policy="static:executors=12", published=Published(executors=12.0, latency_s=8.343)),
        ),
        duration_s=HOURS_S,
        peak_share=WORD_COUNT_PEAK,
        peak_executors=STATIC,
    )


def phoebe_job(profile: Path) -> Job:
    return Job(
        title="Against Phoebe",
        about="The Yahoo job under a sine of two periods whose peak is 85 % of what 18 executors carry.",
        trace="sine:period=3h,low=0.1",
        scenario=_FLINK,
        bounds=BOUNDS,
        arms=(
            Arm(label="Daedalus", policy="daedalus", published=Published(executors=10.1, latency_s=9.624)),
            Arm(
                label="Phoebe", policy=f"phoebe:profile={profile}", published=Published(executors=12.4, latency_s=3.340)
            ),
        ),
        duration_s=HOURS_S,
        peak_share=0.85,
        peak_executors=18,
    )


def write_profile(path: Path) -> float:
    """Phoebe's profiling runs, simulated; what they cost in executor seconds."""
    wishes = ProfilingWishes(executors=PROFILED, hold_s=300.0, watch_s=900.0, drain_s=300.0)
    found = Profiling(SimulatedBench(scenario=_FLINK), wishes, app="yahoo", about={}, say=lambda _: None).run()
    assert found is not None
    path.write_bytes(codec.to_json(found))
    return found.executor_seconds


def _arms(*, executors: tuple[float, float, float], latency_ms: tuple[float, float, float, float]) -> tuple[Arm, ...]:
    named = (
        ("Daedalus", "daedalus"),
        ("HPA 80", "hpa:target=0.8"),
        ("HPA 85", "hpa:target=0.85"),
        ("static 12", "static:executors=12"),
    )
    return tuple(
        Arm(label=label, policy=policy, published=Published(executors=mean, latency_s=latency / 1000))
        for (label, policy), mean, latency in zip(named, (*executors, float(STATIC)), latency_ms, strict=True)
    )


def _failing(job: Job) -> Job:
    """The same while executors die; the engine restarts each time."""
    return dataclasses.replace(
        job,
        title=f"{job.title} with failures",
        about="Each executor lives for 6 h on average; a death stops the engine for 80 s, noticing included.",
        scenario=job.scenario.changed(name="flink-like, failing", failure_interval_s=FAILURES_S),
        arms=unpublished(job.arms),
    )


def _seamless(job: Job) -> Job:
    """The same on Spark, where executors come and go under a running query."""
    return dataclasses.replace(
        job,
        title=f"{job.title} without stopping",
        about="Spark's micro-batches with the same capacity: executors join and leave while the stream runs.",
        scenario=_SPARK,
        arms=unpublished(job.arms),
    )


def _sweep(runner: Runner, jobs: tuple[Job, ...]) -> Sweep:
    arms = tuple(
        Arm(label=f"{target_s:.0f} s", policy=f"daedalus:recovery_target_s={target_s:.0f}") for target_s in TARGETS_S
    )
    swept = runner.sections([dataclasses.replace(job, arms=arms) for job in jobs])
    return Sweep(
        title="The recovery target",
        about="How many executors Daedalus takes to be able to recover within a time, and what latency that brings.",
        option="recovery target (s)",
        values=TARGETS_S,
        rows=tuple((section.title, section.rows) for section in swept),
    )


def _with_profiling(section: Section, cost_s: float) -> Section:
    ours, theirs = section.rows
    run_s = theirs.executors.mean * HOURS_S
    fewer = 1 - ours.executors.mean / theirs.executors.mean
    whole = 1 - ours.executors.mean * HOURS_S / (run_s + cost_s)
    note = (
        f"Daedalus takes {fewer:.0%} fewer executors than Phoebe (published: 19 %); with the profiling runs counted, "
        f"{cost_s / 3600:.1f} executor hours, {whole:.0%} (published: 53 %)."
    )
    return dataclasses.replace(section, notes=(note,))


def _verdict(sections: Sequence[Section], against_phoebe: Section) -> str:
    parts = [_compared(section.title, section.rows[0]) for section in sections]
    jobs = (*sections, against_phoebe)
    by_executors = _ordered(jobs, "mean executors", lambda row: row.executors)
    by_latency = _ordered(jobs, "latency", lambda row: row.p95_over_time_s)
    return f"Daedalus: {'; '.join(parts)}. {by_executors} {by_latency}"


def _ordered(sections: Sequence[Section], what: str, of: Callable[[Row], Figure | None]) -> str:
    kept = [section.title for section in sections if in_published_order([of(row) for row in section.rows])]
    broken = [section.title for section in sections if section.title not in kept]
    if not broken:
        return f"By {what} the policies come in the published order everywhere."
    where = f"on {'; '.join(kept)}; but not on {'; '.join(broken)}" if kept else "nowhere"
    return f"By {what} they come in the published order {where}."


def in_published_order(figures: Sequence[Figure | None]) -> bool:
    """Whether what was found of some policies puts them into the same order as what was published of them."""
    known = [figure for figure in figures if figure is not None and figure.published is not None]
    published = sorted(known, key=lambda figure: figure.published or 0.0)
    return len(known) == len(figures) and published == sorted(known, key=lambda figure: figure.mean)


def _compared(title: str, row: Row) -> str:
    figure = row.executors
    return f"{figure.mean:.2f} executors on {title} ({figure.published} published, {figure.deviation or 0:+.0%})"


def _notes(traces: Path, word_count: Job) -> tuple[str, ...]:
    recorded = all((traces / f"{name}.csv").is_file() for name in SHAPES)
    used = (
        "The workloads are the authors' own, scaled to 6 h."
        if recorded
        else f"The recorded workloads are not in {traces}, so generated shapes of the same kind stand in for them: "
        "compare the order of the policies, not their figures."
    )
    peak = (
        "Word count's peak: if it is just under what 12 executors carry, the load alone needs "
        f"{word_count.floor:.2f} of them on average, had in fractions and used fully, so the published 5.4 cannot be "
        f"reached by anything that keeps up. With {WORD_COUNT_PEAK:.0%} of that peak it can, and the other published "
        "means are nearer as well: hence the second table."
    )
    chosen = (
        "Chosen, because it is not printed: 5000 records/s an executor, noise of 5 % of the speed, downtimes of 30 s "
        "(growing), 15 s (shrinking) and 80 s (failures, which have to be noticed; Phoebe's authors reckon with so "
        "much for this job), checkpoints every 10 s, 120 partitions (100 hashed keys on Kafka Streams), peaks at "
        f"{JUST_UNDER:.0%} of what 12 executors carry. Samples every 15 s. Repetitions differ in the seed of noise and "
        "placement."
    )
    latency = (
        "Latencies are those of a fluid engine without windows and network. Their level cannot be compared with the "
        "published one, where an idle engine takes seconds; what rescaling adds to it can. That changes the order, "
        "too: here nothing waits on a fixed size, which comes first, and HPA, which restarts three to five times as "
        "often as Daedalus, mostly comes last."
    )
    hpa = (
        "HPA is Kubernetes' own algorithm. After a restart it sees executors that catch up at full use and adds more, "
        "up to the limit. The paper's text has it wait five minutes between any two actions."
    )
    fitted = (
        "Chosen after looking at results, so they predict nothing: peaks at 95 % (at 97 % Daedalus took 16 % more "
        "than published on traffic), 70 % for word count, 100 keys, and the 80 s (with 30 s Phoebe took fewer "
        "executors than Daedalus, and not more)."
    )
    return used, peak, chosen, fitted, latency, hpa


def _trace(traces: Path, name: str) -> str:
    file = traces / f"{name}.csv"
    return str(file) if file.is_file() else SHAPES[name]


def _fitted(traces: Path, name: str, recorded_s: float) -> float:
    """By how much a recorded workload is compressed to last six hours."""
    return recorded_s / HOURS_S if (traces / f"{name}.csv").is_file() else 1.0
