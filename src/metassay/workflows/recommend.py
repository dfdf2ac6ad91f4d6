"""`recommend`: recommend a metric for each context of a finished assay, also by the user's own criteria."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from metassay.errors import InputError, UnknownName
from metassay.meta.contexts.choice import (
    Criteria,
    collect_accuracies_and_costs_from_result,
    recommend_metric_for_each_context,
)
from metassay.reporting.recommendation_reasons import ReasonWriter
from metassay.reporting.result_display import ResultDisplay
from metassay.reporting.terminal.recommend import describe_recommendation
from metassay.results.assay import GLOBAL, AssayContent, Recommendation
from metassay.results.recommend import RecommendContent
from metassay.store.layout import TIMINGS
from metassay.workflows.run_files import RESULT, load_assay_run


class RecommendResult(ResultDisplay, RecommendContent, frozen=True, kw_only=True):
    """Result of `recommend`: the metric to use in every context, such as a domain, with reasons."""

    describe_result_for_terminal = describe_recommendation

    def to_frame(self) -> pl.DataFrame:
        """Return a table of the recommended metrics, with one row for each context (such as a domain) of each
        column.
        """
        rows = []
        for column, recommendations in self.recommendation.items():
            for context, entry in recommendations.items():
                rows.append({"column": column, "context": context, "choice": entry.choice, "why": entry.why})
        return pl.DataFrame(rows, schema=dict.fromkeys(("column", "context", "choice", "why"), pl.String))


def recommend(
    run: str | Path, *, context: str | None = None, criteria: Criteria | None = None
) -> RecommendResult:
    """Recommend a metric for each context of a finished assay, such as each domain, with reasons.

    - `run` is the run folder of the assay.
    - `context` names the column of contexts to return. By default, all columns are returned.
    - `criteria` maps the name of each of your own criteria, the most important first, to a number per metric,
      of which higher is better. If it is given, the choice is made again among the metrics that may be the
      most accurate: first by how stable a metric is, then by its cost, and then by the criteria.

    >>> import tempfile
    >>> from metassay.workflows.assay import assay, read_bundled_sample
    >>> run = tempfile.mkdtemp() + "/run"
    >>> few = {"metrics": "rouge1,rougel", "contexts": ["domain"], "perturbations": "removal,insertion"}
    >>> result = assay(read_bundled_sample("text"), resamples=20, permutations=19, out=run, **few)
    >>> recommend(run).answer.metric
    'rouge1'
    """
    folder = load_assay_run(run)
    result = folder.read_result(RESULT, AssayContent)
    columns = list(result.contexts)
    if context is not None:
        if context not in columns:
            raise UnknownName("context of this run", context, columns)
        columns = [context]
    _check_recommendation_criteria(result, criteria or {})
    with folder.report_unreadable_results():
        recommendation = {column: result.recommendation[column] for column in columns}
        if criteria:
            recommendation = {
                column: _recommend_metrics_by_user_criteria(result, column, criteria) for column in columns
            }
        robust_choice = {column: recommendation[column][GLOBAL].robust_choice for column in columns}
        metrics = {row.metric for row in result.overall}
        seconds = folder.read_json(TIMINGS)["seconds_per_1000_outputs"]
        return RecommendResult(
            answer=None if criteria else result.answer,
            recommendation=recommendation,
            robust_choice=robust_choice,
            robustness={column: result.contexts[column].robustness for column in columns},
            cost_class=result.cost_class,
            price=result.price,
            seconds={metric: float(value) for metric, value in seconds.items() if metric in metrics},
            pareto=result.pareto,
            same_decisions=result.same_decisions,
            shared_errors=result.shared_errors,
            human_comparison=result.human_comparison,
            task=result.task,
            verdict=[] if criteria else result.verdict,
        )


def _check_recommendation_criteria(assay_result: AssayContent, criteria: Criteria) -> None:
    """Raise an error if a criterion of the user names a metric that the assay does not have."""
    metrics = {row.metric for row in assay_result.overall}
    for name, numbers in criteria.items():
        unknown = sorted(set(numbers) - metrics)
        if unknown:
            raise InputError(f"criterion {name} names {unknown[0]}, which was not assayed.")


def _recommend_metrics_by_user_criteria(
    assay_result: AssayContent, context_column: str, criteria: Criteria
) -> dict[str, Recommendation]:
    """Recommend a metric for every context of one column, such as every domain, with reasons. The user's own
    criteria are taken into account.
    """
    recommendations = recommend_metric_for_each_context(
        collect_accuracies_and_costs_from_result(assay_result, context_column, criteria)
    )
    return ReasonWriter(assay_result, context_column, criteria=criteria).add_reasons(recommendations)
