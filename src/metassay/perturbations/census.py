"""The names of a data set: of what kind each is, and which others can take its place.

A finder sees one text at a time and may take a person for a place. Over a data set its slips are outvoted: a
name keeps a kind that nearly all its mentions have. Where no list knows a name, full names give family names
away (*Olaf Scholz*, so *Scholz* is a person), and so do the words around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypedDict

from metassay.perturbations.languages.gazetteer import FEMALE, MALE
from metassay.perturbations.languages.mentions import Mention
from metassay.perturbations.languages.russian_names import ENDING

AGREEMENT = 0.8
"""The share of mentions that must have a name's kind."""

HINTS = 2
"""The least number of mentions whose surroundings must hint at a kind that no list knows."""

FEW = 20
"""With more names than this, those found in one text only are left out: they are often slips."""

LIKE = 4
"""Names that begin with as many equal letters are often two spellings of one."""

SIBILANTS = ("s", "ß", "x", "z")


class Census(TypedDict):
    """What the run keeps: kinds by name, and by place in a sentence (`levels`) the names that fit it."""

    kinds: dict[str, str]
    others: dict[str, list[str]]


def take_census(texts: Sequence[str], found: Sequence[Sequence[Mention]], language: str) -> Census:
    """The census of all mentions in the distinct texts of a data set."""
    kinds = _kinds(texts, found, language)
    names: dict[str, Counter[str]] = {}
    ladders: dict[str, tuple[str, ...]] = {}
    for text, mentions in zip(texts, found):
        for start, end, kind, form in settled(text, mentions, kinds, language):
            ladder = levels(text[start:end], kind, form, language)
            ladders[ladder[0]] = ladder
            for level in ladder:
                names.setdefault(level, Counter())[text[start:end]] += not form.endswith("?")
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


def _kinds(texts: Sequence[str], found: Sequence[Sequence[Mention]], language: str) -> dict[str, str]:
    votes: dict[str, Counter[str]] = {}
    forms: dict[str, str] = {}
    for text, mentions in zip(texts, found):
        for start, end, kind, form in mentions:
            votes.setdefault(text[start:end], Counter())[kind] += 1
            forms[text[start:end]] = form
    full = {name for name, own in votes.items() if " " in name and _decided(own) == "PER"}
    men = {name for name in full if language != "ru" or forms[name].startswith("masc")}
    family = {_stem(name, language) for name in men}
    kinds: dict[str, str] = {}
    for name, own in sorted(votes.items()):
        kind = _decided(own)
        if kind == "NAME" and _stem(name, language) in family:
            kind = "PER"
        genitive = language == "de" and name.endswith("s") and kinds.get(name[:-1]) == kind
        if kind and not genitive and (kind != "NAME" or language == "en"):
            kinds[name] = kind
    return kinds


def _stem(name: str, language: str) -> str:
    """The family name of a full name, without its case."""
    family = name.rsplit(maxsplit=1)[-1]
    return ENDING.sub("", family) if language == "ru" else family


def _decided(votes: Counter[str]) -> str:
    """The kind most mentions have; hints count where no list knows. Empty where they disagree."""
    sure = Counter({kind: n for kind, n in votes.items() if kind != "NAME" and not kind.endswith("?")})
    hints = Counter({kind.rstrip("?"): n for kind, n in votes.items() if kind.endswith("?")})
    for counted, least in ((sure, 1), (hints, HINTS)):
        if counted.total() >= least:
            kind, count = counted.most_common(1)[0]
            return kind if count >= AGREEMENT * counted.total() else ""
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


def fits(name: str, other: str, text: str, form: str) -> bool:
    """Whether another name makes the text differ from what it says, and can be put there."""
    a, b = name.casefold(), other.casefold()
    alike = a[:LIKE] == b[:LIKE] and not a.isdigit()
    if alike or a in b or b in a or other in text:
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
