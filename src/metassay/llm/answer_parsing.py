"""Parse the answers of a judge that keep to the requested form; None for those that do not.

>>> [parse_score(answer) for answer in ("Score: 85", "85/100", "It is good.", "Score: 300")]
[85.0, 85.0, None, None]
>>> [parse_preference(answer) for answer in ("Better: B", "**Better: tie**", "A or B")]
[0.0, 0.5, None]
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# The penalty of an error of each severity, as in MQM.
SEVERITY_WEIGHTS = {"minor": 1.0, "major": 5.0, "critical": 10.0}

_NUMBER = r"(\d{1,3}(?:[.,]\d{1,3})?)"
_GAP = r"[\s:=*_`\"]*"  # without a minus sign: -5 is not 5
_SCORE_LINE = re.compile(
    rf"\W*(?:the\s+)?score(?:\s+of\s+the\s+\w+)?(?:\s+is)?{_GAP}{_NUMBER}\s*(?:/\s*100|out of 100)?\W*",
    re.IGNORECASE,
)
_BARE_NUMBER = re.compile(rf"{_GAP}{_NUMBER}\s*(?:/\s*100)?\W*")
_PREFERENCE_LINE = re.compile(r"[^\w\n]*better[^\w\n]*(?:is\s+)?(?:output\s+)?(a|b|tie)\W*", re.IGNORECASE)
_BARE_PREFERENCE = re.compile(r"\W*(?:output\s+)?(a|b|tie)\W*", re.IGNORECASE)
_PREFERENCES = {"a": 1.0, "b": 0.0, "tie": 0.5}
_ERROR_LINE = re.compile(r"[^\w\n]*(minor|major|critical)\W*?:\s*(.+)", re.IGNORECASE)
_NO_ERRORS = re.compile(r"\W*no errors?\W*", re.IGNORECASE)
_QUOTATION_MARKS = "\"'“”„«»‘’` "


def parse_score(answer: str) -> float | None:
    """Return the score from 0 to 100 in the answer of a language model. It is the number in the last line
    `Score: NUMBER`, or the whole answer; None if there is none.
    """
    match = _find_last_matching_line(_SCORE_LINE, answer) or _BARE_NUMBER.fullmatch(answer.strip())
    return None if match is None else _parse_number_in_range(match[1], 0, 100)


def parse_rubric_score(answer: str, criteria: Sequence[str]) -> float | None:
    """Return the mean of the numbers from 1 to 5 that an answer gives for several criteria, such as `fluency:
    4`. None if a criterion has no number.
    """
    scores = []
    for criterion in criteria:
        pattern = re.compile(
            rf"\W*{re.escape(criterion)}[\s*_]*:{_GAP}{_NUMBER}\s*(?:/\s*5)?\W*", re.IGNORECASE
        )
        match = _find_last_matching_line(pattern, answer)
        score = None if match is None else _parse_number_in_range(match[1], 1, 5)
        if score is None:
            return None
        scores.append(score)
    return sum(scores) / len(scores) if scores else None


def score_listed_errors(answer: str, output: str) -> float | None:
    """Return a score of at most 0 for an answer that lists the errors of an output: each error subtracts 1, 5
    or 10 by its severity. None if the answer is unclear.

    Each error must quote the output, or be marked as an omission.
    """
    lines = [line.strip() for line in answer.strip().split("\n") if line.strip()]
    if len(lines) == 1 and _NO_ERRORS.fullmatch(lines[0]):
        return 0.0
    errors = [match for match in map(_ERROR_LINE.fullmatch, lines) if match]
    if not errors:
        return None
    folded_output = _lowercase_and_collapse_spaces(output)
    for error in errors:
        quote = _lowercase_and_collapse_spaces(error[2].strip(_QUOTATION_MARKS))
        if not quote or ("(omission)" not in quote and quote not in folded_output):
            return None
    return -sum(SEVERITY_WEIGHTS[error[1].lower()] for error in errors)


def parse_preference(answer: str) -> float | None:
    """Return which of two outputs an answer prefers: 1 for A, 0 for B, 0.5 for a tie. None if the answer is
    unclear.
    """
    match = _find_last_matching_line(_PREFERENCE_LINE, answer)
    if match is not None:
        return _PREFERENCES[match[1].lower()]
    matches = [_BARE_PREFERENCE.fullmatch(line.strip()) for line in answer.split("\n")]
    letters = {match[1].lower() for match in matches if match}
    return _PREFERENCES[letters.pop()] if len(letters) == 1 else None


def _find_last_matching_line(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Find the last line of a text that matches a pattern as a whole, and return the match. None if no line
    matches.
    """
    for line in reversed(text.split("\n")):
        match = pattern.fullmatch(line.strip())
        if match:
            return match
    return None


def _parse_number_in_range(text: str, low: float, high: float) -> float | None:
    """Convert a text to a number; None if the number is not between `low` and `high`."""
    number = float(text.replace(",", "."))
    return number if low <= number <= high else None


def _lowercase_and_collapse_spaces(text: str) -> str:
    """Return a text in lower case, with single spaces between words."""
    return " ".join(text.split()).casefold()
