"""What an app remembers in its folder about its topics, so that a driver that comes back goes on where it was.

The note says on which Kafka cluster the app ran, where it began in each topic, and how many records its
producers have sent. Checkpoints mean nothing on another cluster: then what is left of the earlier run is
set aside, and a new one begins.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from headgate.config import AppFile
from headgate.errors import UserMistake

_NOTE = "topics.json"
CHECKPOINTS = "checkpoints"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNote:
    cluster: str
    starts: Mapping[str, Mapping[int, int]]
    """Where the app began, by topic and partition."""
    produced: Mapping[str, int] = field(default_factory=dict)
    """Sequence numbers that producers have used up, by topic."""
    whole: bool = True
    """Whether all records with these numbers have arrived."""

    def write(self, folder: Path) -> None:
        draft = folder / f"{_NOTE}.draft"
        draft.write_text(json.dumps(asdict(self)), encoding="utf-8")
        draft.replace(folder / _NOTE)


def read_note(folder: Path) -> RunNote | None:
    """What an earlier start has written; ``None`` if there was none."""
    path = folder / _NOTE
    if not path.exists():
        return None
    try:
        noted = json.loads(path.read_text(encoding="utf-8"))
        starts = {
            topic: {int(partition): int(offset) for partition, offset in offsets.items()}
            for topic, offsets in noted["starts"].items()
        }
        produced = {topic: int(count) for topic, count in noted["produced"].items()}
        return RunNote(cluster=str(noted["cluster"]), starts=starts, produced=produced, whole=bool(noted["whole"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserMistake(f"{path} is damaged; remove the folder {folder} to start the app anew") from None


def set_aside(app: AppFile) -> Path | None:
    """Move what an earlier run has left in the app's folder into one of its own there; where it went."""
    sinks = [Path(sink_path(app, operator.sink.path)) for operator in app.operators if operator.sink is not None]
    ours = [app.folder / name for name in (_NOTE, CHECKPOINTS, "stream.json", "controller.log")]
    ours += [*app.folder.glob(f"{app.name}.db*"), app.folder / f"{app.name}.html"]
    ours += [sink for sink in sinks if app.folder in sink.parents]
    found = [path for path in ours if path.exists()]
    if not found:
        return None
    place = app.folder / "earlier" / time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    for path in found:
        target = place / path.relative_to(app.folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
    return place


def sink_path(app: AppFile, path: str) -> str:
    return path.replace("{folder}", str(app.folder))
