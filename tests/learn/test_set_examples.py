"""Requests as arrays for training set scorers."""

import numpy as np
import pytest

from tests.builders import WordEncoder, tool
from toolwise.errors import EncoderError
from toolwise.learn.data import Library, Request
from toolwise.learn.set_examples import SetExamples, set_examples

WORDS = [a + b for a in "abcdef" for b in "vwxyz"]
TOOLS = tuple(tool(f"s/{word}") for word in WORDS)


def library(*golds: tuple[int, ...], tools: slice = slice(None)) -> Library:
    """Requests with these gold rows."""
    return Library(
        "lib", TOOLS[tools], tuple(Request(f"{WORDS[i % 30]} please", gold) for i, gold in enumerate(golds))
    )


def examples(*libraries: Library, **more: object) -> SetExamples:
    """Sets of three tools at most."""
    return set_examples(libraries, WordEncoder(WORDS), 3, **more)  # type: ignore[arg-type]


def test_gold_sets_beyond_the_largest_size_are_left_out_and_counted():
    """So are empty ones: neither is among the sets that are scored."""
    found = examples(library((2, 1), (), (0, 1, 2, 3), (5, 4, 3)), dev_share=0.0)
    assert [one.gold for one in found.train] == [(1, 2), (3, 4, 5)]
    assert found.left_out == 2
    assert found.texts == ("av please", "ay please")
    assert found.requests.shape == (2, 30)


def test_nothing_to_train_on_is_an_error():
    """It names how many requests were left out."""
    with pytest.raises(EncoderError) as caught:
        examples(library((), (0, 1, 2, 3)))
    assert caught.value.left_out == 2


def test_whole_gold_sets_are_held_out():
    """No set of the held-out requests is trained on; by request, some are."""
    golds = [(i % 6, 10 + i % 6) for i in range(60)]
    found = examples(library(*golds), dev_share=0.4)
    assert len(found.dev) == 20
    assert not {one.gold for one in found.dev} & {one.gold for one in found.train}
    single = examples(library(*golds), dev_share=0.4, by_request=True)
    assert len(single.dev) == 24
    assert {one.gold for one in single.dev} <= {one.gold for one in single.train}


def test_libraries_keep_their_rows():
    """Tools in order of id, each once; a library's negatives are its own tools less the barred ones."""
    first, second = library((0, 1), tools=slice(0, 12)), library((1, 2), tools=slice(8, 30))
    found = examples(first, second, dev_share=0.0, never_negative=["s/bz"])
    assert found.ids == tuple(sorted(one.id for one in TOOLS))
    assert [len(rows) for rows in found.libraries] == [12, 22]
    assert [len(rows) for rows in found.negatives] == [11, 21]
    assert found.ids[found.train[1].gold[0]] == "s/bz"
    assert [one.library for one in found.train] == [0, 1]


def test_fewer_requests_are_drawn_by_the_seed():
    """The same seed the same ones; vectors belong to the texts that stay."""
    golds = [(i % 30,) for i in range(30)]
    first, again, other = (examples(library(*golds), most=10, seed=s).texts for s in (0, 0, 1))
    assert first == again != other
    found = examples(library(*golds), most=10)
    assert [WORDS[row] for row in found.requests.argmax(1)] == [text.split()[0] for text in found.texts]
    assert len(found.train) + len(found.dev) == 10
    assert np.isfinite(found.tools).all()
