"""Words and sentences as people who edit raw text see them: found by spaces and punctuation alone.

Word lists that lie beside the code which reads them: plain text, UTF-8, one entry a line, `#` for remarks.

A `.txt` file holds words. A `.tsv` file holds rows of cells between tabs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from metassay.errors import MetassayError, Place

Span = tuple[int, int]

_RUN = re.compile(r"\S+")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_EDGE = re.compile(r"^[\W_]+|[\W_]+$")
_PLAIN = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")

WITHOUT_SPACES = frozenset({"zh", "ja", "th", "lo", "km", "my", "bo", "dz", "yue"})
"""Languages written without spaces between words."""

_SPACELESS = re.compile("[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Letters of Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese."""

CAPITAL_NOUNS = frozenset({"de", "lb"})
"""Languages that capitalise common nouns, so that a capital does not mark a name."""
_END = re.compile(
    r"""
      (?P<stop> [.!?…؟۔।॥]+ ) ["'”’»)\]]* (?=\s+ ["'“‘„«(\[¿¡]* (?P<next> [^\W_] ))
    | [。！？｡]+ [”’」』）]*                                      # full-width stops need no space
    | (?=\n)
    """,
    re.VERBOSE,
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“„])(?:[^\W\d_]|mr|mrs|ms|dr|prof|st|jr|sr|vs|inc|ltd|e\.g|i\.e|u\.s|u\.k|z\.b|d\.h"
    r"|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|(?P<numbered>no|nr|fig))\.$",
    re.IGNORECASE,
)
_LONGEST = 8
"""Characters that hold any abbreviation and what stands before it."""


def is_spaceless(text: str) -> bool:
    """Whether most letters of a text belong to scripts that are written without spaces between words."""
    found = len(_SPACELESS.findall(text))
    return found > 0 and 2 * found > sum(map(str.isalpha, text))


def word_spans(text: str) -> list[Span]:
    """Start and end of every word: a maximal run of non-space that holds a letter or a digit.

    Punctuation stays with the word it is attached to; a run of punctuation alone is no word.

    >>> word_spans("Well – yes.")
    [(0, 4), (7, 11)]
    """
    return [match.span() for match in _RUN.finditer(text) if _LETTER_OR_DIGIT.search(match[0])]


def bare(word: str) -> str:
    """The word without the punctuation around it.

    >>> bare("“don't!”")
    "don't"
    """
    return _EDGE.sub("", word)


def replace_spans(text: str, edits: Iterable[tuple[Span, str]]) -> str:
    """The text with each span (in order, not overlapping) replaced."""
    parts, done = [], 0
    for (start, end), new in edits:
        parts += [text[done:start], new]
        done = end
    return "".join([*parts, text[done:]])


def without(text: str, spans: Sequence[Span]) -> str:
    """The text without these words (spans in order), each dropped with the space after it.

    When nothing follows, the space before goes instead, so that no double or trailing space appears.

    >>> without("I saw it.", [(2, 5)]), without("I saw it.", [(6, 9)])
    ('I it.', 'I saw')
    """
    parts, done, end_of_text = [], 0, len(text.rstrip())
    for start, end in spans:
        parts.append(text[done:start])
        done = end
        if end == end_of_text:
            return "".join(parts).rstrip() + text[end:]
        while text[done].isspace():
            done += 1
    return "".join([*parts, text[done:]])


def word_list(texts: Iterable[str], language: str | None) -> list[str]:
    """The distinct words of a collection, sorted, of at least two letters and without punctuation.

    Words that only ever occur with a capital are names for the most part and are left out, unless the
    language capitalises its nouns or nothing else is there (text all in capitals).
    """
    runs: set[str] = set()
    for text in texts:
        runs.update(text.split())
    plain = {word for word in map(bare, runs) if len(word) > 1 and _PLAIN.fullmatch(word)}
    lower = {word for word in plain if word == word.lower()}
    if language in CAPITAL_NOUNS:
        return sorted(lower | {w for w in plain if w == w.capitalize() and w.lower() not in lower})
    return sorted(lower or plain)


_TERM = re.compile(r"(?<![\w./@#&+])[^\W\d_]++(?:['’-][^\W\d_]++)*+(?![\w/@#&+]|\.\w)")
_SENTENCE_START = re.compile(r"(?:^|[.!?…:;]|[\"“„«»(\[–—-])\s*$")


def terms(text: str) -> list[re.Match[str]]:
    """Words as a dictionary knows them, in order: letters, with apostrophes and hyphens inside.

    Parts of addresses, tags and words with digits are none.

    >>> [term[0] for term in terms("Don't buy 3 well-known “brands”.")]
    ["Don't", 'buy', 'well-known', 'brands']
    """
    return list(_TERM.finditer(text))


