"""Alignments against exhaustive search, and against sclite itself on every LibriSpeech output."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metassay.metrics.alignment import align_characters, align_tokens, align_words
from metassay.metrics.base import Batch
from metassay.metrics.registry import parse_metric
from metassay.reporting.word_edits import count_edited_words, find_word_edits_between_texts
from metassay.text.normalize import normalize_text

COSTS = {"hit": 0, "substitution": 4, "deletion": 3, "insertion": 3}
WORDS = st.lists(st.sampled_from("abc"), max_size=6)


@settings(deadline=None)
@given(WORDS, WORDS)
def test_alignments_are_complete_and_the_cheapest(reference, output):
    alignment = align_tokens(reference, output)
    assert [step.reference for step in alignment.steps if step.reference is not None] == reference
    assert [step.output for step in alignment.steps if step.output is not None] == output
    assert all((step.kind == "hit") == (step.reference == step.output) for step in alignment.steps)

    @functools.cache
    def lowest_cost(i: int, j: int) -> int:
        if i == 0 or j == 0:
            return 3 * (i + j)
        diagonal = lowest_cost(i - 1, j - 1) + 4 * (reference[i - 1] != output[j - 1])
        return min(diagonal, lowest_cost(i - 1, j) + 3, lowest_cost(i, j - 1) + 3)

    alignment_cost = sum(COSTS[kind] * count for kind, count in alignment.step_counts_by_kind.items())
    assert alignment_cost == lowest_cost(len(reference), len(output))


def test_an_utterance_is_aligned_as_sclite_prints_it():
    """The first utterance of LibriSpeech test-clean as sclite prints it."""
    alignment = align_words("peppered flour fattened sauce", "peppered flower fat and sauce")
    kinds = [(step.kind[0], step.reference, step.output) for step in alignment.steps]
    assert kinds == [
        ("h", "peppered", "peppered"),
        ("i", None, "flower"),
        ("s", "flour", "fat"),
        ("s", "fattened", "and"),
        ("h", "sauce", "sauce"),
    ]
    assert alignment.edit_count == 3


def find_sclite() -> str:
    """Return the path of sclite; skip the test where it is not installed."""
    path = shutil.which("sclite") or shutil.which("sclite", path="/usr/lib/sctk/bin")
    if path is None:
        pytest.skip("no sclite here: `make system-packages` installs it on Debian")
    return path


def count_with_sclite(
    references: dict[str, str], outputs: dict[str, str], folder: Path
) -> dict[str, list[int]]:
    """Count hits, substitutions, deletions and insertions of each utterance with sclite."""
    for name, texts in (("ref.trn", references), ("hyp.trn", outputs)):
        (folder / name).write_text("".join(f"{text} ({utterance})\n" for utterance, text in texts.items()))
    report = subprocess.run(
        [
            find_sclite(),
            "-r",
            "ref.trn",
            "trn",
            "-h",
            "hyp.trn",
            "trn",
            "-i",
            "rm",
            "-s",
            "-o",
            "pralign",
            "stdout",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    pattern = r"id: \((.*?)\)\nScores: \(#C #S #D #I\) (\d+) (\d+) (\d+) (\d+)"
    return {name: [int(count) for count in counts] for name, *counts in re.findall(pattern, report)}


@pytest.mark.slow
@pytest.mark.parametrize("system", ["azure", "deepspeech", "google", "watson"])
@pytest.mark.parametrize("unit", ["words", "characters"])
def test_counts_and_rates_equal_sclite(real_data, tmp_path, system, unit):
    """Every utterance: same counts and rates; jiwer's CER is lower where sclite does not find the jiwer_rates edits."""
    table = pl.read_parquet(real_data("asr/asr_librispeech_test_clean.parquet")).filter(system=system)
    texts = [
        {
            utterance: normalize_text(text, "english")
            for utterance, text in table.select("utt_id", side).iter_rows()
        }
        for side in ("ref", "hyp")
    ]
    spaced_characters = [
        {utterance: " ".join("<space>" if c == " " else c for c in text) for utterance, text in side.items()}
        for side in texts
    ]
    official = count_with_sclite(*(texts if unit == "words" else spaced_characters), tmp_path)
    align = align_words if unit == "words" else align_characters
    ours = {key: list(align(texts[0][key], texts[1][key]).step_counts_by_kind.values()) for key in texts[0]}
    assert len(official) == len(ours) == 2620
    assert ours == official
    if unit == "words":
        kinds = ("same", "replaced", "gone", "new")
        shown = {
            key: count_edited_words(find_word_edits_between_texts(texts[0][key], texts[1][key]))
            for key in official
        }
        assert {key: [own.get(kind, 0) for kind in kinds] for key, own in shown.items()} == official
    keys = list(official)
    batch = Batch.from_texts([texts[1][key] for key in keys], [[texts[0][key]] for key in keys])
    sclite_rates = np.array([sum(official[key][1:]) / sum(official[key][:3]) for key in keys])
    rates = parse_metric("wer" if unit == "words" else "sclite_cer").score(batch)
    np.testing.assert_allclose(rates, sclite_rates, rtol=1e-12)
    if unit == "characters":
        jiwer_rates = parse_metric("cer").score(batch)
        print(
            f"{system}: cer is below sclite's on {(jiwer_rates < sclite_rates - 1e-12).sum()} of {len(keys)} utterances"
        )
        assert (jiwer_rates <= sclite_rates + 1e-12).all()
        assert (jiwer_rates < sclite_rates - 1e-12).sum() <= 6
