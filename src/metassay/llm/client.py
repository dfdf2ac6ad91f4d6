"""A client for OpenAI-compatible servers that does not trust the server.

The server may hang, send one byte at a time, answer with garbage or gigabytes, or redirect. Therefore every
request has one deadline for everything, a largest body, and goes only to the host that the user named; the
key is sent only where it belongs.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx

from metassay.errors import InputError
from metassay.llm.requests import Answer, Request, Usage

# Environment variables with keys, which are never stored. OpenAI's key is sent to OpenAI's host only.
METASSAY_KEY = "METASSAY_LLM_KEY"
OPENAI_KEY = "OPENAI_API_KEY"
OPENAI_HOST = "api.openai.com"
RETRY_STATUSES = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
# Statuses about the address or the key, not about one request: every other request would fail too.
FATAL_STATUSES = frozenset({401, 403, 404, 405, 407})
# An answer of a few hundred tokens has thousands of bytes.
MAX_BODY_BYTES = 4 << 20
# Seconds before the second attempt; doubled for each further one.
FIRST_WAIT = 1.0
# Seconds before any attempt at most.
LONGEST_WAIT = 60.0


class _RequestRefused(Exception):
    """Raised if the server refuses a request and would refuse it again."""


class _TryAgain(Exception):
    """Raised if the server cannot answer now. `wait` is the number of seconds until the next attempt."""

    def __init__(self, wait: float = 0.0) -> None:
        super().__init__()
        self.wait = wait


@dataclass
class Endpoint:
    """Client of an OpenAI-compatible server, such as `http://localhost:8000/v1`."""

    url: str
    timeout: float = 60.0
    """Seconds after which a request is given up and tried again, however far it has come."""
    attempts: int = 5
    first_wait: float = field(default_factory=lambda: FIRST_WAIT)
    usage: Usage = field(default_factory=Usage)
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        parts = _parse_server_url(self.url)
        port = f":{parts.port}" if parts.port else ""
        self._shown_address = f"{parts.scheme}://{parts.hostname}{port}"
        self._completions_url = f"{self.url.rstrip('/')}/chat/completions"
        self._key = choose_api_key(self.url)
        self._proxy = _find_https_proxy(parts)
        self._ssl_context = httpx.create_ssl_context()

    def get_answer(self, request: Request) -> Answer | None:
        """Send a request to the server and return the answer; None if all attempts failed."""
        for attempt in range(self.attempts):
            wait = min(self.first_wait * 2**attempt, LONGEST_WAIT)
            try:
                answer = parse_server_reply(asyncio.run(self._post_request(request)))
            except InputError:
                raise
            except _RequestRefused:
                break
            except _TryAgain as error:
                wait = max(wait, error.wait)
            except (TimeoutError, httpx.HTTPError, httpx.StreamError):
                pass  # no connection, or not in time
            except (ValueError, KeyError, IndexError, TypeError):
                pass  # half an answer, or something that is no answer
            else:
                self.usage.add_counts(
                    asked=1, prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens
                )
                return answer
            if attempt + 1 < self.attempts:
                self.usage.add_counts(retries=1)
                self.sleep(wait)
        self.usage.add_counts(failed=1)
        return None

    async def _post_request(self, request: Request) -> bytes:
        """Send a request within the timeout and return the body of the reply.

        httpx has timeouts for single reads and writes only, which a server that sends one byte at a time
        never exceeds. asyncio has one for the whole request.
        """
        content = {
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
        async with (
            asyncio.timeout(self.timeout),
            httpx.AsyncClient(
                verify=self._ssl_context,
                proxy=self._proxy,
                timeout=self.timeout,
                follow_redirects=False,
                trust_env=False,
            ) as client,
            client.stream(
                "POST", self._completions_url, content=json.dumps(content).encode(), headers=headers
            ) as response,
        ):
            self._raise_error_for_status(response)
            return await _read_response_body(response)

    def _raise_error_for_status(self, response: httpx.Response) -> None:
        """Raise an error if the HTTP status of a response is not 200."""
        status = response.status_code
        if 300 <= status < 400:
            raise InputError(
                f"{self._shown_address} answered {status}, a redirect to another address, which is not "
                "followed.",
                remedy="Pass the final address with --llm-url.",
            )
        if status in FATAL_STATUSES:
            remedy = "Check the address, the model's name and the key in METASSAY_LLM_KEY."
            if self._key is None and (os.environ.get(METASSAY_KEY) or os.environ.get(OPENAI_KEY)):
                remedy = (
                    f"No key was sent: {METASSAY_KEY} is sent only over https or to this machine, "
                    f"{OPENAI_KEY} only to OpenAI."
                )
            raise InputError(f"{self._shown_address} answered {status}.", remedy=remedy)
        if status in RETRY_STATUSES:
            raise _TryAgain(_parse_retry_after(response.headers.get("Retry-After", "")))
        if status != 200:
            raise _RequestRefused


def choose_api_key(url: str) -> str | None:
    """Return the API key to send to an address; None if there is none. Keys are sent only over https or to
    this machine.
    """
    parts = _parse_server_url(url)
    is_private = parts.scheme == "https" or _is_host_this_machine(parts.hostname or "")
    metassay_key = os.environ.get(METASSAY_KEY, "").strip()
    if is_private and metassay_key:
        return _check_api_key(metassay_key, METASSAY_KEY)
    if parts.scheme == "https" and parts.hostname == OPENAI_HOST and parts.port in {None, 443}:
        return _check_api_key(os.environ.get(OPENAI_KEY, "").strip(), OPENAI_KEY) or None
    return None


def parse_server_reply(json_body: bytes) -> Answer:
    """Return the answer in the JSON body of a server's reply; raise an error if there is none."""
    try:
        reply = json.loads(json_body)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    choice = reply["choices"][0]
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        usage = {}
    return Answer(
        choice["message"]["content"],
        complete=choice.get("finish_reason") != "length",
        prompt_tokens=_parse_token_count(usage.get("prompt_tokens")),
        completion_tokens=_parse_token_count(usage.get("completion_tokens")),
    )


