"""Texts: words, tokens, taggers, dictionaries; and slow work on many of them, shared out over processes.

On Linux a helper is a copy of this process: it has all dictionaries and all texts at once, is asked for tasks
by number, and ends with the work. Elsewhere it is started with a line of its own, so that the program that
uses metassay is not run again in it, as the standard library's process pools would. Answers are JSON.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from multiprocessing import Pipe
from queue import Empty, SimpleQueue
from typing import Any, ClassVar

WORTH_A_PROCESS = 50_000
"""Texts per helper below which starting it costs more than it saves: it takes a second to be ready."""
WORTH_A_COPY = 16_000
"""The same of a copy of this process: it is there at once, but learns anew what it meets."""
_MOST = 8
"""Helpers, whatever the number of workers: each holds what it learns of words, or dictionaries of its own."""
_AT_ONCE = 4096
_IDLE = 60
"""Seconds after which a helper that nobody asks ends."""


def map_texts(function: str, texts: Sequence[str], language: str, workers: int) -> list[Any]:
    """What `function`, named as `package.module:name`, makes of (texts, language); JSON-able, in order.

    The function must treat each text by itself, so that the result does not depend on the number of workers.
    """
    helpers = helpers_for(len(texts), workers)
    if not helpers:
        results: list[Any] = _resolve(function)(list(texts), language)
        return results
    count = -(-len(texts) // _AT_ONCE)
    found = dict(
        shared_out(
            function, count, lambda n: (list(texts[n * _AT_ONCE : (n + 1) * _AT_ONCE]), language), helpers
        )
    )
    return [own for number in range(count) for own in found[number]]


def can_copy() -> bool:
    """Whether a copy of this process can work beside it: on Linux, without the threads of Ray."""
    return sys.platform == "linux" and "ray" not in sys.modules


def helpers_for(texts: int, workers: int) -> int:
    """How many other processes are worth their start."""
    return min(workers - 1, texts // (WORTH_A_COPY if can_copy() else WORTH_A_PROCESS), _MOST)


def shared_out(
    function: str, count: int, task: Task, helpers: int, here: Work | None = None
) -> Iterator[tuple[int, Any]]:
    """The number of each task and what `function` makes of it, as they are done.

    `task` has what the function is given, by number; that and the results are JSON-able. `here` does the same
    in this process, where that takes less. This process works, too; helpers join it as soon as they are
    ready. What a helper is long in doing, cannot do or dies of is done here, so that an error is the
    function's own.
    """
    work: Work = here or (lambda number: _resolve(function)(*task(number)))
    waiting, done = deque(range(count)), SimpleQueue[tuple[int, Any]]()
    copies = _Copy.several(helpers, work) if can_copy() else []
    for helper in copies or _Helper.several(helpers):
        threading.Thread(target=helper.feed, args=(function, task, waiting, done), daemon=True).start()
    left, longest = set(range(count)), 0.0
    try:
        while left:
            try:
                number, found = done.get(timeout=0 if waiting else 2 * longest)
            except Empty:
                number = _next(waiting, left)
                started = time.perf_counter()
                found = work(number)
                longest = max(longest, time.perf_counter() - started)
            if number in left:
                left.remove(number)
                yield number, found
    finally:
        waiting.clear()
        for copy in copies:
            copy.end()


Task = Callable[[int], Sequence[Any]]
Work = Callable[[int], Any]


def _next(waiting: deque[int], left: Collection[int]) -> int:
    """A task that nobody has begun, else one that is not done."""
    try:
        return waiting.popleft()
    except IndexError:
        return min(left)


class _Copy:
    """A copy of this process, which does tasks by number; what it learns on the way is lost with it.

    It calls nothing but `work`, and must not need a thread: there are none in it but the one that was copied.
    Should it wait for a lock that another one held, whoever shares work out does not wait for it long.
    """

    def __init__(self, work: Work) -> None:
        self.pipe, own = Pipe()
        parent = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads that it lacks
            self.process = os.fork()
        if self.process:
            own.close()
            return
        with suppress(BaseException):
            os.setsid()  # an interrupt is for whoever asks
            ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
            gc.freeze()  # else looking for garbage would touch, and so copy, all memory
            while os.getppid() == parent:
                number = int(own.recv_bytes())
                answer: list[Any] = []
                with suppress(Exception):  # whoever asked does it, and sees the error
                    answer = [work(number)]
                own.send_bytes(json.dumps(answer).encode())
        os._exit(0)

    @classmethod
    def several(cls, count: int, work: Work) -> list[_Copy]:
        """So many copies, or as many as can be had."""
        found: list[_Copy] = []
        with suppress(OSError):
            found.extend(cls(work) for _ in range(count))
        return found

    def feed(
        self, _function: str, _task: Task, waiting: deque[int], done: SimpleQueue[tuple[int, Any]]
    ) -> None:
        """Have it do tasks while there are any."""
        with self.pipe, suppress(OSError, EOFError, IndexError):
            while True:
                number = waiting.popleft()
                self.pipe.send_bytes(b"%d" % number)
                if answer := json.loads(self.pipe.recv_bytes()):
                    done.put((number, answer[0]))

    def end(self) -> None:
        """Have it end at once."""
        with suppress(OSError):
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)


_DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG


class _Helper:
    """Another process at work, until nobody asks it any more."""

    running: ClassVar[list[_Helper]] = []
    starting: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        paths = os.pathsep.join(filter(None, sys.path))
        self.free = threading.Lock()
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from metassay.text import help_out; help_out()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"PYTHONPATH": paths},
            start_new_session=True,  # an interrupt is for whoever asks
        )

    @classmethod
    def several(cls, count: int) -> list[_Helper]:
        """So many helpers, or as many as can be had; those that are there are taken first."""
        with cls.starting:
            for helper in [each for each in cls.running if each.process.poll() is not None]:
                helper.end()
            with suppress(OSError):
                while len(cls.running) < count:
                    cls.running.append(cls())
            return cls.running[:count]

    def end(self) -> None:
        """Have it end at once."""
        self.running.remove(self)
        self.process.kill()
        with suppress(OSError), self.process:  # which closes its pipes, and waits
            pass

    @classmethod
    def end_all(cls) -> None:
        """Have all end at once."""
        for helper in cls.running.copy():
            helper.end()

    def feed(
        self, function: str, task: Task, waiting: deque[int], done: SimpleQueue[tuple[int, Any]]
    ) -> None:
        """Have it do tasks while there are any."""
        with self.free, suppress(OSError, ValueError, IndexError):
            self._ask(function)  # and so wait until it can begin
            while True:
                number = waiting.popleft()
                if answer := self._ask(function, *task(number)):
                    done.put((number, answer[0]))

    def _ask(self, *question: Any) -> list[Any]:
        """What it answers: a list of one, or of none where it could not."""
        asked, answers = self.process.stdin, self.process.stdout
        assert asked is not None
        assert answers is not None
        asked.write(f"{json.dumps(question)}\n")
        asked.flush()
        answer: list[Any] = json.loads(answers.readline())
        return answer


atexit.register(_Helper.end_all)


def _resolve(function: str) -> Callable[..., Any]:
    module, _, name = function.partition(":")
    work: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return work


def help_out() -> None:
    """One helper: each line on standard input is a question, each on standard output the answer to it."""
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever else is printed
    while select.select([sys.stdin], [], [], _IDLE)[0] and (question := sys.stdin.readline()):
        function, *task = json.loads(question)
        answer: list[Any] = []
        with suppress(Exception):  # whoever asked does it, and sees the error
            work = _resolve(function)
            answer = [work(*task)] if task else []
        print(json.dumps(answer), file=answers, flush=True)
