"""A result as the plain document that users get from ``--json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.scoring import Result

AnyResult = Result | Mapping[str, Any]


def document_of(result: AnyResult) -> Mapping[str, Any]:
    return result.to_document() if isinstance(result, Result) else result
