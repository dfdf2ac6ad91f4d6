"""Peoples, days, months and years: names that a list or a pattern knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from metassay.perturbations.languages.mentions import Mention, word_after, word_before
from metassay.perturbations.languages.names import PERSON_TITLES
from metassay.text.words import starts_sentence, word_set

PEOPLES = {
    "en": word_set(
        """
        Afghan African Albanian American Arab Argentine Armenian Asian Australian Austrian Bavarian
        Belgian Brazilian British Bulgarian Burmese Cambodian Canadian Chilean Chinese Colombian Croatian
        Cuban Czech Danish Dutch Egyptian English Estonian Ethiopian European Finnish French Georgian
        German Greek Hungarian Icelandic Indian Indonesian Iranian Iraqi Irish Israeli Italian Japanese
        Jordanian Kazakh Kenyan Korean Kurdish Latvian Lebanese Libyan Lithuanian Malaysian Mexican
        Mongolian Moroccan Nepalese Nigerian Norwegian Pakistani Palestinian Persian Peruvian Philippine
        Polish Portuguese Romanian Russian Saudi Scottish Serbian Singaporean Slovak Slovenian Somali
        Soviet Spanish Swedish Swiss Syrian Taiwanese Thai Tibetan Tunisian Turkish Ukrainian Venezuelan
        Vietnamese Welsh
        """
    ),
    "de": word_set(
        """
        afghanisch afrikanisch ägyptisch albanisch algerisch amerikanisch arabisch argentinisch armenisch
        asiatisch australisch bayerisch belgisch brasilianisch britisch bulgarisch chilenisch chinesisch
        dänisch deutsch englisch estnisch europäisch finnisch französisch georgisch griechisch indisch
        indonesisch irakisch iranisch irisch isländisch israelisch italienisch japanisch jordanisch
        kanadisch kasachisch kenianisch kolumbianisch koreanisch kroatisch kubanisch kurdisch lettisch
        libanesisch libysch litauisch marokkanisch mexikanisch neuseeländisch niederländisch nigerianisch
        nordkoreanisch norwegisch österreichisch pakistanisch palästinensisch persisch peruanisch
        philippinisch polnisch portugiesisch rumänisch russisch saudisch schottisch schwedisch
        schweizerisch serbisch slowakisch slowenisch somalisch sowjetisch spanisch südafrikanisch
        südkoreanisch syrisch taiwanisch thailändisch tibetisch tschechisch tunesisch türkisch ukrainisch
        ungarisch venezolanisch vietnamesisch walisisch
        """
    ),
    "ru": word_set(
        """
        австралийск австрийск азиатск албанск алжирск американск английск арабск аргентинск армянск
        африканск афганск бельгийск болгарск бразильск британск венгерск венесуэльск вьетнамск германск
        голландск греческ грузинск датск европейск египетск израильск индийск индонезийск иорданск иракск
        иранск ирландск исландск испанск итальянск казахск канадск кенийск китайск колумбийск корейск
        кубинск курдск латвийск ливанск ливийск литовск марокканск мексиканск монгольск немецк непальск
        нигерийск нидерландск норвежск пакистанск палестинск персидск перуанск польск португальск российск
        румынск русск саудовск сербск сирийск словацк советск сомалийск тайваньск тайск тибетск тунисск
        турецк украинск уэльск финск французск хорватск чешск чилийск шведск швейцарск шотландск эстонск
        южнокорейск японск
        """
    ),
}
"""Adjectives of peoples; in German and Russian without their ending, which is the same for all."""

_CALENDAR: dict[str, dict[tuple[str, str], frozenset[str]]] = {
    "en": {
        ("DAY", ""): word_set("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
        ("MONTH", ""): word_set(
            "January February March April May June July August September October November December"
        ),
    },
    "de": {
        ("DAY", ""): word_set("Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag"),
        ("MONTH", ""): word_set(
            "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
        ),
    },
    "ru": {
        ("DAY", "accs"): word_set("понедельник среду четверг пятницу субботу воскресенье"),
        ("MONTH", "gent"): word_set(
            "января февраля марта апреля мая июня июля августа сентября октября ноября декабря"
        ),
        ("MONTH", "loct"): word_set(
            "январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре"
        ),
    },
}
"""Days and months by kind and form. Russian days stand after *в* (*вторник* would need *во*)."""

_BESIDE_A_NUMBER = {"March", "May"}
"""Other words, unless a number stands beside them."""


def listed_names(text: str, language: str) -> list[Mention]:
    """The peoples and dates of a text. Of German and Russian adjectives the span is the stem."""
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
        kind, form = _DATE_FORMS[language][found[0]]
        after_in = language != "ru" or kind == "MONTH" or word_before(text, found.start()).lower() == "в"
        beside = found[0] not in _BESIDE_A_NUMBER or _NUMBER_BESIDE.search(text, max(0, found.start() - 5))
        if after_in and beside:
            yield *found.span(), kind, form


def _whole(words: Iterable[str], ending: str = "") -> re.Pattern[str]:
    """A pattern for any of these words, with one of these endings, and nothing but space around them."""
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return re.compile(rf"(?<![\w-])({'|'.join(longest_first)}){ending}(?![\w-]|\.\w)")


_NUMBER_BESIDE = re.compile(r"\d\w{0,2}(?: of)? (?:March|May)\b|(?:March|May),? \d")
_PEOPLES = {
    "en": _whole(PEOPLES["en"]),
    "de": _whole(PEOPLES["de"], "(?:e|en|er|es|em)?"),
    "ru": _whole(PEOPLES["ru"], "(?:ий|ая|ое|ие|ого|ому|им|ом|ой|ую|их|ими)"),
}
_DATE_FORMS = {
    language: {word: what for what, words in own.items() for word in words}
    for language, own in _CALENDAR.items()
}
_DATES = {language: _whole(own) for language, own in _DATE_FORMS.items()}
_MONTHS = {
    language: "|".join(sorted(own["MONTH", ""])) for language, own in _CALENDAR.items() if language != "ru"
}
_YEAR = r"(?P<year>1[5-9]\d\d|20\d\d)(?![\w%/-]|[.,]\d)"
_YEARS = {
    "en": re.compile(rf"\b(?:[Ii]n|[Ss]ince|of|by|from|until|before|after|year|{_MONTHS['en']}),? {_YEAR}"),
    "de": re.compile(rf"\b(?:Jahre?s?|[Ss]eit|bis|von|Ende|Anfang|Mitte|{_MONTHS['de']}) {_YEAR}"),
    "ru": re.compile(rf"\b{_YEAR}(?= год(?:а|у|ом|е)?\b| г\.)"),
}
