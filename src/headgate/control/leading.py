"""One controller at a time: wait until nobody else leads, turn the loop while leading, and go back to waiting.

How a leader is found is a port (``Leadership``): a file on one machine, group membership on Kafka among several. While
the loop turns, the leadership is renewed beside it; once it is lost, the loop ends and leaves the stream as it is. That
nobody acts who has lost it without knowing is not decided here but by the agents, which refuse older epochs: the first
thing a new leader does is to make its epoch known to them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from headgate.core.ports import Agent, Leadership
from headgate.errors import HeadgateError, NotReady, StaleEpoch, Temporary

log = logging.getLogger("headgate")

_LOOK_AGAIN_S = 1.0


class Term(Protocol):
    """A loop, with all that belongs to it, for as long as it leads."""

    def run(self) -> None: ...

    def stop(self) -> None: ...


class Leading:
    """A controller that leads whenever nobody else does."""

    def __init__(
        self,
        leadership: Leadership,
        *,
        agent: Agent,
        begin: Callable[[int], Term],
        look_again_s: float = _LOOK_AGAIN_S,
    ) -> None:
        self._leadership = leadership
        self._agent = agent
        self._begin = begin
        self._look_again_s = look_again_s
        self._stop = threading.Event()
        self._term: Term | None = None
        self._waiting = False

    def stop(self) -> None:
        self._stop.set()
        term = self._term
        if term is not None:
            term.stop()

    def run(self) -> None:
        """Until stopped, or until the stream has ended.

        Who has lost the lead stays a candidate. To leave and come back in that moment would cost the next leader time:
        a group waits for a member that has left while it was joining as it does for one that was killed.
        """
        try:
            while not self._stop.is_set():
                epoch = self._sought()
                if epoch is None:
                    self._stop.wait(self._look_again_s)
                    continue
                log.info("leading with epoch %d", epoch)
                self._waiting = False
                if self._led(epoch):
                    return
        finally:
            self._resigned()

    def _sought(self) -> int | None:
        try:
            epoch = self._leadership.seek(newest_epoch=self._agent.describe().newest_epoch)
        except (NotReady, Temporary) as error:
            log.warning("%s", error)
            return None
        if epoch is None and not self._waiting:
            self._waiting = True
            log.info("another controller leads; standing by")
        return epoch

    def _led(self, epoch: int) -> bool:
        """Turn a loop as long as it leads; whether it ended for another reason than that somebody else does."""
        over, lost = threading.Event(), threading.Event()
        try:
            term = self._term = self._begin(epoch)
        except Temporary as error:
            # Without what the one before it knew it would not lead, but undo.
            log.warning("%s", error)
            self._stop.wait(self._look_again_s)
            return False
        keeper = threading.Thread(target=self._keep, args=(term, over, lost), name="headgate-leadership", daemon=True)
        keeper.start()
        try:
            term.run()
        except StaleEpoch as stale:
            log.warning("another controller leads by now: %s", stale)
            # Agents may know it before whoever gives the lead away has said so; until then it would look kept.
            self._stop.wait(self._leadership.renew_every_s)
            return False
        finally:
            over.set()
            keeper.join()
            self._term = None
        return not lost.is_set()

    def _keep(self, term: Term, over: threading.Event, lost: threading.Event) -> None:
        while not over.wait(self._leadership.renew_every_s):
            try:
                kept = self._leadership.keep()
            except Temporary as error:
                # Who cannot renew it will lose it; until then nobody else has it.
                log.warning("%s", error)
                continue
            if not kept:
                log.warning("another controller has taken over; this one stands by")
                lost.set()
                term.stop()
                return

    def _resigned(self) -> None:
        try:
            self._leadership.resign()
        except HeadgateError as error:
            log.warning("%s", error)
