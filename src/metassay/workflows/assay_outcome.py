"""The steps of an assay after its preparation: make pairs of outputs, score them, and compare the metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from metassay.data.dataset import Dataset
from metassay.data.memory import release_memory
from metassay.errors import InputError
from metassay.meta.contexts.pair_analysis import PairOutcomeAnalysis, analyze_pairs
from metassay.metrics.base import Metric
from metassay.metrics.precomputed_scores import PrecomputedScores, list_distinct_texts
from metassay.metrics.selection import collect_metric_costs
from metassay.metrics.sentinels import SENTINELS
from metassay.options import HUMAN_PAIRS, PERTURBED_PAIRS
from metassay.perturbations.label_errors import LabelError, look_up_perturbation_error_rates
from metassay.perturbations.pairs import Pairs
from metassay.reporting.assay_sentences import explain_why_metric_ignores_quality
from metassay.results.assay import LabelErrorRate
from metassay.stats.arrays import FloatArray
from metassay.workflows.assay_pairs import (
    is_dataset_too_large_for_one_shard,
    make_output_pairs,
    make_output_pairs_shard_by_shard,
)
from metassay.workflows.assay_preparation import PreparedAssay
from metassay.workflows.context_facts import summarize_outputs_by_context
from metassay.workflows.human_pairs import measure_agreement_with_human_order
from metassay.workflows.output_weights import compute_weight_of_each_output
from metassay.workflows.pair_scoring import (
    ScoredPairs,
    list_texts_of_pairs,
    score_output_pairs,
)
from metassay.workflows.run_files import collect_warnings
from metassay.workflows.score_sample import ScoreSample, select_every_nth_scored_output
from metassay.workflows.shards import ShardScorer

# Label errors by perturbation and language; None where nobody read such pairs.
LabelErrors = Mapping[tuple[str, str | None], LabelError | None]


@dataclass(frozen=True)
class AssayOutcome:
    """The pairs of outputs of an assay, their metric scores, and the comparison of the metrics on these
    pairs.

    `pairs` are the sampled pairs, which the results count. `prices` are the prices of the requests of
    metrics that are paid for.
    """

    pairs: Pairs
    scored_pairs: ScoredPairs
    analysis: PairOutcomeAnalysis
    prices: Mapping[str, Sequence[float]]
    label_errors: LabelErrors

    def list_perturbation_label_error_rates(self) -> list[LabelErrorRate]:
        """List how often perturbed outputs are in fact not worse than the original ones, for each
        perturbation and language for which this is known.
        """
        rates = []
        for (perturbation, language), error in self.label_errors.items():
            if error is not None:
                rate = LabelErrorRate(
                    perturbation=perturbation,
                    language=language,
                    read=error.pairs_read,
                    not_worse=error.not_worse,
                    rate=error.rate,
                    low=error.low,
                    high=error.high,
                )
                rates.append(rate)
        return rates


def score_pairs_and_compare_metrics(prepared_assay: PreparedAssay) -> AssayOutcome:
    """Make pairs of outputs, score both outputs of each pair with every metric, and compute how often each
    metric orders the pairs correctly, in every context such as a domain.
    """
    dataset = prepared_assay.dataset
    plan = prepared_assay.plan
    execution = prepared_assay.execution
    weights = compute_weight_of_each_output(dataset, plan.settings.weights, plan.contexts)
    sampled_pairs, scored, metrics, score_sample = make_and_score_output_pairs(prepared_assay, weights)
    uninformed = {} if score_sample is None else score_sample.find_metrics_that_ignore_output_text(metrics)
    notes = [explain_why_metric_ignores_quality(metric, source) for metric, source in uninformed.items()]
    scored = replace(scored, notes=(*scored.notes, *notes))
    execution.report_progress("judging", 0, 1)
    human_pairs = None
    if plan.compared_human is not None:
        human_pairs = measure_agreement_with_human_order(
            dataset, plan.compared_human, scored, metrics, plan.contexts, weights
        )
        if human_pairs is None:
            note = (
                f"{plan.compared_human} has no two different scores for outputs of the same item, so there "
                "are no human pairs."
            )
            scored = replace(scored, notes=(*scored.notes, note))
    costs = collect_metric_costs(plan.metrics)
    analysis = analyze_pairs(
        scored.outcomes.select_pairs(scored.is_sampled),
        [scored.assign_sampled_pairs_to_contexts(context) for context in plan.contexts],
        ties=plan.settings.ties,
        agreement=plan.settings.agreement,
        seed=plan.seed,
        resamples=plan.settings.resamples,
        permutations=plan.settings.permutations,
        all_perturbations=scored.outcomes,
        cost_classes=costs.classes,
        sentinels=[metric.spec for metric in prepared_assay.sentinels],
        uninformed=[
            metric.spec
            for metric in plan.metrics
            if metric.spec in uninformed or isinstance(metric, tuple(SENTINELS))
        ],
        context_properties=summarize_outputs_by_context(dataset, plan.contexts),
        minimum_items=plan.settings.minimum_items,
        workers=execution.workers,
        pairs_from=_describe_origin_of_pairs(plan.settings.pairs, sampled_pairs),
        human_pairs=human_pairs,
    )
    execution.report_progress("judging", 1, 1)
    release_memory()
    label_errors: LabelErrors = {}  # unknown for pairs that were not perturbed
    if plan.settings.pairs == PERTURBED_PAIRS and not dataset.task_definition.is_ranking:
        label_errors = look_up_perturbation_error_rates(scored.pairs.counts, dataset.languages)
    return AssayOutcome(sampled_pairs, scored, analysis, costs.prices, label_errors)


def make_and_score_output_pairs(
    prepared_assay: PreparedAssay, output_weights: FloatArray | None
) -> tuple[Pairs, ScoredPairs, tuple[Metric, ...], ScoreSample | None]:
    """Make all pairs of a better and a worse output for an assay, and score both outputs with every metric.

    Returns the sampled pairs, all scored pairs, the metrics, and a sample of scored texts, which rankings do
    not have.
    """
    dataset = prepared_assay.dataset
    plan = prepared_assay.plan
    execution = prepared_assay.execution
    metrics = prepared_assay.all_metrics
    score_sample: ScoreSample | None = None
    if is_dataset_too_large_for_one_shard(dataset, plan, execution):
        scorer = ShardScorer(prepared_assay, output_weights)
        pairs_by_shard = make_output_pairs_shard_by_shard(dataset, plan, execution, prepared_assay.clusters)
        with collect_warnings() as notes:
            sampled_pairs, scored, score_sample = scorer.score_all_pairs(
                pairs_by_shard, plan.settings.per_output
            )
    else:
        pairs = make_output_pairs(dataset, plan, execution)
        if not len(pairs):
            raise _build_no_pairs_error(pairs)
        sampled_pairs = pairs
        if plan.settings.pairs == PERTURBED_PAIRS:
            sampled_pairs = pairs.sample_pairs_per_output(plan.settings.per_output)
        metrics = look_up_precomputed_scores_of_pairs(dataset, pairs, metrics)
        with collect_warnings() as notes:
            scored = score_output_pairs(
                dataset,
                pairs,
                metrics,
                execution,
                sampled_pairs=sampled_pairs,
                clusters=prepared_assay.clusters,
                weights=output_weights,
                additional_output_rows=prepared_assay.find_human_scored_rows(),
            )
        if not dataset.task_definition.is_ranking:
            score_sample = select_every_nth_scored_output(dataset, scored)
    scored = replace(scored, notes=(*scored.notes, *notes, *scored.metric_notes))
    return sampled_pairs, scored, metrics, score_sample


def _build_no_pairs_error(pairs: Pairs) -> InputError:
    """Return the error for outputs of which no perturbation made a worse version, with the first reason."""
    choices = (
        "Other ways: --perturbations NAMES (see metassay list perturbations), --pairs FILE, or pairs by human"
        " score."
    )
    return InputError(
        "no perturbation made an output worse, so there are no pairs to compare.",
        remedy=" ".join([*pairs.notes[:1], choices]),
    )


def look_up_precomputed_scores_of_pairs(
    dataset: Dataset, pairs: Pairs, metrics: Sequence[Metric]
) -> tuple[Metric, ...]:
    """Look up the scores of all outputs in pairs, for metrics whose scores were read from files. Other
    metrics are returned unchanged.
    """
    if not any(isinstance(metric, PrecomputedScores) for metric in metrics):
        return tuple(metrics)
    texts = list_distinct_texts(list_texts_of_pairs(dataset, pairs))
    return tuple(
        metric.look_up_scores_of_texts(texts) if isinstance(metric, PrecomputedScores) else metric
        for metric in metrics
    )


def _describe_origin_of_pairs(pairs_option: object, sampled_pairs: Pairs) -> str:
    """Return in one word how the pairs of outputs were made: `rule`, `model` (a language model) or `people`
    (human scores). The word is empty if the user made them.
    """
    if pairs_option == HUMAN_PAIRS:
        return "people"
    if pairs_option != PERTURBED_PAIRS:
        return ""
    by_model = sampled_pairs.counts.get("llm")
    return "model" if by_model is not None and by_model.pairs else "rule"
