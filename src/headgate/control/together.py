"""Controllers of several apps in one process, each in a thread of its own.

Apps have nothing to do with each other: one that ends, or whose controller gives up, leaves the others as they are.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from headgate.control.leading import Leading, Term
from headgate.errors import HeadgateError

log = logging.getLogger("headgate")


class Together:
    """Runs until the last of them has ended; what the first that failed said is raised then."""

    def __init__(self, controllers: Mapping[str, Term | Leading]) -> None:
        self._controllers = dict(controllers)
        self._failures: list[BaseException] = []

    def run(self) -> None:
        threads = [
            threading.Thread(target=self._run_one, args=(app,), name=f"headgate-{app}", daemon=True)
            for app in self._controllers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failures:
            raise self._failures[0]

    def stop(self) -> None:
        for controller in self._controllers.values():
            controller.stop()

    def _run_one(self, app: str) -> None:
        try:
            self._controllers[app].run()
        except HeadgateError as error:
            log.warning("app '%s' is no longer controlled: %s", app, error)
            self._failures.append(error)
        except BaseException as error:
            log.exception("app '%s' is no longer controlled", app)
            self._failures.append(error)
