"""Where "nicht" and "kein" can be added to a German text.

A clause lies between punctuation marks. Its finite verb is the second constituent, or the last one after a
conjunction or relative pronoun. Infinitives, participles and separated prefixes end the clause. Between the
finite verb and this end, "nicht" comes after pronouns and definite noun phrases, and before prepositions,
adverbs and predicates. Instead of "nicht ein", German has "kein".
"""

from __future__ import annotations

import re

from metassay.perturbations.languages.german import AUXILIARIES, VERBS
from metassay.text.word_lists import WordLists
from metassay.text.words import Span

_LISTS = WordLists("metassay.perturbations.languages", "de")
# Clauses with one of these words get no second negation.
_NEGATIONS = _LISTS.read_words("negated")
_WORD_CLASSES = _LISTS.read_sets_by_first_cell("negation_places")
# Words that "nicht" comes after.
_BEFORE_NICHT = _WORD_CLASSES["skipped"]
# Words that begin a definite noun phrase, which "nicht" comes after.
_DEFINITE = _WORD_CLASSES["definite"]
# Words that "nicht" comes before.
_AFTER_NICHT = _WORD_CLASSES["here"]
_NEVER_AFTER_NICHT = _WORD_CLASSES["never"]
_COPULAS = _WORD_CLASSES["copula"]
_SEPARATED_PREFIXES = _WORD_CLASSES["prefix"]
# Words that begin a clause whose finite verb comes last.
_SUBORDINATING_WORDS = _WORD_CLASSES["opener"]
_FINITE_VERBS = AUXILIARIES | VERBS
_COORDINATING_CONJUNCTIONS = frozenset(("und", "oder", "aber", "denn", "doch"))
_CLAUSE_BOUNDARIES = frozenset(("", ".", ",", ";", ":", "!", "?"))
_CONJUNCTIONS_IN_CLAUSE = frozenset(("und", "oder", "als", "wie", "dass", "denn", "sondern"))
_CLAUSE = re.compile(r"[^.,;:!?()\[\]\"„“”»«–—…\n]+")
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*|\d\S*")
_INDEFINITE_ARTICLE = re.compile(r"ein(?:e|en|em|er|es)?")
# Words after which "ein" is not an article that could become "kein": "ein paar".
_FIXED_AFTER_EIN = frozenset(
    ("paar", "bisschen", "wenig", "mal", "jeder", "Tages", "Morgens", "Abends", "Moment")
)
# Words after which "ein" cannot become "kein": "was für ein".
_FIXED_BEFORE_EIN = frozenset(
    ("noch", "so", "was", "wie", "als", "nur", "auch", "schon", "wieder", "für")
) | frozenset(("solch", "der", "und", "oder"))
_INFINITIVE_OR_PARTICIPLE = re.compile(r"[a-zäöüß]+(?:en|ern|eln|[^s]t|sein|tun)")
_ADJECTIVE_ENDINGS = ("e", "en", "er", "es", "em")
_MAXIMUM_ADJECTIVES = 2

Edit = tuple[Span, str]


def find_edits_that_negate_german(text: str) -> list[Edit]:
    """Find every way to negate a clause by adding "nicht" or by turning "ein" into "kein", in the order of
    the text.

    Clauses that are already negated are left out.
    """
    edits: list[Edit] = []
    for clause in _CLAUSE.finditer(text):
        matches = list(_WORD.finditer(text, *clause.span()))
        words = [match[0] for match in matches]
        is_negated = not _NEGATIONS.isdisjoint(word.lower() for word in words)
        if len(words) < 2 or is_negated:
            continue
        edits += _find_edits_from_ein_to_kein(matches, words)
        mark_before = text[: clause.start()].rstrip()[-1:]
        mark_after = text[clause.end() : clause.end() + 1]
        # After a bracket, a quote or a dash it is not clear whether a clause begins.
        if mark_before not in _CLAUSE_BOUNDARIES:
            continue
        position = _find_position_for_nicht(words, mark_before, mark_after)
        if position == len(words):
            clause_end = matches[-1].end()
            edits.append(((clause_end, clause_end), " nicht"))
        elif position:
            word_start = matches[position].start()
            edits.append(((word_start, word_start), "nicht "))
    return sorted(edits)


def _find_edits_from_ein_to_kein(matches: list[re.Match[str]], words: list[str]) -> list[Edit]:
    """Find the edits that turn "ein" (a) into "kein" (no) at the beginning of noun phrases."""
    edits = []
    for i, match in enumerate(matches[:-1]):
        if not _INDEFINITE_ARTICLE.fullmatch(match[0]) or words[i + 1] in _FIXED_AFTER_EIN:
            continue
        is_article = i == 0 or words[i - 1].lower() not in _FIXED_BEFORE_EIN
        if is_article and _find_noun_phrase_end(words, i + 1) is not None:
            edits.append(((match.start(), match.start()), "k"))
    return edits


def _find_noun_phrase_end(words: list[str], first_adjective: int) -> int | None:
    """Return the position after the noun of a phrase, given the position of its first adjective, or None if
    there is no noun.

    A noun is a capitalised word, after at most two adjectives.
    """
    for position in range(first_adjective, min(first_adjective + _MAXIMUM_ADJECTIVES + 1, len(words))):
        word = words[position]
        if word[0].isupper():
            return position + 1
        if not word.endswith(_ADJECTIVE_ENDINGS) or word in _FINITE_VERBS or word in _AFTER_NICHT:
            return None
    return None


