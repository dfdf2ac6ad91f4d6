"""`check`: show what a data set contains, and estimate how long an assay of it would take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import msgspec
import numpy as np
import polars as pl

from metassay.data.columns import TEST_SET_COLUMNS, find_score_columns
from metassay.data.dataset import Dataset
from metassay.data.directions import RequestedDirections, reverse_human_scores_if_lower_is_better
from metassay.data.normalisation import choose_text_normalisation, warn_of_different_writing
from metassay.data.preparation import prepare_dataset_for_scoring, warn_of_unknown_language
from metassay.data.reading import Source
from metassay.data.reference_systems import find_systems_equal_to_references
from metassay.data.score_cautions import (
    warn_if_score_scales_differ_in_table,
    warn_of_values_that_may_mean_missing,
)
from metassay.data.summary import summarize_dataset
from metassay.data.text_cautions import warn_of_doubtful_texts
from metassay.engine.batches import build_table_of_outputs_to_score
from metassay.engine.scoring import measure_metric_run_times
from metassay.engine.workers import choose_worker_count
from metassay.errors import InputError, UnknownName
from metassay.meta.people.power import count_items_needed_to_separate_systems
from metassay.metrics.base import Metric
from metassay.metrics.selection import choose_metrics
from metassay.options import (
    OutputReadOptions,
    replace_options_parameter_by_keywords,
    split_comma_separated_names,
)
from metassay.perturbations.forecast import estimate_perturbed_output_counts
from metassay.perturbations.registry import list_default_perturbations
from metassay.reporting.check_questions import list_user_questions_answerable_first
from metassay.reporting.check_summary import build_check_verdict
from metassay.reporting.result_display import ResultDisplay
from metassay.reporting.terminal.check import describe_check_result
from metassay.results.check import (
    OUTPUTS,
    PAIRS,
    SCORES,
    VERDICTS,
    CheckContent,
    CheckedMetric,
    CheckedPerturbation,
    CheckedTestSet,
    CostEstimate,
    SystemCount,
    UndecidedSystems,
)
from metassay.store.layout import TIMINGS
from metassay.store.run_folder import RunFolder
from metassay.workflows.check_tables import (
    describe_score_table,
    describe_verdict_table,
    guess_kind_of_table_rows,
)
from metassay.workflows.options import CheckOptions
from metassay.workflows.read import read
from metassay.workflows.run_files import collect_warnings
from metassay.workflows.verdict_files import hash_verdict_rows

# Whole numbers with more values than this are taken for scores instead of contexts.
_MOST_NUMBERED_CONTEXTS = 50
# The fewest rated items from which it can be said how many more are needed.
_SMALLEST_PILOT = 20
_SIGNIFICANT_T = 2.0


class CheckResult(ResultDisplay, CheckContent, frozen=True, kw_only=True):
    """Result of `check`: what a data set contains, and how long an assay of it would take."""

    describe_result_for_terminal = describe_check_result

    def to_frame(self) -> pl.DataFrame:
        """Return a table of the systems and their numbers of outputs, or of the judges and their numbers of
        verdicts.
        """
        if self.verdicts is not None:
            return pl.DataFrame([msgspec.structs.asdict(judge) for judge in self.verdicts.judges])
        return pl.DataFrame([msgspec.structs.asdict(system) for system in self.systems])


@replace_options_parameter_by_keywords(CheckOptions)
def check(dataset: Dataset | Source, options: CheckOptions) -> CheckResult:
    """Check what a data set contains, and estimate how long an assay of it would take.

    The time is estimated by scoring a few outputs. Tables of metric scores, of pairs and of verdicts are
    recognised too; without outputs there is no estimate.

    - `columns`, `where`, `join` and the other reading options say how files and tables are read.
    - `metrics` are the metrics whose time is estimated. By default they are those of the task.
    - `out` is a folder in which the result is stored.

    >>> found = check([{"seg_id": 1, "system": "a", "hyp": "a red fox", "ref": "the red fox"}])
    >>> found.to_dict()["outputs"]
    1
    """
    reading = {field.name: getattr(options, field.name) for field in fields(OutputReadOptions)}
    if isinstance(dataset, Dataset):
        _reject_options_for_reading_files(reading)
    kind = OUTPUTS
    try:
        data = read(dataset, **reading)
    except UnknownName:
        raise  # An option names something that does not exist, whatever the table holds.
    except InputError:
        found_kind = guess_kind_of_table_rows(dataset, options)
        if found_kind is None:
            raise
        kind = found_kind
    else:
        if "worse" in data.outputs.columns:
            kind = PAIRS
    chosen = {
        "human": list(split_comma_separated_names(options.human)),
        "columns": dict(options.columns or {}),
    }
    if kind == SCORES:
        content, hashes = describe_score_table(dataset, options)
        return _build_and_write_check_result(content, chosen, hashes, options)
    if kind == VERDICTS:
        content, verdicts = describe_verdict_table(dataset, options)
        return _build_and_write_check_result(content, chosen, {"table": hash_verdict_rows(verdicts)}, options)
    if kind == PAIRS:
        data = read(dataset, **reading, pairs=True)
    content, configuration = _describe_outputs_of_dataset(data, options)
    return _build_and_write_check_result(content, configuration, data.content_hash, options)


def _reject_options_for_reading_files(reading_options: Mapping[str, Any]) -> None:
    """Raise an error if options for reading files are given together with a data set that was read before."""
    defaults = {field.name: field.default for field in fields(OutputReadOptions)}
    named = [name for name, value in reading_options.items() if value != defaults[name]]
    if named:
        raise InputError(
            f"the data set has been read already, so {named[0]} has no effect.",
            remedy="Pass it to metassay.read.",
        )


def _build_and_write_check_result(
    check_content: CheckContent,
    result_settings: Mapping[str, Any],
    input_hash: str | Mapping[str, str],
    options: CheckOptions,
) -> CheckResult:
    """Complete the result of `check` with the questions that the data can answer. If the option `out` names a
    folder, the result is written there.
    """
    values = {name: getattr(check_content, name) for name in check_content.__struct_fields__}
    values["questions"] = list_user_questions_answerable_first(check_content)
    values["verdict"] = build_check_verdict(check_content)
    result = CheckResult(**values)
    if options.out is not None:
        identity = {"command": "check", "configuration": result_settings, "input": input_hash}
        _write_check_result(RunFolder.open_for_writing(options.out, identity), result)
    return result


def _describe_outputs_of_dataset(
    dataset: Dataset, options: CheckOptions
) -> tuple[CheckContent, dict[str, Any]]:
    """Describe a data set of outputs, or of pairs of outputs. Returns the description and the settings that
    it depends on.
    """
    normalisation = choose_text_normalisation(dataset, options.normalize)
    metrics = choose_metrics(dataset, options.metrics, normalisation)
    configuration = {"metrics": [metric.signature for metric in metrics], "normalize": options.normalize}
    prepared = prepare_dataset_for_scoring(dataset, normalize=options.normalize, keep_references=False)
    workers = choose_worker_count(options.workers)
    with collect_warnings() as metric_warnings:
        estimate = _estimate_assay_duration(prepared, metrics, workers)
    # The worse output of each pair is given, so that nothing is perturbed.
    forecasts = [] if dataset.rows_are_pairs else estimate_perturbed_output_counts(prepared, workers=workers)
    metric_columns = _find_columns_with_metric_scores(dataset)
    contexts = [name for name in dataset.metadata if name not in metric_columns]
    summary = summarize_dataset(dataset, {metric.spec: metric.higher_is_better for metric in metrics})
    outputs = Counter(dataset.outputs["system"])
    languages = Counter(language or "unknown" for language in dataset.languages)
    missing = {name: dataset.outputs[name].null_count() for name in dataset.outputs.columns}
    test_sets = _list_test_sets(dataset)
    rated_items = {}
    for name in dataset.human:
        if test_sets:
            rated_items[name] = sum(test_set.rated_items[name] for test_set in test_sets)
        else:
            rated_items[name] = _count_rated_items(dataset.outputs, name)
    content = CheckContent(
        kind=PAIRS if dataset.rows_are_pairs else OUTPUTS,
        task=dataset.task,
        task_guess=dataset.task_guess,
        items=dataset.outputs["item"].n_unique(),
        outputs=len(dataset),
        systems=[SystemCount(system, outputs[system]) for system in dataset.systems],
        languages=dict(sorted(languages.items())),
        references=_count_outputs_by_number_of_references(dataset),
        human={name: len(dataset) - dataset.outputs[name].null_count() for name in dataset.human},
        contexts={name: dataset.outputs[name].n_unique() for name in ("system", *contexts)},
        metric_columns=metric_columns,
        rated_items=rated_items,
        test_sets=test_sets,
        # Systems of different test sets cannot be compared.
        undecided_systems=None if test_sets else _find_two_best_systems(dataset),
        missing={name: count for name, count in missing.items() if count},
        empty_outputs=sum(system.empty_outputs for system in summary.systems),
        reference_systems=list(find_systems_equal_to_references(dataset)),
        left_out=dict(dataset.left_out),
        normalize=normalisation,
        metrics=[CheckedMetric(metric.spec, metric.signature, metric.higher_is_better) for metric in metrics],
        perturbations=[
            CheckedPerturbation(
                forecast.perturbation, forecast.outputs > 0, forecast.outputs, forecast.tried, forecast.why
            )
            for forecast in forecasts
        ],
        estimate=estimate,
        notes=[
            *dataset.notes,
            *warn_of_unknown_language(dataset),
            *warn_of_doubtful_texts(dataset),
            *warn_of_different_writing(prepared),
            *_warn_of_suspicious_human_scores(dataset),
            *metric_warnings,
        ],
        data=summary,
    )
    return content, configuration


def _write_check_result(run_folder: RunFolder, check_result: CheckResult) -> None:
    """Write the result of `check` to its run folder. Estimated times get a file of their own, because they
    differ between runs and the other results do not.
    """
    content = check_result.to_dict()
    estimate = content.pop("estimate")
    run_folder.write_result_files({"results/check.json": content, TIMINGS: estimate})


def _find_columns_with_metric_scores(dataset: Dataset) -> list[str]:
    """Find columns that look like metric scores: columns of decimal numbers, and of integers with too many
    values to be contexts.
    """
    _, numeric_columns = find_score_columns(dataset.outputs.select(dataset.metadata))
    metric_columns = []
    for name in numeric_columns:
        column = dataset.outputs[name]
        if column.dtype.is_float() or column.n_unique() > _MOST_NUMBERED_CONTEXTS:
            metric_columns.append(name)
    return metric_columns


def _list_test_sets(dataset: Dataset) -> list[CheckedTestSet]:
    """List the test sets with their numbers of items. Returns an empty list if the data has only one test
    set.
    """
    outputs = dataset.outputs
    columns = [name for name in TEST_SET_COLUMNS if name in outputs.columns and outputs[name].n_unique() > 1]
    if not columns:
        return []
    test_sets = []
    for values, rows in sorted(outputs.group_by(columns), key=lambda group: str(group[0])):
        rated_items = {name: _count_rated_items(rows, name) for name in dataset.human}
        by_column = {name: str(value) for name, value in zip(columns, values)}
        test_sets.append(CheckedTestSet(by_column, rows["item"].n_unique(), rated_items))
    return test_sets


def _count_rated_items(outputs: pl.DataFrame, human_column: str) -> int:
    """Count the items for which every rated system has a human score."""
    rated = outputs.drop_nulls(human_column)
    systems = rated["system"].n_unique()
    counts = rated.group_by("item").agg(pl.col("system").n_unique())
    return int((counts["system"] == systems).sum())


def _find_two_best_systems(dataset: Dataset) -> UndecidedSystems | None:
    """Find the two systems with the highest mean human scores, and estimate how many rated items are needed
    to tell which is better.

    The first human score with enough rated items is used. Returns None if the two systems differ
    significantly already.
    """
    if not dataset.directions:
        dataset, _ = reverse_human_scores_if_lower_is_better(dataset, RequestedDirections())
    # `estimate` leaves out the systems that are the reference.
    outputs = dataset.outputs.filter(~pl.col("system").is_in(find_systems_equal_to_references(dataset)))
    for human in dataset.human:
        rated = outputs.drop_nulls(human)
        means = rated.group_by("system").agg(pl.col(human).mean()).sort(human, "system")
        if means.height < 2:
            continue
        second, best = means["system"].tail(2)
        of_both = rated.filter(pl.col("system").is_in([best, second]))
        table = of_both.pivot(on="system", index="item", values=human, aggregate_function="mean").drop_nulls()
        scores = table.select(best, second).to_numpy().T.astype(np.float64)
        if scores.shape[1] < _SMALLEST_PILOT:
            continue
        differences = scores[0] - scores[1]
        standard_error = differences.std(ddof=1) / np.sqrt(len(differences))
        difference = float(differences.mean())
        # With equal means, no number of items would separate the systems.
        if difference == 0 or abs(difference) > _SIGNIFICANT_T * standard_error:
            return None
        # One-sided at 2.5 % is two-sided at 5 %, as is |t| > 2.
        needed = count_items_needed_to_separate_systems(scores, alpha=0.025)[0]
        return UndecidedSystems(human, best, second, abs(difference), len(differences), int(needed))
    return None


def _count_outputs_by_number_of_references(dataset: Dataset) -> dict[str, int]:
    """Count the outputs that have one reference, two references and so on."""
    if "references" not in dataset.outputs.columns:
        return {}
    counts = Counter(dataset.outputs["references"].list.len())
    return {str(references): outputs for references, outputs in sorted(counts.items())}


def _warn_of_suspicious_human_scores(dataset: Dataset) -> list[str]:
    """Return notes on human scores that seem to be on another scale for some systems, or to contain values
    that mean missing.
    """
    notes = []
    for human_score in dataset.human:
        notes += warn_if_score_scales_differ_in_table(dataset.outputs, human_score)
        scores = dataset.outputs[human_score].to_numpy()
        notes += warn_of_values_that_may_mean_missing(human_score, scores)
    return notes


def _estimate_assay_duration(dataset: Dataset, metrics: Sequence[Metric], workers: int) -> CostEstimate:
    """Estimate how long an assay takes by scoring a sample of the outputs."""
    perturbations = list_default_perturbations(dataset.task_definition)
    perturbed_per_output = 1 if dataset.rows_are_pairs else len(perturbations)
    texts = len(dataset) * (1 + perturbed_per_output)
    seconds_per_1000 = measure_metric_run_times(metrics, build_table_of_outputs_to_score(dataset))
    seconds = {metric: round(cost * texts / 1000, 3) for metric, cost in seconds_per_1000.items()}
    return CostEstimate(texts, seconds, round(sum(seconds.values()) / workers, 1))
