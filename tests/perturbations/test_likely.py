"""The likeliest of several copies: a model of pairs of letters that one can reckon with, and real models."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from metassay.data.dataset import Dataset
from metassay.errors import InputError
from metassay.perturbations.base import View
from metassay.perturbations.llm import Likeliest
from metassay.perturbations.pairs import make_perturbed_output_pairs
from metassay.perturbations.registry import parse_perturbation
from metassay.stats.streams import Stream
from real_llm import interpreter, weights

WORDS = ["the", "old", "cat", "sat", "on", "a", "mat"]
TEXTS = ["the old cat sat on a mat", "a cat sat on the old mat", "cat"]
CHANCES = {(a, b): 1 / (2 + (len(a) * 7 + len(b) * 3) % 11) for a in ["", *WORDS] for b in WORDS}


def bigrams(texts: Sequence[str]) -> list[float]:
    """Log-likelihoods by a table of pairs of words."""
    pairs = [zip(["", *text.split()], text.split()) for text in texts]
    return [sum(math.log(CHANCES[pair]) for pair in own) for own in pairs]


def view(text: str) -> View[str]:
    return View(text, "1", "en", collected={"insertion": WORDS})


@pytest.mark.parametrize("name", ["removal", "insertion", "swapping"])
def test_the_copy_is_the_likeliest_of_those_drawn(name: str) -> None:
    method, other = Likeliest(method=name, of=5, likelihoods=bigrams), parse_perturbation(name)
    for key in range(30):
        stream = Stream(key)
        drawn = [other.apply(view(TEXTS[0]), Stream(stream.draw_integer_below(1 << 32))) for _ in range(5)]
        copies = [text for text in drawn if text is not None]
        chosen = method.apply(view(TEXTS[0]), Stream(key))
        assert chosen == max(copies, key=lambda text: bigrams([text])[0])


def test_many_draws_find_the_likeliest_of_all_removals() -> None:
    words = TEXTS[0].split()
    every = [" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))]
    method = Likeliest(of=100, likelihoods=bigrams)
    assert method.apply(view(TEXTS[0]), Stream(1)) == max(every, key=lambda text: bigrams([text])[0])


def test_many_outputs_at_once_are_what_single_ones_are() -> None:
    views, keys = [view(text) for text in TEXTS], np.array([3, 9, 12], np.uint64)
    method = Likeliest(method="insertion", of=4, likelihoods=bigrams)
    assert method.perturb_many_outputs(views, keys) == [
        method.apply(v, Stream(int(k))) for v, k in zip(views, keys)
    ]
    assert Likeliest(of=4, likelihoods=bigrams).apply(view("cat"), Stream(1)) is None


def test_a_text_the_model_cannot_read_is_never_preferred() -> None:
    def short(texts: Sequence[str]) -> list[float]:
        return [math.nan if "the" in text else -float(len(text)) for text in texts]

    method = Likeliest(of=60, likelihoods=short)
    assert method.apply(view(TEXTS[0]), Stream(5)) == "old cat sat on a mat"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("likely(of=1)", "must be at least 2"),
        ("likely(method=llm)", "several times"),
        ("likely(method=likely)", "several times"),
        ("likely(method=borrowed_span)", "several times"),
        ("likely(method=shuffle)", "several times"),
        ("likely", "needs a language model"),
        ("likely(method=pronoun)", "is not made for"),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(spec: str, why: str) -> None:
    frame = pl.DataFrame({"item": ["1"], "system": ["s"], "output": TEXTS[:1], "references": [TEXTS[:1]]})
    with pytest.raises(InputError, match=why):
        make_perturbed_output_pairs(Dataset("asr", frame), perturbations=[spec])


def test_the_word_list_of_the_data_set_is_that_of_the_method() -> None:
    frame = pl.DataFrame(
        {"item": ["1", "2"], "system": ["s"] * 2, "output": TEXTS[:2], "references": [TEXTS[:1]] * 2}
    )
    methods = [Likeliest(method=name, of=3, likelihoods=bigrams) for name in ("insertion", "removal")]
    pairs = make_perturbed_output_pairs(Dataset("asr", frame), perturbations=methods, per_output=None)
    assert dict(pairs.counts)["likely(method=insertion,of=3)"].pairs == 2
    assert dict(pairs.counts)["likely(of=3)"].pairs == 2


REAL = """
import json, sys
import torch
from metassay.llm.local_model import LocalModel
model = LocalModel(sys.argv[1])
texts = ["The cat sat on the mat.", "The cat sat on on mat.", "Mat the on sat cat the."]
log_likelihoods = model.compute_log_likelihoods(texts)
tokenizer = model._tokenizer
ids = tokenizer(tokenizer.bos_token + texts[0], return_tensors="pt", add_special_tokens=False)["input_ids"]
with torch.inference_mode():
    loss = model._model(input_ids=ids, labels=ids).loss
print(json.dumps([log_likelihoods, -float(loss) * (ids.shape[1] - 1)]))
"""


@pytest.mark.slow
def test_a_real_model_finds_english_likelier_than_its_ruins() -> None:
    python = interpreter()
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "HF_HUB_OFFLINE": "1"}
    command = [python, "-c", REAL, weights(python)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    found, loss = json.loads(done.stdout.splitlines()[-1])
    assert found[0] > found[1] > found[2]
    assert found[0] == pytest.approx(loss, abs=1e-3)  # transformers' own loss
