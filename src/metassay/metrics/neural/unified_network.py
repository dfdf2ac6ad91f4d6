"""Models that read output, source and reference as one: UniTE, Kiwi (Wan et al., Rei et al., 2022), XCOMET.

XCOMET (Guerreiro et al., 2024) marks errors, too, and counts them into its score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.metrics.base import Batch
from metassay.metrics.neural.base import Case, Made, NeuralMetric, each, once
from metassay.metrics.neural.checkpoints import require_torch
from metassay.metrics.neural.comet_network import UNIFIED, XCOMET, CometFiles, CometNetwork, find_comet_files
from metassay.metrics.neural.token_batches import TokenBatch, Tokens
from metassay.metrics.shared_work import SharedWork

if TYPE_CHECKING:
    from torch import Tensor

INPUTS = {"src": (0, 1), "ref": (0, 2), "all": (0, 1, 2)}
"""Which parts of a case (output, source, reference) each input is made of."""
SPAN_WEIGHTS = {"src": 0.1667, "ref": 0.3333, "all": 0.5}
SCORE_WEIGHTS = {"src": 0.12, "ref": 0.33, "all": 0.33}
MQM_WEIGHT = 0.22
SEVERITIES = ("", "minor", "major", "critical")
PENALTIES = {"minor": 1, "major": 5, "critical": 10}


@dataclass(frozen=True)
class Span:
    """An error in an output: characters `start` to `end`."""

    start: int
    end: int
    severity: str


class Reading(NamedTuple):
    """What the model says to one input: a score, and how likely each tag of its output's tokens is."""

    score: float
    cut: bool
    tags: NDArray[np.float32]


_NO_TAGS = np.empty((0, len(SEVERITIES)), np.float32)


def cut_inputs(found: Mapping[str, Sequence[Reading]]) -> int:
    """How many inputs were cut."""
    return sum(one.cut for readings in found.values() for one in readings)


