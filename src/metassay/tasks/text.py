"""Text generation: summaries, answers, dialogue, captions and any other text, with or without references."""

from __future__ import annotations

from metassay.tasks.base import TEXT_COLUMNS, TableEvidence, Task

COLUMNS = {
    **TEXT_COLUMNS,
    "item": (
        *TEXT_COLUMNS["item"],
        *("doc_id", "document_id", "article_id", "example_id", "question_id", "prompt_id", "qid", "doc"),
    ),
    "output": (
        *TEXT_COLUMNS["output"],
        *("summary", "answer", "response", "prediction", "generated", "generation", "caption", "completion"),
    ),
    "source": (
        *TEXT_COLUMNS["source"],
        *("document", "article", "question", "prompt", "input", "dialogue", "dialog"),
    ),
}
# What people are asked to rate in generated text.
CRITERIA = (
    *("coherence", "relevance", "fluency", "consistency", "adequacy", "faithfulness", "factuality"),
    *("informativeness", "naturalness", "engagingness", "groundedness", "helpfulness", "correctness"),
    *("overall", "quality", "coverage", "focus", "grammaticality"),
)
PERTURBATION_PROMPT = """\
Below are what a text was written from, a reference and the output of a text generation system, in {language}.

Given: {source}
Reference: {reference}
Output: {output}

Rewrite the output so that it becomes a slightly worse answer to what was given, as a slightly weaker system \
would have written it. Keep it understandable. Reply with the rewritten output alone."""


def _explain_why_task_is_text_generation(table_evidence: TableEvidence) -> str | None:
    """Explain why a table looks like generated texts. Returns None if it does not."""
    if table_evidence.has_reference_files:
        return "text files of outputs and references were given"
    output = table_evidence.find_column(*COLUMNS["output"])
    if output is None:
        return None
    reference = table_evidence.find_column("ref", "reference", "references", "ref1", "reference1")
    companion = reference or table_evidence.find_column(*COLUMNS["source"])
    if companion is None:
        return f"there is a column of outputs ({output})"
    return f"there is a column of outputs ({output}) and a column {companion}"


TASK = Task(
    name="text",
    title="text generation",
    output_noun="text",
    output_noun_plural="texts",
    column_names=COLUMNS,
    human_criteria=CRITERIA,
    explain_match=_explain_why_task_is_text_generation,
    default_metrics=("bleu", "chrf", "chrf++", "ter", "rouge1", "rouge2", "rougel"),
    corpus_metrics=("bleu", "chrf"),
    perturbations=(
        *("removal", "insertion", "swapping", "removal_20"),
        *("synonym", "pronoun", "entity", "negation", "negation_removal", "llm", "likely", "borrowed_span"),
        *("sentence_removal", "sentence_swapping", "sentence_repetition", "sentence_borrowing"),
        *("number", "date", "unit", "gender", "quantifier", "tense", "antonym"),
        *("cohyponym", "hypernym", "wrong_sense", "clause_removal", "hallucinated_clause"),
    ),
    perturbation_prompt=PERTURBATION_PROMPT,
)
