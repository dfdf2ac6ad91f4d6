"""What the package bert-score ships: the layer of each model to use, and baselines for rescaling."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path
from typing import NamedTuple

from metassay.errors import InputError, InputLocation

# The layer that bert-score chose for each model, by agreement with human scores on WMT16.
BEST_LAYERS = {
    "roberta-large": 17,
    "roberta-base": 10,
    "xlm-roberta-large": 17,
    "xlm-roberta-base": 9,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9,
    "bert-base-turkish-cased": 10,
    "scibert_scivocab_uncased": 8,
    "bart-base": 6,
    "bart-large": 10,
    "bart-large-cnn": 10,
    "bart-large-mnli": 11,
    "deberta-base": 9,
    "deberta-base-mnli": 9,
    "deberta-large": 16,
    "deberta-large-mnli": 18,
    "deberta-xlarge": 18,
    "deberta-xlarge-mnli": 40,
    "deberta-v2-xlarge": 10,
    "deberta-v2-xlarge-mnli": 17,
    "deberta-v2-xxlarge": 21,
    "deberta-v2-xxlarge-mnli": 22,
    "deberta-v3-xsmall": 10,
    "deberta-v3-small": 4,
    "deberta-v3-base": 9,
    "deberta-v3-large": 12,
    "mdeberta-v3-base": 10,
}


class Baseline(NamedTuple):
    """The BERTScore of unrelated sentences. Rescaling maps this score to 0."""

    precision: float
    recall: float
    f1: float


def read_bertscore_baseline(model: str, layer: int, table: str) -> Baseline:
    """Read the scores of unrelated sentences for a model and layer, from a file or from the package
    bert-score.
    """
    file = Path(table)
    if not file.is_file():
        file = _find_baseline_table(model, table)
    if not file.is_file():
        raise InputError(
            f"bert-score has no baseline of {model} for {table}.", location=InputLocation(file=str(file))
        )
    with file.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if int(row["LAYER"]) == layer:
                return Baseline(float(row["P"]), float(row["R"]), float(row["F"]))
    raise InputError(f"there is no row of layer {layer}.", location=InputLocation(file=str(file)))


def _find_baseline_table(model: str, language: str) -> Path:
    """Find the file in the package bert-score with the scores of unrelated sentences, for a model and
    language.
    """
    package = importlib.util.find_spec("bert_score")
    if package is None or package.origin is None:
        raise InputError(
            "rescaling needs the baselines in the package bert-score, which is not installed.",
            remedy="Install it with: pip install --no-deps bert-score",
        )
    folder = Path(package.origin).parent / "rescale_baseline" / language
    full_name = folder / f"{model}.tsv"
    return full_name if full_name.is_file() else folder / f"{Path(model).name}.tsv"
