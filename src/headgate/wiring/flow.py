"""What an app runs, whatever kind it is: started in steps, watched, and accounted for at its end."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.spark.audit import Audit


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What went through an app."""

    produced: Mapping[str, int] = field(default_factory=dict)
    """Records that producers have put into each topic."""
    taken: Mapping[str, int] = field(default_factory=dict)
    """Records that each operator has taken in."""
    left: str | None = None
    """Why the app ended although not all was worked off."""


class Flow(Protocol):
    """The records' way through an app."""

    queries: list[StreamingQuery]

    @property
    def connectors(self) -> Mapping[str, bool]:
        """Which of Spark's connectors the session needs: ``kafka``, ``delta``."""
        ...

    @property
    def conf(self) -> Mapping[str, str]:
        """Settings that the session should have."""
        ...

    @property
    def attached(self) -> Sequence[Any]:
        """What the controller is attached to."""
        ...

    @property
    def ends_at_s(self) -> float | None:
        """When the last record arrives, if that is known."""
        ...

    def prepare(self, stack: contextlib.ExitStack) -> None:
        """What can be done before there is a session, mistakes first; ends with the stack."""
        ...

    def start(self, session: SparkSession) -> None:
        """Start the queries."""
        ...

    def begin(self, stack: contextlib.ExitStack) -> None:
        """Let records come, now that there is somebody to size the app for them."""
        ...

    def finished(self) -> bool:
        """Whether everything has come and has been worked off; raises what went wrong on the way."""
        ...

    def account(self) -> Account: ...

    def audits(self, *, complete: bool) -> Mapping[str, Audit]:
        """What is in each sink that can be audited."""
        ...

    def extra(self) -> dict[str, Any]:
        """What the journal should say about the load."""
        ...
