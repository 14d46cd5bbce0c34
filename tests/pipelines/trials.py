"""Every pipeline as a trial: what goes in, who works on it, what must come out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from bounded import rows_in, times_ms
from reference_advertising import campaign_views
from reference_images import copy_of, faces_in
from reference_lake import tables
from reference_sentiment import verdicts
from reference_taxi import closest_hotspots
from reference_top_k import top_words
from reference_traffic import speeds_near
from reference_word_count import word_counts
from rough_weather import Site, Trial

from headgate.pipelines import images, sentiment, top_k
from headgate.pipelines.advertising import advertising
from headgate.pipelines.lake import lake
from headgate.pipelines.taxi import HOTSPOTS, taxi
from headgate.pipelines.traffic import POINTS, traffic
from headgate.pipelines.word_count import word_count
from headgate.spark.committed import sink_files
from headgate.spark.operators import Operator
from headgate.spark.sinks import ParquetSink, TablesSink
from headgate.workloads.records import parse_records
from headgate.workloads.records.ads import CAMPAIGN_ADS

WATERMARK_S = 3600.0
"""Longer than the input spans, so that nothing is late however the tasks are delayed."""
FAR_MS = 100_000_000
"""From the last record to the first closing one, and from one closing record to the next."""

Rows = list[dict[str, Any]]


def taxi_trial(records: int = 60_000) -> Trial:
    """Stateless: every ride once, by its sequence number, with its closest hotspot."""
    values = parse_records("rides", seed=11).values(0, times_ms(records))
    expected = closest_hotspots(values, HOTSPOTS)

    def start(site: Site) -> list[Operator]:
        return [
            site.operator(
                "taxi",
                taxi,
                reads=["rides"],
                sink=ParquetSink(site.folder / "sink"),
                parallelism=4,
                max_parallelism=4,
                records_per_trigger=4000,
            )
        ]

    return Trial(
        name="taxi",
        topics=("rides",),
        values=values,
        start=start,
        found=lambda site: sorted((row["sequence"], row["hotspot"]) for row in rows_of(site)),
        expected=sorted(expected["hotspot"].items()),
    )


def word_count_trial(records: int = 20_000) -> Trial:
    """Stateful: the last count of each word, and the sum of the sequence numbers that it was counted from."""
    values = parse_records("words", seed=12).values(0, times_ms(records))
    start = aggregate("word-count", "lines", partial(word_count, audit=True), mode="update", per_batch=1500)
    return Trial(
        name="word-count",
        topics=("lines",),
        values=values,
        start=start,
        found=lambda site: {row["word"]: figures(row, "count", "records", "sequence_sum") for row in rows_of(site)},
        expected={
            word: (each["count"], each["records"], each["sequence_sum"]) for word, each in word_counts(values).items()
        },
    )


def advertising_trial(records: int = 60_000) -> Trial:
    values = parse_records("ads", seed=13).values(0, times_ms(records))
    views = campaign_views(values, dict(CAMPAIGN_ADS), window_s=10)

    def start(site: Site) -> list[Operator]:
        campaigns = site.spark.createDataFrame(CAMPAIGN_ADS, "ad_id STRING, campaign_id STRING").coalesce(1)
        count = partial(advertising, campaigns=campaigns, watermark_s=WATERMARK_S, audit=True)
        return aggregate("advertising", "ads", count, per_batch=4000)(site)

    return Trial(
        name="advertising",
        topics=("ads",),
        values=values,
        closing=[far(values, event_type="view")],
        start=start,
        found=lambda site: sorted(
            (row["campaign_id"], row["window_start"], *figures(row, "views", "records", "sequence_sum"))
            for row in rows_of(site)
        ),
        expected=sorted((*window, len(seen), len(seen), sum(seen)) for window, seen in views.items()),
    )


def traffic_trial(records: int = 60_000) -> Trial:
    values = parse_records("vehicles", seed=14).values(0, times_ms(records))
    near = speeds_near(values, POINTS, radius_m=1000, window_s=10)
    measure = partial(traffic, watermark_s=WATERMARK_S, audit=True)
    return Trial(
        name="traffic",
        topics=("vehicles",),
        values=values,
        closing=[far(values, x=POINTS["centre"][0], y=POINTS["centre"][1])],
        start=aggregate("traffic", "vehicles", measure, per_batch=4000),
        found=lambda site: sorted(
            (row["point"], row["window_start"], *figures(row, "records", "sequence_sum"), round(row["mean_speed"], 9))
            for row in rows_of(site)
        ),
        expected=sorted(
            (*window, *figures(each, "records", "sequence_sum"), round(each["mean_speed"], 9))
            for window, each in near.items()
        ),
    )


def lake_trial(records: int = 60_000, form: str = "parquet") -> Trial:
    """One table each: every row once, in its own table."""
    values = parse_records("rows:size=200,tables=5", seed=15).values(0, times_ms(records))

    def start(site: Site) -> list[Operator]:
        return [
            site.operator(
                "lake",
                lake,
                reads=["rows"],
                sink=TablesSink(site.folder / "sink", format=form),
                parallelism=4,
                max_parallelism=4,
                records_per_trigger=4000,
            )
        ]

    def found(site: Site) -> Counter[tuple[str, int, str]]:
        seen: Counter[tuple[str, int, str]] = Counter()
        for folder in sorted((site.folder / "sink").glob("table=*")):
            for row in rows_of(site, folder.name):
                seen[folder.name.removeprefix("table="), row["sequence"], row["payload"]] += 1
        return seen

    held = tables(values)
    return Trial(
        name=f"lake-{form}",
        topics=("rows",),
        values=values,
        start=start,
        found=found,
        expected=Counter((table, sequence, row[1]) for table, rows in held.items() for sequence, row in rows.items()),
    )


def top_k_trial(records: int = 6_000) -> Trial:
    """Six operators; the topics between them are written at least once, and the ranking is exact all the same."""
    values = parse_records("words", seed=16).values(0, times_ms(records))
    last_ms = json.loads(values[-1])["time_ms"]
    stages: Sequence[tuple[str, Any, str, str | None]] = (
        ("reader", top_k.read_lines, "records", "lines"),
        ("generator", top_k.split_words, "lines", "words"),
        ("filter", top_k.drop_stop_words, "words", "kept"),
        ("counter", partial(top_k.count_words, watermark_s=WATERMARK_S), "kept", "counts"),
        ("intermediate-ranker", partial(top_k.rank_parts, watermark_s=WATERMARK_S), "counts", "rankings"),
        ("final-ranker", partial(top_k.rank_all, watermark_s=WATERMARK_S), "rankings", None),
    )

    def start(site: Site) -> list[Operator]:
        return [
            site.operator(
                name,
                transform,
                reads=[reads],
                writes=writes,
                sink=None if writes is not None else ParquetSink(site.folder / "sink"),
                scalable=place < 3,
                records_per_trigger=1000 if place == 0 else None,
            )
            for place, (name, transform, reads, writes) in enumerate(stages)
        ]

    def found(site: Site) -> list[tuple[int, int, str, int]]:
        rows = [
            (round(row["window_end"].timestamp() * 1000), row["rank"], row["word"], row["count"])
            for row in rows_of(site)
        ]
        return sorted(row for row in rows if row[0] <= last_ms + 9000)

    return Trial(
        name="top-k",
        topics=("records", "lines", "words", "kept", "counts", "rankings"),
        values=values,
        closing=[far(values, rounds=number, text="closing") for number in (1, 2, 3)],
        start=start,
        found=found,
        expected=top_words(values),
    )


def sentiment_trial(records: int = 12_000) -> Trial:
    """Five operators, none with state; the last leaves out what the topics hold twice."""
    values = parse_records("tweets", seed=17).values(0, times_ms(records))
    stages: Sequence[tuple[str, Any, str, str | None]] = (
        ("tokenizer", sentiment.tokenize, "tweets", "tokens"),
        ("preprocessor", sentiment.preprocess, "tokens", "words"),
        ("tagger", sentiment.tag, "words", "tagged"),
        ("features", sentiment.extract_features, "tagged", "vectors"),
        ("classifier", sentiment.classify, "vectors", None),
    )
    return Trial(
        name="sentiment",
        topics=tuple(reads for _, _, reads, _ in stages),
        values=values,
        start=lambda site: [_stage(site, *stage, per_batch=600 if stage[2] == "tweets" else None) for stage in stages],
        found=lambda site: sorted(
            (row["sequence"], row["user"], row["label"], round(row["score"], 9)) for row in rows_of(site)
        ),
        expected=sorted(
            (sequence, user, label, round(score, 9)) for sequence, (user, label, score) in verdicts(values).items()
        ),
    )


def images_trial(records: int = 900) -> Trial:
    """Two paths: a file of each picture once, and a row with what is on it once."""
    values = parse_records("images", seed=18).values(0, times_ms(records))

    def start(site: Site) -> list[Operator]:
        store = partial(images.store, folder=str(site.folder / "files"))
        stages: Sequence[tuple[str, Any, str, str | None]] = (
            ("resize-to-store", images.resize_to_store, "pictures", "to-store"),
            ("resize-to-recognize", images.resize_to_recognize, "pictures", "to-recognize"),
            ("store", store, "to-store", "stored"),
            ("recognize", images.recognize, "to-recognize", "objects"),
            ("results", images.results, "objects", None),
        )
        return [_stage(site, *stage, per_batch=40) for stage in stages]

    def found(site: Site) -> tuple[dict[str, bytes], list[tuple[int, int, int, list[list[int]]]]]:
        files = {path.name: path.read_bytes() for path in (site.folder / "files").iterdir()}
        rows = [
            (row["sequence"], row["width"], row["height"], sorted(thing["box"] for thing in row["objects"]))
            for row in rows_of(site)
        ]
        return files, sorted(rows)

    return Trial(
        name="images",
        topics=("pictures", "to-store", "to-recognize", "stored", "objects"),
        values=values,
        start=start,
        found=found,
        expected=(
            {f"{number:012d}.jpg": copy_of(value, 480) for number, value in enumerate(values)},
            [(number, *faces_in(copy_of(value, 320))) for number, value in enumerate(values)],
        ),
    )


def _stage(site: Site, name: str, transform: Any, reads: str, writes: str | None, *, per_batch: int | None) -> Operator:
    """A step of a chain of stateless ones; the last ends in Parquet, and leaves out what it has seen before."""
    last = writes is None
    return site.operator(
        name,
        transform,
        reads=[reads],
        writes=writes,
        sink=ParquetSink(site.folder / "sink") if last else None,
        scalable=not last,
        deduplicate=["origin_partition", "origin_offset"] if last else None,
        parallelism=1 if last else 2,
        records_per_trigger=per_batch,
    )


def aggregate(
    name: str, topic: str, transform: Any, *, mode: str = "append", per_batch: int
) -> Callable[[Site], list[Operator]]:
    """One operator with state that reads a topic and ends in Parquet."""

    def start(site: Site) -> list[Operator]:
        return [
            site.operator(
                name,
                transform,
                reads=[topic],
                sink=ParquetSink(site.folder / "sink"),
                scalable=False,
                max_parallelism=3,
                output_mode=mode,
                records_per_trigger=per_batch,
            )
        ]

    return start


def far(values: Sequence[bytes], *, rounds: int = 1, **members: Any) -> list[bytes]:
    """A record for each partition that is like the last one, but far ahead in event time."""
    last = json.loads(values[-1])
    return [json.dumps({**last, "time_ms": last["time_ms"] + rounds * FAR_MS, **members}).encode()] * 3


def rows_of(site: Site, table: str = "") -> Rows:
    """What is in the sink, oldest micro-batch first."""
    files = sorted(sink_files(site.folder / "sink" / table), key=lambda file: _batch_of(file.parent.name))
    return [row for file in files for row in rows_in(file)]


def figures(row: dict[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _batch_of(folder: str) -> int:
    number = folder.removeprefix("batch=")
    return int(number) if number.isdigit() else 0
