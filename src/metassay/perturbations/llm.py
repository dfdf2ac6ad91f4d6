"""`llm` and `likely`: perturbations that use a language model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from metassay.errors import InputError, UnknownName
from metassay.llm.asker import Asker
from metassay.llm.local_model import LocalModel
from metassay.llm.prompts import (
    UNKNOWN_FIELD,
    fill_prompt_fields,
    get_language_name,
    load_built_in_prompt,
    read_user_prompt,
)
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
# An answer that is longer than this many times the output is a comment, not a version of the output.
MAXIMUM_LENGTH_RATIO = 3.0
_SEEDS = 1 << 31
OUR_PROMPT = "metassay"
PUBLISHED_PROMPT = "paper"
# Files with the prompts of the paper, by task.
_PUBLISHED_PROMPTS = {"mt": "perturb-mt-paper-1", "asr": "perturb-asr-paper-1"}


@dataclass(frozen=True)
class LlmRewriting(Perturbation[str]):
    """Asks a language model for a slightly worse version of an output.

    Refusals, comments and truncated answers are not used. An answer that equals the output counts as
    unchanged. The seed of each request is drawn from the stream. Answers are cached, so that a resumed run
    repeats no request.

    `prompt` is "metassay" for our own prompt, or "paper" for the prompts of Deviyani and Diaz (2025, appendix
    A.2.2), which exist for translation and speech recognition. Theirs name the language of the source too
    (`SOURCE_ENGLISH`); here the label is `SOURCE`, because the language of a source is not always known.
    """

    name: ClassVar[str] = "llm"
    default: ClassVar[bool] = False
    stores_results: ClassVar[bool] = True
    needs_spaces: ClassVar[bool] = False
    summary: ClassVar[str] = "asks a language model for a slightly worse version (--llm-url)"

    temperature: float = 0.3
    tokens: int = 200
    top_p: float = 1.0
    prompt: str = OUR_PROMPT
    settings: LlmSettings = field(default_factory=LlmSettings, compare=False, repr=False)
    task: Task | None = field(default=None, compare=False, repr=False)
    asker: Asker | None = field(default=None, compare=False, repr=False)

    @classmethod
    def from_settings(cls, settings: LlmSettings, task: Task, **parameters: Any) -> LlmRewriting:
        """Create the perturbation with a connection to the language model that the settings name."""
        return cls(settings=settings, task=task, asker=Asker.from_settings(settings), **parameters)

    def apply(self, output_view: View[str], random_stream: Stream) -> str | None:
        """Return the version of an output that the language model wrote."""
        request = self._build_rewriting_request(
            output_view, self._load_prompt(), random_stream.draw_integer_below(_SEEDS)
        )
        answer = None if request is None else self._require_model_connection().get_answer(request)
        return _parse_model_answer(output_view, answer)

    def perturb_many_outputs(self, output_views: Sequence[View[str]], random_keys: Keys) -> list[str | None]:
        """Return the versions of many outputs that a language model wrote. Several requests are sent to the
        model at a time.
        """
        prompt = self._load_prompt()
        requests = []
        for output_view, key in zip(output_views, random_keys.tolist()):
            requests.append(
                self._build_rewriting_request(output_view, prompt, Stream(key).draw_integer_below(_SEEDS))
            )
        answers = self._require_model_connection().get_answers_in_parallel(requests)
        return [
            _parse_model_answer(output_view, answer) for output_view, answer in zip(output_views, answers)
        ]

    @property
    def language_model_usage(self) -> dict[str, Any] | None:
        """Numbers of requests and tokens used so far, with their cost if the price is known."""
        return None if self.asker is None else self.asker.summarize_requests_and_tokens()

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence that says how many requests to the model failed, if any did."""
        note = None if self.asker is None else self.asker.describe_failed_requests()
        return () if note is None else (f"{self.spec}: {note}",)

    def __post_init__(self) -> None:
        if self.prompt not in (OUR_PROMPT, PUBLISHED_PROMPT):
            raise UnknownName("prompt", self.prompt, (OUR_PROMPT, PUBLISHED_PROMPT))

    def _load_prompt(self) -> str:
        """Return the prompt for the model: the one that the user wrote, or else the default one of a paper or
        of the task.
        """
        if self.settings.prompt is not None:
            if self.prompt != OUR_PROMPT:
                raise InputError(f"{self.spec} has a prompt of its own.", remedy="Leave out --llm-prompt.")
            return read_user_prompt(self.settings.prompt)
        if self.prompt == PUBLISHED_PROMPT:
            name = _PUBLISHED_PROMPTS.get("" if self.task is None else self.task.name)
            if name is None:
                raise InputError(
                    "the paper has no prompt for this task.", remedy="Use llm without prompt=paper."
                )
            return load_built_in_prompt(name)
        if self.task is None or self.task.perturbation_prompt is None:
            raise InputError("there is no prompt for this task.", remedy="Write one: --llm-prompt FILE.")
        return self.task.perturbation_prompt

    def _build_rewriting_request(self, output_view: View[str], prompt: str, seed: int) -> Request | None:
        """Build the request that asks a model for a worse version of an output, or return None if the output
        is empty.
        """
        if not output_view.output.strip():
            return None
        text = fill_prompt_fields(prompt, list_prompt_fields(output_view))
        return Request(self.settings.model, text, self.temperature, self.tokens, self.top_p, seed)

    def _require_model_connection(self) -> Asker:
        """Return the connection to the language model. If no model was chosen, an error is raised."""
        if self.asker is None:
            raise InputError("llm needs a language model.", remedy=HOW_TO_CHOOSE_MODEL)
        return self.asker


