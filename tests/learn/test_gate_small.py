"""Small libraries of operations elsewhere: what they have, what they lack, and what is beside them."""

from pathlib import Path

import numpy as np
import pytest

from toolwise.encode.static import StaticEncoder
from toolwise.learn.gate_small import LACKING, SERVICES, THE_SAME, made_libraries
from toolwise.learn.own_words import districts, requests
from toolwise.retrieve.elsewhere import operations

OWN = Path(__file__).parents[2] / "training"
PLACE = {operation.id: row for row, operation in enumerate(operations())}


@pytest.fixture(scope="module")
def made():
    """Five libraries with the operations beside them, and the encoder."""
    encoder = StaticEncoder()
    return encoder, list(made_libraries(encoder, requests(OWN), districts()[0], seed=0, count=5))


def test_a_library_is_asked_for_what_it_has_and_for_what_it_lacks(made):
    """Each served request is its tool's own; no other's operation is there, nor one as good."""
    encoder, rooms = made
    by_request = {one.text: operations()[one.rows[0]] for one in requests(OWN) if len(one.rows) == 1}
    for one, _ in rooms:
        tools = one.library.tools
        assert len({tool.server for tool in tools}) <= SERVICES
        for request in one.library.requests:
            wanted = by_request[request.text]
            if request.gold:
                assert [tools[row] for row in request.gold] == [wanted]
            else:
                assert wanted not in tools
                assert float((one.vectors @ encoder.encode_tools([wanted])[0]).max()) < THE_SAME
        strange = [
            request
            for request in one.library.requests
            if not request.gold and by_request[request.text].server not in {tool.server for tool in tools}
        ]
        assert len(strange) <= max(round(LACKING * len(tools)), 1)
    assert any(not request.gold for one, _ in rooms for request in one.library.requests)


def test_operations_that_a_library_is_made_of_are_not_beside_it(made):
    """A request comes no nearer to them than to anything; to the others it does."""
    _, rooms = made
    for one, elsewhere in rooms:
        cosines = elsewhere.cosines(one.vectors[0])
        own = [PLACE[tool.id] for tool in one.library.tools]
        assert not cosines[own].any()
        assert np.delete(cosines, own).max() > 0.2


def test_the_seed_decides_every_draw(made):
    """The same libraries and requests again."""
    encoder, rooms = made
    again = next(iter(made_libraries(encoder, requests(OWN), districts()[0], seed=0, count=1)))[0]
    assert again.library == rooms[0][0].library
