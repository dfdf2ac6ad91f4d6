"""The text form of metrics and perturbations, such as `chrf(word_order=2)` or `removal(strength=2)`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from metassay.errors import InputError

T = TypeVar("T")
_LARGEST_INTEGER = 2**53
_SPEC = re.compile(r"\s*(?P<name>[^\s()=,]+)\s*(?:\((?P<parameters>.*)\))?\s*", re.DOTALL)
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "none": None}


def format_name_with_parameters(name: str, parameters: Mapping[str, Any]) -> str:
    """Return the text form of a metric or perturbation, such as `chrf(word_order=2)`.

    >>> format_name_with_parameters("chrf", {"word_order": 2, "whitespace": False})
    'chrf(word_order=2,whitespace=false)'
    """
    if not parameters:
        return name
    assignments = [f"{key}={_format_parameter_value(value)}" for key, value in parameters.items()]
    return f"{name}({','.join(assignments)})"


def format_title_with_parameters(title: str, parameters: Mapping[str, Any]) -> str:
    """Return a title followed by parameters in parentheses, for reports.

    >>> format_title_with_parameters("BLEU", {"tokenizer": "char"})
    'BLEU (tokenizer=char)'
    """
    if not parameters:
        return title
    assignments = [f"{key}={_format_parameter_value(value)}" for key, value in parameters.items()]
    return f"{title} ({', '.join(assignments)})"


def format_settings_by_language(
    settings_by_language: Mapping[str | None, Mapping[str, Any]], setting_name: str
) -> str:
    """Return the value of a setting as text or, if it differs between languages, the value for each language.

    >>> format_settings_by_language({"de": {"tokenizer": "13a"}, "zh": {"tokenizer": "zh"}}, "tokenizer")
    'by-language(de=13a,zh=zh)'
    """
    values = {
        language or "unknown": str(settings[setting_name])
        for language, settings in settings_by_language.items()
    }
    distinct = set(values.values())
    return distinct.pop() if len(distinct) == 1 else format_name_with_parameters("by-language", values)


def parse_name_and_parameters(text: str) -> tuple[str, dict[str, Any]]:
    """Split a text such as `chrf(word_order=2)` into a name, in lower case, and parameters.

    >>> parse_name_and_parameters("chrF(word_order=2)")
    ('chrf', {'word_order': 2})
    """
    match = _SPEC.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not NAME or NAME(parameter=value,…).")
    parameters: dict[str, Any] = {}
    for assignment in split_at_commas(match["parameters"] or ""):
        key, equals, value = assignment.partition("=")
        if not equals:
            raise InputError(f"{assignment!r} in {text!r} is not parameter=value.")
        parameters[key.strip().lower()] = parse_parameter_value(value.strip())
    return match["name"].lower(), parameters


def parse_parameter_value(text: str) -> Any:
    """Convert the text of a parameter to an integer, a float, a boolean or None. Any other text is returned
    unchanged.
    """
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        integer = int(text)
    except ValueError:
        pass
    else:
        if abs(integer) > _LARGEST_INTEGER:
            raise InputError(f"{text!r} is too large a number.")
        return integer
    try:
        return float(text)
    except ValueError:
        return text


def split_at_commas(text: str) -> list[str]:
    """Split a text at commas, except for commas inside parentheses.

    >>> split_at_commas("bleu, chrf(word_order=2,beta=3)")
    ['bleu', 'chrf(word_order=2,beta=3)']
    """
    entries: list[str] = []
    depth = 0
    start = 0
    for position, character in enumerate(text):
        if character == "(":
            depth += 1
        elif character == ")":
            depth = max(0, depth - 1)
        elif character == "," and depth == 0:
            entries.append(text[start:position])
            start = position + 1
    entries.append(text[start:])
    return [entry.strip() for entry in entries if entry.strip()]


def split_metric_names(metrics: str | T | Iterable[str | T]) -> list[str | T]:
    """Convert metrics to a list. They are given as a comma-separated text, as an object, or as a sequence of
    both.

    >>> split_metric_names(["bleu,chrf", 3])
    ['bleu', 'chrf', 3]
    """
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        metrics = [metrics]
    separate: list[str | T] = []
    for spec in metrics:
        if isinstance(spec, str):
            separate.extend(split_at_commas(spec))
        else:
            separate.append(spec)
    return separate


def reject_duplicate_metrics(metric_names: Sequence[str]) -> None:
    """Raise an error if a metric is named more than once."""
    repeated = sorted(spec for spec, count in Counter(metric_names).items() if count > 1)
    if repeated:
        raise InputError(f"{', '.join(repeated)} is asked for twice.")


def _format_parameter_value(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return str(value)
