"""The bench reads every text once."""

import numpy as np
from tests.builders import WordEncoder, tool

from toolwise.bench.remembered import RememberingEncoder


class Counting:
    """Counts the texts it reads."""

    floor = 0.4

    def __init__(self) -> None:
        self._words = WordEncoder(["red", "green"])
        self.dim, self.fingerprint = self._words.dim, self._words.fingerprint
        self.read: list[object] = []

    def encode_queries(self, texts):
        """As told, and counted."""
        self.read += texts
        return self._words.encode_queries(texts)

    def encode_tools(self, tools):
        """As told, and counted."""
        self.read += [tool.id for tool in tools]
        return self._words.encode_tools(tools)


def test_every_text_is_read_once():
    """Requests and tools, repeated within a call or in a later one; the vectors are those of the encoder."""
    plain, counting = WordEncoder(["red", "green"]), Counting()
    remembering = RememberingEncoder(counting)
    tools = [tool("a", "red"), tool("b", "green")]
    for texts in (["red", "green", "red"], ["green", "red green"], []):
        np.testing.assert_array_equal(remembering.encode_queries(texts), plain.encode_queries(texts))
    for some in (tools, tools[::-1]):
        np.testing.assert_array_equal(remembering.encode_tools(some), plain.encode_tools(some))
    assert counting.read == ["red", "green", "red green", "a", "b"]


def test_it_passes_for_the_encoder_it_remembers():
    """Same size, fingerprint and floor."""
    counting = Counting()
    found = RememberingEncoder(counting)
    assert (found.dim, found.fingerprint, found.floor) == (counting.dim, counting.fingerprint, 0.4)
