"""A word replaced by another one: a pronoun by another pronoun, any word by what sounds alike.

The rules of a pack: patterns, and what takes the place of what they match.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from metassay.perturbations.base import View
from metassay.perturbations.languages import english, german, russian
from metassay.perturbations.words import WordEdit
from metassay.stats.streams import Stream
from metassay.text.word_lists import WordLists, build_pattern, find_folders_with
from metassay.text.words import (
    WITHOUT_SPACES,
    Span,
    copy_case,
    find_dictionary_words,
    replace_spans,
    starts_sentence,
)

_NEIGHBOUR = re.compile(r"\s+([^\W\d_]+)")
_CLAUSE = re.compile(r"[^.,;:!?()\[\]\"„“”»«–—\n]{1,200}")
_BEFORE = re.compile(r"([^\W\d_]+)\s+$")
_LANGUAGES = {"en": english, "de": german, "ru": russian}
"""Languages in which a pronoun's place decides; in all others its row does."""
_PACKS = "metassay.perturbations.languages"


@dataclass(frozen=True)
class Pronoun(WordEdit):
    """Replaces a random pronoun by a random other one that can stand in its place."""

    name: ClassVar[str] = "pronoun"
    languages: ClassVar[frozenset[str] | None] = find_folders_with(_PACKS, "pronouns.tsv")
    summary: ClassVar[str] = "replaces a random pronoun by another one"

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the pronouns drawn replaced."""
        language = view.language or ""
        find = _pronouns if language in _LANGUAGES else _listed_pronouns
        found = find(view.output, language)
        if len(found) < self.strength:
            return None
        edits = []
        for i in sorted(stream.sample(len(found), self.strength)):
            span, options = found[i]
            edits.append((span, _cased(view.output, span, stream.choice(options), view.language or "")))
        return replace_spans(view.output, edits)


def _pronouns(text: str, language: str) -> list[tuple[Span, tuple[str, ...]]]:
    """Every pronoun that has others to choose from."""
    words = _all(language)
    return [
        (term.span(), options)
        for term in find_dictionary_words(text)
        if term[0].lower() in words and (options := _options(text, term, language))
    ]


def _listed_pronouns(text: str, language: str) -> list[tuple[Span, tuple[str, ...]]]:
    """Every pronoun of a pack's rows with the others of its row, but where the pack says that it is none."""
    pattern, rows, traps = _pack(language)
    barred = [match.span() for trap in traps for match in trap.finditer(text)]
    return [
        (match.span(), rows[match[0].lower()])
        for match in pattern.finditer(text)
        if not any(start < match.end() and match.start() < end for start, end in barred)
    ]


Pack = tuple[re.Pattern[str], dict[str, tuple[str, ...]], tuple[re.Pattern[str], ...]]


@functools.cache
def _pack(language: str) -> Pack:
    """A pattern for all pronouns, what may replace each, and patterns of what is none."""
    lists = WordLists(_PACKS, language)
    rows: dict[str, tuple[str, ...]] = {}
    for row in lists.read_rows("pronouns"):
        for word in row:
            rows.setdefault(word, tuple(other for other in row if other != word))
    longest_first = "|".join(sorted(rows, key=lambda word: (-len(word), word)))
    whole = longest_first if language in WITHOUT_SPACES else rf"(?<![\w'’-])(?:{longest_first})(?![\w'’-])"
    traps = tuple(re.compile(line, re.IGNORECASE) for line in lists.read_lines("not_pronouns"))
    return re.compile(whole, re.IGNORECASE), rows, traps


def _options(text: str, term: re.Match[str], language: str) -> tuple[str, ...]:
    """What could stand in the place of a pronoun."""
    if len(term[0]) > 1 and term[0].isupper() and not text.isupper():
        return ()  # the US is no pronoun
    lists = _LANGUAGES[language]
    row = pronoun_row(text, term, language)
    others = lists.PRONOUNS[row] if row >= 0 else ()
    word = _as_listed(text, term, language)
    barred = lists.NEVER_CHOSEN | (lists.ADDRESS if word in lists.ADDRESS else frozenset())
    return tuple(o for o in others if _plain(o) != _plain(word) and o not in barred)


