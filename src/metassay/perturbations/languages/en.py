"""English word lists."""

from __future__ import annotations

from metassay.text.words import word_set

FUNCTION_WORDS = word_set(
    """
    a an the this that these those some any each every either neither both all most much many more less
    least few several no none nothing one two three four five six seven eight nine ten hundred thousand
    million billion i me my mine myself you your yours yourself yourselves he him his himself she her hers
    herself it its itself we us our ours ourselves they them their theirs themselves who whom whose which
    what whatever whoever someone somebody something anyone anybody anything everyone everybody everything
    nobody be am is are was were been being have has had having do does did doing done will would shall
    should can could may might must ought need dare used going got get gets getting go goes went gone let
    lets make makes made making take takes took taken taking put puts set sets of in on at by for with
    from to into onto out off up down over under about above below between among through during before
    after since until against within without toward towards across along behind beyond near upon per via
    despite like unlike as than because although though while whereas if unless whether and or but nor so
    yet not n't never then there here where when why how again too also just only even still already ever
    else very well back away such own same other others another rather quite almost now once twice first
    second third last next mr mrs ms dr yes please ok okay continue continues continued keep keeps kept
    keeping time times way ways tell tells told telling according regarding including following concerning
    considering matter hello hi thank thanks sorry oh st vs etc pm
    """
)
"""Words without synonyms: what WordNet knows of them ("in": indium) is not what they mean."""

PARTICLES = word_set(
    """
    out up off down on over away back in through along about around apart forward
    """
)
"""After a verb these make another verb of it."""

INVARIANT_VERBS = word_set(
    """
    put set let cut hit hurt cost shut spread split quit rid bet burst cast shed thrust bid read upset
    """
)
"""Verbs whose past looks like their base form."""

PRONOUNS = (
    ("he", "she", "it"),
    ("i", "you", "we", "they"),
    ("me", "you", "him", "her", "it", "us", "them"),
    ("my", "your", "his", "her", "its", "our", "their"),
    ("mine", "yours", "hers", "ours", "theirs"),
    ("you", "we", "they"),
    ("i", "he", "she", "it"),
    ("myself", "yourself", "himself", "herself", "itself", "ourselves", "yourselves", "themselves"),
)
"""Pronouns that can stand in each other's place: subjects by number, objects, possessives, reflexives."""

NEVER_CHOSEN: frozenset[str] = frozenset()
"""Pronouns that are replaced but replace no other."""

ADDRESS: frozenset[str] = frozenset()
"""Ways to say you, of which English has one."""

_BEFORE_OBJECT = word_set(
    """
    of in on at by for with from to into about against between like than help give let make tell ask want
    thank wish see
    """
)
_AFTER_OBJECT = word_set(
    """
    to and or in on at by for with from that if when because as the a an this but into about not
    """
)


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

AUXILIARIES = word_set(
    """
    am is are was were have has had do does did will would shall should can could may might must
    """
)
INVERTED = word_set("i you he she it we they there this that these those who anyone someone everyone")
"""After an auxiliary these are its subject: "not" comes after them."""
