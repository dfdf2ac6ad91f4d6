"""Tokenisers as data: classes of characters, and passes that put spaces around some of them.

The tokenisers that sacrebleu knows as `13a`, `intl`, `zh`, `char` and `none` are short lists of passes. A
pass scans from left to right, and what it matched is not matched again, as in a substitution by regular
expression. Afterwards the text is split at white space.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.text.words import WITHOUT_SPACES

SPACE, DIGIT, NOT_DIGIT, STOP, DASH, SYMBOL, HAN = (1 << bit for bit in range(7))
"""Classes of characters, as bits; STOP and SYMBOL differ by tokeniser."""
ANY = DIGIT | NOT_DIGIT

ISOLATE, PART_SECOND, PART_FIRST = range(3)
"""Kinds of pass: `(a)` → ` a `; `(a)(b)` → `a b `; `(a)(b)` → ` a b`."""

CODE_POINTS = 0x110000


@dataclass(frozen=True)
class Scheme:
    """A tokeniser: passes over classes of characters, then a split at white space."""

    classes: Callable[[], NDArray[np.uint8]]
    passes: tuple[tuple[int, int, int], ...] = ()
    """(kind, class of the first character, class of the second)."""
    padded: bool = False
    """Whether a space is put before and after the text first."""
    stripped_left: bool = False
    """Whether white space is taken off the beginning of the text; off the end it always is."""
    prepare: Callable[[str], str] | None = None
    """What is done to a text that contains one of `triggers`, before everything else."""
    triggers: tuple[str, ...] = ()

    def prepared(self, texts: Sequence[str]) -> Sequence[str]:
        """The texts, prepared where they need it; the very same sequence where none does."""
        if self.prepare is None:
            return texts
        if not self.triggers:
            return [self.prepare(text) for text in texts]
        together = "\0".join(texts)
        present = [trigger for trigger in self.triggers if trigger in together]
        if not present:
            return texts
        return [self.prepare(t) if any(trigger in t for trigger in present) else t for t in texts]


@functools.cache
def western_classes() -> NDArray[np.uint8]:
    """Classes for `13a` and `zh`: ASCII digits, period and comma, dash, other ASCII marks, Han."""
    classes = _spaces() | np.uint8(NOT_DIGIT)
    classes[ord("0") : ord("9") + 1] = DIGIT
    classes[[ord("."), ord(",")]] |= STOP
    classes[ord("-")] |= DASH
    for first, last in (" &", "(+", "//", ":@", "[`", "{~"):
        classes[ord(first) : ord(last) + 1] |= SYMBOL
    for first_code, last_code in _HAN_RANGES:
        classes[first_code : last_code + 1] |= HAN
    return classes


@functools.cache
def international_classes() -> NDArray[np.uint8]:
    """Classes for `intl`: Unicode numbers, punctuation and symbols, in the version of the `regex` package."""
    import regex  # type: ignore[import-untyped]

    classes = _spaces()
    everything = "".join(map(chr, range(CODE_POINTS)))
    for pattern, bit in ((r"\p{N}", DIGIT), (r"\P{N}", NOT_DIGIT), (r"\p{P}", STOP), (r"\p{S}", SYMBOL)):
        for match in regex.finditer(pattern + "+", everything):
            classes[match.start() : match.end()] |= bit
    return classes


@functools.cache
def plain_classes() -> NDArray[np.uint8]:
    """White space and everything else."""
    return _spaces() | np.uint8(NOT_DIGIT)


def _spaces() -> NDArray[np.uint8]:
    classes = np.zeros(CODE_POINTS, dtype=np.uint8)
    classes[[code for code in range(0x3001) if chr(code).isspace()]] = SPACE
    return classes


_HAN_RANGES = (
    (0x3400, 0x4DB5),
    (0x4E00, 0x9FBB),
    (0xF900, 0xFA2D),
    (0xFA30, 0xFA6A),
    (0xFA70, 0xFAD9),
    # The official tokeniser means U+20000–2A6D6 and U+2F800–2FA1D, but writes them with four digits, so that
    # they read as U+2000 or U+2F80 followed by a digit: these are the single characters that lie between.
    (0x2001, 0x2A6D),
    (0x2F81, 0x2FA1),
    (0xFF00, 0xFFEF),
    (0x2E80, 0x2EFF),
    (0x3000, 0x303F),
    (0x31C0, 0x31EF),
    (0x2F00, 0x2FDF),
    (0x2FF0, 0x2FFF),
    (0x3100, 0x312F),
    (0x31A0, 0x31BF),
    (0xFE10, 0xFE1F),
    (0xFE30, 0xFE4F),
    (0x2600, 0x27BF),
    (0x3200, 0x33FF),
)

_WESTERN_PASSES = (
    (ISOLATE, SYMBOL, 0),
    (PART_SECOND, NOT_DIGIT, STOP),
    (PART_FIRST, STOP, NOT_DIGIT),
    (PART_SECOND, DIGIT, DASH),
)

_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def _joined_and_unescaped(text: str) -> str:
    """Line breaks joined and XML entities resolved, as NIST's mteval script does."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return text


