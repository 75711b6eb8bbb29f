"""Strange definitions against our own systems."""

from toolwise.bench.shapes import SHAPES
from toolwise.bench.special import robust
from toolwise.protocols import silent


def test_toolwise_holds_every_shape() -> None:
    """The expected tool first, or nothing where nothing fits, for all of them."""
    results, text = robust(["toolwise"], 0, silent)
    assert {cell["toolwise"] for cell in results["cells"].values()} <= {"ok", "abstains"}
    assert f"{len(SHAPES)} of {len(SHAPES)}" in text
