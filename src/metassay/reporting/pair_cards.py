"""Cards of the dashboard: one pair with its differing words marked, and the scores of metrics and people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metassay.reporting.word_edits import (
    SHOWN_RANKS,
    Alignment,
    Edit,
    RankingMove,
    align_with_reference,
    find_word_edits_between_texts,
    format_score,
    list_rank_changes_of_documents,
)
from metassay.reporting.wording import find_task, format_count
from metassay.results.pair_explorer import PairQuery, PairScores, StoredPair, Text

OUTCOME_MARKS = {1: ("right", "✓"), 0: ("tie", "="), -1: ("wrong", "✗")}
UNDEFINED_MARK = ("undefined", "?")
# Characters of a text that are shown.
LONGEST_TEXT = 3000


@dataclass(frozen=True)
class MetricVerdict:
    """The scores that a metric gives both outputs of a pair, and the outcome."""

    metric: str
    outcome: str
    mark: str
    output: str
    worse_output: str


@dataclass(frozen=True)
class HumanVerdict:
    """The human scores of an output and, if it is from another system, of the worse output."""

    name: str
    output: str
    worse_output: str


@dataclass(frozen=True)
class OtherRunCard:
    """A pair as it was scored in another run, shown next to the pair."""

    run: str
    verdict: MetricVerdict | None
    edits: list[Edit] | None
    """The words that differ; None if both texts are the same as in this run."""
    differing_sides: list[str]
    """`output`, `worse output`, or both: which text differs between the runs."""


@dataclass(frozen=True)
class PairCard:
    """The content of a card that shows one pair. Rankings have `ranking_moves` instead of `edits`."""

    row: str
    item: str
    system: str
    perturbation: str
    worse_system: str | None
    contexts: list[tuple[str, str]]
    human_verdicts: list[HumanVerdict]
    metric_verdicts: list[MetricVerdict]
    source: str
    references: list[str]
    edits: list[Edit] | None = None
    ranking_moves: list[RankingMove] | None = None
    alignments: list[Alignment] = field(default_factory=list)
    """For speech: both outputs aligned with the first reference."""
    cuts: list[str] = field(default_factory=list)
    """What was cut: `the first 3000 of 5000 characters`."""
    other_run: OtherRunCard | None = None


def build_pair_card(
    pair: StoredPair,
    pair_in_other_run: StoredPair | None,
    pair_query: PairQuery,
    task: str | None,
    labels: Mapping[str, str],
) -> PairCard:
    """Build the content of a card that shows a pair with its scores by metrics and people."""
    other_run = None
    if pair_in_other_run is not None:
        other_run = _build_other_run_card(pair, pair_in_other_run, pair_query, labels)
    references = [_shorten_text_for_card(reference) for reference in pair.references]
    card: dict[str, Any] = {
        "row": format_count(pair.row + 1),
        "item": pair.item,
        "system": pair.system,
        "perturbation": pair.perturbation,
        "worse_system": pair.worse_system,
        "contexts": [(name, value) for name, value in pair.contexts.items() if name != "system"],
        "human_verdicts": [
            HumanVerdict(name, format_score(score), format_score(worse_score))
            for name, (score, worse_score) in pair.human_scores.items()
        ],
        "metric_verdicts": [
            _build_metric_verdict(scores, labels[metric]) for metric, scores in pair.metric_scores.items()
        ],
        "source": _shorten_text_for_card(pair.source or ""),
        "references": references,
        "other_run": other_run,
    }
    if isinstance(pair.output, list) or isinstance(pair.worse_output, list):
        rankings = (list(pair.output), list(pair.worse_output or []))
        moves = list_rank_changes_of_documents(*rankings)
        return PairCard(**card, ranking_moves=moves, cuts=_describe_cut_rankings(*rankings))
    texts = (_shorten_text_for_card(pair.output), _shorten_text_for_card(pair.worse_output))
    alignments = []
    task_definition = find_task(task)
    if references and task_definition is not None and task_definition.shows_word_alignment:
        alignments = [align_with_reference(references[0], text) for text in texts]
    return PairCard(
        **card,
        edits=find_word_edits_between_texts(*texts),
        alignments=alignments,
        cuts=[cut for text in (pair.output, pair.worse_output) if (cut := _describe_shortened_text(text))],
    )


def _build_metric_verdict(pair_scores: PairScores, metric_label: str) -> MetricVerdict:
    outcome, mark = UNDEFINED_MARK
    if pair_scores.outcome is not None:
        outcome, mark = OUTCOME_MARKS.get(pair_scores.outcome, UNDEFINED_MARK)
    return MetricVerdict(
        metric_label, outcome, mark, format_score(pair_scores.output), format_score(pair_scores.worse_output)
    )


def _build_other_run_card(
    pair: StoredPair, other: StoredPair, pair_query: PairQuery, labels: Mapping[str, str]
) -> OtherRunCard:
    verdict = None
    if pair_query.other_metric in other.metric_scores:
        verdict = _build_metric_verdict(
            other.metric_scores[pair_query.other_metric], labels[pair_query.other_metric]
        )
    differing_sides = []
    for side, text, other_text in (
        ("output", pair.output, other.output),
        ("worse output", pair.worse_output, other.worse_output),
    ):
        if isinstance(other_text, str) and other_text != text:
            differing_sides.append(side)
    edits = None
    if differing_sides:
        edits = find_word_edits_between_texts(
            _shorten_text_for_card(str(other.output)), _shorten_text_for_card(str(other.worse_output))
        )
    return OtherRunCard(pair_query.other_run, verdict, edits, differing_sides)


def _shorten_text_for_card(text: str) -> str:
    return text[:LONGEST_TEXT]


def _describe_shortened_text(text: Text) -> str:
    if len(text) <= LONGEST_TEXT:
        return ""
    return f"the first {format_count(LONGEST_TEXT)} of {format_count(len(text))} characters"


def _describe_cut_rankings(output: Sequence[str], worse_output: Sequence[str]) -> list[str]:
    longest = max(len(output), len(worse_output))
    return [f"the first {SHOWN_RANKS} of {format_count(longest)} places"] if longest > SHOWN_RANKS else []
