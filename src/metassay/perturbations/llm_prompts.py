"""What a language model is asked, and what of its answer can be used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from metassay.errors import InputError, Place
from metassay.perturbations.base import View

FIELDS = ("source", "reference", "output", "language")
LANGUAGES = {
    "en": "English",
    "de": "German",
    "ru": "Russian",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
}

_FIELD = re.compile(r"\{(" + "|".join(FIELDS) + r")\}")
_REFUSAL = re.compile(
    r"(?:i['’]?m sorry|i am sorry|sorry,|i can(?:no|['’])t|i am unable|i['’]m unable|as an ai|i won['’]t)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:rewritten |perturbed |worse |modified )?(?:output|translation|transcript)\s*:\s*", re.IGNORECASE
)
_QUOTES = {'"': '"', "“": "”", "'": "'", "«": "»", "„": "“", "`": "`"}
LONGEST = 3.0
"""An answer so many times as long as the output is a comment, not a version of it."""


def read_prompt(path: str | Path) -> str:
    """A prompt of the user's own; it must hold `{output}` and may hold the other fields."""
    try:
        prompt = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("this prompt cannot be read.", place=Place(file=str(path))) from error
    if "{output}" not in prompt:
        remedy = "Write {output} where the text to be made worse belongs."
        raise InputError("the prompt does not mention {output}.", place=Place(file=str(path)), remedy=remedy)
    return prompt


def fill(prompt: str, view: View[str]) -> str:
    """The prompt with the fields of one output put in; braces inside the texts are left alone."""
    values: Mapping[str, str] = {
        "source": view.source or "(not known)",
        "reference": view.references[0] if view.references else "(not known)",
        "output": view.output,
        "language": LANGUAGES.get(view.language or "", view.language or "the language of the output"),
    }
    return _FIELD.sub(lambda match: values[match[1]], prompt)


def usable(answer: str, output: str) -> str | None:
    """The worse version inside an answer, or None for refusals, comments and silence.

    Labels and quotation marks around it are taken off, and of several lines the first is taken where the
    output has one. An echo comes back as the output itself.
    """
    text = answer.strip()
    if "\n" not in output:
        text = text.partition("\n")[0].strip()
    text = _LABEL.sub("", text, count=1) if _LABEL.match(text) and not _LABEL.match(output) else text
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and output[:1] != text[0]:
        text = text[1:-1].strip()
    if (
        not text
        or (_REFUSAL.match(text) and not _REFUSAL.match(output))
        or len(text) > LONGEST * len(output) + 20
    ):
        return None
    return output if text.split() == output.split() else text
