from headgate.core.allocation import Allocation
from headgate.core.decision import Levers as Hand
from headgate.core.decision import Ruling
from headgate.guards import Levers
from headgate.testing import evaluation, knowledge

WANTED = Ruling(allocation=Allocation(executors=9, parallelism={"parse": 7}))
CURRENT = Allocation(executors=4, parallelism={"parse": 2})


def test_a_hand_off_the_wheel_changes_nothing() -> None:
    assert Levers().review(WANTED, evaluation(), knowledge()) == WANTED


def test_a_pause_holds_everything_as_it_is_and_says_what_was_wanted() -> None:
    ruling = Levers().review(WANTED, None, knowledge(current=CURRENT, levers=Hand(paused=True)))
    assert ruling.allocation == CURRENT
    assert ruling.reasons[0].code == "paused"
    assert "9 were wanted" in ruling.reasons[0].message


def test_a_pin_sets_the_size_and_leaves_the_rest() -> None:
    ruling = Levers().review(WANTED, None, knowledge(current=CURRENT, levers=Hand(pinned=6)))
    assert ruling.allocation == Allocation(executors=6, parallelism={"parse": 7})
    assert ruling.reasons[0].code == "pinned"


def test_a_pin_wins_over_a_pause() -> None:
    ruling = Levers().review(WANTED, None, knowledge(current=CURRENT, levers=Hand(paused=True, pinned=6)))
    assert ruling.allocation.executors == 6
