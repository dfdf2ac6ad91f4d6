"""Asking many questions: each once, several at a time, within a budget, and counting what failed.

A chat model in this process, by transformers.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metassay.errors import InputError, MissingBackend, Place
from metassay.llm.answers import Answer, AnswerCache, Backend, LlmFailure, Request, Usage

HOW_TO_NAME_ONE = "Pass --llm-url, or --llm-local for a model on this machine."
HOPELESS = 8
"""Requests that fail one after the other, with none answered, before the run stops."""
MOST_FAILURES = 0.1
"""The share of questions without an answer above which a run is an error, not a result."""

Told = Callable[[int, int], None]


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
    budget: float | None = None
    """Money that may be spent in this run; needs a price."""

    def __post_init__(self) -> None:
        if self.budget is not None and self.price is None:
            raise InputError("a budget needs to know what tokens cost.", remedy="Pass --prices FILE.")
        if self.concurrency < 1:
            raise InputError(f"{self.concurrency} requests at a time ask nothing.")

    @property
    def name(self) -> str:
        """What results call the model: its name, or for one on this machine, if none was given, its place."""
        return self.model or self.local or ""

    def backend(self) -> Backend:
        """Whoever answers."""
        if self.local is not None:
            return LocalModel(self.local)
        if self.url is None:
            raise InputError("llm needs a model to ask.", remedy=HOW_TO_NAME_ONE)
        from metassay.llm.client import Endpoint

        return Endpoint(self.url, timeout=self.timeout)


class Purse:
    """Money for one run. A request sets aside the most it can cost, and pays what it did cost."""

    def __init__(self, price: tuple[float, float] | None, budget: float | None) -> None:
        self._price, self._budget = price, budget
        self._free = threading.Condition()
        self._reserved: dict[str, float] = {}
        self.spent = 0.0

    def reserve(self, request: Request) -> bool:
        """Whether the request can be afforded; waits for others to pay where that may decide it."""
        if self._budget is None or self._price is None:
            return True
        asked, answered = self._price
        most = (len(request.prompt.encode("utf-8", "replace")) * asked + request.max_tokens * answered) / 1e6
        with self._free:
            while self.spent + sum(self._reserved.values()) + most > self._budget:
                if not self._reserved:
                    return False
                self._free.wait()
            self._reserved[request.key] = most
        return True

    def pay(self, request: Request, answer: Answer | None) -> None:
        """Frees what was set aside, and counts what an answer cost."""
        with self._free:
            self._reserved.pop(request.key, None)
            if answer is not None:
                self.spent += cost(answer.prompt_tokens, answer.completion_tokens, self._price) or 0.0
            self._free.notify_all()


@dataclass
class Asker:
    """Someone who asks a model: answers come from the cache, or from the model and into the cache."""

    settings: LlmSettings
    backend: Backend
    cache: AnswerCache
    purse: Purse = field(init=False)
    prompt_tokens: int = field(init=False, default=0)
    """Tokens of all answers used, also of those from the cache; likewise `completion_tokens`."""
    completion_tokens: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.purse = Purse(self.settings.price, self.settings.budget)
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(self.settings.concurrency)  # over all threads that ask for many

    @classmethod
    def of(cls, settings: LlmSettings) -> Asker:
        """Ready to ask."""
        return cls(settings, settings.backend(), AnswerCache(settings.cache))

    def ask(self, request: Request) -> Answer | None:
        """The answer to one question, or None where there is none to be had."""
        usage = self.backend.usage
        known = self.cache.get(request.key)
        if known is not None:
            usage.add(cached=1)
            return known
        if usage.failed >= HOPELESS and usage.asked == 0:
            raise LlmFailure("the model does not answer; run the same command again when it does.")
        if not self.purse.reserve(request):
            raise LlmFailure(
                f"the budget of {self.settings.budget:g} is spent ({self.purse.spent:.4g}); answers so far"
                " are kept.\nRun the same command again with a larger --budget: it asks only for the rest."
            )
        answer = None
        try:
            with self._slots:
                answer = self.backend.ask(request)
        finally:
            self.purse.pay(request, answer)
        if answer is not None:
            self.cache.put(request.key, answer)
        return answer

    def ask_all(self, requests: Sequence[Request | None], told: Told | None = None) -> list[Answer | None]:
        """Answers to many questions, equal ones asked once; None for None and where there is no answer."""
        distinct = {request.key: request for request in requests if request is not None}
        answers: dict[str, Answer | None] = {}
        pool = ThreadPoolExecutor(self.settings.concurrency)
        try:
            futures = {pool.submit(self.ask, request): key for key, request in distinct.items()}
            for done, future in enumerate(as_completed(futures), start=1):
                answers[futures[future]] = future.result()
                if told is not None:
                    told(done, len(futures))
        except LlmFailure:
            pool.shutdown(cancel_futures=True)  # what is under way was paid for: the next run must find it
            raise
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()
        self._refuse_too_many_failures()
        found = [answer for answer in answers.values() if answer is not None]
        with self._lock:
            self.prompt_tokens += sum(answer.prompt_tokens for answer in found)
            self.completion_tokens += sum(answer.completion_tokens for answer in found)
        return [None if request is None else answers[request.key] for request in requests]

    def usage(self) -> dict[str, Any]:
        """Requests, tokens and, where a price is known, the cost."""
        counts: dict[str, Any] = self.backend.usage.counts()
        money = cost(counts["prompt_tokens"], counts["completion_tokens"], self.settings.price)
        return counts if money is None else counts | {"cost": money}

    def note(self) -> str | None:
        """What a reader must know of questions that got no answer; None where all did."""
        failed, total = self._failures()
        if not failed:
            return None
        return (
            f"{failed} of {total} requests to the language model got no answer; they are missing. The same"
            " command with the same --out asks for these alone."
        )

    def _failures(self) -> tuple[int, int]:
        usage = self.backend.usage
        return usage.failed, usage.asked + usage.cached + usage.failed

    def _refuse_too_many_failures(self) -> None:
        failed, total = self._failures()
        if failed > MOST_FAILURES * total:
            raise LlmFailure(
                f"{failed} of {total} requests to the language model got no answer, more than"
                f" {MOST_FAILURES:.0%}: that is no result.\nAnswers so far are kept: run the same command"
                " again, and it asks only for the rest."
            )


def cost(prompt_tokens: int, completion_tokens: int, price: tuple[float, float] | None) -> float | None:
    """What tokens cost, from the price of a million of each; None where no price is known."""
    return None if price is None else (prompt_tokens * price[0] + completion_tokens * price[1]) / 1e6


def read_prices(path: str | Path, model: str) -> tuple[float, float]:
    """The price of a model from the user's table: JSON `{"MODEL": [asked, answered]}`, per million tokens."""
    place = Place(file=str(path))
    try:
        table = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InputError("this table of prices cannot be read as JSON.", place=place) from None
    found = table.get(model) if isinstance(table, Mapping) else None
    if not (isinstance(found, list) and len(found) == 2 and all(_is_price(each) for each in found)):
        raise InputError(
            f"there is no price of {model!r}.",
            place=place,
            remedy='Such as {"MODEL": [0.5, 1.5]}: money for a million tokens asked and answered.',
        )
    return float(found[0]), float(found[1])


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9


