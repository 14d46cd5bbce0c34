"""Pictures of several sizes, some with a face in them.

They are made of the photographs that ship with the package ``scikit-image``: a portrait and small pictures of a hundred
more people (out of "Labeled Faces in the Wild"), and scenes without anybody. A gallery of 48 is cut, mirrored,
scaled and encoded once per process; a record is then one of them, drawn by its sequence number. So making records
costs next to nothing, and whoever looks at them has real work.
"""

from __future__ import annotations

import functools
import importlib.util
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headgate.core.options import check_options, option
from headgate.errors import UserMistake
from headgate.workloads.records.mixing import Numbers, below, shares

SIZES = ((320, 240), (480, 360), (640, 480), (800, 600))
"""Width and height, in pixels."""
_WITH, _WITHOUT = 24, 24
_PORTRAITS = 8
"""So many of the pictures with a face show the portrait; the others one of the hundred people, before a scene."""
_PORTRAIT = "astronaut.png"
_FACE = (176, 66, 99, 99)
"""Where the face is in it: left, top, width, height."""
_PEOPLE = "lfw_subset.npy"
_SCENES = ("coffee.png", "rocket.jpg", "motorcycle_left.png", "brick.png", "grass.png", "chelsea.png", "gravel.png")

_HEAD = struct.Struct(">qq")
_KIND, _PICK = 1, 2

Picture = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """8 bytes with the sequence number, 8 bytes with the time in milliseconds (both big-endian), then a JPEG."""

    name: ClassVar[str] = "images"

    faces: float = option(0.5, "share of the pictures with a face", least=0, most=1)
    seed: int = option(0, "which records", least=0)

    def __post_init__(self) -> None:
        check_options(self.name, self)

    def values(self, first: int, times_ms: Sequence[int]) -> list[bytes]:
        pictures = _gallery()
        sequences = np.arange(first, first + len(times_ms))
        picked = self._picked(sequences).tolist()
        return [
            _HEAD.pack(sequence, time_ms) + pictures[pick]
            for sequence, time_ms, pick in zip(sequences.tolist(), times_ms, picked, strict=True)
        ]

    def truth(self, first: int, count: int) -> list[bool]:
        """Whether each of these pictures has a face in it."""
        return [pick < _WITH for pick in self._picked(np.arange(first, first + count)).tolist()]

    def _picked(self, sequences: Numbers) -> Numbers:
        """Places in the gallery, where the pictures with a face come first."""
        faced = shares(self.seed, _KIND, sequences) < self.faces
        with_face, without = (below(count, self.seed, _PICK, sequences) for count in (_WITH, _WITHOUT))
        return np.where(faced, with_face, _WITH + without)


@functools.cache
def _gallery() -> list[bytes]:
    """The pictures as JPEG: first those with a face."""
    cv2 = _opencv()
    folder = _photographs()
    scenes = [cv2.imread(str(folder / name), cv2.IMREAD_COLOR) for name in _SCENES]
    portrait = cv2.imread(str(folder / _PORTRAIT), cv2.IMREAD_COLOR)
    people = np.load(folder / _PEOPLE)[:100]
    made = []
    for number in range(_WITH + _WITHOUT):
        random = np.random.default_rng(number)
        width, height = SIZES[number % len(SIZES)]
        if number < _PORTRAITS:
            picture = _cut(cv2, portrait, width, height, random, around=_FACE)
        else:
            picture = _cut(cv2, scenes[number % len(scenes)], width, height, random)
        if _PORTRAITS <= number < _WITH:
            _put(cv2, picture, people[random.integers(len(people))], random)
        if random.integers(2):
            picture = cv2.flip(picture, 1)
        _, jpeg = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 85])
        made.append(jpeg.tobytes())
    return made


def _cut(
    cv2: Any,
    photograph: Picture,
    width: int,
    height: int,
    random: np.random.Generator,
    *,
    around: tuple[int, int, int, int] | None = None,
) -> Picture:
    """A piece of the photograph in the shape that is wanted, which holds ``around`` with some room; scaled."""
    tall, wide = photograph.shape[:2]
    largest = min(wide, tall * width / height)
    cut_width = int(largest * random.uniform(0.75, 1.0))
    cut_height = int(cut_width * height / width)
    low_x, low_y, high_x, high_y = 0, 0, wide - cut_width, tall - cut_height
    if around is not None:
        left, top, box_width, box_height = around
        room = box_width // 4
        low_x, high_x = max(0, left + box_width + room - cut_width), min(high_x, left - room)
        low_y, high_y = max(0, top + box_height + room - cut_height), min(high_y, top - room)
    x, y = int(random.integers(low_x, high_x + 1)), int(random.integers(low_y, high_y + 1))
    piece: Picture = cv2.resize(photograph[y : y + cut_height, x : x + cut_width], (width, height))
    return piece


def _put(cv2: Any, picture: Picture, face: NDArray[np.float64], random: np.random.Generator) -> None:
    """The small picture of a person somewhere into the scene, a third to a half as high as that."""
    height, width = picture.shape[:2]
    side = int(height * random.uniform(0.33, 0.5))
    x, y = int(random.integers(width - side)), int(random.integers(height - side))
    gray = cv2.resize((face / face.max() * 255).astype(np.uint8), (side, side), interpolation=cv2.INTER_CUBIC)
    picture[y : y + side, x : x + side] = gray[:, :, np.newaxis]


def _opencv() -> Any:
    try:
        import cv2
    except ImportError:
        raise UserMistake(
            "records images need OpenCV, which is not installed; run pip install 'headgate[pipelines]'"
        ) from None
    return cv2


def _photographs() -> Path:
    found = importlib.util.find_spec("skimage")
    if found is None or not found.submodule_search_locations:
        raise UserMistake(
            "records images need the photographs of scikit-image, which is not installed; "
            "run pip install 'headgate[pipelines]'"
        )
    return Path(next(iter(found.submodule_search_locations))) / "data"
