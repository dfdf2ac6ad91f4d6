"""A slightly worse version, written by a language model; of several copies the one a model finds likely."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from metassay.errors import InputError
from metassay.llm.asker import Asker
from metassay.llm.local_model import LocalModel
from metassay.llm.prompts import UNKNOWN_FIELD, fill_prompt, name_language, read_prompt
from metassay.llm.requests import Answer, Request
from metassay.llm.settings import HOW_TO_CHOOSE_MODEL, LlmSettings
from metassay.perturbations.base import Perturbation, View
from metassay.perturbations.registry import parse_perturbation, parse_perturbations
from metassay.stats.streams import Keys, Stream
from metassay.tasks.base import OutputKind, Task

_REFUSAL = re.compile(
    r"(?:i['’]?m sorry|i am sorry|sorry,|i can(?:no|['’])t|i am unable|i['’]m unable|as an ai|i won['’]t)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:rewritten |perturbed |worse |modified )?(?:output|translation|transcript)\s*:\s*", re.IGNORECASE
)
_QUOTES = {'"': '"', "“": "”", "'": "'", "«": "»", "„": "“", "`": "`"}
LONGEST = 3.0
"""An answer so many times as long as the output is a comment, not a version of it."""


@dataclass(frozen=True)
class LlmRewriting(Perturbation[str]):
    """Asks an instruction-tuned model for a slightly worse version (temperature 0.3, 200 tokens, top_p 1.0).

    Refusals, comments and answers cut short do not apply; echoes are counted as unchanged. The draw of the
    stream is passed as the model's seed, and answers are cached: a run taken up again asks nothing twice.
    """

    name: ClassVar[str] = "llm"
    default: ClassVar[bool] = False
    stores_results: ClassVar[bool] = True
    needs_spaces: ClassVar[bool] = False
    summary: ClassVar[str] = "asks a language model for a slightly worse version (--llm-url)"

    temperature: float = 0.3
    tokens: int = 200
    top_p: float = 1.0
    settings: LlmSettings = field(default_factory=LlmSettings, compare=False, repr=False)
    task: Task | None = field(default=None, compare=False, repr=False)
    asker: Asker | None = field(default=None, compare=False, repr=False)

    @classmethod
    def configured(cls, settings: LlmSettings, task: Task, **parameters: Any) -> LlmRewriting:
        """Ready to ask."""
        return cls(settings=settings, task=task, asker=Asker.from_settings(settings), **parameters)

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The model's version of one output."""
        request = self._request(view, self._prompt(), stream.draw_below(1 << 31))
        return _worse(view, None if request is None else self._ready().ask(request))

    def apply_all(self, views: Sequence[View[str]], keys: Keys) -> list[str | None]:
        """The model's versions of many outputs, several requests at a time."""
        prompt = self._prompt()
        requests = [
            self._request(v, prompt, Stream(key).draw_below(1 << 31)) for v, key in zip(views, keys.tolist())
        ]
        return [_worse(view, answer) for view, answer in zip(views, self._ready().ask_all(requests))]

    @property
    def usage(self) -> dict[str, Any] | None:
        """Requests, tokens and, where a price is known, the cost."""
        return None if self.asker is None else self.asker.count_usage()

    @property
    def notes(self) -> tuple[str, ...]:
        """How many requests got no answer."""
        note = None if self.asker is None else self.asker.describe_failures()
        return () if note is None else (f"{self.spec}: {note}",)

    def _prompt(self) -> str:
        if self.settings.prompt is not None:
            return read_prompt(self.settings.prompt)
        if self.task is None or self.task.perturbation_prompt is None:
            raise InputError("there is no prompt for this task.", remedy="Write one: --llm-prompt FILE.")
        return self.task.perturbation_prompt

    def _request(self, view: View[str], prompt: str, seed: int) -> Request | None:
        if not view.output.strip():
            return None
        text = fill_prompt(prompt, fields(view))
        return Request(self.settings.model, text, self.temperature, self.tokens, self.top_p, seed)

    def _ready(self) -> Asker:
        if self.asker is None:
            raise InputError("llm needs a model to ask.", remedy=HOW_TO_CHOOSE_MODEL)
        return self.asker


def fields(view: View[str]) -> Mapping[str, str]:
    """What a prompt may mention of one output."""
    return {
        "source": view.source or UNKNOWN_FIELD,
        "reference": view.references[0] if view.references else UNKNOWN_FIELD,
        "output": view.output,
        "language": name_language(view.language),
    }


def _worse(view: View[str], answer: Answer | None) -> str | None:
    return usable(answer.text, view.output) if answer is not None and answer.complete else None


