"""A language model as a metric: asked for a score, for criteria, for errors, or which of two it prefers.

| mode | asks for | score |
|---|---|---|
| direct | a number from 0 to 100 | that number |
| rubric | a number from 1 to 5 for each criterion | their mean |
| spans | the errors, with severity, as in MQM | −(minor + 5 · major + 10 · critical) |
| pairwise | the better of two outputs, in both orders | which it prefers; a verdict that flips is a tie |

An answer that cannot be read is asked for again, `again` times, and is then missing, never 0.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.llm.answers import (
    Answer,
    Request,
    fill_known,
    language_name,
    read_errors,
    read_preference,
    read_prompt,
    read_rubric,
    read_score,
    shipped_prompt,
)
from metassay.llm.asking import HOW_TO_NAME_ONE, Asker, LlmSettings
from metassay.metrics.base import Batch, Metric, Scores

DIRECT, RUBRIC, SPANS, PAIRWISE = MODES = ("direct", "rubric", "spans", "pairwise")
SECOND_THOUGHTS = 0.5
"""The temperature of later askings: at 0 a model would give the same unreadable answer again."""
Values = dict[str, str | None]


@dataclass(frozen=True)
class Preferences:
    """What a pairwise judge said of n pairs: 1 the first output, 0 the second, ½ neither, NaN unreadable.

    `asked` is [2, n]: shown in the order given, and swapped. `verdict` is what both say; else a tie.
    """

    asked: NDArray[np.float64]

    @property
    def verdict(self) -> NDArray[np.float64]:
        """What both orders name; ½ where they differ, NaN where one could not be read."""
        first, second = self.asked
        return np.where(np.isnan(first + second), np.nan, np.where(first == second, first, 0.5))

    @property
    def flipped(self) -> int:
        """Pairs of which both orders could be read, and name different outputs."""
        return int((np.abs(self.asked[0] - self.asked[1]) > 0).sum())


class Session:
    """One model being asked by one judge: who asks, and what could not be read."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self._lock = threading.Lock()
        self.questions = self.unreadable = self.flipped = self.pairs = 0

    def count(self, **counts: int) -> None:
        """Raises some of the counts; safe from several threads."""
        with self._lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)


