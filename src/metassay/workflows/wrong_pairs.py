"""Choose examples of pairs that metrics ordered wrongly, for the reader of a report: the largest errors of
each metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl
from rapidfuzz.distance import Levenshtein

from metassay.meta.contexts.pair_outcomes import RIGHT, OutcomeArray
from metassay.results.wrong_pairs import ScoredOutcome, WrongPair, WrongPairs
from metassay.stats.arrays import FloatArray, LongArray

if TYPE_CHECKING:
    from metassay.data.context import Context
    from metassay.data.dataset import Dataset
    from metassay.metrics.base import Metric
    from metassay.workflows.pair_scoring import ScoredPairs

# Pairs in a report.
MOST_PAIRS = 3000
# Characters of pairs in a report.
MOST_CHARACTERS = 1_200_000
# Longer texts are hard to compare by eye, so their pairs are left out.
LONGEST_TEXT = 400
SHOWN_DOCUMENTS = 12
# Pairs that are checked for doubtful labels.
CHECKED_PAIRS = 2000


@dataclass(frozen=True)
class LargestErrors:
    """The pairs for which metrics most clearly prefer the worse output.

    `positions` say which of all pairs they are, ascending; scores and outcomes are [metrics, these pairs].
    """

    positions: LongArray
    better: FloatArray
    worse: FloatArray
    outcomes: OutcomeArray

    def list_most_misordered_pairs_by_metric(self, metric_count: int) -> list[LongArray]:
        """List the pairs that each of the first `metric_count` metrics did not order correctly, the largest
        errors first.

        The pair with the largest margin comes first; ties come last. At most `MOST_PAIRS` are listed.
        """
        margins = self.worse - self.better
        # Ties count as wrong here; undefined outcomes have no margin.
        is_wrong = (self.outcomes < RIGHT) & ~np.isnan(margins)
        ranked = []
        for wrong, margin in zip(is_wrong[:metric_count], margins):
            order = np.argsort(-margin[wrong], kind="stable")
            ranked.append(np.flatnonzero(wrong)[order][:MOST_PAIRS])
        return ranked

    def keep_most_misordered_pairs(self, metric_count: int) -> LargestErrors:
        """Return only the pairs that are among the largest errors of at least one of the first `metric_count`
        metrics.
        """
        ranked = self.list_most_misordered_pairs_by_metric(metric_count)
        # `concatenate` refuses an empty list, which occurs without metrics.
        kept = np.unique(np.concatenate([np.empty(0, np.int64), *ranked]))
        return LargestErrors(
            self.positions[kept], self.better[:, kept], self.worse[:, kept], self.outcomes[:, kept]
        )

    def append_errors_of_later_pairs(self, later_errors: LargestErrors) -> LargestErrors:
        """Return these errors together with those of later pairs, whose positions are larger."""
        return LargestErrors(
            np.concatenate([self.positions, later_errors.positions]),
            np.concatenate([self.better, later_errors.better], axis=1),
            np.concatenate([self.worse, later_errors.worse], axis=1),
            np.concatenate([self.outcomes, later_errors.outcomes], axis=1),
        )


def collect_misordered_pairs(
    dataset: Dataset, metrics: Sequence[Metric], scored_pairs: ScoredPairs, contexts: Sequence[Context]
) -> WrongPairs:
    """Collect examples of pairs that metrics ordered wrongly. The largest errors of each metric are taken in
    turn.

    Pairs whose worse output comes nearer to a reference than the output are doubtful and come last; how many
    of all pairs are doubtful is estimated on pairs evenly spaced over all of them. Human pairs, in
    which people found one output worse, are never doubtful.
    """
    are_human_pairs = scored_pairs.pairs.worse_rows is not None
    errors = _find_most_misordered_pairs(scored_pairs, len(metrics))
    chosen = _take_pairs_of_each_metric_in_turn(errors.list_most_misordered_pairs_by_metric(len(metrics)))
    rows = scored_pairs.rows[errors.positions[np.array(chosen, dtype=np.int64)]].tolist()
    texts = read_pair_texts(scored_pairs, errors.positions)[chosen].rows(named=True)
    sources_and_references = _read_sources_and_references_of_rows(dataset, rows)
    metric_scores = _list_metric_scores_of_chosen_pairs(metrics, errors, chosen)
    pairs: list[WrongPair] = []
    characters_left = MOST_CHARACTERS
    for n, row in enumerate(rows):
        if characters_left < 0:
            break
        pair = _build_misordered_pair_example(
            dataset, texts[n], sources_and_references[n], row, contexts, metric_scores[n]
        )
        if pair is not None and are_human_pairs:
            pair = msgspec.structs.replace(pair, is_doubtful=False)
        if pair is not None:
            pairs.append(pair)
            characters_left -= len(str(pair))
    checked, doubtful = None, None
    if not are_human_pairs:
        checked, doubtful = _count_worse_outputs_nearer_to_reference(dataset, scored_pairs)
    return WrongPairs(
        pairs=sorted(pairs, key=lambda pair: pair.is_doubtful), checked=checked, doubtful=doubtful
    )


def _find_most_misordered_pairs(scored_pairs: ScoredPairs, metric_count: int) -> LargestErrors:
    """Find the pairs for which each of the first `metric_count` metrics most clearly prefers the worse
    output.
    """
    if scored_pairs.spilled is not None:
        return scored_pairs.spilled.largest_errors.keep_most_misordered_pairs(metric_count)
    positions = np.arange(len(scored_pairs.rows))
    errors = LargestErrors(positions, scored_pairs.better, scored_pairs.worse, scored_pairs.outcomes.outcomes)
    return errors.keep_most_misordered_pairs(metric_count)


def _take_pairs_of_each_metric_in_turn(positions_by_metric: Sequence[LongArray]) -> list[int]:
    """Merge the lists of pairs of all metrics into one list without repetition, by taking one pair of each
    list in turn.
    """
    chosen: dict[int, None] = {}
    for turn in range(MOST_PAIRS):
        for order in positions_by_metric:
            if turn < len(order):
                chosen[int(order[turn])] = None
    return list(chosen)[:MOST_PAIRS]


def read_pair_texts(scored_pairs: ScoredPairs, positions: LongArray) -> pl.DataFrame:
    """Read the texts of the pairs at the given positions, which must be in ascending order."""
    if scored_pairs.spilled is None:
        return scored_pairs.pairs.frame[positions]
    # Shard by shard: a table in many chunks would be copied first.
    tables = []
    first = 0
    for table in scored_pairs.spilled.pair_tables:
        in_shard = positions[(positions >= first) & (positions < first + table.height)]
        tables.append(table[in_shard - first])
        first += table.height
    return pl.concat(tables)


def _read_sources_and_references_of_rows(dataset: Dataset, rows: Sequence[int]) -> list[dict[str, Any]]:
    """Read the sources and references of the outputs in the given rows."""
    columns = [name for name in ("source", "references") if name in dataset.outputs.columns]
    if not columns:
        return [{} for _ in rows]
    return dataset.outputs.select(columns)[list(rows)].rows(named=True)


def _list_metric_scores_of_chosen_pairs(
    metrics: Sequence[Metric], largest_errors: LargestErrors, chosen_pairs: Sequence[int]
) -> list[dict[str, ScoredOutcome]]:
    """Return the scores that every metric gave to both outputs of each chosen pair, and whether the metric
    ordered the pair correctly.
    """
    by_pair: list[dict[str, ScoredOutcome]] = [{} for _ in chosen_pairs]
    for m, metric in enumerate(metrics):
        sign = 1.0 if metric.higher_is_better else -1.0
        better = (sign * largest_errors.better[m, chosen_pairs]).tolist()
        worse = (sign * largest_errors.worse[m, chosen_pairs]).tolist()
        outcomes = largest_errors.outcomes[m, chosen_pairs].tolist()
        for n, pair in enumerate(by_pair):
            if not np.isnan(better[n] - worse[n]):
                pair[metric.spec] = ScoredOutcome(better[n], worse[n], outcomes[n])
    return by_pair


def _build_misordered_pair_example(
    dataset: Dataset,
    pair_texts: dict[str, Any],
    source_and_references: dict[str, Any],
    row: int,
    contexts: Sequence[Context],
    scores_by_metric: dict[str, ScoredOutcome],
) -> WrongPair | None:
    """Build an example of a wrongly ordered pair for the report. Returns None if the texts are too long to
    read.
    """
    labels = {}
    for context in contexts:
        # The system of a pair has a field of its own. Code -1 means no context.
        if context.name != "system" and context.codes[row] >= 0:
            labels[context.name] = context.values[context.codes[row]]
    if dataset.task_definition.is_ranking:
        output = list(pair_texts["output"])[:SHOWN_DOCUMENTS]
        worse = list(pair_texts["worse"])[:SHOWN_DOCUMENTS]
        grades = _find_grades_of_documents(dataset, pair_texts["item"], {*output, *worse})
        return WrongPair(
            item=pair_texts["item"],
            system=pair_texts["system"],
            perturbation=pair_texts["perturbation"],
            output=output,
            worse=worse,
            contexts=labels,
            outcomes=scores_by_metric,
            grades=grades,
        )
    if max(len(pair_texts["output"]), len(pair_texts["worse"])) > LONGEST_TEXT:
        return None
    references = source_and_references.get("references") or []
    return WrongPair(
        item=pair_texts["item"],
        system=pair_texts["system"],
        perturbation=pair_texts["perturbation"],
        worse_system=pair_texts.get("worse_system"),
        output=pair_texts["output"],
        worse=pair_texts["worse"],
        contexts=labels,
        outcomes=scores_by_metric,
        is_doubtful=_is_worse_output_nearer_to_reference(
            pair_texts["output"], pair_texts["worse"], references
        ),
        source=source_and_references.get("source"),
        references=references,
    )


def _find_grades_of_documents(dataset: Dataset, item: str, documents: set[str]) -> dict[str, int]:
    """Return the relevance grades of documents for an item (a query)."""
    if dataset.qrels is None:
        return {}
    is_wanted = (pl.col("item") == item) & pl.col("document").is_in(list(documents))
    graded = dataset.qrels.filter(is_wanted)
    return dict(zip(graded["document"].to_list(), graded["grade"].to_list()))


def _is_worse_output_nearer_to_reference(
    better_output: str, worse_output: str, references: Sequence[str]
) -> bool:
    """Return whether the worse output needs fewer word edits than the better output to become one of the
    references.
    """
    if not references:
        return False
    reference_words = [reference.split() for reference in references]
    output_distance = min(Levenshtein.distance(better_output.split(), words) for words in reference_words)
    worse_distance = min(Levenshtein.distance(worse_output.split(), words) for words in reference_words)
    return worse_distance < output_distance


def _count_worse_outputs_nearer_to_reference(
    dataset: Dataset, scored_pairs: ScoredPairs
) -> tuple[int | None, int | None]:
    """Count the pairs in a sample whose worse output is nearer to a reference than the better output. Returns
    the size of the sample and this count.

    None for both if there are no references, or the pairs are rankings.
    """
    has_references = "references" in dataset.outputs.columns
    if dataset.task_definition.is_ranking or not has_references or not len(scored_pairs.rows):
        return None, None
    # Evenly spaced, because pairs are sorted by item: the first ones would be of few items.
    positions = np.linspace(0, len(scored_pairs.rows) - 1, num=CHECKED_PAIRS)
    checked = np.unique(positions.astype(np.int64))
    references = dataset.outputs["references"].gather(scored_pairs.rows[checked]).to_list()
    texts = read_pair_texts(scored_pairs, checked).select("output", "worse").rows()
    doubtful = sum(
        _is_worse_output_nearer_to_reference(output, worse, own)
        for (output, worse), own in zip(texts, references)
    )
    return len(checked), doubtful