def _parse_server_url(url: str) -> SplitResult:
    """Split the address of a server into its parts; raise an error if it is invalid or contains a
    password.
    """
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        is_valid = is_valid and url.isascii() and url.isprintable() and " " not in url
    except ValueError:
        is_valid = False
    if not is_valid:
        raise InputError(f"{url!r} is not an address.", remedy="Such as http://localhost:8000/v1")
    if parts.username is not None or parts.query or parts.fragment:
        raise InputError(
            "the address of the model contains a user name, a password or a query.",
            remedy=f"Put the key into {METASSAY_KEY}, and write the address like http://localhost:8000/v1",
        )
    return parts


def _is_host_this_machine(host: str) -> bool:
    """Return whether a host name or IP address is that of this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_api_key(api_key: str, environment_variable: str) -> str:
    """Return an API key; raise an error if it contains characters that are not allowed in keys."""
    if not (api_key.isascii() and api_key.isprintable()):
        raise InputError(
            f"the key in {environment_variable} contains characters that are not allowed in a key."
        )
    return api_key


def _find_https_proxy(url_parts: SplitResult) -> str | None:
    """Return the proxy that the environment names for https addresses. Requests to other addresses use no
    proxy, because it could read them.
    """
    if url_parts.scheme != "https" or urllib.request.proxy_bypass(url_parts.hostname or ""):
        return None
    return urllib.request.getproxies().get("https")


def _parse_token_count(json_value: Any) -> int:
    """Return a number of tokens from a server's reply; 0 if the value is not a valid number."""
    return json_value if type(json_value) is int and 0 <= json_value < 1 << 40 else 0


def _parse_retry_after(header_value: str) -> float:
    """Return the seconds to wait that an HTTP header `Retry-After` asks for, at most a minute. 0 if the
    header is not a number.
    """
    try:
        seconds = float(header_value)
    except ValueError:
        return 0.0
    return min(seconds, LONGEST_WAIT) if seconds > 0 else 0.0


async def _read_response_body(response: httpx.Response) -> bytes:
    """Read the body of a response. Raises an error if it is compressed or larger than `MAX_BODY_BYTES`."""
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise ValueError("compressed")
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.aiter_raw():
        chunks.append(chunk)
        size += len(chunk)
        if size > MAX_BODY_BYTES:
            raise _RequestRefused
    return b"".join(chunks)