def with_next(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """The terms of a text, each with the one after it in lower case (nothing at the end)."""
    found = _TERM.finditer(text)
    term = next(found, None)
    while term is not None:
        following = next(found, None)
        yield term, "" if following is None else following[0].lower()
        term = following


def starts_sentence(text: str, place: int) -> bool:
    """Whether a word at this place may have its capital from standing first."""
    return _SENTENCE_START.search(text[max(place - 8, 0) : place]) is not None or place == 0


def with_case_of(model: str, word: str) -> str:
    """The word in the casing of another: capitals throughout, a first capital, or as it is.

    >>> with_case_of("John", "mike"), with_case_of("NATO", "uno"), with_case_of("car", "Auto")
    ('Mike', 'UNO', 'Auto')
    """
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def sentence_spans(text: str) -> list[Span]:
    """Start and end of every sentence, without the space around it; a line end ends one too.

    A small letter begins a sentence only where nothing has a capital, or where the stop stands alone, as in
    tokenised text; never after an ellipsis.

    >>> text = "Dr. Who came. He left! 你好。再见。"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Who came.', 'He left!', '你好。', '再见。']
    """
    spans, start, small = [], 0, text == text.lower()
    for match in _END.finditer(text):
        if match["stop"] and not _ends(text, match, start, small=small):
            continue
        spans.append((start, match.end()))
        start = match.end()
    spans.append((start, len(text)))
    return [trimmed for span in spans if (trimmed := _trimmed(text, span)) is not None]


def _ends(text: str, match: re.Match[str], start: int, *, small: bool) -> bool:
    """Whether a stop before a space ends the sentence that began at `start`."""
    stop, following = match["stop"], match["next"]
    if following.islower():
        alone = match.start() > 0 and text[match.start() - 1].isspace()
        if not (small or alone) or stop == "…" or stop.startswith(".."):
            return False
    before = text[max(start, match.end() - _LONGEST) : match.end()]
    abbreviation = _ABBREVIATION.search(before)
    return abbreviation is None or (abbreviation["numbered"] is not None and not following.isdigit())


def _trimmed(text: str, span: Span) -> Span | None:
    inside = text[span[0] : span[1]]
    bare = inside.strip()
    if not any(map(str.isalnum, bare)):
        return None
    start = span[0] + len(inside) - len(inside.lstrip())
    return start, start + len(bare)


@dataclass(frozen=True)
class WordLists:
    """The lists in one folder of a package, by name."""

    package: str
    folder: str

    def lines(self, name: str) -> tuple[str, ...]:
        """The entries of `name.txt` in their order.

        >>> WordLists("metassay.text", "en").lines("british_our")[:2]
        ('arb', 'ard')
        """
        return tuple(entry for _, entry in _entries(self.package, self.folder, f"{name}.txt"))

    def words(self, name: str) -> frozenset[str]:
        """The entries of `name.txt`."""
        return frozenset(self.lines(name))

    def rows(self, name: str, cells: int | None = None) -> tuple[tuple[str, ...], ...]:
        """The rows of `name.tsv`; where a number of cells is given, all must have it."""
        rows = []
        for line, entry in _entries(self.package, self.folder, f"{name}.tsv"):
            row = tuple(entry.split("\t"))
            if cells is not None and len(row) != cells:
                place = Place(file=f"{self.package}/{self.folder}/{name}.tsv", line=line)
                raise MetassayError(f"{place}: {len(row)} cells instead of {cells}.")
            rows.append(row)
        return tuple(rows)

    def mapping(self, name: str) -> dict[str, str]:
        """The rows of `name.tsv` as first and second cell.

        >>> WordLists("metassay.text", "en").mapping("british_words")["tyre"]
        'tire'
        """
        return {key: value for key, value in self.rows(name, 2)}  # noqa: C416 -- dict() knows no length

    def groups(self, name: str) -> dict[str, tuple[str, ...]]:
        """The second cells of `name.tsv` by the first, both in their order."""
        found: dict[str, list[str]] = {}
        for group, word in self.rows(name, 2):
            found.setdefault(group, []).append(word)
        return {group: tuple(words) for group, words in found.items()}

    def word_groups(self, name: str) -> dict[str, frozenset[str]]:
        """`groups` as sets."""
        return {group: frozenset(words) for group, words in self.groups(name).items()}


def any_of(words: Iterable[str]) -> str:
    """A regular expression for any of these words that shares their beginnings: many words cost little.

    >>> any_of(["is", "are", "isn't"])
    "(?:are|is(?:n't)?)"
    """
    tree: dict[str, Any] = {}
    for word in words:
        branch = tree
        for letter in word:
            branch = branch.setdefault(letter, {})
        branch[""] = {}
    return _alternatives(tree)


def _alternatives(tree: dict[str, Any]) -> str:
    branches = [
        re.escape(letter) + (_alternatives(rest) if rest else "")
        for letter, rest in sorted(tree.items())
        if letter
    ]
    if len(branches) == 1 and "" not in tree:
        return branches[0]
    return f"(?:{'|'.join(branches)})" + ("?" if "" in tree else "") if branches else ""


@functools.cache
def folders_with(package: str, file: str) -> frozenset[str]:
    """The folders of a package that hold a file of this name: the languages that have a list.

    >>> sorted(folders_with("metassay.text", "british_our.txt"))
    ['en']
    """
    folders = (folder for folder in files(package).iterdir() if folder.is_dir())
    return frozenset(folder.name for folder in folders if folder.joinpath(file).is_file())


@functools.cache
def _entries(package: str, folder: str, name: str) -> tuple[tuple[int, str], ...]:
    """The lines of a list that hold an entry, with their numbers."""
    try:
        text = files(package).joinpath(folder, name).read_text(encoding="utf-8")
    except OSError as error:
        where = f"{package}/{folder}/{name}"
        raise MetassayError(
            f"{where}: the word list cannot be read ({error}). Install metassay anew."
        ) from error
    numbered = enumerate(text.split("\n"), 1)
    return tuple((number, line) for number, line in numbered if line.strip() and not line.startswith("#"))
