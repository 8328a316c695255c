"""Makes the dataclasses of `schema.py` from JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from .errors import WhyslowError


@cache
def reader_of(kind: Any) -> Callable[[Any], Any]:
    """Returns a function from parsed JSON to `kind`. Fields that `kind` does not know are ignored."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        element = reader_of(arguments[0])
        return lambda value: tuple(map(element, value))
    if origin is dict:
        inner = reader_of(arguments[1])
        return lambda value: {key: inner(item) for key, item in value.items()}
    if origin in (Union, UnionType):
        (real,) = (argument for argument in arguments if argument is not type(None))
        given = reader_of(real)
        return lambda value: None if value is None else given(value)
    if hasattr(kind, "__dataclass_fields__"):
        return _dataclass_reader(kind)
    if kind is float:
        return float
    return lambda value: value


def values_of(kind: type, data: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, as its constructor takes them."""
    try:
        return {name: read(data[key]) for name, key, read in _field_readers(kind)}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise WhyslowError(f"the report is not one of this version of whyslow ({error!r})") from None


def _dataclass_reader(kind: Any) -> Callable[[Any], Any]:
    readers = _field_readers(kind)
    return lambda value: kind(**{name: read(value[key]) for name, key, read in readers})


@cache
def _field_readers(kind: Any) -> list[tuple[str, str, Callable[[Any], Any]]]:
    hints = get_type_hints(kind)
    # A field called like a keyword of Python ends with an underscore there.
    return [(field.name, field.name.rstrip("_"), reader_of(hints[field.name])) for field in fields(kind)]
