"""Pictures: what a record holds, and that it can be made again anywhere."""

from __future__ import annotations

import struct

import cv2
import numpy as np
import pytest

from headgate.workloads.records.images import SIZES, Images

TIMES = list(range(1_700_000_000_000, 1_700_000_000_200))


def test_a_record_is_sequence_time_and_a_jpeg() -> None:
    value = Images().values(7, TIMES[:1])[0]
    assert struct.unpack(">qq", value[:16]) == (7, TIMES[0])
    picture = cv2.imdecode(np.frombuffer(value[16:], np.uint8), cv2.IMREAD_COLOR)
    assert (picture.shape[1], picture.shape[0]) in SIZES


def test_a_record_depends_on_seed_and_sequence_alone() -> None:
    whole = Images(seed=4).values(0, TIMES)
    assert Images(seed=4).values(60, TIMES[60:70]) == whole[60:70]
    assert Images(seed=4).truth(60, 10) == Images(seed=4).truth(0, 200)[60:70]
    assert Images(seed=5).values(0, TIMES) != whole


def test_pictures_come_in_all_sizes_and_fit_into_a_message() -> None:
    values = Images().values(0, TIMES)
    shapes = {cv2.imdecode(np.frombuffer(value[16:], np.uint8), cv2.IMREAD_COLOR).shape[:2] for value in values}
    assert shapes == {(height, width) for width, height in SIZES}
    assert max(map(len, values)) < 200_000


def test_faces_come_in_the_share_asked_for() -> None:
    assert sum(Images(faces=0.25).truth(0, 4000)) / 4000 == pytest.approx(0.25, abs=0.03)
    assert not any(Images(faces=0).truth(0, 50))
    assert all(Images(faces=1).truth(0, 50))
