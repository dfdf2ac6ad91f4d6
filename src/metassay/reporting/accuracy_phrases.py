"""Accuracies in words: `78 % (75–80)`, `91 % of perturbed pairs (95 % interval 90–92)`."""

from __future__ import annotations

from typing import Protocol

from metassay.reporting.wording import (
    Sentence,
    choose_percent_digits,
    find_task,
    format_percent,
    format_percent_interval,
    format_sentence,
)


class HasAccuracy(Protocol):
    """A result with the accuracy of a metric and its 95 % interval; None where they are undefined."""

    @property
    def accuracy(self) -> float | None:
        """How often the metric prefers the better output."""

    @property
    def low(self) -> float | None:
        """Lower end of the 95 % interval of the accuracy."""

    @property
    def high(self) -> float | None:
        """Upper end of the 95 % interval of the accuracy."""


def format_accuracy(accuracy: HasAccuracy) -> str:
    """Write an accuracy with its interval: `78 % (75–80)`."""
    digits = choose_percent_digits(accuracy.low, accuracy.high)
    text = format_percent(accuracy.accuracy, digits=digits)
    if accuracy.low is None:
        return text
    return f"{text} ({format_percent_interval(accuracy.low, accuracy.high, digits=digits)})"


def format_share_of_pairs(accuracy: HasAccuracy, pairs_phrase: str) -> Sentence:
    """Write an accuracy as a share of pairs: `91 % of perturbed pairs (95 % interval 90–92)`."""
    digits = choose_percent_digits(accuracy.low, accuracy.high)
    share = format_percent(accuracy.accuracy, digits=digits)
    if accuracy.low is None:
        return format_sentence("{share} of {pairs}", share=share, pairs=pairs_phrase)
    return format_sentence(
        "{share:figure} of {pairs}{note:note} (95\u202f% interval {range:figure})",
        share=share,
        pairs=pairs_phrase,
        note="accuracy",
        range=format_percent_interval(accuracy.low, accuracy.high, digits=digits),
    )


def describe_metric_ability(task_name: str) -> str:
    """Say what a good metric for a task does: `tells a better translation from a worse one`."""
    task = find_task(task_name)
    noun = "output" if task is None else task.output_noun
    return f"tells a better {noun} from a worse one"