def list_prompt_fields(output_view: View[str]) -> Mapping[str, str]:
    """Return the values that a prompt can contain for an output, such as its source, by name."""
    return {
        "source": output_view.source or UNKNOWN_FIELD,
        "reference": output_view.references[0] if output_view.references else UNKNOWN_FIELD,
        "output": output_view.output,
        "language": get_language_name(output_view.language),
        "LANGUAGE": get_language_name(output_view.language).upper().replace(" ", "_"),
    }


def _parse_model_answer(output_view: View[str], answer: Answer | None) -> str | None:
    """Return the worse version of an output from a model's answer, or None if there is none or the answer was
    cut off.
    """
    if answer is None or not answer.complete:
        return None
    return extract_perturbed_output(answer.text, output_view.output)


def extract_perturbed_output(answer: str, output: str) -> str | None:
    """Extract the worse version of an output from a model's answer. Returns None for refusals, comments and
    empty answers.

    Labels and quotation marks around it are removed. If the output has one line, only the first line of the
    answer is used. If only white space differs from the output, the output itself is returned.
    """
    text = answer.strip()
    # Models often add an explanation in the lines after the answer.
    if "\n" not in output:
        text = text.partition("\n")[0].strip()
    # Labels, quotes and refusals of the output itself are part of it.
    if _LABEL.match(text) and not _LABEL.match(output):
        text = _LABEL.sub("", text, count=1)
    if len(text) > 1 and _QUOTES.get(text[0]) == text[-1] and output[:1] != text[0]:
        text = text[1:-1].strip()
    is_refusal = _REFUSAL.match(text) and not _REFUSAL.match(output)
    # The 20 characters let answers to outputs of one or two words be longer than three times their length.
    if not text or "\0" in text or is_refusal or len(text) > MAXIMUM_LENGTH_RATIO * len(output) + 20:
        return None
    return output if text.split() == output.split() else text


# Computes the log-likelihood of each text; NaN for a text that the model cannot read.
Likelihoods = Callable[[Sequence[str]], Sequence[float]]


