"""`read` and `read_plain`: from what a person names to a `Dataset`."""

from metassay.data.reading import Paths, Source, Where, read, read_plain

__all__ = ["Paths", "Source", "Where", "read", "read_plain"]
