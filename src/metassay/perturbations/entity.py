"""A name replaced by another name of its kind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

from metassay.perturbations.base import View
from metassay.perturbations.languages.name_finder import (
    coded,
    find_names,
    listed_names,
    with_articles,
)
from metassay.perturbations.languages.names import FEMALE, MALE, Mention
from metassay.perturbations.languages.russian_names import ENDING, may_be_mentioned, russian_mentions
from metassay.perturbations.words import WordEdit
from metassay.stats.streams import Stream
from metassay.text import map_texts, resources
from metassay.text.entities import slovnet_entities
from metassay.text.resources import spacy_entities, spacy_model
from metassay.text.segmentation import CodedWords, coded_words
from metassay.text.words import replace_spans

AGREEMENT = 0.8
"""The share of mentions that must have a name's kind."""

HINTS = 2
"""The least number of mentions whose surroundings must hint at a kind that no list knows."""

FEW = 20
"""With more names than this, those found in one text only are left out: they are often slips."""

LIKE = 4
"""Names that begin with as many equal letters are often two spellings of one."""

Votes = dict[str, int]
"""How many mentions of a name have each kind."""

SIBILANTS = ("s", "ß", "x", "z")


class Census(TypedDict):
    """What the run keeps: kinds by name, and by place in a sentence (`levels`) the names that fit it."""

    kinds: dict[str, str]
    others: dict[str, list[str]]


def take_census(texts: Sequence[str], found: Sequence[Sequence[Mention]], language: str) -> Census:
    """The census of all mentions in the distinct texts of a data set."""
    named = [(text, own) for text, own in zip(texts, found) if own]
    kinds = _kinds(named, language)
    names: dict[str, Counter[str]] = defaultdict(Counter)
    ladders: dict[str, tuple[str, ...]] = {}
    known = (
        (text[start:end], kind, form)
        for text, own in named
        for start, end, kind, form in settled(text, own, kinds, language)
    )
    for (name, kind, form), count in Counter(known).items():
        ladder = levels(name, kind, form, language)
        ladders[ladder[0]] = ladder
        for level in ladder:
            names[level][name] += 0 if form.endswith("?") else count
    if language == "ru":
        fitting = {level: _fitting_cases(level, names) for level in ladders}
    else:
        fitting = {level: _strictest_choice(ladder, names) for level, ladder in ladders.items()}
    return {"kinds": kinds, "others": {level: _attested(fitting[level]) for level in sorted(ladders)}}


def settled(text: str, mentions: Iterable[Mention], kinds: dict[str, str], language: str) -> list[Mention]:
    """The mentions whose kind the data set knows. A German person's name may carry the genitive's -s."""
    kept = []
    for start, end, kind, form in mentions:
        name = text[start:end]
        base = name.removesuffix("s")
        if name in kinds:
            if kind.rstrip("?") in {kinds[name], "NAME"}:
                kept.append((start, end, kinds[name], form))
        elif language == "de" and kinds.get(base) == "PER":
            kept.append((start, end - 1, "PER", "gent"))
    return kept


def _kinds(named: Sequence[tuple[str, Sequence[Mention]]], language: str) -> dict[str, str]:
    """The kind of each name that the mentions agree on; where nothing hints at one, that of its bearers.

    A name that is nowhere more than NAME is a person's if it is the family name in somebody's full name. It
    is kept as NAME in English alone: elsewhere a capital, or a model, says too little.
    """
    votes, forms = _votes(named)
    families = _family_names(votes, forms, language)
    kinds: dict[str, str] = {}
    for name in sorted(votes):  # a German genitive comes after the name itself
        kind = _decided(votes[name])
        if kind == "NAME" and _stem(name, language) in families:
            kind = "PER"
        is_known_enough = kind not in {"", "NAME"} or (kind == "NAME" and language == "en")
        is_genitive = language == "de" and name.endswith("s") and kinds.get(name[:-1]) == kind
        if is_known_enough and not is_genitive:
            kinds[name] = kind
    return kinds


def _votes(named: Sequence[tuple[str, Sequence[Mention]]]) -> tuple[dict[str, Votes], dict[str, str]]:
    """By name, how many of its mentions have each kind; and the form of its last mention."""
    votes: dict[str, Votes] = defaultdict(dict)
    forms: dict[str, str] = {}
    for text, own in named:
        for start, end, kind, form in own:
            name = text[start:end]
            mine = votes[name]
            mine[kind] = mine.get(kind, 0) + 1
            forms[name] = form
    return votes, forms


