"""Queries, runs, labels and workspaces as JSON."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.errors import EvaluationError
from toolwise.evaluate import Answer, Qrels, Run, Task
from toolwise.evaluate.jsonl import read_levels, read_qrels, read_run, read_tasks, read_workspaces, write_run
from toolwise.evaluate.trec import write_qrels
from toolwise.evaluate.trec import write_run as write_trec_run


def save(path, *rows):
    """A JSONL file; texts are written as they are."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_queries_are_read_with_their_libraries(tmp_path):
    """Gold is a set, candidates and workspace where there are any, other fields are passed over."""
    path = save(
        tmp_path / "queries.test.jsonl",
        {"id": "a", "query": "x", "tools": ["t", "u", "t"], "kind": "chain", "workspace": "w1"},
        {"id": "b", "query": "y", "steps": "z", "tools": [], "candidates": ["t"]},
    )
    assert read_tasks(path) == [
        Task("a", "x", frozenset("tu"), None, "w1"),
        Task("b", "y", frozenset(), ("t",), None),
    ]
    assert read_qrels(path).clusters == {"a": "w1"}


def test_another_field_may_hold_the_text(tmp_path):
    """As ultratool's step_query."""
    path = save(tmp_path / "q", {"id": "b", "query": "y", "steps": "z", "tools": []})
    assert read_tasks(path, "steps")[0].text == "z"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"query": "x", "tools": []}, "'id' is None"),
        ({"id": 7, "query": "x", "tools": []}, "'id' is 7"),
        ({"id": "", "query": "x", "tools": []}, "'id' is ''"),
        ({"id": "a", "tools": []}, "'query' is None"),
        ({"id": "a", "query": "x"}, "no gold set"),
        ({"id": "a", "query": "x", "tools": None}, "no gold set"),
        ({"id": "a", "query": "x", "tools": "t"}, "'tools' is not a list"),
        ({"id": "a", "query": "x", "tools": [1]}, "'tools' is not a list"),
        ({"id": "a", "query": "x", "tools": [], "candidates": {}}, "'candidates' is not a list"),
        ({"id": "a", "query": "x", "tools": [], "workspace": 3}, "'workspace' is 3"),
        ({"id": "ok", "query": "x", "tools": []}, "'ok' stands twice"),
        ("{", "not JSON"),
    ],
)
def test_a_broken_query_is_refused_with_its_line(tmp_path, row, words):
    """File, line and field."""
    path = save(tmp_path / "q.jsonl", {"id": "ok", "query": "x", "tools": []}, row)
    with pytest.raises(EvaluationError, match=words) as error:
        read_tasks(path)
    assert error.value.message.startswith(f"{path}:2: ")


texts = st.text(min_size=1, max_size=5)
answers = st.builds(
    Answer,
    st.dictionaries(st.text(max_size=5), st.floats(allow_nan=False, allow_infinity=False)).map(
        lambda found: tuple(found.items())
    ),
    st.none() | st.lists(texts, unique=True, max_size=3).map(tuple),
    st.none() | st.integers(0, 10**6),
)


