"""Readers of input formats, one module per format. `registry` chooses the reader of a file."""
