"""What parsers and validators say, in our words."""

import json
import tomllib

import pytest
from pydantic import BaseModel, Field, ValidationError

from toolwise.wrong_value import kind_of, unread, wrong_value


class Example(BaseModel):
    """Some values with bounds."""

    size: int = Field(default=1, gt=0, strict=True)
    share: float = Field(default=0.5, le=1)
    words: tuple[str, str] = ("a", "b")
    kind: bool = True


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"size": 0}, "size = 0: expected more than 0"),
        ({"size": "many"}, "size = 'many': expected a whole number"),
        ({"share": 2}, "share = 2: expected 1 or less"),
        ({"words": ["a"]}, "words.1 is missing: expected a value"),
        ({"words": ["a", "b", "c"]}, "words = ['a', 'b', 'c']: expected at most 2 of them"),
        ({"words": [1, "b"]}, "words.0 = 1: expected text"),
        ({"kind": "perhaps"}, "kind = 'perhaps': expected true or false"),
        ({"size": "9" * 500}, f"size = '{'9' * 79}...: expected a whole number"),
    ],
)
def test_a_wrong_value_is_told_with_its_place(values, says):
    """What was found and what was expected; long values are cut."""
    with pytest.raises(ValidationError) as caught:
        Example(**values)
    assert str(wrong_value(caught.value)) == says


@pytest.mark.parametrize(
    ("read", "says"),
    [
        (lambda: json.loads("[" * 200_000), "it nests too deep"),
        (lambda: json.loads("9" * 5_000), "a number has too many digits"),
        (lambda: tomllib.loads(f"a = {'9' * 5_000}"), "a number has too many digits"),
        (lambda: b"a\xe9".decode("utf-8"), "byte 0xe9 is not UTF-8"),
        (lambda: json.loads("{"), "Expecting property name"),
    ],
)
def test_a_text_that_cannot_be_parsed_is_explained(read, says):
    """Without advice on the interpreter's settings."""
    with pytest.raises((ValueError, RecursionError)) as caught:
        read()
    assert unread(caught.value).startswith(says)


def test_values_are_called_what_json_calls_them():
    """Every kind there is."""
    kinds = [kind_of(value) for value in (None, True, "a", [], {}, 1, 1.5)]
    assert kinds == ["null", "a truth value", "text", "a list", "an object", "a number", "a number"]
