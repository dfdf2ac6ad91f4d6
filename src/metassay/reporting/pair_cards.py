"""Cards of the dashboard. Each shows two outputs with the words that differ, and their scores by metrics and
people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.word_edits import (
    SHOWN_RANKS,
    align_with_reference,
    find_word_edits_between_texts,
    format_score,
    list_rank_changes_of_documents,
)
from metassay.reporting.wording import find_installed_task, format_count
from metassay.results.pair_explorer import MetricPairScores, PairQuery, StoredPair

OUTCOME_MARKS = {1: ("right", "✓"), 0: ("tie", "="), -1: ("wrong", "✗")}
UNDEFINED_MARK = ("undefined", "?")
# Characters of a text that are shown.
LONGEST_TEXT = 3000


def build_pair_card(
    pair: StoredPair,
    pair_in_other_run: StoredPair | None,
    pair_query: PairQuery,
    task: str | None,
    labels: Mapping[str, str],
) -> dict[str, Any]:
    """Build the values that the dashboard shows for a pair of outputs: both texts, what differs, and their
    scores by metrics and people.

    Rankings have `ranking_moves` instead of `edits`. For speech, `alignments` are those of both outputs with
    the first reference. `cuts` say what was cut: `the first 3000 of 5000 characters`.
    """
    references = [reference[:LONGEST_TEXT] for reference in pair.references]
    human_verdicts = []
    for name, (score, worse_score) in pair.human_scores.items():
        scores = {"output": format_score(score), "worse_output": format_score(worse_score)}
        human_verdicts.append({"name": name, **scores})
    card: dict[str, Any] = {
        "row": format_count(pair.row + 1),
        "item": pair.item,
        "system": pair.system,
        "perturbation": pair.perturbation,
        "worse_system": pair.worse_system,
        "contexts": [(name, value) for name, value in pair.contexts.items() if name != "system"],
        "human_verdicts": human_verdicts,
        "metric_verdicts": [
            _format_metric_scores_of_pair(scores, labels[metric])
            for metric, scores in pair.metric_scores.items()
        ],
        "source": (pair.source or "")[:LONGEST_TEXT],
        "references": references,
        "edits": None,
        "ranking_moves": None,
        "alignments": [],
        "cuts": [],
        "other_run": None,
    }
    if pair_in_other_run is not None:
        card["other_run"] = _build_other_run_card(pair, pair_in_other_run, pair_query, labels)
    if isinstance(pair.output, list) or isinstance(pair.worse_output, list):
        rankings = (list(pair.output), list(pair.worse_output or []))
        longest = max(map(len, rankings))
        card["ranking_moves"] = list_rank_changes_of_documents(*rankings)
        if longest > SHOWN_RANKS:
            card["cuts"].append(f"the first {SHOWN_RANKS} of {format_count(longest)} places")
        return card
    texts = (pair.output[:LONGEST_TEXT], pair.worse_output[:LONGEST_TEXT])
    card["edits"] = find_word_edits_between_texts(*texts)
    task_definition = find_installed_task(task)
    if references and task_definition is not None and task_definition.shows_word_alignment:
        card["alignments"] = [align_with_reference(references[0], text) for text in texts]
    for text in (pair.output, pair.worse_output):
        if len(text) > LONGEST_TEXT:
            card["cuts"].append(
                f"the first {format_count(LONGEST_TEXT)} of {format_count(len(text))} characters"
            )
    return card


def _format_metric_scores_of_pair(scores_of_pair: MetricPairScores, metric_label: str) -> dict[str, str]:
    """Build the values that the dashboard shows for a metric on a pair of outputs: both scores, and whether
    it prefers the better output.
    """
    outcome, mark = UNDEFINED_MARK
    if scores_of_pair.outcome is not None:
        outcome, mark = OUTCOME_MARKS.get(scores_of_pair.outcome, UNDEFINED_MARK)
    return {
        "metric": metric_label,
        "outcome": outcome,
        "mark": mark,
        "output": format_score(scores_of_pair.output),
        "worse_output": format_score(scores_of_pair.worse_output),
    }


def _build_other_run_card(
    pair: StoredPair, pair_in_other_run: StoredPair, pair_query: PairQuery, labels: Mapping[str, str]
) -> dict[str, Any]:
    """Build the values that the dashboard shows for a pair of outputs as another run scored it.

    `differing_sides` says which text differs between the runs; `edits` are None if both are the same.
    """
    verdict = None
    if pair_query.other_metric in pair_in_other_run.metric_scores:
        scores = pair_in_other_run.metric_scores[pair_query.other_metric]
        verdict = _format_metric_scores_of_pair(scores, labels[pair_query.other_metric])
    differing_sides = []
    for side, text, other_text in (
        ("output", pair.output, pair_in_other_run.output),
        ("worse output", pair.worse_output, pair_in_other_run.worse_output),
    ):
        if isinstance(other_text, str) and other_text != text:
            differing_sides.append(side)
    edits = None
    if differing_sides:
        texts = (
            str(pair_in_other_run.output)[:LONGEST_TEXT],
            str(pair_in_other_run.worse_output)[:LONGEST_TEXT],
        )
        edits = find_word_edits_between_texts(*texts)
    run = pair_query.other_run
    return {"run": run, "verdict": verdict, "edits": edits, "differing_sides": differing_sides}
