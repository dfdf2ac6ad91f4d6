"""Refuses requests under a host name that is not this server's, and adds security headers to every response.

A page of another site could otherwise read the runs through a name that it controls (DNS rebinding).
"""

from __future__ import annotations

import ipaddress
import re
import socket

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
ALL_INTERFACES = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 -- only where --host says so
NOTHING_ALLOWED = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
SECURITY_HEADERS = {
    "Content-Security-Policy": NOTHING_ALLOWED,  # pages and reports have policies of their own
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_HOST_HEADER = re.compile(
    r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9._-]{1,253}))(?::[0-9]{1,5})?"
)


class HostCheck:
    """Middleware that refuses requests for other host names, and adds security headers to every response."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self.app = app
        self.host = host.lower()

    def is_host_accepted(self, host: str) -> bool:
        """Return whether a host name refers to this server.

        A server on all interfaces has the addresses and the host name of its machine.
        """
        if host in LOCAL_HOSTS or host == self.host:
            return True
        if self.host not in ALL_INTERFACES:
            return False
        # An address cannot be a name that another site controls.
        return host == socket.gethostname().lower() or _is_ip_address(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request, or refuse it if it is for another host name."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    # A policy that a page has set is kept.
                    headers.setdefault(name, value)
            await send(message)

        host = _get_requested_host(scope)
        responder: ASGIApp
        if host is None:
            responder = PlainTextResponse("The name of the host is malformed.\n", 400)
        elif not self.is_host_accepted(host):
            responder = PlainTextResponse("This server has another name.\n", 421)
        else:
            responder = self.app
        await responder(scope, receive, send_with_headers)


def _get_requested_host(request_scope: Scope) -> str | None:
    """Return the host name in the header of a request, without the port. None if it is missing or
    malformed.
    """
    host_headers = [value for name, value in request_scope["headers"] if name == b"host"]
    # Two headers could be read differently by a proxy and by this server.
    if len(host_headers) != 1:
        return None
    match = _HOST_HEADER.fullmatch(host_headers[0].decode("latin-1"))
    if match is None or (match["ipv6"] and not _is_ip_address(match["ipv6"])):
        return None
    return (match["ipv6"] or match["name"]).lower()


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
