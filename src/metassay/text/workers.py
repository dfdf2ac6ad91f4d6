"""Slow pure-Python work on many texts, shared out over processes.

The helpers are started as `python -m metassay.text.workers`, so that the program that uses metassay is not
run again in each of them, as the standard library's process pools would.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

WORTH_A_PROCESS = 500
"""Texts per helper below which starting it costs more than it saves."""

Work = Callable[[list[str], str], list[Any]]


def map_texts(function: str, texts: Sequence[str], language: str, workers: int) -> list[Any]:
    """What `function`, named as `package.module:name`, makes of (texts, language); JSON-able, in order.

    The function must treat each text by itself, so that the result does not depend on the number of workers.
    """
    helpers = min(workers, len(texts) // WORTH_A_PROCESS)
    if helpers < 2:
        return _resolve(function)(list(texts), language)
    shares = [list(texts[i::helpers]) for i in range(helpers)]
    try:
        with ThreadPoolExecutor(helpers) as pool:
            parts = list(pool.map(lambda share: _in_helper(function, share, language), shares))
    except (OSError, subprocess.SubprocessError):
        return _resolve(function)(list(texts), language)  # no helpers can be had here
    results: list[Any] = [None] * len(texts)
    for i, part in enumerate(parts):
        results[i::helpers] = part
    return results


def _in_helper(function: str, texts: list[str], language: str) -> list[Any]:
    task = json.dumps({"function": function, "language": language, "texts": texts})
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "metassay.text.workers"]
    done = subprocess.run(command, input=task, text=True, capture_output=True, check=True, env=environment)  # noqa: S603
    results: list[Any] = json.loads(done.stdout)
    return results


def _resolve(function: str) -> Work:
    module, _, name = function.partition(":")
    work: Work = getattr(importlib.import_module(module), name)
    return work


def main() -> None:
    """One helper: a task on standard input, its results on standard output."""
    task = json.load(sys.stdin)
    json.dump(_resolve(task["function"])(task["texts"], task["language"]), sys.stdout)


if __name__ == "__main__":
    main()
