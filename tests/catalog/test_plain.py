"""Python values as JSON values."""

import datetime
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.catalog.plain import TOO_LARGE, plain

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
ANYTHING = st.recursive(
    st.none()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None), max_size=5)
    | st.binary(max_size=5)
    | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.none() | st.integers() | st.booleans() | st.text(max_size=3), inner, max_size=3)
        | st.sets(st.integers(), max_size=3)
    ),
    max_leaves=15,
)


@given(JSON)
def test_json_is_copied_unchanged(value: object):
    """A JSON value comes back equal, with nothing to report."""
    assert plain(value) == (value, [])


@given(ANYTHING)
def test_anything_becomes_json(value: object):
    """The copy of any value is strict JSON that UTF-8 can hold."""
    copy, _ = plain(value)
    assert json.loads(json.dumps(copy, allow_nan=False, ensure_ascii=False).encode("utf-8")) == copy


@pytest.mark.parametrize(
    ("value", "copy", "pointers"),
    [
        ({"a": (1, 2)}, {"a": [1, 2]}, []),
        ({"a": {3, 1}}, {"a": [1, 3]}, ["/a"]),
        ({"a": [math.nan, -math.inf]}, {"a": [None, None]}, ["/a/0", "/a/1"]),
        ({"a/b": b"x"}, {"a/b": None}, ["/a~1b"]),
        ({"a": "x\ud800y"}, {"a": "x\ufffdy"}, ["/a"]),
        ({"a\ud800": 1}, {"a\ufffd": 1}, [""]),
        ({None: 1, True: 2, 200: 3}, {"null": 1, "true": 2, "200": 3}, []),
        (datetime.date(2026, 1, 2), "2026-01-02", []),
        ([10**5_000], [None], ["/0"]),
        ({"a": object}, {"a": None}, ["/a"]),
        ({"a": "nul \0 stays"}, {"a": "nul \0 stays"}, []),
    ],
)
def test_what_json_lacks_gives_way_and_is_reported(value: object, copy: object, pointers: list[str]):
    """Each replacement is reported with its pointer."""
    got, faults = plain(value)
    assert got == copy
    assert [pointer for pointer, _ in faults] == pointers


def test_a_cycle_is_cut_and_a_shared_object_is_not():
    """The same list twice side by side is no cycle; a list within itself is."""
    shared = [1]
    assert plain([shared, shared]) == ([[1], [1]], [])
    loop: list = [1]
    loop.append(loop)
    assert plain({"l": loop}, "/at") == (
        {"l": [1, {}]},
        [("/at/l/1", "the definition contains itself here; cut")],
    )


def test_depth_and_size_are_bounded():
    """Ten thousand levels, or objects that multiply to a billion values, come back small and quickly."""
    deep: list = []
    for _ in range(10_000):
        deep = [deep]
    copy, faults = plain(deep)
    json.dumps(copy)
    assert len(faults) == 1
    wide: list = [0] * 10
    for _ in range(8):
        wide = [wide] * 10
    _, faults = plain(wide, limit=1_000)
    assert faults[0][1] == TOO_LARGE
    assert len(faults) == 20
