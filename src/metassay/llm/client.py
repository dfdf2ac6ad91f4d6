"""Asking a model behind an OpenAI-compatible address: patiently, and with nothing taken on trust.

The server may hang, drip, answer with garbage or with gigabytes, or point elsewhere. Every request therefore
has one deadline for all of its reads and writes, a largest body, and goes to the host that was named and to
no other; the key goes only where it belongs.
"""

from __future__ import annotations

import ipaddress
import json
import os
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx

from metassay.errors import InputError
from metassay.llm.answers import Answer, Request, Usage

OWN_KEY, OPENAI_KEY, OPENAI_HOST = "METASSAY_LLM_KEY", "OPENAI_API_KEY", "api.openai.com"
"""Where keys are looked for; they are never stored. OpenAI's key goes to OpenAI's host alone."""
WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
HOPELESS_FOR_ALL = frozenset({401, 403, 404, 405, 407})
"""What the server says of the address or the key, not of one request: no other request will fare better."""
LARGEST_BODY = 4 << 20
"""Bytes: an answer of a few hundred tokens needs thousands of them."""
PATIENCE, LONGEST_WAIT = 1.0, 60.0
"""Seconds: before the second attempt, and before any."""


class _Refused(Exception):
    """A request that the server refuses, or an answer of a kind that asking again does not mend."""


class _Again(Exception):
    """No answer this time; `wait` is how long the server asks us to wait, in seconds."""

    def __init__(self, wait: float = 0.0) -> None:
        super().__init__()
        self.wait = wait


@dataclass
class Endpoint:
    """An OpenAI-compatible server, such as `http://localhost:8000/v1`."""

    url: str
    timeout: float = 60.0
    """Seconds until a request, however far it has come, is given up and tried again."""
    attempts: int = 5
    patience: float = field(default_factory=lambda: PATIENCE)
    """Seconds before the second attempt; doubled each time, at most a minute."""
    usage: Usage = field(default_factory=Usage)
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        parts = _address(self.url)
        self.shown = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"
        self._address = f"{self.url.rstrip('/')}/chat/completions"
        self._key = key_for(self.url)
        self._client = _client(self.url, self.timeout)

    def ask(self, request: Request) -> Answer | None:
        """The model's answer; None where it could not be had after all attempts."""
        for attempt in range(self.attempts):
            wait = min(self.patience * 2**attempt, LONGEST_WAIT)
            try:
                answer = parse_reply(self._post(request))
            except InputError:
                raise
            except _Refused:
                break
            except _Again as again:
                wait = max(wait, again.wait)
            except (httpx.HTTPError, httpx.StreamError, ValueError, KeyError, IndexError, TypeError):
                pass  # no connection, a time-out, half an answer or something else than an answer
            else:
                self.usage.add(
                    asked=1, prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens
                )
                return answer
            if attempt + 1 < self.attempts:
                self.usage.add(retries=1)
                self.sleep(wait)
        self.usage.add(failed=1)
        return None

    def _post(self, request: Request) -> bytes:
        body = {
            "model": request.model,
            "messages": [{"role": "user", "content": request.prompt}],
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "top_p": request.top_p,
            "seed": request.seed,
        }
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        _deadline.until = time.monotonic() + self.timeout
        with self._client.stream(
            "POST", self._address, content=json.dumps(body).encode(), headers=headers
        ) as response:
            self._check(response)
            return _body(response)

    def _check(self, response: httpx.Response) -> None:
        status = response.status_code
        if 300 <= status < 400:
            raise InputError(
                f"{self.shown} answered {status}: it points to another address, which is not followed.",
                remedy="Name the address that answers itself with --llm-url.",
            )
        if status in HOPELESS_FOR_ALL:
            remedy = "Check the address, the model's name and the key in METASSAY_LLM_KEY."
            if self._key is None and (os.environ.get(OWN_KEY) or os.environ.get(OPENAI_KEY)):
                remedy = (
                    f"No key was sent: {OWN_KEY} goes to https or to this machine, {OPENAI_KEY} to OpenAI."
                )
            raise InputError(f"{self.shown} answered {status}.", remedy=remedy)
        if status in WORTH_ANOTHER_TRY:
            raise _Again(_retry_after(response.headers.get("Retry-After", "")))
        if status != 200:
            raise _Refused


