"""Thesauri: remarks, labels and encodings of MyThes files."""

from __future__ import annotations

from pathlib import Path

import pytest

from metassay.text.thesaurus import Thesaurus, open_thesaurus

GERMAN = "UTF-8\nhaus|2\n-|Haus|Heim|Bude (ugs.)|Gebäude (Oberbegriff)|trautes Heim\n-|Haus (Hauptform)|Familie\nzu|1\n-|zu\n"
RUSSIAN = "\ufeffUTF-8\nабзац|2\n(синоним)|отступ\n(антоним)|текст\n"


def test_remarks_phrases_and_other_relations_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "th.dat").write_text(GERMAN, encoding="utf-8")
    thesaurus = Thesaurus(tmp_path / "th.dat")
    assert thesaurus.list_synonyms_by_meaning("haus") == [["Haus", "Heim"], ["Haus", "Familie"]]
    assert thesaurus.list_synonyms_by_meaning("hof") == []


def test_a_byte_order_mark_is_skipped_and_labels_are_read(tmp_path: Path) -> None:
    (tmp_path / "th.dat").write_text(RUSSIAN, encoding="utf-8")
    assert Thesaurus(tmp_path / "th.dat").list_synonyms_by_meaning("абзац") == [["отступ"]]


def test_the_first_line_names_the_encoding(tmp_path: Path) -> None:
    (tmp_path / "th.dat").write_bytes("ISO8859-1\nschön|1\n-|hübsch\n".encode("latin-1"))
    assert Thesaurus(tmp_path / "th.dat").list_synonyms_by_meaning("schön") == [["hübsch"]]


@pytest.mark.parametrize(
    ("language", "word", "synonym"), [("de", "wichtig", "bedeutend"), ("ru", "абзац", "отступ")]
)
def test_installed_thesauri_are_found(language: str, word: str, synonym: str) -> None:
    thesaurus = open_thesaurus(language)
    if thesaurus is None:
        pytest.skip(f"no {language} thesaurus here: `make system-packages` installs it on Debian")
    assert any(synonym in meaning for meaning in thesaurus.list_synonyms_by_meaning(word))
