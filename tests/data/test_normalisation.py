"""Systems that write in another case or punctuation than the references are named in a note."""

from __future__ import annotations

import polars as pl
import pytest

import metassay
from metassay.data.normalisation import normalise_texts

_REFERENCES = [f"He hoped, in {year}, for stew." for year in range(1900, 1920)]


def _describe(outputs_by_system, references=_REFERENCES, scheme="none"):
    rows = []
    for system, outputs in outputs_by_system.items():
        for number, (output, reference) in enumerate(zip(outputs, references)):
            rows.append({"seg_id": number, "system": system, "hyp": output, "ref": reference})
    notes = normalise_texts(metassay.read(rows), scheme).notes
    return [note for note in notes if "written differently" in note]


def test_a_system_that_writes_lower_case_is_named():
    lower = [text.lower() for text in _REFERENCES]
    (note,) = _describe({"cased": _REFERENCES, "small": lower})
    assert "0 % of the outputs of small have upper-case letters, but 100 % of its references do" in note
    assert "cased" not in note
    assert "have punctuation" not in note


def test_systems_without_punctuation_share_one_sentence():
    plain = [text.replace(",", "").replace(".", "") for text in _REFERENCES]
    (note,) = _describe({"a": plain, "b": plain})
    assert "0 % of the outputs of a, b have punctuation, but 100 % of their references do" in note


def test_texts_that_agree_or_are_normalised_or_too_few_give_no_note():
    upper = [text.upper() for text in _REFERENCES]
    assert _describe({"a": _REFERENCES}) == []
    assert _describe({"a": upper}, upper) == []
    assert _describe({"a": upper}, scheme="english") == []
    assert _describe({"a": upper[:5]}) == []


def test_translations_and_summaries_that_people_wrote_give_no_note(real_data):
    for file in ("wmt22/wmt22_zh-en.parquet", "wmt23/wmt23_en-de.parquet", "text/realsumm.parquet"):
        dataset = metassay.read(real_data(file))
        assert normalise_texts(dataset, "none").notes == dataset.notes


@pytest.mark.parametrize("scheme", ["english", "whisper"])
def test_librispeech_outputs_and_references_differ_until_normalised(real_data, scheme):
    table = pl.read_parquet(real_data("asr/asr_librispeech_test_clean.parquet"))
    first_items = table.filter(pl.col("utt_id").is_in(table["utt_id"].unique().sort().head(60).implode()))
    raw = metassay.read(first_items)
    (note,) = [note for note in normalise_texts(raw, "none").notes if "written differently" in note]
    assert "100 % of the outputs of azure, deepspeech, google, watson have lower-case letters" in note
    normalised = normalise_texts(raw, scheme)
    assert normalise_texts(normalised, "none").notes == raw.notes


@pytest.mark.parametrize("verb", [metassay.check, metassay.score, metassay.aggregate, metassay.perturb])
def test_verbs_say_that_outputs_are_in_lower_case(verb):
    rows = [
        {"seg_id": number, "lp": "de-en", "system": "small", "hyp": text.lower(), "ref": text}
        for number, text in enumerate(_REFERENCES)
    ]
    assert sum("written differently" in note for note in verb(rows).to_dict()["notes"]) == 1
