"""Starts and stops the web server of the dashboard."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from metassay.errors import InputError, MetassayError, MissingBackend

try:
    import uvicorn

    from metassay.serve.application import build_web_application
    from metassay.serve.host_check import LOCAL_HOSTS
    from metassay.serve.timeouts import TimeoutProtocol
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in {"uvicorn", "starlette", "anyio", "h11"}:
        raise
    raise MissingBackend(f"the dashboard needs {error.name}, which", extra="serve") from None

from metassay.workflows.dashboard import Dashboard

# Further clients get the status 503 and may try again.
MOST_CONNECTIONS = 4000


class RunServer:
    """A web server that shows runs in the browser. If the port is 0, any free port is used.

    Raises `InputError` at once if the runs cannot be shown or the port cannot be used.
    """

    def __init__(self, runs: Sequence[str | Path], *, host: str = "127.0.0.1", port: int = 8017) -> None:
        self.host = host.lower()
        self.dashboard = Dashboard(runs, writable=self.host in LOCAL_HOSTS)
        self.socket = _open_socket(host, port)
        config = uvicorn.Config(
            build_web_application(self.dashboard, self.host),
            http=TimeoutProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=2**15,
        )
        self.server = uvicorn.Server(config)

    @property
    def url(self) -> str:
        """The address of the page that lists all runs."""
        host, port = self.socket.getsockname()[:2]
        return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"

    def serve_forever(self) -> None:
        """Serve requests until `shutdown` is called."""
        threading.Thread(target=self._render_overview_in_advance, daemon=True).start()
        self.server.run(sockets=[self.socket])

    def _render_overview_in_advance(self) -> None:
        """Render the page that lists all runs before it is requested, so that the first visitor does not
        wait.
        """
        with suppress(MetassayError):  # the page will show the error
            self.dashboard.render_run_list()

    def shutdown(self) -> None:
        """Stop the server, so that `serve_forever` returns."""
        self.server.should_exit = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()


def _open_socket(host: str, port: int) -> socket.socket:
    try:
        is_ipv6 = ipaddress.ip_address(host).version == 6
    except ValueError:
        is_ipv6 = False
    family = socket.AF_INET6 if is_ipv6 else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InputError(
            f"{host}:{port} cannot be used ({error.strerror}).",
            remedy="Choose another --port; 0 takes any that is free.",
        ) from None
