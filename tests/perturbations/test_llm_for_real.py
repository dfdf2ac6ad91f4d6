"""A real chat model behind a real server: a run is killed, taken up again, and asks nothing twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from real_llm import interpreter

HERE = Path(__file__).parent
RUN = """
import sys
from pathlib import Path
import polars as pl
from metassay.data.dataset import Dataset
from metassay.llm.settings import LlmSettings
from metassay.perturbations.pairs import make_perturbed_output_pairs

texts = [f"The {animal} sat on the mat." for animal in
         ("cat", "dog", "cow", "hen", "fox", "owl", "pig", "rat", "bee", "elk")]
data = Dataset("asr", pl.DataFrame({"item": [str(i) for i in range(10)], "system": ["s"] * 10, "output": texts,
                                    "references": [[text] for text in texts]}))
cache = Path(sys.argv[2])
prompt = cache.with_name("prompt.txt")  # so small a model needs a plain order
prompt.write_text("Repeat this sentence with one word changed: {output}")
settings = LlmSettings(sys.argv[1], "smollm2", prompt=prompt, cache=cache, concurrency=1, timeout=300)
pairs = make_perturbed_output_pairs(data, perturbations=["llm(temperature=1.0,tokens=60)"], llm=settings)
print(pairs.frame.write_ndjson())
"""


@pytest.mark.posix
@pytest.mark.slow
def test_a_killed_run_is_taken_up_again_and_asks_nothing_twice(
    smollm: tuple[str, Path], tmp_path: Path
) -> None:
    url, log = smollm
    cache = tmp_path / "answers.jsonl"
    command = [sys.executable, "-c", RUN, url, str(cache)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as first:
        while not cache.exists() or cache.read_text().count("\n") < 4:
            time.sleep(0.05)
            assert first.poll() is None
        first.send_signal(signal.SIGKILL)
    kept = cache.read_text().count("\n")
    asked_before = log.read_text().splitlines()
    assert kept < 10
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    asked_after = log.read_text().splitlines()[len(asked_before) :]
    assert len(asked_after) == 10 - kept
    assert set(asked_after).isdisjoint(asked_before[:kept])
    assert cache.read_text().count("\n") == 10
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == second.stdout
    assert len(log.read_text().splitlines()) == len(asked_before) + len(asked_after)
    rows = [json.loads(line) for line in second.stdout.splitlines() if line]
    assert rows
    assert all(row["worse"] not in {"", row["output"]} for row in rows)


TINY = """
import sys
from pathlib import Path
import torch
from tokenizers import Tokenizer, models
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from metassay.errors import InputError
from metassay.llm.local_model import LocalModel

folder = Path(sys.argv[1])
model = GPT2LMHeadModel(GPT2Config(vocab_size=8, n_positions=8, n_embd=8, n_layer=1, n_head=1))
words = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1}, unk_token="<unk>"))
for kind in ("safe", "pickled"):
    PreTrainedTokenizerFast(tokenizer_object=words, unk_token="<unk>").save_pretrained(folder / kind)
model.save_pretrained(folder / "safe")
model.config.save_pretrained(folder / "pickled")
torch.save(model.state_dict(), folder / "pickled" / "pytorch_model.bin")
LocalModel(str(folder / "safe"))
for name in ("pickled", "nowhere"):
    try:
        LocalModel(str(folder / name))
    except InputError as error:
        print(error)
"""


@pytest.mark.slow
def test_weights_that_could_run_code_are_refused(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(HERE.parents[1] / "src"), "HF_HUB_OFFLINE": "1"}
    command = [interpreter(), "-c", TINY, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    refused = [line for line in done.stdout.splitlines() if "cannot be loaded" in line]
    assert [any(name in line for name in ("pickled", "nowhere")) for line in refused] == [True, True]
