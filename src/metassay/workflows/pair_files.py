"""The tables of pairs that a run keeps for whoever looks through them: what every metric said of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from metassay.workflows.pair_table import KEY

if TYPE_CHECKING:
    from metassay.data.context import Context
    from metassay.data.dataset import Dataset
    from metassay.metrics.base import Metric
    from metassay.perturbations.pairs import Pairs
    from metassay.workflows.judging import JudgedPairs


def explorer_frame(
    dataset: Dataset,
    pairs: Pairs,
    judged: JudgedPairs,
    contexts: Sequence[Context],
    metrics: Sequence[Metric],
    names: Mapping[str, Sequence[str]] | None = None,
    first: int = 0,
) -> pl.DataFrame:
    """What `results/explorer.parquet` holds of the sampled pairs.

    Of a part of the data, `names` are the systems and methods of all of it, and `first` is its first row.
    """
    frame, outputs, chosen = pairs.frame, dataset.outputs, judged.sampled
    rows = judged.rows[chosen]
    known = names or {}
    columns = [frame["item"]]
    columns += [_coded(frame[name], known.get(name)) for name in frame.columns if name in _SYSTEMS]
    columns.append(pl.Series("output", (rows + first).astype(np.uint32)))
    for context in contexts:
        labels = pl.Series(context.values, dtype=pl.Enum(context.values))
        codes = pl.Series(context.codes[rows])
        columns.append(labels.gather(codes.set(codes < 0, None)).alias(f"in/{context.name}"))
    for name in dataset.human:
        columns.append(outputs[name].gather(rows).cast(pl.Float64).alias(f"human/{name}"))
        if "worse_system" in frame.columns:
            columns.append(_of_worse(frame, outputs, name))
    for number, metric in enumerate(judged.judgements.metrics):
        sign = next((-1.0 for m in metrics if m.spec == metric and not m.higher_is_better), 1.0)
        better, worse = judged.better[number, chosen], judged.worse[number, chosen]
        said = pl.Series(f"said/{metric}", judged.judgements.outcome[number, chosen].astype(np.int8))
        numbers = {"score": sign * better, "worse": sign * worse, "margin": better - worse}
        columns.append(said.set(said == -2, None))
        columns += [
            pl.Series(f"{kind}/{metric}", array.astype(np.float32)).fill_nan(None)
            for kind, array in numbers.items()
        ]
    return pl.DataFrame(columns)


_SYSTEMS = ("system", "perturbation", "worse_system")


def _coded(names: pl.Series, known: Sequence[str] | None) -> pl.Series:
    return names.cast(pl.Enum(names.unique().drop_nulls().sort() if known is None else known))


def judgements_frame(judged: JudgedPairs) -> pl.DataFrame:
    """What each metric said of each pair: 1 right, 0 tie, −1 wrong, null undefined; one column per metric."""
    outcomes = {
        metric: pl.Series(metric, outcome).cast(pl.Int8).replace(-2, None)
        for metric, outcome in zip(judged.judgements.metrics, judged.judgements.outcome)
    }
    chosen = pl.Series("sampled", judged.sampled)
    return judged.pairs.frame.select(KEY).with_columns(chosen, *outcomes.values())


def _of_worse(pairs: pl.DataFrame, outputs: pl.DataFrame, name: str) -> pl.Series:
    """The human score of the worse side, where that is an output too."""
    sides = pairs.select("item", pl.col("worse_system").cast(pl.String).alias("system"))
    scores = outputs.select("item", "system", pl.col(name).cast(pl.Float64))
    return sides.join(scores, on=["item", "system"], how="left", maintain_order="left")[name].alias(
        f"human_worse/{name}"
    )
