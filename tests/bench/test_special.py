"""Strange definitions against our own systems."""

from toolwise.bench.shapes import SHAPES
from toolwise.bench.special import _as_given, robust
from toolwise.protocols import silent


def test_toolwise_holds_every_shape() -> None:
    """The expected tool first, or nothing where nothing fits, for all but one.

    Of a description of 200,000 characters the words weigh little: sets put the tool second.
    """
    results, text = robust(["toolwise"], 0, silent)
    held = {name: cell["toolwise"] for name, cell in results["cells"].items()}
    assert {name: cell for name, cell in held.items() if cell not in ("ok", "abstains")} == {
        "huge description": "rank 2"
    }
    assert f"{len(SHAPES) - 1} of {len(SHAPES)}" in text


def test_a_rival_gets_each_definition_as_it_stands() -> None:
    """Two tools of one name keep their own descriptions; nothing is repaired."""
    given = SHAPES["duplicate name"].definitions
    assert [tool.description for tool in _as_given(given)] == [one["description"] for one in given]
    assert [tool.description for tool in _as_given(SHAPES["null description"].definitions)] == [None]
