"""Run the application: a free port, and an end that does not wait for open pages."""

import errno
import socket
from types import FrameType

import uvicorn
from fastapi import FastAPI

from whereof.errors import WhereofError

_TRIES = 20
"""Ports that are tried, one after the other."""
_GRACE_SECONDS = 3


class StoppableServer(uvicorn.Server):
    """Ends jobs and their streams first: open streams would keep the server alive."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
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