class UnifiedNetwork(CometNetwork):
    """A model that reads segments joined: a score from the first position, and maybe tags of tokens."""

    def __init__(self, files: CometFiles, dtype: str = "float32", *, sparsemax: bool | None = None) -> None:
        super().__init__(files, dtype, sparsemax=sparsemax)
        if self.config["model_type"] not in {"xlm-roberta", "xlm-roberta-xl"}:
            raise InputError(f"a unified model on {self.config['model_type']} is not supported.")
        self.first, self.last = self.tokenizer.id("<s>"), self.tokenizer.id("</s>")
        self.tags = None
        if self.kind == XCOMET:
            device = self.batches.device
            self.tags = tuple(
                self.state[f"hidden2tag.{part}"].float().to(device) for part in ("weight", "bias")
            )

    def read(
        self, cases: Sequence[Case], inputs: Sequence[str], shared: SharedWork
    ) -> dict[str, list[Reading]]:
        """What the model says to each case by each input; of inputs of one piece, each is read once."""
        return {
            name: each(
                shared,
                (self, name),
                [tuple(str(case[part]) for part in INPUTS[name]) for case in cases],
                lambda fresh: self._readings(*self.sequences(fresh, shared)),
            )
            for name in inputs
        }

    def mean(self, cases: Sequence[Case], inputs: Sequence[str], shared: SharedWork) -> Made:
        """The mean of the regression scores of several inputs."""
        found = self.read(cases, inputs, shared)
        scores = np.mean([[one.score for one in found[name]] for name in inputs], axis=0)
        return Made(scores, cut_inputs(found), self.positions)

    def spans(
        self, cases: Sequence[Case], found: Mapping[str, Sequence[Reading]], shared: SharedWork
    ) -> list[list[Span]]:
        """The spans that the mixed tag probabilities of all inputs mark."""
        outputs = each(shared, (self, "offsets"), [case[0] for case in cases], self.tokenizer.with_offsets)
        mixed = [np.zeros((len(ids), len(SEVERITIES))) for ids, _ in outputs]
        for name, readings in found.items():
            weight = np.float32(SPAN_WEIGHTS[name] if len(found) > 1 else 1.0)
            for own, reading in zip(mixed, readings):
                own[:] += (weight * reading.tags[: len(own)]).astype(np.float32)
        return [_spans(own.argmax(1), offsets) for own, (_, offsets) in zip(mixed, outputs)]

    def sequences(self, inputs: Sequence[tuple[str, ...]], shared: SharedWork) -> tuple[Tokens, list[int]]:
        """The ids of each input's segments joined, and how many tokens its output has."""
        texts = sorted({text for own in inputs for text in own})
        ids = dict(zip(texts, each(shared, (self, "ids"), texts, self._segments)))
        joint = [
            joined([ids[text][0] for text in own], self.pad, self.positions, first=self.first, last=self.last)
            for own in inputs
        ]
        cut = [
            any(ids[text][1] for text in own)
            or (len(made) == self.positions and sum(len(ids[text][0]) for text in own) > self.positions)
            for own, made in zip(inputs, joint)
        ]
        return Tokens.of(joint, np.array(cut, dtype=np.bool_)), [len(ids[own[0]][0]) for own in inputs]

    def _segments(self, texts: Sequence[str]) -> list[tuple[list[int], bool]]:
        tokens = self.tokenizer(texts)
        return [(tokens[number].tolist(), bool(cut)) for number, cut in enumerate(tokens.truncated)]

    def _readings(self, tokens: Tokens, lengths: Sequence[int]) -> list[Reading]:
        """The score of each input, and in XCOMET the probabilities of its output's tags."""
        if self.tags is None:
            scores = self.batches.rows(tokens, self._score, pad=self.pad).double().cpu().tolist()
            return [Reading(score, bool(cut), _NO_TAGS) for score, cut in zip(scores, tokens.truncated)]
        found: dict[int, Reading] = {}
        for texts, (score, probabilities) in self.batches.run(tokens, self._score_and_tags, pad=self.pad):
            tags = probabilities.cpu().numpy()
            for text, own, value in zip(texts.tolist(), tags, score.double().cpu().tolist()):
                found[text] = Reading(value, bool(tokens.truncated[text]), own[: lengths[text]].copy())
        return [found[number] for number in range(len(tokens))]

    def _score(self, batch: TokenBatch) -> Tensor:
        collect = self.mix.collector(batch, self.pad, first=True)
        self.hidden(batch, collect)
        return self.estimator(collect.result())[:, 0]  # type: ignore[misc]

    def _score_and_tags(self, batch: TokenBatch) -> tuple[Tensor, Tensor]:
        from torch.nn.functional import linear, softmax

        collect = self.mix.collector(batch, self.pad, first=True)
        seen: list[Tensor] = []
        wanted = int(self.settings["word_layer"])

        def see(k: int, states: Tensor) -> None:
            collect(k, states)
            if k == wanted:
                seen.append(softmax(linear(states.float(), *self.tags), dim=2))  # type: ignore[misc]

        self.hidden(batch, see)
        return self.estimator(collect.result())[:, 0], seen[0]  # type: ignore[misc]


def joined(segments: Sequence[Sequence[int]], pad: int, limit: int, *, first: int, last: int) -> list[int]:
    """Several segments as one input: `<s> a </s></s> b </s></s> c </s>`, cut at `limit` ids where too long.

    Each segment comes with its own special tokens, which are replaced; padding ids inside are dropped. COMET
    cuts only where the texts leave no room for 1 + 2·segments special tokens, and loses the final `</s>`.
    """
    bare = [[token for token in segment if token != pad][1:-1] for segment in segments]
    sequence = [first, *bare[0]]
    for segment in bare[1:]:
        sequence += [last, last, *segment]
    sequence.append(last)
    too_long = sum(map(len, bare)) > limit - (1 + 2 * len(bare))
    return sequence[:limit] if too_long else sequence


def _spans(tags: NDArray[np.int64], offsets: Sequence[tuple[int, int]]) -> list[Span]:
    """Stretches of tagged tokens, with the severity of their first; one still open at the end is dropped."""
    found: list[Span] = []
    start = end = severity = None
    for tag, (begins, ends) in zip(tags.tolist(), offsets):
        if tag and severity is None:
            start, end, severity = begins, ends, SEVERITIES[tag]
        elif tag:
            end = ends
        elif severity is not None and start is not None and end is not None:
            found.append(Span(start, end, severity))
            severity = None
    return found


def mqm_part(spans: Sequence[Span]) -> float:
    """(25 − min(25, Σ penalties)) / 25, where minor, major and critical errors cost 1, 5 and 10."""
    return (25 - min(25, sum(PENALTIES[span.severity] for span in spans))) / 25


