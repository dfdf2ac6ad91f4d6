"""What commands print: the result of a verb as lines, tables and notes (`metassay.reporting.terminal`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metassay.reporting.terminal.blocks import Block, Details, Line, Note, Table

if TYPE_CHECKING:
    from metassay.workflows.aggregate import AggregateResult
    from metassay.workflows.align import AlignResult
    from metassay.workflows.annotate import AnnotateResult
    from metassay.workflows.assay import PartialRun
    from metassay.workflows.assay_result import AssayResult
    from metassay.workflows.cache import CacheResult
    from metassay.workflows.check import CheckResult
    from metassay.workflows.compare import CompareResult
    from metassay.workflows.depend import DependResult
    from metassay.workflows.estimate import EstimateResult
    from metassay.workflows.judge import JudgeResult
    from metassay.workflows.list import ListResult
    from metassay.workflows.models import ModelsResult
    from metassay.workflows.options import ScoreSettings
    from metassay.workflows.perturb import PerturbResult
    from metassay.workflows.rank import RankResult
    from metassay.workflows.recommend import RecommendResult
    from metassay.workflows.score import ScoreResult
    from metassay.workflows.watch import WatchResult

__all__ = ["Block", "Details", "Line", "Note", "Table"]


def describe_check(check_result: CheckResult, data_arguments: str | None = None) -> list[Block]:
    """Describe what a data set holds; `data_arguments` are repeated in the commands that are suggested."""
    from metassay.reporting.terminal import check

    if not data_arguments:
        return check.describe_check_result(check_result)
    return check.describe_check_result(check_result, data_arguments)


def describe_assay(assay_result: AssayResult) -> list[Block]:
    """Describe the result of an assay."""
    from metassay.reporting.terminal import assay

    return assay.describe_assay_result(assay_result.content)


def describe_partial_run(partial_run: PartialRun) -> list[Block]:
    """Describe which parts of an assay one process scored."""
    from metassay.reporting.terminal import assay

    return assay.describe_partial_run(partial_run)


def describe_recommendation(recommend_result: RecommendResult) -> list[Block]:
    """Describe which metric to use in each context."""
    from metassay.reporting.terminal import recommend

    return recommend.describe_recommendation(recommend_result)


def describe_scores(
    score_result: ScoreResult,
    settings: ScoreSettings,
    *,
    unit: str,
    decimals: int | None = None,
    bare: bool = False,
) -> list[Block]:
    """Describe the scores of all systems: a table and details, or bare numbers."""
    from metassay.reporting.terminal import score

    score_format = score.ScoreFormat(
        settings.aggregate,
        settings.test,
        settings.resamples,
        unit,
        decimals,
        resampled_unit=score.name_unit_of_resampling(score_result, unit),
    )
    if bare:
        return score.describe_bare_scores(score_result, score_format)
    return score.describe_scores(score_result, score_format)


def describe_alignments(
    align_result: AlignResult, *, by_characters: bool, include_correct: bool
) -> list[Block]:
    """Describe outputs under their references, with errors marked."""
    from metassay.reporting.terminal import align

    return align.describe_alignments(
        align_result.systems, by_characters=by_characters, include_correct=include_correct
    )


def describe_perturbed_pairs(perturb_result: PerturbResult) -> list[Block]:
    """Describe the pairs that were made."""
    from metassay.reporting.terminal import perturb

    return perturb.describe_perturbed_pairs(perturb_result.to_dict())


def describe_rankings(rank_result: RankResult) -> list[Block]:
    """Describe how metrics rank against human scores."""
    from metassay.reporting.terminal import rank

    return rank.describe_rankings(rank_result)


def describe_dependence(depend_result: DependResult) -> list[Block]:
    """Describe which systems each metric favours."""
    from metassay.reporting.terminal import depend

    return depend.describe_dependence(depend_result)


def describe_aggregation_differences(aggregate_result: AggregateResult) -> list[Block]:
    """Describe how three aggregations of segment scores differ."""
    from metassay.reporting.terminal import aggregate

    return aggregate.describe_aggregate_result(aggregate_result)


def describe_estimates(estimate_result: EstimateResult) -> list[Block]:
    """Describe the human score of every system."""
    from metassay.reporting.terminal import estimate

    return estimate.describe_estimate_result(estimate_result)


def describe_items_to_rate(annotate_result: AnnotateResult) -> list[Block]:
    """Describe which items to have rated next."""
    from metassay.reporting.terminal import annotate

    return annotate.describe_annotate_result(annotate_result)


def describe_watch(watch_result: WatchResult) -> list[Block]:
    """Describe what changed in a series of runs."""
    from metassay.reporting.terminal import watch

    return watch.describe_watch_result(watch_result)


def describe_judge_result(judge_result: JudgeResult) -> list[Block]:
    """Describe how far judges can be trusted."""
    from metassay.reporting.terminal import judge

    return judge.describe_judge_result(judge_result)


def describe_comparisons(compare_result: CompareResult) -> list[Block]:
    """Describe what changed between runs."""
    from metassay.reporting.terminal import compare

    return compare.describe_comparisons(compare_result)


def describe_installed_components(list_result: ListResult) -> list[Block]:
    """Describe what is installed of one kind."""
    from metassay.reporting.terminal import inventory

    return inventory.describe_installed_components(list_result)


def describe_installed_models(models_result: ModelsResult) -> list[Block]:
    """Describe the neural models on this machine."""
    from metassay.reporting.terminal import inventory

    return inventory.describe_installed_models(models_result)


def describe_score_cache(cache_result: CacheResult, action: str) -> list[Block]:
    """Describe the score cache after an action."""
    from metassay.reporting.terminal import inventory

    return inventory.describe_score_cache(cache_result, action)
