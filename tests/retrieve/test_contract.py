"""The laws of protocols.Retriever, for every registered retriever."""

import numpy as np
import pytest
from tests.builders import audited, write

from toolwise import registry
from toolwise.encode.load import load_encoder
from toolwise.records import Query, Shortlist
from toolwise.retrieve import fitting
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
REQUESTS = [
    "send an email",
    "delete the file and read the weather forecast",
    "天气预报",
    "🙂",
    "",
    "zzzz qqqq",
]


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
    """A tool has the same score for every k and every mask; a longer list starts like a shorter."""
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


SMALL = {
    "zh/发送": ("发送邮件给联系人", "帮我发送一封邮件"),
    "zh/天气": ("查询某个城市的天气预报", "查询北京的天气"),
    "ko/삭제": ("파일을 삭제합니다", "파일 삭제"),
    "ja/予定": ("カレンダーに予定を追加する", "カレンダーに予定を追加"),
    "en/delete_file": ("Delete a file for good", "delete the file"),
}


@pytest.mark.parametrize("extra", [0, 100])
@pytest.mark.parametrize("name", ["bm25", "hybrid"])
@pytest.mark.parametrize("wanted", sorted(SMALL))
def test_what_fits_is_found_to_fit_in_catalogues_of_any_size(tmp_path, name, wanted, extra):
    """A plain request for a tool is answered, among five tools or a hundred, in any script."""
    encoder = load_encoder("static")
    texts = {id_: text for id_, (text, _) in SMALL.items()}
    texts |= {f"misc/tool_{i}": f"Handle case number {i} of the archive" for i in range(extra)}
    tools = [audited(id_, text) for id_, text in sorted(texts.items())]
    vectors = encoder.encode_tools([a.tool for a in tools])
    write(tmp_path, tools, vectors=vectors, lexical=True, encoder="static", fingerprint=encoder.fingerprint)
    found = (
        registry.get("retriever", name).open(Index.open(tmp_path)).retrieve(Query("", SMALL[wanted][1]), 5)
    )
    assert found.candidates[0].id == wanted
    assert [candidate.id for candidate in fitting(found)][:1] == [wanted]
