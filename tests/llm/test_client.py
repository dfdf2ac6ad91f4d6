"""The client against a real server that hangs, drips, lies, redirects and floods: answered, or missing."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from fake_llm_server import Handler, Reply, answer
from metassay.errors import InputError
from metassay.llm.client import MAX_BODY_BYTES, Endpoint, choose_api_key, parse_server_reply
from metassay.llm.requests import Answer, Request

REQUEST = Request("m", "prompt", 0.3, 200, 1.0, 7)
FINE = Answer("fine", complete=True, prompt_tokens=10, completion_tokens=4)


def endpoint(url: str, **options: Any) -> Endpoint:
    return Endpoint(url, **{"timeout": 5.0, "sleep": lambda _: None} | options)


def faulty(*faults: Callable[[Handler], None]) -> Reply:
    """Misbehaves once in each of these ways, then answers."""
    left = list(faults)

    def behave(handler: Handler, _: dict[str, Any]) -> None:
        left.pop(0)(handler) if left else handler.reply(answer("fine"))

    return behave


def choices(content: str) -> bytes:
    return b'{"choices":[{"message":{"content":%s}}]}' % content.encode()


FAULTS = {
    "429": lambda h: h.reply({"error": "slow down"}, 429, {"Retry-After": "2"}),
    "500": lambda h: h.reply(b"oops", 500),
    "truncated JSON": lambda h: h.reply(b'{"choices": [{"mess'),
    "wrong length": lambda h: h.reply(b'{"choices": []}', headers={"Content-Length": "500"}),
    "no choices": lambda h: h.reply({"choices": []}),
    "a list": lambda h: h.reply(b"[1]"),
    "a number": lambda h: h.reply(b"1e999"),
    "null content": lambda h: h.reply(choices("null")),
    "a lone surrogate": lambda h: h.reply(choices('"\\ud800"')),
    "not JSON": lambda h: h.reply(b"<html>"),
    "not UTF-8": lambda h: h.reply(b"\xff\xfe\xfa"),
    "deep JSON": lambda h: h.reply(b"[" * 200_000),
    "deep content": lambda h: h.reply(choices("[" * 100_000 + "]" * 100_000)),
    "a long number": lambda h: h.reply(choices("1" * 10_000)),
    "compressed": lambda h: h.reply(answer("x"), headers={"Content-Encoding": "gzip"}),
    "closed": lambda h: h.connection.close(),
    "no HTTP": lambda h: h.wfile.write(b"hello\r\n\r\n"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_tried_again(server: Callable[[Reply], Any], fault: str) -> None:
    running = server(faulty(FAULTS[fault], FAULTS[fault]))
    waits: list[float] = []
    client = endpoint(running.url, sleep=waits.append, timeout=1.0)
    assert client.get_answer(REQUEST) == FINE
    assert (client.usage.asked, client.usage.retries, client.usage.failed) == (1, 2, 0)
    assert waits == ([2.0, 2.0] if fault == "429" else [1.0, 2.0])


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_that_lasts_is_a_missing_answer_and_no_exception(
    server: Callable[[Reply], Any], fault: str
) -> None:
    client = endpoint(server(lambda handler, _: FAULTS[fault](handler)).url, attempts=2, timeout=1.0)
    assert client.get_answer(REQUEST) is None
    assert (client.usage.asked, client.usage.failed) == (0, 1)


USAGES = [[1], "many", {"prompt_tokens": "ten"}, {"prompt_tokens": float("inf")}, {"prompt_tokens": -5}, 7,
          {"prompt_tokens": True, "completion_tokens": None}, {"prompt_tokens": 10**30}]  # fmt: skip


@pytest.mark.parametrize("usage", USAGES, ids=str)
def test_whatever_a_server_says_of_tokens_the_answer_stands(
    server: Callable[[Reply], Any], usage: Any
) -> None:
    reply = {"choices": [{"message": {"content": "yes"}}], "usage": usage}
    text = json.dumps(reply).replace("Infinity", "1e999").encode()
    client = endpoint(server(lambda handler, _: handler.reply(text)).url)
    assert client.get_answer(REQUEST) == Answer("yes", complete=True)


def hang(_: Handler) -> None:
    time.sleep(3)


def drip_headers(handler: Handler) -> None:
    for byte in b"HTTP/1.1 200 OK\r\n" + b"X-Slow: " + b"y" * 100:
        handler.wfile.write(bytes([byte]))
        time.sleep(0.1)


def drip_body(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(100):
        handler.wfile.write(b" ")
        time.sleep(0.1)


@pytest.mark.parametrize("slow", [hang, drip_headers, drip_body])
def test_a_slow_server_is_given_up_at_the_deadline(
    server: Callable[[Reply], Any], slow: Callable[[Handler], None]
) -> None:
    """One byte every tenth of a second keeps every single read in time: the deadline is for all of them."""
    client = endpoint(server(faulty(slow)).url, timeout=0.5)
    start = time.monotonic()
    assert client.get_answer(REQUEST) == FINE
    assert client.usage.retries == 1
    assert time.monotonic() - start < 2.5


def test_a_flood_is_not_read_to_its_end(server: Callable[[Reply], Any]) -> None:
    """1.5 GB are announced; the client hangs up after a few megabytes and does not ask for them again."""
    sent = []

    def flood(handler: Handler, _: dict[str, Any]) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1500000000\r\n\r\n")
        for _ in range(1500):
            handler.wfile.write(b" " * 1_000_000)
            sent.append(1_000_000)

    running = server(flood)
    client = endpoint(running.url)
    assert client.get_answer(REQUEST) is None
    assert client.usage.failed == 1
    assert len(running.asked) == 1
    assert sum(sent) < 10 * MAX_BODY_BYTES


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
@pytest.mark.parametrize("where", ["another host", "another scheme", "the same host"])
def test_a_redirect_is_never_followed(
    server: Callable[[Reply], Any], monkeypatch: pytest.MonkeyPatch, status: int, where: str
) -> None:
    monkeypatch.setenv("METASSAY_LLM_KEY", "very-secret")
    thief = server(lambda handler, _: handler.reply(answer("stolen")))
    targets = {
        "another host": thief.url.replace("127.0.0.1", "localhost"),
        "another scheme": thief.url.replace("http:", "https:"),
        "the same host": thief.url,
    }
    honest = server(lambda h, _: h.reply(b"", status, {"Location": f"{targets[where]}/chat/completions"}))
    with pytest.raises(InputError, match=f"answered {status}") as caught:
        endpoint(honest.url).get_answer(REQUEST)
    assert len(honest.asked) == 1
    assert thief.asked == []
    assert "very-secret" not in str(caught.value)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_what_patience_cannot_mend_is_an_error_at_once(
    server: Callable[[Reply], Any], monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "very-secret")
    running = server(lambda handler, _: handler.reply(b"very-secret", status))
    with pytest.raises(InputError, match=f"answered {status}") as caught:
        endpoint(running.url).get_answer(REQUEST)
    assert len(running.asked) == 1
    assert "very-secret" not in str(caught.value)
    assert "OPENAI_API_KEY only to OpenAI" in str(caught.value)


@pytest.mark.parametrize("status", [400, 413, 422, 418])
def test_a_request_that_is_refused_alone_is_missing_alone(
    server: Callable[[Reply], Any], status: int
) -> None:
    running = server(faulty(lambda h: h.reply(b"too long", status)))
    client = endpoint(running.url)
    assert client.get_answer(REQUEST) is None
    assert client.get_answer(REQUEST) == FINE
    assert (client.usage.failed, client.usage.retries, len(running.asked)) == (1, 0, 2)


@pytest.mark.parametrize(
    "retry_after", ["nan", "inf", "-3", "1e999", "Wed, 21 Oct 2099 07:28:00 GMT", "99999"]
)
def test_no_server_makes_us_wait_for_ever(server: Callable[[Reply], Any], retry_after: str) -> None:
    fault = FAULTS["429"]
    waits: list[float] = []
    running = server(faulty(lambda h: h.reply(b"", 429, {"Retry-After": retry_after}), fault))
    assert endpoint(running.url, sleep=waits.append).get_answer(REQUEST) == FINE
    assert all(0 < wait <= 60 for wait in waits)


KEYS = {"METASSAY_LLM_KEY": "ours", "OPENAI_API_KEY": "theirs"}


@pytest.mark.parametrize(
    ("url", "both", "openai_alone"),
    [
        ("https://api.openai.com/v1", "ours", "theirs"),
        ("https://api.openai.com:443/v1", "ours", "theirs"),
        ("https://api.openai.com:8443/v1", "ours", None),
        ("http://api.openai.com/v1", None, None),
        ("https://api.openai.com.evil.example/v1", "ours", None),
        ("https://evil.example/api.openai.com", "ours", None),
        ("https://models.example/v1", "ours", None),
        ("http://models.example/v1", None, None),
        ("http://192.168.1.7:8000/v1", None, None),
        ("http://localhost:8000/v1", "ours", None),
        ("http://127.0.0.1:8000/v1", "ours", None),
        ("http://[::1]:8000/v1", "ours", None),
        ("http://localhost.evil.example/v1", None, None),
        ("http://127.0.0.1.evil.example/v1", None, None),
    ],
)
def test_a_key_goes_only_where_it_belongs(
    monkeypatch: pytest.MonkeyPatch, url: str, both: str | None, openai_alone: str | None
) -> None:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    assert choose_api_key(url) == both
    monkeypatch.delenv("METASSAY_LLM_KEY")
    assert choose_api_key(url) == openai_alone


def test_openais_key_is_not_sent_to_another_server_and_ours_is_sent_to_this_machine(
    server: Callable[[Reply], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    running = server(lambda handler, _: handler.reply(answer("fine")))
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    monkeypatch.delenv("METASSAY_LLM_KEY", raising=False)
    endpoint(running.url).get_answer(REQUEST)
    assert "Authorization" not in running.asked[0][1]
    monkeypatch.setenv("METASSAY_LLM_KEY", " ours\n")
    endpoint(running.url).get_answer(REQUEST)
    assert running.asked[1][1]["Authorization"] == "Bearer ours"


def test_plain_http_does_not_leave_by_a_proxy(
    server: Callable[[Reply], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    running, proxy = (server(lambda handler, _: handler.reply(answer("fine"))) for _ in range(2))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.url)
    monkeypatch.setenv("METASSAY_LLM_KEY", "ours")
    assert endpoint(running.url).get_answer(REQUEST) == FINE
    assert proxy.asked == []


@pytest.mark.parametrize("key", ["line\nbreak", "nul\0", "schlüssel"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    if "\0" in key:
        monkeypatch.setattr(os, "environ", os.environ | {"METASSAY_LLM_KEY": key})
    else:
        monkeypatch.setenv("METASSAY_LLM_KEY", key)
    with pytest.raises(InputError, match="not allowed in a key") as caught:
        Endpoint("http://127.0.0.1:1/v1")
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "localhost:8000", "http://", "http://[::1/v1", "http://a:99999", "http://a b/"],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="is not an address"):
        Endpoint(url)


@pytest.mark.parametrize("url", ["https://me:very-secret@host/v1", "https://host/v1?api-key=very-secret"])
def test_an_address_with_a_secret_in_it_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(InputError, match="contains a user name, a password or a query") as caught:
        Endpoint(url)
    assert "very-secret" not in str(caught.value)


def test_nobody_there_is_a_missing_answer() -> None:
    client = endpoint("http://127.0.0.1:9/v1", attempts=2)
    assert client.get_answer(REQUEST) is None
    assert (client.usage.retries, client.usage.failed) == (1, 1)


def test_a_reply_is_read_as_the_interface_has_it() -> None:
    assert parse_server_reply(json.dumps(answer("a", "length")).encode()) == Answer("a", complete=False, prompt_tokens=10, completion_tokens=4)  # fmt: skip


def test_no_log_holds_the_key_however_talkative(
    server: Callable[[Reply], Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("METASSAY_LLM_KEY", "very-secret")
    caplog.set_level("DEBUG")
    client = endpoint(server(faulty(FAULTS["500"])).url)
    assert client.get_answer(REQUEST) == FINE
    assert caplog.records
    assert "very-secret" not in caplog.text + repr(client)
