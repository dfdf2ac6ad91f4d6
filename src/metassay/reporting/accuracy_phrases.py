"""Accuracies in words: `78 % (75–80)`."""

from __future__ import annotations

from typing import Protocol

from metassay.reporting.wording import choose_percent_digits, format_percent, format_percent_interval


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
