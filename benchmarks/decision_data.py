"""Data with human scores for all outputs, from which the benchmarks of decisions hide most.

The data is read from METASSAY_DATA or ../shared/data.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

import metassay
from metassay.meta.decisions.labelled_scores import LabelledScores
from metassay.stats.arrays import FloatArray, LongArray, convert_labels_to_integers

ROOT = Path(os.environ.get("METASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
WMT = {
    "WMT21 en-de": ("bleu", "chrf"),
    "WMT21 zh-en": ("bleu", "chrf"),
    "WMT22 en-de": ("SEScoreX-ref", "GEMBA-GPT4-DA-refA", "GEMBA-Dav3-DA-refA", "chrF"),
    "WMT22 en-ru": ("SEScoreX-ref", "GEMBA-GPT4-DA-refA", "GEMBA-Dav3-DA-refA", "chrF"),
    "WMT22 zh-en": ("SEScoreX-ref", "GEMBA-GPT4-DA-refA", "GEMBA-Dav3-DA-refA", "chrF"),
    "WMT23 en-de": ("XCOMET-Ensemble-refA", "MetricX-23-QE-b-src", "COMET-refA", "chrF-refA", "BLEU-refA"),
    "WMT23 he-en": ("XCOMET-Ensemble-refB", "MetricX-23-QE-b-src", "COMET-refB", "chrF-refB", "BLEU-refB"),
    "WMT23 zh-en": ("XCOMET-Ensemble-refA", "MetricX-23-QE-b-src", "COMET-refA", "chrF-refA", "BLEU-refA"),
}
"""Some metrics of each data set, good and bad. WMT21 has no metric scores: lexical ones are computed."""
REALSUMM = "REALSumm"
SIMULATED = "simulated, skewed"
LARGEST_PENALTY = 25.0
"""As in MQM, where an output that is not a translation gets 25."""


def load_population(name: str, metrics: Sequence[str] | None = None) -> LabelledScores:
    """Load outputs that are all rated. `metrics` are names of columns; the default are a few of all."""
    if name == SIMULATED:
        return simulate_skewed_scores()
    if name == REALSUMM:
        table = pl.read_parquet(ROOT / "text" / "realsumm.parquet")
        table = _score_lexically(table, "text", ["rouge1", "rouge2", "chrf"])
        return _arrange(table, "litepyramid_recall", metrics or ["rouge1", "rouge2", "chrf"])
    year, language_pair = name.lower().split()
    texts = pl.read_parquet(ROOT / year / f"{year}_{language_pair}.parquet")
    if year == "wmt21":
        texts = texts.filter(~pl.col("is_human")).rename({"seg_id": "item"}).drop("year", "lp")
        return _arrange(_score_lexically(texts, "mt", ["bleu", "chrf"]), "mqm", metrics or WMT[name])
    scores = pl.read_parquet(ROOT / year / f"{year}_{language_pair}_metrics.parquet")
    documents = texts.select("seg_id", "doc_id").unique("seg_id")
    return _arrange(scores.join(documents, on="seg_id"), "mqm", metrics or WMT[name])


def list_metrics(name: str) -> list[str]:
    """List all metrics of WMT23 data that scored every output."""
    year, language_pair = name.lower().split()
    table = pl.read_parquet(ROOT / year / f"{year}_{language_pair}_metrics.parquet")
    names = [column for column in table.columns if column not in {"lp", "system", "seg_id", "mqm"}]
    return [column for column in names if not table[column].has_nulls()]


def simulate_skewed_scores(systems: int = 10, documents: int = 200, length: int = 8) -> LabelledScores:
    """Simulate penalties that are 0 for most outputs, correlated within items and documents, and a metric."""
    generator = np.random.default_rng(0)
    items = documents * length
    document_of_item = np.repeat(np.arange(documents), length)
    difficulty = generator.normal(size=documents)[document_of_item] * 0.6 + generator.normal(size=items) * 0.6
    quality = np.linspace(-0.4, 0.4, systems)[:, None]
    severity = difficulty - quality + generator.normal(size=(systems, items))
    human = -np.minimum(3 * np.round(np.exp(np.maximum(severity - 0.5, 0)) - 1, 2), LARGEST_PENALTY)
    metric = -severity + generator.normal(size=human.shape)
    noise = generator.normal(size=human.shape)
    return LabelledScores(
        systems=tuple(f"system {number}" for number in range(systems)),
        items=tuple(map(str, range(items))),
        human=human,
        metrics={"useful": metric, "noise": noise},
        unit_of_item=document_of_item,
        unit="doc_id",
    )


def draw_by_item(scores: LabelledScores) -> LabelledScores:
    """Make single items the sampling unit."""
    return replace(scores, unit="item", unit_of_item=np.arange(len(scores.items)))


def keep_systems(scores: LabelledScores, count: int) -> LabelledScores:
    """Keep at most so many systems, evenly spaced by quality."""
    order = np.argsort(scores.human.mean(axis=1))
    positions = np.unique(np.linspace(0, len(order) - 1, min(count, len(order))).round().astype(int))
    rows = order[positions]
    return replace(
        scores,
        systems=tuple(scores.systems[row] for row in rows),
        human=scores.human[rows],
        metrics={name: metric[rows] for name, metric in scores.metrics.items()},
    )


def hide_labels(scores: LabelledScores, items: LongArray) -> LabelledScores:
    """Return the scores with labels on these items only."""
    labels = np.full(scores.human.shape, np.nan)
    labels[:, items] = scores.human[:, items]
    return replace(scores, human=labels)


def draw_labelled_items(scores: LabelledScores, count: int, generator: np.random.Generator) -> LongArray:
    """Draw so many sampling units at random, and return their items."""
    units = int(scores.unit_of_item.max()) + 1
    drawn = generator.choice(units, count, replace=False)
    return np.flatnonzero(np.isin(scores.unit_of_item, drawn))


def _score_lexically(table: pl.DataFrame, task: str, metrics: list[str]) -> pl.DataFrame:
    """Add a column with the scores of single outputs by each of these metrics."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scores.parquet"
        data = metassay.read(table, task=task)
        metassay.score(data, metrics=",".join(metrics), aggregate=["segment"], per_segment=file)
        scores = pl.read_parquet(file).pivot(on="metric", index=["item", "system"], values="score")
    return table.with_columns(pl.col("item").cast(pl.String)).join(scores, on=["item", "system"])


def _arrange(table: pl.DataFrame, human: str, metrics: Sequence[str]) -> LabelledScores:
    """Arrange a table with a row per output as arrays of systems and items."""
    item_column = "item" if "item" in table.columns else "seg_id"
    table = table.sort("system", item_column)
    systems = tuple(table["system"].unique().sort())

    def to_array(column: str) -> FloatArray:
        return table[column].cast(pl.Float64).to_numpy().reshape(len(systems), -1)

    items = table.head(table.height // len(systems))
    unit_of_item = np.arange(items.height)
    if "doc_id" in items.columns:
        unit_of_item = convert_labels_to_integers(items["doc_id"].rank("dense").to_numpy().astype(np.int64))
    return LabelledScores(
        systems=systems,
        items=tuple(items[item_column].cast(pl.String)),
        human=to_array(human),
        metrics={name: to_array(name) for name in metrics},
        unit_of_item=unit_of_item,
        unit="doc_id" if "doc_id" in items.columns else "item",
    )
