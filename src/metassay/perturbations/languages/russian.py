"""Russian: words without synonyms, pronouns and what may replace them, words that can be negated."""

from __future__ import annotations

from metassay.text.word_lists import WordLists

_LISTS = WordLists("metassay.perturbations.languages", "ru")

FUNCTION_WORDS = _LISTS.words("function_words")

PRONOUNS = _LISTS.rows("pronouns")
"""Pronouns that can stand in each other's place: subjects by the verb they take, then by case and kind."""

NEVER_CHOSEN = _LISTS.words("never_chosen")
"""Pronouns that are replaced but replace no other: "свой" in the place of "ваш" is often the better word."""

ADDRESS = _LISTS.words("address")
"""Two ways to say you: one in the place of the other is no error."""

_PREPOSITIONS = _LISTS.words("prepositions")
_WITH_YO = _LISTS.mapping("with_yo")
"""Pronouns as people write them without ё."""
_THIRD_PERSON = ("ет", "ит", "ёт", "ется", "ится", "ётся")
_MASCULINE, _FEMININE, _PLURAL = ("л", "лся"), ("ла", "лась"), ("ли", "лись", "ны", "ты")


def pronoun_class(previous: str, pronoun: str, following: str) -> int:
    """Which row of `PRONOUNS` a pronoun belongs to.

    A subject changes only with others that the verb after it agrees with: past tenses show gender and number,
    not person. After a preposition forms with н- take the place of его, ему …; его, её, их may be possessive.
    """
    pronoun = _WITH_YO.get(pronoun, pronoun)
    if any(pronoun in row for row in PRONOUNS[:4]):
        return _subject_class(pronoun, following)
    row = next((row for row, words in enumerate(PRONOUNS[4:], 4) if pronoun in words), -1)
    if pronoun in PRONOUNS[6]:
        return 6
    return row + 1 if row in {4, 7} and previous in _PREPOSITIONS else row


def _subject_class(pronoun: str, following: str) -> int:
    singular = pronoun not in PRONOUNS[3]
    if singular and following.endswith(_MASCULINE + _FEMININE):
        return 2 if following.endswith(_FEMININE) else 1
    if pronoun in PRONOUNS[0] and following.endswith(_THIRD_PERSON):
        return 0
    return 3 if not singular and following.endswith(_PLURAL) else -1


NEGATION_REMOVAL = (
    (r"\b(?:не (?:только|менее|более|раз|зря|просто)|тем не менее|чуть не|ни|никто не)\b", None),
    (r"\bпока\b[^.!?]{0,60}?\bне\b", None),
    (r"\bникогда (?:([\w-]+) )?не ", r"всегда \1 "),
    (r"\bничего (?:([\w-]+) )?не ", r"всё \1 "),
    (r"(?:^|(?<=[.,;!?]))[^.,;!?]*\b(?:ник(?:то|ого|ому|ем|ак\w+)|ни(?:что|чего|чем)?)\b[^.,;!?]*", None),
    (r"\bнельзя\b", "можно"),
    (r"\bневозможно\b", "возможно"),
    (r"\bнет (?=\w)", "есть "),
    (r"\bне ", ""),
)
"""Negations and what stands in their place; None protects a phrase that looks like one and is not."""
NEGATION_SIGNS = r"\b(?:не|нет|нельзя|невозможно|никогда|ничего)\b"

NEGATABLE_WORDS = _LISTS.words("negatable_words")
"""Common verbs, modals and predicates."""
NEGATABLE_ENDINGS = _LISTS.lines("negatable_endings")
"""Endings of verbs, for words of five letters and more."""
NOT_NEGATABLE = _LISTS.words("not_negatable")
"""Words that end like verbs and are none."""


def is_negatable(word: str) -> bool:
    """Whether "не" can stand before this lower-case word: a verb or a predicate."""
    if word in NEGATABLE_WORDS:
        return True
    return len(word) > 4 and word.endswith(NEGATABLE_ENDINGS) and word not in NOT_NEGATABLE
