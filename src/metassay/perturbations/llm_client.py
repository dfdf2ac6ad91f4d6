"""Asking a model behind an OpenAI-compatible address: patiently, a few at a time, and never twice."""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from metassay.errors import InputError, MetassayError

KEY_VARIABLES = ("METASSAY_LLM_KEY", "OPENAI_API_KEY")
"""Where the key is looked for; it is never stored."""
WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class LlmFailure(MetassayError):
    """A model that does not answer: stops the run, which can be taken up again."""


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


class AnswerCache:
    """Answers by request, one JSON line each, on disk as soon as they arrive."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._answers: dict[str, Answer] = {}
        self._torn = False
        if path is not None and path.exists():
            lines = path.read_text(encoding="utf-8").split("\n")
            self._torn = bool(lines[-1])
            for line in lines:
                self._remember(line)

    def _remember(self, line: str) -> None:
        try:
            entry = json.loads(line)
            key = entry.pop("key")
            self._answers[key] = Answer(**entry)
        except (ValueError, TypeError, KeyError):
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


@dataclass
class Endpoint:
    """An OpenAI-compatible server, such as `http://localhost:8000/v1`."""

    url: str
    timeout: float = 60.0
    """Seconds until a request is given up and tried again."""
    attempts: int = 5
    patience: float = 1.0
    """Seconds before the second attempt; doubled each time, at most a minute."""
    usage: Usage = field(default_factory=Usage)
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme not in {"http", "https"}:
            raise InputError(f"{self.url!r} is not an address.", remedy="Such as http://localhost:8000/v1")

    def ask(self, request: Request) -> Answer | None:
        """The model's answer; None where it could not be had after all attempts."""
        for attempt in range(self.attempts):
            wait = min(self.patience * 2**attempt, 60.0)
            try:
                answer = _parse(self._post(request))
            except urllib.error.HTTPError as error:
                self._refuse_what_no_patience_helps(error)
                wait = max(wait, min(_retry_after(error), 60.0))
            except (OSError, HTTPException, ValueError, KeyError, IndexError, TypeError):
                pass  # no connection, a time-out, half an answer or something else than an answer
            else:
                self.usage.add(
                    asked=1, prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens
                )
                return answer
            if attempt + 1 < self.attempts:
                self.usage.add(retries=1)
                self.sleep(wait)
        self.usage.add(failed=1)
        return None

    def _post(self, request: Request) -> Any:
        body = {
            "model": request.model,
            "messages": [{"role": "user", "content": request.prompt}],
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "top_p": request.top_p,
            "seed": request.seed,
        }
        headers = {"Content-Type": "application/json"}
        key = next((os.environ[name] for name in KEY_VARIABLES if os.environ.get(name)), None)
        if key:
            headers["Authorization"] = f"Bearer {key}"
        address = f"{self.url.rstrip('/')}/chat/completions"
        message = urllib.request.Request(address, json.dumps(body).encode(), headers)  # noqa: S310 - checked above
        with urllib.request.urlopen(message, timeout=self.timeout) as response:  # noqa: S310
            return json.load(response)

    def _refuse_what_no_patience_helps(self, error: urllib.error.HTTPError) -> None:
        if error.code not in WORTH_ANOTHER_TRY:
            remedy = "Check the address, the model's name and the key in METASSAY_LLM_KEY."
            raise InputError(f"{self.url} answered {error.code} {error.reason}.", remedy=remedy) from None


def _parse(reply: Any) -> Answer:
    """The first choice of a reply; anything else than the expected shape raises."""
    choice, usage = reply["choices"][0], reply.get("usage") or {}
    text = choice["message"]["content"]
    if not isinstance(text, str):
        raise TypeError
    return Answer(
        text,
        complete=choice.get("finish_reason") != "length",
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
    )


def _retry_after(error: urllib.error.HTTPError) -> float:
    try:
        return float(error.headers.get("Retry-After", 0))
    except (TypeError, ValueError):
        return 0.0
