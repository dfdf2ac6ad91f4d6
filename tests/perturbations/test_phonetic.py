"""Respelt words sound near: espeak-ng is the judge."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from metassay.perturbations.base import View
from metassay.perturbations.phonetic import Phonetic, list_spellings_that_sound_alike
from metassay.stats.streams import Stream, compute_output_seed, derive_seed_from_name

CAKE = "John said he did not like the cake she baked."


def worse(text: str, seed: int = 0) -> str | None:
    return Phonetic().apply(
        View(text, language="en"),
        Stream(derive_seed_from_name(compute_output_seed(seed, "1", text), "phonetic")),
    )


def test_the_papers_examples() -> None:
    assert "wader" in list_spellings_that_sound_alike("water")
    results = {worse(CAKE, seed) for seed in range(300)}
    assert {CAKE.replace("said", "sed"), CAKE.replace("baked", "bakked")} <= results


@given(st.text(max_size=60))
def test_one_word_changes_and_nothing_else(text: str) -> None:
    result = worse(text)
    assert result != text
    if result is not None:
        before, after = text.split(), result.split()
        assert len(before) == len(after)
        assert sum(a != b for a, b in zip(before, after)) == 1


def phonemes(words: list[str]) -> list[list[str]]:
    """What espeak-ng says, one line per word, without stress and marks of allophones."""
    command = ["espeak-ng", "-q", "-x", "--sep=_", "-v", "en-us"]
    spoken = subprocess.run(
        command, input="\n".join(words), text=True, capture_output=True, check=True
    ).stdout
    lines = [re.sub(r"[#2;?\-',%=|]", "", line).strip() for line in spoken.strip("\n").split("\n")]
    return [[phoneme for phoneme in line.split("_") if phoneme] for line in lines]


def test_nine_in_ten_respelt_words_sound_near(real_data: Callable[[str], Path]) -> None:
    if shutil.which("espeak-ng") is None:
        pytest.skip("no espeak-ng here: `make system-packages` installs it on Debian")
    texts = pl.read_parquet(real_data("asr/asr_librispeech_test_clean.parquet"))["ref"]
    words = sorted(
        {word.lower() for text in texts for word in text.split() if word.isalpha() and len(word) > 2}
    )
    pairs = [(word, new) for word in words[::5] if (new := worse(word)) is not None][:1000]
    assert len(pairs) == 1000
    said, heard = phonemes([word for word, _ in pairs]), phonemes([new for _, new in pairs])
    assert len(said) == len(heard) == 1000
    near = sum(Levenshtein.distance(a, b) <= 2 for a, b in zip(said, heard))
    assert near >= 900


def test_letters_that_a_longer_rule_replaced_are_not_respelt_again() -> None:
    """`tch` sounds as `ch`, which elsewhere may become `sh`: a patch is no patsh."""
    assert "pach" in list_spellings_that_sound_alike("patch")
    assert "patsh" not in list_spellings_that_sound_alike("patch")
    assert "chip" in list_spellings_that_sound_alike("ship")
