"""Make and score the pairs of a large data set slice by slice (shard by shard), so that memory holds the
texts of one slice.

A shard has about 131,072 outputs: all outputs of some items. Its tables are written to files as soon as its
pairs are scored. Of each pair a few bytes stay in memory: its output, its perturbation, and the outcome of
every metric. Results do not depend on the number of shards.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from metassay.data.memory import memory_map_table, release_memory
from metassay.errors import InputError
from metassay.meta.contexts.pair_outcomes import OutcomeArray, PairOutcomes
from metassay.meta.contexts.perturbation_validity import (
    compute_human_score_differences,
    measure_edit_distances,
)
from metassay.perturbations.pairs import Pairs, PerturbationCount
from metassay.results.partial_run import PartialRun
from metassay.stats.arrays import BoolArray, FloatArray, IntArray, LongArray
from metassay.workflows.outcome_tables import (
    ShardPosition,
    build_pair_outcome_table,
    build_pair_search_table,
)
from metassay.workflows.pair_scoring import ScoredPairs, score_output_pairs, score_selected_pair_batches
from metassay.workflows.pair_table import EXPLORER_FILE, OUTCOMES_FILE, PAIRS_FILE
from metassay.workflows.score_sample import (
    ScoreSample,
    concatenate_score_samples,
    select_every_nth_scored_output,
)
from metassay.workflows.spilled_pairs import SpilledPairs
from metassay.workflows.wrong_pairs import LargestErrors

if TYPE_CHECKING:
    from metassay.workflows.assay_preparation import PreparedAssay

# Outputs of a shard: the same on every machine, because batches are numbered shard by shard.
SHARD_SIZE = 2**17
ALL_PAIRS = "all_pairs"
EDITS = "edits"


def divide_items_into_shards(items: IntArray) -> list[slice]:
    """Divide a data set that is sorted by item into slices (shards). All outputs of an item are in the same
    slice.
    """
    edges = [0]
    while edges[-1] < len(items):
        # The shard ends with the last output of the item at its nominal end, so it may be somewhat larger.
        last_item = items[min(edges[-1] + SHARD_SIZE, len(items)) - 1]
        edges.append(int(np.searchsorted(items, last_item, side="right")))
    return [slice(start, stop) for start, stop in pairwise(edges)]


@dataclass
class _PairArrays:
    """What is kept in memory about the pairs of all slices (shards) of a data set. Each list has one array
    per slice.
    """

    rows: list[IntArray] = field(default_factory=list)
    perturbations: list[np.ndarray] = field(default_factory=list)
    is_sampled: list[BoolArray] = field(default_factory=list)
    outcomes: list[OutcomeArray] = field(default_factory=list)

    def count_pairs(self) -> int:
        """Return the number of pairs in all slices that were scored so far."""
        return sum(len(rows) for rows in self.rows)


class ShardScorer:
    """Scores the pairs of a large data set one slice (shard) at a time, to save memory."""

    def __init__(self, prepared_assay: PreparedAssay, weights: FloatArray | None) -> None:
        self.dataset = prepared_assay.dataset
        self.metrics = prepared_assay.all_metrics
        self.assayed_count = len(prepared_assay.plan.metrics)
        """The first metrics are those under assay; sentinels follow."""
        self.contexts = prepared_assay.plan.contexts
        self.clusters = prepared_assay.clusters
        self.weights = weights
        self.execution = prepared_assay.execution
        self.additional_rows = prepared_assay.find_human_scored_rows()
        """Outputs that are scored although they may have no pairs."""
        self._files: dict[str, list[Path]] = {
            name: [] for name in (PAIRS_FILE, ALL_PAIRS, EXPLORER_FILE, OUTCOMES_FILE, EDITS)
        }
        self._arrays = _PairArrays()
        self._counts: list[Mapping[str, PerturbationCount]] = []
        self._sample_counts: list[Mapping[str, PerturbationCount]] = []
        self._human_differences: dict[str, list[float]] = {}
        self._largest_errors: LargestErrors | None = None

    def score_all_pairs(
        self, pairs_by_shard: Iterable[tuple[slice, Pairs]], pairs_per_output: int | None
    ) -> tuple[Pairs, ScoredPairs, ScoreSample]:
        """Score the pairs of outputs of the whole data set, one part of the data (shard) after another.

        Returns the sampled pairs, all pairs with their outcomes, and a sample of scored texts.
        """
        scored_outputs = 0 if self.additional_rows is None else len(self.dataset)
        output_scores = np.full((len(self.metrics), scored_outputs), np.nan)
        seconds = dict.fromkeys((metric.spec for metric in self.metrics), 0.0)
        batch_count = 0
        description: Pairs | None = None
        score_samples = []
        for shard, pairs in pairs_by_shard:
            self.execution.report_progress("scoring", shard.start, len(self.dataset))
            sample = pairs.sample_pairs_per_output(pairs_per_output)
            description = _copy_pairs_with_empty_table(pairs)
            scored = self._score_pairs_of_shard(shard, pairs, sample, batch_count)
            batch_count += scored.batch_count
            seconds = {metric: spent + scored.seconds[metric] for metric, spent in seconds.items()}
            if scored_outputs:
                output_scores[:, shard] = scored.output_scores
            score_samples.append(select_every_nth_scored_output(self.dataset, scored, shard))
            self._store_results_of_shard(shard, sample, scored)
            del pairs, sample, scored  # free their memory before the next shard is made
            release_memory()
        if description is None or self._largest_errors is None:
            raise InputError("there are no outputs to score.")
        self.execution.report_progress("scoring", len(self.dataset), len(self.dataset))
        sample, scored = self._concatenate_pairs_of_all_shards(description, self._largest_errors)
        scored = replace(scored, seconds=seconds, output_scores=output_scores, batch_count=batch_count)
        return sample, scored, concatenate_score_samples(score_samples)

    def score_selected_batches_of_shards(
        self, pairs_by_shard: Iterable[tuple[slice, Pairs]], batch_numbers: Collection[int]
    ) -> PartialRun:
        """Score and store only the batches of outputs with the given numbers. Batches are numbered over all
        slices (shards).
        """
        numbers: list[int] = []
        part_count = 0
        for shard, pairs in pairs_by_shard:
            self.execution.report_progress("scoring", shard.start, len(self.dataset))
            part = score_selected_pair_batches(
                self.dataset.slice_rows(shard),
                pairs,
                self.metrics,
                batch_numbers,
                replace(self.execution, progress=None),
                first_batch_number=part_count,
                additional_output_rows=self._select_human_scored_rows_of_shard(shard),
            )
            numbers += part.numbers
            part_count += part.batch_count
        return PartialRun(part_numbers=tuple(numbers), part_count=part_count)

    def _select_human_scored_rows_of_shard(self, shard: slice) -> LongArray | None:
        """Return which outputs of a slice (shard) are scored because they have human scores, as row numbers
        within the slice.
        """
        if self.additional_rows is None:
            return None
        is_inside = (self.additional_rows >= shard.start) & (self.additional_rows < shard.stop)
        rows: LongArray = self.additional_rows[is_inside] - shard.start
        return rows

    def _score_pairs_of_shard(
        self, shard: slice, pairs: Pairs, sample: Pairs, first_batch: int
    ) -> ScoredPairs:
        """Score the pairs of one slice (shard) of the data set."""
        clusters = replace(self.clusters, codes=self.clusters.codes[shard], items=self.clusters.items[shard])
        return score_output_pairs(
            self.dataset.slice_rows(shard),
            pairs,
            self.metrics,
            replace(self.execution, progress=None),
            sampled_pairs=sample,
            clusters=clusters,
            first_batch_number=first_batch,
            additional_output_rows=self._select_human_scored_rows_of_shard(shard),
        )

    def _store_results_of_shard(self, shard: slice, sample: Pairs, scored: ScoredPairs) -> None:
        """Write the tables of one slice (shard) to files. What is needed to compute the result is kept in
        memory.
        """
        self._write_temporary_tables_of_shard(shard, sample, scored)
        differences = compute_human_score_differences(sample.frame, self.dataset.slice_rows(shard))
        for perturbation, values in differences.items():
            self._human_differences.setdefault(perturbation, []).extend(values)
        outcomes = scored.outcomes
        names = sorted(scored.pairs.counts)
        # A perturbation may have no pair in this shard. Codes into the names of all perturbations are the
        # same in every shard.
        codes = np.array([names.index(name) for name in outcomes.perturbation_names], np.int8)
        first_pair = self._arrays.count_pairs()
        self._arrays.rows.append((scored.rows + shard.start).astype(np.int32))
        self._arrays.perturbations.append(codes[outcomes.perturbations])
        self._arrays.is_sampled.append(scored.is_sampled)
        self._arrays.outcomes.append(outcomes.outcomes)
        self._counts.append(scored.pairs.counts)
        self._sample_counts.append(sample.counts)
        positions = first_pair + np.arange(len(scored.rows))
        errors = LargestErrors(positions, scored.better, scored.worse, outcomes.outcomes)
        # Reduced before and after it is joined with the errors of earlier shards, so that memory does not
        # grow with the number of shards.
        errors = errors.keep_most_misordered_pairs(self.assayed_count)
        if self._largest_errors is not None:
            errors = self._largest_errors.append_errors_of_later_pairs(errors).keep_most_misordered_pairs(
                self.assayed_count
            )
        self._largest_errors = errors

    def _write_temporary_tables_of_shard(
        self, shard: slice, sampled_pairs: Pairs, scored_pairs: ScoredPairs
    ) -> None:
        """Write the pairs, scores and edit distances of one slice (shard) to temporary files."""
        self._write_temporary_table(ALL_PAIRS, scored_pairs.pairs.frame)
        if scored_pairs.is_sampled.all():
            # If all pairs are sampled, both tables are equal, and one file serves for both.
            self._files[PAIRS_FILE].append(self._files[ALL_PAIRS][-1])
        else:
            self._write_temporary_table(PAIRS_FILE, sampled_pairs.frame)
        explorer_table = build_pair_search_table(
            self.dataset.slice_rows(shard),
            sampled_pairs,
            scored_pairs,
            [replace(context, codes=context.codes[shard]) for context in self.contexts],
            self.metrics[: self.assayed_count],
            ShardPosition(shard.start, self.dataset.systems, sorted(scored_pairs.pairs.counts)),
        )
        self._write_temporary_table(EXPLORER_FILE, explorer_table)
        self._write_temporary_table(OUTCOMES_FILE, build_pair_outcome_table(scored_pairs))
        edits = measure_edit_distances(
            sampled_pairs.frame["output"], sampled_pairs.frame["worse"], self.execution.workers
        )
        characters = edits.characters.astype(np.int32)
        self._write_temporary_table(EDITS, pl.DataFrame({"characters": characters, "share": edits.shares}))

    def _write_temporary_table(self, table_name: str, table: pl.DataFrame) -> None:
        """Write a table of one slice (shard) to a temporary file, and add the file to the list of files."""
        file = self.execution.scratch.write_temporary_table(
            f"{Path(table_name).stem}-{len(self._files[table_name]):05d}", table
        )
        self._files[table_name].append(file)

    def _concatenate_pairs_of_all_shards(
        self, empty_pairs: Pairs, largest_errors: LargestErrors
    ) -> tuple[Pairs, ScoredPairs]:
        """Join the pairs of all slices (shards). Returns the sampled pairs, and all pairs with whether each
        metric ordered them correctly.
        """
        outcomes = self._concatenate_outcomes_of_all_shards(sorted(empty_pairs.counts))
        pair_tables = self._memory_map_temporary_tables(ALL_PAIRS)
        spilled = SpilledPairs(
            largest_errors,
            self._human_differences,
            self._files,
            pair_tables,
            self._memory_map_temporary_tables(EDITS),
        )
        scored = ScoredPairs(
            pairs=replace(
                empty_pairs,
                # Rechunking would copy the memory-mapped tables into memory.
                frame=pl.concat(pair_tables, rechunk=False),
                counts=_sum_counts_of_shards(self._counts),
            ),
            rows=outcomes.outputs,
            is_sampled=np.concatenate(self._arrays.is_sampled),
            better=np.empty((len(self.metrics), 0)),
            worse=np.empty((len(self.metrics), 0)),
            outcomes=outcomes,
            seconds={},
            clusters=self.clusters,
            notes=self.clusters.notes,
            metric_notes=tuple(note for metric in self.metrics for note in metric.list_notes_on_scores()),
            spilled=spilled,
        )
        sampled_pairs = pl.concat(self._memory_map_temporary_tables(PAIRS_FILE), rechunk=False)
        release_memory()
        return replace(
            empty_pairs, frame=sampled_pairs, counts=_sum_counts_of_shards(self._sample_counts)
        ), scored

    def _concatenate_outcomes_of_all_shards(self, perturbation_names: Sequence[str]) -> PairOutcomes:
        """Join the arrays of all slices (shards) that say which pairs each metric ordered correctly. The
        memory of the single arrays is freed.

        `perturbation_names` are the names of the perturbations that the arrays contain as codes.
        """
        codes = np.concatenate(self._arrays.perturbations)
        # Each list is cleared once it is joined, so that only one array exists twice at a time.
        self._arrays.perturbations.clear()
        # Perturbations without any pair are left out, as in a run without shards.
        used_codes = np.unique(codes)
        new_codes = np.zeros(len(perturbation_names), np.int32)
        new_codes[used_codes] = np.arange(len(used_codes), dtype=np.int32)
        rows = np.concatenate(self._arrays.rows)
        self._arrays.rows.clear()
        all_outcomes = np.concatenate(self._arrays.outcomes, axis=-1)
        self._arrays.outcomes.clear()
        items = self.clusters.items[rows]
        # Then both arrays have one entry per pair and are equal: one copy saves memory.
        items_are_clusters = self.clusters.codes is self.clusters.items
        return PairOutcomes(
            metrics=tuple(metric.spec for metric in self.metrics),
            perturbation_names=tuple(perturbation_names[code] for code in used_codes),
            outcomes=all_outcomes,
            items=items,
            outputs=rows,
            clusters=items if items_are_clusters else self.clusters.codes[rows],
            perturbations=new_codes[codes],
            weights=None if self.weights is None else self.weights[rows],
        )

    def _memory_map_temporary_tables(self, table_name: str) -> list[pl.DataFrame]:
        """Memory-map the files that the slices (shards) wrote for one kind of table."""
        return [memory_map_table(file) for file in self._files[table_name]]


def _copy_pairs_with_empty_table(pairs: Pairs) -> Pairs:
    """Return a copy of a table of pairs that has the same notes and counts, but no pairs."""
    return replace(pairs, frame=pairs.frame.clear(), priorities=np.empty(0, np.uint64), rows=None)


def _sum_counts_of_shards(
    counts_by_shard: Iterable[Mapping[str, PerturbationCount]],
) -> dict[str, PerturbationCount]:
    """Add up how many outputs each perturbation (a rule that makes outputs worse) changed in all slices
    (shards) of a data set.
    """
    names = [column.name for column in fields(PerturbationCount)]
    totals: dict[str, PerturbationCount] = {}
    for counts in counts_by_shard:
        for perturbation, count in counts.items():
            total = totals.get(perturbation, PerturbationCount())
            sums = {name: getattr(total, name) + getattr(count, name) for name in names}
            totals[perturbation] = PerturbationCount(**sums)
    return totals
