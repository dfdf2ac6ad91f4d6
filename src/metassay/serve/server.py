"""Shows runs in a browser: an overview that is made anew at each visit, and the reports.

Only reading is possible, and only of reports: an address names a run by its number, never by a path. Requests
under another name than this machine's are refused, so that no other page can read the reports through a
name that it controls.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from metassay.errors import InputError
from metassay.workflows.overview import overview

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1"})
EVERYWHERE = frozenset({"0.0.0.0", ""})  # noqa: S104 -- only where --host says so
_REPORT = re.compile(r"/runs/(\d{1,6})/")
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class RunServer(ThreadingHTTPServer):
    """A server of these runs; port 0 takes any free one."""

    daemon_threads = True

    def __init__(self, runs: Sequence[str | Path], *, host: str = "127.0.0.1", port: int = 8017) -> None:
        overview(*runs)  # what cannot be shown is said now, not to the first visitor
        self.runs = tuple(runs)
        self.host = host.lower()
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise InputError(
                f"{host}:{port} cannot be served on ({error.strerror}).",
                remedy="Choose another --port; 0 takes any that is free.",
            ) from None

    def is_called(self, name: str) -> bool:
        """Whether this server goes by a name; open to others, also by addresses and the machine's name."""
        if name in LOCAL_NAMES or name == self.host:
            return True
        return self.host in EVERYWHERE and (name == socket.gethostname().lower() or _is_address(name))

    @property
    def url(self) -> str:
        """Where the overview is."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class _Handler(BaseHTTPRequestHandler):
    server: RunServer
    server_version = "metassay"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
        if not self.server.is_called(host.lower()):
            self._send(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", "This server has another name.\n")
            return
        try:
            status, kind, body = self._page(urlsplit(self.path).path)
        except InputError as error:
            status, kind, body = HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain", f"{error}\n"
        self._send(status, kind, body)

    def _page(self, path: str) -> tuple[HTTPStatus, str, str]:
        if path == "/api/overview":
            return HTTPStatus.OK, "application/json", overview(*self.server.runs).to_json()
        found = _REPORT.fullmatch(path)
        if path != "/" and found is None:
            return HTTPStatus.NOT_FOUND, "text/plain", "There is no such page.\n"
        result = overview(*self.server.runs)
        reports = result.reports()
        if found is None:
            links = {run["folder"]: f"/runs/{number}/" for number, run in enumerate(result.runs)}
            return HTTPStatus.OK, "text/html", result.to_html({f: links[f] for f in reports})
        folders = [run["folder"] for run in result.runs]
        report = reports.get(folders[int(found[1])]) if int(found[1]) < len(folders) else None
        if report is None:
            return HTTPStatus.NOT_FOUND, "text/plain", "This run has no report.\n"
        return HTTPStatus.OK, "text/html", report.read_text("utf-8")

    def _send(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: a terminal full of requests helps nobody."""
