"""The texts of a batch as token sequences, made once for all metrics that share them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from metassay.metrics.base import Batch, Metric
from metassay.metrics.kernels.text_arrays import (
    CodePoints,
    Offsets,
    PackedTexts,
    TokenSequences,
    convert_code_points_to_texts,
    convert_texts_to_code_points,
)
from metassay.metrics.scoring_inputs import find_distinct_inputs
from metassay.text.languages import get_base_language
from metassay.text.tokenizers import (
    SPACE,
    SPLIT_AT_SPACES,
    TokenizerScheme,
    find_tokenizer_scheme,
    load_plain_classes,
)
from metassay.text.words import WITHOUT_SPACES

# The tokeniser that splits at white space and does nothing else.
WHITE_SPACE = TokenizerScheme(load_plain_classes)


def get_distinct_texts(batch: Batch, *, lowercase: bool) -> Sequence[str]:
    """Return each different text (output or reference) of a batch once, in lower case if requested."""
    texts = find_distinct_inputs(batch).texts
    if not lowercase:
        return texts
    return batch.compute_once("lower-case texts", lambda: [text.lower() for text in texts])


def tokenize_batch_for_bleu(batch: Batch, tokenizer: str, *, lowercase: bool = False) -> TokenSequences:
    """Tokenize the distinct texts of a batch with a tokeniser that is named as in sacrebleu, such as
    `13a`.
    """

    def tokenize() -> TokenSequences:
        scheme = find_tokenizer_scheme(tokenizer)
        texts = get_distinct_texts(batch, lowercase=lowercase)
        prepared = scheme.preprocess_texts_if_needed(texts)
        is_unchanged = prepared is texts
        packed = (
            _pack_distinct_texts(batch, lowercase=lowercase)
            if is_unchanged
            else convert_texts_to_code_points(prepared)
        )
        tokens, _ = _tokenize_code_points(packed, scheme, SPLIT_AT_SPACES)
        return tokens

    return batch.compute_once(("bleu tokens", tokenizer, lowercase), tokenize)


def split_batch_into_words(batch: Batch, split_mode: int, *, lowercase: bool = False) -> TokenSequences:
    """Split the distinct texts of a batch into words. `split_mode` says where, such as `SPLIT_AT_SPACES`."""

    def tokenize() -> TokenSequences:
        packed = _pack_distinct_texts(batch, lowercase=lowercase)
        tokens, _ = _tokenize_code_points(packed, WHITE_SPACE, split_mode)
        return tokens

    return batch.compute_once(("word tokens", split_mode, lowercase), tokenize)


def split_batch_into_characters(batch: Batch, *, lowercase: bool, keep_spaces: bool) -> TokenSequences:
    """Split the distinct texts of a batch into characters, with or without white space."""

    def tokenize() -> TokenSequences:
        packed = _pack_distinct_texts(batch, lowercase=lowercase)
        if keep_spaces:
            return _convert_characters_to_tokens(packed.code_points, packed.offsets)
        is_space = load_plain_classes()[packed.code_points] & SPACE != 0
        # `compress` takes a third of the time of indexing with a mask.
        visible_code_points = np.compress(~is_space, packed.code_points)
        spaces_before_offsets = np.searchsorted(np.flatnonzero(is_space), packed.offsets)
        return _convert_characters_to_tokens(visible_code_points, packed.offsets - spaces_before_offsets)

    return batch.compute_once(("character tokens", lowercase, keep_spaces), tokenize)


def split_stripped_batch_into_characters(batch: Batch) -> TokenSequences:
    """Remove white space at both ends of the distinct texts of a batch, and split the texts into
    characters.
    """

    def tokenize() -> TokenSequences:
        packed = convert_texts_to_code_points(
            [text.strip() for text in get_distinct_texts(batch, lowercase=False)]
        )
        return _convert_characters_to_tokens(packed.code_points, packed.offsets)

    return batch.compute_once("stripped character tokens", tokenize)


def tokenize_texts_into_words(
    texts: Sequence[str], split_mode: int = SPLIT_AT_SPACES
) -> tuple[TokenSequences, PackedTexts]:
    """Split texts into words. Returns the word ids of each text and the words that the ids stand for."""
    return _tokenize_code_points(convert_texts_to_code_points(texts), WHITE_SPACE, split_mode)


def replace_distinct_words(
    tokens: TokenSequences, words: PackedTexts, replace_word: Callable[[str], str]
) -> TokenSequences:
    """Replace each word of some texts by what a function, such as a stemmer, returns for it. The function is
    called once for each different word.
    """
    new_ids: dict[str, int] = {}
    # Words with the same result, such as the same stem, share an id.
    id_of_word = [
        new_ids.setdefault(replace_word(word), len(new_ids)) for word in convert_code_points_to_texts(words)
    ]
    if not id_of_word:
        return TokenSequences(tokens.ids, tokens.offsets, 0)
    ids = np.array(id_of_word, dtype=np.int32)[tokens.ids]
    return TokenSequences(ids, tokens.offsets, len(new_ids))


def warn_if_language_has_no_spaces(metric: Metric, language: str | None) -> None:
    """Warn if a metric that splits words at spaces is used for a language that is written without spaces."""
    if get_base_language(language) in WITHOUT_SPACES:
        warnings.warn(
            f"{metric.label} splits words at spaces, but {language} is written without spaces, so most "
            "pairs tie. Use a character metric such as chrF or CER.",
            stacklevel=3,
        )


def _pack_distinct_texts(batch: Batch, *, lowercase: bool) -> PackedTexts:
    """Return the distinct texts of a batch as one array of code points, which compiled functions can read."""
    return batch.compute_once(
        ("packed texts", lowercase),
        lambda: convert_texts_to_code_points(get_distinct_texts(batch, lowercase=lowercase)),
    )


def _tokenize_code_points(
    packed_texts: PackedTexts, tokenizer_scheme: TokenizerScheme, split_mode: int
) -> tuple[TokenSequences, PackedTexts]:
    """Tokenize texts that are stored in one array of code points. Returns the token ids of each text and the
    words.
    """
    from metassay.metrics.kernels.tokenization import tokenize_texts

    passes = np.array(tokenizer_scheme.passes, dtype=np.int64).reshape(-1, 3)
    ids, offsets, word_code_points, word_offsets = tokenize_texts(
        packed_texts.code_points,
        packed_texts.offsets,
        tokenizer_scheme.load_classes(),
        passes,
        tokenizer_scheme.pads_with_spaces,
        tokenizer_scheme.strips_left,
        split_mode,
    )
    # Copies, because the kernel returns views of much larger buffers.
    tokens = TokenSequences(ids.copy(), offsets, len(word_offsets) - 1)
    words = PackedTexts(word_code_points[: word_offsets[-1]], word_offsets.copy())
    return tokens, words


def _convert_characters_to_tokens(code_points: CodePoints, offsets: Offsets) -> TokenSequences:
    """Make each character a token. Its id is the code point of the character."""
    # A copy, because kernels would be compiled again for arrays that are read-only.
    ids = code_points.astype(np.int32)
    return TokenSequences(ids, offsets, int(ids.max(initial=0)) + 1)
