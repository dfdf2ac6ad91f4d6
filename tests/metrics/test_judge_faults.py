"""Judges against a server that hangs, drips, floods, lies and points elsewhere: scored, or missing by name."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import metassay
from fake_llm_server import Handler, Reply, answer
from metassay.errors import InputError
from metassay.llm import client
from metassay.llm.settings import LlmSettings

JUDGES = ("judge(model=m)", "judge(mode=pairwise,model=m)")
ITEMS = 40
KEY = "very-secret"


def send_slowly(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(30):
        handler.wfile.write(b" ")
        time.sleep(0.1)


def send_without_end(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1500000000\r\n\r\n")
    for _ in range(1500):
        handler.wfile.write(b" " * 1_000_000)


PASSING: dict[str, Callable[[Handler], None]] = {
    "item01": lambda _: time.sleep(3),
    "item02": send_slowly,
    "item03": lambda h: h.reply({"error": "slow down"}, 429, {"Retry-After": "0"}),
    "item04": lambda h: h.reply(b"oops", 500),
    "item05": lambda h: h.reply(b'{"choices": [{"mess'),
    "item06": lambda h: h.reply(b"[" * 200_000),
    "item07": lambda h: h.connection.close(),
    "item08": lambda h: h.reply(b"\xff\xfe<html>"),
}
"""Once for each question on these, then an answer."""
LASTING: dict[str, Callable[[Handler], None]] = {
    "item11": send_without_end,
    "item12": lambda h: h.reply(b"oops", 500),
}


def build_answer(body: dict[str, Any]) -> dict[str, Any]:
    """The text without an error is better; asked for a score, 80 or 20."""
    text = body["messages"][0]["content"]
    if "Output A" in text:
        return answer("Better: B" if "bad" in text.split("Output A")[1].split("\n")[0] else "Better: A")
    return answer("Score: 20" if "bad" in text.split("Output ")[1].split("\n")[0] else "Score: 80")


def named(body: dict[str, Any], items: Any) -> str | None:
    return next((item for item in items if f"{item} " in body["messages"][0]["content"]), None)


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    items = [f"item{i:02d}" for i in range(ITEMS)]
    rows = [
        {
            "item": item,
            "domain": "ab"[n % 2],
            "output": f"{item} is said well",
            "worse": f"{item} is said bad",
        }
        for n, item in enumerate(items)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "pairs.csv")
    return str(tmp_path / "pairs.csv")


def run_assay(pairs: str, url: str, out: Path) -> Any:
    llm = LlmSettings(url, "m", timeout=2.0)
    return metassay.assay(
        metassay.read(pairs, pairs=True, task="text"),
        metrics="judge,judge(mode=pairwise)",
        contexts=["domain"],
        llm=llm,
        out=out,
        resamples=20,
        permutations=19,
    )


def read_files(run: Path) -> dict[str, bytes]:
    kept = [path for path in sorted(run.rglob("*")) if path.is_file()]
    return {str(path.relative_to(run)): path.read_bytes() for path in kept}


def test_whatever_the_server_does_every_pair_is_scored_or_missing_and_a_rerun_asks_for_the_rest(
    server: Callable[[Reply], Any], pairs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METASSAY_LLM_KEY", KEY)
    monkeypatch.setattr(client, "FIRST_WAIT", 0.0)
    seen: Counter[str] = Counter()
    ill = [True]

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        text = body["messages"][0]["content"]
        seen[text] += 1
        if ill[0] and (item := named(body, LASTING)):
            LASTING[item](handler)
        elif ill[0] and seen[text] == 1 and (item := named(body, PASSING)):
            PASSING[item](handler)
        else:
            handler.reply(build_answer(body))

    running = server(behave)
    found = run_assay(pairs, running.url, tmp_path / "run").to_dict()
    judgements = pl.read_parquet(tmp_path / "run" / "results" / "judgements.parquet")
    for judge in JUDGES:
        missing = judgements.filter(pl.col(judge).is_null())["item"].to_list()
        assert missing == list(LASTING)
        assert judgements[judge].drop_nulls().unique().to_list() == [1]
    notes = " ".join(found["notes"])
    assert "8 of 160 requests to the language model got no answer, so their results are missing" in notes
    for judge in JUDGES:
        assert f"{judge}: 4 of 80 answers are missing" in notes
    ill[0] = False
    before = len(running.asked)
    run_assay(pairs, running.url, tmp_path / "run")
    later = {body["messages"][0]["content"]: named(body, LASTING) for body, _ in running.asked[before:]}
    assert Counter(later.values()) == {"item11": 4, "item12": 4}
    healthy = server(lambda handler, body: handler.reply(build_answer(body)))
    run_assay(pairs, healthy.url, tmp_path / "healthy")
    ours, theirs = read_files(tmp_path / "run"), read_files(tmp_path / "healthy")
    assert ours.keys() == theirs.keys()
    assert not any(KEY.encode() in content for content in ours.values())
    for name in ours.keys() - {"timings.json", "call.json", "llm-answers.jsonl"}:
        assert ours[name] == theirs[name], name
    assert sorted(ours["llm-answers.jsonl"].split(b"\n")) == sorted(theirs["llm-answers.jsonl"].split(b"\n"))


@pytest.mark.parametrize("mode", ["direct", "pairwise"])
@pytest.mark.parametrize("where", ["another host", "another scheme"])
def test_a_judge_that_points_elsewhere_is_an_error_and_nobody_else_hears_the_key(
    server: Callable[[Reply], Any],
    pairs: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    where: str,
) -> None:
    monkeypatch.setenv("METASSAY_LLM_KEY", KEY)
    thief = server(lambda handler, body: handler.reply(build_answer(body)))
    other = thief.url.replace("127.0.0.1", "localhost")
    target = other if where == "another host" else thief.url.replace("http:", "https:")
    honest = server(lambda h, _: h.reply(b"", 302, {"Location": f"{target}/chat/completions"}))
    with pytest.raises(InputError, match="a redirect to another address") as caught:
        metassay.assay(
            metassay.read(pairs, pairs=True, task="text"),
            metrics=f"judge(mode={mode})",
            contexts=["domain"],
            llm=LlmSettings(honest.url, "m", timeout=5.0),
            out=tmp_path / "run",
        )
    assert thief.asked == []
    assert KEY not in str(caught.value)
    assert not any(KEY.encode() in content for content in read_files(tmp_path / "run").values())
