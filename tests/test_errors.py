"""The error tree."""

import copy
import inspect
import pickle
import re

import pytest

import toolwise.cli
from toolwise import errors
from toolwise.errors import ToolwiseError

CLASSES = [
    value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, Exception)
]


def _drawn() -> dict[str, str | None]:
    """Class -> parent, as the docstring draws it (four columns a level)."""
    found: dict[str, str | None] = {}
    stack: list[str] = []
    for line in inspect.getdoc(errors).splitlines():
        match = re.match(r"^ {4}((?:[│ ] {3})*(?:[├└]── )?)(\w+)(?: {2,}\S.*)?$", line)
        if match:
            depth = len(match[1]) // 4
            del stack[depth:]
            found[match[2]] = stack[-1] if stack else None
            stack.append(match[2])
    return found


def test_the_tree_is_drawn_as_it_is():
    """The drawing at the top of the module names every class under its parent, and no other."""
    real = {cls.__name__: cls.__base__.__name__ if cls is not ToolwiseError else None for cls in CLASSES}
    assert _drawn() == real


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_every_error_says_what_it_is_in_one_sentence(cls):
    """One line, one full stop at its end."""
    text = cls.__dict__["__doc__"]
    assert text.endswith(".")
    assert "\n" not in text
    assert ". " not in text


def test_facts_are_attributes():
    """What a handler needs is an attribute; what was not given is an AttributeError."""
    error = errors.CatalogueError("tools.jsonl:3: broken", source="tools.jsonl", line=3)
    assert (error.source, error.line) == ("tools.jsonl", 3)
    assert error.facts == {"source": "tools.jsonl", "line": 3}
    assert error.message == str(error) == "tools.jsonl:3: broken"
    assert not hasattr(error, "path")
    with pytest.raises(AttributeError, match="'CatalogueError' object has no attribute 'path'"):
        _ = error.path


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_errors_travel(cls):
    """An error survives pickling and copying, as process pools need, with its facts."""
    error = cls("found this; do that.", where="here", row=3)
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(twin) is cls
        assert (str(twin), twin.message, twin.where, twin.row) == (str(error), error.message, "here", 3)


def test_an_unfinished_error_does_not_recurse():
    """Before __init__ has run, as while unpickling, an attribute is absent, not endless."""
    bare = ToolwiseError.__new__(ToolwiseError)
    with pytest.raises(AttributeError):
        _ = bare.facts_of_life


@pytest.mark.parametrize("cls", [c for c in CLASSES if c is not ToolwiseError], ids=lambda cls: cls.__name__)
def test_exit_codes_are_documented(cls):
    """Every error ends with a documented code of 3 or more (1 is Python's, 2 is wrong usage)."""
    assert cls.exit_code >= 3
    documented = inspect.getdoc(toolwise.cli).partition("Exit codes:")[2]
    assert re.search(rf"\b{cls.exit_code}\s+\w", documented)


def test_subclasses_keep_the_exit_code_of_their_branch():
    """A script that knows the branch needs no more."""
    for cls in CLASSES:
        if cls is not ToolwiseError and cls.__base__ is not ToolwiseError:
            assert cls.exit_code == cls.__base__.exit_code
