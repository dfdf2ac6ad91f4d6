"""Which language model to ask, and how."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metassay.errors import InputError

if TYPE_CHECKING:
    from metassay.llm.requests import Backend

HOW_TO_CHOOSE_MODEL = "Pass --llm-url, or --llm-local for a model on this machine."


@dataclass(frozen=True)
class LlmSettings:
    """The language model to ask, either on a server (`url`) or on this machine (`local`), and how to ask
    it.
    """

    url: str | None = None
    model: str = ""
    local: str | None = None
    prompt: str | Path | None = None
    """File with a prompt that the user wrote."""
    cache: Path | None = None
    """File with answers, so that no request is sent twice."""
    concurrency: int = 8
    timeout: float = 60.0
    price: tuple[float, float] | None = None
    """Money for a million tokens of prompts and of answers."""
    budget: float | None = None
    """Money that this run may spend; needs a price."""

    def __post_init__(self) -> None:
        if self.budget is not None and self.price is None:
            raise InputError("a budget needs the prices of tokens.", remedy="Pass --prices FILE.")
        if self.concurrency < 1:
            raise InputError(
                f"the number of requests at a time is {self.concurrency}; it must be at least 1."
            )

    @property
    def model_name(self) -> str:
        """The name that results show for the model: `model`, or else the path of the local model."""
        return self.model or self.local or ""

    def create_backend(self) -> Backend:
        """Create a client of the server, or load the model on this machine."""
        if self.local is not None:
            from metassay.llm.local_model import LocalModel

            return LocalModel(self.local)
        if self.url is None:
            raise InputError("llm needs a language model.", remedy=HOW_TO_CHOOSE_MODEL)
        from metassay.llm.client import Endpoint

        return Endpoint(self.url, timeout=self.timeout)
