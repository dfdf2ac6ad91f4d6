"""A chat model in this process, loaded with transformers."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metassay.errors import InputError, MissingBackend
from metassay.llm.requests import Answer, Request, Usage

# Raised for a text that is longer than the model reads, or too large for memory.
_MODEL_CANNOT_READ = (IndexError, RuntimeError, ValueError)


class LocalModel:
    """A language model that runs in this process. It is loaded by its name, from a folder or from a GGUF
    file.
    """

    def __init__(self, name: str) -> None:
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
            from transformers.utils.logging import disable_progress_bar
        except ImportError:
            raise MissingBackend("transformers with torch", extra="neural") from None
        disable_progress_bar()  # it would be mixed with our own progress
        self.usage = Usage()
        self._lock = threading.Lock()
        self._torch = torch
        path = Path(name)
        source = name
        tokenizer_options: dict[str, Any] = {}
        model_options: dict[str, Any] = {"use_safetensors": True}  # a pickle could execute code
        if path.suffix == ".gguf":
            source = str(path.parent)
            tokenizer_options = {"gguf_file": path.name}
            model_options = tokenizer_options
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(source, **tokenizer_options)
            self._model = AutoModelForCausalLM.from_pretrained(source, **model_options).eval()
        except (OSError, ValueError) as error:
            raise InputError(
                f"the model {name} cannot be loaded ({str(error).splitlines()[0]}).",
                remedy="Name a folder or a model with weights as safetensors, or a GGUF file.",
            ) from None

    def get_answer(self, request: Request) -> Answer | None:
        """Generate an answer to a request; None if the prompt is too long for the model or the memory."""
        try:
            return self._generate_answer(request)
        except _MODEL_CANNOT_READ:
            self.usage.add_counts(failed=1)
            return None

    def compute_log_likelihoods(self, texts: Sequence[str]) -> list[float]:
        """Return the log-likelihood of each text, summed over its tokens; NaN if the model cannot read the
        text.
        """
        return [self._compute_log_likelihood(text) for text in texts]

    def _generate_answer(self, request: Request) -> Answer:
        """Generate an answer to a request, and count the tokens of prompt and answer."""
        with self._lock, self._torch.inference_mode():
            self._torch.manual_seed(request.seed)
            messages = [{"role": "user", "content": request.prompt}]
            tokens = self._tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
            prompt_length = tokens["input_ids"].shape[1]
            generated = self._model.generate(
                **tokens,
                max_new_tokens=request.max_tokens,
                do_sample=request.temperature > 0,
                temperature=request.temperature or None,
                top_p=request.top_p,
                pad_token_id=self._tokenizer.eos_token_id,
            )
            answer_tokens = generated[0, prompt_length:]
            text = self._tokenizer.decode(answer_tokens, skip_special_tokens=True)
        answer_length = len(answer_tokens)
        self.usage.add_counts(asked=1, prompt_tokens=prompt_length, completion_tokens=answer_length)
        return Answer(text, answer_length < request.max_tokens, prompt_length, answer_length)

    def _compute_log_likelihood(self, text: str) -> float:
        torch = self._torch
        tokenizer = self._tokenizer
        token_ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        start = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
        if start is not None:
            token_ids = [start, *token_ids]
        tokens = torch.tensor([token_ids])
        try:
            with self._lock, torch.inference_mode():
                logits = self._model(input_ids=tokens).logits[0, :-1].double()
                log_probabilities = torch.log_softmax(logits, dim=-1)
        except _MODEL_CANNOT_READ:
            return math.nan
        return float(log_probabilities.gather(1, tokens[0, 1:, None]).sum())
