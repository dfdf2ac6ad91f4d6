"""Texts that look as if something had gone wrong before they were read are mentioned in a note."""

from __future__ import annotations

import html

import polars as pl
import pytest

import metassay
from metassay.data.text_cautions import warn_of_doubtful_texts

_REFERENCES = [f'Für {year} "möchte" er Kaffee & Kuchen.' for year in range(1900, 1920)]


def _warn(outputs_by_system, references=_REFERENCES):
    rows = []
    for system, outputs in outputs_by_system.items():
        for number, (output, reference) in enumerate(zip(outputs, references)):
            rows.append({"seg_id": f"{number:02}", "system": system, "hyp": output, "ref": reference})
    return warn_of_doubtful_texts(metassay.read(rows))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_utf8_that_was_read_in_another_encoding_is_noted(encoding):
    misread = [text.encode().decode(encoding) for text in _REFERENCES]
    (note,) = _warn({"good": _REFERENCES, "bad": misread})
    assert note.startswith("The outputs of bad contain words such as 'FÃ¼r', in which UTF-8 was read")
    (note,) = _warn({"good": _REFERENCES}, misread)
    assert note.startswith("The references contain words such as 'FÃ¼r'")
    assert _warn({"bad": misread}, misread) == []


def test_quotation_marks_read_as_windows_1252_are_noted():
    misread = [f"the fox’s den {text}".encode().decode("cp1252") for text in "abcdefghijkl"]
    (note,) = _warn({"bad": misread}, ["the fox’s den"] * 12)
    assert "words such as 'foxâ€™s'" in note


def test_html_entities_are_noted():
    escaped = [html.escape(text) for text in _REFERENCES]
    (note,) = _warn({"good": _REFERENCES, "bad": escaped})
    assert note.startswith("The outputs of bad contain HTML entities such as &quot;.")
    numbered = [text.replace("'", "&#39;") for text in ["it's", *_REFERENCES]]
    (note,) = _warn({"bad": numbered}, ["it's", *_REFERENCES])
    assert "such as &#39;." in note
    assert _warn({"bad": escaped}, escaped) == []


def test_correct_texts_in_many_scripts_give_no_note():
    texts = [
        "Ãgua «só» à mão",
        "groß»",
        "Čeština",
        "Привет",
        "你好，世界",
        "हिन्दी",
        "AT&T; Q&A",
        "naïve café",
    ]
    assert _warn({"good": texts}, [text + "." for text in texts]) == []


_SENTENCES = {
    "en": [
        f"The {word} fox {number} of {number * number} sleeps."
        for number, word in enumerate("abcdefghijklmnop")
    ],
    "zh": [chr(0x4E00 + 9 * n) + chr(0x4E00 + 9 * n + 3) + chr(0x5E00 + n) + "很好吃。" for n in range(16)],
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("distance", "neighbour"), [(1, "next"), (-1, "previous")])
def test_outputs_that_are_shifted_by_one_row_are_noted(language, distance, neighbour):
    references = _SENTENCES[language]
    shifted = references[distance:] + references[:distance]
    (note,) = _warn({"good": references, "bad": shifted}, references)
    assert note.startswith("Outputs of bad share ")
    assert (
        f"% of their words with their references, but 100 % with the references of the {neighbour} rows"
        in note
    )


def test_outputs_that_only_miss_the_reference_are_not_called_shifted():
    references = _SENTENCES["en"]
    assert _warn({"bad": references[5:] + references[:5]}, references) == []
    assert _warn({"bad": ["nothing in common"] * 16}, references) == []
    assert _warn({"repeated": references}, ["The fox sleeps now."] * 16) == []
    answers = ["yes", "no"] * 8
    assert _warn({"always wrong": answers[1:] + answers[:1]}, answers) == []
    assert _warn({"few": references[1:9]}, references[:8]) == []


@pytest.mark.parametrize(("chinese", "noted"), [(0, False), (1, False), (3, True), (17, True), (20, False)])
def test_references_in_several_scripts_are_noted(chinese, noted):
    references = ["标准化文件的起草规则。"] * chinese + _REFERENCES[chinese:]
    notes = _warn({"a": references}, references)
    assert len(notes) == noted
    if noted:
        scripts = "Latin, Chinese or Japanese" if chinese < 10 else "Chinese or Japanese, Latin"
        assert notes[0].startswith(f"References are written in several scripts ({scripts}), 15 % of them")


def test_languages_that_the_data_names_may_have_their_own_script():
    references = ["标准化文件的起草规则。"] * 10 + _REFERENCES[10:]
    rows = pl.DataFrame({"seg_id": range(20), "system": "a", "hyp": references, "ref": references})
    assert len(warn_of_doubtful_texts(metassay.read(rows))) == 1
    pairs = rows.with_columns(lp=pl.Series(["en-zh"] * 10 + ["en-de"] * 10))
    assert warn_of_doubtful_texts(metassay.read(pairs)) == []


def test_check_mentions_html_entities():
    rows = [
        {"seg_id": number, "lp": "en-de", "system": "a", "hyp": html.escape(text), "ref": text}
        for number, text in enumerate(_REFERENCES)
    ]
    for verb in (metassay.check, metassay.score):
        assert sum("HTML entities" in note for note in verb(rows).to_dict()["notes"]) == 1


@pytest.mark.parametrize(
    "file", ["wmt21/wmt21_en-de", "wmt22/wmt22_zh-en", "wmt23/wmt23_he-en", "asr/asr_librispeech_test_clean"]
)
def test_real_outputs_and_references_give_no_note(file, real_data):
    assert warn_of_doubtful_texts(metassay.read(real_data(f"{file}.parquet"))) == []


def test_common_voice_has_references_that_were_read_in_another_encoding(real_data):
    table = pl.read_parquet(real_data("asr/asr_commonvoice_en_test.parquet"))
    dataset = metassay.read(table, task="asr", references="per-output")
    (note,) = warn_of_doubtful_texts(dataset)
    assert "The references contain words such as 'canÃ¢" in note
