"""`python -m metassay`."""

from metassay.cli import main

main()
