"""How an error crosses the wire and keeps its kind.

The body of every answer that is not a result is ``{"error": kind, "message": sentence}``, and a stale
epoch adds its two figures.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any

from headgate.errors import HeadgateError, NotReady, Permanent, StaleEpoch, StreamEnded, Temporary, UserMistake

REFUSED = "refused"
"""The token is missing or wrong."""
BAD_REQUEST = "bad-request"
"""The request is not one that a peer of the same version sends."""

_STATUS = {
    "ended": HTTPStatus.GONE,
    "mistake": HTTPStatus.UNPROCESSABLE_ENTITY,
    "not-ready": HTTPStatus.SERVICE_UNAVAILABLE,
    "permanent": HTTPStatus.GONE,
    "stale-epoch": HTTPStatus.CONFLICT,
    "temporary": HTTPStatus.SERVICE_UNAVAILABLE,
}
_TYPES: dict[str, type[HeadgateError]] = {
    "ended": StreamEnded,
    "mistake": UserMistake,
    "not-ready": NotReady,
    "permanent": Permanent,
    "temporary": Temporary,
}


def kind_of(error: HeadgateError) -> str:
    """
    >>> kind_of(NotReady("no batch yet"))
    'not-ready'
    """
    if isinstance(error, StaleEpoch):
        return "stale-epoch"
    return next((kind for kind, cls in _TYPES.items() if isinstance(error, cls)), "temporary")


def pack(error: HeadgateError) -> tuple[HTTPStatus, bytes]:
    kind = kind_of(error)
    more = {"offered": error.offered, "newest": error.newest} if isinstance(error, StaleEpoch) else {}
    return _STATUS[kind], complaint(kind, str(error), **more)


def complaint(kind: str, message: str, **more: int) -> bytes:
    return json.dumps({"error": kind, "message": message, **more}).encode()


def unpack(body: bytes, *, peer: str) -> HeadgateError:
    """The error that the peer raised, to be raised here; anything else is said of the peer."""
    try:
        told: Any = json.loads(body)
        kind, message = str(told["error"]), str(told["message"])
        if kind == "stale-epoch":
            return StaleEpoch(offered=int(told["offered"]), newest=int(told["newest"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return Permanent(f"{peer} answered something that is not Headgate's; check the address")
    if kind == REFUSED:
        return UserMistake(f"{peer} refused the token; give the token that it was started with")
    if kind in _TYPES:
        return _TYPES[kind](message)
    return Permanent(f"{peer} did not understand ({message}); use the same version of Headgate on both sides")
