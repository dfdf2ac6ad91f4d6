"""The command line. Each command parses its options, calls one workflow and prints the result."""

from metassay.cli.entry_point import main, run_command_line

__all__ = ["main", "run_command_line"]