def _find_position_for_nicht(words: list[str], punctuation_before: str, punctuation_after: str) -> int | None:
    """Return the position of the word before which "nicht" (not) can be inserted to negate a clause. None if
    no position is certain.

    The position is the number of words if "nicht" goes at the end.
    """
    first = 1 if words[0].lower() in _COORDINATING_CONJUNCTIONS else 0
    opener = first
    if len(words) > first + 1:
        has_preposition = words[first].lower() in _AFTER_NICHT and words[first + 1] in _SUBORDINATING_WORDS
        opener = first + 1 if has_preposition else first
    opening_word = words[opener].lower()
    # "der", "die", "das" are relative pronouns only after a comma, else articles.
    is_subordinate = opening_word in _SUBORDINATING_WORDS and (
        punctuation_before == "," or opening_word not in _DEFINITE
    )
    if is_subordinate and words[-1] in _FINITE_VERBS:
        if len(words) <= opener + 2:
            return None
        end = _find_start_of_final_verbs(words, opener + 1, len(words) - 1)
        return _find_position_for_nicht_after_verb(words, opener + 1, end, begins_with_subject=True)
    verb = _find_finite_verb(words)
    if verb is None:
        return None
    # A verb in the first place makes a question or an order, except after a subordinate clause, where the
    # subject follows it.
    if verb == 0 and (punctuation_before != "," or words[1] not in _BEFORE_NICHT):
        return None
    end = len(words)
    for position in range(verb + 1, len(words)):
        if words[position] in _CONJUNCTIONS_IN_CLAUSE:
            end = position
            break
    is_last = verb == end - 1
    if is_last and verb > first + 1 and _find_noun_phrase_end(words, first + 1) != verb:
        # A last verb is finite only as the second word or directly after the subject.
        return None
    continues_after_comma = punctuation_after == "," and end == len(words)
    return _find_position_for_nicht_in_main_clause(
        words, verb, end, continues_after_comma=continues_after_comma
    )


def _find_position_for_nicht_in_main_clause(
    words: list[str], verb: int, end: int, *, continues_after_comma: bool
) -> int | None:
    """Return the position of the word before which "nicht" (not) can be inserted to negate a main clause,
    given its verb. None if it is not certain.
    """
    if words[verb] not in AUXILIARIES:
        has_prefix = words[end - 1] in _SEPARATED_PREFIXES and end - 1 > verb
        return _find_position_for_nicht_after_verb(words, verb + 1, end - 1 if has_prefix else end)
    cluster_start = _find_start_of_final_verbs(words, verb + 1, end)
    has_cluster = cluster_start != end
    is_copula = words[verb] in _COPULAS
    # "es sei denn" is a fixed phrase.
    if words[verb + 1 : verb + 2] == ["denn"]:
        return None
    # The infinitive or participle of the auxiliary comes after the comma.
    if not has_cluster and continues_after_comma and not is_copula:
        return None
    return _find_position_for_nicht_after_verb(
        words, verb + 1, cluster_start, follows_copula=is_copula and not has_cluster
    )


def _find_finite_verb(words: list[str]) -> int | None:
    """Return the position of the first finite verb of a clause. An infinitive with "zu" does not count. None
    if there is no finite verb.
    """
    if words[0].lower() in _FINITE_VERBS:
        return 0
    for position in range(1, len(words)):
        if words[position] in _FINITE_VERBS and words[position - 1] != "zu":
            return position
    return None


def _find_start_of_final_verbs(words: list[str], start: int, end: int) -> int:
    """Return where the infinitives and participles at the end of a clause begin, or `end` if there are
    none.
    """
    position = end
    while position > start:
        word = words[position - 1]
        if not _INFINITIVE_OR_PARTICIPLE.fullmatch(word) or word in _BEFORE_NICHT or word in _AFTER_NICHT:
            break
        position -= 1
    if start < position < end and words[position - 1] == "zu":
        return position - 1
    return position


def _find_position_for_nicht_after_verb(
    words: list[str],
    start: int,
    end: int,
    *,
    follows_copula: bool = False,
    begins_with_subject: bool = False,
) -> int | None:
    """Return the position between the verb and the end of a clause where "nicht" (not) can be inserted to
    negate the clause. None if it is not clear.

    "nicht" goes after definite phrases and before indefinite ones.
    """
    position = start
    last_phrase = -1
    while position < end:
        word = words[position]
        is_definite = word.lower() in _DEFINITE
        phrase_end = _find_noun_phrase_end(words, position + 1) if is_definite else None
        if phrase_end is not None and phrase_end <= end:
            last_phrase = position
            position = phrase_end
        elif is_definite and not _is_demonstrative_pronoun(words, position):
            return None
        elif word in _BEFORE_NICHT or (begins_with_subject and position == start and word[0].isupper()):
            position += 1
        elif word in _AFTER_NICHT:
            return position
        else:
            return position if _can_nicht_precede_word(words, position) else None
    # After a copula, the last noun phrase is the predicate: "ist nicht der Grund".
    is_predicate = last_phrase >= start and _find_noun_phrase_end(words, last_phrase + 1) == end
    return last_phrase if follows_copula and is_predicate else end


def _is_demonstrative_pronoun(words: list[str], position: int) -> bool:
    """Return whether a word such as "das" stands alone as a pronoun, and is not the article of a noun."""
    next_word = words[position + 1] if position + 1 < len(words) else ""
    return words[position] in _BEFORE_NICHT and not next_word.endswith(("e", "en"))


def _can_nicht_precede_word(words: list[str], position: int) -> bool:
    """Return whether "nicht" (not) can stand before an adverb or adjective. It cannot if German requires
    "kein" (no).
    """
    word = words[position]
    if not word[0].islower() or word in _NEVER_AFTER_NICHT:
        return False
    if word.endswith(_ADJECTIVE_ENDINGS) and _find_noun_phrase_end(words, position) is not None:
        return False
    return not any(map(_INDEFINITE_ARTICLE.fullmatch, words[position:]))
