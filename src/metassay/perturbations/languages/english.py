"""English: words without synonyms, pronouns and what may replace them, negations."""

from __future__ import annotations

from metassay.text.word_lists import WordLists

_LISTS = WordLists("metassay.perturbations.languages", "en")

FUNCTION_WORDS = _LISTS.words("function_words")
"""Words without synonyms: what WordNet knows of them ("in": indium) is not what they mean."""

PARTICLES = _LISTS.words("particles")
"""After a verb these make another verb of it."""

INVARIANT_VERBS = _LISTS.words("invariant_verbs")
"""Verbs whose past looks like their base form."""

PRONOUNS = _LISTS.rows("pronouns")
"""Pronouns that can stand in each other's place: subjects by number, objects, possessives, reflexives."""

NEVER_CHOSEN: frozenset[str] = frozenset()
"""Pronouns that are replaced but replace no other."""

ADDRESS: frozenset[str] = frozenset()
"""Ways to say you, of which English has one."""

_BEFORE_OBJECT = _LISTS.words("before_object")
_AFTER_OBJECT = _LISTS.words("after_object")


def pronoun_class(previous: str, pronoun: str, following: str) -> int:
    """Which row of `PRONOUNS` a pronoun belongs to here (all in lower case; `following` is "" at a stop)."""
    if following in {"was", "am"}:
        return 6 if following == "was" and pronoun in PRONOUNS[6] else -1
    if following in {"are", "were"} and pronoun in PRONOUNS[5]:
        return 5
    if pronoun in {"it", "you"}:
        after_verb = previous in _BEFORE_OBJECT or previous.endswith("ing")
        is_object = after_verb or not following or following in _AFTER_OBJECT
        return 2 if is_object else 0 if pronoun == "it" else 1
    if pronoun == "her":
        return 3 if following and following not in _AFTER_OBJECT else 2
    return next((row for row, words in enumerate(PRONOUNS) if pronoun in words), -1)


NEGATION_REMOVAL = (
    (r"\w+n['’]t (?:only|just)\b|\bnot (?:only|just|to mention)\b", None),
    (r"\b(?:whether or not|if not|no matter|no one else)\b", None),
    (r"\bno\.? ?\d|\bno[,.!?]|\bno$", None),
    (r"\bcan(?:['’]t|not)\b", "can"),
    (r"\bwon['’]t\b", "will"),
    (r"\bshan['’]t\b", "shall"),
    (r"\bain['’]t\b", "is"),
    (r"(?<=\w)n['’]t\b", ""),
    (r"\bno longer ", ""),
    (r"\bnot ", ""),
    (r" not\b", ""),
    (r"\bnever ", ""),
    (r" never\b", ""),
    (r"\bno one\b|\bnobody\b", "someone"),
    (r"\bnothing\b", "something"),
    (r"\bnowhere\b", "somewhere"),
    (r"\bnone of\b", "some of"),
    (r"\bwithout\b", "with"),
    (r"\bno (?=\w)", ""),
)
"""Negations and what stands in their place; None protects a phrase that looks like one and is not."""
NEGATION_SIGNS = r"n['’]t\b|\b(?:not|no|never|nobody|nothing|nowhere|none|without|cannot)\b"
"""Without one of these no rule can match."""

AUXILIARIES = _LISTS.words("auxiliaries")
INVERTED = _LISTS.words("inverted")
"""After an auxiliary these are its subject: "not" comes after them."""
