"""What a run keeps of pairs for whoever looks through them: what each metric said, and which a page shows.

What was put away of pairs that were judged shard by shard is read from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from rapidfuzz.distance import Levenshtein

from metassay.data.memory import map_table
from metassay.meta.contexts.pair_outcomes import RIGHT, OutcomeArray
from metassay.meta.contexts.perturbation_validity import EditDistances
from metassay.stats.arrays import FloatArray, LongArray
from metassay.workflows.pair_table import PAIR_KEY

if TYPE_CHECKING:
    from metassay.data.context import Context
    from metassay.data.dataset import Dataset
    from metassay.metrics.base import Metric
    from metassay.perturbations.pairs import Pairs
    from metassay.workflows.pair_scoring import JudgedPairs


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
        columns.append(labels.gather(codes.set(codes < 0, None)).alias(f"context/{context.name}"))
    for name in dataset.human:
        columns.append(outputs[name].gather(rows).cast(pl.Float64).alias(f"human/{name}"))
        if "worse_system" in frame.columns:
            columns.append(_of_worse(frame, outputs, name))
    for number, metric in enumerate(judged.outcomes.metrics):
        sign = next((-1.0 for m in metrics if m.spec == metric and not m.higher_is_better), 1.0)
        better, worse = judged.better[number, chosen], judged.worse[number, chosen]
        said = pl.Series(f"outcome/{metric}", judged.outcomes.outcomes[number, chosen].astype(np.int8))
        numbers = {"score": sign * better, "worse_score": sign * worse, "margin": better - worse}
        columns.append(said.set(said == -2, None))
        columns += [pl.Series(f"{kind}/{metric}", array).fill_nan(None) for kind, array in numbers.items()]
    return pl.DataFrame(columns)


_SYSTEMS = ("system", "perturbation", "worse_system")


def _coded(names: pl.Series, known: Sequence[str] | None) -> pl.Series:
    return names.cast(pl.Enum(names.unique().drop_nulls().sort() if known is None else known))


def judgements_frame(judged: JudgedPairs) -> pl.DataFrame:
    """What each metric said of each pair: 1 right, 0 tie, −1 wrong, null undefined; one column per metric."""
    outcomes = {
        metric: pl.Series(metric, outcome).cast(pl.Int8).replace(-2, None)
        for metric, outcome in zip(judged.outcomes.metrics, judged.outcomes.outcomes)
    }
    chosen = pl.Series("sampled", judged.sampled)
    return judged.pairs.frame.select(PAIR_KEY).with_columns(chosen, *outcomes.values())


def _of_worse(pairs: pl.DataFrame, outputs: pl.DataFrame, name: str) -> pl.Series:
    """The human score of the worse side, where that is an output too."""
    sides = pairs.select("item", pl.col("worse_system").cast(pl.String).alias("system"))
    scores = outputs.select("item", "system", pl.col(name).cast(pl.Float64))
    return sides.join(scores, on=["item", "system"], how="left", maintain_order="left")[name].alias(
        f"human_worse/{name}"
    )


MOST = 3000
"""Pairs that a page holds."""


@dataclass(frozen=True)
class Widest:
    """Pairs that some metric got wrong, the widest margins of each; scores are [metrics, these pairs]."""

    places: LongArray
    """Which of all pairs they are, ascending."""
    better: FloatArray
    worse: FloatArray
    outcome: OutcomeArray

    def orders(self, metrics: int) -> list[LongArray]:
        """For each of the first metrics, which of these it got wrong, the widest margin first."""
        margins = self.worse - self.better
        wrong = (self.outcome < RIGHT) & ~np.isnan(margins)
        return [
            np.flatnonzero(own)[np.argsort(-margin[own], kind="stable")][:MOST]
            for own, margin in zip(wrong[:metrics], margins)
        ]

    def kept(self, metrics: int) -> Widest:
        """Those that are among the widest of some metric."""
        some = np.unique(np.concatenate([np.empty(0, np.int64), *self.orders(metrics)]))
        return Widest(self.places[some], self.better[:, some], self.worse[:, some], self.outcome[:, some])

    def beside(self, other: Widest) -> Widest:
        """Both; the other's places are larger."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in vars(self))
        return Widest(*(np.concatenate(both, axis=-1) for both in pairs))


@dataclass(frozen=True)
class Aside:
    """What was put away of pairs that were judged shard by shard."""

    widest: Widest
    differences: Mapping[str, list[float]]
    """By method, `differences_by_method`."""
    files: Mapping[str, list[Path]]
    """By name, the tables of the shards; they last until the run is finished."""
    every: Sequence[pl.DataFrame]
    """The pairs of the shards, mapped: they can be read as long as anyone holds them."""
    edited: Sequence[pl.DataFrame]
    """Distance and share of the sampled ones, likewise."""

    @property
    def edits(self) -> EditDistances:
        """Of the sampled pairs."""
        characters = np.concatenate([part["characters"] for part in self.edited])
        return EditDistances(characters, np.concatenate([part["share"] for part in self.edited]))

    def tables(self) -> dict[str, list[pl.DataFrame]]:
        """The tables of all shards, mapped."""
        return {name: [map_table(file) for file in files] for name, files in self.files.items()}


BUDGET = 1_200_000
"""Characters of pairs that a page holds."""
LONGEST, DOCUMENTS = 400, 12
"""Longer texts are no pleasure to compare by eye, nor longer lists."""
LOOKED_AT = 2000
"""So many pairs tell how many labels are doubtful."""


