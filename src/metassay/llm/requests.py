"""Requests to a language model, its answers, and what they cost."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Protocol

from metassay.errors import MetassayError


class LlmFailure(MetassayError):
    """Raised if the language model does not answer. The run stops and can be continued later."""

    exit_code = 2


@dataclass(frozen=True)
class Request:
    """A request to a language model, with all parameters that affect the answer."""

    model: str
    prompt: str
    temperature: float
    max_tokens: int
    top_p: float
    seed: int

    @property
    def request_hash(self) -> str:
        """A hash of the request, which identifies its stored answer."""
        return blake2b(json.dumps(asdict(self), sort_keys=True).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Answer:
    """The text of an answer, whether the text is complete, and the numbers of tokens of prompt and answer."""

    text: str
    complete: bool
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __post_init__(self) -> None:
        values = (self.text, self.complete, self.prompt_tokens, self.completion_tokens)
        # A server, or an edited file of answers, may contain anything.
        if [type(value) for value in values] != [str, bool, int, int]:
            raise TypeError("an answer is a text, complete or not, and two counts.")
        self.text.encode()  # raises for a lone surrogate, which could not be stored


class Usage:
    """Numbers of requests and tokens in a run. Answers that were stored before add no tokens."""

    def __init__(self) -> None:
        self.asked = 0
        self.cached = 0
        self.retries = 0
        self.failed = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self._lock = threading.Lock()

    def add_counts(self, **counts: int) -> None:
        """Increase some of the numbers. Several threads may call this method."""
        with self._lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)

    def to_dict(self) -> dict[str, int]:
        """Return the numbers of requests and tokens by name."""
        return {name: count for name, count in vars(self).items() if isinstance(count, int)}


class Backend(Protocol):
    """Interface of classes that answer requests: a server, or a model in this process."""

    usage: Usage

    def get_answer(self, request: Request) -> Answer | None:
        """Return the answer to a request; None if all attempts failed."""
