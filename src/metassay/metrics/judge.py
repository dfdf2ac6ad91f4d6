"""A language model as a metric: it gives scores, rates criteria, marks errors or compares two outputs.

| mode | asks for | score |
|---|---|---|
| direct | a number from 0 to 100 | that number |
| rubric | a number from 1 to 5 for each criterion | their mean |
| spans | the errors, with severity, as in MQM | −(minor + 5 · major + 10 · critical) |
| pairwise | the better of two outputs, in both orders | which it prefers; a verdict that flips is a tie |

Where an answer cannot be parsed, the model is asked up to `again` more times; then the score is missing,
never 0.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.llm.answer_parsing import (
    parse_preference,
    parse_rubric_score,
    parse_score,
    score_listed_errors,
)
from metassay.llm.asker import Asker
from metassay.llm.prompts import (
    fill_available_prompt_fields,
    get_language_name,
    load_built_in_prompt,
    read_user_prompt,
)
from metassay.llm.requests import Answer, Request
from metassay.llm.settings import HOW_TO_CHOOSE_MODEL, LlmSettings
from metassay.metrics.base import Batch, Metric, Scores

DIRECT, RUBRIC, SPANS, PAIRWISE = MODES = ("direct", "rubric", "spans", "pairwise")
# The lowest temperature of repeated requests: at 0 a model would give the same unreadable answer again.
RETRY_TEMPERATURE = 0.5
# What is filled into the fields of a prompt, by name; None where the data has no such field.
PromptValues = dict[str, str | None]
# Parses the answer to question number i; None where it cannot be parsed.
AnswerParser = Callable[[int, str], float | None]


@dataclass(frozen=True)
class Preferences:
    """The output that a language model prefers in each pair of outputs: 1 the first, 0 the second, 0.5
    neither, NaN if the answer was unreadable.

    `by_order` is [2, n]: with the outputs shown in the order given, and swapped.
    """

    by_order: NDArray[np.float64]

    @property
    def preferences_for_first_output(self) -> NDArray[np.float64]:
        """The preference in each pair if it is the same for both orders of the outputs: 1 the first output, 0
        the second. 0.5 if it differs, and NaN if an answer is missing.
        """
        in_given_order, swapped = self.by_order
        is_unreadable = np.isnan(in_given_order + swapped)
        agreed = np.where(in_given_order == swapped, in_given_order, 0.5)
        return np.where(is_unreadable, np.nan, agreed)

    @property
    def order_dependent_pair_count(self) -> int:
        """Number of pairs for which the answer changes if the two outputs are shown in the other order."""
        return int((np.abs(self.by_order[0] - self.by_order[1]) > 0).sum())


class JudgeSession:
    """The connection of a judge to a language model, and the numbers of questions and answers so far. Several
    threads can use it.
    """

    def __init__(self, asker: Asker) -> None:
        self.asker = asker
        self.questions = 0
        self.unreadable = 0
        self.pairs = 0
        self.flipped_pairs = 0
        self._lock = threading.Lock()

    def add_answer_counts(self, *, question_count: int, unreadable_count: int) -> None:
        """Increase the numbers of questions and of questions without a readable answer."""
        with self._lock:
            self.questions += question_count
            self.unreadable += unreadable_count

    def add_pair_counts(self, *, pair_count: int, flipped_pair_count: int) -> None:
        """Increase the number of compared pairs, and of pairs for which the answer changes with the order of
        the outputs.
        """
        with self._lock:
            self.pairs += pair_count
            self.flipped_pairs += flipped_pair_count


@dataclass(frozen=True)
class Judge(Metric):
    """A metric that asks a language model for scores. Before scoring, `connect_to_model` must be called.

    `prompt` is a file with a prompt of the user's (fields {source}, {reference}, {output}, {language},
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
    connection: ClassVar[JudgeSession | None] = None
    """The model that is asked; set by `connect_to_model`."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UnknownName("mode of judge", self.mode, MODES)
        if self.again < 0 or self.tokens < 1 or not self.temperature >= 0:
            raise InputError("judge: again and temperature must be at least 0, tokens at least 1.")

    @property
    def compares_two_outputs(self) -> bool:
        """Whether the judge compares two outputs, instead of scoring each one by itself."""
        return self.mode == PAIRWISE

    @property
    def cost_class(self) -> str:
        """`neural GPU` if the model runs on this machine, else `paid requests`."""
        is_local = self.connection is not None and self.connection.asker.settings.local
        return "neural GPU" if is_local else "paid requests"

    @property
    def price_per_million_tokens(self) -> tuple[float, float] | None:
        """Prices of a million tokens in requests and of a million in answers. None if the user named no
        prices.
        """
        return None if self.connection is None else self.connection.asker.settings.price

    @property
    def prompt_text(self) -> str:
        """The prompt before its fields are filled in, from the user's file or from metassay."""
        if not self.prompt:
            return load_built_in_prompt(f"judge-{self.mode}-1")
        required_fields = ("output_a", "output_b") if self.compares_two_outputs else ("output",)
        return read_user_prompt(self.prompt, required_fields)

    @property
    def signature(self) -> str:
        """A text with all parameters and a hash of the prompt. Scores with equal signatures are
        comparable.
        """
        prompt_hash = blake2b(self.prompt_text.encode(), digest_size=8).hexdigest()
        names = [parameter.name for parameter in dataclasses.fields(self) if parameter.name != "prompt"]
        settings = [f"{name}:{getattr(self, name)}" for name in names]
        return "|".join(
            [self.name, *settings, f"prompt:{prompt_hash}", f"implementation:{self.implementation}"]
        )

    def fill_missing_model_name(self, llm_settings: LlmSettings) -> Judge:
        """Return the judge with the model name of the settings, unless the judge names a model already."""
        return self if self.model else dataclasses.replace(self, model=llm_settings.model_name)

    def connect_to_model(self, llm_client: Asker) -> Judge:
        """Return a copy of the judge that sends its questions to a language model."""
        return self.connect_to_session(JudgeSession(llm_client))

    def connect_to_session(self, judge_session: JudgeSession) -> Judge:
        """Return a copy of the judge that uses an existing connection to a language model and adds to its
        numbers of answers.
        """
        judge = dataclasses.replace(self.fill_missing_model_name(judge_session.asker.settings))
        object.__setattr__(judge, "connection", judge_session)
        return judge

    @property
    def judge_session(self) -> JudgeSession:
        """The connection to the language model; raises an error if there is none yet."""
        if self.connection is None:
            raise InputError(
                "judge needs a language model. It can be used in assay and judge.", remedy=HOW_TO_CHOOSE_MODEL
            )
        return self.connection

    def score(self, batch: Batch) -> Scores:
        """Ask the language model for a score of each output. The score is NaN if no answer could be read."""
        if self.compares_two_outputs:
            raise InputError(
                "judge(mode=pairwise) compares two outputs and does not give scores.",
                remedy="Use it in assay, or with: metassay judge PAIRS --llm-url URL",
            )
        criteria = [criterion.strip() for criterion in self.criteria.split(";") if criterion.strip()]
        questions = [
            self._get_prompt_fields(batch, row) | {"output": output}
            for row, output in enumerate(batch.output)
        ]
        parsers: dict[str, AnswerParser] = {
            DIRECT: lambda _, answer: parse_score(answer),
            RUBRIC: lambda _, answer: parse_rubric_score(answer, criteria),
            SPANS: lambda row, answer: score_listed_errors(answer, batch.output[row]),
        }
        return self._ask_model(questions, parsers[self.mode])

    def ask_which_output_is_better(self, first_outputs: Batch, second_outputs: Batch) -> Preferences:
        """Ask which of two outputs is better, for each pair of outputs in two batches. Each pair is shown in
        both orders.
        """
        preferences = []
        for shown_first, shown_second in ((first_outputs, second_outputs), (second_outputs, first_outputs)):
            questions = []
            for row in range(len(first_outputs)):
                questions.append(
                    self._get_prompt_fields(first_outputs, row)
                    | {"output_a": shown_first.output[row], "output_b": shown_second.output[row]}
                )
            preferences.append(self._ask_model(questions, lambda _, answer: parse_preference(answer)))
        in_given_order, swapped = preferences
        result = Preferences(np.stack([in_given_order, 1 - swapped]))
        self.judge_session.add_pair_counts(
            pair_count=len(first_outputs), flipped_pair_count=result.order_dependent_pair_count
        )
        return result

    def list_notes_on_scores(self) -> tuple[str, ...]:
        """Return sentences about failed requests, unreadable answers, and answers that depend on the order of
        the outputs.
        """
        session = self.connection
        if session is None:
            return ()
        notes = [session.asker.describe_failed_requests()]
        if session.unreadable:
            notes.append(
                f"{session.unreadable} of {session.questions} answers are missing. In up to {self.again + 1} "
                "attempts the language model gave no answer, or none that could be parsed."
            )
        if session.flipped_pairs:
            notes.append(
                f"{session.flipped_pairs} of {session.pairs} verdicts change with the order of the "
                "outputs, so they count as ties."
            )
        return tuple(f"{self.spec}: {note}" for note in notes if note)

    def _get_prompt_fields(self, batch: Batch, row_number: int) -> PromptValues:
        """Return the texts that can be inserted into a prompt for one output, by the name of the field."""
        references = batch.fields["references"][row_number] if "references" in batch.fields else []
        return {
            "source": batch.fields["source"][row_number] if "source" in batch.fields else None,
            "reference": references[0] if references else None,
            "language": get_language_name(batch.language),
            "criteria": self.criteria.replace(";", ", "),
        }

    def _ask_model(self, prompt_values: Sequence[PromptValues], parse_answer: AnswerParser) -> Scores:
        """Ask one question for each set of prompt fields, and return the numbers in the answers. Questions
        with an unreadable answer are repeated up to `again` times.
        """
        prompt_text = self.prompt_text
        prompts = [fill_available_prompt_fields(prompt_text, values) for values in prompt_values]
        scores = np.full(len(prompts), np.nan)
        open_questions = list(range(len(prompts)))
        for attempt in range(self.again + 1):
            requests = [self._build_model_request(prompts[i], attempt) for i in open_questions]
            answers = self.judge_session.asker.get_answers_in_parallel(requests)
            unreadable = []
            for i, answer in zip(open_questions, answers):
                score = _parse_complete_answer(answer, i, parse_answer)
                if score is not None:
                    scores[i] = score
                # A failed request (None) is not repeated here: the client has repeated it already.
                if answer is not None and np.isnan(scores[i]):
                    unreadable.append(i)
            open_questions = unreadable
            if not open_questions:
                break
        self.judge_session.add_answer_counts(
            question_count=len(prompts), unreadable_count=int(np.isnan(scores).sum())
        )
        return scores

    def _build_model_request(self, prompt: str, attempt_number: int) -> Request:
        """Build a request to the language model. Repeated requests use another seed and a minimum
        temperature, to get another answer.
        """
        temperature = self.temperature
        if attempt_number > 0:
            temperature = max(temperature, RETRY_TEMPERATURE)
        return Request(self.model, prompt, temperature, self.tokens, 1.0, self.seed + attempt_number)


def _parse_complete_answer(
    answer: Answer | None, question_number: int, parse_answer: AnswerParser
) -> float | None:
    """Return the number in an answer of the language model. None if there is no answer or if it was cut
    off.
    """
    if answer is None or not answer.complete:
        return None
    return parse_answer(question_number, answer.text)


def connect_judges_to_model(
    metrics: Sequence[Metric], llm_settings: LlmSettings | None
) -> tuple[Metric, ...]:
    """Connect the metrics that ask a language model to the model of the settings. All metrics are
    returned.
    """
    if not any(isinstance(metric, Judge) for metric in metrics):
        return tuple(metrics)
    asker = Asker.from_settings(llm_settings or LlmSettings())
    return tuple(
        metric.connect_to_model(asker) if isinstance(metric, Judge) else metric for metric in metrics
    )
