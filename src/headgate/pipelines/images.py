"""Object recognition in a stream of pictures.

The reference application of Elastic Pulsar Functions (Russo Russo, Schiazza, Cardellini: "Elastic Pulsar Functions
for Distributed Stream Processing"): two resized copies of every picture are made in parallel; one is stored as a file,
the other goes to a detector. Four operators connected by topics, each a function from raw records (the columns of
Spark's Kafka source) to the messages for the next topic (``value``):

    pictures → ``resize_to_store`` → ``store``
    pictures → ``resize_to_recognize`` → ``recognize``

All are stateless. ``images`` is the second path in one query, ``results`` reads its last topic.

A record is 8 bytes with a sequence number, 8 bytes with the event time in milliseconds since 1970 (both big-endian) and
a JPEG. A resized copy has the same 16 bytes, then 4 and 8 bytes with the partition and the offset that the picture has
in the first topic, then a JPEG. What is shorter, is no picture or has no time is dropped, so that it cannot stop the
stream. Pictures are large: limit the records of a micro-batch, since Spark hands a task all of them at once.

The detector is the cascade for frontal faces (Viola and Jones 2001; Lienhart and Maydt 2002) that ships with
``opencv-python-headless`` up to version 4. It takes the place of the paper's TensorFlow model, and as there, it is
what costs most by far. Nothing is downloaded.
"""

from __future__ import annotations

import functools
import gc
import json
import struct
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's users know

STORED_SIDE = 480
RECOGNIZED_SIDE = 320
"""The longest side of the copies, in pixels; a picture that is smaller keeps its size."""
SMALLEST_FACE = 30

_RAW = struct.Struct(">qq")
_RESIZED = struct.Struct(">qqiq")
_LAST_MS = 253_402_300_799_999
_QUALITY = 90
_ROWS_PER_BATCH = 64
_RESULT = (
    "origin_partition INT, origin_offset BIGINT, sequence BIGINT, time_ms BIGINT, width INT, height INT, "
    "objects ARRAY<STRUCT<label: STRING, score: DOUBLE, box: ARRAY<INT>>>"
)

Picture = NDArray[np.uint8]


# The operators.


def resize_to_store(pictures: DataFrame, side: int = STORED_SIDE) -> DataFrame:
    """Raw pictures → the copies that are kept."""
    return _resize(pictures, side)


def resize_to_recognize(pictures: DataFrame, side: int = RECOGNIZED_SIDE) -> DataFrame:
    """Raw pictures → the copies that the detector looks at."""
    return _resize(pictures, side)


def store(copies: DataFrame, folder: str) -> DataFrame:
    """Resized copies → files ``folder/000000000007.jpg``, by sequence number → JSON that says what was stored.

    A file appears when it is whole, and a copy of a message replaces it by itself. Every executor must reach the
    folder under this name.
    """
    _workable(folder)

    def stored(copy: Copy) -> bytes:
        name = f"{copy.sequence:012d}.jpg"
        _write(Path(folder) / name, copy.jpeg)
        return _json(copy, file=name, bytes=len(copy.jpeg))

    return _each(copies.select("value"), Copy.read, stored)


def recognize(copies: DataFrame) -> DataFrame:
    """Resized copies → JSON with ``width``, ``height`` and ``objects``: each with label, score and box.

    A box is left, top, width and height in pixels of the copy. The surest object comes first.
    """

    def recognized(copy: Copy) -> bytes | None:
        picture = decode(copy.jpeg)
        if picture is None:
            return None
        height, width = picture.shape[:2]
        return _json(copy, width=width, height=height, objects=[found.as_json() for found in detect(picture)])

    return _each(copies.select("value"), Copy.read, recognized)


def results(messages: DataFrame) -> DataFrame:
    """What ``recognize`` wrote to a topic → rows, with the event time as ``time``."""
    read = messages.select(F.from_json(F.col("value").cast("string"), _RESULT).alias("result")).select("result.*")
    whole = read.where(
        f"origin_partition IS NOT NULL AND origin_offset IS NOT NULL AND time_ms BETWEEN 0 AND {_LAST_MS}"
    )
    timed = whole.withColumn("time", F.timestamp_millis("time_ms"))
    return timed.select("origin_partition", "origin_offset", "sequence", "time", "width", "height", "objects")


def images(pictures: DataFrame) -> DataFrame:
    """Raw pictures → rows with the objects in them, in one query."""
    return results(recognize(resize_to_recognize(pictures)))


def _resize(pictures: DataFrame, side: int) -> DataFrame:
    if side < 1:
        raise ValueError(f"side={side} is no size of a picture; give its longest side in pixels")

    def resized(copy: Copy) -> bytes | None:
        picture = decode(copy.jpeg)
        return None if picture is None else copy.with_jpeg(encode(shrink(picture, side))).write()

    return _each(pictures.select("value", "partition", "offset"), Copy.of_record, resized)