def pronoun_row(text: str, term: re.Match[str], language: str) -> int:
    """Which row of a language's pronouns one belongs to where it stands; −1 for none."""
    start, end = term.span()
    before, after = _BEFORE.search(text, max(0, start - 25), start), _NEIGHBOUR.match(text, end)
    previous, following = before[1].lower() if before else "", after[1] if after else ""
    if language != "de":
        following = following.lower()
    clause = _CLAUSE.match(text, start)
    word = _as_listed(text, term, language)
    return int(_LANGUAGES[language].pronoun_class(previous, word, following, clause[0] if clause else ""))


def _as_listed(text: str, term: re.Match[str], language: str) -> str:
    """The pronoun without a capital that is the sentence's."""
    word = term[0]
    if language != "de":
        return word.lower()
    return word.lower() if word not in german.FORMAL and starts_sentence(text, term.start()) else word


def _plain(pronoun: str) -> str:
    return pronoun.lower().replace("ё", "е")


def _cased(text: str, span: Span, pronoun: str, language: str) -> str:
    """The pronoun with the capital that its place asks for, not that of the one it replaces."""
    if language == "en" and pronoun == "i":
        return "I"
    original = text[span[0] : span[1]]
    if original in {"I", "Я"} or (language == "de" and original in german.FORMAL):
        return pronoun[:1].upper() + pronoun[1:] if starts_sentence(text, span[0]) else pronoun
    return copy_case(original, pronoun)


@functools.cache
def _all(language: str) -> frozenset[str]:
    """Every pronoun in lower case, also as people write it without ё."""
    words = {word.lower() for row in _LANGUAGES[language].PRONOUNS for word in row}
    return frozenset(words | {_plain(word) for word in words})


SOUNDS = tuple(
    (pattern, tuple(spellings)) for pattern, *spellings in WordLists(_PACKS, "en").read_rows("sounds")
)
"""Every rule of the perturbation; `espeak-ng` checks in the tests that the changed words sound near."""

_AROUND = re.compile(r"\(\?<?[=!][^)]*\)|\\b")


def _letters(pattern: str) -> str:
    r"""The letters that a rule replaces: a word without them need not be searched.

    >>> _letters(r"(?<!s)ch(?![rlo])"), _letters(r"\bth|th\b")
    ('ch', 'th')
    """
    return _AROUND.sub("", pattern).partition("|")[0]


_RULES = tuple(
    (_letters(pattern), re.compile(pattern, re.IGNORECASE), spellings) for pattern, spellings in SOUNDS
)


@dataclass(frozen=True)
class Phonetic(WordEdit):
    """Respells a letter or letter group of a random word by one that sounds alike: water, wader."""

    name: ClassVar[str] = "phonetic"
    languages: ClassVar[frozenset[str] | None] = frozenset({"en"})
    summary: ClassVar[str] = "replaces letters by others that sound alike (en)"

    def apply(self, view: View[str], stream: Stream) -> str | None:
        """The output with the words drawn respelt."""
        found = [
            (term.span(), options)
            for term in find_dictionary_words(view.output)
            if (options := respellings(term[0]))
        ]
        if len(found) < self.strength:
            return None
        drawn = [found[i] for i in sorted(stream.sample(len(found), self.strength))]
        return replace_spans(view.output, [(span, stream.choice(options)) for span, options in drawn])


@functools.cache
def respellings(word: str) -> tuple[str, ...]:
    """Every spelling of a word that differs from it in one place and sounds alike.

    >>> respellings("water")
    ('wator', 'watar', 'wader')
    """
    found: dict[str, None] = {}
    taken: set[int] = set()
    lower = word.lower()
    for letters, pattern, spellings in _RULES:
        for match in pattern.finditer(word) if letters in lower else ():
            if taken.isdisjoint(range(*match.span())):
                taken.update(range(*match.span()))
                for new in spellings:
                    found[word[: match.start()] + copy_case(match[0], new) + word[match.end() :]] = None
    return tuple(found)


