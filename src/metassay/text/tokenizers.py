"""The tokenizers of sacrebleu, described as data for compiled code.

`13a`, `intl`, `zh`, `char` and `none` are lists of passes over the characters of a text. A pass goes from
left to right and puts spaces around characters of some class; what it has matched is not matched again, as in
a substitution by regular expression. Afterwards the text is split at white space.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.text.languages import get_base_language
from metassay.text.words import WITHOUT_SPACES

# The classes of each code point, as bits.
CharacterClasses = NDArray[np.uint8]

# Classes of characters, as bits. Which characters are STOP and SYMBOL depends on the tokenizer.
SPACE, DIGIT, NOT_DIGIT, STOP, DASH, SYMBOL, HAN = (1 << bit for bit in range(7))
ANY = DIGIT | NOT_DIGIT

# Kinds of passes: `(a)` → ` a `; `(a)(b)` → `a b `; `(a)(b)` → ` a b`.
ISOLATE, SPLIT_SECOND, SPLIT_FIRST = range(3)

# How a text is split: at white space; at white space, with one punctuation mark separated from each word
# (chrF++); at blanks and runs of white space (jiwer); into runs of a–z and 0–9 (rouge-score).
SPLIT_AT_SPACES, SPLIT_AS_CHRF, SPLIT_AS_JIWER, SPLIT_AS_ROUGE = range(4)

_CODE_POINT_COUNT = 0x110000


@dataclass(frozen=True)
class TokenizerScheme:
    """How a tokenizer splits texts: rules that insert spaces next to classes of characters, then a split at
    spaces.
    """

    load_classes: Callable[[], CharacterClasses]
    passes: tuple[tuple[int, int, int], ...] = ()
    """Kind of the pass, class of the first character, class of the second character."""
    pads_with_spaces: bool = False
    """Whether a space is added before and after the text first."""
    strips_left: bool = False
    """Whether white space is removed at the beginning of the text; at the end it always is."""
    prepare: Callable[[str], str] | None = None
    """Applied first, to texts that contain one of `triggers`, or to all texts if there are none."""
    triggers: tuple[str, ...] = ()

    def preprocess_texts_if_needed(self, texts: Sequence[str]) -> Sequence[str]:
        """Change the texts that need it before they are split, such as those with XML entities.

        The same sequence is returned if no text needs it.
        """
        if self.prepare is None:
            return texts
        if not self.triggers:
            return [self.prepare(text) for text in texts]
        # One search over all texts shows that most data sets need no preparation.
        joined = "\0".join(texts)
        present_triggers = [trigger for trigger in self.triggers if trigger in joined]
        if not present_triggers:
            return texts
        prepared = []
        for text in texts:
            needs_change = any(trigger in text for trigger in present_triggers)
            prepared.append(self.prepare(text) if needs_change else text)
        return prepared


@functools.cache
def load_western_classes() -> CharacterClasses:
    """Return for each character its class in sacrebleu's tokenizers `13a` and `zh`, such as digit or
    punctuation.
    """
    classes = _create_classes_with_spaces() | np.uint8(NOT_DIGIT)
    classes[ord("0") : ord("9") + 1] = DIGIT
    classes[[ord("."), ord(",")]] |= STOP
    classes[ord("-")] |= DASH
    # The ranges of the regular expression of mteval-v13a. The apostrophe, comma, dash and period are not in
    # them.
    for first, last in (" &", "(+", "//", ":@", "[`", "{~"):
        classes[ord(first) : ord(last) + 1] |= SYMBOL
    for first_code, last_code in _HAN_RANGES:
        classes[first_code : last_code + 1] |= HAN
    return classes


@functools.cache
def load_international_classes() -> CharacterClasses:
    """Return for each character its class in sacrebleu's tokenizer `intl`: number, punctuation, symbol or
    space by Unicode.
    """
    import regex  # type: ignore[import-untyped]

    classes = _create_classes_with_spaces()
    # One search over all characters is faster than a million matches of single ones.
    all_characters = "".join(map(chr, range(_CODE_POINT_COUNT)))
    for pattern, bit in ((r"\p{N}", DIGIT), (r"\P{N}", NOT_DIGIT), (r"\p{P}", STOP), (r"\p{S}", SYMBOL)):
        for match in regex.finditer(pattern + "+", all_characters):
            classes[match.start() : match.end()] |= bit
    return classes


@functools.cache
def load_plain_classes() -> CharacterClasses:
    """Return for each character whether it is a space, as its class in tokenizers that split at spaces
    only.
    """
    return _create_classes_with_spaces() | np.uint8(NOT_DIGIT)


def _create_classes_with_spaces() -> CharacterClasses:
    """Create an array with the class of each character. White space has the class SPACE, all other
    characters have none.
    """
    classes = np.zeros(_CODE_POINT_COUNT, dtype=np.uint8)
    # The last white space of Unicode is U+3000.
    classes[[code for code in range(0x3001) if chr(code).isspace()]] = SPACE
    return classes


_HAN_RANGES = (
    (0x3400, 0x4DB5),
    (0x4E00, 0x9FBB),
    (0xF900, 0xFA2D),
    (0xFA30, 0xFA6A),
    (0xFA70, 0xFAD9),
    # The official tokenizer means U+20000–2A6D6 and U+2F800–2FA1D, but writes them with four digits, so that
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
    (SPLIT_SECOND, NOT_DIGIT, STOP),
    (SPLIT_FIRST, STOP, NOT_DIGIT),
    (SPLIT_SECOND, DIGIT, DASH),
)

# In the order of mteval: "&amp;lt;" becomes "<".
_XML_ENTITIES = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def _join_lines_and_unescape_xml(text: str) -> str:
    """Join the lines of a text and replace XML entities such as `&amp;`, as NIST's mteval script does."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in _XML_ENTITIES:
        text = text.replace(entity, character)
    return text


