"""Prices of tokens, and a budget that a run does not exceed."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from metassay.errors import InputError, InputLocation
from metassay.llm.requests import Answer, Request


class TokenPrice(NamedTuple):
    """The price of a million tokens in prompts, and of a million tokens in answers."""

    prompt: float
    completion: float


def compute_token_cost(
    prompt_tokens: int, completion_tokens: int, price: tuple[float, float] | None
) -> float | None:
    """Return the cost of the tokens of prompts and answers; None if no price is known."""
    if price is None:
        return None
    prompt_price, completion_price = price
    return (prompt_tokens * prompt_price + completion_tokens * completion_price) / 1e6


def read_token_price(path: str | Path, model_name: str) -> TokenPrice:
    """Read the price of a language model from a JSON file such as {"MODEL": [0.5, 1.5]}. The numbers are the
    prices of a million tokens in prompts and in answers.
    """
    location = InputLocation(file=str(path))
    try:
        table = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise InputError("this table of prices cannot be read as JSON.", location=location) from None
    prices = table.get(model_name) if isinstance(table, Mapping) else None
    if not (isinstance(prices, list) and len(prices) == 2 and all(map(_is_valid_price, prices))):
        raise InputError(
            f"there is no price for {model_name!r}.",
            location=location,
            remedy='Write the prices of a million input and output tokens, such as {"MODEL": [0.5, 1.5]}.',
        )
    return TokenPrice(float(prices[0]), float(prices[1]))


def _is_valid_price(value: Any) -> bool:
    """Return whether a JSON value is a price: a number that is not negative."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9


class Budget:
    """Limits what the requests of a run cost together. Before a request is sent, its highest possible cost is
    reserved.
    """

    def __init__(self, price: tuple[float, float] | None, limit: float | None) -> None:
        self._price = price
        self._limit = limit
        self._changed = threading.Condition()
        self._reserved: dict[str, float] = {}
        self.spent = 0.0

    def reserve_cost(self, request: Request) -> bool:
        """Reserve the highest possible cost of a request, if necessary after other requests have ended.
        Returns False if the budget is too small.
        """
        if self._limit is None or self._price is None:
            return True
        # A token has at least one byte, so this is an upper bound.
        prompt_bytes = len(request.prompt.encode("utf-8", "replace"))
        highest_cost = compute_token_cost(prompt_bytes, request.max_tokens, self._price) or 0.0
        with self._changed:
            while self.spent + sum(self._reserved.values()) + highest_cost > self._limit:
                if not self._reserved:
                    return False
                self._changed.wait()
            self._reserved[request.request_hash] = highest_cost
        return True

    def record_cost(self, request: Request, answer: Answer | None) -> None:
        """Replace the reserved cost of a request by the cost of its answer."""
        with self._changed:
            self._reserved.pop(request.request_hash, None)
            if answer is not None:
                cost = compute_token_cost(answer.prompt_tokens, answer.completion_tokens, self._price)
                self.spent += cost or 0.0
            self._changed.notify_all()
