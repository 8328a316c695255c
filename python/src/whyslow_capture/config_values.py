"""Parses the values of settings, whether they are Python objects, JSON or text from the environment."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable

TRUE_WORDS = ("1", "true", "yes")
FALSE_WORDS = ("0", "false", "no", "")
# More than any job has. A typo such as "0-99999999" must not fill the memory.
MAX_RANKS = 1 << 20

Parser = Callable[[object], object]


class BadValueError(ValueError):
    """Says what the value must be. The caller adds the name and the value."""


def boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, (str, int)) else None
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise BadValueError("1, true or yes, or 0, false or no")


def whole(minimum: int = 0, *, optional: bool = False) -> Parser:
    """A whole number of at least `minimum`. `optional` also allows None and "none"."""

    def parse(value: object) -> int | None:
        if optional and (value is None or (isinstance(value, str) and value.strip().lower() == "none")):
            return None
        number = _whole(value)
        if number is None or number < minimum:
            raise BadValueError(f"a whole number of at least {minimum}" + (", or None" if optional else ""))
        return number

    return parse


def share(value: object) -> float:
    """A fraction of the time: 0.005 or "0.5%"."""
    number: float | None
    if isinstance(value, str) and value.strip().endswith("%"):
        number = _number(value.strip()[:-1])
        number = None if number is None else number / 100
    else:
        number = _number(value)
    if number is None or not 0 < number <= 1:
        raise BadValueError('above 0 and at most 1, such as 0.005 or "0.5%"')
    return number


def ranks(value: object) -> tuple[int, ...] | None:
    """``None`` or "all" for every rank, a number, a list of numbers, or text such as "0,2-5"."""
    if value is None or (isinstance(value, str) and value.strip().lower() == "all"):
        return None
    parts = [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    found: set[int] = set()
    for part in parts if isinstance(parts, Iterable) else [parts]:
        low, dash, high = part.partition("-") if isinstance(part, str) else (part, "", None)
        first = _whole(low)
        last = _whole(high) if dash else first
        if first is None or last is None or not 0 <= first <= last < first + MAX_RANKS:
            found.clear()
            break
        found.update(range(first, last + 1))
    if not found:
        raise BadValueError('"all", a rank, a list of ranks, or text such as "0,2-5"')
    return tuple(sorted(found))


def names(value: object) -> tuple[str, ...]:
    """One name, several separated by commas, or a list."""
    given = value.split(",") if isinstance(value, str) else value
    if isinstance(given, Iterable):
        found = [name.strip() for name in given if isinstance(name, str) and name.strip()]
        if found:
            return tuple(dict.fromkeys(found))
    raise BadValueError('one name or several, such as "train_actor,train_log_probs"')


def some_of(*allowed: str) -> Parser:
    def parse(value: object) -> tuple[str, ...]:
        found = names(value)
        if not set(found) <= set(allowed):
            raise BadValueError("one or several of " + ", ".join(allowed))
        return found

    return parse


def text(value: object) -> str:
    if isinstance(value, (str, os.PathLike)):
        found = os.fspath(value)
        if isinstance(found, str) and found.strip():
            return found
    raise BadValueError("text, and not empty")


def optional_text(value: object) -> str | None:
    return None if value is None else text(value)


def one_of(*allowed: str) -> Parser:
    def parse(value: object) -> str:
        word = value.strip().lower().lstrip(".") if isinstance(value, str) else ""
        if word not in allowed:
            raise BadValueError(" or ".join(allowed))
        return word

    return parse


def _number(value: object) -> float | int | None:
    if isinstance(value, str):
        written = value.strip()
        try:
            value = int(written) if written.lstrip("+-").isdigit() else float(written)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return value


def _whole(value: object) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None
