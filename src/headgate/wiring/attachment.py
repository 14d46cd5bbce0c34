"""``headgate.attach``: the one line that a data engineer adds to a driver.

Agent and controller are two parts: the agent measures and changes this driver's app, the controller
decides. ``attach`` puts both into this process; ``serve`` puts only the agent here and lets a
controller process reach it.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pyspark.sql.streaming.query import StreamingQuery

from headgate.control.clock import WallClock
from headgate.control.loop import Loop
from headgate.control.training import TrainingProcess
from headgate.core.ports import Guard, Policy
from headgate.core.status import Status
from headgate.errors import HeadgateError, NotReady, Permanent, UserMistake
from headgate.journal import SqliteJournal
from headgate.link import AgentServer, ControlServer, Registration, register, state_home
from headgate.spark.agent import SparkAgent
from headgate.spark.operators import Operator
from headgate.wiring.operators import topic_probe
from headgate.wiring.specs import make_bounds, make_guards, make_loop, make_policy

log = logging.getLogger("headgate")

_DAY_S = 86400.0
_LOOK_EVERY_S = 0.01

Attachable = StreamingQuery | Operator

_attached: set[str] = set()
"""Run ids of the queries that have an agent in this process: two would pull at the same executors."""


class Scaler:
    """A running controller in this process; leaving its ``with`` block leaves the stream running."""

    def __init__(
        self,
        queries: Sequence[StreamingQuery],
        *,
        loop: Loop,
        agent: SparkAgent,
        journal: SqliteJournal,
        app: str,
        port: int = 0,
    ) -> None:
        self._loop = loop
        self._agent = agent
        self._journal = journal
        self.app = app
        self._failure: HeadgateError | None = None
        self._server = ControlServer(loop, app=app, port=port)
        self._runs = _run_ids(queries)
        _attached.update(self._runs)
        self._registration: Registration | None = None
        self._thread = threading.Thread(target=self._run, name=f"headgate-{app}", daemon=True)

    def start(self) -> Self:
        """Begin, and return when there is a status to ask for and levers to pull."""
        self._agent.start()
        self._server.start()
        self._registration = _register("controller", app=self.app, server=self._server)
        self._thread.start()
        while not self._begun():
            if self.wait(_LOOK_EVERY_S):
                break
        if isinstance(self._failure, UserMistake):
            raise self._failure
        return self

    def _begun(self) -> bool:
        try:
            self._loop.status()
        except NotReady:
            return False
        return True

    def _run(self) -> None:
        try:
            self._loop.run()
            if self._agent.ended and self._agent.failure is not None:
                raise Permanent(self._agent.failure)
        except HeadgateError as error:
            self._failure = error
            if not isinstance(error, UserMistake):
                log.error("app '%s' is no longer controlled: %s", self.app, error)
        finally:
            self._close()

    def _close(self) -> None:
        if self._registration is not None:
            self._registration.remove()
        self._server.stop()
        self._agent.stop()
        self._journal.close()
        _attached.difference_update(self._runs)

    @property
    def journal(self) -> Path:
        return self._journal.path

    @property
    def failure(self) -> HeadgateError | None:
        """Why the controller ended, if it was an error of its own or of a query."""
        return self._failure

    def status(self) -> Status:
        """Allocation, rates, and the last decision with its reasons."""
        return self._loop.status()

    def pause(self) -> None:
        """Hold the present size until ``resume``."""
        self._loop.pause()

    def resume(self) -> None:
        self._loop.resume()

    def pin(self, executors: int) -> None:
        """Go to that size at once and stay there until ``unpin``."""
        self._loop.pin(executors)

    def unpin(self) -> None:
        self._loop.unpin()

    def stop(self) -> None:
        """End the controller; the stream runs on at its present size."""
        self._loop.stop()
        self.wait()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Until the controller has ended, as it does with its query; whether it has."""
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def attach(
    query: Attachable | Sequence[Attachable],
    *,
    policy: str | Policy = "hpa",
    executors: tuple[int, int] = (1, 4),
    guards: Sequence[str | Guard] = (),
    dry_run: bool = False,
    journal: str | Path | None = None,
    app: str | None = None,
    sampling_interval_s: float = 1.0,
    retention_s: float | None = 7 * _DAY_S,
    port: int = 0,
    extra: dict[str, Any] | None = None,
) -> Scaler:
    """Let a policy size a running query, or operator, or a list of those that form one app.

    Executors are scaled for all of them, the parallelism of those that were started through ``headgate.operator``.
    Never stops, restarts or slows the query, and ends with it. With the journal of an earlier run of
    the same query it resumes at the size and with the knowledge found there. Without ``journal`` one
    is kept per query in the user's state folder. ``port`` is where terminals reach the levers; 0 takes
    any that is free.
    """
    made_policy, made_guards, bounds = make_policy(policy), make_guards(guards), make_bounds(executors)
    queries = _queries(query)
    name = app or _app_name(queries)
    agent = SparkAgent(queries, app=name, bounds=bounds, topic_probe=topic_probe)
    kept = SqliteJournal(_journal_path(journal, queries, name), retention_s=retention_s)
    try:
        loop = make_loop(
            agent,
            policy=made_policy,
            guards=made_guards,
            journal=kept,
            clock=WallClock(),
            training=TrainingProcess(),
            sampling_interval_s=sampling_interval_s,
            dry_run=dry_run,
            extra=extra,
        )
        scaler = Scaler(queries, loop=loop, agent=agent, journal=kept, app=name, port=port)
    except BaseException:
        kept.close()
        raise
    return scaler.start()


