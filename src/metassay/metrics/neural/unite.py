"""UniTE (Wan et al., 2022): one network that reads the output with source, reference or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from metassay.errors import InputError
from metassay.metrics.base import Batch
from metassay.metrics.neural.base import (
    NetworkInput,
    NetworkScores,
    NeuralMetric,
    build_inputs_with_first_reference,
)
from metassay.metrics.neural.checkpoints import require_torch
from metassay.metrics.neural.comet_checkpoint import find_comet_files
from metassay.metrics.neural.unified_network import (
    FULL_INPUT,
    REFERENCE_INPUT,
    SOURCE_INPUT,
    ErrorSpan,
    UnifiedNetwork,
    load_unified_comet_model,
)
from metassay.metrics.shared_cache import SharedCache


@dataclass(frozen=True)
class UnifiedMetric(NeuralMetric[UnifiedNetwork]):
    """Base class of UniTE and XCOMET. Their networks read output, source and reference as one text."""

    encoder: str | None = None
    """The folder or name of the encoder whose tokenizer is used; by default the one the checkpoint names."""
    sparsemax: bool | None = None
    """Override how layers are mixed; by default softmax, with which published models were trained."""

    oracle: ClassVar[str] = "unbabel-comet 2.2.7"
    input_kinds: ClassVar[tuple[str, ...]] = (SOURCE_INPUT, REFERENCE_INPUT, FULL_INPUT)
    """What the output is joined with."""

    def load_neural_network(self) -> UnifiedNetwork:
        """Load the model; raise an error if it was trained without references but the metric needs them."""
        network = load_unified_comet_model(self.model, self.encoder, self.dtype, self.sparsemax)
        needs_reference = any(kind != SOURCE_INPUT for kind in self.input_kinds)
        if needs_reference and not network.was_trained_with_references:
            raise InputError(
                f"{self.model} was trained without references, but {self.name} uses references.",
                remedy="Use comet_qe or unite_src with this model.",
            )
        return network

    def find_error_spans(self, batch: Batch) -> list[list[ErrorSpan]]:
        """Return the errors that the model marks in each output. Of several references, the model sees the
        first.

        Raises an error if the model predicts scores only.
        """
        require_torch()
        inputs = build_inputs_with_first_reference(batch, self.needs)
        return self.load_neural_network().find_error_spans(inputs, self.input_kinds, SharedCache())

    def hash_model_files(self) -> dict[str, str]:
        """Return hashes of the model file and of the tokenizer, which identify the model."""
        return find_comet_files(self.model, self.encoder).hash_model_files()


@dataclass(frozen=True)
class Unite(UnifiedMetric):
    """UniTE: mean of three scores of an output, which is compared with the source, with the reference, and
    with both.
    """

    model: str = "Unbabel/unite-mup"

    name: ClassVar[str] = "unite"
    title: ClassVar[str] = "UniTE"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source", "references"})
    summary: ClassVar[str] = "UniTE: mean of SRC, REF and both (needs a downloaded model)"

    def score_inputs(
        self, network: UnifiedNetwork, inputs: Sequence[NetworkInput], shared_cache: SharedCache
    ) -> NetworkScores:
        """Compute the mean score of each input over the texts that its output is compared with, such as the
        source.
        """
        return network.average_scores_over_input_kinds(inputs, self.input_kinds, shared_cache)


@dataclass(frozen=True)
class UniteSource(Unite):
    """UniTE without references: the output is compared with the source only."""

    name: ClassVar[str] = "unite_src"
    title: ClassVar[str] = "UniTE-SRC"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "UniTE, source alone (needs a downloaded model)"
    input_kinds: ClassVar[tuple[str, ...]] = (SOURCE_INPUT,)


@dataclass(frozen=True)
class UniteReference(Unite):
    """UniTE without sources: the output is compared with the reference only."""

    name: ClassVar[str] = "unite_ref"
    title: ClassVar[str] = "UniTE-REF"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "references"})
    summary: ClassVar[str] = "UniTE, reference alone (needs a downloaded model)"
    input_kinds: ClassVar[tuple[str, ...]] = (REFERENCE_INPUT,)
