"""Every result has a verdict: the lines that its page begins with, as typed claims."""

from __future__ import annotations

import json

import polars as pl
import pytest

import metassay
from metassay.sample import get_sample_path
from metassay.workflows.run_collection import RunCollection

RATED_ROWS = [
    {"seg_id": n, "system": system, "mqm": score - n % 3, "M": score * (1 + n % 5), "N": -score * (1 + n % 2)}
    for n in range(20)
    for system, score in {"a": 2.0, "b": 1.0, "c": 0.0}.items()
]
VERDICT_ROWS = [{"item": n, "judge": "j", "winner": 1, "better": 1 + n % 2} for n in range(40)]


def compute(verb: str):
    if verb == "rank":
        return metassay.rank(RATED_ROWS, human="mqm", draws=19)
    if verb == "depend":
        return metassay.depend(RATED_ROWS, human="mqm", bootstraps=5, draws=9)
    if verb == "judge":
        return metassay.judge(pl.DataFrame(VERDICT_ROWS))
    outputs = pl.read_parquet(get_sample_path("mt")).head(70)
    if verb == "aggregate":
        return metassay.aggregate(outputs, metrics="bleu,ter", resamples=20, repeats=20)
    return metassay.score(outputs, metrics="ter", test="randomization", draws=50)


@pytest.mark.parametrize("verb", ["rank", "depend", "aggregate", "judge", "score"])
def test_a_page_begins_with_the_verdict_of_its_result(verb):
    result = compute(verb)
    assert [claim.sentence for claim in result.verdict] == [str(line) for line in result.build_page().lead]
    assert json.loads(result.to_json())["verdict"][0]["sentence"] == result.verdict[0].sentence


def test_the_verdict_of_rank_has_the_value_of_the_best_metric():
    result = compute("rank")
    claim = result.verdict[0]
    values = {row.metric: row.value for row in result.rankings[0].metrics if not row.baseline}
    assert (claim.kind, claim.question) == ("answer", "rank_systems")
    assert claim.value == max(values.values()) == values[claim.metrics[0]]


def test_the_verdict_of_judge_has_the_base_rate():
    claim = compute("judge").verdict[0]
    assert (claim.kind, claim.metrics, claim.value) == ("none", ["j"], 0.5)
    assert claim.baseline is not None


def test_the_dashboard_shows_the_answer_of_a_run_of_any_verb(tmp_path):
    result = metassay.rank(RATED_ROWS, human="mqm", draws=19, out=tmp_path / "rank")
    (summary,) = RunCollection([tmp_path / "rank"]).summarize_runs_on_page().runs
    assert summary.answer == result.verdict[0].sentence
