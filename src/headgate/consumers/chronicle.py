"""What happened in a consumer group, as lines of JSON: what its report reads."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

FILE = "group.jsonl"


class Chronicle:
    """Appends to a file; a line is there as a whole, or not at all."""

    def __init__(self, path: Path, *, now_s: Callable[[], float] = time.time) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._now_s = now_s
        self._lock = threading.Lock()
        self._file = path.open("ab", buffering=0)

    def tell(self, kind: str, **figures: Any) -> None:
        line = json.dumps({"time_s": round(self._now_s(), 3), "kind": kind, **figures}, separators=(",", ":"))
        with self._lock:
            self._file.write(f"{line}\n".encode())

    def close(self) -> None:
        self._file.close()


def read_chronicle(path: Path) -> Iterator[Mapping[str, Any]]:
    """Line by line, oldest first; half a line at the end, from a process that was killed, is left out."""
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                try:
                    yield json.loads(line)
                except ValueError:
                    continue
