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
# Characters of a prompt that the user wrote.
MAX_PROMPT_LENGTH = 100_000


@lru_cache(maxsize=64)
def load_built_in_prompt(prompt_name: str) -> str:
    """Load a prompt that is part of metassay by its name, such as `worse-mt-1`."""
    file = files("metassay.llm") / "prompt_files" / f"{prompt_name}.txt"
    return file.read_text(encoding="utf-8").removesuffix("\n")


def read_user_prompt(path: str | Path, required_fields: Sequence[str] = ("output",)) -> str:
    """Read a prompt from a file that the user wrote; raise an error if a required field such as {output} is
    missing.
    """
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


def fill_prompt_fields(prompt: str, field_values: Mapping[str, str]) -> str:
    """Replace the fields of a prompt, such as {source}, with texts. Braces inside these texts have no
    meaning.
    """
    pattern = r"\{(" + "|".join(map(re.escape, field_values)) + r")\}"
    return re.sub(pattern, lambda match: field_values[match[1]], prompt)


def fill_available_prompt_fields(prompt: str, field_values: Mapping[str, str | None]) -> str:
    """Replace the fields of a prompt with texts. Lines that contain a field without a text (None) are left
    out.
    """
    missing_fields = [f"{{{name}}}" for name, value in field_values.items() if value is None]
    lines = [line for line in prompt.split("\n") if not any(field in line for field in missing_fields)]
    available = {name: value for name, value in field_values.items() if value is not None}
    return fill_prompt_fields("\n".join(lines), available)


def get_language_name(language_code: str | None) -> str:
    """Return the English name of a language, for use in a prompt."""
    return LANGUAGE_NAMES.get(language_code or "", language_code or "the language of the output")
