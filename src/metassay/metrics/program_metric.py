"""Metrics that run outside: programs of any language, and objects that compute like those of `evaluate`."""

from __future__ import annotations

import copy
import hashlib
import inspect
import json
import math
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from metassay import plugins
from metassay.errors import InputError, Place
from metassay.metrics.base import Batch, Metric, Scores

FIELDS = ("output", "references", "source", "item", "system")
"""What may be said of each output to whoever scores it."""
TIMEOUT = 600.0
"""Seconds that a program has for one batch of outputs (8,192 at most)."""
_KEYS = ("score", "scores", "mean_score", "f1")
"""Where objects with several results usually keep the one that counts."""


@dataclass(frozen=True)
class ExternalMetric(Metric):
    """A metric that is not ours: it is known by a name, and its direction may be set by the user."""

    task: ClassVar[str] = "any"
    can_share_cache: ClassVar[bool] = False

    @property
    def parameters(self) -> dict[str, Any]:
        """None: the name says it all."""
        return {}

    def with_direction(self, *, higher_is_better: bool) -> Self:
        """The same metric in the given direction."""
        return self._with(higher_is_better=higher_is_better)

    def _with(self, **attributes: Any) -> Self:
        made = copy.copy(self)
        for name, value in attributes.items():
            object.__setattr__(made, name, value)
        return made


