"""The default set scorer as a system of the bench."""

import numpy as np
from tests.builders import WordEncoder
from tests.sets.pools import LIBRARY, REQUEST, WORDS, random_weights, retriever

from toolwise.bench.data import Task
from toolwise.bench.sets_default import DefaultSetSystem
from toolwise.bench.system import Selecting
from toolwise.bench.systems import known, make
from toolwise.records import Query
from toolwise.sets.default_weights import plain


def fitted(weights=None) -> DefaultSetSystem:
    """The system over the small library."""
    system = DefaultSetSystem("sets-default", lambda: WordEncoder(WORDS), weights or plain())
    system.fit(LIBRARY, [])
    return system


def test_it_has_a_name_and_an_encoder():
    """By default the packaged table; another one after a colon."""
    assert {"sets-default", "sets-experienced"} <= set(known())
    assert make("sets-default:static", 0, {}).name == "sets-default:static"
    assert isinstance(make("sets-default", 0, {}), Selecting)


def test_without_weights_it_ranks_as_the_retriever():
    """The best set of independent tools is that of the best tools."""
    ranked = fitted().rank(REQUEST, 6)
    assert [id_ for id_, _ in ranked] == [c.id for c in retriever().retrieve(REQUEST, 6).candidates]
    assert [score for _, score in ranked] == [6, 5, 4, 3, 2, 1]


def test_rankings_hold_every_candidate_once():
    """Whatever the weights say; the first k of a longer ranking are the shorter one."""
    system = fitted(random_weights())
    ranked = [id_ for id_, _ in system.rank(REQUEST, 6)]
    assert sorted(ranked) == sorted(tool.id for tool in LIBRARY)
    assert [id_ for id_, _ in system.rank(REQUEST, 2)] == ranked[:2]


def test_what_is_delivered_is_of_the_library():
    """A set of at most five, without repeats."""
    chosen = fitted(random_weights()).select(REQUEST)
    assert len(set(chosen)) == len(chosen) <= 5
    assert set(chosen) <= {tool.id for tool in LIBRARY}


def test_training_requests_are_remembered_where_that_is_asked():
    """What served the same request before comes first; requests for tools of other libraries say nothing."""
    asked = Query("q", "invoice")
    golds = (("sky/get_weather",), ("shop/cancel_order", "elsewhere/pay"))
    others = [Task(Query(f"q{n}", f"team {n}"), ("team/list_teams",), "", {}) for n in range(10)]
    train = [*others, *(Task(asked, gold, "", {}) for gold in golds)]
    plainly, knowing = (
        DefaultSetSystem("sets", lambda: WordEncoder(WORDS), plain(), experienced=one)
        for one in (False, True)
    )
    for system in (plainly, knowing):
        system.fit(LIBRARY, train)
    assert plainly.rank(asked, 1)[0][0] != "sky/get_weather"
    assert knowing.rank(asked, 1)[0][0] == "sky/get_weather"
    assert knowing.retriever.evidence(asked, np.arange(6)).recalled.past == 11


def test_an_empty_library_delivers_nothing():
    """No tool, no set."""
    system = DefaultSetSystem("sets-default", lambda: WordEncoder(WORDS), plain())
    system.fit([], [])
    assert system.select(Query("q", "mail")) == []
    assert system.rank(Query("q", "mail"), 5) == []
