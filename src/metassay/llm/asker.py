"""Send many requests to a language model: each once, several at a time, within a budget."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

from metassay.llm.answer_cache import AnswerCache
from metassay.llm.budget import Budget, compute_token_cost
from metassay.llm.requests import Answer, Backend, LlmFailure, Request
from metassay.llm.settings import LlmSettings

# If this many requests fail and none was answered, the run stops.
MAX_FAILURES_WITHOUT_ANSWER = 8
# If a larger share of requests has no answer, the run is an error, not a result.
MAX_FAILED_SHARE = 0.1


@dataclass
class Asker:
    """Sends requests to a language model and stores the answers. A request with a stored answer is not sent
    again.
    """

    settings: LlmSettings
    backend: Backend
    cache: AnswerCache
    budget: Budget = field(init=False)
    prompt_tokens: int = field(init=False, default=0)
    """Tokens of the prompts of all answers used, including those from the cache."""
    completion_tokens: int = field(init=False, default=0)
    """Tokens of all answers used, including those from the cache."""

    def __post_init__(self) -> None:
        self.budget = Budget(self.settings.price, self.settings.budget)
        self._lock = threading.Lock()
        # Shared by all threads that ask: together they send no more requests at a time than allowed.
        self._slots = threading.Semaphore(self.settings.concurrency)

    @classmethod
    def from_settings(cls, llm_settings: LlmSettings) -> Asker:
        """Create an asker for the language model that the settings name."""
        return cls(llm_settings, llm_settings.create_backend(), AnswerCache(llm_settings.cache))

    def get_answer(self, request: Request) -> Answer | None:
        """Return the stored answer to a request, or send the request. None if the model gives no answer."""
        usage = self.backend.usage
        cached_answer = self.cache.get_stored_answer(request.request_hash)
        if cached_answer is not None:
            usage.add_counts(cached=1)
            return cached_answer
        if usage.failed >= MAX_FAILURES_WITHOUT_ANSWER and usage.asked == 0:
            raise LlmFailure("the language model does not answer. Run the same command again later.")
        if not self.budget.reserve_cost(request):
            raise LlmFailure(
                f"the budget of {self.settings.budget:g} is spent ({self.budget.spent:.4g}). Answers so far "
                "are kept: run the same command again with a larger --budget to ask for the rest."
            )
        answer = None
        try:
            with self._slots:
                answer = self.backend.get_answer(request)
        finally:
            self.budget.record_cost(request, answer)
        if answer is not None:
            self.cache.store_answer(request.request_hash, answer)
        return answer

    def get_answers_in_parallel(self, requests: Sequence[Request | None]) -> list[Answer | None]:
        """Return the answers to many requests, several of which are sent at a time. The answer is None if the
        request is None or got no answer.

        Equal requests are sent once.
        """
        distinct = {request.request_hash: request for request in requests if request is not None}
        answers: dict[str, Answer | None] = {}
        pool = ThreadPoolExecutor(self.settings.concurrency)
        try:
            futures = {pool.submit(self.get_answer, request): key for key, request in distinct.items()}
            for future in as_completed(futures):
                answers[futures[future]] = future.result()
        except LlmFailure:
            # Requests that are running have been paid for: wait for them, so that the next run finds them.
            pool.shutdown(cancel_futures=True)
            raise
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()
        self._raise_error_if_many_requests_failed()
        self._add_token_counts([answer for answer in answers.values() if answer is not None])
        return [None if request is None else answers[request.request_hash] for request in requests]

    def summarize_requests_and_tokens(self) -> dict[str, Any]:
        """Return the numbers of requests and tokens and, if the price is known, the cost."""
        counts: dict[str, Any] = self.backend.usage.to_dict()
        cost = compute_token_cost(counts["prompt_tokens"], counts["completion_tokens"], self.settings.price)
        return counts if cost is None else counts | {"cost": cost}

    def describe_failed_requests(self) -> str | None:
        """Return a sentence that says how many requests got no answer; None if all got one."""
        failed, total = self._count_requests()
        if not failed:
            return None
        return (
            f"{failed} of {total} requests to the language model got no answer, so their results are "
            "missing. Run the same command with the same --out to repeat only these requests."
        )

    def _add_token_counts(self, answers: Sequence[Answer]) -> None:
        """Add the tokens of these answers to the totals of this object."""
        with self._lock:
            self.prompt_tokens += sum(answer.prompt_tokens for answer in answers)
            self.completion_tokens += sum(answer.completion_tokens for answer in answers)

    def _count_requests(self) -> tuple[int, int]:
        """Return the number of failed requests and the number of all requests."""
        usage = self.backend.usage
        return usage.failed, usage.asked + usage.cached + usage.failed

    def _raise_error_if_many_requests_failed(self) -> None:
        """Raise an error if more than a tenth of the requests got no answer."""
        failed, total = self._count_requests()
        if failed > MAX_FAILED_SHARE * total:
            raise LlmFailure(
                f"{failed} of {total} requests to the language model got no answer, which is more"
                f" than {MAX_FAILED_SHARE:.0%}.\nAnswers so far are kept: run the same command again to "
                "repeat only these requests."
            )