def _family_names(votes: dict[str, Votes], forms: dict[str, str], language: str) -> set[str]:
    """The family names in the full names of people; in Russian of men, since women's names end otherwise."""
    full_names = [name for name, own in votes.items() if " " in name and _decided(own) == "PER"]
    if language == "ru":
        full_names = [name for name in full_names if forms[name].startswith("masc")]
    return {_stem(name, language) for name in full_names}


def _stem(name: str, language: str) -> str:
    """The family name of a full name, without its case."""
    family = name.rsplit(maxsplit=1)[-1]
    return ENDING.sub("", family) if language == "ru" else family


def _decided(votes: Votes) -> str:
    """The kind most mentions have; hints count where no list knows. Empty where they disagree."""
    sure = {kind: n for kind, n in votes.items() if kind != "NAME" and not kind.endswith("?")}
    hints = {kind.rstrip("?"): n for kind, n in votes.items() if kind.endswith("?")}
    for counted, least in ((sure, 1), (hints, HINTS)):
        total = sum(counted.values())
        if total >= least:
            kind = max(counted, key=counted.__getitem__)
            return kind if counted[kind] >= AGREEMENT * total else ""
    return "NAME"


def levels(name: str, kind: str, form: str, language: str) -> tuple[str, ...]:
    """The places in a sentence where a name can stand, from the strictest to the loosest."""
    if language == "ru":
        form = form.rstrip("?")
        return (f"{kind} {form}", f"{kind} {form.split(maxsplit=1)[-1]}")  # places: whatever the gender
    words = name.split()
    article = "" if form in {"a", "an", "gent"} else form
    base = " ".join(filter(None, (kind, article)))
    if kind == "PER":
        given = words[0] in FEMALE or words[0] in MALE
        shape = "full" if len(words) > 1 else "given" if given else "family"
        gender = "f" if words[0] in FEMALE else "m" if words[0] in MALE else ""
        return (f"{base} {shape} {gender}".strip(), f"{base} {shape}", base)
    shape = "letters" if name.isupper() else "one" if len(words) == 1 else "more"
    return (f"{base} {shape}", base)


def fits(name: str, other: str, form: str) -> bool:
    """Whether another name differs from this one and can be put in its place."""
    a, b = name.casefold(), other.casefold()
    if (a[:LIKE] == b[:LIKE] and not a.isdigit()) or a in b or b in a:
        return False
    if form in {"a", "an"}:
        return (b[0] in "aeiou") == (form == "an")
    return not (form == "gent" and other.endswith(SIBILANTS))


def _strictest_choice(ladder: Sequence[str], names: dict[str, Counter[str]]) -> Counter[str]:
    """The names of the strictest level that holds more than one."""
    return next((names[level] for level in ladder if len(names[level]) > 1), names[ladder[-1]])


def _fitting_cases(level: str, names: dict[str, Counter[str]]) -> Counter[str]:
    """The names that can stand in every case that this one may stand in: its own case is among them."""
    where, _, cases = level.rpartition(" ")
    together: Counter[str] = Counter()
    for other, own in names.items():
        place, _, known = other.rpartition(" ")
        if place == where and set(cases.split(",")) <= set(known.split(",")):
            together.update(own)
    return together


def _attested(names: Counter[str]) -> list[str]:
    several = sorted(name for name, texts in names.items() if texts > 1)
    return several if len(several) > FEW else sorted(name for name, texts in names.items() if texts)


_NEEDS = {"en": ("HanTa", "simplemma"), "de": ("HanTa", "simplemma"), "ru": ("natasha", "pymorphy3")}


