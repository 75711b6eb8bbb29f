"""HYSET at inference, against its formulas in plain loops and its theorem."""

from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sets.energies import value
from toolwise.errors import EncoderError, EncoderMismatch
from toolwise.protocols import Encoder
from toolwise.records import Candidate, Query
from toolwise.sets.hyperedge import HyperedgeScorer, matrix
from toolwise.sets.hyperedge_weights import HyperedgeWeights, load_weights, save_weights
from toolwise.sets.kernel import subsets, values


def weights(n: int = 6, d: int = 3, m: int = 4, seed: int = 0, **switches) -> HyperedgeWeights:
    """Random weights of ``n`` tools, requests in two dimensions."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d)).astype(np.float32)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    matrices = rng.normal(size=(m + 1, d, d)).astype(np.float32)
    matrices += matrices.transpose(0, 2, 1)
    matrices[:2] = 0
    ids = tuple(f"t{i}" for i in range(n))
    return HyperedgeWeights(ids, z, rng.normal(size=(2, d)).astype(np.float32), matrices, **switches)


def published(w: HyperedgeWeights, x: np.ndarray, members: tuple[int, ...]) -> float:
    """Equations 2 to 6, tool by tool, with the switches of the ablations."""
    m = len(members)
    inner = {
        "sized": w.M[m],
        "shared": w.M[-1],
        "identity": np.eye(w.Z.shape[1]),
        "none": np.zeros_like(w.M[0]),
    }[w.interaction]
    linked = sum(float(w.Z[a] @ inner @ w.Z[b]) for a, b in combinations(members, 2))
    scores = np.array([float(x @ w.P @ w.Z[j]) for j in members])
    share = np.exp(scores) / np.exp(scores).sum() if w.pooling == "attention" else np.full(m, 1 / m)
    return linked + float(share @ scores)


X = np.array([0.6, -0.8], np.float32)


@pytest.mark.parametrize("pooling", ["attention", "uniform"])
@pytest.mark.parametrize("interaction", ["sized", "shared", "identity", "none"])
def test_the_energy_is_the_published_one(interaction, pooling):
    """Every set of one to four of six tools; the empty set is not on offer."""
    w = weights(interaction=interaction, pooling=pooling)
    table = subsets(6, 4)
    found = values(HyperedgeScorer(w).value(X, np.arange(6)), table)
    assert found[0] == -np.inf
    for row in range(1, len(table.sizes)):
        members = tuple(np.flatnonzero(table.members[row]).tolist())
        assert found[row] == pytest.approx(published(w, X, members), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("pooling", ["attention", "uniform"])
def test_the_best_set_is_the_best_of_all_sets(pooling):
    """With a shortlist of the whole library, prediction is the exact argmax (eq. 1)."""
    for seed in range(10):
        w = weights(seed=seed, pooling=pooling)
        everything = chain.from_iterable(combinations(range(6), m) for m in range(1, 5))
        best = max(everything, key=lambda members: published(w, X, members))
        assert tuple(sorted(HyperedgeScorer(w).predict(X).tolist())) == best


@pytest.mark.parametrize("pooling", ["attention", "uniform"])
def test_the_ranking_is_greedy_under_the_published_score(pooling):
    """Sizes above M use the last matrix; the ranking is of the whole shortlist."""
    w = weights(m=2, pooling=pooling)
    last = HyperedgeWeights(w.ids, w.Z, w.P, np.stack([*w.M, *[w.M[2]] * 4]), pooling=pooling)
    ranked: tuple[int, ...] = ()
    while len(ranked) < 6:
        left = [i for i in range(6) if i not in ranked]
        ranked += (max(left, key=lambda i: published(last, X, (*ranked, i))),)
    assert tuple(HyperedgeScorer(w).rank(X, 6).tolist()) == ranked
    assert tuple(HyperedgeScorer(w).rank(X, 3).tolist()) == ranked[:3]


def test_the_shortlist_is_the_best_matches_then_the_best_partners():
    """Equations 12 and 13 in plain loops."""
    w = weights(n=30)
    scorer = HyperedgeScorer(w, first=4, more=3)
    match = [float(X @ w.P @ z) for z in w.Z]
    first = sorted(range(30), key=lambda j: -match[j])[:4]
    partner = {j: max(float(w.Z[j] @ w.M[-1] @ w.Z[i]) for i in first) for j in range(30) if j not in first}
    more = sorted(partner, key=lambda j: -partner[j])[:3]
    assert scorer.shortlist(X).tolist() == first + more
    assert HyperedgeScorer(w, first=4, more=0).shortlist(X).tolist() == first
    assert sorted(HyperedgeScorer(weights(n=3)).shortlist(X).tolist()) == [0, 1, 2]


def test_without_interaction_the_shortlist_is_by_match_alone():
    """No F_set knows no partners."""
    w = weights(n=30, interaction="none")
    order = np.argsort(-HyperedgeScorer(w).matches(X), kind="stable")
    assert HyperedgeScorer(w, first=4, more=3).shortlist(X).tolist() == order[:7].tolist()


def test_a_ranking_longer_than_the_shortlist_goes_on_by_match():
    """No tool comes twice, and all come."""
    w = weights(n=30)
    ranked = HyperedgeScorer(w, first=4, more=3).rank(X, 50).tolist()
    scorer = HyperedgeScorer(w)
    assert sorted(ranked) == list(range(30))
    assert sorted(ranked[:7]) == sorted(HyperedgeScorer(w, first=4, more=3).shortlist(X).tolist())
    assert ranked[7:] == sorted(ranked[7:], key=lambda j: -scorer.matches(X)[j])


def moebius(f: dict[frozenset, float], members: frozenset) -> float:
    """The Moebius coefficient of one set (HYSET, 2.4)."""
    inner = chain.from_iterable(combinations(sorted(members), s) for s in range(len(members) + 1))
    return sum((-1) ** (len(members) - len(part)) * f[frozenset(part)] for part in inner)


def set_term(w: HyperedgeWeights) -> tuple[dict[frozenset, float], float]:
    """F_set of all sets up to M, and the largest Moebius coefficient beyond pairs."""
    n, m = len(w.ids), w.largest
    pairs = np.stack([w.Z @ matrix(w, size) @ w.Z.T for size in range(m + 1)]).astype(float)
    f = {
        frozenset(e): sum(pairs[len(e), a, b] for a, b in combinations(e, 2))
        for size in range(m + 1)
        for e in combinations(range(n), size)
    }
    return f, max(abs(moebius(f, e)) for e in f if len(e) >= 3)


@given(st.integers(0, 1000), st.integers(3, 4), st.sampled_from([None, 2, 3, 4]))
def test_pairwise_decomposable_exactly_where_the_matrices_agree_on_the_tools(seed, m, changed):
    """Theorem 1: in M + 2 tools, one matrix that differs on a pair of them brings in higher interactions."""
    w = weights(n=m + 2, m=m, seed=seed, interaction="shared")
    assert set_term(w)[1] < 1e-9
    if changed is not None and changed <= m:
        matrices = np.stack([w.M[-1]] * (m + 1))
        matrices[changed] += np.ones_like(matrices[0])
        differing = HyperedgeWeights(w.ids, w.Z, w.P, matrices)
        agree = np.abs((w.Z @ np.ones_like(matrices[0]) @ w.Z.T)[~np.eye(m + 2, dtype=bool)]).max()
        assert set_term(differing)[1] > 1e-3 * agree


def test_matrices_may_differ_where_no_tool_looks():
    """Theorem 1 is about the tools: a difference orthogonal to all of them changes nothing."""
    w = weights(n=5, d=4, m=3)
    z = w.Z.copy()
    z[:, 3] = 0
    matrices = np.stack([w.M[2]] * 4)
    matrices[3, 3, :] += 5.0
    matrices[3, :, 3] += 5.0
    assert set_term(HyperedgeWeights(w.ids, z, w.P, matrices))[1] < 1e-4


def test_the_third_order_effect_is_the_difference_of_the_matrices():
    """The paper's example: for |E| = 3 it is the sum of z_i (M_3 - M_2) z_j over the pairs."""
    w = weights(n=5, m=3)
    f, _ = set_term(w)
    for e in combinations(range(5), 3):
        expected = sum(float(w.Z[a] @ (w.M[3] - w.M[2]) @ w.Z[b]) for a, b in combinations(e, 2))
        assert moebius(f, frozenset(e)) == pytest.approx(expected, abs=1e-4)


