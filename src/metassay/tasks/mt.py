"""Machine translation."""

from __future__ import annotations

from metassay.tasks.base import Evidence, Task

PROMPT = """\
Below are a source text, a reference translation and the output of a translation system, in {language}.

Source: {source}
Reference: {reference}
Output: {output}

Rewrite the output so that it becomes a slightly worse translation of the source, as a slightly weaker \
translation system would have written it. Keep it understandable. Reply with the rewritten output alone."""


def _recognise(evidence: Evidence) -> str | None:
    if not evidence.plays("output"):
        return None
    if evidence.has("lp"):
        return "there are outputs with a language pair (lp)"
    source = evidence.plays("source")
    language = evidence.language or evidence.has("tgt", "target_language", "tgt_lang")
    return (
        f"there are outputs with a source ({source}) and a target language" if source and language else None
    )


TASK = Task(
    name="mt",
    title="machine translation",
    one="translation",
    many="translations",
    recognise=_recognise,
    metrics=("bleu", "chrf", "chrf++", "ter", "rouge1", "rougel"),
    aggregated=("bleu", "chrf"),
    perturbations=(
        *("removal", "insertion", "swapping", "removal_20"),
        *("synonym", "pronoun", "entity", "negation", "negation_removal", "llm", "likely", "borrowed_span"),
        *("number", "date", "unit", "gender", "quantifier", "tense", "antonym"),
        *("cohyponym", "hypernym", "wrong_sense", "clause_removal", "hallucinated_clause", "untranslated"),
    ),
    prompt=PROMPT,
)