_SCHEMES = {
    "13a": TokenizerScheme(
        load_western_classes,
        _WESTERN_PASSES,
        pads_with_spaces=True,
        prepare=_join_lines_and_unescape_xml,
        triggers=("<skipped>", "\n", "&"),
    ),
    "zh": TokenizerScheme(load_western_classes, ((ISOLATE, HAN, 0), *_WESTERN_PASSES), strips_left=True),
    "intl": TokenizerScheme(
        load_international_classes,
        ((SPLIT_SECOND, NOT_DIGIT, STOP), (SPLIT_FIRST, STOP, NOT_DIGIT), (ISOLATE, SYMBOL, 0)),
    ),
    "char": TokenizerScheme(load_plain_classes, ((ISOLATE, ANY, 0),)),
    "none": TokenizerScheme(load_plain_classes),
}

# Tokenizers for which sacrebleu needs a morphological analyser or a sentence-piece model.
_TOKENIZERS_WITH_MODELS = ("ja-mecab", "ko-mecab", "flores101", "flores200")

BLEU_TOKENIZERS = (*_SCHEMES, *_TOKENIZERS_WITH_MODELS)
# Tokenizers of metrics that compare words.
WORD_TOKENIZERS = ("nltk", "whitespace", *BLEU_TOKENIZERS)
# Instead of a tokenizer: that of the language of the data, or the default one.
AUTO = "auto"
# Languages for which sacrebleu has a tokenizer, which its command line chooses.
_LANGUAGE_TOKENIZERS = {"zh": "zh", "yue": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}


@functools.lru_cache(maxsize=32)
def find_tokenizer_scheme(tokenizer_name: str) -> TokenizerScheme:
    """Return how a tokenizer splits texts, given its name in sacrebleu, such as "13a"."""
    if tokenizer_name in _SCHEMES:
        return _SCHEMES[tokenizer_name]
    if tokenizer_name in _TOKENIZERS_WITH_MODELS:
        return TokenizerScheme(load_plain_classes, prepare=_load_sacrebleu_tokenizer(tokenizer_name))
    raise UnknownName("tokenizer", tokenizer_name, BLEU_TOKENIZERS)


