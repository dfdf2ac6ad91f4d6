"""The command line: parse, call one workflow, print."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

INTERRUPT = 130
DEFECT = "This is a defect of metassay, not of your data. Please report it, with the lines above."
INTERRUPTED = "Interrupted. Finished parts are kept: run the same command with the same --out to go on."


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 our defect, 2 bad input or usage, 130 interrupted."""
    _open_closed_streams()
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
        sys.stderr.close()
        return 141
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - the last door: everything unforeseen is ours, or a plug-in's
        return _defect(error)
    if status == INTERRUPT:
        print(INTERRUPTED, file=sys.stderr, flush=True)
    return status if isinstance(status, int) else 0


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
    import traceback

    from metassay.plugins import own_error

    own = own_error(error)
    if own is not None:
        print(own, file=sys.stderr)
        return own.exit_code
    traceback.print_exception(error)
    print(DEFECT, file=sys.stderr)
    return 1
