"""The command line: parse, call one workflow, print."""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

INTERRUPT = 130
BROKEN_PIPE = 141
DEFECT = "This is a defect of metassay, not of your data. Please report it, with the lines above."
INTERRUPTED = "Interrupted. Finished parts are kept: run the same command with the same --out to go on."

MORE_MEMORY = "Give it more, or fewer outputs at a time (--where, --systems)."
_REFUSED_MEMORY = (
    "failed to map segment",
    "annot allocate memory",
    "can't start new thread",
    "emory allocation",
    "Unable to allocate",
    "out of memory",
    "Resource temporarily unavailable",
    "There is not enough memory",
)
_DIED_OF_IT = (*_REFUSED_MEMORY, "MemoryError", "Polars binary is missing")
"""What a process under a limit says that could not even raise; without one these words prove nothing."""
_LAST_WORDS = (
    "Traceback (most recent",
    "panicked at",
    "stack backtrace",
    "LLVM ERROR",
    "<jemalloc>:",
    "Exception ignored",
    *_DIED_OF_IT,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 our defect, 2 bad input or usage, 130 interrupted."""
    _open_closed_streams()
    if memory_limit() is not None:
        _watch_a_child()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # batch systems end jobs so
    status = run(sys.argv[1:] if arguments is None else list(arguments))
    if status == INTERRUPT:
        sys.stdout.flush()
        os._exit(status)  # threads may be busy for minutes; whatever is finished is already on disk
    sys.exit(status)


def run(arguments: list[str]) -> int:
    """Run one command and return its exit status."""
    from metassay.cli.app import command, usage_errors
    from metassay.errors import MetassayError

    warnings.showwarning = _show_warning  # type: ignore[assignment]
    try:
        status = command().main(arguments, prog_name="metassay", standalone_mode=False)
    except usage_errors() as error:
        error.show()
        return int(error.exit_code)
    except MetassayError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        status = INTERRUPT
    except BrokenPipeError:
        return _unread()
    except SystemExit as ended:  # what libraries make of a reader that has seen enough, as `head` has
        if isinstance(ended.__context__, BrokenPipeError):
            return _unread()
        raise
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001 - the last door: everything unforeseen is ours, or a plug-in's
        return _defect(error)
    if status == INTERRUPT:
        print(INTERRUPTED, file=sys.stderr, flush=True)
    return status if isinstance(status, int) else 0


def _unread() -> int:
    """The status of a program that nobody reads any more, without a word."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is flushed at the end
    return BROKEN_PIPE


def memory_limit() -> int | None:
    """The bytes of memory that this process may have; None where nobody set a limit."""
    try:
        import resource
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def _no_memory() -> int:
    limit = memory_limit()
    allowed = "" if limit is None else f": this process may have {limit / 1e9:.1f} GB (ulimit -v)"
    print(f"There is not enough memory{allowed}.\n{MORE_MEMORY}", file=sys.stderr, flush=True)
    return 2


def _watch_a_child() -> None:
    """Go on in a child; the parent stays behind to say so if that one is aborted for lack of memory.

    Compiled libraries do not raise where memory ends: they abort the process, or exit, with words of theirs.
    """
    incoming, outgoing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(outgoing, 2)
        os.close(incoming)
        os.close(outgoing)
        return
    os.close(outgoing)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child has it too
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    held: list[str] = []
    blank = ""  # a panic begins with an empty line
    with os.fdopen(incoming, encoding="utf-8", errors="replace") as said:
        for line in said:
            if held or any(words in line for words in _LAST_WORDS):
                held += [] if line.startswith("<jemalloc>:") else [line]
            elif line == "\n":
                blank += line
            else:
                print(blank + line, end="", file=sys.stderr, flush=True)
                blank = ""
    _, ended = os.waitpid(child, 0)
    status = os.waitstatus_to_exitcode(ended)
    lacking = any(words in line for line in held for words in _DIED_OF_IT)
    if status in {-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS} or (status in {1, 2} and lacking):
        status = _no_memory()
    else:
        print(blank + "".join(held), end="", file=sys.stderr, flush=True)
    os._exit(status if status >= 0 else 128 - status)


def _show_warning(message: Warning | str, *_: object) -> None:
    """A warning as people read it."""
    print(f"Note: {' '.join(str(message).split())}", file=sys.stderr)


def _open_closed_streams() -> None:
    """Where a standard stream is closed, nothing: else the next file that is opened would be taken for it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123


def _defect(error: BaseException) -> int:
    if _lacked_memory(error):  # before anything is imported, which takes memory too
        return _no_memory()
    try:
        import traceback

        from metassay.plugins import describe_user_error

        own = describe_user_error(error)
    except MemoryError:
        return _no_memory()
    if own is not None:
        print(own, file=sys.stderr)
        return own.exit_code
    traceback.print_exception(error)
    print(DEFECT, file=sys.stderr)
    return 1


def _lacked_memory(error: BaseException | None) -> bool:
    """Whether an error, or the one behind it, is that the system gave no more memory."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        if any(words in str(error) for words in _REFUSED_MEMORY):
            return True
        if isinstance(error, SystemError) and memory_limit() is not None:  # a failure that could not be told
            return True
        error = error.__cause__ or error.__context__
    return False
