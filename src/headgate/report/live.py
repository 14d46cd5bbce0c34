"""What a person at a terminal sees while a controller runs.

On a terminal a panel that is redrawn; elsewhere (a log file, a pipe) a plain line now and then and
at every change of size. A status that cannot be had is said and waited for: the view never ends
the run it looks at.
"""

from __future__ import annotations

import threading
from collections import deque
from types import TracebackType
from typing import Self

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from headgate.core.sample import AgentEvent
from headgate.core.status import Controls, Status
from headgate.errors import HeadgateError
from headgate.report import wording
from headgate.report.chronicle import EVENT_NAMES
from headgate.report.reading import Reading, size, sparkline, why
from headgate.report.tables import control_rows

_REMEMBERED = 600
_EVENTS_SHOWN = 4
_MOST_SQUARES = 24


class LiveView:
    """Shows a controller until the ``with`` block is left.

    ``refresh`` asks for the status once and shows it; the block's thread calls it every
    ``refresh_s`` seconds. ``ends_at_s`` is in the controller's time.
    """

    def __init__(
        self,
        controls: Controls,
        *,
        console: Console,
        refresh_s: float = 1.0,
        title: str = "Headgate",
        ends_at_s: float | None = None,
        plain_every_s: float = 10.0,
    ) -> None:
        self._controls = controls
        self._console = console
        self._refresh_s = refresh_s
        self._title = title
        self._ends_at_s = ends_at_s
        self._plain_every_s = plain_every_s
        self._readings: deque[Reading] = deque(maxlen=_REMEMBERED)
        self._events: deque[AgentEvent] = deque(maxlen=_EVENTS_SHOWN)
        self._status: Status | None = None
        self._silence: str | None = None
        self._last_line_s: float | None = None
        self._last_size: str | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(console=self._console, auto_refresh=False, transient=False)
            self._live.start()
        self._thread = threading.Thread(target=self._run, name="headgate-live-view", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5.0)
        if self._live is not None:
            self._live.stop()

    def _run(self) -> None:
        while True:
            self.refresh()
            if self._stop.wait(self._refresh_s):
                return

    def refresh(self) -> None:
        """Ask for the status once, and show it."""
        self.observe()
        if self._live is not None:
            self._live.update(self.panel(), refresh=True)
        else:
            line = self.due_line()
            if line is not None:
                self._console.print(Text(line), soft_wrap=True)

    def observe(self) -> None:
        """Take in the present status, or that there is none."""
        try:
            status = self._controls.status()
        except HeadgateError as error:
            self._silence = str(error)
            return
        self._silence = None
        self._status = status
        self._readings.append(Reading.of(status))
        for event in status.now.events if status.now is not None else ():
            if event not in self._events:
                self._events.append(event)

    def due_line(self) -> str | None:
        """The plain line that is to be printed now, if one is."""
        status = self._status
        if status is None or self._silence is not None:
            return self._due_complaint()
        reading = self._readings[-1]
        due = self._last_line_s is None or status.time_s - self._last_line_s >= self._plain_every_s
        if not due and size(reading) == self._last_size:
            return None
        changed = size(reading) != self._last_size
        self._last_line_s, self._last_size = status.time_s, size(reading)
        return plain_line(status, reading, explain=changed)

    def _due_complaint(self) -> str | None:
        """Said once for each new reason, so that a long silence does not fill a log."""
        complaint = f"no status: {self._silence}" if self._silence else "no status yet"
        if complaint == self._last_size:
            return None
        self._last_size, self._last_line_s = complaint, None
        return complaint

    def panel(self) -> RenderableType:
        """The whole view."""
        if self._status is None:
            waiting = self._silence or "waiting for the first figures"
            return Panel(Text(waiting, style="dim"), title=Text(self._title), title_align="left", box=box.ROUNDED)
        status, reading = self._status, self._readings[-1]
        details = Table.grid(padding=(0, 2), expand=True)
        details.add_column(style="dim", no_wrap=True)
        details.add_column(overflow="fold", ratio=1)
        for name, value in control_rows(status):
            details.add_row(name, value)
        parts: list[RenderableType] = [self._courses(reading, status), details]
        parts += [_event_line(event, status) for event in self._events]
        if self._silence:
            parts.append(Text(f"no answer: {self._silence}", style="bold yellow"))
        if self._ends_at_s is not None:
            parts.append(self._progress(status, self._ends_at_s))
        title = Text(f"{self._title} · {status.app} · {status.policy}")
        return Panel(Group(*parts), title=title, title_align="left", box=box.ROUNDED)

    def _courses(self, reading: Reading, status: Status) -> Table:
        width = max(10, min(60, self._console.width - 36))
        table = Table.grid(padding=(0, 2))
        table.add_column(style="dim", no_wrap=True)
        table.add_column(justify="right", no_wrap=True, min_width=12)
        table.add_column(no_wrap=True)
        rows = (
            ("rate", f"{wording.number(reading.rate)}/s", [past.rate for past in self._readings], "yellow"),
            ("done", f"{wording.number(reading.throughput)}/s", [past.throughput for past in self._readings], "blue"),
            ("lag", wording.number(reading.lag_records), [past.lag_records for past in self._readings], "red"),
            (
                "latency",
                wording.seconds(reading.latency_mean_s),
                [past.latency_mean_s for past in self._readings],
                "magenta",
            ),
            ("busy", wording.share(reading.busy), [past.busy for past in self._readings], "cyan"),
            ("executors", size(reading), [past.executors for past in self._readings], "green"),
        )
        for name, now, past, colour in rows:
            table.add_row(name, Text(now, style="bold"), Text(sparkline(past, width=width), style=colour))
        if reading.executors is not None and status.bounds.most <= _MOST_SQUARES:
            squares = Text("■ " * reading.executors, style="green")
            squares.append("□ " * reading.arriving, style="yellow")
            squares.append("· " * max(0, status.bounds.most - reading.executors - reading.arriving), style="dim")
            table.add_row("", "", squares)
        return table

    def _progress(self, status: Status, ends_at_s: float) -> RenderableType:
        total = max(1e-9, ends_at_s - status.started_s)
        done = min(total, max(0.0, status.time_s - status.started_s))
        grid = Table.grid(padding=(0, 2), expand=True)
        grid.add_column(ratio=1)
        grid.add_column(no_wrap=True)
        grid.add_row(ProgressBar(total=total, completed=done), f"{wording.elapsed(done)} of {wording.elapsed(total)}")
        return grid


def plain_line(status: Status, reading: Reading, *, explain: bool) -> str:
    """One line for a log; with the reasons of the last decision when something changed."""
    parts = [
        wording.time_of_day(status.time_s, started_s=status.started_s),
        f"rate {wording.number(reading.rate)}/s",
        f"lag {wording.number(reading.lag_records)}",
        f"latency {wording.seconds(reading.latency_mean_s)}",
        f"executors {size(reading)}",
    ]
    # A log is searched by tools that know one kind of space.
    line = " ".join(parts).replace(wording.THIN, " ")
    if status.problem:
        return f"{line}: {status.problem}"
    if explain and status.last_tick is not None and status.last_tick.decision.reasons:
        return f"{line}: {why(status.last_tick.decision.reasons)}"
    return line


def _event_line(event: AgentEvent, status: Status) -> Text:
    at = wording.time_of_day(event.time_s, started_s=status.started_s)
    return Text.assemble((f"{at}  ", "dim"), (f"{EVENT_NAMES[event.kind]}: ", "yellow"), event.message)