@dataclass(frozen=True)
class ProgramMetric(ExternalMetric):
    """A program as a metric, under its file's name.

    It reads JSON lines, an object with `output, references, source, item, system` (those that the data has)
    for each output, and writes a line for each: a number, or `null` where there is no score.
    """

    path: str
    timeout: float = TIMEOUT

    needs: ClassVar[frozenset[str]] = frozenset({"output"})
    optional_fields: ClassVar[frozenset[str]] = frozenset(FIELDS[1:])

    def __post_init__(self) -> None:
        if not Path(self.path).is_file():
            raise InputError("there is no such file.", place=Place(self.path))
        if not is_executable_file(self.path):
            remedy = "Make it executable: chmod +x FILE. A Python metric is named FILE.py:NAME."
            raise InputError("this is no program that can be run.", place=Place(self.path), remedy=remedy)
        object.__setattr__(self, "name", Path(self.path).stem)

    def settings(self, language: str | None) -> dict[str, Any]:
        """The hash of the program, which is all that is known of it, and its direction."""
        del language
        digest = hashlib.blake2b(Path(self.path).read_bytes(), digest_size=8).hexdigest()
        return {"program": digest, "higher_is_better": self.higher_is_better}

    def score(self, batch: Batch) -> Scores:
        """What the program answers."""
        if len(batch) == 0:
            return np.empty(0)
        names = [name for name in FIELDS if name in batch.fields]
        columns = [batch[name] for name in names]
        lines = [json.dumps(dict(zip(names, row)), ensure_ascii=False) for row in zip(*columns)]
        answers = self._run("".join(f"{line}\n" for line in lines)).removesuffix("\n").split("\n")
        if len(answers) != len(batch):
            raise InputError(
                f"the program wrote {len(answers)} lines for {len(batch)} outputs.",
                place=Place(self.path),
                remedy="It must write one line for each it reads: a number, or null.",
            )
        return np.array([self._number(answer, line) for line, answer in enumerate(answers, start=1)])

    def _run(self, lines: str) -> str:
        path = str(Path(self.path).resolve())
        try:
            done = subprocess.run(  # noqa: S603 - the user's own program, named by the user, without a shell
                [path],
                input=lines.encode("utf-8", "replace"),
                capture_output=True,
                timeout=self.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InputError(
                f"the program did not answer within {self.timeout:g} seconds.",
                place=Place(self.path),
                remedy="Score the texts by themselves and bring the scores: see metassay assay --scores.",
            ) from None
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InputError(f"the program cannot be run ({reason}).", place=Place(self.path)) from None
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise InputError(
                f"the program ended with status {done.returncode}{': ' if said else ''}{''.join(said)}.",
                place=Place(self.path),
            )
        return done.stdout.decode("utf-8", "replace")

    def _number(self, answer: str, line: int) -> float:
        if answer.strip().lower() in {"null", "none", "nan"}:
            return math.nan
        try:
            number = float(answer)
        except ValueError:
            number = math.inf
        if math.isinf(number):
            raise InputError(
                f"the program wrote {answer[:60]!r} in line {line}, which is no number.",
                place=Place(self.path),
            )
        return number


def is_executable_file(path: str) -> bool:
    """Whether a path is a file that can be executed."""
    try:
        return Path(path).is_file() and os.access(path, os.X_OK)
    except (OSError, ValueError):  # a name that no file can have
        return False


@dataclass(frozen=True)
class ComputeMetric(ExternalMetric):
    """An object with `compute(predictions=…, references=…)`, as in Hugging Face `evaluate`, as a metric.

    Where it returns a list, that holds a score for each output; where it returns one number, it is called for
    each output alone. `key` says which of several results is meant. A reference is given as a text where each
    output has one, else as the list of them; sources are given where `compute` has a parameter for them.
    """

    thing: Any
    key: str | None = None
    lock: Any = field(default_factory=threading.Lock, repr=False, compare=False)
    """Such objects keep state while they compute."""

    is_cacheable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        name = getattr(self.thing, "name", None)
        known = name if isinstance(name, str) and name else type(self.thing).__name__
        needs = {"output", "references", *({"source"} if self._takes_sources() else ())}
        for attribute, value in {
            "name": known,
            "needs": frozenset(needs),
            "higher_is_better": bool(getattr(self.thing, "higher_is_better", True)),
        }.items():
            object.__setattr__(self, attribute, value)

    def settings(self, language: str | None) -> dict[str, Any]:
        """The hash of the object's source, the result that is read, and its direction."""
        del language
        source = plugins.hash_user_source(self.thing)
        return {"source": source, "key": self.key, "higher_is_better": self.higher_is_better}

    def score(self, batch: Batch) -> Scores:
        """A score for each output, from one call or from one call each."""
        if len(batch) == 0:
            return np.empty(0)
        single = all(len(own) == 1 for own in batch.references)
        columns: dict[str, list[Any]] = {
            "predictions": list(batch.output),
            "references": [own[0] if single else list(own) for own in batch.references],
        }
        if "source" in self.needs:
            columns["sources"] = list(batch["source"])
        with self.lock:
            probe = self._computed({name: values[:1] * 2 for name, values in columns.items()})
            if isinstance(probe, list):
                return self._numbers(self._computed(columns), len(batch))
            rows = ({name: [values[i]] for name, values in columns.items()} for i in range(len(batch)))
            return self._numbers([self._computed(row) for row in rows], len(batch))

    def _takes_sources(self) -> bool:
        for function in (getattr(self.thing, "_compute", None), self.thing.compute):
            if callable(function) and "sources" in inspect.signature(function).parameters:
                return True
        return False

    def _computed(self, columns: Mapping[str, Sequence[Any]]) -> Any:
        """One number, or a list of them, that the object computes."""
        found = self.thing.compute(**columns)
        if isinstance(found, Mapping):
            found = self._chosen(found, len(columns["predictions"]))
        return found.tolist() if isinstance(found, np.ndarray) else found

    def _chosen(self, results: Mapping[str, Any], size: int) -> Any:
        """The result that is meant: the one asked for, the only one, or the one under a usual name."""
        if self.key is None:
            lists = {name: value for name, value in results.items() if _is_list(value, size)}
            found = lists or {name: value for name, value in results.items() if isinstance(value, Real)}
            usual = next((name for name in (self.name, *_KEYS) if name in found), None)
            key = next(iter(found)) if len(found) == 1 else usual
        else:
            key = self.key
        if key is None or key not in results:
            raise InputError(
                f"{self.name} computes {', '.join(map(str, results))}; which is meant is not clear.",
                remedy=f'Name it: ComputeMetric({self.name}, key="…") of metassay.metrics.program_metric.',
            )
        return results[key]

    def _numbers(self, scores: Any, size: int) -> Scores:
        try:
            numbers = np.asarray([np.nan if score is None else score for score in scores], dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (size,):
            raise InputError(f"{self.name} did not compute a number for each of {size} outputs.")
        return numbers


def _is_list(value: Any, size: int) -> bool:
    """Whether a result is a list of numbers, one for each output."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) != size:
        return False
    return all(isinstance(one, Real) or one is None for one in value)
