"""Answers of a language model, stored so that no request is sent twice."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import asdict
from pathlib import Path

from metassay.errors import InputError, InputLocation
from metassay.llm.requests import Answer


class AnswerCache:
    """Stores the answers of a language model in memory and in a file, so that no request is sent twice."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._answers: dict[str, Answer] = {}
        self._ends_in_partial_line = False
        if path is not None and path.exists():
            lines = _read_answer_lines(path)
            self._ends_in_partial_line = bool(lines[-1])
            for line in lines:
                self._add_answer_from_line(line)

    def get_stored_answer(self, request_hash: str) -> Answer | None:
        """Return the stored answer to the request with this hash; None if there is none."""
        return self._answers.get(request_hash)

    def store_answer(self, request_hash: str, answer: Answer) -> None:
        """Store an answer in memory and append it to the file."""
        with self._lock:
            self._answers[request_hash] = answer
            if self._path is None:
                return
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                if self._ends_in_partial_line:
                    file.write("\n")
                file.write(json.dumps({"key": request_hash, **asdict(answer)}) + "\n")
                file.flush()
                os.fsync(file.fileno())
            self._ends_in_partial_line = False

    def _add_answer_from_line(self, line: str) -> None:
        """Load one line of the file into memory. A line that an interrupted run left incomplete is
        ignored.
        """
        try:
            entry = json.loads(line)
            key = entry.pop("key")
            self._answers[key] = Answer(**entry)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return  # the last line of an interrupted run may be cut short


def _read_answer_lines(path: Path) -> list[str]:
    try:
        return path.read_bytes().decode("utf-8", "replace").split("\n")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(
            f"the answers cannot be read ({reason}).", location=InputLocation(file=str(path))
        ) from None
