"""Our numbers are those of trec_eval."""

import numpy as np
import pytest
import pytrec_eval

from toolwise.evaluate import Answer, Metric, Qrels, Run, evaluate

PAIRS = {
    "ndcg@5": "ndcg_cut_5",
    "ndcg@10": "ndcg_cut_10",
    "recall@5": "recall_5",
    "recall@10": "recall_10",
    "mrr": "recip_rank",
}


@pytest.mark.parametrize("seed", range(20))
def test_random_runs_score_as_in_trec_eval(seed):
    """Fifty queries, lists of 0 to 30 of 40 tools, gold sets of 1 to 12, distinct scores."""
    generator = np.random.default_rng(seed)
    tools = [f"tool {i:02d}/x" for i in range(40)]
    gold, answers = {}, {}
    for query in map(str, range(50)):
        gold[query] = frozenset(generator.choice(tools, generator.integers(1, 13), replace=False))
        listed = generator.choice(tools, generator.integers(0, 31), replace=False)
        scores = generator.permutation(len(listed)) + generator.random()
        answers[query] = Answer(tuple(zip(map(str, listed), map(float, scores), strict=True)))
    theirs = pytrec_eval.RelevanceEvaluator(
        {query: dict.fromkeys(map(str, some), 1) for query, some in gold.items()}, set(PAIRS.values())
    ).evaluate({query: dict(answer.ranked) for query, answer in answers.items()})
    rows = evaluate(Qrels(gold), Run(answers), list(PAIRS))
    assert len(rows) == 50 * len(PAIRS)
    for row in rows:
        expected = theirs.get(row.query_id, {}).get(PAIRS[str(row.metric)], 0.0)
        assert row.value == pytest.approx(expected, abs=1e-9), (row.query_id, str(row.metric))


def test_complete_where_trec_eval_says_full_recall():
    """COMP@5 has no counterpart; it is recall at 5 being 1."""
    qrels = Qrels({"q": frozenset("ab")})
    for order in ("abx", "axb", "xya", "xyzwab"):
        run = Run({"q": Answer.in_order(order)})
        theirs = pytrec_eval.RelevanceEvaluator({"q": {"a": 1, "b": 1}}, {"recall_5"}).evaluate(
            {"q": dict(run.answers["q"].ranked)}
        )
        (row,) = evaluate(qrels, run, [Metric("comp", 5)])
        assert row.value == float(theirs["q"]["recall_5"] == 1.0)
