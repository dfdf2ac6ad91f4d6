"""What a perturbation is: from an output and a random stream to a worse output, or to nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from metassay.perturb.view import View
from metassay.text.streams import Stream


class Perturbation(ABC):
    """One way to make an output worse.

    The stream depends only on (seed, item, text of the output, name), so equal outputs get equal copies,
    whatever the order, the shard, the number of workers or the other perturbations at work.
    """

    name: ClassVar[str]
    tasks: ClassVar[frozenset[str]]
    languages: ClassVar[frozenset[str] | None] = None
    """The target languages it knows; None for all that are written with spaces."""
    summary: ClassVar[str] = ""
    """One line for `metassay list perturbations`."""

    @abstractmethod
    def apply(self, view: View, stream: Stream) -> str | None:
        """The worse output, or None where this perturbation does not apply."""
