"""Arguments as the log keeps them."""

from hypothesis import given
from hypothesis import strategies as st

from toolwise.records import Json
from toolwise.serve.gateway.redaction import redacted

KINDS = {"(str)", "(int)", "(float)", "(bool)", "(...)"}


def texts(found: Json) -> list[str]:
    if isinstance(found, dict):
        return [t for inner in found.values() for t in texts(inner)]
    if isinstance(found, list):
        return [t for inner in found for t in texts(inner)]
    return [found] if isinstance(found, str) else []


@given(
    st.recursive(
        st.text() | st.integers() | st.booleans() | st.floats() | st.none(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    )
)
def test_no_value_survives(value: object):
    """Every value becomes its kind."""
    assert set(texts(redacted(value))) <= KINDS


def test_a_key_that_is_no_name_is_a_value():
    """Addresses, sentences and endless keys are not kept; names of properties are."""
    given = {"to": 1, "page-size": 2, "$filter": 3, "ann@example.org": 4, "she is ill": 5, "a" * 65: 6}
    assert list(redacted(given)) == ["to", "page-size", "$filter", "(name)"]
    assert redacted({"by": {"ann@example.org": True}}) == {"by": {"(name)": "(bool)"}}


def test_size_is_bounded():
    """Twenty items of a list or object, eight deep."""
    deep: Json = 1
    for _ in range(20):
        deep = [deep]
    assert redacted(deep) == [[[[[[[["(...)"]]]]]]]]
    assert len(redacted([1] * 100)) == 20
    assert len(redacted({f"k{number}": 1 for number in range(100)})) == 20
