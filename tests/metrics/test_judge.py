"""Judges against a server that has opinions: what is asked, what is read, what is missing, what is replayed."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

import metassay
from fake_llm_server import answer
from metassay.cli import run_command_line as run
from metassay.errors import InputError
from metassay.llm.answer_parsing import (
    parse_preference,
    parse_rubric_score,
    parse_score,
    score_listed_errors,
)
from metassay.llm.asker import Asker
from metassay.llm.prompts import fill_available_prompt_fields
from metassay.llm.settings import LlmSettings
from metassay.metrics.base import Batch
from metassay.metrics.judge import MODES, Judge
from metassay.metrics.registry import parse_metric


def get_prompt(body):
    return body["messages"][0]["content"]


def get_shown_outputs(body):
    """Return the outputs in a prompt, in the order in which they are shown."""
    return re.findall(r"^Output(?: [AB])? \([^)]*\): (.*)$", get_prompt(body), re.MULTILINE)


def connect_judge(url, tmp_path, **parameters):
    asker = Asker.from_settings(LlmSettings(url, "tiny", cache=tmp_path / "answers.jsonl"))
    asker.backend.sleep = lambda _: None
    return Judge(**parameters).connect_to_model(asker)


def prefer_longer_outputs(handler, body):
    a, b = get_shown_outputs(body)
    better = "tie" if len(a) == len(b) else "A" if len(a) > len(b) else "B"
    handler.reply(answer(f"I thought about it.\nBetter: {better}"))


def answer_scores_and_preferences(handler, body):
    """The longer text is the better one, asked either way."""
    if "Output A" in get_prompt(body):
        prefer_longer_outputs(handler, body)
    else:
        handler.reply(answer(f"Score: {len(get_shown_outputs(body)[0])}"))


def test_a_direct_judge_scores_each_distinct_output_once(server, tmp_path):
    running = server(lambda h, body: h.reply(answer(f"Score: {len(get_shown_outputs(body)[0])}")))
    judge = connect_judge(running.url, tmp_path)
    batch = Batch.from_texts(["abc", "a", "abc"], [["r"]] * 3, source=["s"] * 3, language="de")
    assert judge.score(batch).tolist() == [3, 1, 3]
    assert len(running.asked) == 2
    text = get_prompt(running.asked[0][0])
    assert "Task or source: s" in text
    assert "Reference: r" in text
    assert "German" in text


def test_prompts_do_not_mention_missing_fields(server, tmp_path):
    running = server(lambda h, _: h.reply(answer("50")))
    connect_judge(running.url, tmp_path).score(Batch.from_texts(["abc"]))
    assert "Reference" not in get_prompt(running.asked[0][0])
    assert fill_available_prompt_fields("a {x}\nb {y}", {"x": "{y}", "y": None}) == "a {y}"


def test_an_unreadable_answer_is_requested_again_and_then_missing(server, tmp_path):
    def behave(handler, body):
        output = get_shown_outputs(body)[0]
        readable = output == "good" or (output == "late" and body["seed"] == 1)
        handler.reply(answer("Score: 70" if readable else "What a fine text!"))

    running = server(behave)
    judge = connect_judge(running.url, tmp_path)
    scores = judge.score(Batch.from_texts(["good", "late", "never"]))
    np.testing.assert_array_equal(scores, [70, 70, np.nan])
    seeds = sorted(
        (get_shown_outputs(body)[0], body["seed"], body["temperature"]) for body, _ in running.asked
    )
    assert seeds == [("good", 0, 0.0), ("late", 0, 0.0), ("late", 1, 0.5), ("never", 0, 0.0), ("never", 1, 0.5), ("never", 2, 0.5)]  # fmt: skip
    assert "1 of 3 answers are missing. In up to 3 attempts" in " ".join(judge.list_notes_on_scores())
    connect_judge(running.url, tmp_path).score(Batch.from_texts(["good", "late", "never"]))
    assert len(running.asked) == 6  # replayed, unreadable ones too


def test_pairs_are_shown_in_both_orders_and_a_flip_is_a_tie(server, tmp_path):
    def behave(handler, body):
        if "fickle" in get_prompt(body):
            handler.reply(answer("Better: A"))
        else:
            prefer_longer_outputs(handler, body)

    running = server(behave)
    judge = connect_judge(running.url, tmp_path, mode="pairwise")
    first, second = (
        Batch.from_texts(["longer one", "x", "fickle1", "same"]),
        Batch.from_texts(["short", "yyy", "fickle2", "some"]),
    )
    found = judge.ask_which_output_is_better(first, second)
    assert found.preferences_for_first_output.tolist() == [1, 0, 0.5, 0.5]
    assert found.by_order[:, 2].tolist() == [1, 0]
    assert found.order_dependent_pair_count == 1
    orders = {tuple(get_shown_outputs(body)) for body, _ in running.asked}
    assert orders >= {("longer one", "short"), ("short", "longer one")}
    assert "1 of 4 verdicts change with the order" in " ".join(judge.list_notes_on_scores())
    with pytest.raises(InputError, match="compares two outputs"):
        judge.score(first)


def test_rubric_scores_are_means_and_span_scores_are_penalties(server, tmp_path):
    def behave(handler, body):
        rubric = "criterion by criterion" in get_prompt(body)
        handler.reply(answer("accuracy: 5\nstyle: 2" if rubric else 'MAJOR: "bad word"\nMINOR: (omission)'))

    url = server(behave).url
    batch = Batch.from_texts(["a Bad  word here"])
    assert connect_judge(url, tmp_path, mode="rubric", criteria="accuracy;style").score(batch).tolist() == [
        3.5
    ]
    assert connect_judge(url, tmp_path, mode="spans").score(batch).tolist() == [-6]


@pytest.mark.parametrize(
    ("text", "value"),
    [("Score: 0", 0), ("score = 100/100.", 100), ("**Score: 62,5**", 62.5), ("Score: 10\nScore: 20", 20), ("77", 77),
     ("The score of the output is 100.", 100), ("The score is: 7", 7), ("My score of the day is high: 7", None),
     ("Score: 101", None), ("Score: -5", None), ("Score: 1e2", None), ("between 10 and 20", None), ("", None), ("Score:", None)],
)  # fmt: skip
def test_scores_are_parsed_from_answers(text, value):
    assert parse_score(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("Better: A", 1), ("better: output b.", 0), ("Better: tie", 0.5), ("A", 1), ("Better: A\nBetter: B", 0),
     ("Better: C", None), ("A is better than B", None), ("A\n\nA is better.", 1), ("A\n\nB", None), ("Better: A or B", None)],
)  # fmt: skip
def test_preferences_are_parsed_from_answers(text, value):
    assert parse_preference(text) == value


def test_errors_must_quote_the_output_and_all_criteria_must_be_rated():
    assert score_listed_errors("NO ERRORS", "x") == 0
    assert score_listed_errors('CRITICAL: "x y"\nMINOR: "z"', "X  y z") == -11
    assert score_listed_errors('MAJOR: "not there"', "x") is None
    assert score_listed_errors("It is fine.", "x") is None
    assert parse_rubric_score("accuracy: 4", ["accuracy", "fluency"]) is None
    assert parse_rubric_score("accuracy: 4\nfluency: 9", ["accuracy", "fluency"]) is None
    assert parse_rubric_score("- Accuracy: 4/5\n- Fluency: 3", ["accuracy", "fluency"]) == 3.5


@pytest.mark.parametrize("mode", MODES)
def test_specs_parse_back_and_signatures_contain_a_hash_of_the_prompt(mode, tmp_path):
    judge = parse_metric(f"judge(mode={mode},model=org/some-model)")
    assert parse_metric(judge.spec) == judge
    own = tmp_path / "own.txt"
    own.write_text("{output} {output_a} {output_b}")
    signatures = [
        judge.signature,
        parse_metric(f"judge(mode={mode},model=org/some-model,prompt={own})").signature,
    ]
    own.write_text("{output} {output_a} {output_b}!")
    signatures.append(parse_metric(f"judge(mode={mode},model=org/some-model,prompt={own})").signature)
    assert len(set(signatures)) == 3
    assert str(tmp_path) not in signatures[2]
    assert "org/some-model" in judge.signature


def test_errors_say_what_is_wrong_with_a_judge(tmp_path):
    with pytest.raises(InputError, match="Did you mean direct"):
        parse_metric("judge(mode=dirct)")
    with pytest.raises(InputError, match="--llm-url"):
        Judge().score(Batch.from_texts(["x"]))
    own = tmp_path / "own.txt"
    own.write_text("no field")
    with pytest.raises(InputError, match="does not mention"):
        _ = Judge(prompt=str(own)).signature


@pytest.fixture
def outputs(tmp_path):
    words = ("cat", "dog", "cow", "hen", "fox", "owl")
    rows = [f"{i},{s},the {w} sat down here,the {w} sat down\n" for i, w in enumerate(words) for s in "ab"]
    table = tmp_path / "t.csv"
    table.write_text("id,system,hyp,ref\n" + "".join(rows))
    return table


def test_judges_are_assayed_like_other_metrics_and_repeated_without_requests(
    server, outputs, tmp_path, capfd, monkeypatch
):
    """Removal and insertion change the length: a judge that loves length sees every removal, no insertion."""
    monkeypatch.setenv("METASSAY_LLM_KEY", "very-secret")

    running = server(answer_scores_and_preferences)
    command = ["assay", str(outputs), "--metrics", "chrf,judge,judge(mode=pairwise)", "--context", "system",
               "--language", "en", "--resamples", "20", "--permutations", "19", "--perturbations", "removal,insertion",
               "--llm-url", running.url, "--llm-model", "m", "--out", str(tmp_path / "run"), "-q"]  # fmt: skip
    assert run(command) == 0
    once = len(running.asked)
    files = {
        f: f.read_bytes()
        for f in sorted((tmp_path / "run").rglob("*"))
        if f.is_file() and f.name != "timings.json"
    }
    assert run(command) == 0
    assert len(running.asked) == once
    assert {f: f.read_bytes() for f in files} == files
    assert not any(b"very-secret" in content for content in files.values())
    judgements = pl.read_parquet(tmp_path / "run" / "results" / "judgements.parquet")
    for name in ("judge(model=m)", "judge(mode=pairwise,model=m)"):
        by_method = judgements.group_by("perturbation").agg(pl.col(name).unique())
        assert dict(by_method.iter_rows()) == {"removal": [1], "insertion": [-1]}
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert "Better: A" in manifest["prompts"]["judge(mode=pairwise,model=m)"]
    assert "Better: tie" in (tmp_path / "run" / "report.html").read_text()
    capfd.readouterr()
    assert run(["judge", str(tmp_path / "run"), "--context", "perturbation", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert [row["judge"] for row in found["judges"]] == ["judge(mode=pairwise,model=m)", "judge(model=m)"]
    assert [row["accuracy"] for row in found["judges"]] == [0.5, 0.5]
    assert [row["length_bias"] for row in found["judges"]] == [1, 1]
    assert [row["both_orders_same"] for row in found["judges"]] == [1, None]
    for row in found["contexts"]["perturbation"]:
        assert row["accuracy"] == (row["context"] == "removal")


@pytest.mark.parametrize("per_output", [1, 2])
def test_a_model_is_asked_only_about_the_pairs_that_are_judged(server, outputs, tmp_path, per_output):
    """Other metrics score all copies, to tell how methods differ; questions cost, and stay with the sample."""
    running = server(answer_scores_and_preferences)
    llm = LlmSettings(running.url, "m")
    out = tmp_path / "run"
    metassay.assay(str(outputs), metrics="chrf,judge,judge(mode=pairwise)", contexts=["system"], resamples=20, permutations=19,
                   perturbations="removal,insertion,swapping,removal_20", per_output=per_output, llm=llm, out=out)  # fmt: skip
    sampled = pl.read_parquet(out / "pairs.parquet")
    assert sampled.height == 12 * per_output
    texts = {*sampled["output"], *sampled["worse"]}
    pairs = {*sampled.select("output", "worse").rows(), *sampled.select("worse", "output").rows()}
    asked = [tuple(get_shown_outputs(body)) for body, _ in running.asked]
    assert {one[0] for one in asked if len(one) == 1} == texts
    assert {two for two in asked if len(two) == 2} == pairs
    items = 6  # both systems say the same of an item: equal questions are asked once
    assert len(asked) <= items * (1 + 2 * per_output) + items * 2 * 2 * per_output
    judgements = pl.read_parquet(out / "results" / "judgements.parquet")
    rest = judgements.filter(~pl.col("sampled"))
    assert rest.height > 0
    assert rest["chrf"].null_count() == 0
    for name in ("judge(model=m)", "judge(mode=pairwise,model=m)"):
        assert rest[name].null_count() == rest.height
        assert judgements.filter("sampled")[name].null_count() == 0
    asked_of = pl.read_parquet(out / "results" / "verdicts.parquet")["judge"].value_counts()
    assert dict(asked_of.iter_rows()) == {
        "judge(model=m)": sampled.height,
        "judge(mode=pairwise,model=m)": 2 * sampled.height,
    }


def test_several_pairs_of_one_output_are_judged_separately(server, tmp_path, capfd):
    """Three pairs of each item, all made in one way: verdicts on each, and items are what is resampled."""
    running = server(answer_scores_and_preferences)
    rows = [
        {"item": f"i{i}", "domain": "ab"[i % 2], "output": f"quite a long answer {i}", "worse": worse}
        for i in range(12)
        for worse in ("short", f"short {i}", f"a very much longer answer than that other one {i}")
    ]
    table = tmp_path / "pairs.parquet"
    pl.DataFrame(rows).write_parquet(table)
    command = ["assay", "--pairs", str(table), "--metrics", "judge(mode=pairwise)", "--task", "text", "--context", "domain",
               "--resamples", "20", "--permutations", "19", "--llm-url", running.url, "--llm-model", "m", "-q"]  # fmt: skip
    assert run([*command, "--out", str(tmp_path / "run")]) == 0
    verdicts = pl.read_parquet(tmp_path / "run" / "results" / "verdicts.parquet")
    assert verdicts["pair"].n_unique() == 36
    assert verdicts["item"].n_unique() == 12
    by_pair = dict(verdicts.select("pair", "output_2").unique().iter_rows())
    assert len(by_pair) == 36
    pl.DataFrame(rows[::-1]).write_parquet(table)
    assert run([*command, "--out", str(tmp_path / "turned")]) == 0
    turned = pl.read_parquet(tmp_path / "turned" / "results" / "verdicts.parquet")
    assert turned.sort("pair", "swapped").equals(verdicts.sort("pair", "swapped"))
    capfd.readouterr()
    assert run(["judge", str(tmp_path / "run"), "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    (row,) = found["judges"]
    assert (found["items"], row["pairs"], row["verdicts"]) == (12, 36, 72)
    assert row["accuracy"] == pytest.approx(2 / 3)
    settled = verdicts.filter("swapped")
    named, better = ((settled[name].cast(pl.String) == "1").mean() for name in ("winner", "better"))
    assert 0 < better < 1
    assert row["base_rate"] == pytest.approx(named * better + (1 - named) * (1 - better))
    of_items = binomtest(8, 12).proportion_ci(method="wilson")  # 36 single pairs would give (.50, .80)
    assert row["low"] <= of_items.low
    assert row["high"] >= of_items.high


def write_pairs(tmp_path, size=30):
    rng = np.random.default_rng(0)
    better = rng.integers(1, 3, size)
    long, short = [f"a long and good answer {i}" for i in range(size)], [f"short {i}" for i in range(size)]
    frame = pl.DataFrame(
        {
            "item": [f"i{i}" for i in range(size)],
            "instruction": "say something",
            "output_1": [a if b == 1 else z for a, z, b in zip(long, short, better)],
            "output_2": [z if b == 1 else a for a, z, b in zip(long, short, better)],
            "better": better,
        }
    )
    frame.write_parquet(tmp_path / "pairs.parquet")
    return str(tmp_path / "pairs.parquet")


def test_a_table_of_pairs_is_judged_within_a_budget_and_continued(server, tmp_path, capfd):
    running = server(prefer_longer_outputs)
    (tmp_path / "prices.json").write_text('{"m": [1.0, 2.0]}')
    command = ["judge", write_pairs(tmp_path), "--llm-url", running.url, "--llm-model", "m", "--out", str(tmp_path / "run"),
               "--prices", str(tmp_path / "prices.json"), "--json"]  # fmt: skip
    assert run([*command, "--budget", "0.002"]) == 2
    assert "budget of 0.002 is spent" in capfd.readouterr().err
    some = len(running.asked)
    assert 0 < some < 60
    assert run([*command, "--budget", "1"]) == 0
    assert len(running.asked) == 60
    found = json.loads(capfd.readouterr().out)
    (row,) = found["judges"]
    assert (row["judge"], row["accuracy"], row["both_orders_same"]) == ("judge(mode=pairwise,model=m)", 1, 1)
    assert row["cost"] == pytest.approx(60 * 18e-6)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Compare the two outputs below" in page
    before = {
        f: f.read_bytes() for f in (tmp_path / "run").rglob("*") if f.is_file() and f.name != "call.json"
    }
    assert run(command) == 0
    assert len(running.asked) == 60
    assert {f: f.read_bytes() for f in before} == before
    capfd.readouterr()


def test_direct_judges_compare_outputs_by_their_scores(server, tmp_path):
    running = server(lambda h, body: h.reply(answer(f"Score: {len(get_shown_outputs(body)[0])}")))
    llm = LlmSettings(running.url, "m")
    found = metassay.judge(write_pairs(tmp_path), llm=llm, judge="judge", repeats=2).to_dict()
    (row,) = found["judges"]
    assert (row["accuracy"], row["repeats_same"], row["both_orders_same"]) == (1, 1, None)
    single = pl.DataFrame(
        {
            "item": ["1", "1", "2", "2"],
            "system": ["a", "b"] * 2,
            "output": ["x", "xx", "yyy", "y"],
            "human": [1, 2, 3, 1],
        }
    )
    scored = metassay.judge(single, llm=llm).to_dict()
    assert (scored["kind"], scored["judges"][0]["accuracy"]) == ("grade", 1)
    with pytest.raises(InputError, match="is not a judge"):
        metassay.judge(single, llm=llm, judge="chrf")
    with pytest.raises(InputError, match="no column holds the output_1"):
        metassay.judge(single, llm=llm, judge="judge(mode=pairwise)")
