"""Run the application: a free port, and an end that does not wait for open pages."""

import errno
import socket
from asyncio import TimerHandle, Transport
from types import FrameType

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from whereof.errors import WhereofError
from whereof.server import limits

_TRIES = 20
"""Ports that are tried, one after the other."""
_GRACE_SECONDS = 3


class PatientProtocol(H11Protocol):
    """HTTP that closes a connection whose next headers do not arrive in time."""

    _due: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._arrived()
        elif self._due is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._due = self.loop.call_later(limits.BODY_SECONDS, self.transport.close)

    def _arrived(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None


class StoppableServer(uvicorn.Server):
    """Ends jobs and their streams first: open streams would keep the server alive."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        super().__init__(
            uvicorn.Config(
                app,
                http=PatientProtocol,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
                limit_concurrency=limits.CONNECTIONS,
            )
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.state.jobs.stop()
        super().handle_exit(sig, frame)  # a second Ctrl-C waits for nothing

    def end(self) -> None:
        """Stop the server, from any thread."""
        self._app.state.jobs.stop()
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """A socket on the port, or on the next free one; 0 is any free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last = min(port + _TRIES, 1 << 16) - 1
    for candidate in range(port, last + 1):
        # asyncio sends small packets at once only if the protocol is named: else 40 ms are lost.
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, candidate))
            found.listen()
            return found
        except OSError as error:
            found.close()
            if error.errno != errno.EADDRINUSE:
                reason = error.strerror or str(error)
                raise WhereofError(f"cannot serve on {host}, port {candidate}: {reason}") from None
    raise WhereofError(f"the ports {port} to {last} are taken; choose another, or --port 0")


def serve(app: FastAPI, listening: socket.socket) -> None:
    """Serve until Ctrl-C."""
    StoppableServer(app).run([listening])
