"""The graph by hand, against the dense matrix, and at a size where N x N would not fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import audited, write
from toolwise.records import Candidate, Query, Shortlist
from toolwise.rerank.toolgraph import ALL_EDGES, Edge, ToolGraph, ToolGraphReranker, build_graph
from toolwise.store import Index

APART = np.eye(6, dtype=np.float32)
NONE = np.zeros(6, np.int64)


def near(cosine: float, size: int = 6) -> np.ndarray:
    """Unit rows that are all orthogonal but for rows 0 and 1."""
    found = np.eye(size, dtype=np.float32)
    found[1] = 0
    found[1, :2] = cosine, np.sqrt(1 - cosine**2)
    return found


def dense(graph: ToolGraph) -> np.ndarray:
    """The adjacency (N, N), one column at a time."""
    return np.stack([graph._times(column) for column in np.eye(len(graph))], axis=1)


def reference(vectors, sets, permissions, levels, edges) -> np.ndarray:
    """The adjacency as the formulas say, pair by pair."""
    size = len(vectors)
    counts = np.zeros((size, size))
    for rows in sets:
        for a in set(rows):
            for b in set(rows) - {a}:
                counts[a, b] += 1
    found = np.zeros((size, size))
    for a in range(size):
        for b in range(size):
            if a == b:
                continue
            cosine = float(vectors[a] @ vectors[b])
            shared = int(permissions[a] & permissions[b]).bit_count()
            if Edge.COOCCURRENCE in edges and counts[a, b] >= 2:
                found[a, b] += 0.4 * counts[a, b] / counts.max()
            if Edge.SEMANTIC in edges and cosine > 0.65:
                found[a, b] += 0.3 * cosine
            if Edge.PERMISSION in edges:
                found[a, b] += 0.15 * shared / 5
            if Edge.RISK in edges and min(levels[a], levels[b]) >= 3 and counts[a, b] >= 1:
                found[a, b] += 0.15
    return found / (found.max() or 1.0)


def test_four_types_of_edges_by_hand():
    """0-1: three sets of at most three, cosine .8 and both risky; 2-3: one shared category of five."""
    permissions = np.array([0, 0, 0b101, 0b110, 0b1000, 0], np.int64)
    levels = np.array([3, 4, 1, 1, 5, 5], np.int64)
    sets = [[0, 1], [1, 0], [0, 1, 4], [2, 4]]
    graph = build_graph(near(0.8), sets, permissions, levels)
    whole = 0.4 + 0.3 * 0.8 + 0.15
    found = dense(graph)
    assert found[0, 1] == found[1, 0] == 1.0
    assert found[2, 3] == pytest.approx(0.15 / 5 / whole)
    assert found[0, 4] == found[1, 4] == pytest.approx(0.15 / whole)  # together once, both risky
    assert found[2, 4] == 0  # together once, one of them harmless
    assert not np.diag(found).any()
    assert not found[5].any()


@pytest.mark.parametrize(
    ("edge", "pairs"),
    [
        (Edge.COOCCURRENCE, {(0, 1)}),
        (Edge.SEMANTIC, {(0, 1)}),
        (Edge.PERMISSION, {(2, 3)}),
        (Edge.RISK, {(0, 1), (0, 4), (1, 4)}),
    ],
)
def test_every_type_can_stand_alone(edge, pairs):
    """And the largest weight is then its own."""
    permissions = np.array([0, 0, 0b101, 0b110, 0b1000, 0], np.int64)
    levels = np.array([3, 4, 1, 1, 5, 5], np.int64)
    found = dense(build_graph(near(0.8), [[0, 1], [1, 0], [0, 1, 4]], permissions, levels, [edge]))
    assert set(zip(*np.nonzero(np.triu(found)), strict=True)) == pairs
    assert found.max() == 1.0


@pytest.mark.parametrize(("cosine", "edges"), [(0.64, 0), (0.66, 1)])
def test_only_similar_descriptions_are_tied(cosine, edges):
    """The threshold is .65."""
    assert build_graph(near(cosine), edges=[Edge.SEMANTIC]).edges == edges


def test_smoothing_two_tools_by_hand():
    """A single edge normalises to 1: with alpha .2, mean(s, .8 s + .2 s') = .9 s + .1 s'."""
    graph = build_graph(near(0.8), edges=[Edge.SEMANTIC])
    found = graph.smooth(np.array([1.0, 0.5, 0.4, 0, 0, 0]))
    assert found[:3].tolist() == pytest.approx([0.95, 0.55, 0.36])


libraries = st.integers(2, 9).flatmap(
    lambda size: st.tuples(
        st.lists(st.integers(0, 3), min_size=size, max_size=size),
        st.lists(st.lists(st.integers(0, size - 1), max_size=4), max_size=6),
        st.lists(st.integers(0, 31), min_size=size, max_size=size),
        st.lists(st.integers(1, 5), min_size=size, max_size=size),
        st.sets(st.sampled_from(list(Edge))),
        st.lists(st.floats(0, 1), min_size=size, max_size=size),
        st.floats(0, 1),
    )
)


def made(library) -> tuple[ToolGraph, np.ndarray]:
    """A graph and its reference; tools on one of four axes, so that cosines are 0 and 1."""
    axes, sets, permissions, levels, edges, _, _ = library
    vectors = np.eye(4, dtype=np.float32)[axes]
    marks, levels = np.array(permissions), np.array(levels)
    return build_graph(vectors, sets, marks, levels, edges), reference(vectors, sets, marks, levels, edges)


@given(libraries)
def test_the_sparse_graph_is_the_dense_one(library):
    """The adjacency is what the formulas say, symmetric, at most 1."""
    graph, wanted = made(library)
    assert np.allclose(dense(graph), wanted, atol=1e-12)


@given(libraries)
def test_smoothing_is_the_formula(library):
    """mean(s, (1 - alpha) s + alpha D^-1/2 A D^-1/2 s); for a tool without neighbours the last part is 0."""
    graph, wanted = made(library)
    scores, alpha = np.array(library[5]), library[6]
    degrees = wanted.sum(1)
    inverse = np.where(degrees > 0, np.where(degrees > 0, degrees, 1) ** -0.5, 0)
    hop = (1 - alpha) * scores + alpha * inverse * (wanted @ (inverse * scores))
    found = graph.smooth(scores, alpha)
    assert np.allclose(found, (scores + hop) / 2, atol=1e-6)
    alone = degrees == 0
    assert np.allclose(found[alone], scores[alone] * (1 - alpha / 2), atol=1e-6)


@given(libraries, st.randoms(use_true_random=False))
def test_the_induced_graph_is_the_part_of_the_matrix(library, random):
    """Any rows in any order."""
    graph, wanted = made(library)
    rows = random.sample(range(len(graph)), random.randint(0, len(graph)))
    assert np.allclose(dense(graph.induced(rows)) if rows else 0, wanted[np.ix_(rows, rows)], atol=1e-12)


@given(libraries, st.randoms(use_true_random=False))
def test_a_permuted_shortlist_is_smoothed_alike(library, random):
    """The candidates stay, their new scores and order do not depend on the old order."""
    graph, _ = made(library)
    candidates = [Candidate(row, f"t/{row}", score) for row, score in enumerate(library[5])]
    ranker = ToolGraphReranker(graph)
    found = ranker.rerank(Query("q", ""), Shortlist("q", tuple(candidates)))
    random.shuffle(candidates)
    assert ranker.rerank(Query("q", ""), Shortlist("q", tuple(candidates))) == found
    keys = [(-c.score, c.id) for c in found.candidates]
    assert keys == sorted(keys)


@given(libraries, st.randoms(use_true_random=False))
def test_candidates_are_tied_as_in_the_whole_graph(library, random):
    """Edges of descriptions that are found among the candidates alone smooth them alike."""
    axes, sets, permissions, levels, edges, values, alpha = library
    vectors, marks = np.eye(4, dtype=np.float32)[axes], np.array(permissions)
    rows = sorted(random.sample(range(len(axes)), random.randint(1, len(axes))))
    whole = build_graph(vectors, sets, marks, np.array(levels), edges | {Edge.SEMANTIC})
    other = build_graph(vectors, sets, marks, np.array(levels), edges - {Edge.SEMANTIC})
    few = Shortlist("q", tuple(Candidate(row, f"t/{row}", values[row]) for row in rows))
    found = ToolGraphReranker(other, alpha, vectors).rerank(Query("q", ""), few)
    wanted = ToolGraphReranker(whole, alpha).rerank(Query("q", ""), few)
    assert {c.id: c.score for c in found.candidates} == pytest.approx(
        {c.id: c.score for c in wanted.candidates}, abs=1e-6
    )


def test_over_an_index_alike_tools_are_no_clique_in_memory(tmp_path):
    """3,000 tools of one description are 4.5 million edges; only those between candidates are ever made."""
    vectors = np.zeros((3_000, 2), np.float32)
    vectors[:, 0] = 1
    write(tmp_path, [audited(f"t/{row:04}") for row in range(3_000)], vectors=vectors)
    index = Index.open(tmp_path)
    reranker = ToolGraphReranker.open(index)
    assert reranker._graph.edges == 0
    pair = Shortlist("q", (Candidate(5, "t/0005", 1.0), Candidate(2_000, "t/2000", 0.5)))
    smoothed = reranker.rerank(Query("q", ""), pair)
    assert [c.score for c in smoothed.candidates] == pytest.approx([0.95, 0.55])  # as by hand above
    alone = ToolGraphReranker.open(index, edges=[Edge.RISK]).rerank(Query("q", ""), pair)
    assert [c.score for c in alone.candidates] == pytest.approx([0.9, 0.45])
    index.close()


def test_many_tools_with_one_permission_are_no_clique_in_memory():
    """20,000 writing tools are 200 million edges; none is written out, and each has 19,999 neighbours."""
    size = 20_000
    vectors = np.zeros((size, 2), np.float32)
    graph = build_graph(vectors, [], np.ones(size, np.int64), np.ones(size, np.int64), [Edge.PERMISSION])
    assert graph.edges == 0
    assert graph.degrees == pytest.approx(np.full(size, size - 1.0))
    assert graph.smooth(np.ones(size)) == pytest.approx(np.ones(size))


def test_semantic_edges_are_found_in_blocks(monkeypatch):
    """One row at a time they are the same."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(40, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    whole = build_graph(vectors, edges=[Edge.SEMANTIC])
    monkeypatch.setattr("toolwise.rerank.toolgraph._CELLS", 1)
    blocks = build_graph(vectors, edges=[Edge.SEMANTIC])
    assert whole.edges > 100
    assert np.array_equal(whole.neighbours, blocks.neighbours)
    assert np.allclose(whole.weights, blocks.weights)


def test_a_graph_of_nothing_changes_nothing_but_the_scale():
    """No tools, no edges, no data for a type: all are allowed."""
    assert build_graph(np.zeros((0, 3), np.float32)).smooth(np.zeros(0)).shape == (0,)
    assert build_graph(APART, [], None, None, ALL_EDGES).edges == 0