@once
def load_unified(model: str, encoder: str | None, dtype: str, sparsemax: bool | None) -> UnifiedNetwork:
    """A unified or XCOMET model."""
    files = find_comet_files(model, encoder)
    if files.kind not in {UNIFIED, XCOMET}:
        raise InputError(f"{model} is a {files.kind}, not a unified model.", remedy="Use comet or comet_qe.")
    return UnifiedNetwork(files, dtype, sparsemax=sparsemax)


@dataclass(frozen=True)
class Unite(NeuralMetric):
    """UniTE: the mean of three readings of one model: output with source, with reference, with both."""

    model: str = "Unbabel/unite-mup"
    encoder: str | None = None
    """The folder or name of the encoder whose tokenizer is used; by default the one the checkpoint names."""
    sparsemax: bool | None = None
    """Override how layers are mixed; by default softmax, with which published models were trained."""

    name: ClassVar[str] = "unite"
    title: ClassVar[str] = "UniTE"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source", "references"})
    summary: ClassVar[str] = "UniTE: mean of SRC, REF and both (needs a downloaded model)"
    oracle: ClassVar[str] = "unbabel-comet 2.2.7"
    inputs: ClassVar[tuple[str, ...]] = ("src", "ref", "all")

    def load(self) -> UnifiedNetwork:
        """The network."""
        return load_unified(self.model, self.encoder, self.dtype, self.sparsemax)  # type: ignore[no-any-return]

    def hashes(self) -> Mapping[str, str]:
        """Hashes of the checkpoint and of the encoder's tokenizer."""
        return find_comet_files(self.model, self.encoder).hashes()

    def cases(self, model: UnifiedNetwork, cases: Sequence[Case], shared: SharedWork) -> Made:
        """The mean over the inputs."""
        return model.mean(cases, self.inputs, shared)


@dataclass(frozen=True)
class UniteSource(Unite):
    """UniTE on output and source alone."""

    name: ClassVar[str] = "unite_src"
    title: ClassVar[str] = "UniTE-SRC"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "UniTE, source alone (needs a downloaded model)"
    inputs: ClassVar[tuple[str, ...]] = ("src",)


@dataclass(frozen=True)
class UniteReference(Unite):
    """UniTE on output and reference alone."""

    name: ClassVar[str] = "unite_ref"
    title: ClassVar[str] = "UniTE-REF"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "references"})
    summary: ClassVar[str] = "UniTE, reference alone (needs a downloaded model)"
    inputs: ClassVar[tuple[str, ...]] = ("ref",)


@dataclass(frozen=True)
class XComet(Unite):
    """XCOMET: 0.12 SRC + 0.33 REF + 0.33 both + 0.22 of the score that its own error spans give by MQM."""

    model: str = "Unbabel/XCOMET-XL"

    name: ClassVar[str] = "xcomet"
    title: ClassVar[str] = "XCOMET"
    summary: ClassVar[str] = "XCOMET, which also marks errors (needs a downloaded model)"

    def cases(self, model: UnifiedNetwork, cases: Sequence[Case], shared: SharedWork) -> Made:
        """Regression scores, clipped at 1 from above, and the MQM part."""
        found = model.read(cases, self.inputs, shared)
        total = sum(SCORE_WEIGHTS.values())
        weights = SCORE_WEIGHTS if len(self.inputs) > 1 else {self.inputs[0]: total}
        scores = {name: np.array([one.score for one in found[name]]) for name in self.inputs}
        regression = sum(weights[name] * np.minimum(scores[name], 1.0) for name in self.inputs)
        marked = np.array([mqm_part(own) for own in model.spans(cases, found, shared)])
        return Made(regression + MQM_WEIGHT * marked, cut_inputs(found), model.positions)

    def spans(self, batch: Batch) -> list[list[Span]]:
        """The errors that the model marks in each output, against its first reference."""
        require_torch()
        sources = batch["source"]
        references = batch.references if "references" in self.needs else [(None,)] * len(batch)
        cases = [(text, source, own[0]) for text, source, own in zip(batch.output, sources, references)]
        model, shared = self.load(), SharedWork()
        return model.spans(cases, model.read(cases, self.inputs, shared), shared)


@dataclass(frozen=True)
class XCometQE(XComet):
    """XCOMET without reference: 0.78 SRC + 0.22 of the score that its own error spans give by MQM."""

    name: ClassVar[str] = "xcomet_qe"
    title: ClassVar[str] = "XCOMET-QE"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "XCOMET without reference (needs a downloaded model)"
    inputs: ClassVar[tuple[str, ...]] = ("src",)


METRICS = (Unite, UniteSource, UniteReference, XComet, XCometQE)
