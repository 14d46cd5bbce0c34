"""The calling side of a link: one kept connection, one call at a time, errors with their kinds.

A connection that the other side closed while it was idle is made anew once; a peer that refuses, is
silent or breaks off is a ``Temporary`` fault.
"""

from __future__ import annotations

import http.client
import re
import threading
from typing import TypeVar

from headgate import codec
from headgate.errors import Permanent, Temporary, UserMistake
from headgate.link import wire

T = TypeVar("T")

_ADDRESS = re.compile(r"(?:http://)?(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(\d{1,5})/?")


class Peer:
    """A server at an address, as the other side sees it; safe to share between threads."""

    def __init__(self, address: str, token: str, *, what: str, timeout_s: float) -> None:
        host, port = parse_address(address, what=what)
        self.name = f"the {what} at {address}"
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if not token.isascii() or not token.isprintable():
            raise UserMistake(f"the token for {self.name} is not usable; give the token that it was started with")
        self._connection = http.client.HTTPConnection(host, port, timeout=timeout_s)
        self._timeout_s = timeout_s
        self._lock = threading.Lock()

    def call(self, name: str, body: bytes = b"") -> bytes:
        with self._lock:
            status, answer = self._exchange(name, body)
        if status == http.client.OK:
            return answer
        raise wire.unpack(answer, peer=self.name)

    def ask(self, cls: type[T], name: str, body: bytes = b"") -> T:
        answer = self.call(name, body)
        try:
            return codec.from_json(cls, answer, where=name)
        except UserMistake as error:
            raise Permanent(
                f"{self.name} answered what is not understood here ({error}); "
                "use the same version of Headgate on both sides"
            ) from None

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _exchange(self, name: str, body: bytes) -> tuple[int, bytes]:
        kept = self._connection.sock is not None
        try:
            try:
                return self._once(name, body)
            except (BrokenPipeError, ConnectionAbortedError, ConnectionResetError):
                # On a kept connection this means that it was closed while idle, so the call was not heard.
                if not kept:
                    raise
                return self._once(name, body)
        except TimeoutError:
            raise Temporary(f"{self.name} did not answer in {self._timeout_s:g} s; it is tried again") from None
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise Temporary(f"{self.name} cannot be reached ({reason}); check that it is running") from None

    def _once(self, name: str, body: bytes) -> tuple[int, bytes]:
        try:
            self._connection.request("POST", f"/{name}", body=body, headers=self._headers)
            response = self._connection.getresponse()
            return response.status, response.read()
        except BaseException:
            # What is left of this exchange must not be taken for the answer to the next one.
            self._connection.close()
            raise


def parse_address(address: str, *, what: str) -> tuple[str, int]:
    """
    >>> parse_address("127.0.0.1:4040", what="agent")
    ('127.0.0.1', 4040)
    >>> parse_address("[::1]:4040", what="agent")
    ('::1', 4040)
    """
    match = _ADDRESS.fullmatch(address.strip())
    if match is None or not 1 <= int(match.group(2)) <= 65535:
        raise UserMistake(f"'{address}' is not the address of the {what}; write HOST:PORT, as in 127.0.0.1:4040")
    return match.group(1).strip("[]"), int(match.group(2))
