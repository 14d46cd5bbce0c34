"""Controllers of several apps in one process."""

from __future__ import annotations

import threading

import pytest

from headgate.control.together import Together
from headgate.errors import Permanent


class Controller:
    """Runs until it is stopped, or fails at once."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self.failure = failure
        self.begun = threading.Event()
        self.stopped = threading.Event()

    def run(self) -> None:
        self.begun.set()
        if self.failure is not None:
            raise self.failure
        assert self.stopped.wait(30)

    def stop(self) -> None:
        self.stopped.set()


def test_one_that_gives_up_leaves_the_others_as_they_are_and_is_told_about_at_the_end() -> None:
    good, bad = Controller(), Controller(Permanent("its session is gone"))
    together = Together({"good": good, "bad": bad})
    raised: list[BaseException] = []

    def run() -> None:
        try:
            together.run()
        except Permanent as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert bad.begun.wait(30)
    assert good.begun.wait(30)
    thread.join(0.1)
    assert thread.is_alive()
    together.stop()
    thread.join(30)
    assert raised == [bad.failure]


@pytest.mark.parametrize("count", [1, 3])
def test_all_are_stopped_together(count: int) -> None:
    controllers = [Controller() for _ in range(count)]
    together = Together({str(number): controller for number, controller in enumerate(controllers)})
    together.stop()
    together.run()
    assert all(controller.begun.is_set() for controller in controllers)
