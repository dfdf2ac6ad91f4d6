"""Forecasts to how many outputs each default perturbation will apply, by applying it to a sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from metassay.data.dataset import Dataset
from metassay.perturbations.applicability import explain_why_not_applicable
from metassay.perturbations.base import AnyPerturbation
from metassay.perturbations.distinct_outputs import list_languages_without_region
from metassay.perturbations.pairs import PerturbationCount, perturb_and_pair_outputs
from metassay.perturbations.registry import list_default_perturbations
from metassay.perturbations.runner import PairSettings

# How many outputs of a larger data set are tried.
MAXIMUM_OUTPUTS = 1000
# How many are tried by a perturbation that needs a tagger, which is slow.
MAXIMUM_TAGGED_OUTPUTS = 500


@dataclass(frozen=True)
class PerturbationForecast:
    """An estimate of how many outputs a perturbation (a rule that makes outputs worse) will change, from a
    sample of the data set.
    """

    perturbation: str
    outputs: int
    """How many of the tried outputs it applies to."""
    tried: int
    """How many outputs were tried: all, or those of items evenly spread over a large data set."""
    why: str | None
    """Why it does not apply to the outputs of some language, or to any output; None if it does."""


def estimate_perturbed_output_counts(
    dataset: Dataset,
    *,
    maximum_outputs: int = MAXIMUM_OUTPUTS,
    maximum_tagged_outputs: int = MAXIMUM_TAGGED_OUTPUTS,
    seed: int = 0,
    workers: int = 1,
) -> list[PerturbationForecast]:
    """Estimate how many outputs of a data set each default perturbation (a rule that makes outputs worse)
    will change, by applying it to a sample.
    """
    perturbations = list_default_perturbations(dataset.task_definition)
    language_counts = (
        {} if dataset.task_definition.is_ranking else Counter(list_languages_without_region(dataset))
    )
    slow = tuple(each for each in perturbations if not each.tagged_languages.isdisjoint(language_counts))
    fast = tuple(each for each in perturbations if each not in slow)
    counts: dict[str, tuple[PerturbationCount, int]] = {}
    for group, limit in ((slow, min(maximum_outputs, maximum_tagged_outputs)), (fast, maximum_outputs)):
        if not group or not len(dataset):
            continue
        sample = _sample_outputs_of_whole_items(dataset, limit)
        pairs = perturb_and_pair_outputs(sample, group, PairSettings(seed=seed, workers=workers))
        for spec, count in pairs.counts.items():
            counts[spec] = count, len(sample)
    # An empty data set has no sample.
    if not counts:
        return []
    return [_build_forecast(each, *counts[each.spec], language_counts) for each in perturbations]


def _sample_outputs_of_whole_items(dataset: Dataset, maximum_outputs: int) -> Dataset:
    """Return the outputs of evenly spread items, about `maximum_outputs` in all. A data set with fewer
    outputs is returned whole.
    """
    # Negated floor division rounds up.
    step = -(-len(dataset) // maximum_outputs)
    if step == 1:
        return dataset
    sampled_items = dataset.items[::step]
    return dataset.filter_rows(dataset.outputs["item"].is_in(sampled_items), reason="not tried")


def _build_forecast(
    perturbation: AnyPerturbation,
    applied_count: PerturbationCount,
    tried_count: int,
    outputs_by_language: Mapping[str | None, int],
) -> PerturbationForecast:
    """Build the forecast of how many outputs a perturbation will change, with the reasons why it does not
    apply to other outputs.
    """
    reasons = []
    for language in sorted(outputs_by_language, key=lambda name: name or ""):
        reason = explain_why_not_applicable(perturbation, language, requested=False, strict_resources=False)
        if reason:
            reasons.append(reason)
    if not reasons and not applied_count.applied:
        reasons = [f"{perturbation.spec} finds nothing to change"]
    return PerturbationForecast(
        perturbation.spec, applied_count.applied, tried_count, "; ".join(reasons) or None
    )