@dataclass(frozen=True)
class EntitySubstitution(WordEdit):
    """Replaces a random name by another one of its type that the data set holds for the language.

    Names are found by a spaCy model where one is installed; else by slovnet (Russian), or by capitals,
    HanTa's proper nouns and lists (English, German). Names change places within a form: gender, number and
    case in Russian, the article in German, full names for full names everywhere.
    """

    name: ClassVar[str] = "entity"
    languages: ClassVar[frozenset[str] | None] = frozenset(_NEEDS)
    tagged: ClassVar[frozenset[str]] = frozenset(_NEEDS)
    summary: ClassVar[str] = "replaces a random name by another from the data set (en, de, ru)"

    def missing(self, language: str) -> str | None:
        """The finder or dictionary that is not here; a spaCy model stands for the finder."""
        needed = [n for n in _NEEDS[language] if n == "pymorphy3" or not spacy_model(language)]
        return resources.missing(*needed, language=language)

    def study(self, texts: Sequence[str], language: str | None, workers: int = 1) -> list[Any] | None:
        """The names of each text."""
        if language not in _NEEDS or self.missing(language):
            return None
        return map_texts("metassay.perturbations.entity:find_all", texts, language, workers)

    def recall(self, texts: Sequence[str], language: str | None, found: Sequence[Any]) -> None:
        """Names that were found are not looked for again."""
        known = _FOUND[language or ""]
        for text, own in zip(texts, found):
            found_here = not own or isinstance(own[0], tuple)  # a helper and a file have lists
            known[text] = own if found_here else [(*span, kind, form) for *span, kind, form in own]

    def collect(self, texts: Sequence[str], language: str | None, workers: int = 1) -> Any:
        """The census of all names of the data set in this language."""
        if language not in _NEEDS or self.missing(language):
            return None
        known = _FOUND[language]
        unknown = [text for text in texts if text not in known]
        self.recall(unknown, language, self.study(unknown, language, workers) or [])
        return take_census(texts, [known[text] for text in texts], language)

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the names drawn replaced."""
        text, language = view.output, view.language or ""
        own = mentions(text, language)
        if len(own) < self.strength:
            return None
        census: Census = view.collected[self.name]
        found = []
        for start, end, kind, form in settled(text, own, census["kinds"], language):
            name = text[start:end]
            names = census["others"].get(levels(name, kind, form, language)[0])
            others = _fitting(name, form, names) if names else []
            if any(other not in text for other in others):
                found.append(((start, end), others))
        if len(found) < self.strength:
            return None
        drawn = [found[i] for i in sorted(stream.sample(len(found), self.strength))]
        absent = [(span, [other for other in others if other not in text]) for span, others in drawn]
        return replace_spans(text, [(span, stream.choice(others)) for span, others in absent])


_FITTING: dict[tuple[str, str, int], tuple[list[str], list[str]]] = {}
"""By name, form and list of names, the list and those of it that fit: each is asked once."""


def _fitting(name: str, form: str, names: list[str]) -> list[str]:
    key = (name, form, id(names))  # no other list gets this id, since this one is kept
    if key not in _FITTING:
        _FITTING[key] = names, [other for other in names if fits(name, other, form)]
    return _FITTING[key][1]


_FOUND: dict[str, dict[str, Sequence[Mention]]] = defaultdict(dict)
"""Names by language and text: each distinct text is searched once per process."""


def mentions(text: str, language: str) -> Sequence[Mention]:
    """The names of a text with their places, kinds and forms."""
    known = _FOUND[language]
    if text not in known:
        known[text] = find_all([text], language)[0]
    return known[text]


def find_all(texts: list[str], language: str) -> list[Sequence[Mention]]:
    """The names of many texts: those on lists, and what the best finder at hand finds beside them."""
    words = coded(texts)
    names = zip(_found(texts, words, language), listed_names(texts, words, language))
    return [_joined(found, listed) if found and listed else found or listed for found, listed in names]


def _joined(found: Sequence[Mention], listed: Sequence[Mention]) -> list[Mention]:
    return sorted([*listed, *(mention for mention in found if not _overlaps(mention, listed))])


def _found(texts: list[str], words: CodedWords | None, language: str) -> Sequence[Sequence[Mention]]:
    model = spacy_model(language)
    if not model and language != "ru":
        return find_names(texts, words, language)
    if not model:
        hopeful = may_be_mentioned(texts, words or coded_words(texts, joints="-")).tolist()
        entities = iter(slovnet_entities([text for text, has in zip(texts, hopeful) if has]))
        return [russian_mentions(text, next(entities)) if has else () for text, has in zip(texts, hopeful)]
    found = spacy_entities(texts, language)
    if language == "ru":
        return [russian_mentions(text, own) for text, own in zip(texts, found)]
    return [with_articles(text, own, language) for text, own in zip(texts, found)]


def _overlaps(mention: Mention, others: Sequence[Mention]) -> bool:
    return any(mention[0] < end and start < mention[1] for start, end, _, _ in others)


PERTURBATIONS = (EntitySubstitution,)
