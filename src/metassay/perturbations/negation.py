"""`negation` and `negation_removal`: negate a statement, or remove a negation."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from metassay.perturbations.base import View
from metassay.perturbations.languages import english, russian
from metassay.perturbations.languages.german_negation import find_edits_that_negate_german
from metassay.perturbations.pattern_rules import load_regex_replacements
from metassay.perturbations.random_replacement import DisjointSpans
from metassay.perturbations.words import WordEdit
from metassay.stats.streams import Stream
from metassay.text import resources
from metassay.text.lemmas import find_lemma
from metassay.text.tagged_words import TagPair, find_second_words_of_tag_pairs
from metassay.text.word_lists import WordLists, build_regex_for_words, find_folders_with_file
from metassay.text.words import (
    WITHOUT_SPACES,
    Span,
    copy_case,
    find_dictionary_words,
    replace_spans,
    starts_sentence,
)

# A span of a text and what replaces it.
Edit = tuple[Span, str]
_PACKS = "metassay.perturbations.languages"

_ENGLISH_AUXILIARY = re.compile(rf"(?<!\w){build_regex_for_words(english.AUXILIARIES)}(?!\w)", re.IGNORECASE)
# Words after which "will", "can" and the like are nouns.
_WORDS_BEFORE_NOUN = frozenset(
    ("my", "your", "his", "her", "its", "our", "their", "the", "a", "free", "good", "of")
)
_ADVERBS_BEFORE_PARTICIPLE = frozenset(
    ("also", "already", "always", "just", "recently", "now", "long", "since", "once", "even")
)
_IRREGULAR_PARTICIPLES = frozenset(
    ("made", "had", "put", "set", "held", "led", "become", "come", "gone", "done", "said", "lost", "won")
) | frozenset(("got", "met", "told", "sent", "built", "left", "kept", "read", "cut", "hit", "begun", "paid"))
_WORDS_BEFORE_SECOND_VERB = english.AUXILIARIES | {"not", "to", "never"}
_SUBJECT_TAGS = frozenset(("PNP", "NP0", "NN0", "NN1", "NN2", "NP", "NN", "NNS", "DT0"))
# What negates a finite verb, by its tag.
_NEGATED_DO = {"VVD": "did not", "VVZ": "does not"}
_SUBJECT_AND_VERB = TagPair("en", _SUBJECT_TAGS, frozenset(_NEGATED_DO), english.AUXILIARIES)
_SENTENCE_END = re.compile(r"[.!?…]+(?=[\s\"“”’»)]|$)|[。！？\n]")
_CLAUSE = re.compile(r"[^.,;:!?()\n。，、；：！？「」（）]+")


@dataclass(frozen=True)
class Negation(WordEdit):
    """Negates a random verb or adjective of a text, for example by adding "not" after an auxiliary.

    English: after an auxiliary if there is one, else with do-support before a finite verb ("did not say").
    German: "nicht" at its place in the clause, or "kein" for "ein". Russian: "не" before words that lists and
    endings show to be verbs. Other languages: the rules of the language pack (`negation.tsv`). Questions are
    not changed.
    """

    name: ClassVar[str] = "negation"
    languages: ClassVar[frozenset[str] | None] = frozenset({"en", "de", "ru"}) | find_folders_with_file(
        _PACKS, "negation.tsv"
    )
    tagged_languages: ClassVar[frozenset[str]] = frozenset({"en"})
    summary: ClassVar[str] = "negates a random verb or adjective"

    def get_installation_hint_for_language(self, language: str) -> str | None:
        """Return how to install the tagger or dictionary that English needs, or None if both are
        installed.
        """
        if language != "en":
            return None
        return resources.describe_missing_resource("HanTa", "simplemma", language="en")

    def apply(self, output_view: View[str], random_stream: Stream) -> str | None:
        """Return the output with a negation added at random places."""
        text = output_view.output
        language = output_view.language or ""
        find_edits = _NEGATION_FINDERS.get(language)
        edits = _find_edits_that_negate_by_rules(text, language) if find_edits is None else find_edits(text)
        # Most texts have no question mark, and the search for the end of each sentence is saved.
        if "?" in text or "？" in text:
            edits = [edit for edit in edits if not _is_in_question(text, edit[0][0])]
        return _apply_random_edits(text, edits, self.strength, random_stream)


def _apply_random_edits(text: str, edits: Sequence[Edit], count: int, random_stream: Stream) -> str | None:
    """Apply `count` randomly chosen edits to a text. Returns None if there are fewer edits."""
    if len(edits) < count:
        return None
    drawn = sorted(random_stream.sample(len(edits), count))
    return replace_spans(text, [edits[i] for i in drawn])


def _create_edit_that_inserts_word(text: str, position: int, word: str) -> Edit:
    """Return the edit that inserts a word at the beginning or end of another word, with the spaces and
    capitals that it needs.
    """
    if position == len(text) or not text[position].isalnum():
        return (position, position), f" {word}"
    # Two letters, because an abbreviation in capitals keeps its first letter.
    next_letters = text[position : position + 2]
    is_capitalised = next_letters[:1].isupper() and not next_letters[1:].isupper()
    if is_capitalised and starts_sentence(text, position):
        return (position, position + 1), f"{word.capitalize()} {next_letters[0].lower()}"
    return (position, position), f"{word} "


def _find_edits_that_negate_english(text: str) -> list[Edit]:
    """Find the edits that negate an English text by "not" after an auxiliary, or by "did not" if it has no
    auxiliary.
    """
    if _ENGLISH_AUXILIARY.search(text) is None:
        return _find_edits_that_negate_with_do(text)
    words = find_dictionary_words(text)
    # One call of `lower` for all words is faster than one for each.
    lower_words = "\n".join([word[0] for word in words]).lower().replace("’", "'").split("\n")
    positions = []
    for i, lower_word in enumerate(lower_words):
        if lower_word not in english.AUXILIARIES or not _can_auxiliary_be_negated(lower_words, i):
            continue
        word = words[i]
        if word[0] != lower_word and not starts_sentence(text, word.start()):
            continue  # the month of May
        follows_subject = i > 0 and lower_words[i - 1] in english.INVERTED_SUBJECTS
        precedes_subject = i + 1 < len(words) and lower_words[i + 1] in english.INVERTED_SUBJECTS
        # In an inverted clause ("could he") the "not" follows the subject.
        if precedes_subject and not follows_subject:
            positions.append(words[i + 1].end())
        elif _is_auxiliary_verb(text, words, lower_words, i):
            positions.append(word.end())
    edits = [_create_edit_that_inserts_word(text, position, "not") for position in positions]
    return edits or _find_edits_that_negate_with_do(text)


def _is_auxiliary_verb(text: str, words: list[re.Match[str]], lower_words: list[str], position: int) -> bool:
    """Return whether a word is used as an auxiliary that "not" can follow, unlike "have" in "have
    friends".
    """
    if position + 1 == len(words) or starts_sentence(text, words[position].start()):
        return False
    word = lower_words[position]
    next_word = lower_words[position + 1]
    if next_word == "only" or (position > 0 and lower_words[position - 1] in _WORDS_BEFORE_NOUN):
        return False
    if word in {"have", "has", "had"}:
        has_adverb = next_word in _ADVERBS_BEFORE_PARTICIPLE and position + 2 < len(words)
        participle = lower_words[position + 2] if has_adverb else next_word
        # "have" is an auxiliary only before a participle.
        return participle.endswith(("ed", "en", "wn", "ught")) or participle in _IRREGULAR_PARTICIPLES
    if word in {"do", "does", "did"}:
        # "do" is an auxiliary only before a base form, which has none of these endings.
        return next_word not in english.FUNCTION_WORDS and not next_word.endswith(("s", "ing", "ed", "ly"))
    return True


def _can_auxiliary_be_negated(lower_words: list[str], position: int) -> bool:
    """Return whether an auxiliary is the first of its verb phrase and is not negated already."""
    if position > 0:
        previous_word = lower_words[position - 1]
        if previous_word in _WORDS_BEFORE_SECOND_VERB or "n't" in previous_word:
            return False
    return {"not", "no", "never"}.isdisjoint(lower_words[position + 1 : position + 3])


def _find_edits_that_negate_with_do(text: str) -> list[Edit]:
    """Find the edits that negate an English verb by "did not" or "does not" and its base form."""
    edits = []
    for (start, end), tag in find_second_words_of_tag_pairs(text, _SUBJECT_AND_VERB):
        verb = text[start:end]
        negated_do = _NEGATED_DO[tag]
        base_form = find_lemma(verb, "en")
        # A verb in -s that is its own base form is probably a noun.
        if negated_do != "does not" or base_form != verb:
            edits.append(((start, end), f"{negated_do} {base_form}"))
    return edits


def _find_edits_that_negate_russian(text: str) -> list[Edit]:
    """Find the edits that negate a Russian text by "не" before a verb or predicate."""
    words = find_dictionary_words(text)
    lower_words = [word[0].lower() for word in words]
    edits = []
    for i, word in enumerate(words):
        if not russian.can_follow_russian_negation(lower_words[i]) or lower_words[max(i - 1, 0)] in {
            "не",
            "ни",
        }:
            continue
        # A capital inside a sentence marks a name, which may end like a verb.
        if word[0] == lower_words[i] or starts_sentence(text, word.start()):
            edits.append(_create_edit_that_inserts_word(text, word.start(), "не"))
    return edits


_NEGATION_FINDERS: dict[str, Callable[[str], list[Edit]]] = {
    "en": _find_edits_that_negate_english,
    "de": find_edits_that_negate_german,
    "ru": _find_edits_that_negate_russian,
}


def _find_edits_that_negate_by_rules(text: str, language: str) -> list[Edit]:
    """Find the edits that negate a clause by the regular expressions for a language. Clauses with a negation
    are left out.
    """
    negation_starts = [match.start() for match in _load_negation_word_pattern(language).finditer(text)]
    used_spans = DisjointSpans()
    if negation_starts:
        for clause in _CLAUSE.finditer(text):
            if any(clause.start() <= start < clause.end() for start in negation_starts):
                # A second negation in the clause could cancel the first.
                used_spans.add_span(clause.span())
    edits = _find_edits_by_pattern_rules(text, language, "negation", used_spans)
    return [
        (span, _move_capital_to_replacement(text, span, replacement)) for span, replacement in sorted(edits)
    ]


def _find_edits_by_pattern_rules(
    text: str, language: str, list_name: str, used_spans: DisjointSpans
) -> list[Edit]:
    """Find the edits that a list of regular expressions makes. If two edits would change the same words, the
    earlier one is used.

    Spans in `used_spans` are not changed.
    """
    edits = []
    for rule in load_regex_replacements(language, list_name):
        for match in rule.pattern.finditer(text):
            if used_spans.overlaps_no_stored_span(match.span()):
                used_spans.add_span(match.span())
                if rule.replacement is not None:
                    edits.append((match.span(), match.expand(rule.replacement)))
    return edits


def _move_capital_to_replacement(text: str, span: Span, replacement: str) -> str:
    """Capitalise a replacement if the words that it replaces begin with a capital. Where these words stand in
    the replacement, they lose the capital.
    """
    start, end = span
    first_letter = text[start:end][:1]
    if not first_letter.isupper() or replacement.startswith(first_letter):
        return replacement
    return replacement[:1].upper() + replacement[1:].replace(first_letter, first_letter.lower(), 1)


@functools.cache
def _load_negation_word_pattern(language: str) -> re.Pattern[str]:
    """Load a regular expression that finds the words of a language that negate a clause.

    The words are in `negated.txt`. In scripts without spaces they are found inside of words, too.
    """
    words = "|".join(sorted(WordLists(_PACKS, language).read_words("negated")))
    return re.compile(words if language in WITHOUT_SPACES else rf"\b(?:{words})\b", re.IGNORECASE)


def _is_in_question(text: str, position: int) -> bool:
    """Return whether a position in a text lies in a sentence that is a question."""
    sentence_end = _SENTENCE_END.search(text, position)
    return sentence_end is not None and not {"?", "？"}.isdisjoint(sentence_end[0])


@dataclass(frozen=True)
class NegationRemoval(WordEdit):
    """Removes a random negation such as "not", or replaces it by its opposite, such as "nothing" by
    "everything".
    """

    name: ClassVar[str] = "negation_removal"
    languages: ClassVar[frozenset[str] | None] = find_folders_with_file(_PACKS, "negation_removal.tsv")
    summary: ClassVar[str] = "removes a negation"

    def apply(self, output_view: View[str], random_stream: Stream) -> str | None:
        """Return the output with random negations removed."""
        language = output_view.language or ""
        # Most texts have no negation, and one pattern shows that faster than all rules.
        if _load_regex_of_possible_negations(language).search(output_view.output) is None:
            return None
        edits = _find_edits_that_remove_negations(output_view.output, language)
        return _apply_random_edits(output_view.output, edits, self.strength, random_stream)


def _find_edits_that_remove_negations(text: str, language: str) -> list[Edit]:
    """Find the edits that remove a negation from a text, in the order of the text. Questions are left out."""
    edits = []
    for span, replacement in _find_edits_by_pattern_rules(
        text, language, "negation_removal", DisjointSpans()
    ):
        # The sign ∅ stands for an empty replacement.
        cleaned = re.sub(r"  +", " ", replacement).strip().replace("∅", "")
        edits.append((span, cleaned))
    edits.sort(key=lambda edit: edit[0])
    return [
        _keep_capital_in_edit(text, span, replacement)
        for span, replacement in edits
        if not _is_in_question(text, span[0])
    ]


def _keep_capital_in_edit(text: str, span: Span, replacement: str) -> Edit:
    """Return an edit in which a replaced word keeps its capital. If a capitalised word is removed, the next
    letter gets the capital.
    """
    start, end = span
    original = text[start:end]
    is_removed = not replacement.strip()
    if not original[:1].isupper() or (is_removed and not starts_sentence(text, start)):
        return span, replacement
    if is_removed:
        # The next letter begins the sentence now.
        return (start, end + 1), text[end : end + 1].upper()
    return span, replacement.upper() if original.isupper() else copy_case(original[:1], replacement)


@functools.cache
def _load_regex_of_possible_negations(language: str) -> re.Pattern[str]:
    """Load a regular expression that matches every text with a negation. It quickly rules out most texts
    without one.
    """
    return re.compile("|".join(WordLists(_PACKS, language).read_lines("negation_signs")), re.IGNORECASE)


PERTURBATIONS = (Negation, NegationRemoval)