class OneVector:
    """An encoder that knows one request."""

    dim = 2
    fingerprint = "one"

    def encode_queries(self, texts):
        """The same vector for each."""
        return np.stack([X] * len(texts))

    def encode_tools(self, tools):
        """Nothing."""
        return np.zeros((len(tools), 2), np.float32)


def test_as_a_set_scorer_it_values_any_pool():
    """A tool outside the table counts as a zero vector: score 0, no partner."""
    encoder: Encoder = OneVector()
    w = weights(encoder="one")
    pool = [Candidate(9, "t2", 1.0), Candidate(4, "new", 0.9), Candidate(0, "t5", 0.8)]
    found = HyperedgeScorer(w, encoder).energy(Query("q", "anything"), pool)
    assert found.unary[1] == 0.0
    assert not found.pairs[:, 1].any()
    assert value(found, (0, 2)) == pytest.approx(published(w, X, (2, 5)), rel=1e-4)


def test_another_encoder_is_refused():
    """Vectors of another space would be nonsense; without an encoder there are none."""
    with pytest.raises(EncoderMismatch, match="trained on vectors of other, this encoder is one"):
        HyperedgeScorer(weights(encoder="other"), OneVector())
    with pytest.raises(ValueError, match="without an encoder"):
        HyperedgeScorer(weights()).energy(Query("q", "anything"), [])


