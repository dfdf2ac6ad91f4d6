"""A slightly worse version, written by a language model."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from metassay.errors import InputError
from metassay.perturbations.base import Perturbation, View
from metassay.perturbations.llm_client import Answer, AnswerCache, Endpoint, LlmFailure, Request, Usage
from metassay.perturbations.llm_prompts import fill, read_prompt, usable
from metassay.stats.random import Keys, Stream
from metassay.tasks.base import Task

HOW_TO_NAME_ONE = "Pass --llm-url, or --llm-local for a model on this machine."
HOPELESS = 8
"""Requests that fail one after the other, with none answered, before the run stops."""


class Backend(Protocol):
    """Something that answers requests: an endpoint, or a model in this process."""

    usage: Usage

    def ask(self, request: Request) -> Answer | None:
        """The answer, or None where there is none to be had."""


@dataclass(frozen=True)
class LlmSettings:
    """Which model to ask and how; `url` for an OpenAI-compatible server, or a local model's name or path."""

    url: str | None = None
    model: str = ""
    local: str | None = None
    prompt: str | Path | None = None
    """A file with a prompt of one's own."""
    cache: Path | None = None
    """Where answers are kept, so that nothing is asked twice."""
    concurrency: int = 8
    timeout: float = 60.0
    price: tuple[float, float] | None = None
    """Money for a million tokens asked and answered, for the cost in the manifest."""

    def backend(self) -> Backend:
        """Whoever answers."""
        if self.local is not None:
            from metassay.perturbations.llm_local import LocalModel

            return LocalModel(self.local)
        if self.url is None:
            raise InputError("llm needs a model to ask.", remedy=HOW_TO_NAME_ONE)
        return Endpoint(self.url, timeout=self.timeout)


@dataclass(frozen=True)
class LlmRewriting(Perturbation[str]):
    """Asks an instruction-tuned model for a slightly worse version (temperature 0.3, 200 tokens, top_p 1.0).

    Refusals, comments and answers cut short do not apply; echoes are counted as unchanged. The draw of the
    stream is passed as the model's seed, and answers are cached: a run taken up again asks nothing twice.
    """

    name: ClassVar[str] = "llm"
    default: ClassVar[bool] = False
    by_words: ClassVar[bool] = False
    summary: ClassVar[str] = "asks a language model for a slightly worse version (--llm-url)"

    temperature: float = 0.3
    tokens: int = 200
    top_p: float = 1.0
    settings: LlmSettings = field(default_factory=LlmSettings, compare=False, repr=False)
    task: Task | None = field(default=None, compare=False, repr=False)
    backend: Backend | None = field(default=None, compare=False, repr=False)
    cache: AnswerCache = field(default_factory=lambda: AnswerCache(None), compare=False, repr=False)

    @classmethod
    def configured(cls, settings: LlmSettings, task: Task, **parameters: Any) -> LlmRewriting:
        """Ready to ask."""
        cache = AnswerCache(settings.cache)
        return cls(settings=settings, task=task, backend=settings.backend(), cache=cache, **parameters)

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The model's version of one output."""
        return self._worse(view, self._answer(self._request(view, self._prompt(), stream.below(1 << 31))))

    def apply_all(self, views: Sequence[View[str]], keys: Keys) -> list[str | None]:
        """The model's versions of many outputs, several requests at a time."""
        prompt = self._prompt()
        requests = [
            self._request(v, prompt, Stream(key).below(1 << 31)) for v, key in zip(views, keys.tolist())
        ]
        with ThreadPoolExecutor(max(self.settings.concurrency, 1)) as pool:
            answers = list(pool.map(self._answer, requests))
        return [self._worse(view, answer) for view, answer in zip(views, answers)]

    def usage(self) -> dict[str, Any] | None:
        """Requests, tokens and, where a price is known, the cost."""
        if self.backend is None:
            return None
        usage = self.backend.usage
        counts: dict[str, Any] = usage.counts()
        if self.settings.price is not None:
            asked, answered = self.settings.price
            counts["cost"] = (usage.prompt_tokens * asked + usage.completion_tokens * answered) / 1e6
        return counts

    def _prompt(self) -> str:
        if self.settings.prompt is not None:
            return read_prompt(self.settings.prompt)
        if self.task is None or self.task.prompt is None:
            raise InputError("there is no prompt for this task.", remedy="Write one: --llm-prompt FILE.")
        return self.task.prompt

    def _request(self, view: View[str], prompt: str, seed: int) -> Request | None:
        if not view.output.strip():
            return None
        text = fill(prompt, view)
        return Request(self.settings.model, text, self.temperature, self.tokens, self.top_p, seed)

    def _answer(self, request: Request | None) -> Answer | None:
        """The answer from the cache or, failing that, from the model."""
        if request is None:
            return None
        if self.backend is None:
            raise InputError("llm needs a model to ask.", remedy=HOW_TO_NAME_ONE)
        usage = self.backend.usage
        known = self.cache.get(request.key)
        if known is not None:
            usage.add(cached=1)
            return known
        if usage.failed >= HOPELESS and usage.asked == 0:
            raise LlmFailure(f"{self.settings.url} does not answer; run the same command again when it does.")
        answer = self.backend.ask(request)
        if answer is not None:
            self.cache.put(request.key, answer)
        return answer

    @staticmethod
    def _worse(view: View[str], answer: Answer | None) -> str | None:
        return usable(answer.text, view.output) if answer is not None and answer.complete else None


PERTURBATIONS = (LlmRewriting,)
