"""Asking many questions: each once, within a budget, and a rerun asks only for what is missing."""

from __future__ import annotations

import json
import threading
import time

import pytest

from fake_llm_server import answer
from metassay.errors import InputError
from metassay.llm.answer_cache import AnswerCache
from metassay.llm.asker import Asker
from metassay.llm.budget import read_token_price
from metassay.llm.client import Endpoint
from metassay.llm.requests import Answer, LlmFailure, Request, Usage
from metassay.llm.settings import LlmSettings

PRICE = (1.0, 2.0)


def request(number: int) -> Request:
    return Request("m", f"question {number}", 0.0, 10, 1.0, 0)


def asker(url, tmp_path, **settings) -> Asker:
    made = Asker.from_settings(LlmSettings(url, cache=tmp_path / "answers.jsonl", **settings))
    assert isinstance(made.backend, Endpoint)
    made.backend.sleep, made.backend.attempts = lambda _: None, 2
    return made


def test_equal_questions_are_asked_once_and_answers_come_back_in_order(server, tmp_path):
    running = server(lambda h, body: h.reply(answer(body["messages"][0]["content"])))
    asked = [request(number % 5) for number in range(40)]
    answers = asker(running.url, tmp_path).get_answers_in_parallel([*asked, None])
    assert [found.text for found in answers[:-1]] == [each.prompt for each in asked]
    assert answers[-1] is None
    assert len(running.asked) == 5


def test_several_are_under_way_at_a_time_and_no_more_than_allowed(server, tmp_path):
    busy, most, lock = [0], [0], threading.Lock()

    def behave(handler, _):
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        time.sleep(0.05)
        with lock:
            busy[0] -= 1
        handler.reply(answer("x"))

    made = asker(server(behave).url, tmp_path, concurrency=3)
    others = threading.Thread(
        target=made.get_answers_in_parallel, args=([request(i) for i in range(12, 24)],)
    )
    others.start()
    made.get_answers_in_parallel([request(i) for i in range(12)])
    others.join()
    assert 2 <= most[0] <= 3
    assert (made.prompt_tokens, made.completion_tokens) == (240, 96)


def test_a_rerun_asks_only_for_what_is_missing(server, tmp_path):
    broken = {"question 3"}

    def behave(handler, body):
        text = body["messages"][0]["content"]
        handler.reply(b"", 500) if text in broken else handler.reply(answer("x"))

    running = server(behave)
    first = asker(running.url, tmp_path)
    answers = first.get_answers_in_parallel([request(i) for i in range(20)])
    assert [i for i, found in enumerate(answers) if found is None] == [3]
    assert "1 of 20 requests" in first.describe_failed_requests()
    broken.clear()
    before = len(running.asked)
    second = asker(running.url, tmp_path)
    assert None not in second.get_answers_in_parallel([request(i) for i in range(20)])
    assert second.describe_failed_requests() is None
    assert [body["messages"][0]["content"] for body, _ in running.asked[before:]] == ["question 3"]


def test_too_many_failures_are_an_error_that_keeps_the_answers(server, tmp_path):
    good = {"question 0", "question 1", "question 2"}
    running = server(
        lambda h, body: h.reply(answer("x")) if body["messages"][0]["content"] in good else h.reply(b"", 500)
    )
    with pytest.raises(LlmFailure, match="27 of 30 requests") as caught:
        asker(running.url, tmp_path, concurrency=1).get_answers_in_parallel([request(i) for i in range(30)])
    assert caught.value.exit_code == 2
    assert (tmp_path / "answers.jsonl").read_text().count("\n") == 3


def test_a_dead_server_stops_the_run_early(server, tmp_path):
    running = server(lambda h, _: h.reply(b"", 503))
    with pytest.raises(LlmFailure, match="does not answer"):
        asker(running.url, tmp_path, concurrency=1).get_answers_in_parallel([request(i) for i in range(50)])
    assert len(running.asked) < 20


def test_the_budget_is_never_exceeded_and_the_next_run_goes_on(server, tmp_path):
    """Every answer costs 10 · 1 + 4 · 2 = 18 millionths; a budget of 100 pays for at most five."""
    running = server(lambda h, _: h.reply(answer("x")))
    poor = asker(running.url, tmp_path, price=PRICE, budget=100e-6)
    with pytest.raises(LlmFailure, match=r"budget of 0\.0001 is spent"):
        poor.get_answers_in_parallel([request(i) for i in range(20)])
    spent = poor.summarize_requests_and_tokens()["cost"]
    assert spent == pytest.approx(18e-6 * len(running.asked))
    assert 0 < spent <= 100e-6
    kept = len(running.asked)
    rich = asker(running.url, tmp_path, price=PRICE, budget=1.0)
    rich.get_answers_in_parallel([request(i) for i in range(20)])
    assert len(running.asked) == 20
    assert rich.summarize_requests_and_tokens()["cached"] == kept


def test_a_budget_without_a_price_is_refused(tmp_path):
    with pytest.raises(InputError, match="needs the prices of tokens"):
        LlmSettings("http://localhost:1", budget=1.0)
    table = tmp_path / "prices.json"
    table.write_text(json.dumps({"m": [0.5, 1.5], "bad": [1], "worse": [1, "x"]}))
    assert read_token_price(table, "m") == (0.5, 1.5)
    for model in ("bad", "worse", "unknown"):
        with pytest.raises(InputError, match="no price"):
            read_token_price(table, model)
    table.write_text("[" * 100_000)
    with pytest.raises(InputError, match="cannot be read"):
        read_token_price(table, "m")


def test_a_cache_that_someone_edited_gives_what_can_be_read_of_it(tmp_path):
    file = tmp_path / "answers.jsonl"
    AnswerCache(file).store_answer("good", Answer("x", complete=True))
    broken = ["[1]", '"x"', "{}", '{"key":"a","text":1,"complete":true}', '{"key":"b","text":"\\ud800","complete":true}',
              '{"key":"c","text":"x","complete":true,"prompt_tokens":"many"}', "[" * 100_000]  # fmt: skip
    file.write_bytes("\n".join([*broken, file.read_text()]).encode() + b"\xff\xfe\n")
    cache = AnswerCache(file)
    assert cache.get_stored_answer("good") == Answer("x", complete=True)
    assert not any(cache.get_stored_answer(key) for key in "abc")


def test_the_backend_may_be_anything_that_answers():
    class Echo:
        usage = Usage()

        def get_answer(self, asked):
            self.usage.add_counts(asked=1)
            return Answer(asked.prompt, complete=True)

    made = Asker(LlmSettings(), Echo(), AnswerCache(None))
    assert [found.text for found in made.get_answers_in_parallel([request(1), request(1)])] == [
        "question 1"
    ] * 2
    assert made.backend.usage.asked == 1
