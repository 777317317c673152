"""HTTP/1.1 around a service: one thread a connection, chunked streams, no delay for small packets.

Owns: the sockets, the threads and their end. Binds the loopback address; a query string is ignored. The head and the
first frame leave in one write; a fault that cuts uses `shutdown(SHUT_RDWR)`, since a mere close would leave the
client waiting. `close` opens every gate a reply stands before, ends every connection and joins every thread, so that
nothing outlives it; an exception inside a handler is raised there instead of being printed.
"""

import contextlib
import socket
import sys
from collections.abc import Set as AbstractSet
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self, cast
from urllib.parse import urlsplit

from .errors import ApiError, api_error, invalid
from .faults import Break, Gate, Send, Step, Wait, before_response, steps
from .frames import chunk
from .recording import Log, Recorded
from .service import Answer, Service
from .wire import canonical

PATHS = frozenset({"/v1/messages", "/v1/messages/count_tokens"})
MOST_BYTES = 32 * 2**20
POLL_SECONDS = 0.02


class Answering(Protocol):
    """What a server of this kind asks: a provider without its sockets."""

    log: Log

    def answer(self, recorded: Recorded) -> Answer:
        """The answer to a recorded POST to one of the paths."""
        ...

    def refused(self, recorded: Recorded, error: ApiError) -> Answer:
        """The answer that carries an error."""
        ...


class ApiServer:
    """The sockets of a stand-in. `paths`: what may be posted to; `opening`: the event at which a reply has begun."""

    paths: ClassVar[AbstractSet[str]]
    opening: ClassVar[str]
    id_header: ClassVar[str]

    def __init__(self, service: Answering, port: int = 0) -> None:
        """Binds and starts. `port` 0 takes a free one. Raises OSError if the port is taken."""
        self.service: Answering = service
        self._connections: set[socket.socket] = set()
        self._gates: set[Gate] = set()
        self._problems: list[BaseException] = []
        self._closing = False
        self._lock = Lock()
        self._http = _Server(port, self)
        self._thread = Thread(target=self._http.serve_forever, args=(POLL_SECONDS,), name="stand-in", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """`http://127.0.0.1:<port>`."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def log(self) -> Log:
        """The requests received so far."""
        return self.service.log

    def close(self) -> None:
        """Ends every reply and connection and joins every thread. Raises the first exception of a handler."""
        self._http.shutdown()
        self._thread.join()
        with self._lock:
            self._closing = True
            gates, connections = list(self._gates), list(self._connections)
        for gate in gates:
            gate.open()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()
        if self._problems:
            raise self._problems[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def stand_before(self, gate: Gate) -> None:
        """Waits at a gate, unless the server is closing."""
        with self._lock:
            if self._closing:
                return
            self._gates.add(gate)
        gate.wait()

    def opened(self, connection: socket.socket) -> None:
        """Takes note of a connection, so that `close` can end it."""
        with self._lock:
            self._connections.add(connection)

    def closed(self, connection: socket.socket) -> None:
        """Forgets a connection."""
        with self._lock:
            self._connections.discard(connection)

    def failed(self, problem: BaseException) -> None:
        """Keeps an exception of a handler for `close`."""
        self._problems.append(problem)


class MessagesServer(ApiServer):
    """A running stand-in. Use it as a context manager; `url` is what a client is pointed at."""

    paths = PATHS
    opening = "message_start"
    id_header = "request-id"

    def __init__(self, service: Service | None = None, port: int = 0) -> None:
        super().__init__(service or Service(), port)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 128

    def __init__(self, port: int, owner: ApiServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        """Binds without asking the resolver for the machine's name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        self.owner.opened(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.owner.closed(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keeps what is being handled; nothing is printed."""
        problem = sys.exception()
        if problem is not None and not isinstance(problem, ConnectionError):
            self.owner.failed(problem)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 65536

    @property
    def owner(self) -> ApiServer:
        """The stand-in this connection belongs to."""
        return cast(_Server, self.server).owner

    def do_POST(self) -> None:
        """One request."""
        raw = self._body()
        if isinstance(raw, ApiError):
            self.close_connection = True
            self._plain(self.owner.service.refused(self._recorded(b""), raw))
            return
        recorded = self._recorded(raw)
        service = self.owner.service
        known = recorded.path in self.owner.paths
        answer = service.answer(recorded) if known else service.refused(recorded, api_error(404, "Not Found"))
        try:
            self._send(answer)
        except ConnectionError:
            recorded.disconnected = True
            self.close_connection = True

    def do_GET(self) -> None:
        """Nothing can be got."""
        self._plain(self.owner.service.refused(self._recorded(b""), api_error(405, "Method Not Allowed")))

    def do_DELETE(self) -> None:
        """Nothing can be deleted."""
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the inherited name)
        """Nothing is printed."""

    def _recorded(self, raw: bytes) -> Recorded:
        headers = {name.lower(): value for name, value in self.headers.items()}
        betas = self.headers.get_all("anthropic-beta")
        if betas:
            headers["anthropic-beta"] = ",".join(betas)
        return self.owner.log.open(urlsplit(self.path).path, headers, raw)

    def _body(self) -> bytes | ApiError:
        length = self.headers.get("content-length", "")
        if not length.isdecimal():
            return api_error(411, "Content-Length is required")
        if int(length) > MOST_BYTES:
            return api_error(413, "Request exceeds the maximum size")
        raw = self.rfile.read(int(length))
        return raw if len(raw) == int(length) else invalid("The request body ended early")

    def _send(self, answer: Answer) -> None:
        for step in before_response(answer.faults):
            if not self._take(step, answer):
                return
        if answer.frames is None:
            answer.begin()
            self._plain(answer)
            return
        self._head(
            answer,
            {
                "content-type": "text/event-stream; charset=utf-8",
                "cache-control": "no-cache",
                "transfer-encoding": "chunked",
            },
        )
        for step in steps(answer.frames, answer.faults, answer.request_id):
            if not self._take(step, answer):
                return
        self.wfile.write(chunk(b""))
        self.wfile.flush()

    def _take(self, step: Step, answer: Answer) -> bool:
        """One step of a reply; False once the connection is cut."""
        match step:
            case Send(frame):
                if frame.event == self.owner.opening:
                    answer.begin()
                self.wfile.write(chunk(frame.encoded()))
                self.wfile.flush()
                return True
            case Wait(gate):
                self.wfile.flush()
                self.owner.stand_before(gate)
                return True
            case Break(frame):
                part = chunk(frame.encoded()) if frame else b""
                self.wfile.write(part[: len(part) // 2])
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return False

    def _head(self, answer: Answer, headers: dict[str, str]) -> None:
        """Writes the head into the buffer; it leaves with what follows."""
        self.send_response(answer.status)
        for name, value in {self.owner.id_header: answer.request_id, **headers, **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _plain(self, answer: Answer) -> None:
        raw = canonical(answer.body).encode()
        self._head(answer, {"content-type": "application/json", "content-length": str(len(raw))})
        self.wfile.write(raw)
        self.wfile.flush()
