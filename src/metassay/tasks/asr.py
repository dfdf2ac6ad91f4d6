"""Speech recognition."""

from __future__ import annotations

from metassay.tasks.base import Evidence, Task

PROMPT = """\
Below are the reference transcript of an utterance and the output of a speech recogniser, in {language}.

Reference: {reference}
Output: {output}

Rewrite the output so that it becomes a slightly worse transcript of the utterance, as a slightly weaker \
speech recogniser would have written it. Reply with the rewritten output alone."""


def _recognise(evidence: Evidence) -> str | None:
    """A table alone never shows it: a column of speakers is metadata, and normalising text changes scores."""
    return "the file is in a format of speech recognition" if evidence.reader == TASK.name else None


TASK = Task(
    name="asr",
    title="speech recognition",
    one="transcript",
    many="transcripts",
    recognise=_recognise,
    metrics=("wer", "mer", "wil", "wip", "cer"),
    aggregated=("wer", "cer"),
    perturbations=(
        *("removal", "insertion", "swapping", "removal_20"),
        *("phonetic", "llm", "likely", "borrowed_span"),
    ),
    normalisation="english",
    language="en",
    written_alike=True,
    aligned=True,
    prompt=PROMPT,
)
