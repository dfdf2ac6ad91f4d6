"""Serves the dashboard on this machine, with little patience for clients that take theirs."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from metassay.errors import InputError, MetassayError, MissingBackend

try:
    import h11
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol

    from metassay.serve.app import LOCAL_NAMES, make_app
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in {"uvicorn", "starlette", "anyio", "h11"}:
        raise
    raise MissingBackend(f"the dashboard needs {error.name}, which", extra="serve") from None

from metassay.serve.views import Dashboard

PATIENCE = 10.0
"""Seconds in which a request must have arrived, and in which a client must take some of the answer."""
CONNECTIONS = 4000
"""More at once are told to come again."""


class Impatient(H11Protocol):
    """Hangs up on clients that send a request, or read the answer, too slowly."""

    _asking: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """The request is due."""
        super().connection_made(transport)
        self._asking = self.loop.call_later(PATIENCE, transport.abort)

    def data_received(self, data: bytes) -> None:
        """What follows a whole request is the next one, which is due again."""
        super().data_received(data)
        whole = self.conn.their_state is not h11.IDLE
        if whole and self._asking is not None:
            self._asking.cancel()
            self._asking = None
        elif not whole and self._asking is None:
            self._asking = self.loop.call_later(PATIENCE, self.transport.abort)

    def on_response_complete(self) -> None:
        """Waiting for the next request is the business of the time that a connection is kept."""
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client does not read: it has some time to begin."""
        super().pause_writing()
        self._reading = self.loop.call_later(PATIENCE, self.transport.abort)

    def resume_writing(self) -> None:
        """It reads."""
        if self._reading is not None:
            self._reading.cancel()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is due any more."""
        for timer in (self._asking, self._reading):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)


class RunServer:
    """A server of these runs; port 0 takes any free one. What cannot be shown is said when it is made."""

    def __init__(self, runs: Sequence[str | Path], *, host: str = "127.0.0.1", port: int = 8017) -> None:
        self.host = host.lower()
        alone = self.host in LOCAL_NAMES
        self.dashboard = Dashboard(runs, writable=alone)
        self.socket = _listening(host, port)
        config = uvicorn.Config(
            make_app(self.dashboard, self.host),
            http=Impatient,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=2**15,
        )
        self.server = uvicorn.Server(config)

    @property
    def url(self) -> str:
        """Where the overview is."""
        host, port = self.socket.getsockname()[:2]
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    def serve_forever(self) -> None:
        """Serve until told to stop; meanwhile look at the runs, so that the first visitor need not wait."""
        threading.Thread(target=self._look, daemon=True).start()
        self.server.run(sockets=[self.socket])

    def _look(self) -> None:
        with suppress(MetassayError):  # the page will say it
            self.dashboard.overview()

    def shutdown(self) -> None:
        """Let `serve_forever` return."""
        self.server.should_exit = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()


def _listening(host: str, port: int) -> socket.socket:
    try:
        six = ipaddress.ip_address(host).version == 6
    except ValueError:
        six = False
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if six else socket.AF_INET, backlog=2048
        )
    except OSError as error:
        raise InputError(
            f"{host}:{port} cannot be served on ({error.strerror}).",
            remedy="Choose another --port; 0 takes any that is free.",
        ) from None
