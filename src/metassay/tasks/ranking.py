"""Ranking: the results of search engines and recommenders."""

from __future__ import annotations

from metassay.tasks.base import OutputKind, TableEvidence, Task

COLUMNS = {
    "system": ("run", "system", "tag"),
    "item": ("topic", "query", "qid", "user"),
    "document": ("docid", "document", "item_id"),
    "score": ("score",),
}
# Cut-offs of the default metrics, which are the 23 measures of Deviyani and Diaz (2025).
CUT_OFFS = (5, 10, 15, 20, 30)


def _explain_why_task_is_ranking(table_evidence: TableEvidence) -> str | None:
    """Explain why a table looks like ranked lists of documents. Returns None if it does not."""
    if table_evidence.has_judgements:
        return "relevance judgements were given"
    if table_evidence.format_task == TASK.name:
        return "the file is a TREC run"
    document = table_evidence.find_column(*COLUMNS["document"])
    topic = table_evidence.find_column(*COLUMNS["item"])
    if document and topic and not table_evidence.find_text_column_of_role("output"):
        return f"there is a column of documents ({document}) and one of topics ({topic})"
    return None


TASK = Task(
    name="ranking",
    title="ranking",
    output_noun="ranking",
    output_noun_plural="rankings",
    output_kind=OutputKind.RANKING,
    column_names=COLUMNS,
    explain_match=_explain_why_task_is_ranking,
    default_metrics=(
        *("map", "rprec", "recip_rank"),
        *(f"iprec_at_recall_{level:.2f}" for level in (0.0, 0.1, 0.2, 0.3, 0.4)),
        *(f"{measure}_{k}" for measure in ("p", "recall", "ndcg_cut") for k in CUT_OFFS),
    ),
    perturbations=("rank_swapping", "shuffle"),
    valid_pairs_only=True,
)
