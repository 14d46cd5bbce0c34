"""A process that sends: ``python -m headgate.kafka.sending_process``, started by ``Production``.

It reads its orders as JSON lines from stdin (the plan; the start time; then ``stop``) and reports as JSON
lines on stdout. Settings, secrets among them, come through the pipe and so appear in no list of processes.
When stdin ends, its parent has gone, and so does it.
"""

from __future__ import annotations

import gc
import json
import math
import os
import signal
import sys
import threading
import time
from dataclasses import asdict
from typing import Any

import numpy as np

from headgate.errors import HeadgateError
from headgate.kafka.outlet import TopicOutlet
from headgate.kafka.pacing import Share
from headgate.kafka.plan import ProductionPlan
from headgate.kafka.sending import Sender, SendingReport
from headgate.kafka.settings import KafkaSettings


class SteadyClock:
    """The time of day when it was made, and from then on what has passed: nobody sets it."""

    def __init__(self) -> None:
        self._offset_s = time.time() - time.monotonic()

    def now_s(self) -> float:
        return self._offset_s + time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def main() -> None:
    # A terminal's Ctrl-C reaches the whole group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        _work()
    except BrokenPipeError:
        os._exit(1)
    except HeadgateError as problem:
        _say({"problem": str(problem)})
        sys.exit(1)


def _work() -> None:
    order = _hear()
    plan = ProductionPlan(**order["plan"])
    share = Share(order["index"], plan.processes)
    most_per_s = int(np.diff(plan.curve()).max(initial=0))
    outlet = TopicOutlet(
        KafkaSettings(order["bootstrap"], order["client"]), plan.topic, room=_room(most_per_s, plan.processes)
    )
    _say({"ready": True})
    start_time_s = float(_hear()["start_time_s"])
    stop = threading.Event()
    threading.Thread(target=_watch, args=(stop,), daemon=True).start()
    gc.freeze()
    sender = Sender(
        plan,
        share,
        start_time_s=start_time_s,
        partitions=order["partitions"],
        outlet=outlet,
        clock=SteadyClock(),
        stopped=stop.is_set,
        report=lambda report: _say({"report": asdict(report)}),
    )
    last = sender.run()
    _say({"ended": True, "problem": _problem(last, outlet)})


def _room(most_per_s: int, processes: int) -> int:
    """Records of one second at the peak, and a few more where that is next to nothing."""
    return max(100, math.ceil(most_per_s / processes))


def _problem(last: SendingReport, outlet: TopicOutlet) -> str | None:
    if last.failed:
        return f"{last.failed} records were refused for good: {outlet.last_failure}"
    lost = last.sent - last.acknowledged
    return f"{lost} records were not acknowledged before the end" if lost else None


def _hear() -> Any:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def _say(what: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _watch(stop: threading.Event) -> None:
    sys.stdin.readline()
    stop.set()


if __name__ == "__main__":
    main()
