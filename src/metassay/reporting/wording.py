r"""Writes numbers and lists as text, and sentences in which a page can emphasise names of metrics and
contexts.

>>> format_percent(0.9134), format_percent_interval(0.9012, 0.9249)
('91\u202f%', '90–92')
>>> join_names(["news", "social", "speech"])
'news, social and speech'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Protocol

from metassay.tasks import load_tasks
from metassay.tasks.base import Task

THIN_SPACE = "\u202f"
DASH = "–"
# Written in place of a value that is missing.
NO_VALUE = "—"
PERTURBED_PAIRS = "perturbed pairs"
HUMAN_PAIRS = "human pairs"
_PAIR_PHRASES = {"rule": PERTURBED_PAIRS, "model": PERTURBED_PAIRS, "people": HUMAN_PAIRS}


def find_installed_task(task_name: str | None) -> Task | None:
    """Find a task, such as translation, by its name. None if it belongs to a plug-in that is not
    installed.
    """
    return load_tasks().get(task_name or "")


@dataclass(frozen=True)
class Span:
    """A part of a sentence that has its own format, for example the name of a metric.

    `kind` is empty, `metric`, `context`, `column`, `figure`, `cite`, `note` (the name of a footnote) or
    `link ANCHOR`.
    """

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Sentence:
    """A sentence that consists of parts, so that a page can emphasise the names of metrics and contexts."""

    spans: tuple[Span, ...]

    def __str__(self) -> str:
        return "".join(span.text for span in self.spans if span.kind != "note")


def format_sentence(pattern: str, /, **values: object) -> Sentence:
    """Fill the fields of a pattern such as `"{best:metric} is right in {share} of pairs."`.

    The part after the colon is the span's kind. A value may itself be a `Sentence`.
    """
    spans: list[Span] = []
    for literal, field, kind, _ in Formatter().parse(pattern):
        spans.append(Span(literal))
        if field is not None:
            value = values[field]
            spans.extend(value.spans if isinstance(value, Sentence) else [Span(str(value), kind or "")])
    # The parser yields an empty literal between two fields.
    return Sentence(tuple(span for span in spans if span.text))


def join_phrases(phrases: Sequence[Sentence], *, last: str = " and ") -> Sentence:
    """Join phrases as in a sentence, such as `a, b and c`."""
    spans: list[Span] = []
    for position, part in enumerate(phrases):
        if position:
            spans.append(Span(last if position == len(phrases) - 1 else ", "))
        spans.extend(part.spans)
    return Sentence(tuple(spans))


def list_names(names: Sequence[str], span_kind: str, *, at_most: int = 4) -> Sentence:
    """Join names as in a sentence, such as `a, b and 3 more`, and mark them as names of metrics or contexts.
    At most `at_most` names are listed.
    """
    shown = [Sentence((Span(name, span_kind),)) for name in names[:at_most]]
    if len(names) > at_most:
        shown.append(Sentence((Span(f"{len(names) - at_most} more"),)))
    return join_phrases(shown)


def join_names(names: Sequence[str]) -> str:
    """Join names as in a sentence, such as `a, b and c`."""
    return str(join_phrases([Sentence((Span(str(name)),)) for name in names]))


def join_first_names(names: Sequence[str], maximum: int) -> str:
    """Join the first names with commas and count the rest, as in `a, b and 3 more`."""
    more = f" and {len(names) - maximum} more" if len(names) > maximum else ""
    return ", ".join(names[:maximum]) + more


def format_percent(share: float | None, *, digits: int = 0) -> str:
    """Write a share in per cent, such as `91 %`. One more decimal is written if the share would be rounded to
    0 or 100 %.
    """
    if share is None:
        return NO_VALUE
    return f"{_format_share_as_percent_number(share, digits)}{THIN_SPACE}%"


def format_percent_interval(low: float | None, high: float | None, *, digits: int = 0) -> str:
    """Write an interval of shares in per cent without the sign, such as `90–92`."""
    if low is None or high is None:
        return NO_VALUE
    return (
        f"{_format_share_as_percent_number(low, digits)}{DASH}{_format_share_as_percent_number(high, digits)}"
    )


def choose_decimals_for_percentage(low: float | None, high: float | None) -> int:
    """Choose the number of decimals of a percentage: one if its interval is narrower than 1.75 percentage
    points, else none.
    """
    return 1 if low is not None and high is not None and high - low < 0.0175 else 0


def _format_share_as_percent_number(share: float, digits: int) -> str:
    # Rounded before the multiplication, so that .955 is 95 % in a sentence where a table has 0.95.
    text = f"{100 * round(share, digits + 2):.{digits}f}"
    if 0 < abs(share) < 1 and abs(float(text)) in {0.0, 100.0} and digits < 2:
        text = f"{100 * round(share, digits + 3):.{digits + 1}f}"
    return text.replace("-", "−")


def format_count(number: float | None) -> str:
    """Write a count with commas between thousands: `12,345`."""
    return NO_VALUE if number is None else f"{round(number):,}"


def format_number(value: float | None, *, digits: int = 2) -> str:
    """Write a number with a fixed number of decimals and a typographic minus sign: `−0.40`."""
    # Adding 0.0 turns -0.0 into 0.0.
    return NO_VALUE if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def choose_decimals_for_scores(intervals: Iterable[tuple[float | None, float | None]]) -> int:
    """Choose the number of decimals of scores between 0 and 1: three if an interval is narrower than .03,
    else two.
    """
    widths = [high - low for low, high in intervals if low is not None and high is not None and high > low]
    return 3 if widths and min(widths) < 0.03 else 2


def format_p_value(p_value: float | None) -> str:
    """Write a p-value with three decimals: `.023`, or `< .001`."""
    if p_value is None:
        return NO_VALUE
    return "< .001" if p_value < 0.001 else f"{p_value:.3f}".replace("0.", ".", 1)


def narrow_spaces_before_percent_signs(text: str) -> str:
    """Replace the space before each per cent sign by a narrow space, at which lines do not break."""
    return text.replace(" %", f"{THIN_SPACE}%")


def format_plural(number: int, noun: str) -> str:
    """Write a number with its noun in the right form, such as `1 context` or `4 contexts`."""
    return f"{format_count(number)} {noun if number == 1 else noun + 's'}"


def name_pairs_by_origin(origin_of_pairs: str) -> str:
    """Return the words for the pairs of outputs of an assay by how they were made: `perturbed pairs`, `human
    pairs`, or just `pairs`.
    """
    return _PAIR_PHRASES.get(origin_of_pairs, "pairs")


class HasAccuracy(Protocol):
    """Any result that has the accuracy of a metric with its 95 % interval. An undefined number is None."""

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
    """Write an accuracy with its interval, such as `78 % (75–80)`."""
    digits = choose_decimals_for_percentage(accuracy.low, accuracy.high)
    text = format_percent(accuracy.accuracy, digits=digits)
    if accuracy.low is None:
        return text
    return f"{text} ({format_percent_interval(accuracy.low, accuracy.high, digits=digits)})"
