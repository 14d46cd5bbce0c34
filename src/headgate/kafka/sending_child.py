"""A sending process, seen from the one that has started it."""

from __future__ import annotations

import contextlib
import json
import logging
import subprocess
import sys
import threading
from dataclasses import asdict
from typing import Any

from headgate.errors import HeadgateError, Permanent
from headgate.kafka.plan import ProductionPlan
from headgate.kafka.sending import SendingReport
from headgate.kafka.settings import KafkaSettings

log = logging.getLogger("headgate.kafka.production")


class SendingChild:
    """One sending process and what it has said last."""

    def __init__(self, settings: KafkaSettings, plan: ProductionPlan, *, index: int, partitions: int) -> None:
        self.report = SendingReport()
        self.problem: HeadgateError | None = None
        self.ready = threading.Event()
        """It waits for its start, or never will."""
        self.ended = threading.Event()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headgate.kafka.sending_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.tell(
            {
                "bootstrap": settings.bootstrap,
                "client": dict(settings.client),
                "plan": asdict(plan),
                "index": index,
                "partitions": partitions,
            }
        )
        self._reader = threading.Thread(target=self._listen, name=f"production-{index}", daemon=True)
        self._reader.start()

    def tell(self, what: Any) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # it has ended, and its last words or its exit code say why

    def close(self, timeout_s: float) -> None:
        """Make sure that it has gone."""
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        complete = False
        for line in self.process.stdout:
            said = json.loads(line)
            if said.get("problem"):
                self.problem = Permanent(said["problem"])
            if "report" in said:
                self._heard(SendingReport(**said["report"]))
            complete = complete or "ended" in said
            if "ready" in said:
                self.ready.set()
        code = self.process.wait()
        if not complete and self.problem is None:
            self.problem = Permanent(f"a producing process ended with {code} before it had sent its records")
        self.ready.set()
        self.ended.set()

    def _heard(self, report: SendingReport) -> None:
        if report.trouble != self.report.trouble:
            if report.trouble is not None:
                log.warning("%s; the producer goes on trying", report.trouble)
            else:
                log.warning("Kafka is back; the producer is %.1f s late and catches up", report.late_s)
        self.report = report
