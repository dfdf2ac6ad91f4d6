"""Any generated text, with or without references: summaries, answers, dialogue, captions."""

from __future__ import annotations

from metassay.tasks.base import TEXT_COLUMNS, Evidence, Task

COLUMNS = {
    **TEXT_COLUMNS,
    "item": (*TEXT_COLUMNS["item"], "doc_id", "document_id", "example_id", "question_id", "qid"),
    "output": (
        *TEXT_COLUMNS["output"],
        *("summary", "answer", "response", "prediction", "generated", "generation", "caption", "completion"),
    ),
    "source": (
        *TEXT_COLUMNS["source"],
        *("document", "article", "question", "prompt", "input", "dialogue", "dialog"),
    ),
    "system": (*TEXT_COLUMNS["system"], "model"),
}
CRITERIA = (
    *("coherence", "relevance", "fluency", "consistency", "adequacy", "faithfulness", "factuality"),
    *("informativeness", "naturalness", "engagingness", "groundedness", "helpfulness", "correctness"),
    *("overall", "quality", "coverage", "focus", "grammaticality"),
)
"""What people are asked to score in generated text."""
PROMPT = """\
Below are what a text was written from, a reference and the output of a text generation system, in {language}.

Given: {source}
Reference: {reference}
Output: {output}

Rewrite the output so that it becomes a slightly worse answer to what was given, as a slightly weaker system \
would have written it. Keep it understandable. Reply with the rewritten output alone."""


def _recognise(evidence: Evidence) -> str | None:
    output = evidence.has(*COLUMNS["output"])
    if not output:
        return None
    beside = evidence.has("ref", "reference", "references", "ref1", "reference1")
    beside = beside or evidence.has(*COLUMNS["source"])
    return f"there are outputs ({output})" + (f" with {beside}" if beside else "")


TASK = Task(
    name="text",
    title="text generation",
    one="text",
    many="texts",
    columns=COLUMNS,
    criteria=CRITERIA,
    recognise=_recognise,
    metrics=("bleu", "chrf", "chrf++", "ter", "rouge1", "rouge2", "rougel"),
    aggregated=("bleu", "chrf"),
    perturbations=(
        *("removal", "insertion", "swapping", "removal_20"),
        *("synonym", "pronoun", "entity", "negation", "negation_removal", "llm", "likely", "borrowed_span"),
        *("sentence_removal", "sentence_swapping", "sentence_repetition", "sentence_borrowing"),
        *("number", "date", "unit", "gender", "quantifier", "tense", "antonym"),
        *("cohyponym", "hypernym", "wrong_sense", "clause_removal", "hallucinated_clause"),
    ),
    prompt=PROMPT,
)