def key_for(url: str) -> str | None:
    """The key that may be sent to an address: our own over https or to this machine, OpenAI's to OpenAI."""
    parts = _address(url)
    safe = parts.scheme == "https" or _is_this_machine(parts.hostname or "")
    if safe and (key := os.environ.get(OWN_KEY, "").strip()):
        return _checked_key(key, OWN_KEY)
    if parts.scheme == "https" and parts.hostname == OPENAI_HOST and parts.port in {None, 443}:
        return _checked_key(os.environ.get(OPENAI_KEY, "").strip(), OPENAI_KEY) or None
    return None


def parse_reply(body: bytes) -> Answer:
    """The first choice of a reply; anything else than the expected shape raises."""
    try:
        reply = json.loads(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    choice, usage = reply["choices"][0], reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Answer(
        choice["message"]["content"],
        complete=choice.get("finish_reason") != "length",
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def _address(url: str) -> Any:
    """The parts of an address; one that is none, or that holds a password, is refused without showing it."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        valid = valid and url.isascii() and url.isprintable() and " " not in url
    except ValueError:
        valid = False
    if not valid:
        raise InputError(f"{url!r} is not an address.", remedy="Such as http://localhost:8000/v1")
    if parts.username is not None or parts.query or parts.fragment:
        raise InputError(
            "the address of the model holds a name, a password or a query.",
            remedy=f"Put the key into {OWN_KEY}, and write the address like http://localhost:8000/v1",
        )
    return parts


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _checked_key(key: str, name: str) -> str:
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"the key in {name} holds characters that no key has.")
    return key


def _count(value: Any) -> int:
    """A number of tokens, or 0 for whatever else a server may write there."""
    return value if type(value) is int and 0 <= value < 1 << 40 else 0


def _retry_after(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return min(seconds, LONGEST_WAIT) if seconds > 0 else 0.0


def _body(response: httpx.Response) -> bytes:
    """The body as sent, up to the largest we accept; compressed ones, which we did not ask for, are none."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ValueError("compressed")
    parts: list[bytes] = []
    size = 0
    for part in response.iter_raw():
        parts.append(part)
        size += len(part)
        if size > LARGEST_BODY:
            raise _Refused
    return b"".join(parts)


def _client(url: str, timeout: float) -> httpx.Client:
    """A client without memory: no redirects, no cookies kept in use, a connection per request."""
    return httpx.Client(transport=_Transport(url), timeout=timeout, follow_redirects=False, trust_env=False)


class _Transport(httpx.HTTPTransport):
    """Connections whose every read and write ends by the deadline of the request in this thread."""

    def __init__(self, url: str) -> None:
        super().__init__()
        options: dict[str, Any] = {
            "ssl_context": httpx.create_ssl_context(),
            "max_connections": None,
            "max_keepalive_connections": 0,
            "network_backend": _Network(),
        }
        proxy = _proxy(url)
        self._pool = (
            httpcore.ConnectionPool(**options) if proxy is None else httpcore.HTTPProxy(proxy, **options)
        )


def _proxy(url: str) -> str | None:
    """The proxy that the environment names for https; plain http never leaves by one, since it would read."""
    parts = _address(url)
    if parts.scheme != "https" or urllib.request.proxy_bypass(parts.hostname):
        return None
    return urllib.request.getproxies().get("https")


_deadline = threading.local()


def _left(timeout: float | None) -> float | None:
    """Seconds that a read or write may take: as asked for, but not beyond the deadline."""
    until = getattr(_deadline, "until", None)
    if until is None:
        return timeout
    left = until - time.monotonic()
    if left <= 0:
        raise httpcore.ReadTimeout("the deadline has passed")
    return float(left if timeout is None else min(left, timeout))


class _Network(httpcore.NetworkBackend):
    """The usual network, with the deadline kept."""

    def __init__(self) -> None:
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection whose reads and writes keep the deadline."""
        return _Stream(self._inner.connect_tcp(host, port, _left(timeout), local_address, socket_options))


class _Stream(httpcore.NetworkStream):
    """A connection that keeps the deadline, however slowly the other side drips."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, _left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
