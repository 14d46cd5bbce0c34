"""Training of policies beside the loop.

On virtual time it is done at once and delivered at the next tick, so that runs can be repeated. On real time a
process of its own does it, because fitting a model keeps Python busy for seconds in which no tick could be made. A
training that fails or crashes is delivered as a problem, and it is the policy's to say so and to go on without.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.ports import Learner

_LONGEST_S = 300.0
_LEAST_URGENT = 15


class TrainingAtOnce:
    """In the loop's own time; for clocks that stand still meanwhile."""

    def __init__(self) -> None:
        self._delivery: Mapping[str, Any] | None = None

    def submit(self, learner: Learner, evaluation: Evaluation, knowledge: Knowledge) -> None:
        try:
            self._delivery = learner.train(learner.lesson(evaluation, knowledge))
        except Exception as error:
            self._delivery = {"problem": _sentence(error)}

    def take(self) -> Mapping[str, Any] | None:
        delivery, self._delivery = self._delivery, None
        return delivery


class TrainingProcess:
    """In a process of its own, with low priority, that ends with the training."""

    def __init__(self, *, longest_s: float = _LONGEST_S) -> None:
        self._longest_s = longest_s
        self._lock = threading.Lock()
        self._delivery: Mapping[str, Any] | None = None
        self._thread: threading.Thread | None = None

    def submit(self, learner: Learner, evaluation: Evaluation, knowledge: Knowledge) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        try:
            work = pickle.dumps((learner, learner.lesson(evaluation, knowledge)))
        except Exception as error:
            # A policy may be anyone's, and not every class can be handed over to another process.
            with self._lock:
                self._delivery = {"problem": _sentence(error)}
            return
        self._thread = threading.Thread(target=self._run, args=(work,), name="headgate-training", daemon=True)
        self._thread.start()

    def take(self) -> Mapping[str, Any] | None:
        with self._lock:
            delivery, self._delivery = self._delivery, None
            return delivery

    def wait(self, timeout_s: float | None = None) -> None:
        """Until the training under way has ended."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _run(self, work: bytes) -> None:
        try:
            done = subprocess.run(
                [sys.executable, "-m", "headgate.control.training"],
                input=work,
                capture_output=True,
                timeout=self._longest_s,
                check=False,
            )
            delivery = _read(done)
        except subprocess.TimeoutExpired:
            delivery = {"problem": f"it took longer than {self._longest_s:.0f} s"}
        except OSError as error:
            delivery = {"problem": _sentence(error)}
        with self._lock:
            self._delivery = delivery


def _read(done: subprocess.CompletedProcess[bytes]) -> Mapping[str, Any]:
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else "nothing was said"
        return {"problem": f"its process ended with code {done.returncode}: {last}"}
    delivery: Mapping[str, Any] = pickle.loads(done.stdout)
    return delivery


def _sentence(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def main() -> None:
    """The process: a pickled learner and its lesson on stdin, its answer on stdout."""
    answers = sys.stdout.buffer
    sys.stdout = sys.stderr
    os.nice(_LEAST_URGENT)
    learner, lesson = pickle.load(sys.stdin.buffer)
    try:
        delivery = learner.train(lesson)
    except Exception as error:
        delivery = {"problem": _sentence(error)}
    answers.write(pickle.dumps(delivery))


if __name__ == "__main__":
    main()
