"""Speech recognition."""

from __future__ import annotations

from metassay.tasks.base import TableEvidence, Task

PERTURBATION_PROMPT = """\
Below are the reference transcript of an utterance and the output of a speech recogniser, in {language}.

Reference: {reference}
Output: {output}

Rewrite the output so that it becomes a slightly worse transcript of the utterance, as a slightly weaker \
speech recogniser would have written it. Reply with the rewritten output alone."""


def _explain_why_task_is_speech_recognition(table_evidence: TableEvidence) -> str | None:
    """Explain why a table looks like outputs of speech recognition. Returns None if it does not."""
    # Columns are not enough: text data may have a column of speakers too, and taking it for speech would
    # normalise its texts and so change all scores.
    if table_evidence.format_task == TASK.name:
        return "the file has a format of speech recognition"
    return None


TASK = Task(
    name="asr",
    title="speech recognition",
    output_noun="transcript",
    output_noun_plural="transcripts",
    explain_match=_explain_why_task_is_speech_recognition,
    default_metrics=("wer", "mer", "wil", "wip", "cer"),
    corpus_metrics=("wer", "cer"),
    perturbations=(
        *("removal", "insertion", "swapping", "removal_20"),
        *("phonetic", "llm", "likely", "borrowed_span"),
    ),
    normalisation="english",
    default_language="en",
    ignores_case_and_punctuation=True,
    shows_word_alignment=True,
    perturbation_prompt=PERTURBATION_PROMPT,
)
