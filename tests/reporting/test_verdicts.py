"""Every result has a verdict: the lines that its page begins with, as typed claims."""

from __future__ import annotations

import json

import polars as pl
import pytest

import metassay
from metassay.sample import get_bundled_sample_path
from metassay.schemas import RESULT_TYPES, build_json_schema_of_output
from metassay.workflows.run_collection import RunCollection

RATED_ROWS = [
    {"seg_id": n, "system": system, "mqm": score - n % 3, "M": score * (1 + n % 5), "N": -score * (1 + n % 2)}
    for n in range(20)
    for system, score in {"a": 2.0, "b": 1.0, "c": 0.0}.items()
]
VERDICT_ROWS = [{"item": n, "judge": "j", "winner": 1, "better": 1 + n % 2} for n in range(40)]


def read_sample_outputs():
    return pl.read_parquet(get_bundled_sample_path("mt")).head(70)


COMPUTE = {
    "rank": lambda: metassay.rank(RATED_ROWS, human="mqm", draws=19),
    "depend": lambda: metassay.depend(RATED_ROWS, human="mqm", bootstraps=5, draws=9),
    "judge": lambda: metassay.judge(pl.DataFrame(VERDICT_ROWS)),
    "estimate": lambda: metassay.estimate(RATED_ROWS, human="mqm", resamples=100),
    "annotate": lambda: metassay.annotate([row | {"mqm": None} for row in RATED_ROWS], human="mqm", count=5),
    "aggregate": lambda: metassay.aggregate(
        read_sample_outputs(), metrics="bleu,ter", resamples=20, repeats=20
    ),
    "score": lambda: metassay.score(read_sample_outputs(), metrics="ter", test="randomization", draws=50),
}


@pytest.mark.parametrize("verb", COMPUTE)
def test_a_page_begins_with_the_verdict_of_its_result(verb):
    result = COMPUTE[verb]()
    assert [claim.sentence for claim in result.verdict] == [str(line) for line in result.build_page().lead]
    assert json.loads(result.to_json())["verdict"][0]["sentence"] == result.verdict[0].sentence


@pytest.mark.parametrize("verb", ["check", "perturb"])
def test_a_terminal_begins_with_the_verdict_of_its_result(verb):
    rows = [{"seg_id": 1, "system": "a", "hyp": "a red fox runs", "ref": "the red fox"}]
    result = getattr(metassay, verb)(rows)
    sentences = [claim["sentence"] for claim in result.to_dict()["verdict"]]
    assert sentences == [block.text for block in result.describe_result_for_terminal()[: len(sentences)]]
    count = {
        "check": "1 system, 1 item",
        "perturb": f"{result.to_dict().get('pairs')} worse versions of 1 output",
    }
    assert count[verb] in sentences[0]


def test_only_commands_that_answer_no_question_have_no_verdict():
    without_verdict = {
        command
        for command, content in RESULT_TYPES.items()
        if "verdict" not in build_json_schema_of_output(command)["$defs"][content]["properties"]
    }
    assert without_verdict == {"align"}


def test_the_verdict_of_rank_has_the_value_of_the_best_metric():
    result = COMPUTE["rank"]()
    claim = result.verdict[0]
    values = {row.metric: row.value for row in result.rankings[0].metrics if not row.baseline}
    assert (claim.kind, claim.question) == ("answer", "rank_systems")
    assert claim.value == max(values.values()) == values[claim.metrics[0]]


def test_the_verdict_of_judge_has_the_base_rate():
    claim = COMPUTE["judge"]().verdict[0]
    assert (claim.kind, claim.metrics, claim.value) == ("none", ["j"], 0.5)
    assert claim.baseline is not None


def test_the_dashboard_shows_the_answer_of_a_run_of_any_verb(tmp_path):
    result = metassay.rank(RATED_ROWS, human="mqm", draws=19, out=tmp_path / "rank")
    (summary,) = RunCollection([tmp_path / "rank"]).summarize_runs_on_page().runs
    assert summary.answer == result.verdict[0].sentence
