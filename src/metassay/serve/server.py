"""Serves the dashboard on this machine: addresses, headers, who may ask; slow clients are hung up on.

An address names a run, never a path, and only names on the shelf are known. Requests under another name than
this machine's are refused, so that no other page can read the runs through a name that it controls. Every
answer has a content security policy; a report, which may come from elsewhere, is shown in a sandbox of its
own, from which nothing else here can be read.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import parse_qs

from metassay.errors import InputError, MetassayError, MissingBackend, UnknownName

try:
    import anyio
    import h11
    import uvicorn
    from starlette.applications import Starlette
    from starlette.datastructures import MutableHeaders
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in {"uvicorn", "starlette", "anyio", "h11"}:
        raise
    raise MissingBackend(f"the dashboard needs {error.name}, which", extra="serve") from None

from metassay.reporting.dashboard import dashboard_policy, render_problem
from metassay.serve.views import Dashboard, NoSuchPage

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
EVERYWHERE = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 -- only where --host says so
WORKERS = 2
"""Pages that are made at the same time; each uses all cores where it pays."""
LARGEST_NOTES = 2**18
"""Bytes of a request with notes."""
SLOWEST_NOTES = 10
"""Seconds in which they must have arrived."""
SANDBOX = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline';"
    " style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)
"""For reports: scripts of their own run, but as a stranger to this server, and with nobody to talk to."""
_NOTHING = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
_HOST = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9._-]{1,253}))(?::[0-9]{1,5})?")
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
Made = TypeVar("Made")


def make_app(dashboard: Dashboard, host: str) -> ASGIApp:
    """The application that serves these runs under the names of `host`."""
    limiter = anyio.CapacityLimiter(WORKERS)

    async def work(make: Callable[[], Made]) -> Made:
        return await anyio.to_thread.run_sync(make, limiter=limiter)

    async def overview(_: Request) -> Response:
        return _page(await work(dashboard.overview))

    async def data(_: Request) -> Response:
        return Response(await work(dashboard.overview_json), media_type="application/json")

    async def explorer(request: Request) -> Response:
        query: dict[str, list[str]] = {}
        for name, value in request.query_params.multi_items():
            query.setdefault(name, []).append(value)
        return _page(await work(lambda: dashboard.explorer(request.path_params["name"], query)))

    async def report(request: Request) -> Response:
        content = await work(lambda: dashboard.report(request.path_params["name"]))
        headers = {"Content-Security-Policy": SANDBOX}
        return Response(content, media_type="text/html", headers=headers)

    async def notes(request: Request) -> Response:
        name = request.path_params["name"]
        sent = await _form(request)
        await work(
            lambda: dashboard.write_notes(
                name, sent.get("text", ""), token=sent.get("token", ""), before=sent.get("before", "")
            )
        )
        back = request.url_for("explorer", name=name).path
        wanted = sent.get("back", "")
        return RedirectResponse(wanted if wanted.startswith(f"{back}?") else back, status_code=303)

    routes = [
        Route("/", overview),
        Route("/api/overview", data),
        Route("/runs/{name}/", explorer, name="explorer"),
        Route("/runs/{name}/report", report),
        Route("/runs/{name}/notes", notes, methods=["POST"]),
    ]
    handlers = {HTTPException: _refused, MetassayError: _said}
    app = Starlette(routes=routes, exception_handlers=handlers)  # type: ignore[arg-type]
    app.router.redirect_slashes = False
    return Guard(app, host)


class Guard:
    """Answers only to the names of this server, and puts the same headers on every answer."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app, self.host = app, host.lower()

    def is_called(self, name: str) -> bool:
        """Whether this server goes by a name; open to others, also by addresses and the machine's name."""
        if name in LOCAL_NAMES or name == self.host:
            return True
        return self.host in EVERYWHERE and (name == socket.gethostname().lower() or _is_address(name))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is asked under the right name."""
        if scope["type"] != "http":
            return

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {"Content-Security-Policy": _NOTHING, **_HEADERS}.items():
                    headers.setdefault(name, value)
            await send(message)

        given = [value for name, value in scope["headers"] if name == b"host"]
        found = _HOST.fullmatch(given[0].decode("latin-1")) if len(given) == 1 else None
        if found is None or (found["six"] and not _is_address(found["six"])):
            answer: ASGIApp = PlainTextResponse("The name of the host is malformed.\n", 400)
        elif not self.is_called((found["six"] or found["name"]).lower()):
            answer = PlainTextResponse("This server has another name.\n", 421)
        else:
            answer = self.app
        await answer(scope, receive, dressed)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _page(text: str, status: int = 200) -> Response:
    rules = f"{dashboard_policy()}; frame-ancestors 'none'"
    return HTMLResponse(text.encode(errors="replace"), status, headers={"Content-Security-Policy": rules})


async def _refused(_: Request, error: HTTPException) -> Response:
    """An address or a method that is not known here."""
    made = _page(render_problem("This leads nowhere", "There is no such page."), error.status_code)
    made.headers.update(error.headers or {})
    return made


async def _said(_: Request, error: MetassayError) -> Response:
    """What cannot be shown, and why."""
    status = 404 if isinstance(error, NoSuchPage) else 400 if isinstance(error, UnknownName) else 500
    return _page(render_problem("This cannot be shown", str(error)), status)


async def _form(request: Request) -> dict[str, str]:
    """The fields of a small form that is sent without delay."""
    body = b""
    try:
        async with asyncio.timeout(SLOWEST_NOTES):
            async for part in request.stream():
                body += part
                if len(body) > LARGEST_NOTES:
                    raise HTTPException(413)
    except (TimeoutError, ClientDisconnect):
        raise HTTPException(408) from None
    sent = parse_qs(body.decode(errors="replace"), keep_blank_values=True, max_num_fields=10)
    return {name: values[0] for name, values in sent.items()}


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
