"""Data sets with human scores and scores of many metrics, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.stats.arrays import BoolArray, FloatArray, LongArray

WMT = {"wmt22": ("en-de", "en-ru", "zh-en"), "wmt23": ("en-de", "he-en", "zh-en")}
LEXICAL_SETS = ("wmt21 en-de", "wmt21 zh-en", "realsumm")
"""Data sets without official metric scores, for which `benchmarks/people_scores.py` scored 29 variants."""
UNINFORMED = "Random-sysname"
"""An official metric that knows the name of the system and nothing else. It is left out everywhere."""

_KEY_COLUMNS = ("lp", "system", "seg_id", "mqm")
_REFERENCE_SUFFIXES = ("refA", "refB", "ref", "src")


@dataclass(frozen=True)
class ScoreSet:
    """Scores of one data set; higher is better.

    `human` is [systems, items], `metrics` [metrics, systems, items]. `documents` numbers the document of each
    item from 0. `domains` has the domain of each document, or is None.
    """

    name: str
    metric_names: tuple[str, ...]
    human: FloatArray
    metrics: FloatArray
    documents: LongArray
    domains: NDArray[np.str_] | None

    @property
    def document_count(self) -> int:
        """Number of documents, which are the independent units."""
        return int(self.documents.max()) + 1

    def restrict_to_documents(self, is_used: BoolArray) -> ScoreSet:
        """Keep the items of some documents."""
        items = is_used[self.documents]
        documents = np.unique(self.documents[items], return_inverse=True)[1].astype(np.int64)
        domains = None if self.domains is None else self.domains[is_used]
        return ScoreSet(
            self.name,
            self.metric_names,
            self.human[:, items],
            self.metrics[:, :, items],
            documents,
            domains,
        )


def load_official_set(folder: Path, year: str, language_pair: str) -> ScoreSet:
    """Load the official scores of one language pair: metrics that scored every output."""
    stem = folder / year / f"{year}_{language_pair}"
    table = pl.read_parquet(f"{stem}_metrics.parquet").sort("system", "seg_id")
    texts = pl.read_parquet(f"{stem}.parquet").select("seg_id", "domain", "doc_id").unique("seg_id")
    columns = [
        name
        for name in table.columns
        if name not in _KEY_COLUMNS and not table[name].has_nulls() and not name.startswith(UNINFORMED)
    ]
    system_count = table["system"].n_unique()
    items = table.head(table.height // system_count).select("seg_id").join(texts, on="seg_id", how="left")
    documents, document_of_item = np.unique(items["doc_id"].cast(pl.String).to_numpy(), return_inverse=True)
    first_item = np.unique(document_of_item, return_index=True)[1]
    domains = items["domain"].to_numpy()[first_item].astype(np.str_)
    scores = [table[name].cast(pl.Float64).to_numpy().reshape(system_count, -1) for name in columns]
    assert len(documents) == len(domains)
    return ScoreSet(
        f"{year} {language_pair}",
        tuple(shorten_metric_name(name) for name in columns),
        table["mqm"].cast(pl.Float64).to_numpy().reshape(system_count, -1),
        np.stack(scores),
        document_of_item.astype(np.int64),
        domains,
    )


def load_lexical_set(folder: Path, name: str) -> ScoreSet:
    """Load the scores that `benchmarks/people_scores.py` wrote for one data set."""
    arrays = np.load(folder / f"{name}.npz")
    grid = arrays["grid"]
    units = arrays["units"][grid[0]]
    return ScoreSet(
        name,
        tuple(map(str, arrays["metrics"])),
        arrays["human"][grid],
        arrays["scores"][:, grid],
        np.unique(units, return_inverse=True)[1].astype(np.int64),
        None,
    )


def shorten_metric_name(column: str) -> str:
    """Remove the name of the reference from the name of an official metric; keep it for GEMBA's prompts."""
    stem, _, suffix = column.rpartition("-")
    if suffix not in _REFERENCE_SUFFIXES:
        return column
    if column.startswith("GEMBA-") and not column.startswith("GEMBA-MQM"):
        return f"{stem}-QE" if suffix == "src" else stem
    return stem