@dataclass(frozen=True)
class Likeliest(Perturbation[str]):
    """Makes several worse versions of an output by another perturbation, and keeps the version to which a
    language model gives the highest probability.

    The version with the highest likelihood is harder to recognise than a random one. `method` is the spec of
    the other perturbation and `of` is how often it is applied. The log-likelihood of a text is the sum of
    log p over its tokens.
    """

    name: ClassVar[str] = "likely"
    default: ClassVar[bool] = False
    needs_spaces: ClassVar[bool] = False
    summary: ClassVar[str] = (
        "makes several versions with another perturbation, and keeps the one that a language model finds"
        " most likely (--llm-local)"
    )

    method: str = "removal"
    of: int = 8
    likelihoods: Likelihoods | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.of < 2:
            raise InputError(f"{self.spec}: parameter of must be at least 2.")
        inner = self.repeated_perturbation
        uses_model = isinstance(inner, LlmRewriting | Likeliest)
        if uses_model or inner.needed_fields or inner.output_kind is not OutputKind.TEXT:
            raise InputError(f"{self.spec}: {self.method} cannot be drawn several times.")

    @property
    def repeated_perturbation(self) -> Perturbation[Any]:
        """The perturbation that is applied several times to each output."""
        return parse_perturbation(self.method)

    @property
    def collection_name(self) -> str:
        """The name under which `View.collected` holds what the repeated perturbation collected from all
        texts.
        """
        return self.repeated_perturbation.name

    def apply(self, output_view: View[str], random_stream: Stream) -> str | None:
        """Return the most likely of several worse versions of an output."""
        keys_by_draw = [[random_stream.draw_integer_below(1 << 32)] for _ in range(self.of)]
        return self._choose_most_likely_versions([output_view], keys_by_draw)[0]

    def perturb_many_outputs(self, output_views: Sequence[View[str]], random_keys: Keys) -> list[str | None]:
        """Return the most likely of several worse versions of each output. The model reads equal versions
        only once.
        """
        # One stream for each output, so that all its draws are the same as in `apply`.
        streams = [Stream(key) for key in random_keys.tolist()]
        keys_by_draw = [
            [random_stream.draw_integer_below(1 << 32) for random_stream in streams] for _ in range(self.of)
        ]
        return self._choose_most_likely_versions(output_views, keys_by_draw)

    def _choose_most_likely_versions(
        self, output_views: Sequence[View[str]], random_keys_by_repetition: Sequence[Sequence[int]]
    ) -> list[str | None]:
        """Make several worse versions of each output, and return the version that a language model finds most
        likely.
        """
        if self.likelihoods is None:
            raise InputError(f"{self.spec} needs a language model.", remedy=_HOW_TO_CHOOSE_LOCAL_MODEL)
        draws = [
            self.repeated_perturbation.perturb_many_outputs(output_views, np.array(keys, np.uint64))
            for keys in random_keys_by_repetition
        ]
        candidates_by_output = []
        compared_texts = set()
        for versions in zip(*draws):
            candidates = [text for text in dict.fromkeys(versions) if text is not None]
            candidates_by_output.append(candidates)
            if len(candidates) > 1:
                compared_texts.update(candidates)
        # The order of a set of texts changes from run to run.
        texts = sorted(compared_texts)
        likelihoods = {}
        for text, likelihood in zip(texts, self.likelihoods(texts) if texts else ()):
            # A text that the model cannot read is chosen last. NaN would make `max` depend on the order.
            likelihoods[text] = -math.inf if math.isnan(likelihood) else likelihood
        return [
            max(candidates, key=lambda text: likelihoods.get(text, -math.inf), default=None)
            for candidates in candidates_by_output
        ]

    def collect_replacement_material(
        self, texts: Sequence[str], language: str | None, text_analyses: Iterable[Any]
    ) -> Any:
        """Collect what the repeated perturbation needs to know about all texts of a language."""
        return self.repeated_perturbation.collect_replacement_material(texts, language, text_analyses)

    def precompute_text_analyses(self, texts: Sequence[str], language: str | None) -> list[Any] | None:
        """Analyse each text as the repeated perturbation does."""
        return self.repeated_perturbation.precompute_text_analyses(texts, language)

    def get_installation_hint_for_language(self, language: str) -> str | None:
        """Return why the repeated perturbation cannot be applied to a language, or None if it can."""
        languages = self.repeated_perturbation.languages
        if languages is not None and language not in languages:
            return f"{self.method} knows {', '.join(sorted(languages))}"
        return self.repeated_perturbation.get_installation_hint_for_language(language)


_HOW_TO_CHOOSE_LOCAL_MODEL = "Pass --llm-local with the name or folder of a model on this machine."


def add_language_model_to_perturbation(
    perturbation: Perturbation[Any], llm_settings: LlmSettings | None, task: Task
) -> Perturbation[Any]:
    """Return a perturbation with a connection to the language model that it needs. A perturbation that needs
    none is returned as it is.
    """
    if isinstance(perturbation, LlmRewriting) and perturbation.asker is None:
        return LlmRewriting.from_settings(
            llm_settings or LlmSettings(), task, **perturbation.non_default_parameters
        )
    if isinstance(perturbation, Likeliest) and perturbation.likelihoods is None:
        parse_perturbations(perturbation.method, task=task)  # refuses perturbations of other tasks
        if llm_settings is None or llm_settings.local is None:
            raise InputError(
                f"{perturbation.spec} needs a language model.", remedy=_HOW_TO_CHOOSE_LOCAL_MODEL
            )
        return replace(perturbation, likelihoods=LocalModel(llm_settings.local).compute_log_likelihoods)
    return perturbation


PERTURBATIONS = (LlmRewriting, Likeliest)
