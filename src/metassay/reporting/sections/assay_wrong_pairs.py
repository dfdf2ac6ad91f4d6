"""Section of the `assay` page: pairs that metrics got wrong, to be read one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metassay.reporting.assay_report import AssayReport
from metassay.reporting.pages import Section
from metassay.reporting.word_edits import (
    Edit,
    align_with_reference,
    find_word_edits_between_texts,
    format_score,
    list_rank_changes_of_documents,
)
from metassay.reporting.wording import find_installed_task, format_percent, format_plural
from metassay.results.wrong_pairs import WrongPair, WrongPairs

# Pairs of speech that are shown against their reference; aligning more would slow down the page.
_MOST_ALIGNED = 600


def build_wrong_pairs_section(assay_report: AssayReport) -> Section | None:
    """Build the section with examples of pairs in which metrics did not prefer the better output. None if the
    run saved none.
    """
    if assay_report.wrong_pairs is None or not assay_report.wrong_pairs.pairs or not assay_report.metrics:
        return None
    pairs = [
        _build_wrong_pair_data(assay_report, pair, n) for n, pair in enumerate(assay_report.wrong_pairs.pairs)
    ]
    doubtful = sum(pair["doubtful"] for pair in pairs)
    introduction = (
        "Each pair is an output and a worse one. The metric should score the first better; here it did"
        " not. Judge for yourself whether the second is really worse."
    )
    return Section(
        "Pairs they got wrong",
        sentences=[introduction, *_describe_listed_doubtful_pairs(doubtful)],
        anchor="examples",
        template="examples.html.j2",
        content={
            "pairs": pairs,
            "metrics": [assay_report.labels[metric] for metric in assay_report.metrics],
            "perturbations": sorted({pair["method"] for pair in pairs}),
            "systems": sorted({pair["system"] for pair in pairs if pair["system"]}),
            "contexts": sorted({tuple(context) for pair in pairs for context in pair["contexts"]}),
            "doubtful": doubtful,
        },
    )


def describe_pairs_with_doubtful_label(wrong_pairs: WrongPairs | None) -> list[str]:
    """Say in how many pairs the output that counts as worse is closer to a reference than the better one, so
    that the label may be wrong.
    """
    if wrong_pairs is None or not wrong_pairs.checked or not wrong_pairs.doubtful:
        return []
    share = format_percent(wrong_pairs.doubtful / wrong_pairs.checked, digits=1)
    doubt = (
        f"In {share} of {format_plural(wrong_pairs.checked, 'pair')} checked, the worse output is fewer words"
        " away from a reference than the output: their labels are doubtful."
    )
    return [doubt]


def _describe_listed_doubtful_pairs(doubtful_pairs: int) -> list[str]:
    """Say how many of the pairs that the page lists may have a wrong label."""
    if not doubtful_pairs:
        return []
    verb = "is" if doubtful_pairs == 1 else "are"
    return [f"{format_plural(doubtful_pairs, 'pair')} with a doubtful label {verb} listed separately."]


def _build_wrong_pair_data(assay_report: AssayReport, pair: WrongPair, number: int) -> dict[str, Any]:
    """Convert a pair that metrics got wrong to the JSON that the script of the report page reads."""
    outcomes = []
    for metric, scored in pair.outcomes.items():
        if metric in assay_report.metrics:
            scores = (format_score(scored.score), format_score(scored.worse_score))
            outcomes.append([assay_report.metrics.index(metric), *scores, scored.outcome])
    content: dict[str, Any] = {
        "item": pair.item,
        "system": pair.system,
        "method": pair.perturbation,
        "contexts": [[column, context] for column, context in pair.contexts.items()],
        "judged": outcomes,
        "doubtful": pair.is_doubtful,
    }
    if isinstance(pair.output, list) or isinstance(pair.worse, list):
        return content | {"lists": _build_rows_of_two_rankings(pair)}
    content |= {
        "source": pair.source or "",
        "references": pair.references,
        "edits": _encode_word_edits(find_word_edits_between_texts(pair.output, pair.worse)),
    }
    task = find_installed_task(assay_report.result.task)
    if number < _MOST_ALIGNED and pair.references and task is not None and task.shows_word_alignment:
        alignments = [align_with_reference(pair.references[0], text) for text in (pair.output, pair.worse)]
        content["alignments"] = [[_encode_word_edits(each.edits), each.errors] for each in alignments]
    return content


def _build_rows_of_two_rankings(wrong_pair: WrongPair) -> list[list[Any]]:
    """Build the rows of a table with two rankings side by side, and the relevance grade of each document."""
    grades = {document: str(grade) for document, grade in wrong_pair.grades.items()}
    return [
        [
            move.rank,
            move.output,
            grades.get(move.output, ""),
            move.worse,
            grades.get(move.worse, ""),
            move.moved,
        ]
        for move in list_rank_changes_of_documents(wrong_pair.output, wrong_pair.worse)
    ]


def _encode_word_edits(edits: Sequence[Edit]) -> list[list[Any]]:
    """Encode the edits between two texts for the script of the page: 0 with words that both have, or 1 with
    the words that differ.
    """
    return [[0, edit.before] if edit.kind == "same" else [1, edit.before, edit.after] for edit in edits]
