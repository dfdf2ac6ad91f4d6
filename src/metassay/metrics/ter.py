"""Translation edit rate (Snover et al., 2006) with sacrebleu's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.metrics.base import Batch, Parameters, Scores, StatisticsMetric
from metassay.metrics.batch_tokens import (
    get_distinct_texts,
    tokenize_texts_into_words,
    warn_if_language_has_no_spaces,
)
from metassay.metrics.kernels.ter import count_ter_edits
from metassay.metrics.kernels.text_arrays import TokenSequences
from metassay.metrics.sacrebleu_signature import build_sacrebleu_signature
from metassay.metrics.scoring_inputs import find_distinct_inputs
from metassay.results.official_score import OfficialScore
from metassay.text.languages import get_base_language

# Languages that sacrebleu's tokeniser for TER can split into characters.
_CHARACTER_LANGUAGES = frozenset({"zh", "yue", "ja"})


@dataclass(frozen=True)
class TranslationEditRate(StatisticsMetric):
    """TER: number of edits per word of the reference, in per cent. Moving a sequence of words counts as one
    edit.

    Statistics: the fewest edits over the references, and the mean length of these. With an empty reference
    the rate is 100 for any output that is not empty. Equals `sacrebleu.TER`.

    `normalized` and `asian_support` are off unless they are set, but on for data in Chinese and Japanese,
    which they split into characters.
    """

    normalized: bool | None = None
    no_punct: bool = False
    asian_support: bool | None = None
    case_sensitive: bool = False

    name: ClassVar[str] = "ter"
    title: ClassVar[str] = "TER"
    task: ClassVar[str] = "mt"
    higher_is_better: ClassVar[bool] = False
    oracle: ClassVar[str] = "sacrebleu 2.6.0"
    summary: ClassVar[str] = "edits and shifts per reference word (sacrebleu)"

    def get_parameters_for_language(self, language: str | None) -> Parameters:
        """Return the values of all parameters. Unless the user set them, `normalized` and `asian_support`
        depend on the language.
        """
        is_asian = get_base_language(language) in _CHARACTER_LANGUAGES
        settings = super().get_parameters_for_language(language)
        if self.normalized is None:
            settings["normalized"] = is_asian
        if self.asian_support is None:
            settings["asian_support"] = is_asian
        return settings

    def statistics(self, batch: Batch) -> Scores:
        """Return, for each output, the lowest number of edits over its references, and the mean length of the
        references.
        """
        settings = self.get_parameters_for_language(self.choose_language_for_parameters(batch))
        if not settings["asian_support"]:
            warn_if_language_has_no_spaces(self, batch.language)
        tokens = batch.compute_once(
            ("ter tokens", *settings.values()), lambda: _tokenize_for_ter(batch, settings)
        )
        inputs = find_distinct_inputs(batch)
        single_inputs = inputs.pair_outputs_with_each_reference()
        edits = count_ter_edits(tokens.ids, tokens.offsets, single_inputs.outputs, single_inputs.references)
        lengths = np.diff(tokens.offsets)[single_inputs.references]
        edits_and_lengths = np.column_stack([edits, lengths]).astype(np.float64)
        edits_and_lengths = single_inputs.restore_input_order(edits_and_lengths)
        starts = single_inputs.input_offsets[:-1]
        fewest_edits = np.minimum.reduceat(edits_and_lengths[:, 0], starts)
        length_sums = np.add.reduceat(edits_and_lengths[:, 1], starts)
        mean_lengths = length_sums / np.diff(single_inputs.input_offsets)
        return np.column_stack([fewest_edits, mean_lengths])[inputs.input_of_row]

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute the number of edits per reference word, in per cent."""
        edits, length = np.moveaxis(statistics, -1, 0)
        rate = np.where(length > 0, edits / np.where(length > 0, length, 1), edits > 0)
        score: Scores = 100 * rate
        return score

    def describe_score_like_sacrebleu(self, statistics: Scores, reference_count: int) -> OfficialScore | None:
        """Return sacrebleu's signature, the number of edits and the length of the references. None if
        sacrebleu has no such score.
        """
        from sacrebleu.metrics.ter import TER

        signature = build_sacrebleu_signature(self, TER, reference_count)
        if signature is None:
            return None
        edits, length = statistics.tolist()
        return OfficialScore(name="TER", signature=signature, edits=edits, reference_length=length)


def _tokenize_for_ter(batch: Batch, settings: Parameters) -> TokenSequences:
    """Split the distinct texts of a batch at white space, after the preprocessing that the settings ask
    for.
    """
    if settings["normalized"] or settings["no_punct"]:
        from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

        tokenizer = TercomTokenizer(**{name: bool(value) for name, value in settings.items()})
        texts = [tokenizer(text.rstrip()) for text in find_distinct_inputs(batch).texts]
    else:
        texts = list(get_distinct_texts(batch, lowercase=not settings["case_sensitive"]))
    tokens, _ = tokenize_texts_into_words(texts)
    return tokens
