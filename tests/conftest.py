"""Fixtures that several rooms share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from toolwise import Selector, build_index

DEMO = Path(__file__).parent.parent / "examples" / "demo" / "tools.jsonl"


# What a test finds must not hang on whether the better encoder is installed.
os.environ["TOOLWISE_ENCODER"] = "static"

# A busy machine is no failure, and the same commit gives the same verdict.
settings.register_profile("house", deadline=None, derandomize=True)
settings.load_profile("house")


@pytest.fixture(scope="session")
def demo_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the demo catalogue, not to be written to."""
    folder = tmp_path_factory.mktemp("demo") / "index"
    build_index([DEMO], folder)
    return folder


@pytest.fixture(scope="session")
def demo(demo_index: Path) -> Selector:
    """A selector over the demo catalogue."""
    return Selector.open(demo_index)