_SCHEMES = {
    "13a": Scheme(
        western_classes,
        _WESTERN_PASSES,
        padded=True,
        prepare=_joined_and_unescaped,
        triggers=("<skipped>", "\n", "&"),
    ),
    "zh": Scheme(western_classes, ((ISOLATE, HAN, 0), *_WESTERN_PASSES), stripped_left=True),
    "intl": Scheme(
        international_classes,
        ((PART_SECOND, NOT_DIGIT, STOP), (PART_FIRST, STOP, NOT_DIGIT), (ISOLATE, SYMBOL, 0)),
    ),
    "char": Scheme(plain_classes, ((ISOLATE, ANY, 0),)),
    "none": Scheme(plain_classes),
}

_OFFICIAL = ("ja-mecab", "ko-mecab", "flores101", "flores200")
"""Tokenisers that sacrebleu runs on a morphological analyser or a sentence-piece model."""

BLEU_TOKENIZERS = (*_SCHEMES, *_OFFICIAL)


@functools.cache
def bleu_scheme(name: str) -> Scheme:
    """The tokeniser that sacrebleu knows by this name."""
    if name in _SCHEMES:
        return _SCHEMES[name]
    if name in _OFFICIAL:
        return Scheme(plain_classes, prepare=_official_tokenizer(name))
    raise UnknownName("tokenizer", name, BLEU_TOKENIZERS)


def _official_tokenizer(name: str) -> Callable[[str], str]:
    """A tokeniser of sacrebleu itself, for those that need a dictionary or a model file."""
    from sacrebleu.metrics.bleu import _get_tokenizer

    _require_model(name)
    try:
        tokenizer = _get_tokenizer(name)()
    except (ImportError, RuntimeError) as error:
        package = {"ja-mecab": "sacrebleu[ja]", "ko-mecab": "sacrebleu[ko]"}.get(name, "sentencepiece")
        raise InputError(
            f"the tokenizer {name} needs a package that is not installed.",
            remedy=f"Install it with: pip install '{package}'",
        ) from error
    return lambda text: str(tokenizer(text.rstrip()))


def _require_model(name: str) -> None:
    """Models are never fetched from the network: the user puts the file where sacrebleu looks for it."""
    if not name.startswith("flores"):
        return
    from pathlib import Path

    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
    from sacrebleu.utils import SACREBLEU_DIR

    file = Path(SACREBLEU_DIR) / "models" / Path(SPM_MODELS[name]["url"]).name
    if not file.is_file():
        raise InputError(
            f"the tokenizer {name} needs its model file, which is not there.",
            remedy=f"Put it at {file} (from {SPM_MODELS[name]['url']}).",
        )


WORD_TOKENIZERS = ("nltk", "whitespace", *BLEU_TOKENIZERS)
"""Tokenisers for metrics that take words as they come."""

AUTO = "auto"
"""In place of a tokeniser: the default one, or that of the language where the metric was bound to data."""
_OWN = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
"""Languages to which sacrebleu's command line gives a tokeniser of their own."""


def language_tokenizer(language: str | None) -> str | None:
    """The tokeniser that sacrebleu's command line takes for a language; None where that is the usual one.

    Without its dictionary, `char` stands in.
    """
    name = _OWN.get(primary(language))
    return name if name is None or tokenizer_is_installed(name) else "char"