def _texts(judged: JudgedPairs, places: LongArray) -> pl.DataFrame:
    """Some pairs, in ascending order; shard by shard, since a table in many pieces would be copied first."""
    if judged.aside is None:
        return judged.pairs.frame[places]
    found, first = [], 0
    for frame in judged.aside.every:
        own = places[(places >= first) & (places < first + frame.height)]
        found.append(frame[own - first])
        first += frame.height
    return pl.concat(found)


def wrong_pairs(
    dataset: Dataset, metrics: Sequence[Metric], judged: JudgedPairs, contexts: Sequence[Context]
) -> dict[str, Any]:
    """Pairs that some metric got wrong: the widest margins first, of each metric in turn, to fill a page.

    Copies that come nearer to a reference than their output are `doubtful` and stand last; how many of all
    pairs are is estimated on pairs evenly spaced over all of them.
    """
    every = np.arange(len(judged.rows)), judged.better, judged.worse, judged.outcomes.outcomes
    wide = (Widest(*every) if judged.aside is None else judged.aside.widest).kept(len(metrics))
    orders = wide.orders(len(metrics))
    turns = [order[turn] for turn in range(MOST) for order in orders if turn < len(order)]
    chosen = list(dict.fromkeys(int(pair) for pair in turns))[:MOST]
    places = judged.rows[wide.places[np.array(chosen, dtype=np.int64)]]
    beside = [name for name in ("source", "references") if name in dataset.outputs.columns]
    known = dataset.outputs.select(beside)[places].rows(named=True) if beside else [{}] * len(chosen)
    texts = _texts(judged, wide.places)[chosen].rows(named=True)
    judgements = _judgements(metrics, wide, chosen)
    rows, left = [], BUDGET
    for n, place in enumerate(places.tolist()):
        if left < 0:
            break
        row = _readable(dataset, texts[n], known[n], place, contexts)
        if row is not None:
            row["judgements"] = judgements[n]
            left -= len(str(row))
            rows.append(row)
    return {"pairs": sorted(rows, key=lambda row: bool(row["doubtful"])), **_doubtful(dataset, judged)}


def _judgements(metrics: Sequence[Metric], wide: Widest, chosen: Sequence[int]) -> list[dict[str, list[Any]]]:
    """Of each pair chosen, by metric: both scores as the metric gives them, and what they say."""
    found: list[dict[str, list[Any]]] = [{} for _ in chosen]
    for m, metric in enumerate(metrics):
        spec, sign = metric.spec, 1.0 if metric.higher_is_better else -1.0
        better, worse = (sign * side[m, chosen] for side in (wide.better, wide.worse))
        known = (~np.isnan(worse - better)).tolist()
        said = zip(found, known, better.tolist(), worse.tolist(), wide.outcome[m, chosen].tolist())
        for own, is_known, *scores in said:
            if is_known:
                own[spec] = scores
    return found


def _readable(
    dataset: Dataset, row: dict[str, Any], output: Mapping[str, Any], place: int, contexts: Sequence[Context]
) -> dict[str, Any] | None:
    """A pair with what is known of its output; of two rankings the first places, with their grades."""
    labels = {
        c.name: c.values[c.codes[place]] for c in contexts if c.name != "system" and c.codes[place] >= 0
    }
    row |= {"contexts": labels, "doubtful": False}
    if dataset.task_definition.is_ranking:
        sides = {side: list(row[side])[:DOCUMENTS] for side in ("output", "worse")}
        return row | sides | {"grades": _grades(dataset, row["item"], {*sides["output"], *sides["worse"]})}
    if max(len(row["output"]), len(row["worse"])) > LONGEST:
        return None
    row |= {"source": output.get("source"), "references": output.get("references") or []}
    return row | {"doubtful": _is_nearer(row["output"], row["worse"], row["references"])}


def _grades(dataset: Dataset, item: str, documents: set[str]) -> dict[str, int]:
    """What people judged of these documents."""
    if dataset.qrels is None:
        return {}
    own = dataset.qrels.filter((pl.col("item") == item) & pl.col("document").is_in(list(documents)))
    return dict(zip(own["document"].to_list(), own["grade"].to_list()))


def _is_nearer(output: str, worse: str, references: Sequence[str]) -> bool:
    """Whether the worse text is fewer words away from a reference than the output is from any."""
    if not references:
        return False
    goals = [reference.split() for reference in references]
    kept, made = (
        min(Levenshtein.distance(words, goal) for goal in goals) for words in (output.split(), worse.split())
    )
    return made < kept


def _doubtful(dataset: Dataset, judged: JudgedPairs) -> dict[str, int]:
    """Of how many pairs looked at the label is doubtful."""
    if (
        dataset.task_definition.is_ranking
        or "references" not in dataset.outputs.columns
        or not len(judged.rows)
    ):
        return {}
    some = np.unique(np.linspace(0, len(judged.rows) - 1, num=LOOKED_AT).astype(np.int64))
    references = dataset.outputs["references"].gather(judged.rows[some])
    sides = _texts(judged, some).select("output", "worse").rows()
    found = sum(_is_nearer(one, two, own) for (one, two), own in zip(sides, references.to_list()))
    return {"looked_at": len(some), "doubtful": found}
