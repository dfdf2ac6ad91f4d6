"""What the results of all commands share: the JSON form, and undefined numbers."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from metassay.errors import InputError, InputLocation

# Every JSON object begins with it.
SCHEMA_VERSION = 1
ResultT = TypeVar("ResultT")
# A number from 0 to 1: an accuracy, a p-value, a share of pairs.
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
# A number of items, outputs, pairs …
Count = Annotated[int, msgspec.Meta(ge=0)]


class ResultStruct(msgspec.Struct, frozen=True, kw_only=True):
    """Base class of the result of a command. An undefined number is None (null in JSON)."""

    schema_version: int = SCHEMA_VERSION
    json_type: ClassVar[type[ResultStruct] | None] = None
    """The base class whose fields are written as JSON; None for all fields."""

    def to_json(self) -> str:
        """Return the JSON object that the command line prints with `--json`."""
        written: ResultStruct = self
        if self.json_type is not None:
            names = self.json_type.__struct_fields__
            written = self.json_type(**{name: getattr(self, name) for name in names})
        # NaN becomes null; an infinite number is an error of ours.
        return msgspec.json.encode(written).decode()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object as dictionaries, lists, numbers and texts."""
        content: dict[str, Any] = msgspec.json.decode(self.to_json())
        return content


class Interval(msgspec.Struct, frozen=True):
    """An estimate with its 95 % interval. The ends are None if no interval could be computed."""

    value: float | None
    low: float | None = None
    high: float | None = None


def decode_json(content: bytes, result_type: type[ResultT], file: str) -> ResultT:
    """Decode a result from JSON and check that it has the fields of its type.

    Raises `InputError` with the location in the file, because run folders may come from anywhere.
    """
    try:
        return msgspec.json.decode(content, type=result_type)
    except msgspec.DecodeError as error:
        raise InputError(
            f"this is not a result of this version of metassay: {error}.",
            location=InputLocation(file=file),
            remedy="Repeat the run in another folder.",
        ) from None
    except RecursionError:
        raise InputError("this JSON is nested too deeply.", location=InputLocation(file=file)) from None


def none_if_nan(number: float) -> float | None:
    """Return the number unchanged, or None if it is undefined (NaN).

    >>> none_if_nan(0.5), none_if_nan(float("nan"))
    (0.5, None)
    """
    return None if math.isnan(number) else float(number)


def replace_nan_by_none(numbers: ArrayLike) -> list[Any]:
    """Convert an array of any shape to nested lists with None in place of NaN.

    >>> replace_nan_by_none([[1.0, float("nan")]])
    [[1.0, None]]
    """
    array = np.asarray(numbers, dtype=np.float64)
    with_none = array.astype(object)
    with_none[np.isnan(array)] = None
    values: list[Any] = with_none.tolist()
    return values
