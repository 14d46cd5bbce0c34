"""A small JSON-over-HTTP server for a handful of named calls.

Every call is ``POST /NAME`` with a JSON body and the token as bearer. Meant for the loopback address:
whoever binds it elsewhere should know that neither token nor data are encrypted. It runs in daemon
threads, writes nothing to the terminal, and never keeps its process from ending.
"""

from __future__ import annotations

import errno
import hmac
import logging
import secrets
import selectors
import socket
import socketserver
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from headgate.errors import HeadgateError, Temporary, UserMistake
from headgate.link import wire

Call = Callable[[bytes], bytes]
"""From the request's JSON to the answer's; raises ``HeadgateError``."""

MAX_BODY_BYTES = 4 * 1024 * 1024
"""An order with thousands of partitions is far below this."""
IDLE_S = 60.0
"""A connection on which nothing comes for so long is closed."""
STOP_PATIENCE_S = 1.0
"""How long a stop waits for a call that is being served."""

_LOG = logging.getLogger(__name__)


class JsonServer:
    """Serves ``calls`` until it is stopped; also a context manager."""

    def __init__(
        self, calls: Mapping[str, Call], *, what: str, host: str = "127.0.0.1", port: int = 0, token: str | None = None
    ) -> None:
        self.token = token if token is not None else secrets.token_urlsafe(32)
        if not self.token or not self.token.isascii() or not self.token.isprintable() or " " in self.token:
            raise UserMistake(f"the token of {what} is not usable; give printable ASCII without spaces")
        self._http = _bind(host, port, what=what, calls=calls, token=self.token)
        self._thread = threading.Thread(target=self._http.serve, name=f"headgate {what}", daemon=True)
        self._started = False
        self._stopped = False

    @property
    def address(self) -> str:
        """``host:port``, with the port that was chosen."""
        host, port = self._http.server_name, self._http.server_port
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def start(self) -> Self:
        self._started = True
        self._thread.start()
        return self

    def stop(self) -> None:
        """Free the port and end the open connections; a second time does nothing."""
        if self._stopped:
            return
        self._stopped = True
        if self._started:
            self._http.end_serving()
            self._thread.join()
        self._http.server_close()
        self._http.hang_up()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def check_port(port: int, *, what: str, host: str = "127.0.0.1") -> None:
    """Refuse a port that is not free, before anything is started that would have to be ended again."""
    JsonServer({}, what=what, host=host, port=port).stop()


def _bind(host: str, port: int, *, what: str, calls: Mapping[str, Call], token: str) -> _HttpServer:
    if not 0 <= port <= 65535:
        raise UserMistake(f"port {port} for {what} does not exist; give one from 1 to 65535, or 0 to have one chosen")
    try:
        return _HttpServer(host, port, calls=calls, token=token)
    except (OSError, UnicodeError) as error:
        match getattr(error, "errno", None):
            case errno.EADDRINUSE:
                sentence = f"port {port} for {what} is in use; give another one, or 0 to have a free one chosen"
            case errno.EACCES:
                sentence = f"port {port} for {what} is reserved for the administrator; give one above 1023, or 0"
            case _:
                sentence = f"{what} cannot listen on '{host}' ({error}); give an address of this machine"
        raise UserMistake(sentence) from None


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True
    timeout = 0
    """Of ``handle_request``, for a client that went away between knocking and being let in."""
    block_on_close = False
    """Joined by ``hang_up``, after the connections that they wait on are shut."""

    def __init__(self, host: str, port: int, *, calls: Mapping[str, Call], token: str) -> None:
        self.calls = calls
        self.expected = b"Bearer " + token.encode()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        self._ending, self._end = socket.socketpair()
        if ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__((host, port), _Handler)

    def serve(self) -> None:
        """Until ``end_serving``; unlike ``serve_forever`` it neither wakes up in vain nor lets a stop wait."""
        with selectors.DefaultSelector() as selector:
            selector.register(self, selectors.EVENT_READ)
            selector.register(self._ending, selectors.EVENT_READ)
            while all(key.fileobj is not self._ending for key, _ in selector.select()):
                self.handle_request()

    def end_serving(self) -> None:
        self._end.send(b".")

    def server_close(self) -> None:
        super().server_close()
        self._ending.close()
        self._end.close()

    def server_bind(self) -> None:
        # Not HTTPServer's, which asks the name service for this machine's name and may wait for it.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        # Noted before it runs, so that no connection can slip past a stop.
        with self._lock:
            self._open[request] = thread
        thread.start()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                self._open.pop(request, None)

    def hang_up(self) -> None:
        """Shut what is open and wait for its threads, but not for a call that hangs."""
        with self._lock:
            connections = dict(self._open)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # the other side was faster
        for thread in connections.values():
            thread.join(STOP_PATIENCE_S)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """A connection that broke is the other side's business, and no text for the driver's terminal."""
        _LOG.debug("a connection from %s broke", client_address, exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: _HttpServer
    protocol_version = "HTTP/1.1"
    server_version = "headgate"
    sys_version = ""
    timeout = IDLE_S
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        # Read before anything is refused: closing on unread bytes would tear down the answer with them.
        body = self._body()
        if body is None:
            return
        shown = self.headers.get("Authorization", "").encode("latin-1", "replace")
        if not hmac.compare_digest(shown, self.server.expected):
            self._answer(HTTPStatus.UNAUTHORIZED, wire.complaint(wire.REFUSED, "the token is missing or wrong"))
            return
        name = self.path.removeprefix("/")
        call = self.server.calls.get(name)
        if call is None:
            self._answer(HTTPStatus.NOT_FOUND, wire.complaint(wire.BAD_REQUEST, f"there is no call {name!r}"))
            return
        try:
            status, answer = HTTPStatus.OK, call(body)
        except HeadgateError as error:
            status, answer = wire.pack(error)
        except Exception as error:
            # Whatever it was, the controller may try again; the trace belongs into a log, not onto the wire.
            _LOG.debug("%s failed", name, exc_info=True)
            sentence = f"{name} failed unexpectedly ({type(error).__name__}: {error}); it is tried again"
            status, answer = wire.pack(Temporary(sentence))
        self._answer(status, answer)

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            self.send_error(HTTPStatus.LENGTH_REQUIRED, "the length of the request is not told")
            return None
        if len(length) > 12 or int(length) > MAX_BODY_BYTES:
            message = f"the request is larger than {MAX_BODY_BYTES} bytes"
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
            return None
        return self.rfile.read(int(length))

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Refuse a garbled request, in our form; what follows it cannot be told from its rest, so hang up."""
        self.close_connection = True
        self._answer(HTTPStatus(code), wire.complaint(wire.BAD_REQUEST, message or HTTPStatus(code).phrase))

    def _answer(self, status: HTTPStatus, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        _LOG.debug(format, *args)