@dataclass(frozen=True)
class Rule:
    """A pattern of a pack, in which case is ignored, and what takes the place of a match; None protects."""

    pattern: re.Pattern[str]
    replacement: str | None
    in_small_letters: re.Pattern[str] | None
    """Matches where the pattern does once all letters are small, and faster; None where capitals count."""
    needed: str
    """Letters without which there is no match."""
    words: frozenset[str]
    """Words one of which every match has whole; none where that is not known."""
    parts: tuple[str, ...]
    """The replacement, cut at the groups that it names: every second part is the number of one."""

    @classmethod
    def of(cls, pattern: str, replacement: str | None, lists: Callable[[str], Iterable[str]] = tuple) -> Rule:
        """A rule as a pack writes it; `lists` says what words a name in braces stands for."""
        whole = _LIST.sub(lambda match: build_pattern(lists(match[1])), pattern)
        capitals = re.search("[A-ZÀ-Þ]", re.sub(r"\\.", "", whole)) is not None
        quick = None if capitals else re.compile(whole)
        needed = ("", frozenset[str]()) if capitals else (_needed(whole), _needed_words(pattern, lists))
        parts = tuple(_GROUP_NUMBER.split(replacement or ""))
        return cls(re.compile(whole, re.IGNORECASE), replacement, quick, *needed, parts)

    def matches(self, text: str, lower: Lowered | None) -> Iterator[re.Match[str]]:
        """The matches in a text, of which `lower` is `lowered`."""
        if lower is None or self.in_small_letters is None:
            yield from self.pattern.finditer(text)
        elif self.needed in lower.text and not (self.words and self.words.isdisjoint(lower.words)):
            for quick in self.in_small_letters.finditer(lower.text):
                match = self.pattern.match(text, quick.start())
                assert match is not None
                yield match

    def written(self, match: re.Match[str]) -> str | None:
        """What takes the place of a match, as its `expand` says; the template is read once."""
        if self.replacement is None:
            return None
        if "\\" in "".join(self.parts):
            return match.expand(self.replacement)
        return "".join([match[int(part)] or "" if i % 2 else part for i, part in enumerate(self.parts)])


class Lowered(NamedTuple):
    """A text in small letters, and its words."""

    text: str
    words: frozenset[str]


def lowered(text: str) -> Lowered | None:
    """The text in small letters; None where a letter is written with two, or is one of several capitals'."""
    lower = text.lower()
    if len(lower) != len(text) or _ODD_CASE.search(text) is not None:
        return None
    return Lowered(lower, frozenset(_WORD.findall(lower)))


def _needed(pattern: str) -> str:
    r"""The longest run of letters that every match has outside of groups.

    >>> _needed(r"\bn(?:e |')(\S+) rien\b"), _needed("sans?|ni"), _needed("[ab]c")
    (' rien', '', 'c')
    """
    flat = _outside_groups(pattern)
    return "" if "|" in flat else max(re.findall(r"(?:[^\W\d_]|[ '’-])+(?![?*{])", flat), key=len, default="")


def _needed_words(pattern: str, lists: Callable[[str], Iterable[str]]) -> frozenset[str]:
    r"""First words of a group of words that every match has, set off from what is around it.

    >>> sorted(_needed_words(r"\b(il y|elle) ({verbs})\b", lambda _: ["a"]))
    ['elle', 'il']
    """
    for found in _WORDS_APART.finditer(pattern):
        before = re.sub(r"\\.", "", pattern[: found.start()])
        options = _LIST.sub(lambda match: "|".join(lists(match[1])), found[1]).split("|")
        first = [_WORD.match(option) for option in options]
        if before.count("(") == before.count(")") and all(first) and "|" not in _outside_groups(pattern):
            return frozenset(word[0] for word in first if word is not None)
    return frozenset()


def _outside_groups(pattern: str) -> str:
    flat = re.sub(r"\\.|\[[^]]*\]", "\t", pattern)
    while _GROUP.search(flat):
        flat = _GROUP.sub("\t", flat)
    return flat


_ODD_CASE = re.compile("[İıſ\u212a]")
_GROUP = re.compile(r"\([^()]*\)[?*]?")
_GROUP_NUMBER = re.compile(r"\\(\d)(?!\d)")
_WORD = re.compile(r"\w+")
_WORDS_APART = re.compile(r"(?:\\b(?:\(\?<[^()]*\))?| |\['’\])\((?:\?:)?([^()\[\]\\?*+.$^]+)\)(?=\\b| )")
_LIST = re.compile(r"\{([a-z_]+)\}")


@functools.cache
def rules_of(language: str, name: str) -> tuple[Rule, ...]:
    """The rules of a list. `{verbs}`: any word of `verbs.txt`."""
    lists = WordLists(_PACKS, language)
    return tuple(
        Rule.of(pattern, next(iter(replacement), None), lists.read_words)
        for pattern, *replacement in lists.read_rows(name)
    )


PERTURBATIONS = (Pronoun, Phonetic)
