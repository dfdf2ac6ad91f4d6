"""Metrics that know only names of systems, lengths or positions never come first on real data.

Six such metrics are added to every data set: the mean human score of each system (the best that a name can
say), the number of the item, the number of the row, words, characters and the ratio of lengths. Fast tests
use the first 60 items, slow ones all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import metassay
from metassay.errors import InputError
from metassay.results.verdict import Claim

pytestmark = pytest.mark.real_data

UNINFORMED = ("by_name", "by_item", "by_row", "by_words", "by_characters", "by_ratio")
FAST_ITEMS = 60
SIZES = [FAST_ITEMS, pytest.param(None, marks=pytest.mark.slow)]


@dataclass(frozen=True)
class RatedData:
    """A shared data set with human scores, and metric scores where `metrics` names a file of them."""

    path: str
    human: str
    metrics: str | None = None
    contexts: tuple[str, ...] = ()
    computed: str = "bleu,chrf"
    """Metrics to compute from the texts where the data has no metric scores."""


def name_wmt(year: int, pair: str, *, metrics: bool, contexts: tuple[str, ...] = ("domain",)) -> RatedData:
    path = f"wmt{year}/wmt{year}_{pair}"
    return RatedData(f"{path}.parquet", "mqm", f"{path}_metrics.parquet" if metrics else None, contexts)


RATED = {
    "WMT21 en-de": name_wmt(21, "en-de", metrics=False),
    "WMT21 zh-en": name_wmt(21, "zh-en", metrics=False),
    "WMT22 en-de": name_wmt(22, "en-de", metrics=True),
    "WMT22 zh-en": name_wmt(22, "zh-en", metrics=True),
    "WMT22 en-ru": name_wmt(22, "en-ru", metrics=True),
    "WMT23 en-de": name_wmt(23, "en-de", metrics=True),
    "WMT23 he-en": name_wmt(23, "he-en", metrics=True),
    "WMT23 zh-en": name_wmt(23, "zh-en", metrics=True),
    "REALSumm": RatedData("text/realsumm.parquet", "litepyramid_recall", computed="rouge1,rougel"),
    "mt-metrics-eval": RatedData("mt-metrics-eval-v2/wmt23", "mqm", contexts=("domain",)),
}
WITHOUT_HUMAN_SCORES = {
    "LibriSpeech": ("asr/asr_librispeech_test_clean.parquet", "asr"),
    "Common Voice": ("asr/asr_commonvoice_en_test.parquet", "asr"),
}


FAST_NAMES = ("WMT21 en-de", "WMT22 en-ru", "WMT23 en-de", "REALSumm", "mt-metrics-eval")
CASES = [
    *[pytest.param(name, FAST_ITEMS, id=f"{name}, {FAST_ITEMS} items") for name in FAST_NAMES],
    *[pytest.param(name, None, marks=pytest.mark.slow, id=name) for name in RATED],
]


@dataclass(frozen=True)
class Prepared:
    """A table with the six metrics, the other metrics to compare them with, and the columns of contexts."""

    table: pl.DataFrame
    human: str
    metrics: list[str]
    contexts: tuple[str, ...]


def find_column(table: pl.DataFrame, *names: str) -> str:
    return next(name for name in names if name in table.columns)


def add_uninformed_metrics(table: pl.DataFrame, human: str | None) -> pl.DataFrame:
    """Add the six metrics to a table with the columns item or seg_id, system, output or hyp, and ref."""
    item = find_column(table, "item", "seg_id", "utt_id")
    output = pl.col(find_column(table, "output", "hyp"))
    by_name = pl.col("system").rank("dense") if human is None else pl.col(human).mean().over("system")
    return table.sort("system", item).with_columns(
        by_name=by_name.cast(pl.Float64),
        by_item=pl.col(item).rank("dense").cast(pl.Float64),
        by_row=pl.int_range(pl.len()).cast(pl.Float64),
        by_words=output.str.count_matches(r"\S+").cast(pl.Float64),
        by_characters=-output.str.len_chars().cast(pl.Float64),
        by_ratio=output.str.count_matches(r"\S+") / (1 + pl.col("ref").str.count_matches(r"\S+")),
    )


def keep_first_items(table: pl.DataFrame, count: int | None) -> pl.DataFrame:
    if count is None:
        return table
    item = find_column(table, "item", "seg_id", "utt_id")
    items = table[item].unique().sort().head(count)
    return table.filter(pl.col(item).is_in(items.implode()))


def read_tree(path: Path) -> pl.DataFrame:
    """Read a tree of mt-metrics-eval: the outputs of all systems with human and metric scores."""
    dataset = metassay.read(path)
    table = dataset.outputs.with_columns(
        ref=pl.col("references").list.first(), item=pl.col("item").str.split("/").list.last()
    )
    return table.drop("references")


@pytest.fixture(scope="module")
def prepare(real_data) -> Callable[[str, int | None], Prepared]:
    """A function that reads a data set, with all items or the first ones, once for all tests."""
    prepared: dict[tuple[str, int | None], Prepared] = {}

    def read(name: str, item_count: int | None) -> Prepared:
        if (name, item_count) not in prepared:
            prepared[name, item_count] = _prepare(RATED[name], item_count, real_data)
        return prepared[name, item_count]

    return read


def _prepare(rated: RatedData, item_count: int | None, real_data: Callable[[str], Path]) -> Prepared:
    path = real_data(rated.path)
    table = read_tree(path) if path.is_dir() else pl.read_parquet(path)
    metrics = rated.computed.split(",")
    if path.is_dir():
        metrics = ["bleu", "chrf"]
    if rated.metrics is not None:
        scores = pl.read_parquet(real_data(rated.metrics)).drop("mqm")
        metrics = [name for name in scores.columns if name not in ("lp", "system", "seg_id")]
        table = table.join(scores, on=["lp", "system", "seg_id"], how="inner")
        if item_count is not None:
            metrics = metrics[::8]
    table = table.filter(pl.col(rated.human).is_not_null())
    if "is_human" in table.columns:
        table = table.filter(~pl.col("is_human"))
    output = find_column(table, "output", "hyp")
    table = keep_first_items(table.filter(pl.col(output).is_not_null()), item_count)
    table = add_uninformed_metrics(table, rated.human)
    contexts = tuple(name for name in rated.contexts if table[name].n_unique() > 1)
    return Prepared(table, rated.human, metrics, contexts)


def list_named_metrics(verdict: list[Claim]) -> Iterator[str]:
    """List the metrics that a verdict tells the user to use, and those that it calls best or tied."""
    for claim in verdict:
        if claim.kind in ("use", "answer"):
            yield from claim.metrics


def list_constant_metrics(data: Prepared) -> set[str]:
    """List the official metric of names, and metrics that give all of few outputs the same score."""
    columns = [name for name in data.metrics if name in data.table.columns]
    constant = {name for name in columns if data.table[name].drop_nulls().n_unique() == 1}
    return {"Random-sysname-src", *constant}


@pytest.mark.parametrize(("name", "item_count"), CASES)
def test_rank(name, item_count, prepare):
    data = prepare(name, item_count)
    result = metassay.rank(
        data.table,
        human=data.human,
        metrics=[*data.metrics, *UNINFORMED],
        context=data.contexts,
        meta="spa,pa,acc_eq,labels_saved,pearson,kendall:item",
        significance="none",
        minimum_segments=10,
    )
    for ranking in result.rankings:
        marked = {metric.metric for metric in ranking.metrics if metric.uninformed}
        assert marked >= set(UNINFORMED)
        assert marked - set(UNINFORMED) <= list_constant_metrics(data)
        assert not {metric.metric for metric in ranking.defined_metrics} & set(UNINFORMED)
    assert not set(list_named_metrics(result.verdict)) & set(UNINFORMED)
    assert result.verdict


@pytest.mark.parametrize(("name", "item_count"), CASES)
def test_depend(name, item_count, prepare):
    data = prepare(name, item_count)
    result = metassay.depend(
        data.table,
        human=data.human,
        metrics=[*data.metrics, *UNINFORMED],
        context=data.contexts,
        bootstraps=3,
        draws=9,
    )
    assert result.metrics
    for entry in result.metrics:
        assert entry.uninformed or entry.metric not in UNINFORMED
    assert not set(list_named_metrics(result.verdict)) & set(UNINFORMED)


@pytest.mark.parametrize(("name", "item_count"), CASES)
def test_estimate_and_annotate(name, item_count, prepare):
    data = prepare(name, item_count)
    item = find_column(data.table, "item", "seg_id")
    is_labelled = pl.col(item).rank("dense") % 3 == 0
    table = data.table.with_columns(pl.when(is_labelled).then(data.human).alias(data.human))
    options = {"human": data.human, "metrics": [*data.metrics, *UNINFORMED]}
    result = metassay.estimate(table, resamples=100, **options)
    assert result.metric not in UNINFORMED
    assert not {candidate.metric for candidate in result.candidates} & set(UNINFORMED)
    chosen = metassay.annotate(table, count=30, **options)
    without = metassay.annotate(table, count=30, **(options | {"metrics": data.metrics}))
    assert chosen.items == without.items


def by_words(output):
    return len(output.split())


def by_characters(output):
    return -len(output)


def by_ratio(output, reference):
    return len(output.split()) / (1 + len(reference.split()))


def by_item(_output, item):
    return float(sum(map(ord, item)))


def make_metric_of_names(scores: dict[str, float]) -> Callable[[str, str], float]:
    def by_name(_output, system):
        return scores[system]

    return by_name


def assay_with_uninformed_metrics(
    dataset: Any, metrics: str, scores_of_systems: dict[str, float], out: Path, **options: Any
) -> None:
    """Run an assay and `recommend`, and check that none of the metrics is named first in any context."""
    by_name = make_metric_of_names(scores_of_systems)
    functions = [by_words, by_characters, by_ratio, by_item, by_name]
    result = metassay.assay(
        dataset,
        metrics=[*metrics.split(","), *functions],
        out=out,
        resamples=50,
        permutations=19,
        minimum_items=5,
        **options,
    )
    preferred = {"mine": dict.fromkeys(["by_name", "by_words"], 1.0)}
    by_criterion = metassay.recommend(out, criteria=preferred)
    for source in (result.content, metassay.recommend(out), by_criterion):
        for recommendations in source.recommendation.values():
            for entry in recommendations.values():
                assert entry.metrics[0] not in UNINFORMED
                assert entry.choice not in UNINFORMED
                assert entry.robust_choice not in UNINFORMED
        if source.answer is not None:
            named = {source.answer.metric, *(row.metric for row in source.answer.exceptions)}
            assert not named & set(UNINFORMED)
        assert not set(list_named_metrics(source.verdict)) & set(UNINFORMED)


@pytest.mark.parametrize("pairs", ["perturbed", "human"])
@pytest.mark.parametrize(("name", "item_count"), CASES)
def test_assay_and_recommend(name, item_count, pairs, prepare, tmp_path):
    data = prepare(name, item_count)
    if item_count is not None:  # six systems are enough for a fast test
        systems = data.table["system"].unique().sort().head(6)
        data = Prepared(
            data.table.filter(pl.col("system").is_in(systems.implode())),
            data.human,
            data.metrics,
            data.contexts,
        )
    kept = [name for name in data.table.columns if name not in {*data.metrics, *UNINFORMED, "da_sqm"}]
    dataset = metassay.read(data.table.select(kept))
    means = data.table.group_by("system").agg(pl.col(data.human).mean())
    assay_with_uninformed_metrics(
        dataset,
        "rouge1,rougel" if name == "REALSumm" else "bleu,chrf",
        dict(means.iter_rows()),
        tmp_path / "run",
        pairs=pairs,
        human=data.human,
        contexts=["system", *data.contexts],
    )


@pytest.mark.parametrize("item_count", SIZES)
@pytest.mark.parametrize("name", WITHOUT_HUMAN_SCORES)
def test_assay_of_speech(name, item_count, real_data, tmp_path):
    path, task = WITHOUT_HUMAN_SCORES[name]
    table = pl.read_parquet(real_data(path))
    dataset = metassay.read(keep_first_items(table, item_count), task=task, references="per-output")
    systems = dataset.outputs["system"].unique().sort()
    scores_of_systems = {system: float(number) for number, system in enumerate(systems)}
    assay_with_uninformed_metrics(
        dataset, "wer,cer", scores_of_systems, tmp_path / "run", contexts=["system"]
    )


@pytest.mark.parametrize("item_count", SIZES)
def test_assay_of_the_pairs_of_demetr(item_count, real_data, tmp_path):
    """The outputs of all pairs have one system; a longer output is the better one of most pairs."""
    file = real_data("challenge/demetr.parquet")
    if item_count is not None:
        file = tmp_path / "pairs.parquet"
        pairs = pl.read_parquet(real_data("challenge/demetr.parquet"))
        pairs.filter(pl.col("item").cast(pl.Int64) % 16 == 1).write_parquet(file)
    dataset = metassay.read(file, pairs=True, task="mt", language="en")
    systems = dataset.outputs["system"].unique().sort()
    scores_of_systems = {system: float(number) for number, system in enumerate(systems)}
    assay_with_uninformed_metrics(
        dataset, "bleu,chrf", scores_of_systems, tmp_path / "run", contexts=["perturbation", "language"]
    )


def by_documents(output):
    return float(len(output))


def by_topic(_output, item):
    return float(item)


@pytest.mark.parametrize("run_count", [6, pytest.param(None, marks=pytest.mark.slow)])
def test_assay_of_rankings(run_count, real_data, tmp_path):
    """Lists differ in length and come from runs; neither says whether a document is relevant."""
    dataset = metassay.read(
        real_data("trec_covid/runs_top100.parquet"), qrels=real_data("trec_covid/qrels-round1.txt")
    )
    if run_count is not None:
        runs = dataset.outputs["system"].unique().sort().head(run_count)
        dataset = dataset.filter_rows(dataset.outputs["system"].is_in(runs.implode()), reason="fewer runs")
    systems = dataset.outputs["system"].unique().sort()
    by_name = make_metric_of_names({system: float(number) for number, system in enumerate(systems)})
    result = metassay.assay(
        dataset,
        metrics=["ap", "ndcg", by_documents, by_topic, by_name],
        out=tmp_path / "run",
        contexts=["system"],
        resamples=50,
        permutations=19,
    )
    recommended = metassay.recommend(tmp_path / "run").recommendation
    for entry in [*result.content.recommendation["system"].values(), *recommended["system"].values()]:
        assert entry.metrics[0] in ("ap", "ndcg")
        assert entry.choice in ("ap", "ndcg")


def test_judges_that_know_only_position_or_length(real_data):
    """No judge that always prefers one position, the longer output or one answer is to be used."""
    pairs = pl.read_parquet(real_data("judges/llmbar_pairs.parquet"))
    verdicts = pl.read_parquet(real_data("judges/llmbar_verdicts.parquet"))
    orders = verdicts.filter(pl.col("judge") == "GPT-4").join(pairs, on="item")
    is_first_longer = pl.col("output_1").str.len_chars() >= pl.col("output_2").str.len_chars()
    winners = {
        "first shown": pl.when("swapped").then(2).otherwise(1),
        "always output 1": pl.lit(1),
        "longer": pl.when(is_first_longer).then(1).otherwise(2),
        "shorter": pl.when(is_first_longer).then(2).otherwise(1),
    }
    added = [
        orders.with_columns(judge=pl.lit(judge), winner=winner.cast(pl.Int64)).select(verdicts.columns)
        for judge, winner in winners.items()
    ]
    table = pl.concat([verdicts, *added])
    result = metassay.judge(table.join(pairs, on="item"), context="subset")
    assert result.judges
    assert [claim.kind for claim in result.verdict[:1]] == ["use"]
    assert not set(list_named_metrics(result.verdict)) & set(winners)


def test_aggregate_refuses_metrics_without_statistics(real_data):
    """Only metrics of texts can be aggregated, so that none of the six can come first."""
    table = pl.read_parquet(real_data("wmt23/wmt23_en-de.parquet")).head(200)
    for metric in (by_words, "length", "random_per_system"):
        with pytest.raises(InputError, match="no sufficient statistics"):
            metassay.aggregate(table, metrics=["bleu", metric])
