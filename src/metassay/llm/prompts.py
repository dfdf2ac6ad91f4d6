"""Prompts: texts with fields in braces, ours in data files, or a file of the user's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from metassay.errors import InputError, Place

LANGUAGES = {
    "en": "English",
    "de": "German",
    "ru": "Russian",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
}
NOT_KNOWN = "(not known)"
LARGEST_PROMPT = 100_000
"""Characters of a prompt of one's own."""


@cache
def shipped_prompt(name: str) -> str:
    """One of our own prompts, by its name with version: `worse-mt-1`."""
    return (
        (files("metassay.llm") / "prompt_files" / f"{name}.txt")
        .read_text(encoding="utf-8")
        .removesuffix("\n")
    )


def read_prompt(path: str | Path, needed: Sequence[str] = ("output",)) -> str:
    """A prompt of the user's own; it must hold the fields needed and may hold others."""
    place = Place(file=str(path))
    try:
        prompt = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("this prompt cannot be read.", place=place) from error
    for name in needed:
        if f"{{{name}}}" not in prompt:
            remedy = f"Write {{{name}}} where that text belongs."
            raise InputError(f"the prompt does not mention {{{name}}}.", place=place, remedy=remedy)
    if len(prompt) > LARGEST_PROMPT:
        raise InputError(f"the prompt is longer than {LARGEST_PROMPT:,} characters.", place=place)
    return prompt


def fill(prompt: str, values: Mapping[str, str]) -> str:
    """The prompt with the fields put in, all at once: braces inside the texts are left alone."""
    pattern = r"\{(" + "|".join(map(re.escape, values)) + r")\}"
    return re.sub(pattern, lambda match: values[match[1]], prompt)


def language_name(code: str | None) -> str:
    """A language as a prompt calls it."""
    return LANGUAGES.get(code or "", code or "the language of the output")


def fill_known(prompt: str, values: Mapping[str, str | None]) -> str:
    """The prompt with the fields put in; a line that asks for a field which is not known is left out."""
    unknown = [f"{{{name}}}" for name, value in values.items() if value is None]
    lines = [line for line in prompt.split("\n") if not any(name in line for name in unknown)]
    return fill("\n".join(lines), {name: value for name, value in values.items() if value is not None})
