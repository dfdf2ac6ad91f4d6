"""Real outputs, perturbed versions of them, and official scores that are computed once."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from metassay.text.resources import find_wordnet_folder

sys.path.insert(0, str(Path(__file__).parent))  # the tests of this folder share `oracles`

TRANSLATIONS = (
    "wmt21/wmt21_en-de",
    "wmt21/wmt21_zh-en",
    "wmt22/wmt22_en-de",
    "wmt22/wmt22_en-ru",
    "wmt22/wmt22_zh-en",
    "wmt23/wmt23_en-de",
    "wmt23/wmt23_he-en",
    "wmt23/wmt23_zh-en",
)
SPEECH = ("asr/asr_librispeech_test_clean", "asr/asr_commonvoice_en_test")
ORACLES = Path(__file__).parents[2] / ".oracles"


@dataclass(frozen=True)
class Texts:
    """Outputs with one reference each."""

    outputs: list[str]
    references: list[str]

    def sample(self, size: int, seed: int = 0) -> Texts:
        chosen = random.Random(seed).sample(range(len(self.outputs)), min(size, len(self.outputs)))
        return Texts([self.outputs[i] for i in chosen], [self.references[i] for i in chosen])

    def select(self, chosen: slice) -> Texts:
        return Texts(self.outputs[chosen], self.references[chosen])

    def split(self, size: int) -> list[Texts]:
        starts = range(0, len(self.outputs), size)
        return [Texts(self.outputs[s : s + size], self.references[s : s + size]) for s in starts]

    def shorter_than(self, characters: int) -> Texts:
        pairs = [p for p in zip(self.outputs, self.references) if max(map(len, p)) < characters]
        return Texts([output for output, _ in pairs], [reference for _, reference in pairs])

    def perturb(self, seed: int = 0) -> Texts:
        """Return the texts with a word dropped or repeated elsewhere, or two words exchanged, in each output."""
        return Texts(
            [perturb_text(text, f"{seed}{i}") for i, text in enumerate(self.outputs)], self.references
        )


def perturb_text(text: str, seed: str) -> str:
    rng = random.Random(seed)
    words = text.split()
    if not words:
        return text
    i, j = rng.randrange(len(words)), rng.randrange(len(words))
    change = rng.choice(("drop", "insert", "swap"))
    if change == "drop":
        del words[i]
    elif change == "insert":
        words.insert(j, words[i])
    else:
        words[i], words[j] = words[j], words[i]
    return " ".join(words)


def load_texts(find: Callable[[str], Path], names: Sequence[str]) -> Texts:
    frames = [pl.read_parquet(find(f"{name}.parquet"), columns=["hyp", "ref"]) for name in names]
    frame = pl.concat(frames).with_columns(pl.col("hyp").fill_null(""))
    frame = frame.filter(pl.col("ref").str.strip_chars() != "")
    return Texts(frame["hyp"].to_list(), frame["ref"].to_list())


@pytest.fixture(autouse=True)
def skip_meteor_without_wordnet(request):
    """Skip tests of METEOR where WordNet is not installed."""
    parameters = getattr(request.node, "callspec", None)
    uses_meteor = parameters is not None and "meteor" in map(str, parameters.params.values())
    if uses_meteor and find_wordnet_folder() is None:
        pytest.skip("no WordNet here: `make system-packages` installs it on Debian")


@pytest.fixture(scope="session")
def translations(real_data):
    """Every output of WMT21 to 23."""
    return load_texts(real_data, TRANSLATIONS)


@pytest.fixture(scope="session")
def latin_translations(real_data):
    """Every output of WMT21 to 23 in Latin script."""
    return load_texts(real_data, [name for name in TRANSLATIONS if not name.endswith("ru")])


@pytest.fixture(scope="session")
def russian_translations(real_data):
    return load_texts(real_data, ["wmt22/wmt22_en-ru"])


@pytest.fixture(scope="session")
def speech(real_data):
    """Every output of both speech sets, in lower case on both sides, since references are in upper case."""
    texts = load_texts(real_data, SPEECH)
    return Texts([text.lower() for text in texts.outputs], [text.lower() for text in texts.references])


@pytest.fixture(scope="session")
def official_scores():
    """Official scores of texts, stored under `.oracles`, because they take minutes (TER: an hour)."""

    def compute(spec: str, texts: Texts) -> np.ndarray:
        parts = texts.split(2000)
        return np.concatenate([load_or_compute_official_scores(spec, part) for part in parts])

    return compute


def load_or_compute_official_scores(spec: str, texts: Texts) -> np.ndarray:
    from oracles import get_oracle

    digest = hashlib.blake2b(repr((spec, texts)).encode("utf-8", "surrogatepass"), digest_size=12)
    file = ORACLES / f"{digest.hexdigest()}.npy"
    if not file.exists():
        oracle = get_oracle(spec)
        ORACLES.mkdir(exist_ok=True)
        np.save(file, [oracle(o, [r]) for o, r in zip(texts.outputs, texts.references)])
    return np.load(file)