def _load_sacrebleu_tokenizer(tokenizer_name: str) -> Callable[[str], str]:
    """Load a tokenizer of sacrebleu that needs a dictionary or a model file, as a function."""
    from sacrebleu.metrics.bleu import BLEU

    _reject_missing_model_file(tokenizer_name)
    try:
        tokenizer = BLEU(tokenize=tokenizer_name).tokenizer
    except (ImportError, RuntimeError) as error:
        package = {"ja-mecab": "sacrebleu[ja]", "ko-mecab": "sacrebleu[ko]"}.get(
            tokenizer_name, "sentencepiece"
        )
        raise InputError(
            f"the tokenizer {tokenizer_name} needs a package that is not installed.",
            remedy=f"Install it with: pip install '{package}'",
        ) from error
    # sacrebleu strips texts at the end before it tokenises them.
    return lambda text: str(tokenizer(text.rstrip()))


def _reject_missing_model_file(tokenizer_name: str) -> None:
    """Raise an error if the model file of a tokenizer is missing, because sacrebleu would download it."""
    if not tokenizer_name.startswith("flores"):
        return
    from pathlib import Path

    from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
    from sacrebleu.utils import SACREBLEU_DIR

    file = Path(SACREBLEU_DIR) / "models" / Path(SPM_MODELS[tokenizer_name]["url"]).name
    if not file.is_file():
        raise InputError(
            f"the tokenizer {tokenizer_name} needs its model file, which is not there.",
            remedy=f"Put it at {file} (from {SPM_MODELS[tokenizer_name]['url']}).",
        )


def choose_sacrebleu_tokenizer(language: str | None) -> str | None:
    """Return the name of sacrebleu's tokenizer for a language, or None for languages with spaces between
    words.

    It is `char` for languages that need a tokenizer and have none that is installed, such as Thai.
    """
    base_language = get_base_language(language)
    name = _LANGUAGE_TOKENIZERS.get(base_language)
    if name is not None and is_tokenizer_installed(name):
        return name
    if name is not None or base_language in WITHOUT_SPACES:
        return "char"
    return None


def find_missing_sacrebleu_tokenizer(language: str | None) -> str | None:
    """Return the name of sacrebleu's tokenizer for a language if it is needed but not installed, else
    None.
    """
    name = _LANGUAGE_TOKENIZERS.get(get_base_language(language))
    if name is None or is_tokenizer_installed(name):
        return None
    return name


def choose_character_tokenizer(language: str | None) -> str | None:
    """Return the name of a tokenizer that splits a language without spaces into characters, or None for other
    languages.
    """
    base_language = get_base_language(language)
    if base_language not in WITHOUT_SPACES:
        return None
    return "zh" if base_language == "zh" else "char"


@functools.lru_cache(maxsize=32)
def is_tokenizer_installed(tokenizer_name: str) -> bool:
    """Return whether the packages and files that a tokenizer needs are installed."""
    try:
        find_tokenizer_scheme(tokenizer_name)
    except InputError:
        return False
    return True


def put_spaces_between_tokens(texts: Sequence[str], tokenizer: str) -> Sequence[str]:
    """Split texts into tokens, and join the tokens of each text by spaces."""
    if tokenizer == "whitespace":
        return texts
    if tokenizer == "nltk":
        from metassay.text.tokens import tokenize_like_nltk

        return [" ".join(tokenize_like_nltk(text)) for text in texts]
    from sacrebleu.metrics.bleu import BLEU

    find_tokenizer_scheme(tokenizer)  # raises errors for unknown names, missing packages and models
    sacrebleu_tokenizer = BLEU(tokenize=tokenizer).tokenizer
    return [str(sacrebleu_tokenizer(text.rstrip())) for text in texts]
