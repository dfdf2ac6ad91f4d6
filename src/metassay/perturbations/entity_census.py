"""Which names a data set contains, of which kind they are, and which can replace each other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TypedDict

from metassay.perturbations.languages.names import FEMALE_NAMES, MALE_NAMES, Mention
from metassay.perturbations.languages.russian_names import FAMILY_NAME_ENDING

# The share of the mentions of a name that must agree on its kind.
AGREEMENT = 0.8
# Mentions with a hint that it takes to decide the kind of a name that is in no list.
MINIMUM_HINTS = 2
# If there are more names than this, those that occur only once are not used: they are often mistakes.
RARE_NAMES_LIMIT = 20
# Names that begin with as many equal letters are often two spellings of one name.
EQUAL_LETTERS = 4
_SIBILANTS = ("s", "ß", "x", "z")

# How many mentions of a name have each kind.
KindCounts = dict[str, int]


class Census(TypedDict):
    """All names in the texts of a language: which kind each one has, and which names can replace each
    other.
    """

    kinds: dict[str, str]
    """The kind of each name: PER, LOC, ORG and so on."""
    others: dict[str, list[str]]
    """The names that fit a place in a sentence, by the strictest description of the place."""


class MentionCounts:
    """Counts how often texts mention each name, by its kind (such as person or place) and grammatical form.
    Texts must be added in a fixed order.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()
        """By name, kind and form."""
        self.last_forms: dict[str, str] = {}
        """The form of the last mention of each name."""

    def count_names_in_text(self, text: str, mentions: Iterable[Mention]) -> None:
        """Count the names that a text mentions."""
        for start, end, kind, form in mentions:
            name = text[start:end]
            self.counts[name, kind, form] += 1
            self.last_forms[name] = form


def build_name_replacement_table(name_mention_counts: MentionCounts, language: str) -> Census:
    """Decide for each name of the data set whether it is a person, place or organisation, and list the names
    that can replace it.
    """
    kinds = _decide_kinds_of_names(name_mention_counts, language)
    decided: Counter[tuple[str, str, str]] = Counter()
    for (name, kind, form), count in name_mention_counts.counts.items():
        resolved = normalise_name_mention(name, kind, form, kinds, language)
        if resolved is not None:
            decided[resolved] += count
    names_by_level: dict[str, Counter[str]] = defaultdict(Counter)
    levels_of: dict[str, tuple[str, ...]] = {}
    for (name, kind, form), count in decided.items():
        levels = describe_grammatical_role_of_name(name, kind, form, language)
        levels_of[levels[0]] = levels
        can_replace_others = not form.endswith("?")
        for level in levels:
            # A form with a question mark is a guess. Such names can be replaced, but do not replace others.
            names_by_level[level][name] += count if can_replace_others else 0
    others = {}
    for level in sorted(levels_of):
        if language == "ru":
            fitting = _find_russian_names_seen_in_cases(level, names_by_level)
        else:
            fitting = _choose_most_specific_names(levels_of[level], names_by_level)
        others[level] = _list_frequent_names(fitting)
    return {"kinds": kinds, "others": others}


def normalise_name_mention(
    name: str, entity_type: str, grammatical_form: str, entity_type_by_name: dict[str, str], language: str
) -> tuple[str, str, str] | None:
    """Return the name, entity type and grammatical form of a mention, or None if the name has another type
    elsewhere in the data set.

    A German person's name may carry the -s of the genitive, which is then not part of the name.
    """
    if name in entity_type_by_name:
        # A question mark after the kind means that only a hint supports it.
        if entity_type.rstrip("?") in {entity_type_by_name[name], "NAME"}:
            return name, entity_type_by_name[name], grammatical_form
        return None
    base_name = name.removesuffix("s")
    if language == "de" and entity_type_by_name.get(base_name) == "PER":
        return base_name, "PER", "gent"
    return None


def _decide_kinds_of_names(mention_counts: MentionCounts, language: str) -> dict[str, str]:
    """Decide for each name whether it is a person, place or organisation, if its mentions agree on that.

    A name of unknown kind (NAME) is a person's if it is the family name in somebody's full name. Otherwise it
    is used only in English: in other languages a capital, or a model, says too little.
    """
    counts_of: dict[str, KindCounts] = defaultdict(dict)
    for (name, kind, _), count in mention_counts.counts.items():
        kind_counts = counts_of[name]
        kind_counts[kind] = kind_counts.get(kind, 0) + count
    family_names = _find_family_names_of_people(counts_of, mention_counts.last_forms, language)
    kinds: dict[str, str] = {}
    for name in sorted(counts_of):  # so that a German genitive comes after the name itself
        kind = _find_most_frequent_name_kind(counts_of[name])
        if kind == "NAME" and _extract_family_name(name, language) in family_names:
            kind = "PER"
        is_known = kind not in {"", "NAME"} or (kind == "NAME" and language == "en")
        is_genitive = language == "de" and name.endswith("s") and kinds.get(name[:-1]) == kind
        if is_known and not is_genitive:
            kinds[name] = kind
    return kinds


