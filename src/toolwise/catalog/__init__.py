"""Tools in the world -> canonical tools: readers, one normaliser, one merge."""

from toolwise.catalog.load import from_definitions, load
from toolwise.catalog.merge import merge
from toolwise.catalog.normalise import make_tool, with_text

__all__ = ["from_definitions", "load", "make_tool", "merge", "with_text"]
