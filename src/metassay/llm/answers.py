"""Questions to a model, its answers, what they cost, and where they are kept.

What a model's answer says, where it keeps to the form that was asked for; None where it does not.

>>> read_score("Score: 85"), read_score("85/100"), read_score("It is good."), read_score("Score: 300")
(85.0, 85.0, None, None)
>>> read_preference("Better: B"), read_preference("**Better: tie**"), read_preference("A or B")
(0.0, 0.5, None)

Prompts: texts with fields in braces, ours in data files, or a file of the user's own.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Protocol

from metassay.errors import InputError, MetassayError, Place


class LlmFailure(MetassayError):
    """A model that does not answer: stops the run, which can be taken up again."""

    exit_code = 2


@dataclass(frozen=True)
class Request:
    """One question, complete: equal requests have equal answers in the cache."""

    model: str
    prompt: str
    temperature: float
    max_tokens: int
    top_p: float
    seed: int

    @property
    def key(self) -> str:
        """A hash of everything asked."""
        return blake2b(json.dumps(asdict(self), sort_keys=True).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Answer:
    """What came back: the text, and whether the model stopped by itself."""

    text: str
    complete: bool
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __post_init__(self) -> None:
        kinds = [
            type(value) for value in (self.text, self.complete, self.prompt_tokens, self.completion_tokens)
        ]
        if kinds != [str, bool, int, int]:  # a server, or a file that someone edited, may say anything
            raise TypeError("an answer is a text, complete or not, and two counts.")
        self.text.encode()  # a lone surrogate is no text: nothing could store or show it


class Usage:
    """What the answers of a run cost; counts of this run only, answers from the cache are free."""

    def __init__(self) -> None:
        self.asked = self.cached = self.retries = self.failed = 0
        self.prompt_tokens = self.completion_tokens = 0
        self._lock = threading.Lock()

    def add(self, **counts: int) -> None:
        """Raises some of the counts; safe from several threads."""
        with self._lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)

    def counts(self) -> dict[str, int]:
        """The counts by name."""
        return {name: count for name, count in vars(self).items() if isinstance(count, int)}


class Backend(Protocol):
    """Something that answers requests: an endpoint, or a model in this process."""

    usage: Usage

    def ask(self, request: Request) -> Answer | None:
        """The answer, or None where there is none to be had."""


class AnswerCache:
    """Answers by request, one JSON line each, on disk as soon as they arrive."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._answers: dict[str, Answer] = {}
        self._torn = False
        if path is not None and path.exists():
            lines = _lines(path)
            self._torn = bool(lines[-1])
            for line in lines:
                self._remember(line)

    def _remember(self, line: str) -> None:
        try:
            entry = json.loads(line)
            key = entry.pop("key")
            self._answers[key] = Answer(**entry)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return  # the last line of a run that was stopped may be cut short

    def get(self, key: str) -> Answer | None:
        """The answer to a request, if it was ever given."""
        return self._answers.get(key)

    def put(self, key: str, answer: Answer) -> None:
        """Keeps an answer."""
        with self._lock:
            self._answers[key] = answer
            if self._path is None:
                return
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write("\n" * self._torn + json.dumps({"key": key, **asdict(answer)}) + "\n")
                file.flush()
                os.fsync(file.fileno())
            self._torn = False


def _lines(path: Path) -> list[str]:
    try:
        return path.read_bytes().decode("utf-8", "replace").split("\n")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"the answers cannot be read ({reason}).", place=Place(file=str(path))) from None


WEIGHTS = {"minor": 1.0, "major": 5.0, "critical": 10.0}
"""What an error of each severity costs."""

_NUMBER = r"(\d{1,3}(?:[.,]\d{1,3})?)"
_GAP = r"[\s:=*_`\"]*"  # no minus sign: −5 is not 5
_SCORE = re.compile(
    rf"\W*(?:the\s+)?score(?:\s+of\s+the\s+\w+)?(?:\s+is)?{_GAP}{_NUMBER}\s*(?:/\s*100|out of 100)?\W*",
    re.IGNORECASE,
)
_BARE = re.compile(rf"{_GAP}{_NUMBER}\s*(?:/\s*100)?\W*")
_BETTER = re.compile(r"[^\w\n]*better[^\w\n]*(?:is\s+)?(?:output\s+)?(a|b|tie)\W*", re.IGNORECASE)
_LETTER = re.compile(r"\W*(?:output\s+)?(a|b|tie)\W*", re.IGNORECASE)
_PREFERENCES = {"a": 1.0, "b": 0.0, "tie": 0.5}
_ERROR = re.compile(r"[^\w\n]*(minor|major|critical)\W*?:\s*(.+)", re.IGNORECASE)
_NO_ERRORS = re.compile(r"\W*no errors?\W*", re.IGNORECASE)
_QUOTES = "\"'“”„«»‘’` "


def read_score(text: str) -> float | None:
    """A number from 0 to 100: in the last line `Score: NUMBER` or `The score is NUMBER`, or all there is."""
    found = _last(_SCORE, text) or _BARE.fullmatch(text.strip())
    return None if found is None else _within(found[1], 0, 100)


def read_rubric(text: str, criteria: Sequence[str]) -> float | None:
    """The mean of numbers from 1 to 5, one for every criterion and no other."""
    found = []
    for name in criteria:
        pattern = re.compile(rf"\W*{re.escape(name)}[\s*_]*:{_GAP}{_NUMBER}\s*(?:/\s*5)?\W*", re.IGNORECASE)
        match = _last(pattern, text)
        value = None if match is None else _within(match[1], 1, 5)
        if value is None:
            return None
        found.append(value)
    return sum(found) / len(found) if found else None


def read_errors(text: str, output: str) -> float | None:
    """Minus the weights of the errors named; each must quote the output, or be an omission."""
    lines = [line.strip() for line in text.strip().split("\n") if line.strip()]
    if len(lines) == 1 and _NO_ERRORS.fullmatch(lines[0]):
        return 0.0
    matches = [match for line in lines if (match := _ERROR.fullmatch(line))]
    if not matches:
        return None
    there = _folded(output)
    quotes = [_folded(match[2].strip(_QUOTES)) for match in matches]
    if not all(quote and ("(omission)" in quote or quote in there) for quote in quotes):
        return None
    return -sum(WEIGHTS[match[1].lower()] for match in matches)


def read_preference(text: str) -> float | None:
    """1 for A, 0 for B, ½ for a tie: in the last line `Better: A`, or in lines of one letter that agree."""
    found = _last(_BETTER, text)
    if found is not None:
        return _PREFERENCES[found[1].lower()]
    lines = [match[1].lower() for line in text.split("\n") if (match := _LETTER.fullmatch(line.strip()))]
    return _PREFERENCES[lines[0]] if len(set(lines)) == 1 else None


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The last line that keeps to the form."""
    matches = [match for line in text.split("\n") if (match := pattern.fullmatch(line.strip()))]
    return matches[-1] if matches else None


def _within(text: str, low: float, high: float) -> float | None:
    value = float(text.replace(",", "."))
    return value if low <= value <= high else None


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


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
