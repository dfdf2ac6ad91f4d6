"""Everything that is measured of the judges in a table of verdicts, as parts of the result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from metassay.data.verdict_types import GRADE, LABEL, PAIRWISE
from metassay.data.verdicts import VerdictTable
from metassay.meta.judges.alternative_annotator_test import alternative_annotator_test
from metassay.meta.judges.judge_measures import (
    JudgeMeasures,
    VerdictAccuracies,
    estimate_accuracy_by_context,
    estimate_accuracy_change,
    evaluate_label_judge,
    evaluate_pairwise_judge,
    evaluate_scoring_judge,
    evaluate_scoring_judge_across_items,
)
from metassay.meta.judges.label_correction import ShareCorrection
from metassay.meta.judges.self_preference import (
    FamilyPreference,
    estimate_judge_bias_for_model_family,
    estimate_judge_bias_relative_to_other_judges,
)
from metassay.meta.judges.verdict_arrays import VerdictArrays
from metassay.results import judge as results
from metassay.results.base import none_if_nan
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.multiplicity import adjust_p_values_by_holm
from metassay.stats.resampling import draw_bootstrap_counts

RESAMPLES = 1000


@dataclass(frozen=True)
class JudgeAnalysis:
    """Accuracy, consistency and biases of all LLM judges, computed from a table of their verdicts."""

    items: int
    compares_items: bool
    judges: list[results.JudgeEntry]
    contexts: dict[str, list[results.JudgeContextAccuracy]]
    alt_test: list[results.AlternativeTestEntry]
    self_preference: list[results.SelfPreference]
    drift: list[results.AccuracyDrift]


def measure_judge_accuracy_and_biases(
    verdict_table: VerdictTable,
    *,
    contexts: Sequence[str] | None = None,
    ties: str = "half",
    epsilon: float = 0.2,
    seed: int = 0,
    price: float | None = None,
) -> JudgeAnalysis:
    """Measure accuracy, consistency and biases of all LLM judges in a table of verdicts.

    `contexts` are the columns within whose values accuracy is measured; by default those with a known name.
    `price` is the cost of a judge whose verdicts have no cost of their own.
    """
    arrays = VerdictArrays(verdict_table)
    bootstrap = ClusterBootstrap(np.random.default_rng(seed), RESAMPLES)
    columns = arrays.choose_default_contexts() if contexts is None else contexts
    measures = {}
    for judge in arrays.judges:
        measures[judge] = _measure_accuracy_and_biases_of_judge(
            arrays, judge, arrays.get_verdicts_of_judge(judge), bootstrap, ties
        )
    return JudgeAnalysis(
        items=len(arrays.items),
        compares_items=verdict_table.kind == GRADE and arrays.has_one_output_per_item,
        judges=[
            _build_judge_result(judge, judge_measures, arrays.get_verdicts_of_judge(judge), price)
            for judge, judge_measures in measures.items()
        ],
        contexts={
            column: _estimate_judge_accuracy_in_contexts(arrays, column, measures, bootstrap)
            for column in columns
        },
        alt_test=_test_whether_judges_can_replace_annotators(arrays, epsilon),
        self_preference=_estimate_self_preference(arrays, seed),
        drift=_estimate_judge_accuracy_change_over_time(arrays, bootstrap, ties),
    )


def _measure_accuracy_and_biases_of_judge(
    verdict_arrays: VerdictArrays,
    judge: str,
    verdict_rows: pl.DataFrame,
    bootstrap: ClusterBootstrap,
    ties: str,
) -> JudgeMeasures:
    """Measure accuracy, consistency and biases of one judge from the rows with its verdicts."""
    verdicts = verdict_arrays.convert_rows_to_judge_verdicts(verdict_rows)
    if verdict_arrays.table.kind == PAIRWISE:
        return evaluate_pairwise_judge(verdicts, bootstrap, ties=ties)
    if verdict_arrays.table.kind == LABEL:
        return evaluate_label_judge(verdicts, bootstrap)
    if verdict_arrays.has_one_output_per_item:
        return evaluate_scoring_judge_across_items(
            verdict_arrays.average_judge_verdicts_by_item(judge),
            verdict_arrays.human_score_by_item,
            verdicts,
            bootstrap,
        )
    return evaluate_scoring_judge(
        verdict_arrays.average_verdicts_by_output(judge),
        verdict_arrays.human_score_matrix,
        verdicts,
        bootstrap,
    )


def _build_judge_result(
    judge: str, measures: JudgeMeasures, verdict_rows: pl.DataFrame, price: float | None
) -> results.JudgeEntry:
    """Convert the measures of one judge to their JSON form."""
    has_costs = "cost" in verdict_rows.columns and verdict_rows["cost"].count() > 0
    estimates = {
        "both_orders_same": measures.both_orders_same,
        "position_bias": measures.position_bias,
        "length_bias": measures.length_bias,
        "repeats_same": measures.repeats_same,
    }
    intervals = {}
    for name, estimate in estimates.items():
        if not math.isnan(estimate.low):
            intervals[name] = (estimate.low, estimate.high)
    return results.JudgeEntry(
        judge=judge,
        pairs=measures.accuracy.pairs,
        accuracy=none_if_nan(measures.accuracy.value),
        low=none_if_nan(measures.accuracy.low),
        high=none_if_nan(measures.accuracy.high),
        base_rate=none_if_nan(measures.base_rate),
        both_orders_same=none_if_nan(measures.both_orders_same.value),
        position_bias=none_if_nan(measures.position_bias.value),
        length_bias=none_if_nan(measures.length_bias.value),
        repeats_same=none_if_nan(measures.repeats_same.value),
        missing=measures.unreadable_verdict_count,
        corrected=_build_corrected_share_of_good_outputs(measures.corrected),
        cost=float(verdict_rows["cost"].sum()) if has_costs else price,
        verdicts=verdict_rows.height,
        intervals=intervals,
    )


def _build_corrected_share_of_good_outputs(
    correction: ShareCorrection | None,
) -> results.CorrectedShare | None:
    """Convert the corrected share of good outputs to its JSON form.

    Returns None if it is undefined.
    """
    if correction is None or math.isnan(correction.value):
        return None
    return results.CorrectedShare(
        value=correction.value,
        low=none_if_nan(correction.low),
        high=none_if_nan(correction.high),
        judged=none_if_nan(correction.judged),
        sensitivity=none_if_nan(correction.sensitivity),
        specificity=none_if_nan(correction.specificity),
        labelled=correction.labelled,
    )


def _estimate_judge_accuracy_in_contexts(
    verdict_arrays: VerdictArrays,
    column: str,
    measures_by_judge: Mapping[str, JudgeMeasures],
    bootstrap: ClusterBootstrap,
) -> list[results.JudgeContextAccuracy]:
    """Estimate the accuracy of every judge in each context of a column, such as each domain."""
    rows = []
    for judge, judge_measures in measures_by_judge.items():
        labels = verdict_arrays.get_context_of_each_verdict(
            column, verdict_arrays.get_verdicts_of_judge(judge)
        )
        estimates = estimate_accuracy_by_context(judge_measures.judge_accuracies, labels, bootstrap)
        for context, accuracy in estimates.items():
            row = results.JudgeContextAccuracy(
                judge=judge,
                context=context,
                accuracy=none_if_nan(accuracy.value),
                low=none_if_nan(accuracy.low),
                high=none_if_nan(accuracy.high),
                pairs=accuracy.pairs,
            )
            rows.append(row)
    return rows


def _test_whether_judges_can_replace_annotators(
    verdict_arrays: VerdictArrays, epsilon: float
) -> list[results.AlternativeTestEntry]:
    """Test for every judge whether it can replace human annotators.

    This is the alternative annotator test; it needs at least two human raters.
    """
    raters = verdict_arrays.table.raters
    if len(raters) < 2:
        return []
    entries = []
    for judge in verdict_arrays.judges:
        judge_ratings, rater_ratings = verdict_arrays.get_ratings_of_judge_and_humans(judge)
        test = alternative_annotator_test(
            judge_ratings, rater_ratings, epsilon=epsilon, categories=verdict_arrays.table.kind != GRADE
        )
        entry = results.AlternativeTestEntry(
            judge=judge,
            winning_rate=none_if_nan(test.winning_rate),
            advantage=none_if_nan(test.advantage),
            epsilon=epsilon,
            p_fdr={rater: none_if_nan(p) for rater, p in zip(raters, test.p_fdr)},
            advantages={rater: none_if_nan(share) for rater, share in zip(raters, test.advantages)},
            items=dict(zip(raters, test.items.tolist())),
            passes=None if math.isnan(test.winning_rate) else test.passes,
        )
        entries.append(entry)
    return entries


def _estimate_self_preference(verdict_arrays: VerdictArrays, seed: int) -> list[results.SelfPreference]:
    """Estimate how much each judge favours each family of systems, such as its own.

    Its scores are compared with human scores or with those of other judges. Only the judge's own family is
    tested, with Holm's correction over judges.
    """
    families = sorted(set(verdict_arrays.model_family_of_system.values()))
    has_human_verdicts = bool((~np.isnan(verdict_arrays.human_score_matrix)).any())
    if len(families) < 2 or not (has_human_verdicts or len(verdict_arrays.judges) > 1):
        return []
    scores = np.stack([verdict_arrays.average_verdicts_by_output(judge) for judge in verdict_arrays.judges])
    family_of_system = np.array(
        [verdict_arrays.model_family_of_system.get(system, "") for system in verdict_arrays.systems]
    )
    item_count = len(verdict_arrays.items)
    counts = draw_bootstrap_counts(item_count, item_count, RESAMPLES, np.random.default_rng(seed))
    resample_counts = counts.astype(np.uint32)
    preferences: list[tuple[str, str, FamilyPreference]] = []
    for position, judge in enumerate(verdict_arrays.judges):
        for family in families:
            in_family = family_of_system == family
            if has_human_verdicts:
                preference = estimate_judge_bias_for_model_family(
                    scores[position], verdict_arrays.human_score_matrix, in_family
                )
            else:
                preference = estimate_judge_bias_relative_to_other_judges(
                    scores, position, in_family, resample_counts
                )
            preferences.append((judge, family, preference))
    is_own = [verdict_arrays.model_family_of_judge.get(judge) == family for judge, family, _ in preferences]
    # NaN marks a p-value that is not tested and not counted.
    tested_p_values = [
        preference.p if own else math.nan for (_, _, preference), own in zip(preferences, is_own)
    ]
    adjusted_p_values = adjust_p_values_by_holm(tested_p_values)
    return [
        results.SelfPreference(
            judge=judge,
            family=family,
            deviation=none_if_nan(preference.deviation),
            low=none_if_nan(preference.low),
            high=none_if_nan(preference.high),
            p_holm=none_if_nan(p_holm),
            yardstick=results.HUMANS if has_human_verdicts else results.PANEL,
            own=own,
        )
        for (judge, family, preference), own, p_holm in zip(preferences, is_own, adjusted_p_values)
    ]


def _estimate_judge_accuracy_change_over_time(
    verdict_arrays: VerdictArrays, bootstrap: ClusterBootstrap, ties: str
) -> list[results.AccuracyDrift]:
    """Estimate how much the accuracy of each judge changed between its first and its last date.

    Judges that give scores are left out.
    """
    if verdict_arrays.table.kind == GRADE:
        return []
    entries = []
    for judge in verdict_arrays.judges:
        rows = verdict_arrays.get_verdicts_of_judge(judge)
        dates = sorted(rows["date"].drop_nulls().unique())
        if len(dates) < 2:
            continue
        first_rows = rows.filter(pl.col("date") == dates[0])
        last_rows = rows.filter(pl.col("date") == dates[-1])
        before = _measure_accuracy_and_biases_of_judge(verdict_arrays, judge, first_rows, bootstrap, ties)
        after = _measure_accuracy_and_biases_of_judge(verdict_arrays, judge, last_rows, bootstrap, ties)
        # only grades are compared across items, and they were left out above
        assert isinstance(before.judge_accuracies, VerdictAccuracies)
        assert isinstance(after.judge_accuracies, VerdictAccuracies)
        change = estimate_accuracy_change(before.judge_accuracies, after.judge_accuracies, bootstrap)
        entries.append(
            results.AccuracyDrift(
                judge=judge,
                first_date=dates[0],
                last_date=dates[-1],
                change=none_if_nan(change.value),
                low=none_if_nan(change.low),
                high=none_if_nan(change.high),
                pairs=change.pairs,
            )
        )
    return entries
