"""What the image pipeline must make of a picture, step by step with OpenCV: no Spark, no messages."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np


def copy_of(record: bytes, longest: int) -> bytes:
    """The JPEG of a raw record, made smaller."""
    picture = cv2.imdecode(np.frombuffer(record[16:], np.uint8), cv2.IMREAD_COLOR)
    height, width = picture.shape[:2]
    if max(height, width) > longest:
        factor = longest / max(height, width)
        smaller = (round(width * factor), round(height * factor))
        picture = cv2.resize(picture, smaller, interpolation=cv2.INTER_AREA)
    return cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 90])[1].tobytes()


def faces_in(jpeg: bytes) -> tuple[int, int, list[list[int]]]:
    """Width, height and the boxes of the faces, from left to right."""
    picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    gray = cv2.equalizeHist(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY))
    cascade = cv2.CascadeClassifier(f"{cv2.data.haarcascades}haarcascade_frontalface_alt2.xml")
    boxes: Any = cascade.detectMultiScale(gray, 1.1, 5, minSize=(30, 30))
    return picture.shape[1], picture.shape[0], sorted([int(side) for side in box] for box in boxes)
