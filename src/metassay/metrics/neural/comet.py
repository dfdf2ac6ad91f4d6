"""COMET with and without a reference (Rei et al., 2020, 2022): each text encoded once, estimators on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.metrics.neural.base import Case, Made, NeuralMetric, Vectors, once
from metassay.metrics.neural.comet_network import (
    RANKING,
    REFERENCELESS,
    REGRESSION,
    UNIFIED,
    CometNetwork,
    find_comet_files,
)
from metassay.metrics.neural.token_batches import TokenBatch
from metassay.metrics.neural.unified_network import load_unified
from metassay.metrics.shared_work import SharedWork

if TYPE_CHECKING:
    from torch import Tensor

ESTIMATED = 4_096
"""Rows that an estimator reads at a time."""


class SeparateNetwork(CometNetwork):
    """A COMET model that encodes source, output and reference apart, so that each text is encoded once."""

    def vectors(self, texts: Sequence[str]) -> tuple[Tensor, NDArray[np.bool_]]:
        """The pooled vector of each text, float32 on the device, and which texts were cut."""
        return self.batches.text_rows(texts, self.tokenizer, self.pooled, pad=self.pad)

    def pooled(self, batch: TokenBatch) -> Tensor:
        """The pooled vector of each text of a batch."""
        collect = self.mix.collector(batch, self.pad)
        self.hidden(batch, collect)
        return collect.result()

    def score(self, cases: Sequence[Case], shared: SharedWork) -> Made:
        """Scores of cases, from the vectors of their distinct texts; nothing is read back before the end."""
        import torch

        columns = [
            [str(case[part]) for case in cases] for part, one in enumerate(cases[0]) if one is not None
        ]
        made = Vectors(shared, self, self.vectors, self.batches.moved)
        vectors, rows, cut = made.rows(columns)
        starts = range(0, len(cases), ESTIMATED)
        parts = [self._estimated(vectors, rows[:, start : start + ESTIMATED]) for start in starts]
        return Made(torch.cat(parts).double().cpu().numpy(), cut, self.tokenizer.limit)

    def _estimated(self, vectors: Tensor, rows: NDArray[np.int64]) -> Tensor:
        import torch

        with torch.inference_mode():
            own = [vectors[self.batches.moved(np.ascontiguousarray(row))] for row in rows]
            made = _distance_score(*own) if self.estimator is None else self.estimator(_features(*own))
            return made.reshape(-1)


def _features(output: Tensor, source: Tensor, reference: Tensor | None = None) -> Tensor:
    """What the estimator reads: products and distances beside the vectors; never the source itself with a
    reference.
    """
    import torch

    to_source = [output * source, (output - source).abs()]
    if reference is None:
        return torch.cat([output, source, *to_source], dim=1)
    to_reference = [output * reference, (output - reference).abs()]
    return torch.cat([output, reference, *to_reference, *to_source], dim=1)


def _distance_score(output: Tensor, source: Tensor, reference: Tensor) -> Tensor:
    """1 / (1 + harmonic mean of the distances to source and reference), as ranking models score."""
    from torch.nn.functional import pairwise_distance

    to_source, to_reference = pairwise_distance(output, source), pairwise_distance(output, reference)
    return 1 / (1 + 2 * to_source * to_reference / (to_source + to_reference))


@once
def load_separate(model: str, encoder: str | None, dtype: str) -> Any:
    """A COMET model that reads texts apart, or a unified one (Kiwi), which reads them together."""
    files = find_comet_files(model, encoder)
    return (
        load_unified(model, encoder, dtype, None) if files.kind == UNIFIED else SeparateNetwork(files, dtype)
    )


@dataclass(frozen=True)
class _Comet(NeuralMetric):
    """Shared by COMET with and without reference."""

    encoder: str | None = None
    """The folder or name of the encoder whose tokenizer is used; by default the one the checkpoint names."""

    oracle: ClassVar[str] = "unbabel-comet 2.2.7"
    kinds: ClassVar[frozenset[str]] = frozenset()

    def load(self) -> Any:
        """The network."""
        found = load_separate(self.model, self.encoder, self.dtype)
        if found.kind not in self.kinds:
            raise InputError(
                f"{self.model} is a {found.kind}, which {self.name} cannot score.",
                remedy="Use comet, comet_qe, unite, unite_src, unite_ref, xcomet or xcomet_qe, as fits it.",
            )
        return found

    def hashes(self) -> Mapping[str, str]:
        """Hashes of the checkpoint and of the encoder's tokenizer."""
        return find_comet_files(self.model, self.encoder).hashes()

    def cases(self, model: Any, cases: Sequence[Case], shared: SharedWork) -> Made:
        """The estimator's score of each case."""
        if model.kind == UNIFIED:
            return model.mean(cases, ("src",), shared)  # type: ignore[no-any-return]
        return model.score(cases, shared)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Comet(_Comet):
    """COMET: a regression on the vectors of output, source and reference. Several references: the mean."""

    model: str = "Unbabel/wmt22-comet-da"

    name: ClassVar[str] = "comet"
    title: ClassVar[str] = "COMET"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source", "references"})
    summary: ClassVar[str] = "COMET with source and reference (needs a downloaded model)"
    kinds: ClassVar[frozenset[str]] = frozenset({REGRESSION, RANKING})


@dataclass(frozen=True)
class CometQE(_Comet):
    """COMET without reference: the referenceless regression, or CometKiwi."""

    model: str = "Unbabel/wmt22-cometkiwi-da"

    name: ClassVar[str] = "comet_qe"
    title: ClassVar[str] = "COMET-QE"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "COMET without reference, CometKiwi (needs a downloaded model)"
    kinds: ClassVar[frozenset[str]] = frozenset({REFERENCELESS, UNIFIED})


METRICS = (Comet, CometQE)
