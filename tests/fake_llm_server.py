"""An HTTP server on this machine that answers as a test says, also with errors."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Reply = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    """Answers requests as the server's `behave` says, and records every request."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((body, dict(self.headers)))
        self.server.behave(self, body)

    def do_GET(self) -> None:
        self.server.asked.append(({"method": "GET"}, dict(self.headers)))
        self.server.behave(self, {})

    def reply(
        self, content: bytes | dict[str, Any], status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(content))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """A server that ignores errors of clients that disconnect."""

    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        pass


def answer(text: str, reason: str = "stop") -> dict[str, Any]:
    message = {"message": {"role": "assistant", "content": text}, "finish_reason": reason}
    return {"choices": [message], "usage": {"prompt_tokens": 10, "completion_tokens": 4}}


@pytest.fixture
def server() -> Iterator[Callable[[Reply], Server]]:
    """A function that starts a server which answers as the given function says. The server has `url` and
    `asked`.
    """
    running = []

    def start(behave: Reply) -> Server:
        server = Server(("127.0.0.1", 0), Handler)
        server.behave, server.asked = behave, []
        server.url = f"http://127.0.0.1:{server.server_port}/v1"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        running.append(server)
        return server

    yield start
    for server in running:
        server.shutdown()
        server.server_close()
