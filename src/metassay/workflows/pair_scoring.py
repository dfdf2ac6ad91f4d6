"""Score the better and the worse output of pairs with every metric, and compare the two scores."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from metassay.data.clusters import Clusters
from metassay.data.context import Context
from metassay.data.dataset import Dataset
from metassay.engine.batches import OutputRows, build_table_of_outputs_to_score
from metassay.engine.ranking_scores import score_ranked_lists
from metassay.engine.scoring import SelectedBatches, score_rows, score_selected_batches
from metassay.errors import InputError
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes, compare_scores_of_pairs
from metassay.metrics.base import Metric
from metassay.metrics.judge import Judge
from metassay.perturbations.pairs import Pairs
from metassay.perturbations.ranking_pairs import RankedPairs
from metassay.stats.arrays import BoolArray, FloatArray, IntArray, LongArray
from metassay.workflows.assay_plan import ExecutionOptions
from metassay.workflows.pair_verdicts import ask_judge_about_pairs, build_verdict_table
from metassay.workflows.spilled_pairs import SpilledPairs

OUTPUT_KEY = ["item", "system"]


@dataclass(frozen=True)
class ScoredPairs:
    """Pairs of outputs with the scores of both outputs by every metric. Scores are negated where lower is
    better.

    `rows` are the rows of the better outputs in the data set. `is_sampled` marks the pairs that count in the
    results; the others show only how perturbations differ. `verdicts` are those of language models on the
    sampled pairs, in every order asked. `metric_notes` are what a reader of the scores must know.
    `output_scores` [metrics, outputs] is NaN where an output was not scored, and empty for rankings. Where
    the pairs were scored shard by shard, their tables are `spilled`, and `better` and `worse` are empty.
    """

    pairs: Pairs
    rows: LongArray | IntArray
    better: FloatArray
    worse: FloatArray
    outcomes: PairOutcomes
    seconds: dict[str, float]
    clusters: Clusters
    is_sampled: BoolArray
    notes: tuple[str, ...] = ()
    verdicts: pl.DataFrame | None = None
    metric_notes: tuple[str, ...] = ()
    output_scores: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    batch_count: int = 0
    spilled: SpilledPairs | None = None

    def assign_sampled_pairs_to_contexts(self, context_column: Context) -> PairContexts:
        """Return the context (such as the domain) of each sampled pair in one column. If the outputs of a
        pair come from two systems, both contexts are returned.
        """
        rows = self.rows if self.is_sampled.all() else self.rows[self.is_sampled]
        worse_codes = None
        if self.pairs.worse_rows is not None:
            worse_codes = context_column.codes[self.pairs.worse_rows[self.is_sampled]]
        return PairContexts(
            context_column.name, context_column.values, context_column.codes[rows], worse_codes
        )


@dataclass(frozen=True)
class PairScores:
    """The scores of both outputs of every pair by every metric, and how many seconds each metric took.

    `output_scores` [metrics, outputs] is NaN where an output was not scored, and empty for rankings.
    """

    better: FloatArray
    worse: FloatArray
    output_scores: FloatArray
    seconds: dict[str, float]
    batch_count: int = 0
    verdicts: Sequence[pl.DataFrame] = ()


def score_output_pairs(
    dataset: Dataset,
    output_pairs: Pairs,
    metrics: Sequence[Metric],
    execution_options: ExecutionOptions,
    *,
    sampled_pairs: Pairs,
    clusters: Clusters,
    weights: FloatArray | None = None,
    first_batch_number: int = 0,
    additional_output_rows: LongArray | None = None,
) -> ScoredPairs:
    """Score both outputs of every pair with every metric, and determine whether each metric ordered the pair
    correctly.

    Language models are asked only about the pairs in `sampled_pairs`, because each question costs.
    `additional_output_rows` are outputs without pairs that the other metrics score too. Batches are numbered
    from `first_batch_number`.
    """
    rows = find_rows_of_better_outputs(dataset, output_pairs)
    is_sampled = _mark_pairs_in_sample(output_pairs, sampled_pairs)
    if isinstance(output_pairs, RankedPairs):
        scores = _score_pairs_of_ranked_lists(dataset, output_pairs, metrics, execution_options.workers)
    else:
        scores = _score_text_pairs(
            dataset,
            output_pairs,
            is_sampled,
            metrics,
            execution_options,
            first_batch_number,
            additional_output_rows,
        )
    perturbations = output_pairs.frame["perturbation"]
    names = tuple(sorted(perturbations.unique()))
    # Sorted names give the same codes whatever the order of the perturbations.
    codes = perturbations.replace_strict(names, range(len(names)), return_dtype=pl.Int32).to_numpy()
    tolerances = np.array([metric.tie_tolerance for metric in metrics])
    outcomes = PairOutcomes(
        metrics=tuple(metric.spec for metric in metrics),
        perturbation_names=names,
        outcomes=compare_scores_of_pairs(scores.better, scores.worse, tolerances),
        items=clusters.items[rows],
        outputs=rows.astype(np.int32),
        clusters=clusters.codes[rows],
        perturbations=codes,
        weights=None if weights is None else weights[rows],
        worse_outputs=None if output_pairs.worse_rows is None else output_pairs.worse_rows.astype(np.int32),
    )
    return ScoredPairs(
        pairs=output_pairs,
        rows=rows,
        better=scores.better,
        worse=scores.worse,
        outcomes=outcomes,
        seconds=scores.seconds,
        clusters=clusters,
        is_sampled=is_sampled,
        notes=clusters.notes,
        verdicts=pl.concat(scores.verdicts) if scores.verdicts else None,
        metric_notes=tuple(note for metric in metrics for note in metric.list_notes_on_scores()),
        output_scores=scores.output_scores,
        batch_count=scores.batch_count,
    )


def _mark_pairs_in_sample(all_pairs: Pairs, sampled_pairs: Pairs) -> BoolArray:
    """Return for every pair whether the sample contains it."""
    if sampled_pairs is all_pairs:
        return np.ones(all_pairs.frame.height, dtype=np.bool_)
    key = [*OUTPUT_KEY, "perturbation"]
    sampled = sampled_pairs.frame.select(key).with_columns(pl.lit(value=True).alias("is_sampled"))
    marked = all_pairs.frame.select(key).join(sampled, on=key, how="left", maintain_order="left")
    return marked["is_sampled"].fill_null(value=False).to_numpy()


def _score_text_pairs(
    dataset: Dataset,
    text_pairs: Pairs,
    is_sampled: BoolArray,
    metrics: Sequence[Metric],
    execution_options: ExecutionOptions,
    first_batch_number: int,
    additional_output_rows: LongArray | None,
) -> PairScores:
    """Score both texts of every pair with every metric. Language models score only the pairs in the sample;
    the other pairs get NaN from them.

    A judge that compares two outputs gives the better one its verdict as score, and the other 1 - verdict.
    """
    better = np.full((len(metrics), text_pairs.frame.height), np.nan)
    worse = np.full((len(metrics), text_pairs.frame.height), np.nan)
    output_scores = np.full((len(metrics), len(dataset)), np.nan)
    sample = text_pairs.filter_pairs(is_sampled)
    programs = [m for m, metric in enumerate(metrics) if not isinstance(metric, Judge)]
    judges = []
    for m, metric in enumerate(metrics):
        if isinstance(metric, Judge) and not metric.compares_two_outputs:
            judges.append(m)
    # Programs score all pairs, also those outside the sample, because that costs little. Judges are paid by
    # request.
    steps = [
        (programs, text_pairs, np.arange(text_pairs.frame.height), additional_output_rows),
        (judges, sample, np.flatnonzero(is_sampled), None),
    ]
    seconds: dict[str, float] = {}
    batch_count = 0
    for positions, scored_pairs, pair_positions, further in steps:
        if not positions:
            continue
        scored = _score_both_outputs_of_pairs(
            dataset,
            scored_pairs,
            [metrics[m] for m in positions],
            execution_options,
            first_batch_number,
            further,
        )
        # The new axis makes NumPy select all combinations of rows and columns, not element by element.
        metric_rows = np.array(positions)[:, None]
        better[metric_rows, pair_positions] = scored.better
        worse[metric_rows, pair_positions] = scored.worse
        output_scores[metric_rows, scored.output_rows] = scored.output_scores
        seconds |= scored.seconds
        batch_count += scored.batch_count
    verdicts = []
    for m, metric in enumerate(metrics):
        if not isinstance(metric, Judge):
            continue
        if metric.compares_two_outputs:
            started = time.perf_counter()
            rows = build_table_of_outputs_to_score(dataset).frame[
                find_rows_of_better_outputs(dataset, sample)
            ]
            comparison = ask_judge_about_pairs(metric, rows, sample.frame)
            better[m, is_sampled] = comparison.preferences_for_first_output
            worse[m, is_sampled] = 1 - comparison.preferences_for_first_output
            verdicts.append(build_verdict_table(metric, sample.frame, comparison.by_order))
            seconds[metric.spec] = time.perf_counter() - started
        else:
            # A verdict is 1 for the better output, 0 for the worse and 0.5 for a tie, as in pairwise judging.
            preferences = (np.sign(better[m, is_sampled] - worse[m, is_sampled]) + 1) / 2
            verdicts.append(build_verdict_table(metric, sample.frame, preferences[None]))
    return PairScores(better, worse, output_scores, seconds, batch_count, verdicts)


@dataclass(frozen=True)
class _SingleOutputScores:
    """The scores of both outputs of every pair, and the scores of each distinct output, whose row numbers are
    `output_rows`.
    """

    better: FloatArray
    worse: FloatArray
    seconds: dict[str, float]
    batch_count: int
    output_rows: LongArray
    output_scores: FloatArray


def _score_both_outputs_of_pairs(
    dataset: Dataset,
    pairs: Pairs,
    metrics: Sequence[Metric],
    execution_options: ExecutionOptions,
    first_batch_number: int,
    additional_output_rows: LongArray | None,
) -> _SingleOutputScores:
    """Score both outputs of every pair with metrics that score one output at a time. An output with several
    pairs is scored once.
    """
    rows = find_rows_of_better_outputs(dataset, pairs)
    output_rows = _merge_distinct_row_numbers(rows, additional_output_rows)
    scored = score_rows(
        metrics,
        _list_better_then_worse_outputs(dataset, pairs, rows, additional_output_rows),
        workers=execution_options.workers,
        store=execution_options.score_store,
        first_batch=first_batch_number,
        cluster=execution_options.cluster,
        progress=execution_options.progress,
    )
    scores = np.stack([metric.orient_scores(scored.scores[metric.spec]) for metric in metrics])
    output_scores = scores[:, : len(output_rows)]
    return _SingleOutputScores(
        better=output_scores[:, np.searchsorted(output_rows, rows)],
        worse=scores[:, len(output_rows) :],
        seconds=scored.seconds,
        batch_count=scored.batch_count,
        output_rows=output_rows,
        output_scores=output_scores,
    )


def score_selected_pair_batches(
    dataset: Dataset,
    output_pairs: Pairs,
    metrics: Sequence[Metric],
    batch_numbers: Collection[int],
    execution_options: ExecutionOptions,
    *,
    first_batch_number: int = 0,
    additional_output_rows: LongArray | None = None,
) -> SelectedBatches:
    """Score and store some of the batches of a run that several processes share. Metrics that ask a language
    model are left out.
    """
    if execution_options.score_store is None:
        raise InputError("parts are stored in a run folder.", remedy="Pass --out.")
    rows = find_rows_of_better_outputs(dataset, output_pairs)
    return score_selected_batches(
        [metric for metric in metrics if not isinstance(metric, Judge)],
        _list_better_then_worse_outputs(dataset, output_pairs, rows, additional_output_rows),
        batch_numbers,
        store=execution_options.score_store,
        workers=execution_options.workers,
        first_batch=first_batch_number,
        progress=execution_options.progress,
    )


def list_texts_of_pairs(dataset: Dataset, output_pairs: Pairs) -> pl.DataFrame:
    """List every text that metrics score for some pairs, with reference and source."""
    return _list_better_then_worse_outputs(
        dataset, output_pairs, find_rows_of_better_outputs(dataset, output_pairs), None
    ).frame


def _list_better_then_worse_outputs(
    dataset: Dataset,
    output_pairs: Pairs,
    rows_of_better_outputs: LongArray,
    additional_output_rows: LongArray | None,
) -> OutputRows:
    """List all texts to score: first each output that has pairs, once, and then the worse output of each
    pair.

    Outputs in `additional_output_rows` are listed with the first, although they have no pairs.
    """
    scored_rows = _merge_distinct_row_numbers(rows_of_better_outputs, additional_output_rows)
    base = build_table_of_outputs_to_score(dataset)
    outputs = base.frame[scored_rows]
    texts = _replace_by_preprocessed_texts(
        outputs["output"], output_pairs, np.searchsorted(scored_rows, rows_of_better_outputs)
    )
    outputs = outputs.with_columns(texts)
    worse_outputs = base.frame[rows_of_better_outputs].with_columns(
        output_pairs.frame["worse"].alias("output")
    )
    # In human pairs the worse output is that of another system, and some metrics read the system.
    if "worse_system" in output_pairs.frame.columns:
        worse_outputs = worse_outputs.with_columns(output_pairs.frame["worse_system"].alias("system"))
    return OutputRows(pl.concat([outputs, worse_outputs]), base.qrels)


def _replace_by_preprocessed_texts(
    output_texts: pl.Series, pairs: Pairs, output_positions: LongArray
) -> pl.Series:
    """Replace the texts of outputs by preprocessed texts, from which the pairs were made."""
    # All pairs of an output have the same preprocessed text, so that of the first pair is enough.
    distinct_positions, first_pairs = np.unique(output_positions, return_index=True)
    return output_texts.scatter(distinct_positions, pairs.frame["output"][first_pairs]).alias("output")


def _score_pairs_of_ranked_lists(
    dataset: Dataset, ranked_pairs: RankedPairs, metrics: Sequence[Metric], workers: int | None
) -> PairScores:
    """Score both ranked lists of each pair, using the relevance grades of their documents."""
    if dataset.qrels is None:
        raise InputError("rankings cannot be scored without relevance judgements.", remedy="Pass --qrels.")
    outputs = score_ranked_lists(metrics, ranked_pairs.lists, dataset.outputs, dataset.qrels, workers=workers)
    perturbed = score_ranked_lists(
        metrics, ranked_pairs.copies, ranked_pairs.frame, dataset.qrels, workers=workers
    )
    better = np.array([metric.orient_scores(outputs.scores[metric.spec]) for metric in metrics])
    worse = np.array([metric.orient_scores(perturbed.scores[metric.spec]) for metric in metrics])
    no_output_scores = np.empty((len(metrics), 0))
    return PairScores(better[:, ranked_pairs.rows], worse, no_output_scores, perturbed.seconds)


def find_rows_of_better_outputs(dataset: Dataset, output_pairs: Pairs) -> LongArray:
    """Return the row number that the better output of each pair has in the data set."""
    if output_pairs.rows is not None:
        return output_pairs.rows
    index = dataset.outputs.select(OUTPUT_KEY).with_row_index("row")
    joined = output_pairs.frame.select(OUTPUT_KEY).join(
        index, on=OUTPUT_KEY, how="left", maintain_order="left"
    )
    return joined["row"].cast(pl.Int64).to_numpy()


def _merge_distinct_row_numbers(rows: LongArray, additional_rows: LongArray | None) -> LongArray:
    """Merge row numbers into one sorted array without duplicates, so that an output with several pairs is
    scored once.
    """
    return np.unique(rows) if additional_rows is None else np.union1d(rows, additional_rows)
