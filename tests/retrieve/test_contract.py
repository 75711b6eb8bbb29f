"""The laws of protocols.Retriever, for every registered retriever."""

import numpy as np
import pytest

from tests.builders import audited, write
from toolwise import registry
from toolwise.encode.load import load_encoder
from toolwise.records import Query, Shortlist
from toolwise.store import Index

TEXTS = {
    "mail/send_message": "Send an email message to a person",
    "mail/send_message_copy": "Send an email message to a person",
    "mail/list_messages": "List the email messages of a folder",
    "disk/delete_file": "Delete a file for good",
    "disk/read_file": "Read the text of a file",
    "weather/forecast": "Weather forecast of a city",
    "天气/查询": "查询天气预报",
    "empty/🙂": "",
}
REQUESTS = ["send an email", "delete the file and read the weather forecast", "天气预报", "🙂", "", "zzzz qqqq"]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """A small index with twins and a tool nothing is known of."""
    folder = tmp_path_factory.mktemp("contract")
    encoder = load_encoder("static")
    tools = [audited(id_, text) for id_, text in sorted(TEXTS.items())]
    vectors = encoder.encode_tools([a.tool for a in tools])
    write(folder, tools, vectors=vectors, lexical=True, encoder="static", fingerprint=encoder.fingerprint)
    return Index.open(folder)


@pytest.fixture(scope="module", params=registry.names("retriever"))
def retriever(request, index):
    """Each registered retriever over the index."""
    return registry.get("retriever", request.param).open(index)


@pytest.mark.parametrize("text", REQUESTS)
def test_at_most_k_in_order(retriever, index, text):
    """Scores never increase, equal scores stand in order of id, rows and ids belong together."""
    for k in (1, 2, 5, 8, 100):
        found = retriever.retrieve(Query("q", text), k)
        assert isinstance(found, Shortlist)
        assert found.query_id == "q"
        assert len(found.candidates) <= k
        keys = [(-c.score, c.id) for c in found.candidates]
        assert keys == sorted(keys)
        assert all(index.ids[c.row] == c.id for c in found.candidates)
        assert len({c.row for c in found.candidates}) == len(found.candidates)
        assert all(np.isfinite(c.score) for c in found.candidates)


@pytest.mark.parametrize("text", REQUESTS)
def test_scores_do_not_depend_on_the_rest(retriever, index, text):
    """The same tool has the same score for every k and every mask, and a longer list starts like a shorter."""
    everything = retriever.retrieve(Query("", text), 100).candidates
    score = {c.id: c.score for c in everything}
    for k in (1, 3, 6):
        assert retriever.retrieve(Query("", text), k).candidates == everything[:k]
    for seed in range(5):
        within = np.random.default_rng(seed).random(len(index)) < 0.5
        some = retriever.retrieve(Query("", text), 4, within).candidates
        assert all(within[c.row] for c in some)
        assert all(c.score == score[c.id] for c in some)
        assert list(some) == [c for c in everything if within[c.row]][:4]


def test_nothing_admitted_is_nothing_found(retriever, index):
    """An empty mask."""
    nothing = np.zeros(len(index), dtype=bool)
    assert retriever.retrieve(Query("", "send an email"), 5, nothing).candidates == ()


def test_it_finds_what_is_asked_for(retriever):
    """The plain case: the right tools before all others, twins in order of id."""
    found = retriever.retrieve(Query("", "send an email message"), 2).candidates
    assert [c.id for c in found] == ["mail/send_message", "mail/send_message_copy"]


def test_it_answers_the_same_again(retriever):
    """No state, no chance."""
    query = Query("", REQUESTS[1])
    assert retriever.retrieve(query, 5) == retriever.retrieve(query, 5)
