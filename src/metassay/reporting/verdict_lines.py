"""The main statements of an assay, as the page, the terminal, notebooks and `recommend` show them."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.metrics.sentinels import SENTINEL_NAMES
from metassay.reporting.labels import MetricLabels
from metassay.reporting.labels_saved_sentences import RATED_ITEMS, format_equivalent_items_for_table
from metassay.reporting.tables import Field, Grid, build_grid
from metassay.reporting.wording import (
    choose_decimals_for_percentage,
    find_installed_task,
    format_number,
    format_percent,
    format_percent_interval,
)
from metassay.results.verdict import Claim, Question, select_claims_of_kinds

_MOST_TIED = 3
_QUESTION_TITLES: dict[Question, str] = {
    "detect_errors": "Detect errors in single {outputs}",
    "prefer_better": "Prefer the better {output} of your pairs",
    "choose_outputs": "Choose {outputs} as people do",
    "rank_systems": "Rank systems as people do",
    "save_labels": "Save human labels",
}
_FIELDS = (
    Field("question", "question", "prose"),
    Field("best", "best metric", "text"),
    Field("result", "result", "text", "with the 95 % interval"),
    Field(
        "tied",
        "tied",
        "text",
        "not shown to be behind the best, corrected for all comparisons; for SPA, 95 % intervals overlap",
    ),
    Field("baseline", "baseline", "text", "what needs no skill"),
)


def list_opening_lines_of_verdict(verdict: Sequence[Claim]) -> list[str]:
    """List the sentences at the top of an assay report, above the table of answers: which metrics to use,
    which to avoid, and what data was used.

    If the data cannot tell which metric ranks systems as people do, a line says so.
    """
    claims = select_claims_of_kinds(verdict, "use", "none", "avoid")
    open_questions = select_claims_of_kinds(verdict, "unanswered")
    claims += [claim for claim in open_questions if claim.question == "rank_systems"]
    return [claim.sentence for claim in [*claims, *select_claims_of_kinds(verdict, "data")]]


def list_closing_lines_of_verdict(verdict: Sequence[Claim]) -> list[str]:
    """List the sentences below the table of answers in an assay report: evidence from other data, the next
    command, costs and the main caveat.
    """
    return [claim.sentence for claim in select_claims_of_kinds(verdict, "prior", "next", "regret", "caveat")]


def list_answers_as_rows(
    verdict: Sequence[Claim], metric_labels: MetricLabels, task: str
) -> list[dict[str, str | None]]:
    """Build a table row for each question about metrics, such as which metric ranks systems best: the best
    metric, its result, and the metrics tied with it.
    """
    claims = select_claims_of_kinds(verdict, "answer", "unanswered")
    return [_build_question_row(claim, metric_labels, task) for claim in claims]


def build_question_table(verdict: Sequence[Claim], metric_labels: MetricLabels, task: str) -> Grid | None:
    """Build a table of questions about metrics with the answers of a result. None if the result answers no
    question.
    """
    if not select_claims_of_kinds(verdict, "answer"):
        return None
    rows = list_answers_as_rows(verdict, metric_labels, task)
    return build_grid("questions", "Best metric by question", _FIELDS, rows)


def _build_question_row(claim: Claim, metric_labels: MetricLabels, task: str) -> dict[str, str | None]:
    title = "" if claim.question is None else write_question_title(claim.question, task)
    if claim.kind == "unanswered":
        unknown = dict.fromkeys(("result", "tied", "baseline"))
        # A claim with a value, or about saved labels, was tested: no metric is good enough.
        is_tested = claim.value is not None or claim.question == "save_labels"
        best = "none is shown to" if is_tested else "not known"
        return {"question": title, "best": best, **unknown}
    names = metric_labels.list_labels_of_metrics(claim.metrics)
    return {
        "question": title,
        "best": names[0],
        "result": _describe_result_of_claim(claim),
        "tied": _name_tied_metrics(names[1:], _count_shown_metrics(metric_labels)),
        "baseline": _describe_baseline_value_of_claim(claim),
    }


def _describe_result_of_claim(claim: Claim) -> str:
    if claim.question == "rank_systems":
        ends = "" if claim.low is None else f" ({format_number(claim.low)}–{format_number(claim.high)})"
        return f"SPA {format_number(claim.value)}{ends}"
    if claim.question == "save_labels":
        equivalent_items = format_equivalent_items_for_table(claim.value, claim.low, claim.high)
        return f"{RATED_ITEMS} ratings worth {equivalent_items}"
    digits = choose_decimals_for_percentage(claim.low, claim.high)
    ends = "" if claim.low is None else f" ({format_percent_interval(claim.low, claim.high, digits=digits)})"
    return f"{format_percent(claim.value, digits=digits)}{ends}"


def _count_shown_metrics(metric_labels: MetricLabels) -> int:
    """Count the metrics of a page without baselines. Metrics that make the same decision on every pair of
    outputs count as one.
    """
    specs = [spec for spec in metric_labels.single_labels if spec.partition("(")[0] not in SENTINEL_NAMES]
    return len(metric_labels.list_labels_of_metrics(specs))


def _name_tied_metrics(tied_metric_labels: Sequence[str], metric_count: int) -> str:
    if not tied_metric_labels:
        return "none"
    if len(tied_metric_labels) > _MOST_TIED:
        is_every_metric = len(tied_metric_labels) == metric_count - 1
        return "all others" if is_every_metric else f"{len(tied_metric_labels)} others"
    return ", ".join(tied_metric_labels)


def _describe_baseline_value_of_claim(claim: Claim) -> str | None:
    if claim.baseline is None:
        return None
    if claim.question == "rank_systems":
        return f"constant: {format_number(claim.baseline)}"
    if claim.question == "save_labels":
        return None  # the result compares with ratings alone
    return f"coin: {format_percent(claim.baseline)}"


def write_question_title(question: Question, task_name: str) -> str:
    """Write the title of a question that users ask about metrics, such as `Rank systems as people do`."""
    task = find_installed_task(task_name)
    output = "output" if task is None else task.output_noun
    return _QUESTION_TITLES[question].format(output=output, outputs=get_output_noun(task_name))


def describe_purpose_of_question(question: Question, task_name: str) -> str:
    """Write the purpose of a question about metrics as part of a sentence, such as `rank systems as people
    do`.
    """
    title = write_question_title(question, task_name)
    return title[0].lower() + title[1:]


def get_output_noun(task_name: str) -> str:
    """Return the plural noun for the outputs of a task, such as `translations`."""
    task = find_installed_task(task_name)
    return "outputs" if task is None else task.output_noun_plural
