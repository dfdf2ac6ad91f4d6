"""Prompts: texts with fields in braces, from data files of ours or a file of the user."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from metassay.errors import InputError, InputLocation

LANGUAGE_NAMES = {
    "en": "English",
    "de": "German",
    "ru": "Russian",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
}
UNKNOWN_FIELD = "(not known)"
MAX_PROMPT_LENGTH = 100_000
"""Characters of a prompt that the user wrote."""


@lru_cache(maxsize=64)
def load_shipped_prompt(name: str) -> str:
    """Load one of our own prompts by name and version, such as `worse-mt-1`."""
    file = files("metassay.llm") / "prompt_files" / f"{name}.txt"
    return file.read_text(encoding="utf-8").removesuffix("\n")


def read_prompt(path: str | Path, required_fields: Sequence[str] = ("output",)) -> str:
    """Read a prompt that the user wrote; it must contain the required fields and may contain others."""
    location = InputLocation(file=str(path))
    try:
        prompt = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("this prompt cannot be read.", location=location) from error
    for name in required_fields:
        if f"{{{name}}}" not in prompt:
            raise InputError(
                f"the prompt does not mention {{{name}}}.",
                location=location,
                remedy=f"Write {{{name}}} where that text belongs.",
            )
    if len(prompt) > MAX_PROMPT_LENGTH:
        raise InputError(f"the prompt is longer than {MAX_PROMPT_LENGTH:,} characters.", location=location)
    return prompt


def fill_prompt(prompt: str, values: Mapping[str, str]) -> str:
    """Replace the fields of a prompt by values, all at once: braces in the values are left alone."""
    pattern = r"\{(" + "|".join(map(re.escape, values)) + r")\}"
    return re.sub(pattern, lambda match: values[match[1]], prompt)


def fill_known_fields(prompt: str, values: Mapping[str, str | None]) -> str:
    """Replace the fields of a prompt by values, and drop lines with a field whose value is None."""
    unknown = [f"{{{name}}}" for name, value in values.items() if value is None]
    lines = [line for line in prompt.split("\n") if not any(field in line for field in unknown)]
    known = {name: value for name, value in values.items() if value is not None}
    return fill_prompt("\n".join(lines), known)


def name_language(code: str | None) -> str:
    """Return the name of a language for use in a prompt."""
    return LANGUAGE_NAMES.get(code or "", code or "the language of the output")