class LocalModel:
    """A model by name or folder (safetensors only), or a GGUF file; answers one request at a time."""

    def __init__(self, name: str) -> None:
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
            from transformers.utils.logging import disable_progress_bar
        except ImportError:
            raise MissingBackend("transformers with torch", extra="neural") from None
        disable_progress_bar()  # loading a model is not ours to report
        self.usage = Usage()
        self._lock = threading.Lock()
        self._torch = torch
        path = Path(name)
        gguf: dict[str, Any] = {"gguf_file": path.name} if path.suffix == ".gguf" else {}
        source = str(path.parent) if gguf else name
        weights = gguf or {"use_safetensors": True}  # never a pickle
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(source, **gguf)
            self._model = AutoModelForCausalLM.from_pretrained(source, **weights).eval()
        except (OSError, ValueError) as error:
            raise InputError(
                f"the model {name} cannot be loaded ({str(error).splitlines()[0]}).",
                remedy="Name a folder or a model with weights as safetensors, or a GGUF file.",
            ) from None

    def ask(self, request: Request) -> Answer | None:
        """The model's answer, drawn with the seed of the request; None where the model cannot take it."""
        try:
            return self._answer(request)
        except (IndexError, RuntimeError, ValueError):  # longer than the model reads, or too large for memory
            self.usage.add(failed=1)
            return None

    def _answer(self, request: Request) -> Answer:
        with self._lock, self._torch.inference_mode():
            self._torch.manual_seed(request.seed)
            messages = [{"role": "user", "content": request.prompt}]
            tokens = self._tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
            length = tokens["input_ids"].shape[1]
            written = self._model.generate(
                **tokens,
                max_new_tokens=request.max_tokens,
                do_sample=request.temperature > 0,
                temperature=request.temperature or None,
                top_p=request.top_p,
                pad_token_id=self._tokenizer.eos_token_id,
            )[0, length:]
            text = self._tokenizer.decode(written, skip_special_tokens=True)
            self.usage.add(asked=1, prompt_tokens=length, completion_tokens=len(written))
            return Answer(text, len(written) < request.max_tokens, length, len(written))

    def likelihoods(self, texts: Sequence[str]) -> list[float]:
        """The log-likelihood of each text, summed over its tokens; NaN where the model cannot take it."""
        return [self._likelihood(text) for text in texts]

    def _likelihood(self, text: str) -> float:
        torch, own = self._torch, self._tokenizer
        start = own.eos_token_id if own.bos_token_id is None else own.bos_token_id
        ids = own(text, add_special_tokens=False)["input_ids"]
        tokens = torch.tensor([ids if start is None else [start, *ids]])
        try:
            with self._lock, torch.inference_mode():
                chances = torch.log_softmax(self._model(input_ids=tokens).logits[0, :-1].double(), dim=-1)
        except (IndexError, RuntimeError, ValueError):  # longer than the model reads, or too large for memory
            return math.nan
        return float(chances.gather(1, tokens[0, 1:, None]).sum())
