"""Turn texts into token ids."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, InputLocation

Positions = NDArray[np.int64]

# Texts tokenised at a time in the background, while a GPU encodes those before: few at first, so that the GPU
# starts soon, then more, but no more than the GPU takes up while the next are tokenised.
FIRST_CHUNK = 1_024
CHUNK_GROWTH = 1.5
LARGEST_CHUNK = 8_192
_UNKNOWN_WORD = "[UNK]"


@dataclass(frozen=True)
class TokenizedTexts:
    """The token ids of many texts, stored in one array."""

    ids: NDArray[np.int64]
    offsets: Positions
    truncated: NDArray[np.bool_]
    """For each text, whether it was longer than the model reads."""

    @classmethod
    def from_token_sequences(
        cls, sequences: Sequence[Sequence[int]], truncated: NDArray[np.bool_] | None = None
    ) -> TokenizedTexts:
        """Create the object from a list of token ids for each text.

        `truncated` says which texts were cut off; by default none was.
        """
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        ids = np.fromiter(chain.from_iterable(sequences), np.int64, int(offsets[-1]))
        if truncated is None:
            truncated = np.zeros(len(sequences), np.bool_)
        return cls(ids, offsets, truncated)

    @classmethod
    def concatenate(cls, tokenized_texts: Sequence[TokenizedTexts]) -> TokenizedTexts:
        """Join several objects of this class to one object with all of their texts."""
        lengths = np.concatenate([part.lengths for part in tokenized_texts])
        return cls(
            ids=np.concatenate([part.ids for part in tokenized_texts]),
            offsets=np.concatenate(([0], np.cumsum(lengths))),
            truncated=np.concatenate([part.truncated for part in tokenized_texts]),
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, text: int) -> NDArray[np.int64]:
        return self.ids[self.offsets[text] : self.offsets[text + 1]]

    @property
    def lengths(self) -> Positions:
        """Number of tokens of each text."""
        return np.diff(self.offsets)

    def copy_with_token_ids(self, new_ids: NDArray[np.int64]) -> TokenizedTexts:
        """Return a copy in which each token has another number, such as a segment id instead of its token
        id.
        """
        return replace(self, ids=new_ids)

    def pad_texts(self, text_numbers: Positions, pad_id: int) -> NDArray[np.int64]:
        """Return the token ids of some texts as an array with one row per text, padded to the longest."""
        positions, is_token = self.build_token_position_matrix(text_numbers)
        return np.where(is_token, self.ids[positions], pad_id)

    def build_token_position_matrix(self, text_indices: Positions) -> tuple[Positions, NDArray[np.bool_]]:
        """Return an array with one row per text that has the position of each token in `ids`. A second array
        says which entries are tokens, not padding.
        """
        lengths = self.lengths[text_indices]
        columns = np.arange(int(lengths.max()))
        is_token = columns < lengths[:, None]
        positions = np.where(is_token, self.offsets[text_indices][:, None] + columns, 0)
        return positions, is_token


class TextWithOffsets(NamedTuple):
    """The token ids of a text, and the start and end of each token in the text."""

    ids: list[int]
    character_spans: list[tuple[int, int]]


class Tokenizer:
    """A tokenizer that is read from a file. The settings for padding and truncation in the file are
    ignored.
    """

    def __init__(self, file: Path, limit: int) -> None:
        self.limit = limit
        self.backend = _load_tokenizer_backend(file)
        self.backend.no_padding()
        self.backend.enable_truncation(limit)

    def __call__(self, texts: Sequence[str], *, add_special_tokens: bool = True) -> TokenizedTexts:
        """Return the token ids of texts, at most `limit` for each text including special tokens."""
        encodings = self.backend.encode_batch_fast(list(texts), add_special_tokens=add_special_tokens)
        truncated = np.fromiter(
            (bool(encoding.overflowing) for encoding in encodings), np.bool_, len(encodings)
        )
        return TokenizedTexts.from_token_sequences([encoding.ids for encoding in encodings], truncated)

    def tokenize_with_offsets(self, texts: Sequence[str]) -> list[TextWithOffsets]:
        """Return the token ids of each text, and the start and end of each token in the text."""
        encodings = self.backend.encode_batch(list(texts))
        return [TextWithOffsets(encoding.ids, encoding.offsets) for encoding in encodings]

    def find_special_token_id(self, *token_names: str) -> int:
        """Return the id of the first of the named tokens that is in the vocabulary; raise an error if none
        is.
        """
        for token in token_names:
            token_id = self.backend.token_to_id(token)
            if token_id is not None:
                return int(token_id)
        raise InputError(f"the tokenizer has none of the tokens {', '.join(token_names)}.")


def _load_tokenizer_backend(file: Path) -> Any:
    """Create a tokenizer of the package `tokenizers` from a `tokenizer.json` or a vocabulary file."""
    if file.name == "vocab.json":
        return _build_byte_level_tokenizer(file)
    if file.suffix == ".json":
        import tokenizers

        return tokenizers.Tokenizer.from_file(str(file))
    if file.name == "vocab.txt":
        return _build_word_piece_tokenizer(file)
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(file.parent, local_files_only=True).backend_tokenizer


def _build_word_piece_tokenizer(vocabulary: Path) -> Any:
    """Build the WordPiece tokenizer of BERT models from a vocabulary file.

    Whether texts are lower-cased is written in `tokenizer_config.json` beside the vocabulary; BERT's default
    is that they are.
    """
    from tokenizers import Tokenizer as Backend
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing

    settings: dict[str, Any] = {}
    settings_file = vocabulary.with_name("tokenizer_config.json")
    if settings_file.is_file():
        settings = json.loads(settings_file.read_text(encoding="utf-8"))
    backend = Backend(WordPiece.from_file(str(vocabulary), unk_token=_UNKNOWN_WORD))
    backend.normalizer = BertNormalizer(
        clean_text=True,
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
        strip_accents=settings.get("strip_accents"),
        lowercase=settings.get("do_lower_case", True),
    )
    backend.pre_tokenizer = BertPreTokenizer()
    special_tokens = ["[PAD]", _UNKNOWN_WORD, "[CLS]", "[SEP]", "[MASK]"]
    backend.add_special_tokens([token for token in special_tokens if backend.token_to_id(token) is not None])
    start_id = backend.token_to_id("[CLS]")
    end_id = backend.token_to_id("[SEP]")
    if start_id is None or end_id is None:
        raise InputError(
            "this vocabulary has no [CLS] or no [SEP].", location=InputLocation(file=str(vocabulary))
        )
    backend.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", start_id), ("[SEP]", end_id)]
    )
    return backend


def _build_byte_level_tokenizer(vocabulary: Path) -> Any:
    """Build the byte-level tokenizer of RoBERTa, BART or DeBERTa from `vocab.json` and `merges.txt`."""
    from tokenizers import AddedToken
    from tokenizers import Tokenizer as Backend
    from tokenizers.decoders import ByteLevel as ByteLevelDecoder
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel
    from tokenizers.processors import TemplateProcessing

    merges = vocabulary.with_name("merges.txt")
    if not merges.is_file():
        raise InputError(
            "vocab.json needs merges.txt beside it.", location=InputLocation(file=str(vocabulary.parent))
        )
    backend = Backend(BPE.from_file(str(vocabulary), str(merges)))
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    backend.decoder = ByteLevelDecoder()
    is_bert_style = backend.token_to_id("[CLS]") is not None
    start, end, mask = ("[CLS]", "[SEP]", "[MASK]") if is_bert_style else ("<s>", "</s>", "<mask>")
    others = ("[PAD]", _UNKNOWN_WORD) if is_bert_style else ("<pad>", "<unk>")
    for token in (start, end, *others):
        if backend.token_to_id(token) is not None:
            backend.add_special_tokens([token])
    # The mask token takes the spaces before it, as in the original tokenizers.
    backend.add_special_tokens([AddedToken(mask, lstrip=True, special=True)])
    start_id = backend.token_to_id(start)
    end_id = backend.token_to_id(end)
    if start_id is None or end_id is None:
        raise InputError(
            f"this vocabulary has no {start} or no {end}.", location=InputLocation(file=str(vocabulary))
        )
    backend.post_processor = TemplateProcessing(
        single=f"{start} $A {end}", special_tokens=[(start, start_id), (end, end_id)]
    )
    return backend


def tokenize_in_chunks(
    tokenize: Callable[[Sequence[str]], TokenizedTexts], texts: Sequence[str], *, in_background: bool
) -> Iterator[tuple[Positions, TokenizedTexts]]:
    """Tokenize texts in chunks. Yields, for each chunk, the positions of its texts and their tokens.

    Without `in_background` all texts are one chunk. In the background, longer texts (in characters) come
    first; the order depends on the texts alone.
    """
    if not in_background or len(texts) <= FIRST_CHUNK:
        yield np.arange(len(texts)), tokenize(texts)
        return
    order = np.argsort([-len(text) for text in texts], kind="stable")
    ends = [FIRST_CHUNK]
    while ends[-1] < len(order):
        ends.append(ends[-1] + min(LARGEST_CHUNK, int(FIRST_CHUNK * CHUNK_GROWTH ** len(ends))))
    chunks = np.split(order, ends[:-1])

    def tokenize_chunk(chunk: Positions) -> TokenizedTexts:
        return tokenize([texts[position] for position in chunk.tolist()])

    with ThreadPoolExecutor(1, thread_name_prefix="tokenizer") as background:
        futures = [background.submit(tokenize_chunk, chunk) for chunk in chunks]
        try:
            for chunk, future in zip(chunks, futures):
                yield chunk, future.result()
        finally:
            background.shutdown(wait=True, cancel_futures=True)
