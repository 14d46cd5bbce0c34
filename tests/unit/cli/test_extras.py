"""A library that is not installed is one sentence with the remedy."""

from __future__ import annotations

import pytest

from headgate.cli.extras import extras_installed
from headgate.errors import UserMistake


@pytest.mark.parametrize(
    ("missing", "extra", "remedy"),
    [
        ("confluent_kafka", None, "headgate[kafka]"),
        ("pyspark.sql", None, "headgate[spark]"),
        ("psutil", "kafka", "headgate[kafka]"),
    ],
)
def test_the_extra_that_brings_it_is_named(missing: str, extra: str | None, remedy: str) -> None:
    with pytest.raises(UserMistake) as mistake, extras_installed(extra):
        raise ModuleNotFoundError(name=missing)
    assert str(mistake.value) == f"{missing} is not installed; run pip install '{remedy}'"


def test_any_other_module_that_is_missing_is_a_fault_of_ours() -> None:
    with pytest.raises(ModuleNotFoundError), extras_installed():
        raise ModuleNotFoundError(name="headgate.nowhere")
