"""Tokenizers that a model folder defines by a sentencepiece file alone, without `tokenizer.json`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from metassay.errors import InputError, InputLocation
from metassay.metrics.neural.checkpoints import load_sentencepiece
from metassay.metrics.neural.tokenizer import TokenizedTexts

# Ids of special tokens in XLM-R, which differ from those in its sentencepiece file.
FAIRSEQ_SPECIAL_IDS = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
# XLM-R's ids of all other tokens are those of the sentencepiece file plus this number.
FAIRSEQ_OFFSET = 1


class SentencepieceTokenizer:
    """A tokenizer of XLM-R or DeBERTa-v2 models, for model folders that have nothing but a sentencepiece
    file.

    Special tokens that are written in a text, such as `</s>`, become special tokens.
    """

    def __init__(self, file: Path, limit: int, model_type: str) -> None:
        self.limit = limit
        self.processor = load_sentencepiece(file)
        piece_count = self.processor.get_piece_size()
        if model_type == "xlm-roberta":
            self.id_offset = FAIRSEQ_OFFSET
            self.special_ids: Mapping[str, int] = {
                **FAIRSEQ_SPECIAL_IDS,
                "<mask>": piece_count + FAIRSEQ_OFFSET,
            }
            self.unknown_id = FAIRSEQ_SPECIAL_IDS["<unk>"]
            start, end, mask = "<s>", "</s>", "<mask>"
        elif model_type == "deberta-v2":
            self.id_offset = 0
            names = ("[PAD]", "[CLS]", "[SEP]", "[UNK]")
            self.special_ids = {name: self.processor.piece_to_id(name) for name in names}
            mask_id = self.processor.piece_to_id("[MASK]")
            is_mask_known = mask_id != self.processor.unk_id()
            # The published files lack [MASK], which the tokenizer adds after their last piece.
            self.special_ids["[MASK]"] = mask_id if is_mask_known else piece_count
            self.unknown_id = self.processor.unk_id()
            start, end, mask = "[CLS]", "[SEP]", "[MASK]"
        else:
            raise InputError(
                f"a model of type {model_type} has no tokenizer.json.",
                location=InputLocation(file=str(file)),
                remedy="Save its fast tokenizer with transformers in this folder.",
            )
        self.start_id = self.special_ids[start]
        self.end_id = self.special_ids[end]
        names_pattern = "|".join(map(re.escape, self.special_ids))
        # The mask token takes the spaces before it, the others none.
        self._special_token = re.compile(rf"(\s*{re.escape(mask)}|{names_pattern})")

    def __call__(self, texts: Sequence[str]) -> TokenizedTexts:
        """Return the token ids of texts, at most `limit` for each text including special tokens."""
        sequences = []
        truncated = np.zeros(len(texts), np.bool_)
        longest_text = self.limit - 2
        for number, text in enumerate(texts):
            ids = self._tokenize_without_special_tokens(text)
            truncated[number] = len(ids) > longest_text
            sequences.append([self.start_id, *ids[:longest_text], self.end_id])
        return TokenizedTexts.from_token_sequences(sequences, truncated)

    def find_special_token_id(self, *token_names: str) -> int:
        """Return the id of the first of the named special tokens that the tokenizer knows; raise an error if
        it knows none.
        """
        for token in token_names:
            if token in self.special_ids:
                return self.special_ids[token]
        raise InputError(f"the tokenizer has none of the tokens {', '.join(token_names)}.")

    def _tokenize_without_special_tokens(self, text: str) -> list[int]:
        """Return the token ids of a text, without start and end tokens."""
        ids: list[int] = []
        for part in self._special_token.split(text):
            special_id = self.special_ids.get(part.lstrip())
            if special_id is not None:
                ids.append(special_id)
                continue
            for piece_id in self.processor.encode(part):
                is_unknown = piece_id == self.processor.unk_id()
                ids.append(self.unknown_id if is_unknown else piece_id + self.id_offset)
        return ids
