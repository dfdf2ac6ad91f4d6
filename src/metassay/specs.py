"""The text form of metrics and perturbations: `chrf(word_order=2)`, `removal(strength=2)`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from metassay.errors import InputError

T = TypeVar("T")
_LARGEST = 2**53
_SPEC = re.compile(r"\s*(?P<name>[^\s()=,]+)\s*(?:\((?P<inside>.*)\))?\s*", re.DOTALL)


def format_spec(name: str, parameters: Mapping[str, Any]) -> str:
    """`name(key=value,…)`, keys in the order given; the bare name without parameters."""
    inside = ",".join(f"{key}={_format_value(value)}" for key, value in parameters.items())
    return f"{name}({inside})" if inside else name


def format_label(title: str, parameters: Mapping[str, Any]) -> str:
    """A title with the parameters that differ from their defaults."""
    inside = format_spec("", parameters)[1:-1].replace(",", ", ")
    return f"{title} ({inside})" if inside else title


def format_by_language(used: Mapping[str | None, Mapping[str, Any]], name: str) -> str:
    """The value of a setting; where it differs between languages, each language with its own."""
    values = {language or "unknown": str(settings[name]) for language, settings in used.items()}
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return format_spec("by-language", values)


def parse_spec(text: str) -> tuple[str, dict[str, Any]]:
    """The lower-case name and the parameters of a spec. Values are int, float, bool, None or text.

    >>> parse_spec("chrF(word_order=2)")
    ('chrf', {'word_order': 2})
    """
    match = _SPEC.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not NAME or NAME(parameter=value,…).")
    parameters: dict[str, Any] = {}
    for part in split_list(match["inside"] or ""):
        key, equals, value = part.partition("=")
        if not equals:
            raise InputError(f"{part!r} in {text!r} is not parameter=value.")
        parameters[key.strip().lower()] = parse_value(value.strip())
    return match["name"].lower(), parameters


def split_list(text: str) -> list[str]:
    """Parts between commas; commas inside parentheses do not split.

    >>> split_list("bleu, chrf(word_order=2,beta=3)")
    ['bleu', 'chrf(word_order=2,beta=3)']
    """
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth = max(0, depth + (character == "(") - (character == ")"))
        if character == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def split_specs(texts: str | T | Iterable[str | T]) -> list[str | T]:
    """From a comma-separated text, a value, or any mixture of both, to single texts and values."""
    whole = isinstance(texts, str) or not isinstance(texts, Iterable)
    parts: list[str | T] = []
    for text in [texts] if whole else texts:  # type: ignore[union-attr]
        parts.extend(split_list(text) if isinstance(text, str) else [text])  # type: ignore[list-item]
    return parts


def split_names(texts: str | Iterable[str] | None) -> tuple[str, ...]:
    """Names from a comma-separated text; those of a sequence are taken whole, commas and all.

    >>> split_names("bleu,chrf(word_order=2,beta=3)"), split_names(["a,b"])
    (('bleu', 'chrf(word_order=2,beta=3)'), ('a,b',))
    """
    if texts is None:
        return ()
    return (
        tuple(split_list(texts)) if isinstance(texts, str) else tuple(t.strip() for t in texts if t.strip())
    )


def reject_duplicates(specs: Sequence[str]) -> None:
    """An error where something is asked for twice."""
    twice = sorted({spec for spec in specs if specs.count(spec) > 1})
    if twice:
        raise InputError(f"{', '.join(twice)} is asked for twice.")


def _format_value(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)


def parse_value(text: str) -> Any:
    """A parameter's value: int, float, bool, None or text."""
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if kind is int and abs(number) > _LARGEST:
            raise InputError(f"{text!r} is too large a number.")
        return number
    return text
