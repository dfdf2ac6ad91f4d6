"""Which language model to ask for worse outputs: from the doors to the perturbation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from metassay.perturbations.llm import LlmSettings
from metassay.perturbations.llm_prompts import read_prompt
from metassay.store.run import RunFolder

__all__ = ["LlmSettings", "described", "llm_settings", "with_cache"]

ANSWERS = "llm-answers.jsonl"


def llm_settings(
    url: str | None, model: str | None, local: str | None, prompt: Path | None, concurrency: int
) -> LlmSettings | None:
    """The settings that the options name; None where no model was named."""
    if url is None and local is None:
        return None
    return LlmSettings(url=url, model=model or "", local=local, prompt=prompt, concurrency=concurrency)


def described(llm: LlmSettings | None) -> dict[str, str | None] | None:
    """What identifies a model for a manifest: no address and no key."""
    if llm is None:
        return None
    prompt = None if llm.prompt is None else read_prompt(llm.prompt)
    return {"model": llm.local or llm.model, "prompt": prompt}


def with_cache(llm: LlmSettings | None, run: RunFolder | None) -> LlmSettings | None:
    """The settings with answers kept in the run folder, so that a run taken up again asks nothing twice."""
    if llm is None or llm.cache is not None or run is None:
        return llm
    return replace(llm, cache=run.path / ANSWERS)