def missing_tokenizer(language: str | None) -> str | None:
    """The tokeniser that a language should have but that is not installed."""
    name = _OWN.get(primary(language))
    return None if name is None or tokenizer_is_installed(name) else name


def spaceless_tokenizer(language: str | None) -> str | None:
    """A tokeniser into characters for a language that is written without spaces; None for any other."""
    if primary(language) not in WITHOUT_SPACES:
        return None
    return "zh" if primary(language) == "zh" else "char"


_KNOWN = (
    *("ar:ara:arabic", "bg:bul:bulgarian", "bn:ben:bengali", "bs:bos:bosnian", "ca:cat:catalan"),
    *("cs:ces:cze:czech", "da:dan:danish", "de:deu:ger:german", "el:ell:gre:greek", "en:eng:english"),
    *("es:spa:spanish", "et:est:estonian", "eu:eus:baq:basque", "fa:fas:per:persian", "fi:fin:finnish"),
    *("fr:fra:fre:french", "ga:gle:irish", "gl:glg:galician", "gu:guj:gujarati", "ha:hau:hausa"),
    *("he:heb:hebrew", "hi:hin:hindi", "hr:hrv:croatian", "hu:hun:hungarian", "hy:hye:armenian"),
    *("id:ind:indonesian", "is:isl:ice:icelandic", "it:ita:italian", "ja:jpn:japanese", "ka:kat:georgian"),
    *("kk:kaz:kazakh", "km:khm:khmer", "ko:kor:korean", "lt:lit:lithuanian", "lv:lav:latvian"),
    *("mk:mkd:macedonian", "ml:mal:malayalam", "mr:mar:marathi", "ms:msa:malay", "my:mya:burmese"),
    *("nb:nob:bokmål", "ne:nep:nepali", "nl:nld:dut:dutch", "no:nor:norwegian", "pa:pan:punjabi"),
    *("pl:pol:polish", "ps:pus:pashto", "pt:por:portuguese", "ro:ron:rum:romanian", "ru:rus:russian"),
    *("sk:slk:slo:slovak", "sl:slv:slovene:slovenian", "sq:sqi:albanian", "sr:srp:serbian"),
    *("sv:swe:swedish", "sw:swa:swahili", "ta:tam:tamil", "te:tel:telugu", "th:tha:thai"),
    *("tr:tur:turkish", "uk:ukr:ukrainian", "ur:urd:urdu", "uz:uzb:uzbek", "vi:vie:vietnamese"),
    *("xh:xho:xhosa", "yue:cantonese", "zh:zho:chi:chinese:mandarin", "zu:zul:zulu"),
)
_CODES = {name: names.partition(":")[0] for names in _KNOWN for name in names.split(":")}
"""The code of a language, by code, three-letter codes and English name."""


@functools.cache
def language_code(named: str) -> str | None:
    """The tag of a language in lower case, however it was written; None for no language that we know.

    >>> [language_code(name) for name in ("English", "deu", "zh_TW", "pt-BR", "news")]
    ['en', 'de', 'zh-tw', 'pt-br', None]
    """
    first, _, rest = named.strip().lower().replace("_", "-").partition("-")
    code = _CODES.get(first)
    return code and "-".join(filter(None, (code, rest)))


def primary(language: str | None) -> str:
    """The language of a tag such as `zh-Hant` or `zh_TW`, in lower case; empty where it is not known."""
    return (language or "").lower().replace("_", "-").partition("-")[0]


@functools.cache
def tokenizer_is_installed(name: str) -> bool:
    """Whether a tokeniser of sacrebleu has the packages and files that it needs."""
    try:
        bleu_scheme(name)
    except InputError:
        return False
    return True


def split_words(texts: Sequence[str], tokenizer: str) -> Sequence[str]:
    """The texts with a space between any two tokens."""
    if tokenizer == "whitespace":
        return texts
    if tokenizer == "nltk":
        from metassay.text.tokens import nltk_words

        return [" ".join(nltk_words(text)) for text in texts]
    from sacrebleu.metrics.bleu import _get_tokenizer

    bleu_scheme(tokenizer)  # refuses unknown names, missing packages and models
    official = _get_tokenizer(tokenizer)()
    return [str(official(text.rstrip())) for text in texts]
