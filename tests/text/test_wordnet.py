"""WordNet: known synsets and base forms, from files and from an archive."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from metassay.text.resources import find_wordnet_folder
from metassay.text.wordnet import WordNet, open_wordnet


@pytest.fixture(scope="module")
def wordnet() -> WordNet:
    database = open_wordnet()
    if database is None:
        pytest.skip("no WordNet here: `make system-packages` installs it on Debian")
    return database


def test_known_synsets(wordnet: WordNet) -> None:
    # The first sense of each word, as `wn WORD -syns` prints it.
    assert wordnet.list_words_of_synset("n", wordnet.list_synsets("car", "n")[0]) == (
        "car",
        "auto",
        "automobile",
        "machine",
        "motorcar",
    )
    assert wordnet.list_words_of_synset("v", wordnet.list_synsets("say", "v")[0]) == ("state", "say", "tell")
    assert wordnet.list_synsets("xyzzy", "n") == ()
    assert all(
        "(" not in word
        for sense in wordnet.list_synsets("galore", "a")
        for word in wordnet.list_words_of_synset("a", sense)
    )


@pytest.mark.parametrize(
    ("form", "pos", "lemmas"),
    [
        ("geese", "n", ["goose"]),
        ("axes", "n", ["axis", "ax"]),
        ("churches", "n", ["church"]),
        ("said", "v", ["say"]),
        ("saw", "v", ["saw", "see"]),
        ("flies", "v", ["fly"]),
        ("better", "a", ["better", "good", "well"]),
        ("loving", "n", []),
    ],
)
def test_base_forms_are_those_of_morphy(wordnet: WordNet, form: str, pos: str, lemmas: list[str]) -> None:
    assert set(wordnet.find_lemmas(form, pos)) == set(lemmas)


def test_counts_add_up_over_senses(wordnet: WordNet) -> None:
    assert wordnet.tag_counts["say", "v"] > 2000
    assert ("xyzzy", "n") not in wordnet.tag_counts


def test_a_database_in_an_archive_gives_the_same_results(
    wordnet: WordNet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = find_wordnet_folder()
    assert isinstance(folder, Path)
    (tmp_path / "corpora").mkdir()
    with zipfile.ZipFile(tmp_path / "corpora" / "wordnet.zip", "w") as archive:
        for name in ("data.adv", "index.adv", "adv.exc", "data.noun"):
            archive.write(folder / name, f"wordnet/{name}")
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    folder_in_archive = find_wordnet_folder()
    assert isinstance(folder_in_archive, zipfile.Path)
    zipped = WordNet(folder_in_archive)
    senses = wordnet.list_synsets("quickly", "r")
    assert zipped.list_synsets("quickly", "r") == senses
    assert zipped.list_words_of_synset("r", senses[0]) == wordnet.list_words_of_synset("r", senses[0])