def _each(frame: DataFrame, read: Callable[..., Copy | None], work: Callable[[Copy], bytes | None]) -> DataFrame:
    """One message for each row that can be read; the columns of ``frame`` are the arguments of ``read``."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _settle()
        for batch in batches:
            for first in range(0, batch.num_rows, _ROWS_PER_BATCH):
                piece = batch.slice(first, _ROWS_PER_BATCH)
                copies = map(read, *(column.to_pylist() for column in piece.columns))
                made = [message for copy in copies if copy is not None and (message := work(copy)) is not None]
                yield pa.RecordBatch.from_arrays([pa.array(made, type=pa.binary())], names=["value"])

    return frame.mapInArrow(run, "value BINARY")


@functools.cache
def _settle() -> None:
    """One thread, for a task has one core; and no search for garbage among the libraries after every task."""
    cv2.setNumThreads(1)
    gc.freeze()


# Messages.


@dataclass(frozen=True, slots=True)
class Copy:
    """A picture on its way through the topics."""

    sequence: int
    time_ms: int
    origin_partition: int
    origin_offset: int
    jpeg: bytes

    @staticmethod
    def of_record(value: bytes | None, partition: int, offset: int) -> Copy | None:
        """Of a raw record; ``None`` if it is too short or has no time."""
        if value is None or len(value) <= _RAW.size:
            return None
        sequence, time_ms = _RAW.unpack_from(value)
        copy = Copy(sequence, time_ms, partition, offset, value[_RAW.size :])
        return copy if 0 <= copy.time_ms <= _LAST_MS else None

    @staticmethod
    def read(value: bytes | None) -> Copy | None:
        """Of a message between two operators, likewise."""
        if value is None or len(value) <= _RESIZED.size:
            return None
        sequence, time_ms, partition, offset = _RESIZED.unpack_from(value)
        copy = Copy(sequence, time_ms, partition, offset, value[_RESIZED.size :])
        return copy if 0 <= copy.time_ms <= _LAST_MS else None

    def write(self) -> bytes:
        head = _RESIZED.pack(self.sequence, self.time_ms, self.origin_partition, self.origin_offset)
        return head + self.jpeg

    def with_jpeg(self, jpeg: bytes) -> Copy:
        return replace(self, jpeg=jpeg)


def _json(copy: Copy, **members: Any) -> bytes:
    origin = {"origin_partition": copy.origin_partition, "origin_offset": copy.origin_offset}
    return json.dumps({**origin, "sequence": copy.sequence, "time_ms": copy.time_ms, **members}).encode()


def _write(path: Path, content: bytes) -> None:
    """All or nothing: others see the old file or the new one, never a part."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _workable(folder: str) -> None:
    if not Path(folder).is_absolute():
        raise ValueError(f"folder={folder} is relative; give the whole path, since executors have folders of their own")
    Path(folder).mkdir(parents=True, exist_ok=True)


# The work on one picture.


@dataclass(frozen=True, slots=True)
class Found:
    """An object in a picture."""

    label: str
    score: float
    """How sure the last stage of the cascade was; greater is surer, and below 0 it would not be one."""
    box: tuple[int, int, int, int]
    """Left, top, width and height, in pixels."""

    def as_json(self) -> dict[str, Any]:
        return {"label": self.label, "score": self.score, "box": list(self.box)}


def decode(jpeg: bytes) -> Picture | None:
    """The pixels, or ``None`` if that is no picture."""
    try:
        picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        return None
    return None if picture is None else picture.astype(np.uint8, copy=False)


def encode(picture: Picture) -> bytes:
    """As JPEG."""
    _, jpeg = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    return jpeg.tobytes()


def shrink(picture: Picture, side: int) -> Picture:
    """So that its longest side is ``side`` pixels; never larger than it was."""
    height, width = picture.shape[:2]
    share = side / max(height, width)
    if share >= 1:
        return picture
    size = (max(1, round(width * share)), max(1, round(height * share)))
    return cv2.resize(picture, size, interpolation=cv2.INTER_AREA).astype(np.uint8, copy=False)


def detect(picture: Picture) -> list[Found]:
    """The faces that look at the camera, the surest first."""
    gray = cv2.equalizeHist(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY))
    boxes, _, scores = _faces().detectMultiScale3(
        gray, scaleFactor=1.1, minNeighbors=5, minSize=(SMALLEST_FACE, SMALLEST_FACE), outputRejectLevels=True
    )
    found = [
        Found("face", float(score), (int(left), int(top), int(width), int(height)))
        for (left, top, width, height), score in zip(boxes, scores, strict=True)
    ]
    return sorted(found, key=lambda one: (-one.score, one.box))


@functools.cache
def _faces() -> cv2.CascadeClassifier:
    file = Path(cv2.__file__).parent / "data" / "haarcascade_frontalface_alt2.xml"
    if not file.exists():
        raise ModuleNotFoundError(
            f"OpenCV {cv2.__version__} ships no cascades; run pip install 'opencv-python-headless>=4.10,<5'"
        )
    return cv2.CascadeClassifier(str(file))
