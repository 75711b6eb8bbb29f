"""What is wrong with a person's file or value, in our words rather than a parser's or a validator's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

_SHOWN = 80
_KINDS = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "path_type": "a path",
    "missing": "a value",
    "frozen_instance": "no change: it is frozen",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "{} or more"),
    "greater_than": ("gt", "more than {}"),
    "less_than_equal": ("le", "{} or less"),
    "less_than": ("lt", "less than {}"),
    "too_long": ("max_length", "at most {} of them"),
    "too_short": ("min_length", "at least {} of them"),
    "string_too_long": ("max_length", "at most {} characters"),
    "string_too_short": ("min_length", "at least {} characters"),
    "enum": ("expected", "{}"),
    "literal_error": ("expected", "{}"),
}


@dataclass(frozen=True, slots=True)
class WrongValue:
    """The first thing that is wrong with a set of values."""

    where: str
    """Names and places from the outside in: ``caps.0.level``."""
    found: Any
    expected: str
    """Without the word: ``a whole number``, ``5 or less``."""
    unknown: bool
    """Whether there is no value of this name at all."""
    missing: bool

    @property
    def shown(self) -> str:
        """The value as Python writes it, cut where it is long."""
        value = repr(self.found)
        return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..."

    def __str__(self) -> str:
        """A clause for a person."""
        found = "is missing" if self.missing else f"= {self.shown}"
        return f"{self.where} {found}: expected {self.expected}"


def wrong_value(error: ValidationError) -> WrongValue:
    """The first fault of several."""
    first = error.errors()[0]
    kind, facts = first["type"], first.get("ctx", {})
    if kind in _BOUNDS:
        name, phrase = _BOUNDS[kind]
        expected = phrase.format(_number(facts.get(name)))
    else:
        said = first["msg"].lower().removeprefix("value error, ")
        expected = _KINDS.get(kind, said.removeprefix("input should be ").removeprefix("a valid "))
    where = ".".join(map(str, first["loc"]))
    return WrongValue(where, first["input"], expected, kind == "extra_forbidden", kind == "missing")


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def unread(error: ValueError | RecursionError) -> str:
    """Why a parser of JSON or TOML gave up, as a clause for a person."""
    if isinstance(error, RecursionError):
        return "it nests too deep"
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x} is not UTF-8"
    if type(error) is ValueError and "digits" in str(error):
        return "a number has too many digits"
    return str(error)


def kind_of(value: Any) -> str:
    """What a JSON value is, as JSON calls it."""
    names = {type(None): "null", bool: "a truth value", str: "text", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")
