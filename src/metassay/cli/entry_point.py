"""Entry point of the `metassay` command. It runs one command and returns an exit status, whatever happens."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

# Set by the completion scripts that typer installs.
COMPLETION_VARIABLE = "_METASSAY_COMPLETE"
EXIT_DEFECT = 1
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
# Rare garbage collection: almost all objects are freed without it, and it takes a tenth of the start-up.
GC_THRESHOLDS = (100_000, 50, 100)
# Numbers of the errors that say that nothing more can be written.
FULL_DEVICE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

DEFECT = "This is a defect of metassay, not of your data. Please report it, with the lines above."
INTERRUPTED_RUN = "Interrupted. Finished parts are kept in {run}: run the same command again to continue."
INTERRUPTED = "Interrupted. Nothing was kept. A command with --out can be continued after an interruption."
OUT_OF_MEMORY = (
    "There is not enough memory.\nUse a smaller --memory, or fewer outputs at a time (--where, --systems)."
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit. The status is 0 for success, 1 for a defect of metassay, 2 for bad input
    or usage, and 130 after an interruption.
    """
    # metassay distributes its work over threads itself. Those of OpenBLAS, which NumPy uses, would wait for
    # work in a loop; OpenBLAS reads this when NumPy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _open_closed_standard_streams()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # batch systems end jobs with SIGTERM
    gc.set_threshold(*GC_THRESHOLDS)
    status = run_command_line(sys.argv[1:] if arguments is None else list(arguments))
    if status == EXIT_INTERRUPTED:
        # Worker threads may be busy for minutes, and everything finished is on disk: do not wait for them.
        sys.stdout.flush()
        os._exit(status)
    sys.exit(status)


def run_command_line(arguments: list[str]) -> int:
    """Run one command, and return its exit status."""
    import typer

    from metassay.cli.application import COMMAND_NAMES, build_command_line
    from metassay.errors import MetassayError
    from metassay.options import RESUMABLE_RUN

    RESUMABLE_RUN.set(None)
    warnings.showwarning = _print_warning  # type: ignore[assignment]
    try:
        command = arguments[0] if arguments and arguments[0] in COMMAND_NAMES else None
        # The shell asks for completions without arguments, and needs the options of all commands.
        is_completion = COMPLETION_VARIABLE in os.environ
        is_list_of_commands = not is_completion and arguments in ([], ["--help"])
        application = build_command_line(command, with_options=not is_list_of_commands)
        status = application.main(arguments, prog_name="metassay", standalone_mode=False)
        sys.stdout.flush()  # a full device is noticed here, not after the last line of this program
    except typer.TyperException as error:
        return _print_usage_error(error)
    except MetassayError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    except BrokenPipeError:
        return _ignore_broken_pipe()
    except SystemExit as exit_request:
        # Libraries turn a closed pipe (`metassay … | head`) into an exit of their own.
        if isinstance(exit_request.__context__, BrokenPipeError):
            return _ignore_broken_pipe()
        raise
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001 - also panics of compiled libraries, which are no Exception
        return _print_unexpected_error(error)
    if status == EXIT_INTERRUPTED:
        run_folder = RESUMABLE_RUN.get()
        message = INTERRUPTED if run_folder is None else INTERRUPTED_RUN.format(run=run_folder)
        print(message, file=sys.stderr, flush=True)
    return status if isinstance(status, int) else 0


def _open_closed_standard_streams() -> None:
    """Connect standard input, output and error to the null device where they are closed.

    Otherwise the first file that we open would get the number of, say, standard error, and messages would be
    written into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123


def _print_warning(message: Warning | str, *_: object) -> None:
    """Print a warning on one line. The place in the code is left out."""
    print(f"Note: {' '.join(str(message).split())}", file=sys.stderr)


def _print_usage_error(error: Exception) -> int:
    """Print what is wrong with the arguments, with the usage line if the command is known. Returns the exit
    status.
    """
    show = getattr(error, "show", None)
    if show is None:
        print(error, file=sys.stderr)
    else:
        show()
    return EXIT_BAD_INPUT


def _ignore_broken_pipe() -> int:
    """Discard further output, because the program that reads it has ended. Returns the exit status."""
    _redirect_output_to_null_device()
    return EXIT_BROKEN_PIPE


def _redirect_output_to_null_device() -> None:
    """Redirect standard output to the null device, so that flushing at exit does not fail."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_unexpected_error(error: BaseException) -> int:
    """Print an error that metassay did not raise on purpose, from its own code or the user's. Returns the
    exit status.
    """
    import traceback

    from metassay.plugins import explain_error_in_user_code

    if isinstance(error, MemoryError):
        print(OUT_OF_MEMORY, file=sys.stderr)
        return EXIT_BAD_INPUT
    if isinstance(error, OSError) and error.errno in FULL_DEVICE:
        print(f"The output cannot be written ({error.strerror}). Free some disk space.", file=sys.stderr)
        _redirect_output_to_null_device()
        return EXIT_BAD_INPUT
    plugin_error = explain_error_in_user_code(error)
    if plugin_error is not None:
        print(plugin_error, file=sys.stderr)
        return plugin_error.exit_code
    traceback.print_exception(error)
    print(DEFECT, file=sys.stderr)
    return EXIT_DEFECT
