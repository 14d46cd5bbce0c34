"""Processes on record: which of them are still the same."""

from __future__ import annotations

import os

import psutil
import pytest

from headgate.processes import describe, matches


def test_a_process_is_known_by_its_token_also_in_the_moment_before_it_has_a_command_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter([[], [], ["python", "of-this-group"]])
    monkeypatch.setattr(psutil.Process, "cmdline", lambda _: next(answers))
    assert matches(describe(os.getpid(), role="test"), token="of-this-group")


def test_a_process_without_the_token_is_another_one() -> None:
    assert not matches(describe(os.getpid(), role="test"), token="of-another-group")
