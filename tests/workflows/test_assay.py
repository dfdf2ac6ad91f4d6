"""`assay` from end to end, on small data with known results and on real data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from metassay.metrics.base import Metric
from metassay.sample import get_bundled_sample_path
from metassay.workflows.assay import assay
from metassay.workflows.read import read

FAST = {"resamples": 60, "permutations": 39}


@dataclass(frozen=True)
class OutputLength(Metric):
    """Metric that counts the words of the output."""

    name: ClassVar[str] = "words"
    task: ClassVar[str] = "any"
    needs: ClassVar[frozenset[str]] = frozenset({"output"})

    def score(self, batch):
        return np.array([len(text.split()) for text in batch.output], dtype=float)


@dataclass(frozen=True)
class BagOfWords(Metric):
    """Metric that returns the share of the reference's words that the output has in any order, as ROUGE-1
    does.
    """

    name: ClassVar[str] = "bag"
    task: ClassVar[str] = "mt"

    def score(self, batch):
        pairs = zip(batch.output, batch.references)
        return np.array(
            [sum((Counter(o.split()) & Counter(r[0].split())).values()) for o, r in pairs], dtype=float
        )


@pytest.fixture(scope="module")
def result():
    metrics = [OutputLength(), BagOfWords(), "chrf"]
    dataset = read(get_bundled_sample_path("mt"))
    return assay(dataset, metrics=metrics, perturbations="removal,insertion,swapping", **FAST).to_dict()


def by_method(result, metric: str) -> dict[str, float]:
    return next(row["by_method"] for row in result["confounding"] if row["metric"] == metric)


def test_length_is_always_right_on_removal_and_never_on_insertion(result) -> None:
    assert by_method(result, "words")["removal"] == 1
    assert by_method(result, "words")["insertion"] == 0
    assert by_method(result, "words")["swapping"] == 0


def test_bag_of_words_metric_ties_on_swapped_words(result) -> None:
    assert by_method(result, "bag")["swapping"] == 0


def test_sentinels_are_reported_but_never_ranked(result) -> None:
    asked = {"words", "bag", "chrf"}
    assert {row["metric"] for row in result["global"]} == asked
    assert {"random", "constant", "random_per_system", "length"} == {
        row["metric"] for row in result["sentinels"]
    }
    for entries in result["recommendation"].values():
        for entry in entries.values():
            assert set(entry["metrics"]) <= asked


def test_macro_accuracy_equals_a_count_by_hand(tmp_path) -> None:
    """Two items, one with two systems. Items have the same weight, whatever their number of pairs."""
    (tmp_path / "t.csv").write_text(
        "id,system,hyp,ref\n1,a,one two three,one two three\n1,b,one two four,one two three\n2,a,x y z,p q r\n"
    )
    found = assay(
        tmp_path / "t.csv", metrics=[BagOfWords()], perturbations="removal", contexts=["system"], **FAST
    )
    pairs = found.pairs.frame.with_columns(
        right=pl.struct("item", "output", "worse").map_elements(
            lambda row: _bag(row["output"], row["item"]) > _bag(row["worse"], row["item"]),
            return_dtype=pl.Boolean,
        )
    )
    expected = pairs.group_by("item").agg(pl.col("right").mean())["right"].mean()
    assert found.to_dict()["global"][0]["accuracy"] == pytest.approx(expected)
    assert found.to_dict()["global"][0]["micro"] == pytest.approx(pairs["right"].mean())


def _bag(text: str, item: str) -> int:
    reference = {"1": "one two three", "2": "p q r"}[item]
    return sum((Counter(text.split()) & Counter(reference.split())).values())


def test_same_bytes_on_any_workers_and_row_order(tmp_path) -> None:
    shuffled = pl.read_parquet(get_bundled_sample_path("mt")).sample(fraction=1.0, shuffle=True, seed=3)
    shuffled.write_parquet(tmp_path / "shuffled.parquet")
    options = {
        "metrics": "bleu,chrf",
        "contexts": ["system", "domain"],
        "perturbations": "removal,swapping",
        "seed": 1,
    }
    assay(read(get_bundled_sample_path("mt")), out=tmp_path / "one", workers=2, **options, **FAST)
    assay(read(tmp_path / "shuffled.parquet"), out=tmp_path / "two", workers=1, **options, **FAST)
    names = sorted(f.relative_to(tmp_path / "one") for f in (tmp_path / "one").rglob("*") if f.is_file())
    assert len(names) > 8
    for name in names:
        if name.name != "timings.json":
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_another_seed_gives_other_pairs() -> None:
    dataset = read(get_bundled_sample_path("mt"), systems=None)
    one, two = (
        assay(dataset, metrics="chrf", perturbations="removal", seed=seed, **FAST).pairs.frame["worse"]
        for seed in (1, 2)
    )
    assert (one != two).any()


def test_wmt22_english_german(real_data) -> None:
    path = real_data("wmt22/wmt22_en-de.parquet")
    found = assay(
        read(path, task="mt"), metrics="bleu,chrf", contexts=["system", "domain"],
        perturbations="removal,insertion,swapping", seed=1, **FAST,
    ).to_dict()  # fmt: skip
    assert found["left_out"] == {"system is its own reference": 1315}
    assert any("refA" in note for note in found["notes"])
    systems = {row["context"] for row in found["contexts"]["system"]["local_accuracy"]}
    assert "refA" not in systems
    assert "refB" in systems
    assert {row["dof"] for row in found["contexts"]["system"]["h1"]} == {9}
    assert {row["dof"] for row in found["contexts"]["domain"]["h1"]} == {3}


def test_references_scored_as_a_system_make_h1_significant(real_data) -> None:
    dataset = read(real_data("wmt22/wmt22_en-de.parquet"))
    options = {
        "metrics": "bleu",
        "contexts": ["system"],
        "perturbations": "removal,insertion,swapping",
        **FAST,
    }
    without = assay(dataset, **options).to_dict()["contexts"]["system"]["h1"][0]
    with_it = assay(dataset, keep_references=True, **options).to_dict()["contexts"]["system"]["h1"][0]
    assert with_it["dof"] == 10
    assert with_it["chi2"] > 500
    assert without["chi2"] < 40
    assert with_it["p"] < 1e-50
    assert without["p"] > 1e-3


def test_normalised_transcripts_have_few_ties(real_data) -> None:
    dataset = read(real_data("asr/asr_librispeech_test_clean.parquet"), task="asr")
    options = {
        "metrics": "wer",
        "contexts": ["system"],
        "perturbations": "removal,insertion,swapping",
        **FAST,
    }
    assert assay(dataset, **options).to_dict()["global"][0]["ties"] < 0.10
    raw = assay(dataset, normalize="none", **options).to_dict()
    assert raw["global"][0]["ties"] > 0.5
    assert any("upper case" in note or "case" in note for note in raw["notes"])
