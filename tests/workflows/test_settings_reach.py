"""Every option of a verb reaches the numbers it is about: what is left out, drawn, weighed or turned around."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import metassay
from metassay.data.cube import cubes
from metassay.meta.dependence.fits import system_dependence
from metassay.meta.pairwise import soft_pairwise_accuracy
from metassay.meta.people.meta_metrics import Procedure
from metassay.meta.people.rated import rated
from metassay.metrics.base import Metric
from metassay.sample import sample_path
from metassay.workflows.assay import _made_by, assay
from metassay.workflows.depend import depend
from metassay.workflows.rank import rank
from metassay.workflows.rank_analyses import corpus_agreement
from metassay.workflows.recommend import recommend
from metassay.workflows.settings import AssaySettings

FAST = {"resamples": 37, "permutations": 30, "minimum_items": 1}


@dataclass(frozen=True)
class Said(Metric):
    """The number that an output ends with, less `off` where it is odd."""

    off: float = 0.0

    name: ClassVar[str] = "said"
    task: ClassVar[str] = "any"
    needs: ClassVar[frozenset[str]] = frozenset({"output"})

    def score(self, batch):
        numbers = np.array([float(text.split()[-1]) for text in batch.output])
        return numbers - self.off * (numbers % 2)


class Errors(Said):
    """The same as a number of errors."""

    name: ClassVar[str] = "errors"
    higher_is_better: ClassVar[bool] = False

    def score(self, batch):
        return -super().score(batch)


class Coarse(Said):
    """The same for a reader who does not see a difference of one."""

    name: ClassVar[str] = "coarse"
    tie_tolerance: ClassVar[float] = 1.0


class Dear(Said):
    """The same for those who can afford it."""

    name: ClassVar[str] = "dear"

    @property
    def cost_class(self) -> str:
        return "paid requests"


@pytest.fixture(scope="module")
def pairs() -> pl.DataFrame:
    """Sixty items in twelve documents and two domains; the better output is a larger number, mostly."""
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


def assayed(frame, *metrics, **options):
    asked = {"contexts": ["domain", "system"]} | FAST | options
    return assay(None, pairs=frame, metrics=list(metrics or [Said(), Said(3.0)]), **asked)


def right(frame, tie=0.0):
    """What the plain number says of each pair."""
    gap = frame["output"].cast(float) - frame["worse"].cast(float)
    return np.where(gap > 0, 1.0, np.where(gap == 0, tie, 0.0))


@pytest.mark.parametrize(("cluster", "units"), [(None, 12), ("doc_id", 12), ("item", 60), ("domain", 2)])
def test_the_unit_asked_for_is_the_unit(pairs, cluster, units) -> None:
    found = assayed(pairs, cluster=cluster).to_dict()
    assert found["cluster"]["column"] == (cluster or "doc_id")
    assert {row["clusters"] for row in found["global"]} == {units}


@pytest.mark.parametrize(("ties", "credit"), [("strict", 0.0), ("half", 0.5)])
def test_ties_earn_what_was_asked_for(pairs, ties, credit) -> None:
    expected = right(pairs, credit)
    assert (right(pairs, 0.5) == 0.5).any()
    assert assayed(pairs, ties=ties).to_dict()["global"][0]["accuracy"] == pytest.approx(expected.mean())


def test_weights_weigh(pairs) -> None:
    expected = np.average(right(pairs), weights=pairs["views"].to_numpy())
    assert expected != pytest.approx(right(pairs).mean())
    assert assayed(pairs, weights="views").to_dict()["global"][0]["accuracy"] == pytest.approx(expected)


def test_errors_are_turned_around_and_small_differences_tie_where_a_metric_says_so(pairs) -> None:
    found = {row["metric"]: row for row in assayed(pairs, Said(), Errors(), Coarse()).to_dict()["global"]}
    assert found["errors"]["accuracy"] == found["said"]["accuracy"]
    gap = (pairs["output"].cast(float) - pairs["worse"].cast(float)).to_numpy()
    assert found["coarse"]["ties"] == pytest.approx((np.abs(gap) <= 1).mean())
    assert found["coarse"]["accuracy"] == pytest.approx((gap > 1).mean())


def test_statistics_follow_the_seed_where_the_pairs_do_not(pairs) -> None:
    zero, again, one = (assayed(pairs, seed=seed).to_dict()["contexts"]["system"] for seed in (0, 0, 1))
    assert zero == again
    assert zero["local_accuracy"][0]["accuracy"] == one["local_accuracy"][0]["accuracy"]
    assert [row["p_permutation"] for row in zero["h1"]] != [row["p_permutation"] for row in one["h1"]]


def test_numbers_of_draws_are_those_asked_for(pairs) -> None:
    """p-values are k / 31 after 30 permutations, and k / 38 after 37 resamples."""
    parity = pairs.with_columns(parity=(pl.col("output").cast(int) % 2).cast(str))
    column = assayed(parity, Said(), Said(3.0), Said(6.0), contexts=["parity"]).to_dict()["contexts"][
        "parity"
    ]
    permuted = [31 * row["p_permutation"] for row in column["h1"]]
    resampled = [38 * p for p in column["h2"]["p_global"] if p is not None]
    assert permuted == pytest.approx(np.round(permuted).tolist())
    assert resampled == pytest.approx(np.round(resampled).tolist())
    assert min(permuted) < 31
    assert min(resampled) < 38  # even numbers are put before odd ones by whoever takes three off


@pytest.mark.parametrize("agreement", ["tau_ap_b", "kendall", "weighted_tau"])
def test_the_agreement_asked_for_is_computed(pairs, agreement) -> None:
    assert assayed(pairs, agreement=agreement).to_dict()["contexts"]["domain"]["h2"]["statistic"] == agreement


def test_the_smallest_size_of_a_context_is_the_one_asked_for(pairs) -> None:
    """Twenty items are talk, forty are news."""
    for size, aside in ((20, {}), (21, {"domain": ["talk"]})):
        found = assayed(pairs, contexts=["domain"], minimum_items=size).to_dict()
        assert found["claims"]["set_aside"] == aside


def test_of_equal_metrics_the_cheaper_is_used(pairs) -> None:
    for metrics in ((Dear(), Said()), (Said(), Dear())):
        found = assayed(pairs, *metrics).to_dict()
        assert found["cost_class"] == {"dear": "paid requests", "said": "cheap"}
        assert found["answer"]["metric"] == "said"


def test_what_knows_nothing_is_not_recommended_though_it_was_asked_for(pairs) -> None:
    longer = pairs.with_columns(output=pl.lit("1 ") + pl.col("output"))
    found = assayed(longer, "length", Said()).to_dict()
    accuracy = {row["metric"]: row["accuracy"] for row in found["global"]}
    assert accuracy["length"] == 1 > accuracy["said"]
    assert found["answer"]["metric"] == "said"
    assert found["answer"]["exceptions"] == []


def test_criteria_decide_between_equal_metrics(pairs, tmp_path) -> None:
    assayed(pairs, Said(), Coarse(), Errors(), out=tmp_path / "run")
    for first, second in (("said", "errors"), ("errors", "said")):
        found = recommend(tmp_path / "run", criteria={"licence": {first: 2.0, second: 1.0}}).to_dict()
        top = found["recommendation"]["domain"]["global"]["top_group"]
        assert top.index(first) < top.index(second)


def test_examples_of_errors_begin_with_the_widest_margin(pairs) -> None:
    examples = assayed(pairs, Said()).examples()
    gap = (pairs["worse"].cast(float) - pairs["output"].cast(float)).to_numpy()
    assert examples[0]["score_worse"] - examples[0]["score"] == gap.max()


SMALL = {"metrics": "chrf", "perturbations": "removal,insertion,swapping", "contexts": ["system"]} | FAST


@pytest.fixture(scope="module")
def texts() -> pl.DataFrame:
    return pl.read_parquet(sample_path("mt")).filter(pl.col("seg_id").cast(int) % 8 == 0)


def test_methods_per_output_are_as_many_as_asked_for_and_confounding_takes_all(texts) -> None:
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


def test_pairs_that_people_tell_apart_by_more_than_the_gap() -> None:
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
        asked = {"pairs": "human", "minimum_gap": gap, "metrics": [Said()], "contexts": ["system"]} | FAST
        found = assay(metassay.read(frame, task="mt"), **asked)
        assert len(found.pairs) == count
    sentinel = next(row for row in found.to_dict()["sentinels"] if row["metric"] == "random_per_system")
    assert sentinel["ties"] == 0  # the two sides are of two systems


def test_pairs_of_a_language_model_are_not_called_rules() -> None:
    class Sample:
        frame = pl.DataFrame({"perturbation": ["removal", "llm"]})

    assert _made_by(AssaySettings(), Sample()) == "model"
    Sample.frame = Sample.frame[:1]
    assert _made_by(AssaySettings(), Sample()) == "rule"


@pytest.fixture(scope="module")
def scores() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    system, segment = (axis.ravel() for axis in np.indices((4, 24)))
    human = rng.normal(size=96) + system * 0.3
    return pl.DataFrame(
        {
            "system": [f"s{k}" for k in system],
            "seg_id": segment + 1,
            "doc_id": [f"d{k // 3}" for k in segment],
            "domain": ["news" if k < 8 else "chat" for k in segment],
            "mqm": human,
            "good": human + rng.normal(size=96),
            "bad": rng.normal(size=96),
        }
    )


def arrays(frame, *names):
    return [frame.sort("system", "seg_id")[name].to_numpy().reshape(4, 24) for name in names]


def values(found, meta=0):
    return {row["metric"]: row["value"] for row in found.to_dict()["results"][meta]["metrics"]}


def test_permutations_and_seed_of_rank_are_those_of_the_array_function(scores) -> None:
    human, good = arrays(scores, "mqm", "good")
    for seed in (0, 3):
        expected = soft_pairwise_accuracy(human, good, method="permutation", permutations=57, seed=seed)
        found = rank(scores, draws=10, method="permutation", permutations=57, seed=seed)
        assert values(found)["good"] == pytest.approx(expected, abs=1e-12)


def test_documents_are_the_units_of_rank_where_asked_for(scores) -> None:
    human, good = (own.reshape(4, 8, 3).sum(axis=2) for own in arrays(scores, "mqm", "good"))
    expected = soft_pairwise_accuracy(human, good, method="permutation", permutations=57)
    found = rank(scores, draws=10, method="permutation", permutations=57, cluster="doc_id")
    assert values(found)["good"] == pytest.approx(expected, abs=1e-12)


def test_documents_are_the_units_of_the_analyses_of_rank_too(scores) -> None:
    """24 segments in eight documents: of documents no more than eight can be drawn."""
    for cluster, most in ((None, 24), ("doc_id", 8)):
        rows = rank(scores, draws=10, analysis="stability", cluster=cluster).to_dict()["analysis"][
            "stability"
        ]
        assert max(row["segments"] for row in rows if row["ablated"] == "segments") == most


def test_people_s_scores_are_turned_around_where_lower_is_better(scores) -> None:
    counted = scores.with_columns(mqm=-pl.col("mqm"))
    plain = rank(scores, draws=10, meta="pearson")
    assert values(rank(counted, draws=10, meta="pearson", lower_is_better="mqm")) == values(plain)
    assert values(rank(counted, draws=10, meta="pearson"))["good"] < 0 < values(plain)["good"]
    one, other = (depend(frame, bootstraps=5, draws=9, lower_is_better=lower).to_dict()["metrics"]
                  for frame, lower in ((scores, ()), (counted, "mqm")))  # fmt: skip
    assert [row["sysdep"] for row in one] == [row["sysdep"] for row in other]


def test_holm_and_the_smallest_context_of_rank_are_as_asked_for(scores) -> None:
    plain, adjusted = (rank(scores, draws=20, holm=holm).to_dict()["results"][0] for holm in (False, True))
    assert "p_holm" not in plain["comparisons"][0]
    assert adjusted["comparisons"][0]["p_holm"] >= adjusted["comparisons"][0]["p"]
    for size, contexts in ((8, ["global", "chat", "news"]), (9, ["global", "chat"])):
        found = rank(scores, draws=10, context="domain", minimum_segments=size).to_dict()["results"]
        assert [result["context"] for result in found] == contexts


@pytest.mark.parametrize("cluster", [None, "doc_id"])
def test_units_seed_and_resamples_of_depend_are_those_of_the_array_function(scores, cluster) -> None:
    human, good = arrays(scores, "mqm", "good")
    documents = None if cluster is None else np.repeat(np.arange(8), 3)
    for seed in (0, 3):
        expected = system_dependence(human, good, bootstraps=30, seed=seed, clusters=documents)
        (found,) = depend(
            scores, metrics="good", bootstraps=30, draws=19, seed=seed, cluster=cluster, context=()
        ).to_dict()["metrics"]
        assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_both_null_hypotheses_of_depend_follow_the_seed(scores) -> None:
    drawn = [
        {row["metric"]: (row["p_equal"], row["p_fair"]) for row in depend(
            scores, bootstraps=0, draws=199, seed=seed).to_dict()["metrics"]}
        for seed in (0, 0, 1)
    ]  # fmt: skip
    assert drawn[0] == drawn[1]
    for k in (0, 1):
        assert [p[k] for p in drawn[0].values()] != [p[k] for p in drawn[2].values()]


@pytest.fixture(scope="module")
def translations(some_words) -> pl.DataFrame:
    """Three systems that differ by little, and an item that one of them lacks."""
    rng = np.random.default_rng(2)
    rows = []
    for item in range(30):
        reference = rng.choice(some_words, 8)
        for system, noise in (("a", 0.30), ("b", 0.34), ("c", 0.9)):
            words = [rng.choice(some_words) if rng.random() < noise else word for word in reference]
            rows.append((system, item, " ".join(words), " ".join(reference), -noise + rng.normal() / 5))
    frame = pl.DataFrame(rows, schema=["system", "seg_id", "hyp", "ref", "mqm"], orient="row")
    return frame.filter(~((pl.col("system") == "b") & (pl.col("seg_id") == 4)))


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_tests_between_systems_follow_the_seed_and_holm(translations, test) -> None:
    zero, again, one = (
        metassay.score(translations, metrics="chrf", test=test, draws=200, seed=seed).comparisons
        for seed in (0, 0, 1)
    )
    assert zero == again
    assert [row["p"] for row in zero] != [row["p"] for row in one]
    ordered = sorted(zero, key=lambda row: row["p"])
    assert ordered[0]["p_holm"] == pytest.approx(3 * ordered[0]["p"])
    assert {row["segments"] for row in zero} == {29}


@pytest.mark.parametrize(("test", "draws"), [("bootstrap", 1000), ("randomization", 10_000)])
def test_tests_between_systems_take_their_usual_number_of_draws(translations, test, draws) -> None:
    rows = metassay.score(translations.filter(pl.col("seg_id") < 20), metrics="rouge1", test=test).comparisons
    smallest = min(row["p"] for row in rows)
    assert smallest == pytest.approx(1 / (draws + 1))


def test_bootstrap_scores_and_aggregation_follow_the_seed(translations) -> None:
    found = [
        metassay.score(translations, metrics="bleu", aggregate=("corpus", "bootstrap"), seed=seed).systems
        for seed in (0, 1)
    ]
    assert [row["corpus"] for row in found[0]] == [row["corpus"] for row in found[1]]
    assert all(a["bootstrap"] != b["bootstrap"] != b["corpus"] for a, b in zip(*found))
    few = {"metrics": "chrf", "resamples": 20, "repeats": 5}
    zero, again, one = (metassay.aggregate(translations, seed=seed, **few).to_dict() for seed in (0, 0, 1))
    assert zero == again
    assert zero["downsampled"] != one["downsampled"]
    assert [row["bootstrap"] for row in zero["systems"]] != [row["bootstrap"] for row in one["systems"]]


def test_corpus_scores_of_error_rates_are_turned_around(translations) -> None:
    """c makes by far the most edits necessary and is rated lowest: TER orders a and c, and b and c, as people do."""
    frame = translations.filter(pl.col("seg_id") != 4).with_columns(other=pl.lit(0.0) + pl.col("seg_id"))
    (cube,) = cubes(frame)
    people = cube.human["mqm"].mean(axis=1)
    (row,) = corpus_agreement(
        frame, [rated(cube, human="mqm")], Procedure(draws=10, permutations=50), ["ter"]
    )
    assert people.argmin() == 2
    assert row["pa_corpus"] >= 2 / 3
    assert row["spa_corpus"] > 0.6
    assert row["pa_segment"] >= 2 / 3


def test_outputs_of_equal_text_are_no_pair_whatever_people_say() -> None:
    frame = pl.DataFrame(
        {"seg_id": [1, 1, 1], "system": list("abc"), "output": ["1", "1", "2"], "mqm": [3.0, 1.0, 2.0]}
    )
    asked = {"pairs": "human", "metrics": [Said()], "contexts": ["system"]} | FAST
    found = assay(metassay.read(frame, task="mt"), **asked).pairs.frame
    assert found.select("system", "worse_system").rows() == [("a", "c"), ("c", "b")]
