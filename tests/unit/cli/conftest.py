"""Running the command line as a person does, without a process of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from headgate.cli import run_cli


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


Headgate = Callable[..., Answer]


@pytest.fixture
def headgate(capsys: pytest.CaptureFixture[str]) -> Headgate:
    def run(*args: object) -> Answer:
        code = run_cli([str(arg) for arg in args])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return run
