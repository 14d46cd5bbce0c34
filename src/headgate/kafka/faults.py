"""What Kafka's client complains about, as our kinds of errors, and what to do while a broker is gone.

A client of librdkafka writes its worries to standard error by itself. Ours are told to be quiet; what
they say reaches the log through here, once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException

from headgate.errors import HeadgateError, Permanent, Temporary, UserMistake

log = logging.getLogger(__name__)
T = TypeVar("T")

_NOT_LET_IN = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.ILLEGAL_SASL_STATE,
        KafkaError._SSL,
    }
)
_NOT_ALLOWED = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
_NO_TOPIC = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION})
_PASSING = frozenset(
    {
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TRANSPORT,
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._RESOLVE,
        # Partitions whose leaders are all gone, or not chosen yet.
        KafkaError._NOENT,
        KafkaError._WAIT_COORD,
        KafkaError._IN_PROGRESS,
        KafkaError._DESTROY,
        KafkaError._QUEUE_FULL,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.NOT_CONTROLLER,
        KafkaError.NOT_ENOUGH_REPLICAS,
        KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.KAFKA_STORAGE_ERROR,
        # With too few brokers alive, a topic cannot be given its replicas for now.
        KafkaError.INVALID_REPLICATION_FACTOR,
    }
)


def fault(error: KafkaError | KafkaException | Exception, *, bootstrap: str, doing: str) -> HeadgateError:
    """Our error for one of the client's.

    >>> fault(KafkaError(KafkaError._TRANSPORT), bootstrap="127.0.0.1:9092", doing="reading offsets")
    Temporary('Kafka at 127.0.0.1:9092 does not answer (_TRANSPORT) while reading offsets; check that it is up')
    """
    if isinstance(error, HeadgateError):
        return error
    if isinstance(error, TimeoutError):
        return _gone(bootstrap, "no answer in time", doing)
    if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], KafkaError):
        error = error.args[0]
    if not isinstance(error, KafkaError):
        return Permanent(f"Kafka's client failed while {doing}: {type(error).__name__}: {first_line(error)}")
    code = error.code()
    if code in _NOT_LET_IN:
        return UserMistake(
            f"Kafka at {bootstrap} does not let us in while {doing} ({error.name()}); "
            "check user, password, mechanism and certificates in the client settings"
        )
    if code in _NOT_ALLOWED:
        return UserMistake(
            f"Kafka at {bootstrap} does not allow {doing} ({error.name()}); give the user the right to it"
        )
    if code in _NO_TOPIC:
        return UserMistake(
            f"a topic or partition asked for at Kafka {bootstrap} does not exist while {doing}; create it"
        )
    if code in _PASSING or error.retriable():
        return _gone(bootstrap, error.name(), doing)
    return Permanent(f"Kafka at {bootstrap} refused {doing}: {first_line(error.str())} ({error.name()})")


def first_line(error: object) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def _gone(bootstrap: str, why: str, doing: str) -> Temporary:
    return Temporary(f"Kafka at {bootstrap} does not answer ({why}) while {doing}; check that it is up")


class Complaints:
    """The callback for a client's errors: it remembers the one that trying again cannot cure."""

    def __init__(self) -> None:
        self.not_let_in: KafkaError | None = None

    def __call__(self, error: KafkaError) -> None:
        if error.code() in _NOT_LET_IN:
            self.not_let_in = error

    def settings(self) -> dict[str, object]:
        """What makes a client quiet and its errors heard here."""
        return {"log_level": 0, "error_cb": self}


class BackOff:
    """Waiting times that double from first to longest, and start anew after a success.

    >>> pause = BackOff(first_s=1.0, longest_s=3.0)
    >>> [pause.next_s(), pause.next_s(), pause.next_s()]
    [1.0, 2.0, 3.0]
    >>> pause.reset()
    >>> pause.next_s()
    1.0
    """

    def __init__(self, *, first_s: float = 0.5, longest_s: float = 10.0) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._next_s = first_s

    def next_s(self) -> float:
        current = self._next_s
        self._next_s = min(2.0 * current, self._longest_s)
        return current

    def reset(self) -> None:
        self._next_s = self._first_s


def patiently(ask: Callable[[], T], *, within_s: float, first_s: float = 0.05) -> T:
    """Ask again after growing pauses while the answer is ``Temporary``, and give up when the time is over."""
    deadline = time.monotonic() + within_s
    pause = BackOff(first_s=first_s, longest_s=1.0)
    while True:
        try:
            return ask()
        except Temporary:
            wait_s = pause.next_s()
            if time.monotonic() + wait_s > deadline:
                raise
            time.sleep(wait_s)


class Presence:
    """Whether the brokers answer, said aloud when it changes and only then."""

    def __init__(self, bootstrap: str, *, now_s: Callable[[], float] = time.monotonic) -> None:
        self._bootstrap = bootstrap
        self._now_s = now_s
        self._gone_since_s: float | None = None

    @property
    def gone(self) -> bool:
        return self._gone_since_s is not None

    def lost(self, reason: HeadgateError) -> None:
        if self._gone_since_s is None:
            self._gone_since_s = self._now_s()
            log.warning("%s (asked again until it answers)", reason)

    def answered(self) -> None:
        if self._gone_since_s is not None:
            log.warning("Kafka at %s answers again after %.1f s", self._bootstrap, self._now_s() - self._gone_since_s)
            self._gone_since_s = None
