"""How much work is asked for."""

from __future__ import annotations

import pytest

from headgate.errors import UserMistake
from headgate.pipelines.hashing import iterations_for


def test_work_grows_with_its_cost() -> None:
    assert iterations_for(200, block_us=0.5) == 400
    assert iterations_for(0.001) == 1
    assert iterations_for(200) == pytest.approx(2 * iterations_for(100), abs=1)


@pytest.mark.parametrize("cost_us", [0, -1, 1e12, float("nan")])
def test_work_that_is_not_possible_is_refused(cost_us: float) -> None:
    with pytest.raises(UserMistake, match="cost_us"):
        iterations_for(cost_us)
