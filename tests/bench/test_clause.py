"""Splitting requests into clauses, and searching by them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.systems import ids
from tests.builders import tool

from toolwise.bench.baselines import ClauseBm25System
from toolwise.bench.baselines.clause import merge
from toolwise.records import Query
from toolwise.retrieve import clauses, terms

CASES = [
    (
        "Book a flight to Oslo and then email the plan to Kim.",
        ["Book a flight to Oslo", "email the plan to Kim"],
    ),
    (
        "Find hotels near Shinjuku, check the weather there, and convert 2,000 USD into yen",
        ["Find hotels near Shinjuku", "check the weather there", "convert 2,000 USD into yen"],
    ),
    (
        "To do: (a) list open issues (b) close stale issues 3) post a summary",
        ["To do list open issues", "close stale issues", "post a summary"],
    ),
    (
        "- list open pull requests\n- merge the newest one\n2. tell the channel",
        ["list open pull requests", "merge the newest one", "tell the channel"],
    ),
    (
        "Open https://example.com/a,b at v2.0.1. Then download report.pdf!",
        ["Open https://example.com/a,b at v2.0.1", "download report.pdf"],
    ),
    (
        "Busca vuelos a Madrid y reserva un hotel, luego envía el resumen a Ana.",
        ["Busca vuelos a Madrid", "reserva un hotel", "envía el resumen a Ana"],
    ),
    (
        "Cherche un vol pour Rome puis réserve un hôtel",
        ["Cherche un vol pour Rome", "réserve un hôtel"],
    ),
    (
        "Suche Flüge nach Rom und buche ein Hotel, danach sende die Rechnung.",
        ["Suche Flüge nach Rom", "buche ein Hotel", "sende die Rechnung"],
    ),
    (
        "Найди рейсы в Рим и забронируй отель, затем отправь счет.",
        ["Найди рейсы в Рим", "забронируй отель", "отправь счет"],
    ),
    (
        "查询北京明天的天气，然后预订酒店房间；发送确认邮件",
        ["查询北京明天的天气", "预订酒店房间", "发送确认邮件"],
    ),
    (
        "東京の天気を調べて、そして会議を予約する。メールを送信する",
        ["東京の天気を調べて", "会議を予約する", "メールを送信する"],
    ),
    ("서울 날씨를 확인하세요 그리고 호텔을 예약하세요", ["서울 날씨를 확인하세요", "호텔을 예약하세요"]),
    ("ابحث عن رحلة إلى روما، ثم احجز فندقا", ["ابحث عن رحلة إلى روما", "احجز فندقا"]),
    # pieces of one index term go with the piece before them, or the one after where there is none
    ("pass salt and pepper", ["pass salt pepper"]),
    ("Urgent, weather, Oslo tomorrow", ["Urgent weather", "Oslo tomorrow"]),
    ("the R-and-D budget report", ["the R-and-D budget report"]),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_requests_split_where_people_would(text: str, expected: list[str]):
    """Sentences, commas, lists and joining words part clauses; numbers, addresses and names stay whole."""
    assert clauses(text) == expected


@pytest.mark.parametrize("text", ["", " ", "!!!", "the", "weather"])
def test_a_request_without_clauses_is_its_own(text: str):
    """There is always one clause."""
    assert clauses(text) == [text]


@given(st.text(alphabet="ab ,.;\n1)-和、。é", max_size=60))
def test_no_text_breaks_the_splitting(text: str):
    """There is always a clause; of several none is short of terms, and none says anything new."""
    found = clauses(text)
    assert found
    if len(found) > 1:
        assert all(len(terms(part)) >= 2 for part in found)
        assert set("".join(found)) <= set(text) | {" "}
        assert sum(map(len, found)) <= len(text)


def test_the_merged_score_is_the_whole_beside_the_best_clause():
    """Whole (4, 2, 1) / 4; clauses (3, 0, 0) / 3 and (0, 1, 2) / 2: (1 + 1, .5 + .5, .25 + 1)."""
    whole = np.array([4, 2, 1], np.float32)
    parts = [np.array([3, 0, 0], np.float32), np.array([0, 1, 2], np.float32)]
    np.testing.assert_allclose(merge(whole, parts), [2.0, 1.0, 1.25])


def test_a_clause_without_hits_says_nothing():
    """All-zero scores stay zero."""
    zero = np.zeros(2, np.float32)
    np.testing.assert_allclose(merge(np.array([0, 5], np.float32), [zero]), [0.0, 1.0])
    np.testing.assert_allclose(merge(zero, [zero, zero]), [0.0, 0.0])


def library() -> ClauseBm25System:
    """Four flight tools, and one tool each for weather and hotels."""
    system = ClauseBm25System()
    texts = {
        "air/alpha": "search cheap flight offers to a city for a date and a cabin",
        "air/beta": "search cheap flight offers to a city for a date",
        "air/delta": "search cheap flight offers to a city",
        "air/gamma": "search flight offers to a city by date",
        "sky/outlook": "weather outlook",
        "stay/room": "reserve a hotel room",
    }
    system.fit([tool(id_, text) for id_, text in texts.items()], [])
    return system


def test_every_clause_brings_its_best_tool():
    """Plain BM25 has the weather tool behind four flight tools; its clause brings it to the third place."""
    flight = "Search cheap flight offers to a city for a date and a cabin"
    text = f"{flight}, reserve a hotel, see the weather outlook"
    system = library()
    plain = system._bm25.retrieve(Query("q", text), 6).candidates
    assert [c.id for c in plain][4:] == ["sky/outlook", "stay/room"]
    assert ids(system.rank(Query("q", text), 3)) == ["air/alpha", "air/beta", "sky/outlook"]


def test_tools_that_share_no_term_are_left_out():
    """Nothing is found for words nobody uses."""
    assert library().rank(Query("q", "zymurgy"), 5) == []
    assert ids(library().rank(Query("q", "hotel room"), 5)) == ["stay/room"]


def test_one_clause_is_plain_bm25():
    """A request that does not split has the order of its BM25 scores, the best at 2."""
    system = library()
    query = Query("q", "cheap flight to a city with a hotel room")
    found = system.rank(query, 6)
    assert ids(found) == [c.id for c in system._bm25.retrieve(query, 6).candidates]
    assert found[0][1] == pytest.approx(2.0)
