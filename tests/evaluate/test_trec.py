"""TREC files keep every id, every score and every query."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.errors import EvaluationError
from toolwise.evaluate import Answer, Qrels, Run
from toolwise.evaluate.trec import (
    decoded,
    encoded,
    queries_file,
    read_qrels,
    read_run,
    write_qrels,
    write_run,
)

ids = st.text(min_size=1, max_size=8) | st.sampled_from(
    ["a b", "srv/tool x", "50%", "%20", "tab\there", "line\nbreak", "\u2028", "工具", "#", '"', " ", "="]
)
scores = st.floats(allow_nan=False, allow_infinity=False)
answers = st.dictionaries(ids, scores, max_size=5).map(lambda found: Answer(tuple(found.items())))
runs = st.builds(Run, st.dictionaries(ids, answers.filter(lambda a: a.ranked), min_size=1, max_size=4), ids)


@given(runs)
def test_a_run_comes_back_as_it_was(run):
    """Ids with blanks, slashes, percent signs and line ends; scores to the last bit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.trec"
        write_run(run, path)
        assert read_run(path) == run


@st.composite
def qrels(draw):
    """Qrels of which some queries have no gold, some no text, some no workspace."""
    gold = draw(st.dictionaries(ids, st.frozensets(ids, max_size=3), max_size=4))
    some = st.dictionaries(st.sampled_from(sorted(gold)), st.text(max_size=6)) if gold else st.just({})
    return Qrels(gold, draw(some), draw(some))


@given(qrels())
def test_qrels_come_back_as_they_were(found):
    """Queries without gold, texts and workspaces included, in the same order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "qrels"
        write_qrels(found, path)
        read = read_qrels(path)
    assert read == found
    assert list(read.gold) == list(found.gold)


@given(st.text(alphabet=st.characters(), max_size=8))
def test_encoded_ids_are_single_fields(text):
    """Whatever the characters, lone surrogates too."""
    assert decoded(encoded(text)) == text
    assert encoded(text).isascii()
    assert len(encoded(text).split()) == bool(text)


def test_the_files_look_as_trec_tools_expect(tmp_path):
    """Six fields of a run, four of qrels, the list of queries beside them."""
    write_run(Run({"q 1": Answer((("b/c", 0.5), ("a", 2.0)))}, "my run"), tmp_path / "r")
    assert (tmp_path / "r").read_text(encoding="utf-8") == (
        "q%201 Q0 a 1 2.0 my%20run\nq%201 Q0 b%2Fc 2 0.5 my%20run\n"
    )
    write_qrels(
        Qrels({"q 1": frozenset(["z", "b/c"]), "none": frozenset()}, {"none": "a b"}, {"q 1": "w"}),
        tmp_path / "qrels.txt",
    )
    assert (tmp_path / "qrels.txt").read_text(encoding="utf-8") == "q%201 0 b%2Fc 1\nq%201 0 z 1\n"
    listed = queries_file(tmp_path / "qrels.txt")
    assert listed.name == "qrels.txt.queries"
    assert listed.read_text(encoding="utf-8") == "q%201\t\t=w\nnone\t=a%20b\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["qrels.txt", "qrels.txt.queries", "r"]


def test_a_foreign_run_is_ranked_by_score_then_id(tmp_path):
    """The rank column is not believed; tabs and Windows line ends are read."""
    (tmp_path / "r").write_bytes(b"q\tQ0\tb\t1\t0.5\tsys\r\nq Q0 a 2 0.5 sys\r\nq Q0 c 3 1e1 sys\r\n\r\n")
    run = read_run(tmp_path / "r")
    assert run.answers["q"].tools == ("c", "a", "b")
    assert run.name == "sys"
    assert read_run(tmp_path / "r", "other").name == "other"


def test_foreign_qrels_need_no_list_of_queries(tmp_path):
    """A tool of relevance 0 is no gold, but its query is known."""
    (tmp_path / "q").write_text("a 0 x 2\na 0 y 0\nb 0 x 0\n", encoding="utf-8")
    assert read_qrels(tmp_path / "q").gold == {"a": frozenset("x"), "b": frozenset()}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("q Q0 a 1 0.5 s\nq Q0 b 2 0.4\n", 2, "found 5 fields"),
        ("\nq Q0 a 1 high s\n", 2, "score 'high'"),
        ("q Q0 a 1 nan s\n", 1, "score 'nan'"),
        ("q Q0 a 1 2 s\nq Q0 a 2 1 s\n", 2, "'a' stands twice"),
    ],
)
def test_a_broken_run_is_refused_with_its_line(tmp_path, text, line, words):
    """File, line and what is wrong."""
    path = tmp_path / "r.trec"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(EvaluationError, match=words) as error:
        read_run(path)
    assert error.value.message.startswith(f"{path}:{line}: ")
    assert error.value.line == line


@pytest.mark.parametrize(
    ("qrels", "queries", "where", "words"),
    [
        ("a 0 x\n", None, "q:1", "found 3 fields"),
        ("a 0 x yes\n", None, "q:1", "relevance 'yes'"),
        ("a 0 x 1\nb 0 x 1\n", "a\n", "q:2", "'b' is not in"),
        ("", "a\na\n", "q.queries:2", "'a' stands twice"),
        ("", "a\t=t\t=w\t=more\n", "q.queries:1", "found 4 fields"),
    ],
)
def test_broken_qrels_are_refused_with_their_line(tmp_path, qrels, queries, where, words):
    """In the qrels or in the list beside them."""
    (tmp_path / "q").write_text(qrels, encoding="utf-8")
    if queries is not None:
        (tmp_path / "q.queries").write_text(queries, encoding="utf-8")
    with pytest.raises(EvaluationError, match=words) as error:
        read_qrels(tmp_path / "q")
    assert f"{where}: " in error.value.message


def test_an_empty_id_cannot_be_written(tmp_path):
    """And nothing is left behind."""
    with pytest.raises(EvaluationError, match="empty id"):
        write_run(Run({"q": Answer((("", 1.0),))}), tmp_path / "r")
    with pytest.raises(EvaluationError, match="empty id"):
        write_qrels(Qrels({"": frozenset("a")}), tmp_path / "q")
    assert not list(tmp_path.iterdir())
