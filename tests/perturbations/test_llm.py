"""The perturbation by language model: answers that cannot be used, failures, a run stopped and taken up again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fake_llm_server import Handler, Reply, answer
from metassay.data.dataset import Dataset
from metassay.errors import InputError
from metassay.llm.answer_cache import AnswerCache
from metassay.llm.asker import MAX_FAILURES_WITHOUT_ANSWER
from metassay.llm.prompts import fill_prompt_fields, read_user_prompt
from metassay.llm.requests import LlmFailure
from metassay.llm.settings import LlmSettings
from metassay.perturbations.base import View
from metassay.perturbations.llm import LlmRewriting, extract_perturbed_output, list_prompt_fields
from metassay.perturbations.pairs import make_perturbed_output_pairs
from metassay.tasks import load_tasks, mt


def echo_worse(handler: Handler, body: dict[str, Any]) -> None:
    output = body["messages"][0]["content"].split("Output: ")[1].split("\n")[0]
    handler.reply(answer(f"{output} indeed"))


def test_the_request_is_the_papers_and_the_key_stays_in_the_environment(
    server: Callable[[Reply], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("METASSAY_LLM_KEY", "secret")
    running = server(echo_worse)
    settings = LlmSettings(running.url, "tiny", cache=tmp_path / "answers.jsonl", price=(1.0, 2.0))
    pairs = make_perturbed_output_pairs(dataset(2), perturbations=["llm"], llm=settings)
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
    first = make_perturbed_output_pairs(dataset(20), perturbations=["llm"], llm=settings)
    assert len(running.asked) == 20
    assert first.frame["worse"].to_list() == [f"{text} indeed" for text in first.frame["output"]]
    again = make_perturbed_output_pairs(dataset(20), perturbations=["llm"], llm=settings)
    assert len(running.asked) == 20
    assert again.frame.equals(first.frame)
    assert (again.usage["llm"]["asked"], again.usage["llm"]["cached"]) == (0, 20)


def test_a_run_that_was_stopped_asks_only_for_the_rest(
    server: Callable[[Reply], Any], tmp_path: Path
) -> None:
    cache = tmp_path / "answers.jsonl"
    running = server(echo_worse)
    make_perturbed_output_pairs(dataset(5), perturbations=["llm"], llm=LlmSettings(running.url, cache=cache))
    whole = cache.read_bytes()
    cache.write_bytes(whole[:-20])  # stopped while the fifth answer was written
    make_perturbed_output_pairs(dataset(12), perturbations=["llm"], llm=LlmSettings(running.url, cache=cache))
    asked = Counter(body["messages"][0]["content"] for body, _ in running.asked)
    assert sorted(asked.values()) == [1] * 11 + [2]
    assert all(
        AnswerCache(cache).get_stored_answer(json.loads(line)["key"]) for line in whole.decode().splitlines()
    )


def test_a_dead_server_stops_the_run(server: Callable[[Reply], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    running = server(lambda handler, _: handler.reply(b"", 503))
    method = LlmRewriting.from_settings(LlmSettings(running.url, concurrency=1), mt.TASK)
    monkeypatch.setattr(method.asker.backend, "sleep", lambda _: None)
    with pytest.raises(LlmFailure, match="does not answer"):
        make_perturbed_output_pairs(dataset(MAX_FAILURES_WITHOUT_ANSWER + 2), perturbations=[method])


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
    assert extract_perturbed_output(said, "The cat sits.") == worse


def test_echoes_refusals_and_cut_answers_are_no_pairs(server: Callable[[Reply], Any]) -> None:
    replies = {"0": ("text number 0", "stop"), "1": ("I cannot help.", "stop"), "2": ("text numb", "length")}

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        number = body["messages"][0]["content"].split("Output: text number ")[1][0]
        handler.reply(answer(*replies.get(number, ("worse text", "stop"))))

    pairs = make_perturbed_output_pairs(
        dataset(4), perturbations=["llm"], llm=LlmSettings(server(behave).url)
    )
    count = pairs.counts["llm"]
    assert (count.applied, count.unchanged, count.not_applicable) == (2, 2, 4)


def test_prompts_hold_the_texts_and_no_examples_of_errors(tmp_path: Path) -> None:
    view = View("out {source} {0}", language="de", source="src", references=("ref",))
    filled = fill_prompt_fields(mt.PERTURBATION_PROMPT, list_prompt_fields(view))
    assert all(text in filled for text in ("src", "ref", "out {source} {0}", "German"))
    assert (
        "for example" not in "".join(task.perturbation_prompt or "" for task in load_tasks().values()).lower()
    )
    (tmp_path / "own.txt").write_text("Make this worse: {output}")
    assert (
        fill_prompt_fields(read_user_prompt(tmp_path / "own.txt"), list_prompt_fields(view))
        == "Make this worse: out {source} {0}"
    )
    (tmp_path / "bad.txt").write_text("Make this worse.")
    with pytest.raises(InputError, match="does not mention"):
        read_user_prompt(tmp_path / "bad.txt")


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("mt", "make MT_OUTPUT_ZH slightly worse by introducing minor machine translation errors"),
        ("asr", "make ASR_SYSTEM_OUTPUT slightly worse by introducing minor ASR errors"),
    ],
)
def test_the_prompts_of_the_paper_are_sent(server: Callable[[Reply], Any], task: str, expected: str) -> None:
    running = server(lambda handler, _: handler.reply(answer("worse text")))
    pairs = make_perturbed_output_pairs(
        dataset(1, task), perturbations=["llm(prompt=paper)"], llm=LlmSettings(running.url, concurrency=1)
    )
    (body, _), *_ = running.asked
    sent = body["messages"][0]["content"]
    assert expected in sent
    assert '"text number 0"' in sent
    assert '"the text 0"' in sent
    assert "{" not in sent
    assert pairs.frame["worse"].to_list() == ["worse text"] * 2


def test_prompts_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="papers"):
        LlmRewriting(prompt="papers")
    own = tmp_path / "own.txt"
    own.write_text("Make this worse: {output}")
    settings = LlmSettings("http://localhost:9", prompt=own)
    with pytest.raises(InputError, match="has a prompt of its own"):
        make_perturbed_output_pairs(dataset(1), perturbations=["llm(prompt=paper)"], llm=settings)


def test_without_a_model_there_is_an_error_that_says_how_to_name_one() -> None:
    with pytest.raises(InputError, match="--llm-url"):
        make_perturbed_output_pairs(dataset(1), perturbations=["llm"])
    with pytest.raises(InputError, match="not an address"):
        make_perturbed_output_pairs(dataset(1), perturbations=["llm"], llm=LlmSettings("file:///etc/passwd"))


def test_naming_a_model_adds_the_method_to_the_defaults(server: Callable[[Reply], Any]) -> None:
    data = Dataset("asr", pl.DataFrame({"item": ["1"], "system": ["a"], "output": ["some words here"]}))
    pairs = make_perturbed_output_pairs(data, llm=LlmSettings(server(echo_worse).url), per_output=None)
    assert set(pairs.frame["perturbation"]) == {"insertion", "llm", "phonetic", "removal", "swapping"}


def test_the_commands_ask_the_model_once_and_keep_the_key_to_themselves(
    server, tmp_path, monkeypatch, capfd
) -> None:
    """`assay` twice into one folder: the second time every answer comes from the folder."""
    from metassay.cli import run_command_line as run

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


def test_failures_are_said_and_above_a_share_are_an_error(server, tmp_path, monkeypatch, capfd):
    """One of twenty fails: a note. 27 of 30 fail: exit 2, and the next run asks only for those."""
    from metassay.cli import run_command_line as run
    from metassay.llm import client

    monkeypatch.setattr(client, "FIRST_WAIT", 0.0)
    table = tmp_path / "t.csv"
    words = [f"word{i:02d}" for i in range(30)]
    table.write_text(
        "id,system,hyp,ref\n" + "".join(f"{i},a,the {w} sat,the {w} sat\n" for i, w in enumerate(words))
    )
    failing = set(words[3:])

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        if any(word in body["messages"][0]["content"] for word in failing):
            handler.reply(b"", 500)
        else:
            echo_worse(handler, body)

    running = server(behave)
    command = ["perturb", str(table), "--language", "en", "--perturbations", "llm", "--llm-url", running.url,
               "--llm-model", "m", "--out", str(tmp_path / "run"), "-q", "--llm-concurrency", "1"]  # fmt: skip
    assert run(command) == 2
    assert "27 of 30 requests" in capfd.readouterr().err
    before = len(running.asked)
    failing.clear()
    failing.add("word07")
    assert run(command) == 0
    shown = capfd.readouterr()
    assert "1 of 30 requests to the language model got no answer" in shown.out + shown.err
    asked = {body["messages"][0]["content"] for body, _ in running.asked[before:]}
    assert len(asked) == 27
    assert pl.read_parquet(tmp_path / "run" / "pairs.parquet").height == 29