def _find_family_names_of_people(
    entity_type_counts_by_name: dict[str, KindCounts], grammatical_form_by_name: dict[str, str], language: str
) -> set[str]:
    """Find the family names of people whose full names are mentioned. In Russian, only family names of men
    are used, because women's have other endings.
    """
    family_names = set()
    for name, kind_counts in entity_type_counts_by_name.items():
        is_full_name = " " in name and _find_most_frequent_name_kind(kind_counts) == "PER"
        if is_full_name and (language != "ru" or grammatical_form_by_name[name].startswith("masc")):
            family_names.add(_extract_family_name(name, language))
    return family_names


def _extract_family_name(full_name: str, language: str) -> str:
    """Return the last word of a full name. In Russian, the ending that shows the grammatical case is
    removed.
    """
    family_name = full_name.rsplit(maxsplit=1)[-1]
    return FAMILY_NAME_ENDING.sub("", family_name) if language == "ru" else family_name


def _find_most_frequent_name_kind(kind_counts: KindCounts) -> str:
    """Return the kind that most mentions of a name have, such as PER; NAME if none shows a kind; or an empty
    text if the mentions disagree.
    """
    certain = {}
    hinted = {}
    for kind, count in kind_counts.items():
        if kind.endswith("?"):
            hinted[kind.rstrip("?")] = count
        elif kind != "NAME":
            certain[kind] = count
    # Hints count only if no mention is certain.
    for counts, minimum in ((certain, 1), (hinted, MINIMUM_HINTS)):
        total = sum(counts.values())
        if total >= minimum:
            kind = max(counts, key=counts.__getitem__)
            return kind if counts[kind] >= AGREEMENT * total else ""
    return "NAME"


def describe_grammatical_role_of_name(
    name: str, kind: str, grammatical_form: str, language: str
) -> tuple[str, ...]:
    """Return descriptions of the names that can stand in the place of a name, such as `PER full f` for a
    woman's full name, from specific to general.

    Names with the same description can replace each other.
    """
    if language == "ru":
        grammatical_form = grammatical_form.rstrip("?")
        without_gender = grammatical_form.split(maxsplit=1)[-1]
        return f"{kind} {grammatical_form}", f"{kind} {without_gender}"
    words = name.split()
    # Whether a name fits these forms depends on its sounds, which `can_replace_name` checks.
    article = "" if grammatical_form in {"a", "an", "gent"} else grammatical_form
    base = " ".join(filter(None, (kind, article)))
    if kind == "PER":
        gender = _find_gender_of_given_name(words[0])
        single_name = "given" if gender else "family"
        shape = "full" if len(words) > 1 else single_name
        return f"{base} {shape} {gender}".strip(), f"{base} {shape}", base
    length = "one" if len(words) == 1 else "more"
    shape = "letters" if name.isupper() else length
    return f"{base} {shape}", base


def _find_gender_of_given_name(given_name: str) -> str:
    """Return `f` or `m` for a given name in the list of women's or men's names, or an empty text if it is in
    neither.
    """
    if given_name in FEMALE_NAMES:
        return "f"
    return "m" if given_name in MALE_NAMES else ""


def can_replace_name(name: str, other_name: str, grammatical_form: str) -> bool:
    """Return whether a name in a text can be replaced by another name. The two must differ clearly, and the
    other must fit the article or ending.
    """
    lower_name = name.casefold()
    lower_other = other_name.casefold()
    begins_alike = lower_name[:EQUAL_LETTERS] == lower_other[:EQUAL_LETTERS] and not lower_name.isdigit()
    if begins_alike or lower_name in lower_other or lower_other in lower_name:
        return False
    # The article before the name stays, so the other name must begin with a similar sound.
    if grammatical_form in {"a", "an"}:
        return (lower_other[0] in "aeiou") == (grammatical_form == "an")
    # German names that end like this take an apostrophe in the genitive, not an -s.
    return not (grammatical_form == "gent" and other_name.endswith(_SIBILANTS))


def _choose_most_specific_names(
    roles_from_specific_to_general: Sequence[str], names_by_role: dict[str, Counter[str]]
) -> Counter[str]:
    """Return the names that fit the most specific of several descriptions. A description that fewer than two
    names fit is skipped.
    """
    for level in roles_from_specific_to_general:
        if len(names_by_role[level]) > 1:
            return names_by_role[level]
    return names_by_role[roles_from_specific_to_general[-1]]


def _find_russian_names_seen_in_cases(
    role_with_cases: str, names_by_role: dict[str, Counter[str]]
) -> Counter[str]:
    """Return the Russian names, with counts, that occur in all grammatical cases which a place in a sentence
    may require.
    """
    place, _, cases = role_with_cases.rpartition(" ")
    names: Counter[str] = Counter()
    for other_level, other_names in names_by_role.items():
        other_place, _, other_cases = other_level.rpartition(" ")
        if other_place == place and set(cases.split(",")) <= set(other_cases.split(",")):
            names.update(other_names)
    return names


def _list_frequent_names(name_counts: Counter[str]) -> list[str]:
    """Return the names that occur more than once, sorted. If there are only few, return all names that
    occur.
    """
    repeated = sorted(name for name, count in name_counts.items() if count > 1)
    if len(repeated) > RARE_NAMES_LIMIT:
        return repeated
    # Names with count 0 occur only in uncertain forms.
    return sorted(name for name, count in name_counts.items() if count)
