"""Images: a photograph where the face is known, the gallery of records, and both paths on Kafka."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from bounded import fill, passed_on, raw_records, run, times_ms, trace_records, trace_times_ms
from pyspark.sql import SparkSession
from reference_images import copy_of, faces_in

from headgate.kafka.settings import KafkaSettings
from headgate.pipelines import images as steps
from headgate.workloads.records.images import Images

PICTURES = 30
BROKEN = (b"", None, bytes(16), bytes(16) + b"no picture", b"\xff" * 40)


def photograph(name: str) -> steps.Picture:
    found = importlib.util.find_spec("skimage")
    assert found is not None
    assert found.submodule_search_locations is not None
    picture = steps.decode((Path(found.submodule_search_locations[0]) / "data" / name).read_bytes())
    assert picture is not None
    return picture


def test_the_face_of_the_astronaut_is_found_where_it_is() -> None:
    (face,) = steps.detect(steps.shrink(photograph("astronaut.png"), 320))
    left, top, width, height = face.box
    assert face.label == "face"
    assert face.score > 0
    # Eyes and mouth, as seen by eye on the photograph of 512 pixels: at (202, 101), (247, 103) and (225, 145).
    for x, y in ((202, 101), (247, 103), (225, 145)):
        assert left <= x * 320 / 512 <= left + width
        assert top <= y * 320 / 512 <= top + height
    assert 40 <= width <= 90


@pytest.mark.parametrize("name", ["coffee.png", "rocket.jpg", "chelsea.png", "brick.png", "motorcycle_left.png"])
def test_nobody_is_found_where_nobody_is(name: str) -> None:
    assert steps.detect(steps.shrink(photograph(name), 320)) == []


def test_the_detector_tells_the_records_with_a_face_from_the_others() -> None:
    kind = Images(seed=1)
    pictures = [steps.decode(value[16:]) for value in kind.values(0, times_ms(60))]
    found = [bool(steps.detect(steps.shrink(picture, 320))) for picture in pictures if picture is not None]
    right = sum(said == true for said, true in zip(found, kind.truth(0, 60), strict=True))
    assert right >= 57


def test_a_copy_keeps_its_shape_and_never_grows() -> None:
    picture = photograph("coffee.png")
    assert steps.shrink(picture, 300).shape == (200, 300, 3)
    assert steps.shrink(picture, 601) is picture


def test_what_is_no_picture_is_none() -> None:
    assert steps.decode(b"") is None
    assert steps.decode(b"no picture") is None


def test_a_message_is_read_as_it_was_written() -> None:
    copy = steps.Copy(sequence=7, time_ms=1_700_000_000_000, origin_partition=2, origin_offset=1 << 40, jpeg=b"jpeg")
    assert steps.Copy.read(copy.write()) == copy
    assert steps.Copy.read(copy.write()[:28]) is None


def test_a_folder_must_be_named_in_full(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give the whole path"):
        steps.store(None, "pictures")  # type: ignore[arg-type]


@pytest.mark.spark
def test_both_paths_through_topics_and_the_single_query_do_what_the_reference_does(
    spark: SparkSession, kafka: KafkaSettings, tmp_path: Path
) -> None:
    pictures = Images(seed=2).values(0, times_ms(PICTURES))
    topic = fill(kafka, "pictures", [*BROKEN, *pictures, *BROKEN])
    raw = raw_records(spark, kafka, topic, per_batch=20)

    kept = passed_on(steps.resize_to_store(raw), kafka, "kept", tmp_path)
    folder = tmp_path / "pictures"
    for again in ("once", "twice"):
        stored = run(steps.store(raw_records(spark, kafka, kept), str(folder)), tmp_path / again)
    receipts = [json.loads(row["value"]) for row in stored.rows]
    assert sorted(receipt["sequence"] for receipt in receipts) == list(range(PICTURES))
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert files == {f"{number:012d}.jpg": copy_of(value, 480) for number, value in enumerate(pictures)}
    assert {receipt["file"]: receipt["bytes"] for receipt in receipts} == {name: len(files[name]) for name in files}

    expected = {number: faces_in(copy_of(value, 320)) for number, value in enumerate(pictures)}
    assert any(boxes for _, _, boxes in expected.values())
    small = passed_on(steps.resize_to_recognize(raw), kafka, "small", tmp_path)
    found = passed_on(steps.recognize(raw_records(spark, kafka, small)), kafka, "found", tmp_path)
    chained = run(steps.results(raw_records(spark, kafka, found)), tmp_path / "chained").rows
    together = run(steps.images(raw), tmp_path / "together").rows
    for rows in (chained, together):
        assert sorted(row["sequence"] for row in rows) == list(range(PICTURES))
        assert {row["sequence"]: seen(row) for row in rows} == expected
        assert all(thing["label"] == "face" for row in rows for thing in row["objects"])
    origins = [
        {(row["sequence"], row["origin_partition"], row["origin_offset"]) for row in rows}
        for rows in (chained, together)
    ]
    assert origins[0] == origins[1]


def seen(row: dict[str, object]) -> tuple[object, object, list[list[int]]]:
    objects = row["objects"]
    assert isinstance(objects, list)
    return row["width"], row["height"], sorted(thing["box"] for thing in objects)


@pytest.mark.spark
def test_the_trace_source_feeds_it(spark: SparkSession, tmp_path: Path) -> None:
    rows = run(steps.images(trace_records(spark, "images", seed=3, count=100)), tmp_path).rows
    pictures = Images(seed=3).values(0, trace_times_ms(100))
    assert {row["sequence"]: seen(row) for row in rows} == {
        number: faces_in(copy_of(value, 320)) for number, value in enumerate(pictures)
    }
    assert len(rows) == 100
