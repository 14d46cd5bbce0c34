"""A run of an app as a person sees it: start, live view, end, audit, figures, report."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headgate.cli.extras import extras_installed
from headgate.cli.output import Output
from headgate.config import AppFile
from headgate.core.decision import Outcome
from headgate.core.status import Controls
from headgate.errors import UserMistake
from headgate.journal import read_journal
from headgate.link import check_port
from headgate.report import ReportRun, write_report
from headgate.report.live import LiveView
from headgate.report.tables import result_table
from headgate.scoring import Result, score_recorded
from headgate.wiring.loads import check_loads
from headgate.wiring.specs import check_writable, make_guards, make_policy

if TYPE_CHECKING:
    from headgate.spark.audit import Audit
    from headgate.wiring.app import RunningApp
    from headgate.wiring.flow import Account


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What is known once an app has ended."""

    result: Result
    scale_outs: int
    scale_ins: int
    restarts: int
    account: Account
    audits: Mapping[str, Audit]
    journal: Path
    page: Path
    interrupted: bool

    @property
    def exact(self) -> bool:
        return all(audit.exact for audit in self.audits.values())

    @property
    def audit_summary(self) -> str:
        """What was found in the sinks, each by its operator's name if there are several."""
        if len(self.audits) == 1:
            return next(audit.summary for audit in self.audits.values())
        return "; ".join(f"{name}: {audit.summary}" for name, audit in self.audits.items())

    def document(self) -> dict[str, Any]:
        return {
            **self.result.to_document(),
            "scale_outs": self.scale_outs,
            "scale_ins": self.scale_ins,
            "query_restarts": self.restarts,
            "produced": dict(self.account.produced),
            "operators": {name: {"records": count} for name, count in self.account.taken.items()},
            "unfinished": self.account.left,
            "sink": {"exact": self.exact, "summary": self.audit_summary} if self.audits else None,
            "journal": str(self.journal),
            "report": str(self.page),
        }


def run_app(app: AppFile, *, page: Path | None, output: Output) -> int:
    """Run an app to its end; exit 1 if a sink is not exact or work was left, 130 if it was interrupted."""
    ending = run_to_end(app, page=page, output=output)
    if output.as_json:
        output.document(ending.document())
    else:
        tell(ending, output)
    if not ending.exact or ending.account.left is not None:
        return 1
    return 130 if ending.interrupted else 0


def run_to_end(app: AppFile, *, page: Path | None, output: Output) -> Ending:
    make_policy(app.controller.policy)
    make_guards(app.controller.guards)
    check_loads(app)
    check_port(app.controller.port, what=f"the controller of '{app.name}'")
    page = check_writable(page, what="report") if page is not None else app.folder / f"{app.name}.html"
    if not output.err.is_terminal:
        # On a terminal the live view shows what happens.
        output.narrate()
    with contextlib.ExitStack() as stack:
        with output.working(f"starting app '{app.name}' …"):
            running = stack.enter_context(_running_app(app, output))
        # Only now, because PySpark takes Ctrl-C for itself while a session starts.
        stop = stack.enter_context(stopped_by_signals())
        output.say(f"app '{app.name}' is running; journal: {running.journal}")
        with _view(running.controls, output, ends_at_s=running.ends_at_s):
            running.wait(stop=stop)
        restarts, account = running.restarts(), running.account()
    try:
        return _ending(app, running, restarts=restarts, account=account, interrupted=stop.is_set(), page=page)
    except UserMistake as mistake:
        if not stop.is_set():
            raise
        output.say(f"nothing was recorded that could be reported: {mistake}")
        raise KeyboardInterrupt from None


def tell(ending: Ending, output: Output) -> None:
    """The end of a run, for people."""
    output.show(result_table(ending.result))
    lines = [
        f"scaled out {ending.scale_outs} times and in {ending.scale_ins} times, with {ending.restarts} query restarts"
    ]
    lines += [f"produced into '{topic}': {count} records" for topic, count in ending.account.produced.items()]
    lines += [f"operator '{name}' has taken in {count} records" for name, count in ending.account.taken.items()]
    if ending.account.left is not None:
        lines.append(f"ended before all was worked off: {ending.account.left}")
    lines += [ending.audit_summary] if ending.audits else []
    lines += [f"journal: {ending.journal}", f"report:  {ending.page}"]
    for line in lines:
        output.out.print(line, highlight=False, markup=False, soft_wrap=True)


def _ending(
    app: AppFile, running: RunningApp, *, restarts: int, account: Account, interrupted: bool, page: Path
) -> Ending:
    audits = running.audits(complete=not interrupted)
    reader = read_journal(running.journal)
    result = score_recorded(reader, slo_latency_s=app.slo_latency_s)
    write_report([ReportRun(label=result.policy, reader=reader, result=result)], page)
    steps = [
        tick.decision.granted.executors - tick.decision.current.executors
        for tick in reader.ticks()
        if tick.outcome is Outcome.APPLIED
    ]
    return Ending(
        result=result,
        scale_outs=sum(step > 0 for step in steps),
        scale_ins=sum(step < 0 for step in steps),
        restarts=restarts,
        account=account,
        audits=audits,
        journal=running.journal,
        page=page,
        interrupted=interrupted,
    )


def _running_app(app: AppFile, output: Output) -> RunningApp:
    """Import what needs PySpark or Kafka's client only now, so that a missing one is said in a sentence."""
    with extras_installed():
        module = import_module("headgate.wiring.app")
        if app.uses_kafka:
            import_module("headgate.wiring.kafka_side")
    running: RunningApp = module.RunningApp(app, say=output.say)
    return running


@contextlib.contextmanager
def stopped_by_signals() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM ask for a clean end with a report; a second one is obeyed at once."""
    stop = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: Any) -> None:  # noqa: ARG001 - the signature of a signal handler
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    for number in before:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _view(controls: Controls, output: Output, *, ends_at_s: float | None) -> Any:
    if output.quiet:
        return contextlib.nullcontext()
    return LiveView(controls, console=output.err, ends_at_s=ends_at_s)
