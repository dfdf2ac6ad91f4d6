"""Known names of people, places and organisations, and words that give a name's kind away."""

from __future__ import annotations

from metassay.text.word_lists import WordLists

_LISTS = {
    language: WordLists("metassay.perturbations.languages", language) for language in ("en", "de", "ru")
}
_ENGLISH, _GERMAN = _LISTS["en"], _LISTS["de"]
_LATIN = WordLists("metassay.perturbations.languages", "latin")

FEMALE = _LATIN.words("female_names")
"""Given names in Latin script."""
MALE = _LATIN.words("male_names")
FAMILY_NAMES = _LATIN.words("family_names")
"""People known by their family names."""
FAMILY_NAMES_FIRST = _LATIN.words("family_names_first")
"""East Asian family names."""

PLACES = {language: _LISTS[language].words("places") for language in ("en", "de")}
"""Places as English and German write them; German ones without an article."""
GERMAN_ARTICLES = _GERMAN.word_groups("places_with_article")
"""Places with an article; those in `masc` stand without one too, in the plural only those that never bend."""
PLACE_WORDS = _ENGLISH.words("place_words")

COMPANIES = _LATIN.words("companies")
"""Companies and what they run: without an article in every language."""
BODIES = _ENGLISH.words("bodies")
"""Bodies in English, many by their letters."""
GERMAN_BODIES = _GERMAN.word_groups("bodies")
"""Bodies known by their letters, by the article they take."""
ORGANISATION_WORDS = _ENGLISH.words("organisation_words")

PERSON_TITLES = {language: _LISTS[language].words("person_titles") for language in ("en", "de")}
NOT_NAMES = {language: _LISTS[language].words("not_names") for language in ("en", "de")}
"""Words with capitals that are no names."""

PEOPLES = {language: lists.words("peoples") for language, lists in _LISTS.items()}
"""Adjectives of peoples; in German and Russian without their ending, which is the same for all."""
CALENDAR = {
    language: {word: (kind, form.strip("-")) for kind, form, word in lists.rows("calendar", 3)}
    for language, lists in _LISTS.items()
}
"""Kind and form of days and months. Russian days stand after *в* (*вторник* would need *во*)."""
