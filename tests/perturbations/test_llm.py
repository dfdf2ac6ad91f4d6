"""The language-model path: misbehaving servers, answers that cannot be used, a run stopped and taken up again."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from metassay.data.dataset import Dataset
from metassay.errors import InputError
from metassay.perturbations.base import View
from metassay.perturbations.llm import HOPELESS, LlmRewriting, LlmSettings
from metassay.perturbations.llm_client import Answer, AnswerCache, Endpoint, LlmFailure, Request
from metassay.perturbations.llm_prompts import fill, read_prompt, usable
from metassay.perturbations.pairs import make_pairs
from metassay.tasks import mt
from metassay.tasks.registry import known_tasks

Reply = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    """Answers as the server's `behave` says."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((body, dict(self.headers)))
        self.server.behave(self, body)

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


def answer(text: str, reason: str = "stop") -> dict[str, Any]:
    message = {"message": {"role": "assistant", "content": text}, "finish_reason": reason}
    return {"choices": [message], "usage": {"prompt_tokens": 10, "completion_tokens": 4}}


def echo_worse(handler: Handler, body: dict[str, Any]) -> None:
    output = body["messages"][0]["content"].split("Output: ")[1].split("\n")[0]
    handler.reply(answer(f"{output} indeed"))


@pytest.fixture
def server() -> Iterator[Callable[[Reply], ThreadingHTTPServer]]:
    running = []

    def start(behave: Reply) -> ThreadingHTTPServer:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.behave, server.asked = behave, []
        server.url = f"http://127.0.0.1:{server.server_port}/v1"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        running.append(server)
        return server

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


REQUEST = Request("m", "prompt", 0.3, 200, 1.0, 7)


def endpoint(url: str, **options: Any) -> Endpoint:
    return Endpoint(url, **{"timeout": 5.0, "sleep": lambda _: None} | options)


def faulty(*faults: Callable[[Handler], None]) -> Reply:
    """Misbehaves once in each of these ways, then answers."""
    left = list(faults)

    def behave(handler: Handler, _: dict[str, Any]) -> None:
        left.pop(0)(handler) if left else handler.reply(answer("fine"))

    return behave


