"""Rankings: what search engines and recommenders return."""

from __future__ import annotations

from metassay.tasks.base import Evidence, OutputKind, Task

COLUMNS = {
    "system": ("run", "system", "tag"),
    "item": ("topic", "query", "qid", "user"),
    "document": ("docid", "document", "item_id"),
    "score": ("score",),
}
CUTS = (5, 10, 15, 20, 30)
"""The 23 measures of Deviyani and Diaz (2025) are the default: these cut-offs, and the three without one."""


def _recognise(evidence: Evidence) -> str | None:
    if evidence.judged:
        return "relevance judgements were given"
    if evidence.reader == TASK.name:
        return "the file is a run"
    document, topic = evidence.has(*COLUMNS["document"]), evidence.has(*COLUMNS["item"])
    if document and topic and not evidence.plays("output"):
        return f"there are document ids ({document}) for topics ({topic})"
    return None


TASK = Task(
    name="ranking",
    title="ranking",
    one="ranking",
    many="rankings",
    output=OutputKind.RANKING,
    columns=COLUMNS,
    recognise=_recognise,
    metrics=(
        *("map", "rprec", "recip_rank"),
        *(f"iprec_at_recall_{level:.2f}" for level in (0.0, 0.1, 0.2, 0.3, 0.4)),
        *(f"{measure}_{k}" for measure in ("p", "recall", "ndcg_cut") for k in CUTS),
    ),
    perturbations=("rank_swapping", "shuffle"),
    valid_pairs_only=True,
)
