"""Small libraries of operations elsewhere: what they have, what they lack, and what is beside them."""

import numpy as np
import pytest

from toolwise.encode.static import StaticEncoder
from toolwise.learn.gate_small import LACKING, SERVICES, THE_SAME, asked, small_libraries
from toolwise.retrieve.elsewhere import operations

PLACE = {operation.id: row for row, operation in enumerate(operations())}


def test_every_request_is_for_an_operation():
    """One each, and no two alike; nearly none repeats the description."""
    told = asked()
    assert len(told) > 1_500
    assert set(told) <= set(PLACE)
    assert len({request.casefold() for request in told.values()}) == len(told)
    same = [id_ for id_, request in told.items() if request in operations()[PLACE[id_]].text.description]
    assert not same


@pytest.fixture(scope="module")
def made():
    """Five libraries with the operations beside them, and the encoder."""
    encoder = StaticEncoder()
    return encoder, list(small_libraries(encoder, seed=0, count=5))


def test_a_library_is_asked_for_what_it_has_and_for_what_it_lacks(made):
    """Each served request is its tool's own; no other's operation is there, nor one as good."""
    encoder, rooms = made
    by_request = {request: operations()[PLACE[id_]] for id_, request in asked().items()}
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
    again = next(iter(small_libraries(encoder, seed=0, count=1)))[0]
    assert again.library == rooms[0][0].library
