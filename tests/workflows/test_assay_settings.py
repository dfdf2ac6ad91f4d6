"""Every option of `assay` has its effect on the results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import metassay
from metassay.errors import InputError
from metassay.metrics.base import Metric
from metassay.options import PERTURBED_PAIRS
from metassay.perturbations.pairs import Pairs, PerturbationCount
from metassay.sample import get_bundled_sample_path
from metassay.workflows.assay import assay
from metassay.workflows.assay_outcome import _describe_origin_of_pairs
from metassay.workflows.recommend import recommend

FAST = {"resamples": 37, "permutations": 30, "minimum_items": 1}


@dataclass(frozen=True)
class LastNumber(Metric):
    """Metric that returns the number at the end of an output, minus `off` if the number is odd."""

    off: float = 0.0

    name: ClassVar[str] = "number"
    task: ClassVar[str] = "any"
    needs: ClassVar[frozenset[str]] = frozenset({"output"})

    def score(self, batch):
        numbers = np.array([float(text.split()[-1]) for text in batch.output])
        return numbers - self.off * (numbers % 2)


class ErrorCount(LastNumber):
    """The same metric with lower scores for better outputs."""

    name: ClassVar[str] = "errors"
    higher_is_better: ClassVar[bool] = False

    def score(self, batch):
        return -super().score(batch)


class CoarseMetric(LastNumber):
    """The same metric, for which differences of up to 1 are ties."""

    name: ClassVar[str] = "coarse"
    tie_tolerance: ClassVar[float] = 1.0


class ExpensiveMetric(LastNumber):
    """The same metric, with the cost of a paid one."""

    name: ClassVar[str] = "expensive"

    @property
    def cost_class(self) -> str:
        return "paid requests"


@pytest.fixture(scope="module")
def pairs() -> pl.DataFrame:
    """Sixty items in twelve documents and two domains. In most pairs, the better output is a
    larger number.
    """
    rng = np.random.default_rng(0)
    item = np.arange(60)
    return pl.DataFrame(
        {
            "item": [f"{n:02}" for n in item],
            "system": [f"s{n % 2}" for n in item],
            "doc_id": [f"d{n // 5}" for n in item],
            "domain": ["news" if n % 3 else "talk" for n in item],
            "output": [str(n) for n in rng.integers(0, 10, 60)],
            "worse": [f"{n}.0" for n in rng.integers(-3, 7, 60)],
            "views": 1.0 + (item % 4),
        }
    )


def run_assay(frame, *metrics, **options):
    options_of_assay = {"contexts": ["domain", "system"]} | FAST | options
    return assay(
        None, pairs=frame, metrics=list(metrics or [LastNumber(), LastNumber(3.0)]), **options_of_assay
    )


def get_outcomes_of_number(frame, tie=0.0):
    """Return for each pair whether the number of the better output is larger: 1, 0, or `tie` for equal
    numbers.
    """
    gap = frame["output"].cast(float) - frame["worse"].cast(float)
    return np.where(gap > 0, 1.0, np.where(gap == 0, tie, 0.0))


@pytest.mark.parametrize(("cluster", "units"), [(None, 12), ("doc_id", 12), ("item", 60), ("domain", 2)])
def test_named_cluster_column_is_used(pairs, cluster, units) -> None:
    found = run_assay(pairs, cluster=cluster).to_dict()
    assert found["cluster"]["column"] == (cluster or "doc_id")
    assert {row["clusters"] for row in found["global"]} == {units}


@pytest.mark.parametrize(("ties", "credit"), [("strict", 0.0), ("half", 0.5)])
def test_ties_count_as_the_option_says(pairs, ties, credit) -> None:
    expected = get_outcomes_of_number(pairs, credit)
    assert (get_outcomes_of_number(pairs, 0.5) == 0.5).any()
    assert run_assay(pairs, ties=ties).to_dict()["global"][0]["accuracy"] == pytest.approx(expected.mean())


def test_accuracy_is_weighted_by_a_column(pairs) -> None:
    expected = np.average(get_outcomes_of_number(pairs), weights=pairs["views"].to_numpy())
    assert expected != pytest.approx(get_outcomes_of_number(pairs).mean())
    assert run_assay(pairs, weights="views").to_dict()["global"][0]["accuracy"] == pytest.approx(expected)


def test_direction_and_tie_tolerance_of_a_metric_are_used(pairs) -> None:
    found = {
        row["metric"]: row
        for row in run_assay(pairs, LastNumber(), ErrorCount(), CoarseMetric()).to_dict()["global"]
    }
    assert found["errors"]["accuracy"] == found["number"]["accuracy"]
    gap = (pairs["output"].cast(float) - pairs["worse"].cast(float)).to_numpy()
    assert found["coarse"]["ties"] == pytest.approx((np.abs(gap) <= 1).mean())
    assert found["coarse"]["accuracy"] == pytest.approx((gap > 1).mean())


def test_seed_changes_p_values_of_given_pairs_but_not_their_accuracy(pairs) -> None:
    zero, again, one = (run_assay(pairs, seed=seed).to_dict()["contexts"]["system"] for seed in (0, 0, 1))
    assert zero == again
    assert zero["local_accuracy"][0]["accuracy"] == one["local_accuracy"][0]["accuracy"]
    assert [row["p_permutation"] for row in zero["h1"]] != [row["p_permutation"] for row in one["h1"]]


def test_p_values_come_from_the_requested_numbers_of_draws(pairs) -> None:
    """p-values are k / 31 after 30 permutations, and k / 38 after 37 resamples."""
    parity = pairs.with_columns(parity=(pl.col("output").cast(int) % 2).cast(str))
    column = run_assay(parity, LastNumber(), LastNumber(3.0), LastNumber(6.0), contexts=["parity"]).to_dict()[
        "contexts"
    ]["parity"]
    permuted = [31 * row["p_permutation"] for row in column["h1"]]
    resampled = [38 * p for p in column["h2"]["p_global"] if p is not None]
    assert permuted == pytest.approx(np.round(permuted).tolist())
    assert resampled == pytest.approx(np.round(resampled).tolist())
    assert min(permuted) < 31
    assert min(resampled) < 38  # even numbers are put before odd ones by whoever takes three off


@pytest.mark.parametrize("agreement", ["tau_ap_b", "kendall", "weighted_tau"])
def test_requested_agreement_statistic_is_computed(pairs, agreement) -> None:
    assert (
        run_assay(pairs, agreement=agreement).to_dict()["contexts"]["domain"]["h2"]["statistic"] == agreement
    )


def test_contexts_below_the_minimum_size_make_no_claims(pairs) -> None:
    """Twenty items are talk, forty are news."""
    for size, aside in ((20, {}), (21, {"domain": ["talk"]})):
        found = run_assay(pairs, contexts=["domain"], minimum_items=size).to_dict()
        assert found["claims"]["set_aside"] == aside


def test_cheaper_of_two_equal_metrics_is_recommended(pairs) -> None:
    for metrics in ((ExpensiveMetric(), LastNumber()), (LastNumber(), ExpensiveMetric())):
        found = run_assay(pairs, *metrics).to_dict()
        assert found["cost_class"] == {"expensive": "paid requests", "number": "cheap"}
        assert found["answer"]["metric"] == "number"


def test_requested_sentinel_is_not_recommended(pairs) -> None:
    longer = pairs.with_columns(output=pl.lit("1 ") + pl.col("output"))
    found = run_assay(longer, "length", LastNumber()).to_dict()
    accuracy = {row["metric"]: row["accuracy"] for row in found["global"]}
    assert accuracy["length"] == 1 > accuracy["number"]
    assert found["answer"]["metric"] == "number"
    assert found["answer"]["exceptions"] == []


def test_criteria_decide_between_equal_metrics(pairs, tmp_path) -> None:
    run_assay(pairs, LastNumber(), CoarseMetric(), ErrorCount(), out=tmp_path / "run")
    for first, second in (("number", "errors"), ("errors", "number")):
        found = recommend(tmp_path / "run", criteria={"licence": {first: 2.0, second: 1.0}}).to_dict()
        top = found["recommendation"]["domain"]["global"]["top_group"]
        assert top.index(first) < top.index(second)


def test_examples_of_errors_begin_with_the_largest_margin(pairs) -> None:
    (outcome,) = run_assay(pairs, LastNumber()).collect_misordered_pairs().pairs[0].outcomes.values()
    gap = (pairs["worse"].cast(float) - pairs["output"].cast(float)).to_numpy()
    assert outcome.worse_score - outcome.score == gap.max()


SMALL = {"metrics": "chrf", "perturbations": "removal,insertion,swapping", "contexts": ["system"]} | FAST


@pytest.fixture(scope="module")
def texts() -> pl.DataFrame:
    return pl.read_parquet(get_bundled_sample_path("mt")).filter(pl.col("seg_id").cast(int) % 8 == 0)


def test_per_output_limits_pairs_but_not_the_analysis_of_perturbations(texts) -> None:
    one, every = (assay(texts, per_output=count, **SMALL) for count in (1, 3))
    assert len(one.pairs) == one.to_dict()["outputs"]
    assert {row["pairs"] for row in one.to_dict()["global"]} == {len(one.pairs)}
    assert len(every.pairs) > 2 * len(one.pairs)
    for a, b in zip(one.to_dict()["confounding"], every.to_dict()["confounding"]):
        assert a["by_method"] == b["by_method"]


def test_perturbations_follow_the_seed(texts) -> None:
    zero, again, one = (assay(texts, seed=seed, **SMALL).pairs.frame for seed in (0, 0, 1))
    assert zero.equals(again)
    assert not zero.equals(one)


def test_human_pairs_differ_by_more_than_the_minimum_gap() -> None:
    """Scores 3, 2, 2 and 0 of four systems: five pairs differ, by more than one three, by more than two one."""
    frame = pl.DataFrame(
        {
            "seg_id": [1] * 4,
            "system": list("abcd"),
            "output": ["3", "2", "2.0", "0"],
            "mqm": [3.0, 2.0, 2.0, 0.0],
        }
    )
    for gap, count in ((0.0, 5), (1.0, 3), (2.0, 1)):
        asked = {
            "pairs": "human",
            "minimum_gap": gap,
            "metrics": [LastNumber()],
            "contexts": ["system"],
        } | FAST
        found = assay(metassay.read(frame, task="mt"), **asked)
        assert len(found.pairs) == count
    sentinel = next(row for row in found.to_dict()["sentinels"] if row["metric"] == "random_per_system")
    assert sentinel["ties"] == 0  # the two sides are of two systems


def test_origin_of_pairs_of_a_language_model_is_model() -> None:
    frame = pl.DataFrame({name: ["x", "y"] for name in ("item", "system", "output", "worse")})
    frame = frame.with_columns(pl.Series("perturbation", ["removal", "llm"]))
    counts = {name: PerturbationCount(applied=1, pairs=1) for name in ("removal", "llm")}
    pairs = Pairs(frame, counts, (), {}, np.zeros(2, np.uint64))
    assert _describe_origin_of_pairs(PERTURBED_PAIRS, pairs) == "model"
    assert _describe_origin_of_pairs(PERTURBED_PAIRS, pairs.filter_pairs(np.array([True, False]))) == "rule"


def test_outputs_with_equal_text_make_no_human_pair() -> None:
    frame = pl.DataFrame(
        {"seg_id": [1, 1, 1], "system": list("abc"), "output": ["1", "1", "2"], "mqm": [3.0, 1.0, 2.0]}
    )
    asked = {"pairs": "human", "metrics": [LastNumber()], "contexts": ["system"]} | FAST
    found = assay(metassay.read(frame, task="mt"), **asked).pairs.frame
    assert found.select("system", "worse_system").rows() == [("a", "c"), ("c", "b")]


def test_outputs_that_no_perturbation_makes_worse_are_refused_with_the_reason():
    """Thai is written without spaces, and no package that finds its words is supported."""
    rows = [
        {"seg_id": n, "system": system, "output": "แมวนั่งบนเสื่อ", "ref": "แมวนอนบนเสื่อ", "lp": "en-th"}
        for n in range(3)
        for system in ("a", "b")
    ]
    with pytest.raises(InputError, match="no perturbation made an output worse") as caught:
        metassay.assay(pl.DataFrame(rows), metrics="chrf")
    assert caught.value.remedy.startswith("removal does not apply to th: it is written without spaces")
    assert "pairs by human score" in caught.value.remedy
    (question,) = [
        each for each in metassay.check(pl.DataFrame(rows)).questions if "detects errors" in each.question
    ]
    assert "removal does not apply to th: it is written without spaces" in question.missing
