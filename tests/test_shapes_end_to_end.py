"""Strange definitions among good ones: all are indexed, and requests still find what they should."""

from pathlib import Path

import pytest

from toolwise import Selector, from_definitions, index_catalogue, registry
from toolwise.bench.shapes import GOOD, SHAPES


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_a_strange_tool_is_found_and_loses_no_other(name: str, tmp_path: Path) -> None:
    """The expected tool is found first and shown, the twenty good ones are there, every format has them."""
    shape = SHAPES[name]
    catalogue = from_definitions([*GOOD, *shape.definitions], server="shop")
    index_catalogue(catalogue, tmp_path / "i")
    selector = Selector.open(tmp_path / "i")
    assert {f"shop/{tool['name']}" for tool in GOOD} <= set(selector.index.ids)
    exposure = selector.select(shape.query, "default" if shape.expected is None else "open")
    if shape.expected is None:
        assert exposure.abstained
    else:
        assert shape.expected in [exposed.tool.name for exposed in exposure.tools]
        best = selector.rank(shape.query, 1).candidates[0].row
        assert selector.index.names[best] == shape.expected
    for format_ in registry.names("format"):
        registry.get("format", format_)(exposure)
