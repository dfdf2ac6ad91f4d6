"""Accuracies in words: `78 % (75–80)`, `91 % of perturbed pairs (95 % interval 90–92)`."""

from __future__ import annotations

from typing import Protocol

from metassay.reporting.wording import Sentence, about, digits_for, interval, percent, sentence


class HasAccuracy(Protocol):
    """An accuracy with its 95 % interval; None where undefined."""

    @property
    def accuracy(self) -> float | None:
        """How often a metric prefers the better output."""

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""


def describe_accuracy(row: HasAccuracy) -> str:
    """Write an accuracy with its interval: `78 % (75–80)`."""
    digits = digits_for(row.low, row.high)
    text = percent(row.accuracy, digits=digits)
    if row.low is None:
        return text
    return f"{text} ({interval(row.low, row.high, digits=digits)})"


def describe_share(row: HasAccuracy, pairs: str) -> Sentence:
    """Write an accuracy as a share of pairs: `91 % of perturbed pairs (95 % interval 90–92)`."""
    digits = digits_for(row.low, row.high)
    share = percent(row.accuracy, digits=digits)
    if row.low is None:
        return sentence("{share} of {pairs}", share=share, pairs=pairs)
    return sentence(
        "{share:figure} of {pairs}{note:note} (95\u202f% interval {range:figure})",
        share=share,
        pairs=pairs,
        note="accuracy",
        range=interval(row.low, row.high, digits=digits),
    )


def describe_ability(task_name: str) -> str:
    """Say what a good metric does, for a task: `tells a better translation from a worse one`."""
    task = about(task_name)
    noun = "output" if task is None else task.output_noun
    return f"tells a better {noun} from a worse one"