FAULTS = {
    "429": lambda h: h.reply({"error": "slow down"}, 429, {"Retry-After": "2"}),
    "500": lambda h: h.reply(b"oops", 500),
    "truncated JSON": lambda h: h.reply(b'{"choices": [{"mess'),
    "wrong length": lambda h: h.reply(b'{"choices": []}', headers={"Content-Length": "500"}),
    "no choices": lambda h: h.reply({"choices": []}),
    "null content": lambda h: h.reply({"choices": [{"message": {"content": None}}]}),
    "not JSON": lambda h: h.reply(b"<html>"),
    "closed": lambda h: h.connection.close(),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_tried_again(server: Callable[[Reply], Any], fault: str) -> None:
    running = server(faulty(FAULTS[fault], FAULTS[fault]))
    waits: list[float] = []
    client = endpoint(running.url, sleep=waits.append, timeout=1.0)
    assert client.ask(REQUEST) == Answer("fine", complete=True, prompt_tokens=10, completion_tokens=4)
    assert (client.usage.asked, client.usage.retries, client.usage.failed) == (1, 2, 0)
    assert waits == ([2.0, 2.0] if fault == "429" else [1.0, 2.0])


def test_a_hanging_server_is_given_up_after_the_time_out(server: Callable[[Reply], Any]) -> None:
    running = server(faulty(lambda _: time.sleep(3)))
    client = endpoint(running.url, timeout=0.2)
    start = time.monotonic()
    assert client.ask(REQUEST) is not None
    assert time.monotonic() - start < 2
    assert client.usage.retries == 1


def test_what_patience_cannot_mend_is_an_error_at_once(server: Callable[[Reply], Any]) -> None:
    running = server(lambda handler, _: handler.reply(b"no such model", 404))
    with pytest.raises(InputError, match="answered 404"):
        endpoint(running.url).ask(REQUEST)
    assert len(running.asked) == 1


def test_the_request_is_the_papers_and_the_key_stays_in_the_environment(
    server: Callable[[Reply], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("METASSAY_LLM_KEY", "secret")
    running = server(echo_worse)
    settings = LlmSettings(running.url, "tiny", cache=tmp_path / "answers.jsonl", price=(1.0, 2.0))
    pairs = make_pairs(dataset(2), perturbations=["llm"], llm=settings)
    body, headers = running.asked[0]
    assert {k: body[k] for k in ("model", "temperature", "max_tokens", "top_p")} == {
        "model": "tiny",
        "temperature": 0.3,
        "max_tokens": 200,
        "top_p": 1.0,
    }
    assert headers["Authorization"] == "Bearer secret"
    assert "secret" not in (tmp_path / "answers.jsonl").read_text()
    assert pairs.usage["llm"]["prompt_tokens"] == 20
    assert pairs.usage["llm"]["cost"] == pytest.approx((20 + 2 * 8) / 1e6)


def dataset(size: int, task: str = "mt") -> Dataset:
    rows = [
        {
            "item": str(i),
            "system": s,
            "output": f"text number {i}",
            "references": [f"the text {i}"],
            "lp": "de-zh",
        }
        for i in range(size)
        for s in "ab"
    ]
    return Dataset(task, pl.DataFrame(rows))


def test_equal_outputs_are_asked_once_and_a_second_run_asks_nothing(
    server: Callable[[Reply], Any], tmp_path: Path
) -> None:
    running = server(echo_worse)
    settings = LlmSettings(running.url, cache=tmp_path / "cache" / "answers.jsonl", concurrency=4)
    first = make_pairs(dataset(20), perturbations=["llm"], llm=settings)
    assert len(running.asked) == 20
    assert first.frame["worse"].to_list() == [f"{text} indeed" for text in first.frame["output"]]
    again = make_pairs(dataset(20), perturbations=["llm"], llm=settings)
    assert len(running.asked) == 20
    assert again.frame.equals(first.frame)
    assert (again.usage["llm"]["asked"], again.usage["llm"]["cached"]) == (0, 20)


def test_a_run_that_was_stopped_asks_only_for_the_rest(
    server: Callable[[Reply], Any], tmp_path: Path
) -> None:
    cache = tmp_path / "answers.jsonl"
    running = server(echo_worse)
    make_pairs(dataset(5), perturbations=["llm"], llm=LlmSettings(running.url, cache=cache))
    whole = cache.read_bytes()
    cache.write_bytes(whole[:-20])  # stopped while the fifth answer was written
    make_pairs(dataset(12), perturbations=["llm"], llm=LlmSettings(running.url, cache=cache))
    asked = Counter(body["messages"][0]["content"] for body, _ in running.asked)
    assert sorted(asked.values()) == [1] * 11 + [2]
    assert all(AnswerCache(cache).get(json.loads(line)["key"]) for line in whole.decode().splitlines())


def test_a_dead_server_stops_the_run(server: Callable[[Reply], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    running = server(lambda handler, _: handler.reply(b"", 503))
    method = LlmRewriting.configured(LlmSettings(running.url, concurrency=1), mt.TASK)
    monkeypatch.setattr(method.backend, "sleep", lambda _: None)
    with pytest.raises(LlmFailure, match="does not answer"):
        make_pairs(dataset(HOPELESS + 2), perturbations=[method])


@pytest.mark.parametrize(
    ("said", "worse"),
    [
        ("The cat sat.", "The cat sat."),
        ('"The cat sat."', "The cat sat."),
        ("Output: The cat sat.", "The cat sat."),
        ("Rewritten output: “The cat sat.”", "The cat sat."),
        ("The cat sat.\n\nI changed the tense.", "The cat sat."),
        ("", None),
        ("  \n", None),
        ("I'm sorry, but I cannot do that.", None),
        ("As an AI language model I will not.", None),
        ("word " * 40, None),
        ("The  cat sits. ", "The cat sits."),
    ],
)
def test_what_of_an_answer_can_be_used(said: str, worse: str | None) -> None:
    assert usable(said, "The cat sits.") == worse


def test_echoes_refusals_and_cut_answers_are_no_pairs(server: Callable[[Reply], Any]) -> None:
    replies = {"0": ("text number 0", "stop"), "1": ("I cannot help.", "stop"), "2": ("text numb", "length")}

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        number = body["messages"][0]["content"].split("Output: text number ")[1][0]
        handler.reply(answer(*replies.get(number, ("worse text", "stop"))))

    pairs = make_pairs(dataset(4), perturbations=["llm"], llm=LlmSettings(server(behave).url))
    count = pairs.counts["llm"]
    assert (count.applied, count.unchanged, count.not_applicable) == (2, 2, 4)


def test_prompts_hold_the_texts_and_no_examples_of_errors(tmp_path: Path) -> None:
    view = View("out {source} {0}", language="de", source="src", references=("ref",))
    filled = fill(mt.PROMPT, view)
    assert all(text in filled for text in ("src", "ref", "out {source} {0}", "German"))
    assert "for example" not in "".join(task.prompt or "" for task in known_tasks().values()).lower()
    (tmp_path / "own.txt").write_text("Make this worse: {output}")
    assert fill(read_prompt(tmp_path / "own.txt"), view) == "Make this worse: out {source} {0}"
    (tmp_path / "bad.txt").write_text("Make this worse.")
    with pytest.raises(InputError, match="does not mention"):
        read_prompt(tmp_path / "bad.txt")


def test_without_a_model_there_is_an_error_that_says_how_to_name_one() -> None:
    with pytest.raises(InputError, match="--llm-url"):
        make_pairs(dataset(1), perturbations=["llm"])
    with pytest.raises(InputError, match="not an address"):
        make_pairs(dataset(1), perturbations=["llm"], llm=LlmSettings("file:///etc/passwd"))


def test_naming_a_model_adds_the_method_to_the_defaults(server: Callable[[Reply], Any]) -> None:
    data = Dataset("asr", pl.DataFrame({"item": ["1"], "system": ["a"], "output": ["some words here"]}))
    pairs = make_pairs(data, llm=LlmSettings(server(echo_worse).url), per_output=None)
    assert set(pairs.frame["perturbation"]) == {"insertion", "llm", "phonetic", "removal", "swapping"}


def test_the_commands_ask_the_model_once_and_keep_the_key_to_themselves(
    server, tmp_path, monkeypatch, capfd
) -> None:
    """`assay` twice into one folder: the second time every answer comes from the folder."""
    from metassay.cli import run

    monkeypatch.setenv("METASSAY_LLM_KEY", "very-secret")
    table = tmp_path / "t.csv"
    rows = [
        f"{i},{s},the {w} sat here,the {w} sat down\n" for i, w in enumerate(("cat", "dog")) for s in "ab"
    ]
    table.write_text("id,system,hyp,ref\n" + "".join(rows))
    asked = server(echo_worse)
    command = ["assay", str(table), "--metrics", "chrf", "--context", "system", "--language", "en", "--resamples", "20",
               "--perturbations", "llm", "--llm-url", asked.url, "--llm-model", "m", "--out", str(tmp_path / "run"), "-q"]  # fmt: skip
    assert run(command) == 0
    assert len(asked.asked) == 2
    assert asked.asked[0][1]["Authorization"] == "Bearer very-secret"
    assert run(command) == 0
    assert len(asked.asked) == 2
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["identity"]["configuration"]["llm"] == {"model": "m", "prompt": None}
    for file in (tmp_path / "run").rglob("*"):
        assert not file.is_file() or b"very-secret" not in file.read_bytes()
    capfd.readouterr()