@given(st.dictionaries(texts, answers, min_size=1, max_size=4))
def test_a_run_comes_back_as_it_was(found):
    """Rankings, delivered sets and sizes, empty and absent ones told apart."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.jsonl"
        write_run(Run(found, "mine"), path)
        assert read_run(path) == Run(found, "mine")


def test_the_output_of_select_is_a_run(tmp_path):
    """The order of the answer is its ranking, whatever the scores say; the answer is the delivered set."""
    tools = [{"id": "pinned", "score": 0.0, "level": 1}, {"id": "b", "score": 0.9}, {"id": "a", "score": 0.9}]
    path = save(
        tmp_path / "s.jsonl",
        {"id": "q", "query": "x", "abstained": False, "tools": tools, "withheld": [], "tokens": 12},
        {"id": "none", "query": "x", "abstained": True, "tools": [], "withheld": [], "tokens": 0},
    )
    run = read_run(path)
    assert run.answers["q"].tools == run.answers["q"].selected == ("pinned", "b", "a")
    assert run.answers["q"].tokens == 12
    assert run.answers["none"] == Answer((), (), 0)
    assert run.name == "s"


def test_trec_files_are_recognised(tmp_path):
    """By content, whatever they are called."""
    run, qrels = Run({"q": Answer((("a", 1.0),))}, "sys"), Qrels({"q": frozenset("a"), "n": frozenset()})
    write_trec_run(run, tmp_path / "run.jsonl")
    write_qrels(qrels, tmp_path / "qrels.jsonl")
    assert read_run(tmp_path / "run.jsonl") == run
    assert read_qrels(tmp_path / "qrels.jsonl") == qrels


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"ranked": []}, "'id' is None"),
        ({"id": "a"}, "expected 'ranked', or 'tools'"),
        ({"id": "a", "tools": ["t"]}, "expected 'ranked', or 'tools'"),
        ({"id": "a", "tools": [{"name": "t"}]}, "'id' is None"),
        ({"id": "a", "ranked": ["t"]}, "not a list of \\[tool id, score\\]"),
        ({"id": "a", "ranked": [["t", "1"]]}, "not a list of"),
        ({"id": "a", "ranked": [["t", True]]}, "not a list of"),
        ({"id": "a", "ranked": [["t", 1, 2]]}, "not a list of"),
        ('{"id": "a", "ranked": [["t", NaN]]}', "score nan"),
        ({"id": "a", "ranked": [["t", 1], ["t", 2]]}, "'t' stands twice in one ranking"),
        ({"id": "a", "ranked": [], "selected": ["t", "t"]}, "'t' stands twice in one set"),
        ({"id": "a", "ranked": [], "selected": "t"}, "'selected' is not a list"),
        ({"id": "a", "ranked": [], "tokens": -1}, "'tokens' is -1"),
        ({"id": "a", "ranked": [], "tokens": 1.5}, "'tokens' is 1.5"),
        ({"id": "ok", "ranked": []}, "'ok' is answered twice"),
    ],
)
def test_a_broken_answer_is_refused_with_its_line(tmp_path, row, words):
    """File, line and what is wrong, once."""
    path = save(tmp_path / "r.jsonl", {"id": "ok", "ranked": []}, row)
    with pytest.raises(EvaluationError, match=words) as error:
        read_run(path)
    assert error.value.message.startswith(f"{path}:2: ")
    assert error.value.message.count(str(path)) == 1


def test_levels_are_read_and_checked(tmp_path):
    """Whole numbers from 1 to 5, one a tool."""
    path = save(tmp_path / "r", {"id": "a", "risk_level": 1, "votes": [1]}, {"id": "b", "risk_level": 5})
    assert read_levels(path) == {"a": 1, "b": 5}
    for level in (0, 6, "3", None, 2.5, True):
        with pytest.raises(EvaluationError, match="from 1 to 5") as error:
            read_levels(save(tmp_path / "r", {"id": "a", "risk_level": level}))
        assert error.value.line == 1
    with pytest.raises(EvaluationError, match="two levels, 1 and 2"):
        read_levels(save(tmp_path / "r", {"id": "a", "risk_level": 1}, {"id": "a", "risk_level": 2}))


def test_workspaces_are_read_and_checked(tmp_path):
    """A list of ids with their tools; anything else is refused."""
    path = tmp_path / "w.json"
    path.write_text('[{"id": "w1", "theme": "x", "tools": ["a", "b"]}]', encoding="utf-8")
    assert read_workspaces(path) == {"w1": frozenset("ab")}
    for text, words in (
        ("{", "not JSON"),
        ("{}", "expected a list"),
        ('[{"id": "w1"}]', "entry 1"),
        ("[3]", "entry 1"),
        ('[{"id": 1, "tools": []}]', "entry 1"),
        ('[{"id": "w", "tools": []}, {"id": "w", "tools": []}]', "entry 2"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(EvaluationError, match=words):
            read_workspaces(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no queries"),
        ("\n\n", "holds no queries"),
        ("null\n", "found null, expected a JSON object"),
        ('{"id": "a", "query": "b", "tools": ' + "9" * 5_000 + "}\n", "a number has too many digits"),
        ("[" * 200_000, "it nests too deep"),
    ],
)
def test_files_of_queries_that_say_nothing_are_refused(tmp_path, text, says):
    """An empty one, and one that the parser gives up on."""
    path = tmp_path / "q.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(EvaluationError, match=says):
        read_tasks(path)