@dataclass(frozen=True)
class Judge(Metric):
    """A language model asked to assess outputs; `connect` to a model it can score.

    `prompt` is a file with a prompt of one's own (fields {source}, {reference}, {output}, {language},
    {criteria}; pairwise {output_a} and {output_b}); `criteria` are separated by semicolons.
    """

    mode: str = DIRECT
    model: str = ""
    prompt: str = ""
    criteria: str = "accuracy;completeness;fluency"
    again: int = 2
    temperature: float = 0.0
    tokens: int = 300
    seed: int = 0

    name: ClassVar[str] = "judge"
    task: ClassVar[str] = "any"
    implementation: ClassVar[int] = 2
    needs: ClassVar[frozenset[str]] = frozenset({"output"})
    optional_fields: ClassVar[frozenset[str]] = frozenset({"references", "source"})
    can_be_timed: ClassVar[bool] = False
    can_share_cache: ClassVar[bool] = False
    summary: ClassVar[str] = "a language model: mode=direct, rubric, spans or pairwise (--llm-url)"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UnknownName("mode of judge", self.mode, MODES)
        if self.again < 0 or self.tokens < 1 or not self.temperature >= 0:
            raise InputError("judge: again and temperature are 0 or more, tokens 1 or more.")

    @property
    def pairwise(self) -> bool:
        """Whether it compares two outputs instead of scoring one."""
        return self.mode == PAIRWISE

    @property
    def cost_class(self) -> str:
        """A model on this machine needs a graphics card; any other is paid by request."""
        session = getattr(self, "_session", None)
        return "neural GPU" if session is not None and session.asker.settings.local else "paid requests"

    @property
    def price(self) -> tuple[float, float] | None:
        """What a million tokens asked and answered cost, where the user said so."""
        session = getattr(self, "_session", None)
        return None if session is None else session.asker.settings.price

    @property
    def prompt_text(self) -> str:
        """The prompt, whole: part of the signature, and shown in reports."""
        if not self.prompt:
            return shipped_prompt(f"judge-{self.mode}-1")
        return read_prompt(self.prompt, ("output_a", "output_b") if self.pairwise else ("output",))

    @property
    def signature(self) -> str:
        """Every parameter, and a hash of the prompt's text instead of the place where it lies."""
        text = blake2b(self.prompt_text.encode(), digest_size=8).hexdigest()
        parts = [f"{f.name}:{getattr(self, f.name)}" for f in dataclasses.fields(self) if f.name != "prompt"]
        return "|".join([self.name, *parts, f"prompt:{text}", f"implementation:{self.implementation}"])

    def with_model_name(self, settings: LlmSettings) -> Judge:
        """The same judge with its model named, so that spec and signature say who judged."""
        return self if self.model else dataclasses.replace(self, model=settings.name)

    def connect(self, asker: Asker) -> Judge:
        """The same judge, ready to ask."""
        judge = dataclasses.replace(self.with_model_name(asker.settings))
        object.__setattr__(judge, "_session", Session(asker))
        return judge

    def score(self, batch: Batch) -> Scores:
        """A score per output; NaN where no answer could be read."""
        if self.pairwise:
            raise InputError(
                "judge(mode=pairwise) compares two outputs and scores none.",
                remedy="Use it in assay, or with: metassay judge PAIRS --llm-url URL",
            )
        criteria = [part.strip() for part in self.criteria.split(";") if part.strip()]
        fields = [self._fields(batch, i) | {"output": output} for i, output in enumerate(batch.output)]
        readers: dict[str, Callable[[int, str], float | None]] = {
            DIRECT: lambda _, text: read_score(text),
            RUBRIC: lambda _, text: read_rubric(text, criteria),
            SPANS: lambda i, text: read_errors(text, batch.output[i]),
        }
        return self._ask(fields, readers[self.mode])

    def prefer(self, first: Batch, second: Batch) -> Preferences:
        """Which of two outputs it prefers, pair by pair, each asked in both orders."""
        asked = []
        for shown in ((first, second), (second, first)):
            fields = [
                self._fields(first, i) | {"output_a": shown[0].output[i], "output_b": shown[1].output[i]}
                for i in range(len(first))
            ]
            asked.append(self._ask(fields, lambda _, text: read_preference(text)))
        found = Preferences(np.stack([asked[0], 1 - asked[1]]))
        self.session.count(pairs=len(first), flipped=found.flipped)
        return found

    def notes(self) -> tuple[str, ...]:
        """What a reader must know: failed requests, unreadable answers, verdicts that flip."""
        session = getattr(self, "_session", None)
        if session is None:
            return ()
        said = [session.asker.note()]
        if session.unreadable:
            said.append(
                f"{session.unreadable} of {session.questions} answers could not be had or read, asked up to"
                f" {self.again + 1} times; they are missing."
            )
        if session.flipped:
            said.append(f"{session.flipped} of {session.pairs} verdicts flip with the order, and are ties.")
        return tuple(f"{self.spec}: {note}" for note in said if note)

    @property
    def session(self) -> Session:
        """The connection to a model; an error where there is none."""
        session: Session | None = getattr(self, "_session", None)
        if session is None:
            raise InputError(
                "judge needs a model to ask, and runs in assay and judge.", remedy=HOW_TO_NAME_ONE
            )
        return session

    def _fields(self, batch: Batch, row: int) -> Values:
        references = batch.fields["references"][row] if "references" in batch.fields else []
        return {
            "source": batch.fields["source"][row] if "source" in batch.fields else None,
            "reference": references[0] if references else None,
            "language": language_name(batch.language),
            "criteria": self.criteria.replace(";", ", "),
        }

    def _ask(self, fields: Sequence[Values], read: Callable[[int, str], float | None]) -> Scores:
        """One number per question; those whose answer cannot be read are asked again, up to `again` times."""
        text = self.prompt_text
        prompts = [fill_known(text, values) for values in fields]
        found = np.full(len(prompts), np.nan)
        left = list(range(len(prompts)))
        for attempt in range(self.again + 1):
            requests = [self._request(prompts[i], attempt) for i in left]
            answers = self.session.asker.ask_all(requests)
            for i, answer in zip(left, answers):
                value = _value(answer, i, read)
                found[i] = np.nan if value is None else value
            left = [i for i, answer in zip(left, answers) if np.isnan(found[i]) and answer is not None]
            if not left:
                break
        self.session.count(questions=len(prompts), unreadable=int(np.isnan(found).sum()))
        return found

    def _request(self, prompt: str, attempt: int) -> Request:
        warmth = self.temperature if attempt == 0 else max(self.temperature, SECOND_THOUGHTS)
        return Request(self.model, prompt, warmth, self.tokens, 1.0, self.seed + attempt)


def _value(answer: Answer | None, row: int, read: Callable[[int, str], float | None]) -> float | None:
    return None if answer is None or not answer.complete else read(row, answer.text)


def connect_judges(metrics: Sequence[Metric], settings: LlmSettings | None) -> tuple[Metric, ...]:
    """The metrics, with all judges among them connected to the model that the settings name."""
    if not any(isinstance(metric, Judge) for metric in metrics):
        return tuple(metrics)
    asker = Asker.of(settings or LlmSettings())
    return tuple(metric.connect(asker) if isinstance(metric, Judge) else metric for metric in metrics)


def name_judge_models(metrics: Sequence[Metric], settings: LlmSettings | None) -> tuple[Metric, ...]:
    """The metrics, with all judges among them named after the model that the settings name."""
    known: Any = settings or LlmSettings()
    return tuple(metric.with_model_name(known) if isinstance(metric, Judge) else metric for metric in metrics)


METRICS = (Judge,)
