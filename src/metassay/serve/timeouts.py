"""An HTTP protocol that closes connections to clients that send or read too slowly."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds in which a request must have arrived, and in which a client must read some of the response.
CLIENT_TIMEOUT = 10.0


class TimeoutProtocol(H11Protocol):
    """HTTP protocol for uvicorn that closes connections to clients that send or read too slowly."""

    _request_timer: asyncio.TimerHandle | None = None
    _response_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start a timer when a client connects. It ends the connection if the first request takes too
        long.
        """
        super().connection_made(transport)
        self._request_timer = self.loop.call_later(CLIENT_TIMEOUT, transport.abort)

    def data_received(self, data: bytes) -> None:
        """Stop the timer if the headers of a request have arrived. Start it if another request begins."""
        super().data_received(data)
        has_headers = self.conn.their_state is not h11.IDLE
        if has_headers:
            self._stop_request_timer()
        elif self._request_timer is None:
            self._request_timer = self.loop.call_later(CLIENT_TIMEOUT, self.transport.abort)

    def on_response_complete(self) -> None:
        """Stop the timer after a response. Until the next request begins, the timeout of uvicorn applies."""
        self._stop_request_timer()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Start a timer, because the client does not read the response."""
        super().pause_writing()
        self._response_timer = self.loop.call_later(CLIENT_TIMEOUT, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer, because the client reads the response again."""
        if self._response_timer is not None:
            self._response_timer.cancel()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all timers."""
        self._stop_request_timer()
        if self._response_timer is not None:
            self._response_timer.cancel()
        super().connection_lost(exc)

    def _stop_request_timer(self) -> None:
        if self._request_timer is not None:
            self._request_timer.cancel()
            self._request_timer = None
