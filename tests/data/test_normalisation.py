"""Outputs and references that differ in case or punctuation are described in a sentence."""

from __future__ import annotations

import polars as pl

from metassay.data.normalisation import describe_case_and_punctuation_differences
from metassay.text.normalize import normalize_text


def test_a_difference_in_case_or_punctuation_is_described():
    raw, plain = ["He hoped, there.", "Stew for dinner."], ["HE HOPED THERE", "STEW FOR DINNER"]
    assert "upper case" in (describe_case_and_punctuation_differences(raw, plain) or "")
    assert "punctuation" in (describe_case_and_punctuation_differences(raw, plain) or "")
    assert describe_case_and_punctuation_differences(raw, raw) is None
    assert describe_case_and_punctuation_differences(plain, plain) is None
    lowered = [normalize_text(text, "english") for text in raw]
    assert (
        describe_case_and_punctuation_differences(
            lowered, [normalize_text(text, "english") for text in plain]
        )
        is None
    )


def test_librispeech_outputs_and_references_differ_until_normalised(real_data):
    table = pl.read_parquet(real_data("asr/asr_librispeech_test_clean.parquet"))
    outputs, references = table["hyp"].to_list(), table["ref"].to_list()
    assert describe_case_and_punctuation_differences(outputs, references) is not None
    english = [[normalize_text(text, "english") for text in side] for side in (outputs, references)]
    assert describe_case_and_punctuation_differences(*english) is None
    assert english[1] == [text.lower() for text in references]
