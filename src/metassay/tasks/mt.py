"""Machine translation."""

from __future__ import annotations

from metassay.tasks.base import TableEvidence, Task

PERTURBATION_PROMPT = """\
Below are a source text, a reference translation and the output of a translation system, in {language}.

Source: {source}
Reference: {reference}
Output: {output}

Rewrite the output so that it becomes a slightly worse translation of the source, as a slightly weaker \
translation system would have written it. Keep it understandable. Reply with the rewritten output alone."""


def _explain_why_task_is_translation(table_evidence: TableEvidence) -> str | None:
    """Explain why a table looks like translations. Returns None if it does not."""
    if table_evidence.find_text_column_of_role("output") is None:
        return None
    if table_evidence.find_column("lp"):
        return "the outputs have a language pair (lp)"
    if table_evidence.has_source_file:
        return "a file of sources was given (--source)"
    source = table_evidence.find_text_column_of_role("source")
    target_language = table_evidence.language or table_evidence.find_column(
        "tgt", "target_language", "tgt_lang"
    )
    if source and target_language:
        return f"the outputs have a source ({source}) and a target language"
    return None


TASK = Task(
    name="mt",
    title="machine translation",
    output_noun="translation",
    output_noun_plural="translations",
    explain_match=_explain_why_task_is_translation,
    default_metrics=("bleu", "chrf", "chrf++", "ter", "rouge1", "rougel"),
    corpus_metrics=("bleu", "chrf"),
    perturbations=(
        *("removal", "insertion", "swapping", "removal_20"),
        *("synonym", "pronoun", "entity", "negation", "negation_removal", "llm", "likely", "borrowed_span"),
        *("number", "date", "unit", "gender", "quantifier", "tense", "antonym"),
        *("cohyponym", "hypernym", "wrong_sense", "clause_removal", "hallucinated_clause", "untranslated"),
    ),
    has_prior_evidence=True,
    perturbation_prompt=PERTURBATION_PROMPT,
)