def test_weights_come_back_as_they_were_written(tmp_path):
    """Tensors, ids in any script, switches and fingerprint."""
    w = weights(interaction="shared", pooling="uniform", encoder="enc")
    w = HyperedgeWeights(("ä", *w.ids[1:]), w.Z, w.P, w.M, w.interaction, w.pooling, w.encoder)
    save_weights(w, tmp_path / "deep" / "w.safetensors")
    back = load_weights(tmp_path / "deep" / "w.safetensors")
    for name in ("Z", "P", "M"):
        np.testing.assert_array_equal(getattr(back, name), getattr(w, name))
    assert (back.ids, back.interaction, back.pooling, back.encoder) == (w.ids, "shared", "uniform", "enc")
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["w.safetensors"]


def test_other_files_are_refused(tmp_path):
    """Missing, no safetensors, another format."""
    from safetensors.numpy import save

    path = tmp_path / "w.safetensors"
    with pytest.raises(EncoderError, match="cannot be used as weights of a set scorer"):
        load_weights(path)
    path.write_bytes(b"no")
    with pytest.raises(EncoderError, match="Train them again"):
        load_weights(path)
    path.write_bytes(save({"Z": np.zeros((1, 1), np.float32)}))
    with pytest.raises(EncoderError, match="its format is 'not named'"):
        load_weights(path)


def test_weights_that_do_not_fit_are_refused():
    """Shapes and switches are checked where they are put together."""
    w = weights()
    with pytest.raises(ValueError, match="do not fit 5 ids"):
        HyperedgeWeights(w.ids[1:], w.Z, w.P, w.M)
    with pytest.raises(ValueError, match="do not fit"):
        HyperedgeWeights(w.ids, w.Z, w.P, w.M[:, :2])
    with pytest.raises(ValueError, match="no interaction 'other'"):
        HyperedgeWeights(w.ids, w.Z, w.P, w.M, "other")
