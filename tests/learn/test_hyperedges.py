"""HYSET's training on tiny planted data."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the [train] extra is not installed")
pytest.importorskip("transformers", reason="the [train] extra is not installed")

from toolwise.errors import EncoderError, EvaluationError  # noqa: E402
from toolwise.learn.hyperedge_pools import Example  # noqa: E402
from toolwise.learn.hyperedges import (  # noqa: E402
    DESIGNS,
    INTERACTIONS,
    PAPER,
    Plan,
    Trained,
    train_sets,
)
from toolwise.learn.set_decoding import decode, greedy, shortlist  # noqa: E402
from toolwise.learn.set_examples import SetExamples  # noqa: E402
from toolwise.learn.set_networks import Hyperedges  # noqa: E402
from toolwise.sets.hyperedge import HyperedgeScorer  # noqa: E402
from toolwise.sets.kernel import subsets, values  # noqa: E402

TOOLS, WIDTH = 24, 16
SMALL = replace(PAPER, largest=3, pool=16, batch=16, epochs=30, rate=1e-2, patience=30)


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows of unit length."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def planted(requests: int = 192, dev: int = 32) -> SetExamples:
    """Requests that look like tool 2 i and need the unrelated tool 2 i + 1 as well."""
    rng = np.random.default_rng(0)
    tools = unit(rng.normal(size=(TOOLS, WIDTH)))
    asked = rng.integers(0, TOOLS // 2, requests + dev)
    vectors = unit(tools[2 * asked] + 0.05 * rng.normal(size=(requests + dev, WIDTH)))
    examples = [Example(row, (2 * int(i), 2 * int(i) + 1), 0) for row, i in enumerate(asked)]
    rows = np.arange(TOOLS)
    ids = tuple(f"t{row:02}" for row in rows)
    texts = tuple(map(str, range(requests + dev)))
    train, held = tuple(examples[:requests]), tuple(examples[requests:])
    return SetExamples(ids, tools, texts, vectors, train, held, (rows,), (rows,), 0)


@pytest.fixture(scope="module")
def trained() -> Trained:
    """HYSET on the planted pairs."""
    return train_sets(planted(), SMALL)


def scrambled(design: str) -> Trained:
    """A design with random weights: one epoch at a great rate."""
    examples = planted(32, 0)
    found = train_sets(examples, replace(SMALL, design=design, epochs=1))
    rng = np.random.default_rng(1)
    with torch.no_grad():
        for parameter in found.network.parameters():
            noise = 0.3 * rng.normal(size=tuple(parameter.shape)).astype(np.float32)
            parameter.add_(torch.from_numpy(noise))
    return found


def test_the_loss_falls_and_the_planted_sets_come_out(trained: Trained):
    """Held-out requests get exactly their pair, which the frozen encoder cannot know."""
    examples = planted()
    assert trained.log.losses[-1] < 0.3 * trained.log.losses[0]
    assert trained.log.dev[trained.log.best] > trained.log.dev[0] + 0.2
    scorer = HyperedgeScorer(trained.hyperedges())
    hits = [
        sorted(scorer.predict(examples.requests[one.row]).tolist()) == list(one.gold) for one in examples.dev
    ]
    assert np.mean(hits) > 0.7


def test_tool_embeddings_stay_on_the_sphere_and_matrices_symmetric(trained: Trained):
    """The constraint of eq. 11, and M_m of eq. 3; sizes 0 and 1 have no matrix."""
    weights = trained.hyperedges("some-encoder")
    assert np.linalg.norm(weights.Z, axis=1) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(weights.M, weights.M.transpose(0, 2, 1))
    assert weights.M.shape == (4, WIDTH, WIDTH)
    assert not weights.M[:2].any()
    assert weights.encoder == "some-encoder"


def test_what_a_training_took_is_recorded(trained: Trained):
    """Steps, time, memory, parameters, and one measure more than epochs."""
    log = trained.log
    assert log.steps == 12 * len(log.losses)
    assert log.seconds > 0
    assert log.peak_mb > 0
    assert log.parameters == TOOLS * WIDTH + WIDTH * WIDTH + 2 * WIDTH * WIDTH
    assert len(log.dev) == len(log.losses) + 1
    assert log.dev[log.best] == max(log.dev[1:])


def test_the_same_seed_gives_the_same_weights():
    """And another seed other ones."""
    plan = replace(SMALL, epochs=2)
    first, second, other = (train_sets(planted(), replace(plan, seed=s)).hyperedges() for s in (0, 0, 1))
    assert np.array_equal(first.Z, second.Z)
    assert not np.array_equal(first.Z, other.Z)


@pytest.mark.parametrize("design", INTERACTIONS)
def test_the_trained_scorer_values_sets_as_inference_does(design: str):
    """Eq. 2 to 6 written twice: on torch pools and by the kernel over every set of eight tools."""
    found = scrambled(design)
    request = planted().requests[0]
    rows = np.array([3, 1, 20, 7, 15, 9, 0, 11])
    table = subsets(8, 3)
    padded = np.append(rows, -1)
    members = torch.from_numpy(padded[table.indices[1:]])[None]
    with torch.no_grad():
        here = found.network.energy(torch.from_numpy(request)[None], members)[0].numpy()
    there = values(HyperedgeScorer(found.hyperedges()).value(request, rows), table)[1:]
    assert here == pytest.approx(there, abs=1e-3)


@pytest.mark.parametrize("design", ["hyset", "no-f-set", "uniform-pooling", "identity-m"])
def test_shortlist_and_greedy_ranking_are_those_of_inference(design: str):
    """Two stages on torch tensors and in numpy."""
    found = scrambled(design)
    scorer = HyperedgeScorer(found.hyperedges(), first=6, more=3)
    requests = torch.from_numpy(planted().requests[:5])
    with torch.no_grad():
        pool = shortlist(found.network, requests, torch.arange(TOOLS), near=6, pool=9)
        picked = greedy(found.network, requests, pool, 3, 3)
    for row in range(5):
        vector = planted().requests[row]
        assert pool[row].tolist() == sorted(scorer.shortlist(vector).tolist())
        assert picked[row].tolist() == scorer.rank(vector, 3).tolist()


@pytest.mark.parametrize("design", ["deepsets", "set-transformer"])
def test_comparators_value_a_set_and_no_order(design: str):
    """Members in any order and pools in any company have the same value; many requests as one."""
    found = scrambled(design)
    requests = torch.from_numpy(planted().requests[:2])
    members = torch.tensor([[[4, 2, 9], [1, 5, -1], [-1, -1, -1]], [[8, 0, -1], [3, -1, -1], [7, 6, 5]]])
    turned = torch.tensor([[[9, 4, 2], [5, 1, -1], [-1, -1, -1]], [[0, 8, -1], [3, -1, -1], [5, 7, 6]]])
    with torch.no_grad():
        both = found.network.energy(requests, members).numpy()
        assert found.network.energy(requests, turned).numpy() == pytest.approx(both, abs=1e-4)
        alone = [found.network.energy(requests[i : i + 1], members[i : i + 1]).numpy()[0] for i in (0, 1)]
    assert np.stack(alone) == pytest.approx(both, abs=1e-4)
    assert both[0, 2] == -np.inf


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_learns(design: str):
    """The loss of the last epoch is below that of the first."""
    log = train_sets(planted(), replace(SMALL, design=design, epochs=4)).log
    assert log.losses[-1] < log.losses[0]


def test_ablations_tie_or_fix_the_matrices():
    """Shared: one matrix at every size; identity: not trained."""
    shared = train_sets(planted(), replace(SMALL, design="shared-m", epochs=1))
    assert isinstance(shared.network, Hyperedges)
    both = shared.network.matrices().detach().numpy()
    assert np.array_equal(both[0], both[1])
    assert both[0].any()
    identity = train_sets(planted(), replace(SMALL, design="identity-m", epochs=1))
    assert isinstance(identity.network, Hyperedges)
    assert np.array_equal(identity.network.matrices()[1].detach().numpy(), np.eye(WIDTH))


def test_stronger_decay_gives_smaller_matrices():
    """The lambda of eq. 10."""
    weak, strong = (
        np.linalg.norm(train_sets(planted(), replace(SMALL, epochs=4, decay=decay)).hyperedges().M)
        for decay in (0.0, 10.0)
    )
    assert strong < 0.5 * weak


def test_decoding_scores_every_set():
    """The best set has the greatest value of all, and the ranking starts greedily."""
    found = scrambled("deepsets")
    request = planted().requests[0]
    decoded = decode(found.network, request, np.arange(TOOLS), 3)
    table = subsets(20, 3)
    pool = np.array(sorted(decoded.ranking))
    members = torch.from_numpy(np.append(pool, -1)[table.indices[1:]])[None]
    with torch.no_grad():
        every = found.network.energy(torch.from_numpy(request)[None], members)[0].numpy()
    best = pool[table.members[1 + int(every.argmax())]]
    assert decoded.best == tuple(best.tolist())
    singles = every[table.block(1).start - 1 : table.block(1).stop - 1]
    assert decoded.ranking[0] == pool[int(singles.argmax())]
    assert len(set(decoded.ranking)) == 20


def weights_with(reward: Callable[[int, tuple[int, ...]], float] | None, **more: object) -> np.ndarray:
    """Z after an epoch with a reward."""
    plan = replace(SMALL, epochs=1, **more)  # type: ignore[arg-type]
    return train_sets(planted(), plan, reward).hyperedges().Z


def test_execution_feedback_counts_by_its_reward_and_eta():
    """Reward 0 or eta 0 leave the annotated loss alone; a reward moves the weights."""
    plain = weights_with(None, refresh=0)
    assert np.array_equal(weights_with(lambda request, members: 0.0, refresh=0), plain)
    assert np.array_equal(weights_with(lambda request, members: 1.0, refresh=0, eta=0.0), plain)
    assert not np.array_equal(weights_with(lambda request, members: 1.0, refresh=0, eta=5.0), plain)


def test_execution_feedback_is_asked_in_rounds_within_the_budget():
    """One round of all training requests before the first step, cut off by the budget."""
    asked: list[tuple[int, tuple[int, ...]]] = []

    def reward(request: int, members: tuple[int, ...]) -> float:
        asked.append((request, members))
        return 1.0

    log = train_sets(planted(), replace(SMALL, epochs=1, refresh=1_000, rollouts=50), reward).log
    assert log.asked == len(asked) == len(set(asked)) == 50
    assert all(1 <= len(members) <= 3 for _, members in asked)


def test_a_reward_that_is_none_is_refused():
    """Outside 0 to 1."""
    with pytest.raises(EvaluationError):
        weights_with(lambda request, members: 2.0, refresh=0)


def test_an_unknown_design_is_named():
    """With those there are."""
    with pytest.raises(EncoderError, match="deepsets"):
        train_sets(planted(), Plan(design="oracle"))


def test_a_comparator_has_no_matrices():
    """It is no hyperedge scorer."""
    with pytest.raises(EncoderError):
        train_sets(planted(), replace(SMALL, design="deepsets", epochs=1)).hyperedges()
