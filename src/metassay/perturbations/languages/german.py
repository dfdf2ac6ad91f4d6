"""German: words without synonyms, genders, pronouns and what may replace them, verbs and negations."""

from __future__ import annotations

from metassay.text.word_lists import WordLists

_LISTS = WordLists("metassay.perturbations.languages", "de")

FUNCTION_WORDS = _LISTS.words("function_words")

ADVERBS_IN_EN = _LISTS.words("adverbs_in_en")
"""Words that end like infinitives and are none."""

GENDERS = _LISTS.groups("noun_endings")
"""Endings that give a noun's gender away."""

NOUNS = _LISTS.word_groups("nouns")
"""Common nouns whose gender their ending does not show."""

NOT_FEMININE = _LISTS.words("not_feminine")
"""Nouns in -e that are not feminine; besides these, all that start with Ge-."""

PLURALS = GENDERS["f"]
"""Feminine endings whose plural takes -en (-n after -e)."""

ADJECTIVE_ENDINGS = _LISTS.lines("adjective_endings")

PRONOUNS = _LISTS.rows("pronouns")
"""Pronouns that can stand in each other's place: subjects by the verb they take, objects, possessives."""

NEVER_CHOSEN: frozenset[str] = frozenset()
"""Pronouns that are replaced but replace no other."""

ADDRESS = _LISTS.words("address")
"""Ways to say you: one in the place of another is no error."""

FORMAL = _LISTS.words("formal")
"""Pronouns of address, which keep their capital inside a sentence."""

_ROWS = {"ich": 1, "wir": 2, "uns": 3, "euch": 3}


def pronoun_class(previous: str, pronoun: str, following: str) -> int:
    """Which row of `PRONOUNS` a pronoun belongs to; "sein" and "ihr" only where a noun follows.

    With "ich habe" no other pronoun agrees, with "ich hatte" er and sie do.
    """
    if pronoun in {"sein", "ihr", "Ihr"}:
        return 5 if following[:1].isupper() else -1
    if pronoun == "Sie":
        return 2
    if pronoun == "ich" and any(_is_first_person(word) for word in (previous, following)):
        return -1
    return _ROWS.get(pronoun, next((row for row, words in enumerate(PRONOUNS) if pronoun in words), -1))


def _is_first_person(verb: str) -> bool:
    return verb == "bin" or (verb.endswith("e") and not verb.endswith("te"))


NEGATION_REMOVAL = (
    (
        r"\b(?:nicht nur|nicht zuletzt|nicht wahr|warum nicht|oder nicht|ob nicht|nichts als|wenn nicht)\b",
        None,
    ),
    (r"\b(?:aber|jedoch|doch|auch|sonst) nicht(?=[.,;!?]|$)", None),
    (r"\b(?:immer )?noch nicht\b", "schon"),
    (r"\b(?:nicht|nie|niemals) mehr ", ""),
    (r" (?:nicht|nie|niemals) mehr\b", ""),
    (r"\b(?:gar |überhaupt )?(?:nicht|nie|niemals) ", ""),
    (r"(?: gar| überhaupt)? (?:nicht|nie|niemals)\b", ""),
    (r"\bk(?=eine (?:\w+e )?[A-ZÄÖÜ]\w*(?:ung|heit|keit|ion|schaft|tät|ik|enz|anz|zeit|frage|idee)\b)", ""),
    (r"\bkeine ", ""),
    (r"\bk(?=ein(?:e|en|em|er|es)?\b)", ""),
    (r"\bnichts\b", "etwas"),
    (r"\bniemand(?=en\b|em\b|\b)", "jemand"),
    (r"\bnirgends\b|\bnirgendwo\b", "überall"),
)
"""Negations and what stands in their place; None protects a phrase that looks like one and is not."""
NEGATION_SIGNS = r"\b(?:nicht|nie|niemals|nichts|niemand\w*|nirgend\w+|kein(?:e|en|em|er|es)?)\b"

AUXILIARIES = _LISTS.words("auxiliaries")
VERBS = _LISTS.words("verbs")
"""Common finite verbs."""
ADJECTIVES = _LISTS.words("adjectives")
"""Common adjectives, as they stand after "to be"."""
INVERTED = _LISTS.words("inverted")
"""After a verb these come before "nicht"."""
NEGATED = _LISTS.words("negated")
"""Near one of these no second negation is put in."""
DETERMINERS = _LISTS.words("determiners")
"""What stands before a noun, and seldom before a name."""
