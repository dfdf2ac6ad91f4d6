"""A chat model in this process, by transformers."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from metassay.errors import InputError, MissingBackend
from metassay.llm.answers import Answer, Request, Usage


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