class ServedAgent:
    """An agent of this driver that a controller in another process reaches."""

    def __init__(self, queries: Sequence[StreamingQuery], *, agent: SparkAgent, app: str, host: str, port: int) -> None:
        self._agent = agent
        self._server = AgentServer(agent, app=app, host=host, port=port)
        self._runs = _run_ids(queries)
        _attached.update(self._runs)
        self._registration: Registration | None = None
        self.app = app

    def start(self) -> Self:
        self._agent.start()
        self._server.start()
        self._registration = _register("agent", app=self.app, server=self._server)
        return self

    def stop(self) -> None:
        """Take the agent away; the stream runs on at its present size."""
        if self._registration is not None:
            self._registration.remove()
        self._server.stop()
        self._agent.stop()
        _attached.difference_update(self._runs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def serve(
    query: Attachable | Sequence[Attachable],
    *,
    executors: tuple[int, int] = (1, 4),
    app: str | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
) -> ServedAgent:
    """Put only the agent into this driver; ``headgate control`` decides from a process of its own."""
    bounds = make_bounds(executors)
    queries = _queries(query)
    name = app or _app_name(queries)
    agent = SparkAgent(queries, app=name, bounds=bounds, topic_probe=topic_probe)
    return ServedAgent(queries, agent=agent, app=name, host=host, port=port).start()


def _register(role: str, *, app: str, server: AgentServer | ControlServer) -> Registration | None:
    """Make it findable; a home that cannot be written costs the terminal's levers, not the care for the stream."""
    try:
        return register(role=role, app=app, address=server.address, token=server.token)
    except UserMistake as mistake:
        log.warning("other terminals cannot find app '%s': %s", app, mistake)
        return None


def _queries(query: Attachable | Sequence[Attachable]) -> list[StreamingQuery]:
    given: list[Any] = list(query) if isinstance(query, list | tuple) else [query]
    queries = [each.query if isinstance(each, Operator) else each for each in given]
    if not queries:
        raise UserMistake("attach was given no query; give a running StreamingQuery or a list of them")
    for each in queries:
        if not hasattr(each, "recentProgress"):
            raise UserMistake(
                f"attach was given a {type(each).__name__}; give the StreamingQuery that writeStream….start() returns"
            )
        if not each.isActive:
            raise UserMistake(f"query '{each.name or each.id}' has ended; start it again before attaching to it")
        if not _attached.isdisjoint(_run_ids([each])):
            raise UserMistake(f"query '{each.name or each.id}' is attached already; stop its scaler first")
    return queries


def _run_ids(queries: Sequence[StreamingQuery]) -> frozenset[str]:
    return frozenset(str(query.runId) for query in queries)


def _app_name(queries: list[StreamingQuery]) -> str:
    return queries[0].name or f"query-{queries[0].id}"


def _journal_path(journal: str | Path | None, queries: list[StreamingQuery], name: str) -> Path:
    if journal is not None:
        return Path(journal)
    folder = state_home() / "journals"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UserMistake(
            f"the folder of journals '{folder}' cannot be used ({error.strerror}); give journal= a file of your own"
        ) from None
    # A query keeps its id when it is restarted from its checkpoint, and so finds its own journal again.
    return folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '-', name)[:60]}-{queries[0].id}.db"