def usable(answer: str, output: str) -> str | None:
    """The worse version inside an answer, or None for refusals, comments and silence.

    Labels and quotation marks around it are taken off, and of several lines the first is taken where the
    output has one. An echo comes back as the output itself.
    """
    text = answer.strip()
    if "\n" not in output:
        text = text.partition("\n")[0].strip()
    text = _LABEL.sub("", text, count=1) if _LABEL.match(text) and not _LABEL.match(output) else text
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and output[:1] != text[0]:
        text = text[1:-1].strip()
    if (
        not text
        or "\0" in text
        or (_REFUSAL.match(text) and not _REFUSAL.match(output))
        or len(text) > LONGEST * len(output) + 20
    ):
        return None
    return output if text.split() == output.split() else text


Likelihoods = Callable[[Sequence[str]], Sequence[float]]
"""From texts to their log-likelihoods; NaN for one that the model cannot read."""


@dataclass(frozen=True)
class Likeliest(Perturbation[str]):
    """Of several copies that another method draws the one that a language model finds most likely.

    Such copies are harder to tell from what a system writes than a random one. `method` is the spec of the
    other method, `of` how many copies it draws; the likelihood of a text is the sum of log p over its tokens.
    """

    name: ClassVar[str] = "likely"
    default: ClassVar[bool] = False
    needs_spaces: ClassVar[bool] = False
    summary: ClassVar[str] = "the likeliest of several copies of another method (--llm-local)"

    method: str = "removal"
    of: int = 8
    likelihoods: Likelihoods | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.of < 2:
            raise InputError(f"{self.spec} has nothing to choose from.")
        inner = self.inner
        asks = isinstance(inner, LlmRewriting | Likeliest)
        if asks or inner.needed_fields or inner.output_kind is not OutputKind.TEXT:
            raise InputError(f"{self.spec}: {self.method} cannot be drawn several times.")

    @property
    def inner(self) -> Perturbation[Any]:
        """The method that draws the copies."""
        return parse_perturbation(self.method)

    @property
    def collection_name(self) -> str:
        """The other method uses what is gathered."""
        return self.inner.name

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The likeliest copy of one output."""
        return self._chosen([view], [[stream.draw_below(1 << 32)] for _ in range(self.of)])[0]

    def apply_all(self, views: Sequence[View[str]], keys: Keys) -> list[str | None]:
        """The likeliest copies of many outputs, each distinct copy read once."""
        streams = [Stream(key) for key in keys.tolist()]
        return self._chosen(views, [[own.draw_below(1 << 32) for own in streams] for _ in range(self.of)])

    def _chosen(self, views: Sequence[View[str]], turns: Sequence[Sequence[int]]) -> list[str | None]:
        if self.likelihoods is None:
            raise InputError(f"{self.spec} needs a model to ask.", remedy=_LOCAL)
        inner = self.inner
        drawn = [inner.apply_all(views, np.array(keys, np.uint64)) for keys in turns]
        copies = [[text for text in dict.fromkeys(each) if text is not None] for each in zip(*drawn)]
        texts = sorted({text for each in copies if len(each) > 1 for text in each})
        known = dict(zip(texts, self.likelihoods(texts) if texts else ()))
        readable = {text: value for text, value in known.items() if value == value}  # noqa: PLR0124 - NaN
        return [max(each, key=lambda text: readable.get(text, -math.inf), default=None) for each in copies]

    def collect(self, texts: Sequence[str], language: str | None, analyses: Iterable[Any]) -> Any:
        """What the other method gathers."""
        return self.inner.collect(texts, language, analyses)

    def analyse_texts(self, texts: Sequence[str], language: str | None) -> list[Any] | None:
        """What the other method finds in each text."""
        return self.inner.analyse_texts(texts, language)

    def describe_missing_resource(self, language: str) -> str | None:
        """Why the other method does nothing for a language."""
        known = self.inner.languages
        if known is not None and language not in known:
            return f"{self.method} knows {', '.join(sorted(known))}"
        return self.inner.describe_missing_resource(language)


_LOCAL = "Pass --llm-local with the name or folder of a model on this machine."


def connect(method: Perturbation[Any], llm: LlmSettings | None, task: Task) -> Perturbation[Any]:
    """The method, ready to ask the model of the settings if it asks one."""
    if isinstance(method, LlmRewriting) and method.asker is None:
        return LlmRewriting.configured(llm or LlmSettings(), task, **method.parameters)
    if isinstance(method, Likeliest) and method.likelihoods is None:
        parse_perturbations(method.method, task=task)  # refuses what is made for another task
        if llm is None or llm.local is None:
            raise InputError(f"{method.spec} needs a model to ask.", remedy=_LOCAL)
        return replace(method, likelihoods=LocalModel(llm.local).compute_log_likelihoods)
    return method


PERTURBATIONS = (LlmRewriting, Likeliest)
