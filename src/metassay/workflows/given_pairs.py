"""Pairs that the user made: a table with the columns item, output and worse."""

from __future__ import annotations

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.perturbations.pairs import Pairs, PerturbationCount

# Value of the column `perturbation` where the user does not say how a pair was made.
UNNAMED_PERTURBATION = "unnamed"
EQUAL_OUTPUTS = "both sides of the pair are equal"


def drop_identical_pairs(dataset: Dataset) -> Dataset:
    """Leave out pairs whose two outputs have the same text. The data set records how many were left out."""
    return dataset.filter_rows(dataset.outputs["output"] != dataset.outputs["worse"], reason=EQUAL_OUTPUTS)


def build_output_pairs_from_user_table(dataset: Dataset) -> Pairs:
    """Build pairs for an assay from a table in which each row has an output and a worse output."""
    outputs = dataset.outputs
    perturbation = pl.lit(UNNAMED_PERTURBATION).alias("perturbation")
    if "perturbation" in outputs.columns:
        perturbation = pl.col("perturbation").fill_null(UNNAMED_PERTURBATION)
    frame = outputs.select("item", "system", perturbation, "output", "worse")
    pair_counts = dict(frame["perturbation"].value_counts().iter_rows())
    counts = {name: PerturbationCount(applied=count, pairs=count) for name, count in pair_counts.items()}
    notes = []
    distinct = outputs.select("item", "system", "output").n_unique()
    if distinct < len(dataset):
        notes.append(
            f"The {len(dataset):,} pairs contain {distinct:,} distinct outputs. Each pair counts as one "
            "output."
        )
    notes += _warn_if_reference_is_labelled_worse(outputs)
    return Pairs(frame, counts, tuple(notes), rows=np.arange(len(dataset)))


def _warn_if_reference_is_labelled_worse(outputs: pl.DataFrame) -> list[str]:
    """Return a warning if some pairs have the reference as the worse output."""
    if "references" not in outputs.columns:
        return []
    output_is_reference = pl.col("references").list.contains(pl.col("output"))
    worse_is_reference = pl.col("references").list.contains(pl.col("worse"))
    count = outputs.filter(worse_is_reference & ~output_is_reference).height
    if not count:
        return []
    note = (
        f"In {count:,} pairs the worse output is the reference. A metric that rewards similarity to "
        "the reference gets these pairs wrong."
    )
    return [note]
