"""`metassay serve`."""

from __future__ import annotations

import json as json_library
import signal
from typing import Annotated

import typer

from metassay.cli.printing import print_line

EXAMPLE = "metassay serve runs/"


def run_serve_command(
    runs: Annotated[
        list[str],
        typer.Argument(help="Run folders, oldest first, or a folder that contains them.", metavar="RUN…"),
    ],
    *,
    host: Annotated[
        str,
        typer.Option(
            help="Address to serve on. By default only this machine can connect.", metavar="ADDRESS"
        ),
    ] = ("127.0.0.1"),
    port: Annotated[
        int, typer.Option(help="Port to serve on; 0 chooses a free one.", metavar="N", min=0, max=65535)
    ] = 8017,
    json: Annotated[bool, typer.Option("--json", help="Print the address as one JSON object.")] = False,
) -> None:
    """Show runs in the browser, with changes, pairs, reports and notes.

    Needs: pip install 'metassay[serve]'
    """
    from metassay.serve.server import RunServer

    with RunServer(runs, host=host, port=port) as server:
        if json:
            print(json_library.dumps({"schema_version": 1, "url": server.url}), flush=True)
        else:
            print_line(f"Runs are at {server.url} until Ctrl-C.")
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print_line("Done.")
