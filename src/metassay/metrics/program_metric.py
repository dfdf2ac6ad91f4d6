"""A program of the user, in any language, as a metric."""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from metassay.errors import InputError, InputLocation
from metassay.metrics.base import Batch, Parameters, Scores
from metassay.metrics.external import ExternalMetric

# Fields of each output that are sent to a program, where the data has them.
PROGRAM_FIELDS = ("output", "references", "source", "item", "system")
# Time that a program has for one batch of outputs.
TIMEOUT_SECONDS = 600.0


@dataclass(frozen=True)
class ProgramMetric(ExternalMetric):
    """A metric that runs a program of the user, in any language. It has the name of the program file.

    The program reads JSON lines, one object per output with `output, references, source, item, system` (those
    that the data has), and writes one line per output: a number, or `null` where there is no score.
    """

    path: str
    timeout: float = TIMEOUT_SECONDS

    needs: ClassVar[frozenset[str]] = frozenset({"output"})
    optional_fields: ClassVar[frozenset[str]] = frozenset(PROGRAM_FIELDS[1:])

    def __post_init__(self) -> None:
        if not Path(self.path).is_file():
            raise InputError("there is no such file.", location=InputLocation(self.path))
        if not is_executable_file(self.path):
            remedy = "Make it executable: chmod +x FILE. A Python metric is named FILE.py:NAME."
            raise InputError(
                "this is not an executable program.", location=InputLocation(self.path), remedy=remedy
            )
        object.__setattr__(self, "name", Path(self.path).stem)

    def get_parameters_for_language(self, language: str | None) -> Parameters:
        """Return what identifies the scores: a hash of the program file, and whether higher is better."""
        del language
        digest = hashlib.blake2b(Path(self.path).read_bytes(), digest_size=8).hexdigest()
        return {"program": digest, "higher_is_better": self.higher_is_better}

    def score(self, batch: Batch) -> Scores:
        """Send all outputs to the program and return the scores that it prints."""
        if len(batch) == 0:
            return np.empty(0)
        fields = [field for field in PROGRAM_FIELDS if field in batch.fields]
        rows = zip(*(batch[field] for field in fields))
        request = "".join(f"{json.dumps(dict(zip(fields, row)), ensure_ascii=False)}\n" for row in rows)
        answers = self._run_user_program(request).removesuffix("\n").split("\n")
        if len(answers) != len(batch):
            raise InputError(
                f"the program wrote {len(answers)} lines for {len(batch)} outputs.",
                location=InputLocation(self.path),
                remedy="It must write one line per input line: a number or null.",
            )
        return np.array(
            [self._parse_score_line(answer, line) for line, answer in enumerate(answers, start=1)]
        )

    def _run_user_program(self, standard_input: str) -> str:
        """Run the program with a text as its standard input. Returns what the program writes to standard
        output.
        """
        path = str(Path(self.path).resolve())
        try:
            completed = subprocess.run(  # noqa: S603 - the user's own program, named by the user, without a shell
                [path],
                input=standard_input.encode("utf-8", "replace"),
                capture_output=True,
                timeout=self.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InputError(
                f"the program did not answer within {self.timeout:g} seconds.",
                location=InputLocation(self.path),
                remedy="Compute the scores separately and pass them with metassay assay --scores.",
            ) from None
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InputError(
                f"the program cannot be run ({reason}).", location=InputLocation(self.path)
            ) from None
        if completed.returncode != 0:
            error_lines = completed.stderr.decode("utf-8", "replace").strip().splitlines()
            reason = f": {error_lines[-1]}" if error_lines else ""
            raise InputError(
                f"the program ended with status {completed.returncode}{reason}.",
                location=InputLocation(self.path),
            )
        return completed.stdout.decode("utf-8", "replace")

    def _parse_score_line(self, line_text: str, line_number: int) -> float:
        """Return the score in one line that the program wrote. The line `null` gives NaN."""
        if line_text.strip().lower() in {"null", "none", "nan"}:
            return math.nan
        try:
            score = float(line_text)
        except ValueError:
            score = math.inf
        if math.isinf(score):
            raise InputError(
                f"the program wrote {line_text[:60]!r} in line {line_number}, which is not a number.",
                location=InputLocation(self.path),
            )
        return score


def is_executable_file(path: str) -> bool:
    """Return whether a path is a file that can be executed."""
    try:
        return Path(path).is_file() and os.access(path, os.X_OK)
    except (OSError, ValueError):  # a name that no file can have
        return False
