"""The reader of WordNet's files, beside what the manual pages and nltk say; MyThes files."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from metassay.text import resources
from metassay.text import wordnet as wordnet_module
from metassay.text.wordnet import Thesaurus, WordNet, open_thesaurus, open_wordnet


@pytest.fixture(scope="module")
def wordnet() -> WordNet:
    database = open_wordnet()
    if database is None:
        pytest.skip("no WordNet here: `make system-packages` installs it on Debian")
    return database


def test_known_synsets(wordnet: WordNet) -> None:
    # The first sense of each word, as `wn WORD -syns` prints it.
    assert wordnet.synset("n", wordnet.senses("car", "n")[0]) == (
        "car",
        "auto",
        "automobile",
        "machine",
        "motorcar",
    )
    assert wordnet.synset("v", wordnet.senses("say", "v")[0]) == ("state", "say", "tell")
    assert wordnet.senses("xyzzy", "n") == ()
    assert all(
        "(" not in word for sense in wordnet.senses("galore", "a") for word in wordnet.synset("a", sense)
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
def test_base_forms_as_morphy_gives_them(wordnet: WordNet, form: str, pos: str, lemmas: list[str]) -> None:
    assert set(wordnet.lemmas(form, pos)) == set(lemmas)


def test_counts_add_up_over_senses(wordnet: WordNet) -> None:
    assert wordnet.counts["say", "v"] > 2000
    assert ("xyzzy", "n") not in wordnet.counts


def test_a_zipped_database_is_read_alike(
    wordnet: WordNet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = resources.wordnet_folder()
    assert isinstance(folder, Path)
    (tmp_path / "corpora").mkdir()
    with zipfile.ZipFile(tmp_path / "corpora" / "wordnet.zip", "w") as archive:
        for name in ("data.adv", "index.adv", "adv.exc", "data.noun"):
            archive.write(folder / name, f"wordnet/{name}")
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    found = resources.wordnet_folder()
    assert isinstance(found, zipfile.Path)
    zipped = WordNet(found)
    senses = wordnet.senses("quickly", "r")
    assert zipped.senses("quickly", "r") == senses
    assert zipped.synset("r", senses[0]) == wordnet.synset("r", senses[0])


GERMAN = "UTF-8\nhaus|2\n-|Haus|Heim|Bude (ugs.)|Gebäude (Oberbegriff)|trautes Heim\n-|Haus (Hauptform)|Familie\nzu|1\n-|zu\n"
RUSSIAN = "\ufeffUTF-8\nабзац|2\n(синоним)|отступ\n(антоним)|текст\n"


def test_remarks_phrases_and_other_relations_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "th.dat").write_text(GERMAN, encoding="utf-8")
    thesaurus = Thesaurus(tmp_path / "th.dat")
    assert thesaurus.meanings("haus") == [["Haus", "Heim"], ["Haus", "Familie"]]
    assert thesaurus.meanings("hof") == []


def test_byte_order_mark_and_labels(tmp_path: Path) -> None:
    (tmp_path / "th.dat").write_text(RUSSIAN, encoding="utf-8")
    assert Thesaurus(tmp_path / "th.dat").meanings("абзац") == [["отступ"]]


def test_other_encodings(tmp_path: Path) -> None:
    (tmp_path / "th.dat").write_bytes("ISO8859-1\nschön|1\n-|hübsch\n".encode("latin-1"))
    assert Thesaurus(tmp_path / "th.dat").meanings("schön") == [["hübsch"]]


@pytest.mark.parametrize(
    ("language", "word", "synonym"), [("de", "wichtig", "bedeutend"), ("ru", "абзац", "отступ")]
)
def test_the_systems_thesauri(language: str, word: str, synonym: str) -> None:
    thesaurus = open_thesaurus(language)
    if thesaurus is None:
        pytest.skip(f"no {language} thesaurus here: `make system-packages` installs it on Debian")
    assert any(synonym in meaning for meaning in thesaurus.meanings(word))


def test_base_forms_are_those_of_simplemma(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every word of its English dictionary, and forms that it takes apart or does not know."""
    simplemma = pytest.importorskip("simplemma", reason="pip install 'metassay[en]'")
    factory = simplemma.strategies.dictionaries.dictionary_factory.DefaultDictionaryFactory()
    known = factory.get_dictionary("en")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for _ in range(2):  # made, then found
        ours = wordnet_module._Dictionaries.get_dictionary.__wrapped__("en")
        assert all(ours.get(word) == base for word, base in known.items())
    for form in ("mice", "Mice", "don't", "co-operated", "xyzzy", "caf\u00e9s", "cafe\u0301s", "\u212b"):
        found = simplemma.lemmatize(form, lang="en") if simplemma.is_known(form, lang="en") else None
        assert wordnet_module.known_lemma(form, "en") == found


def test_a_word_is_found_whole_or_not_at_all() -> None:
    forms = wordnet_module.BaseForms(
        wordnet_module.packed({"a": "b", "b": "a\u00df", "ab": "", "\u00df": "c"})
    )
    assert [forms.get(word) for word in ("a", "b", "ab", "\u00df")] == ["b", "a\u00df", "", "c"]
    for word in ("", "a\tb", "b\na", "\n", "\t", "A", "ba", "c"):
        assert forms.get(word) is None
