"""Word lists: every file is well formed, and errors name the place."""

from __future__ import annotations

import calendar
import unicodedata
from importlib.resources import files
from pathlib import Path

import pytest

from metassay.errors import MetassayError
from metassay.perturbations.languages import names
from metassay.text import word_lists
from metassay.text.word_lists import WordLists

FOLDERS = [
    folder
    for package in ("metassay.perturbations.languages", "metassay.text")
    for folder in Path(str(files(package))).iterdir()
    if folder.is_dir() and folder.name != "__pycache__"
]
FILES = [path for folder in FOLDERS for path in sorted(folder.iterdir())]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_list_is_well_formed(path):
    text = path.read_bytes().decode("utf-8")
    entries = [line for line in text.split("\n")[:-1] if not line.startswith("#")]
    assert text.startswith("# ")
    assert text.endswith("\n")
    assert text == unicodedata.normalize("NFC", text)
    assert path.suffix in {".txt", ".tsv"}
    assert all(line and line == line.strip() for line in entries)
    assert len(set(entries)) == len(entries)
    assert path.suffix == ".tsv" or not any("\t" in line for line in entries)


def test_every_language_has_a_folder():
    assert {folder.name for folder in FOLDERS} == {
        "en",
        "de",
        "ru",
        "es",
        "fr",
        "it",
        "pt",
        "zh",
        "ja",
        "latin",
    }


def test_english_days_and_months_are_those_of_the_calendar():
    calendar_words = names.CALENDAR["en"]
    assert [word for word, (kind, _) in calendar_words.items() if kind == "DAY"] == list(calendar.day_name)
    assert [word for word, (kind, _) in calendar_words.items() if kind == "MONTH"] == list(
        calendar.month_name
    )[1:]


def test_a_missing_list_is_named_in_the_error():
    with pytest.raises(MetassayError, match=r"metassay\.text/en/no_such\.txt: the word list cannot be read"):
        WordLists("metassay.text", "en").read_words("no_such")


def test_a_row_of_the_wrong_length_is_named_in_the_error(tmp_path, monkeypatch):
    (tmp_path / "xx").mkdir()
    (tmp_path / "xx" / "pairs.tsv").write_text("# two cells\na\tb\n\nc\n", encoding="utf-8")
    monkeypatch.setattr(word_lists, "files", lambda _package: tmp_path)
    with pytest.raises(MetassayError, match=r"some\.package/xx/pairs\.tsv, line 4: 1 cells instead of 2"):
        WordLists("some.package", "xx").read_mapping_from_list("pairs")
