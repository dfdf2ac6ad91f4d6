"""Finds names in texts: by capitals, HanTa's tags and lists; peoples and dates by lists and patterns.

The rules for English are here, those for German in `german.py`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from metassay.perturbations.languages import german
from metassay.perturbations.languages.names import (
    BODIES,
    CALENDAR,
    CAPITALISED,
    COMPANIES,
    FAMILY_NAMES,
    FAMILY_NAMES_FIRST,
    FEMALE,
    MALE,
    MOST_WORDS,
    NOT_NAMES,
    ORGANISATION_WORDS,
    PEOPLES,
    PERSON_TITLES,
    PLACE_WORDS,
    PLACES,
    Mention,
    NameRules,
    Word,
    bare_name,
    end_of_name,
    word_after,
    word_before,
)
from metassay.text.indexed_words import IndexedWords, index_words
from metassay.text.lemmas import is_common_word
from metassay.text.spacy_models import Entity
from metassay.text.tagged_words import rank_word_tags
from metassay.text.word_lists import WordLists, build_pattern
from metassay.text.words import starts_sentence

_OWN = WordLists("metassay.perturbations.languages", "en")
_PROPER = PLACES["en"] | FEMALE | MALE | FAMILY_NAMES | COMPANIES
_SAYING = _OWN.read_words("saying")
_DIRECTIONS = _OWN.read_words("directions")
_ARTICLES = {"the", "a", "an"}
_SCHOOLS = {"University", "College", "Bank", "Hospital"}
_PINYIN = re.compile(
    r"(?:(?:[bpmfdtnlgkhjqxrzcsyw]|[zcs]h)?(?:[aeiou]|a[io]|ei|ou|an|en|i?ang|i?eng|i?ong|ia|iao|ie|iu|ian|in|"
    r"ing|u[aoi]|uai|uan|un|uang|ueng|ue|er)){1,3}",
    re.IGNORECASE,
)
"""One to three syllables of Chinese in Latin letters."""


def _may_belong(text: str, word: Word, first: str) -> bool:
    bare = bare_name(word)
    if len(bare) < 2 or bare in NOT_NAMES["en"] or bare in PEOPLES["en"] or not set("'’_").isdisjoint(bare):
        return False
    if "-" in bare and (not bare.replace("-", "").isalpha() or any(map(_is_known, bare.split("-")))):
        return False
    return bool(first) or _is_proper(bare) or not starts_sentence(text, word.start())


def _could_be_name(word: str) -> bool:
    """Whether a word could be a name or part of one, regardless of where it stands in a text."""
    if len(word) < 2 or "_" in word or word in NOT_NAMES["en"] or word in PEOPLES["en"]:
        return False
    return (
        word in _TELLING
        or ("-" in word and word.replace("-", "").isalpha())
        or not is_common_word(word, "en")
    )


_TELLING = frozenset(
    max(name.split("_"), key=len)  # of several words all must be there, and the longest is the rarest
    for names in (PLACES["en"], COMPANIES, BODIES, FEMALE, MALE, FAMILY_NAMES, FAMILY_NAMES_FIRST)
    for name in names
).union(PLACE_WORDS, ORGANISATION_WORDS)


def _is_proper(word: str) -> bool:
    return word in _PROPER or rank_word_tags(word, "en")[:1] == ("NP0",)


def _is_known(word: str) -> bool:
    return not word[:1].isupper() or word in PLACES["en"] or is_common_word(word, "en")


def _is_part(text: str, start: int, end: int) -> bool:
    """Whether a name has begun before, with a capital that no English word has; or stands beside a stroke."""
    if text[start - 1 : start] in {"/", "-"} or text[end : end + 1] in {"/", "-", "®", "™"}:
        return True
    before, after = word_before(text, start), word_after(text, end)
    goes_on = after[:1].isupper() and after not in NOT_NAMES["en"] and after not in {"I", "A"}
    if goes_on or (after == "of" and text[end + 4 : end + 5].isupper()):
        return True
    return before[:1].isupper() and before not in PERSON_TITLES["en"] and not is_common_word(before, "en")


def _kind(before: str, words: Sequence[str]) -> str:
    whole = "_".join(words)
    if len(words) > MOST_WORDS:
        return ""
    if whole in PLACES["en"] or _is_district(words):
        return "LOC"
    if whole in COMPANIES or whole in BODIES or _is_organisation(words):
        return "ORG"
    titled = before in PERSON_TITLES["en"] and not all(is_common_word(word, "en") for word in words)
    if titled or whole in FAMILY_NAMES or _is_person(words):
        return "PER"
    foreign = all(
        rank_word_tags(word, "en")[:1] == ("NP0",) and not is_common_word(word, "en") for word in words
    )
    plain = all(word.istitle() and word.isalpha() for word in words)
    listed = any(word in PLACES["en"] or word in ORGANISATION_WORDS for word in words)
    return "NAME" if foreign and plain and not listed else ""


def _is_district(words: Sequence[str]) -> bool:
    """East Asia, Guangdong Province, the Yangtze River."""
    if len(words) == 1:
        return False
    if words[0] in _DIRECTIONS and "_".join(words[1:]) in PLACES["en"]:
        return True
    return words[-1] in PLACE_WORDS and not all(is_common_word(word, "en") for word in words[:-1])


def _is_organisation(words: Sequence[str]) -> bool:
    """Yale University, the China Price Association; but not the Central Committee."""
    named = [w for w in words[:-1] if w in PLACES["en"] or not is_common_word(w, "en")]
    return words[-1] in ORGANISATION_WORDS and (bool(named) or (len(words) > 1 and words[-1] in _SCHOOLS))


def _is_person(words: Sequence[str]) -> bool:
    """A given name, with what follows; or a Chinese family name, with syllables of Chinese."""
    if any(word in PLACES["en"] or word in ORGANISATION_WORDS or word.isupper() for word in words[1:]):
        return False
    if words[0] in FEMALE or words[0] in MALE:
        return True
    if words[0] not in FAMILY_NAMES_FIRST:
        return False
    chinese = all(_PINYIN.fullmatch(word) for word in words[1:])
    return (
        not is_common_word(words[0], "en")
        if len(words) == 1
        else chinese or not is_common_word(words[1], "en")
    )


def _form(before: str, words: Sequence[str], kind: str) -> str | None:  # noqa: ARG001
    """The article before a name, which few names have."""
    return (before.lower() if before.lower() in _ARTICLES else "") if kind else None


def _hint(text: str, start: int, end: int, words: Sequence[str]) -> str:
    before = word_before(text, start)
    if before in _SAYING or word_after(text, end) in _SAYING:
        return "PER?"
    if before == "in" and len(words) == 1:
        return "LOC?"
    return "NAME" if len(words) > 1 or _PINYIN.fullmatch(words[0]) else ""


_ENGLISH = NameRules(_may_belong, _is_part, _kind, _form, _hint, _could_be_name, modifiers=PLACES["en"])
_RULES = {"en": _ENGLISH, "de": german.RULES}
HEADLINE = 0.6
"""Above this share of words with a capital inside a sentence, capitals say nothing."""
_BESIDE_A_NUMBER = {"March", "May"}
"""Other words, unless a number stands beside them."""


FEW = 64
"""Up to so many texts are searched as quickly as their words are told apart."""


def coded(texts: Sequence[str]) -> IndexedWords | None:
    """The words of texts, those with hyphens whole, as `find_names` and `listed_names` want them."""
    return index_words(texts, hyphens=True) if len(texts) > FEW else None


def find_names(texts: Sequence[str], words: IndexedWords | None, language: str) -> list[Sequence[Mention]]:
    """The names of each text; `words` are those of the texts, if one looks at them first."""
    hopeful = _texts_with(_RULES[language].is_telling, texts, words)
    return [list(_names(text, language)) if has else () for text, has in zip(texts, hopeful)]


def _texts_with(
    wanted: Callable[[str], bool], texts: Sequence[str], words: IndexedWords | None
) -> Iterable[bool]:
    return itertools.repeat(True, len(texts)) if words is None else words.find_texts_with(wanted).tolist()


def with_articles(text: str, found: Sequence[Entity], language: str) -> list[Mention]:
    """Names that a model found, with the form that the word before them gives."""
    named = []
    for start, end, kind in found:
        form = _RULES[language].form(word_before(text, start), text[start:end].split(), kind)
        if form is not None:
            named.append((start, end - form.endswith("gent"), kind, form))
    return named


def _names(text: str, language: str) -> Iterator[Mention]:
    rules = _RULES[language]
    capitals = [m for m in CAPITALISED.finditer(text) if m[0].lower() not in {"i", "a"}]
    if _is_headline(text, capitals):
        yield from (_place(word) for word in capitals if bare_name(word) in rules.modifiers)
        return
    for run in _runs(text, capitals, language):
        start, end = run[0].start(), end_of_name(run[-1])
        if rules.is_part(text, start, end):
            continue
        before, names = word_before(text, start), [bare_name(word) for word in run]
        kind = rules.kind(before, names)
        form = rules.form(before, names, kind)
        if not kind and names[0] in rules.modifiers:
            yield _place(run[0])
        elif form is not None:
            kind = rules.hint(text, start, end, names) if kind == "NAME" else kind
            yield from [(start, end - form.endswith("gent"), kind, form)] if kind else []


def _is_headline(text: str, capitals: Sequence[Word]) -> bool:
    """Whether so many words inside a sentence have a capital that it says nothing."""
    most = max(HEADLINE * len(text.split()), 3)
    return len(capitals) > most < sum(not starts_sentence(text, word.start()) for word in capitals)


def _place(word: Word) -> Mention:
    return word.start(), end_of_name(word), "LOC", ""


def _runs(text: str, capitals: list[Word], language: str) -> Iterator[list[Word]]:
    """Words in a row, each of which may belong to a name."""
    rules = _RULES[language]
    run: list[Word] = []
    for word in capitals:
        if run and text[end_of_name(run[-1]) : word.start()] != " ":
            yield run
            run = []
        if rules.may_belong(text, word, bare_name(run[0]) if run else ""):
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def listed_names(texts: Sequence[str], words: IndexedWords | None, language: str) -> list[Sequence[Mention]]:
    """The peoples and dates of each text. Of German and Russian adjectives the span is the stem."""
    listed = _LISTED[language]
    hopeful = _texts_with(
        lambda word: word in listed or not (word.isalpha() or _A_YEAR.search(word) is None), texts, words
    )
    return [_listed(text, language) if has else () for text, has in zip(texts, hopeful)]


def _listed(text: str, language: str) -> list[Mention]:
    years = ((*found.span("year"), "YEAR", "digits") for found in _YEARS[language].finditer(text))
    return sorted([*_peoples(text, language), *_dates(text, language), *years])


def _peoples(text: str, language: str) -> Iterator[Mention]:
    for found in _PEOPLES[language].finditer(text):
        start, end = found.span(1)
        if language != "en":
            yield start, end, "PEOPLE", "stem"
        elif not _is_inside_a_name(text, start, end):
            before = word_before(text, start).lower()
            yield start, end, "PEOPLE", before if before in {"a", "an"} else ""


def _is_inside_a_name(text: str, start: int, end: int) -> bool:
    """British Museum, Latin American; or the verb to polish."""
    before, after = word_before(text, start), word_after(text, end)
    goes_on = after[:1].isupper() and after not in PERSON_TITLES["en"]
    begun = before[:1].isupper() and not starts_sentence(text, start - len(before) - 1)
    return goes_on or begun or (text[start:end] == "Polish" and starts_sentence(text, start))


def _dates(text: str, language: str) -> Iterator[Mention]:
    for found in _DATES[language].finditer(text):
        kind, form = CALENDAR[language][found[0]]
        after_in = language != "ru" or kind == "MONTH" or word_before(text, found.start()).lower() == "в"
        beside = found[0] not in _BESIDE_A_NUMBER or _NUMBER_BESIDE.search(text, max(0, found.start() - 5))
        if after_in and beside:
            yield *found.span(), kind, form


def _whole(words: Iterable[str], endings: Sequence[str] = ("",)) -> re.Pattern[str]:
    """A pattern for any of these words, with one of these endings, and nothing but space around them."""
    return re.compile(rf"(?<![\w-])({build_pattern(words)})(?:{'|'.join(endings)})(?![\w-]|\.\w)")


_NUMBER_BESIDE = re.compile(r"\d\w{0,2}(?: of)? (?:March|May)\b|(?:March|May),? \d")
_ENDINGS = {
    "en": ("",),
    "de": ("", "e", "en", "er", "es", "em"),
    "ru": ("ий", "ая", "ое", "ие", "ого", "ому", "им", "ом", "ой", "ую", "их", "ими"),
}
"""Of adjectives of peoples."""
_PEOPLES = {language: _whole(own, _ENDINGS[language]) for language, own in PEOPLES.items()}
_DATES = {language: _whole(own) for language, own in CALENDAR.items()}
_LISTED = {
    language: frozenset(
        name.split()[0]
        for name in (
            *CALENDAR[language],
            *(stem + ending for stem in PEOPLES[language] for ending in endings),
        )
    )
    for language, endings in _ENDINGS.items()
}
"""The first words of what these patterns find."""
_MONTHS = {
    language: "|".join(sorted(word for word, (kind, _) in own.items() if kind == "MONTH"))
    for language, own in CALENDAR.items()
    if language != "ru"
}
_A_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_YEAR = rf"(?P<year>{_A_YEAR.pattern})(?![\w%/-]|[.,]\d)"
_YEARS = {
    "en": re.compile(rf"\b(?:[Ii]n|[Ss]ince|of|by|from|until|before|after|year|{_MONTHS['en']}),? {_YEAR}"),
    "de": re.compile(rf"\b(?:Jahre?s?|[Ss]eit|bis|von|Ende|Anfang|Mitte|{_MONTHS['de']}) {_YEAR}"),
    "ru": re.compile(rf"\b{_YEAR}(?= год(?:а|у|ом|е)?\b| г\.)"),
}
