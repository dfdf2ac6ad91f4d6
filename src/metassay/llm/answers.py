"""Questions to a model, its answers, what they cost, and where they are kept."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict, dataclass
from hashlib import blake2b
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
