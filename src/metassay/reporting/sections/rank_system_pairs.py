"""Section of the `rank` page: how certainly people and a metric prefer each system to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from metassay.meta.people.pair_p_values import MOST_SYSTEMS
from metassay.reporting.charts.heatmaps import build_signed_heatmap
from metassay.reporting.charts.theme import Spec
from metassay.reporting.pages import Chart, Section
from metassay.reporting.rank_report import RankReport
from metassay.reporting.wording import format_count, format_p_value, format_plural, list_names
from metassay.results.rank import MetricPairPValues, Ranking

SPA = "spa"
EXPLANATION = (
    "SPA compares a metric with people on every pair of systems: which system is better, and how certain this"
    " is. Systems are numbered by human score, best first. Each cell is a one-sided p-value. A small p-value"
    " (blue) means that the system in the row is better, a large one (red) that the system in the column is"
    " better. Pale cells are undecided."
)
DIFFERENCE_CAPTION = (
    "p-values by people minus p-values by the metric. Blue: the metric favours the system in the row more "
    "than people do. Red: it favours this system less. SPA is 1 minus the mean size of these differences."
)
# Metrics to select from over all rankings; of more, the best.
MOST_METRICS = 60
# Up to this many systems cells show their numbers.
MOST_SYSTEMS_WITH_NUMBERS = 9
# Smaller differences of p-values cannot be seen; a p-value below it is certain.
NEGLIGIBLE = 0.005


@dataclass(frozen=True)
class SystemPair:
    """Two systems, the one with the better human score first, with two p-values of the difference: by people
    and by a metric.
    """

    better: str
    worse: str
    human: float
    metric: float


def build_system_pairs_section(rank_report: RankReport) -> Section | None:
    """Build the section that compares how certain people and metrics are about system differences. None
    without a ranking by soft pairwise accuracy (SPA).
    """
    rankings = [ranking for ranking in rank_report.result.global_rankings if ranking.meta_metric == SPA]
    with_p_values = [ranking for ranking in rankings if ranking.pair_p_values is not None]
    choices: list[Section] = []
    for ranking in with_p_values:
        most_metrics = max(1, MOST_METRICS // len(with_p_values))
        choices += _build_metric_subsections(
            ranking, rank_report, most_metrics, is_only=len(with_p_values) == 1
        )
    notes = _list_datasets_without_heatmap(rankings)
    if choices:
        return Section("Pairs of systems", [EXPLANATION, *notes], choices=choices, choice_noun="metric")
    return Section("Pairs of systems", notes) if notes else None


def _list_datasets_without_heatmap(rankings: Sequence[Ranking]) -> list[str]:
    """Say for which data sets no heatmap is drawn, because they have too many systems."""
    large = []
    for ranking in rankings:
        if ranking.systems > MOST_SYSTEMS:
            large.append(f"{ranking.dataset} ({format_count(ranking.systems)})")
    if not large:
        return []
    return [f"Too many systems to draw every pair (--systems names some): {list_names(large, '')}."]


def _build_metric_subsections(
    ranking: Ranking, rank_report: RankReport, most_metrics: int, *, is_only: bool
) -> list[Section]:
    """Build a subsection for each of the best metrics of a ranking, with heatmaps of the p-values of system
    differences.
    """
    if ranking.pair_p_values is None:
        return []
    rows = {row.metric: row for row in ranking.pair_p_values.rows}
    best_first = [metric.metric for metric in ranking.metrics if metric.metric in rows]
    choices = []
    for metric in best_first[:most_metrics]:
        label = rank_report.labels[metric]
        title = label if is_only else f"{ranking.dataset}: {label}"
        choices.append(_build_metric_subsection(title, label, ranking.pair_p_values.systems, rows[metric]))
    return choices


def _build_metric_subsection(
    title: str, label: str, systems: Sequence[str], metric_p_values: MetricPairPValues
) -> Section:
    """Build the heatmaps that compare one metric with people, or a sentence if both are equally certain about
    all pairs of systems.
    """
    pairs = [
        SystemPair(better, worse, human, metric)
        for (better, worse), human, metric in zip(
            combinations(systems, 2), metric_p_values.human, metric_p_values.metric_p_values, strict=True
        )
    ]
    largest = max(pairs, key=lambda pair: abs(pair.human - pair.metric))
    if abs(largest.human - largest.metric) < NEGLIGIBLE:
        sentence = (
            f"People and {label} are equally certain about every pair: no p-value differs by {NEGLIGIBLE:g}."
        )
        return Section(title, [sentence])
    heatmaps = {
        "people": ("p-values by people.", [0.5 - pair.human for pair in pairs], metric_p_values.human),
        label: (
            f"p-values by {label}.",
            [0.5 - pair.metric for pair in pairs],
            metric_p_values.metric_p_values,
        ),
    }
    differences = [pair.human - pair.metric for pair in pairs]
    heatmaps[f"{label} minus people"] = (DIFFERENCE_CAPTION, differences, differences)
    charts = []
    sentences = [_describe_disagreement_with_people(label, pairs, largest)]
    for name, (caption, favours, numbers) in heatmaps.items():
        if min(favours) >= 0.5 - NEGLIGIBLE:
            sentences.append(f"Not drawn, because certain about every pair in the order of people: {name}.")
        else:
            chart = _build_p_value_heatmap(name, systems, pairs, favours, numbers)
            charts.append(Chart(f"pairs of systems {title}: {name}", chart, caption))
    return Section(title, sentences, charts, charts_side_by_side=True)


def _describe_disagreement_with_people(
    metric_label: str, system_pairs: Sequence[SystemPair], widest_pair: SystemPair
) -> str:
    """Say for how many pairs of systems a metric and people prefer different systems, and about which pair
    they differ most.
    """
    disagreements = sum((pair.human - 0.5) * (pair.metric - 0.5) < 0 for pair in system_pairs)
    agreement = "the same system in all"
    if disagreements:
        agreement = f"different systems in {format_count(disagreements)} of"
    by_people = _name_preferred_system(widest_pair, widest_pair.human)
    by_metric = _name_preferred_system(widest_pair, widest_pair.metric)
    return (
        f"{metric_label} and people prefer {agreement} {format_plural(len(system_pairs), 'pair')}. They"
        f" differ most on {widest_pair.better} and {widest_pair.worse}: people prefer {by_people},"
        f" {metric_label} prefers {by_metric}."
    )


def _name_preferred_system(system_pair: SystemPair, p_value: float) -> str:
    """Name the system that a one-sided p-value favours, with the p-value. It is the system with the better
    human score if p ≤ ½.
    """
    preferred = system_pair.better if p_value <= 0.5 else system_pair.worse
    return f"{preferred} with p {format_p_value(min(p_value, 1 - p_value))}"


def _build_p_value_heatmap(
    chart_name: str,
    systems: Sequence[str],
    system_pairs: Sequence[SystemPair],
    preferences: Sequence[float],
    shown_numbers: Sequence[float],
) -> Spec:
    """Draw a heatmap of all pairs of systems, coloured by how certain it is that the system of the row is
    better.

    `shown_numbers` are written into the cells if there are few systems.
    """
    numbered = {system: f"{position} {system}" for position, system in enumerate(systems, start=1)}
    has_numbers = len(systems) <= MOST_SYSTEMS_WITH_NUMBERS
    cells: list[Spec] = []
    for pair, preference, number in zip(system_pairs, preferences, shown_numbers, strict=True):
        mark = f"{number:.2f}".replace("-", "−").replace("0.", ".", 1) if has_numbers else ""
        cells.append(
            {
                "row": numbered[pair.better],
                "column": numbered[pair.worse],
                "value": round(preference, 4),
                "p by people": pair.human,
                "p by the metric": pair.metric,
                "mark": mark,
            }
        )
    names = list(numbered.values())
    description = f"How certainly each of {len(systems)} systems is preferred to each other: {chart_name}."
    titles = ("system", "and", "in favour of the first", "p by people", "p by the metric")
    return build_signed_heatmap(
        description, cells, names, names[1:], titles, largest_amount=0.5, has_numbered_names=True
    )
