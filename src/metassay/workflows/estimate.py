"""`estimate`: estimate the human score of every system from labels on some items and a metric on
all items.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import polars as pl

from metassay.errors import InputError, UnknownName
from metassay.meta.decisions.control_variates import ITEMS_LIKE_THESE, THESE_ITEMS
from metassay.meta.decisions.labelled_scores import LabelledScores
from metassay.meta.decisions.metric_choice import LabelSavingChoice, choose_metric_saving_most_labels
from metassay.meta.decisions.sample_check import check_labelled_items_are_random_sample
from metassay.meta.decisions.system_estimates import estimate_system_scores
from metassay.options import replace_options_parameter_by_keywords, split_comma_separated_names
from metassay.reporting.estimate_page import (
    build_estimate_page,
    build_estimate_verdict,
    describe_estimate_result,
)
from metassay.reporting.result_display import ResultDisplay
from metassay.results.base import Interval, none_if_nan
from metassay.results.estimate import (
    CandidateMetric,
    ContextEstimate,
    EstimateContent,
    RandomSampleTest,
    SystemEstimate,
)
from metassay.stats.intervals import IntervalEstimate
from metassay.store.run_folder import RunFolder
from metassay.workflows.labelled_scores import LabelledData, read_labelled_scores
from metassay.workflows.options import EstimateOptions
from metassay.workflows.read import Source
from metassay.workflows.run_files import write_result_to_run_folder

TARGETS = {"these": THESE_ITEMS, "similar": ITEMS_LIKE_THESE}
# The fewest labelled units (items or documents) that an interval can be computed from.
SMALLEST_SAMPLE = 10
# The fewest labelled units of a context that is shown.
SMALLEST_CONTEXT = 20


class EstimateResult(ResultDisplay, EstimateContent, frozen=True, kw_only=True):
    """Result of `estimate`: the mean human score of every system, estimated from a few human scores and a
    metric.
    """

    build_page = build_estimate_page
    describe_result_for_terminal = describe_estimate_result

    def to_frame(self) -> pl.DataFrame:
        """Return a table of estimated human scores with one row per system, the best system first."""
        return pl.DataFrame(
            [_build_table_row_of_system_estimate(entry) for entry in self.systems], infer_schema_length=None
        )


def _build_table_row_of_system_estimate(system_estimate: SystemEstimate) -> dict[str, Any]:
    """Build the table row of one system."""
    return {
        "system": system_estimate.system,
        "estimate": system_estimate.estimate.value,
        "low": system_estimate.estimate.low,
        "high": system_estimate.estimate.high,
        "labels_only": system_estimate.labels_only.value,
        "labels_only_low": system_estimate.labels_only.low,
        "labels_only_high": system_estimate.labels_only.high,
        "labels_saved": system_estimate.labels_saved,
        "rank_low": system_estimate.rank_low,
        "rank_high": system_estimate.rank_high,
        "labelled": system_estimate.labelled,
        "items": system_estimate.items,
    }


@replace_options_parameter_by_keywords(EstimateOptions)
def estimate(human_and_metric_scores: Source, options: EstimateOptions) -> EstimateResult:
    """Estimate the mean human score of every system if people have rated only some of the items.

    A metric that scores all items is used to make the estimates more precise.

    `human_and_metric_scores` is a table with one row per output, one column per metric, and a column of human
    scores that is empty where an output is not rated. A column `probability`, as `annotate` writes it, holds
    the probability with which each item was chosen for rating. The estimates take it into account.

    - `human` names the column of human scores, and `labels` a file that `annotate` wrote and people filled
      in.
    - `metrics` names the metrics to choose from. The metric that saves most labels is used, or none if no
      metric saves any.
    - `context` names columns within whose values the systems are estimated as well.
    - `target` says what is estimated: `"these"` for the mean over the items in the data, `"similar"` for the
      mean over all items that are like these.
    - `out` is a folder for the report page and the result as JSON and CSV.

    >>> import random
    >>> draw = random.Random(0)
    >>> rows = []
    >>> for n in range(200):
    ...     for system, quality in (("a", 0.0), ("b", -1.0)):
    ...         score = quality + draw.gauss(0, 1)
    ...         label = score if n % 4 == 0 else None
    ...         rows.append({"seg_id": n, "system": system, "mqm": label, "M": score + draw.gauss(0, 0.5)})
    >>> result = estimate(rows, human="mqm")
    >>> result.metric, result.systems[0].system, result.systems[0].labelled
    ('M', 'a', 50)
    """
    labelled_data = read_labelled_scores(human_and_metric_scores, options, needs_labels=True)
    scores = labelled_data.scores
    if scores.labelled_unit_count < SMALLEST_SAMPLE:
        raise InputError(
            f"only {scores.labelled_unit_count} {_name_what_people_rated(scores)} have labels, but "
            f"estimates need at least {SMALLEST_SAMPLE}.",
            remedy="Choose more items to have rated with: metassay annotate DATA --count 100",
        )
    target = _choose_target_population(scores, options)
    run = _create_or_resume_run_folder(labelled_data, target, options)
    choice = choose_metric_saving_most_labels(scores)
    estimated = estimate_system_scores(
        scores, choice, target=target, seed=options.seed, resamples=options.resamples
    )
    contexts, context_notes = _estimate_human_scores_by_context(labelled_data, choice, target, options)
    result = EstimateResult(
        human=labelled_data.human,
        metric=choice.metric,
        target=target,
        unit=scores.unit,
        labelled_units=scores.labelled_unit_count,
        systems=estimated.systems,
        differences=estimated.differences,
        contexts=contexts,
        candidates=[
            CandidateMetric(
                metric=candidate.metric,
                for_mean=_convert_estimate_to_interval(candidate.for_mean),
                for_difference=_convert_estimate_to_interval(candidate.for_difference),
                copies_labels=candidate.copies_labels,
            )
            for candidate in choice.candidates
        ],
        sample=_test_if_rated_items_are_random_sample(scores, options.seed),
        notes=[*labelled_data.notes, *context_notes],
        data=labelled_data.selected_scores.summary,
    )
    result = msgspec.structs.replace(result, verdict=build_estimate_verdict(result))
    if run is not None:
        write_result_to_run_folder(run, "estimate", result)
    return result


def _name_what_people_rated(labelled_scores: LabelledScores) -> str:
    """Return in words what people rated: `items`, or values of a column such as documents."""
    return "items" if labelled_scores.unit == "item" else f"values of {labelled_scores.unit}"


def _choose_target_population(labelled_scores: LabelledScores, options: EstimateOptions) -> str:
    """Choose what is estimated: the mean human score over the items in the data, or over all items like
    these.

    The default is these items, unless all of them are labelled: then nothing about them is left to estimate.
    """
    if options.target is not None:
        if options.target not in TARGETS:
            raise UnknownName("target", options.target, TARGETS)
        return TARGETS[options.target]
    return ITEMS_LIKE_THESE if labelled_scores.labelled_items.all() else THESE_ITEMS


def _create_or_resume_run_folder(
    labelled_data: LabelledData, target: str, options: EstimateOptions
) -> RunFolder | None:
    """Create a run folder for the results where the user wants it, or resume the run that is already there.
    Returns None if the user named no folder.

    The options and the data identify the run.
    """
    if options.out is None:
        return None
    configuration: dict[str, Any] = {
        "human": labelled_data.human,
        "metrics": list(labelled_data.selected_scores.metrics),
        "lower_is_better": split_comma_separated_names(options.lower_is_better),
        "target": target,
        "unit": labelled_data.scores.unit,
        "context": split_comma_separated_names(options.context),
        "resamples": options.resamples,
        "seed": options.seed,
    }
    inputs = dict(labelled_data.selected_scores.hashes)
    identity = {"command": "estimate", "configuration": configuration, "inputs": inputs}
    return RunFolder.open_for_writing(
        options.out, identity, data_fingerprint=labelled_data.selected_scores.fingerprint
    )


def _estimate_human_scores_by_context(
    labelled_data: LabelledData, metric_choice: LabelSavingChoice, target: str, options: EstimateOptions
) -> tuple[dict[str, list[ContextEstimate]], list[str]]:
    """Estimate the human scores of all systems within each context, such as a domain, that has enough rated
    items. Returns also notes on contexts that are left out.

    The metric is the one that was chosen on all items.
    """
    contexts: dict[str, list[ContextEstimate]] = {}
    notes: list[str] = []
    for column in split_comma_separated_names(options.context):
        values, codes = labelled_data.cube.encode_metadata_as_integers(column)
        estimates = []
        for code, value in enumerate(values):
            scores = labelled_data.scores.restrict_to_items(codes == code)
            if scores.labelled_unit_count < SMALLEST_CONTEXT:
                notes.append(
                    f"{column} {value} was left out because it has {scores.labelled_unit_count} labelled "
                    f"{_name_what_people_rated(scores)}, fewer than {SMALLEST_CONTEXT}."
                )
                continue
            estimated = estimate_system_scores(
                scores, metric_choice, target=target, seed=options.seed, resamples=options.resamples
            )
            context = ContextEstimate(
                context=value,
                items=len(scores.items),
                labelled=int(scores.labelled_items.sum()),
                systems=estimated.systems,
                differences=estimated.differences,
            )
            estimates.append(context)
        contexts[column] = estimates
    return contexts, notes


def _convert_estimate_to_interval(estimate: IntervalEstimate) -> Interval:
    """Convert an estimate to the type that results use, with None in place of NaN."""
    return Interval(
        none_if_nan(estimate.value),
        none_if_nan(estimate.low),
        none_if_nan(estimate.high),
    )


def _test_if_rated_items_are_random_sample(
    labelled_scores: LabelledScores, seed: int
) -> RandomSampleTest | None:
    """Test whether the rated items are a random sample of all items, as far as metric scores show. Returns
    None if that cannot be tested.
    """
    check = check_labelled_items_are_random_sample(labelled_scores, np.random.default_rng(seed))
    if check is None:
        return None
    return RandomSampleTest(check.p, check.metric, check.labelled_mean, check.mean_of_all)
