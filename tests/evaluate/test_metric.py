"""Metrics by name, against values worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.errors import EvaluationError
from toolwise.evaluate import Metric, metric_names, parse_metrics
from toolwise.evaluate.metric import KINDS, Case
from toolwise.records import Capability

LEVELS = {"safe": 1, "calm": 1, "tame": 1, "low": 2, "mid": 3, "high": 4, "worst": 5}


def value(metric, ranked="", gold="safe", delivered="", text="", tokens=0):
    """One metric for one query; tools are words."""
    case = Case(
        tuple(ranked.split()), tuple(delivered.split()), frozenset(gold.split()), LEVELS, text, tokens
    )
    return Metric.parse(metric).of(case)


@pytest.mark.parametrize(
    ("metric", "ranked", "gold", "expected"),
    [
        # Ranks 2 of 3 with two gold tools: (1 / log2 3) / (1 / log2 2 + 1 / log2 3).
        ("ndcg@3", "x safe y", "safe low", 0.63093 / 1.63093),
        ("ndcg@1", "x safe", "safe", 0.0),
        ("ndcg@5", "safe", "safe", 1.0),  # fewer than k returned
        ("recall@2", "safe x low", "safe low", 0.5),
        ("recall@10", "safe x low", "safe low", 1.0),
        ("comp@2", "safe x low", "safe low", 0.0),
        ("comp@3", "safe x low", "safe low", 1.0),
        ("comp@5", "a b c d e f", "a b c d e f", 0.0),  # six gold tools never fit into five places
        ("comp@max", "a b c d e f", "a b c d e f", 1.0),
        ("comp@max", "a b c d e x f", "a b c d e f", 0.0),  # the sixth stands at rank 7 of 6
        ("comp@max", "x y z a b", "a b", 1.0),  # at least five places
        ("comp@max", "x y z w a b", "a b", 0.0),
        ("mrr", "x y z safe low", "safe low", 1 / 4),
        ("mrr", "x y", "safe", 0.0),
    ],
)
def test_relevance_by_hand(metric, ranked, gold, expected):
    """Rankings against gold sets."""
    assert value(metric, ranked, gold) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("metric", "ranked", "gold", "expected"),
    [
        ("rvr@5", "safe mid high low worst", "safe", 3 / 5),
        ("rvr@2", "safe mid high", "safe", 1 / 2),
        ("rvr@5", "mid safe", "safe", 1 / 2),  # two returned: the denominator is two
        ("rvr@5", "nobody-knows safe", "safe", 1 / 2),  # an unknown level counts as 3
        ("srr@5", "safe mid high low worst", "safe", 2 / 5),
        ("srr@5", "nobody-knows safe", "safe", 0.0),
        # Gold below level 4 is safe and low: gained at ranks 1 and 3, 1 + 1/2 of 1 + 1 / log2 3.
        ("sndcg@5", "safe high low", "safe low high", 1.5 / 1.63093),
        ("sndcg@5", "high", "high", 0.0),
        ("sndcg-defined@5", "safe high low", "safe low high", 1.5 / 1.63093),
        ("sndcg-defined@5", "x", "safe", 0.0),
        ("sndcg-defined@5", "high", "high worst", None),
        ("safe-rvr@5", "safe mid low high", "safe low", 2 / 4),
        ("safe-rvr@5", "safe", "safe mid", None),
        ("safe-rvr@5", "safe", "nobody-knows", None),
        ("needrisk-hit@2", "mid safe high", "high mid", 1.0),
        ("needrisk-hit@2", "safe low high", "high mid", 0.0),
        ("needrisk-hit@5", "safe", "safe low", None),
        ("needrisk-recall@2", "mid safe high", "high mid safe", 1 / 2),
        ("needrisk-recall@3", "mid safe high", "high mid safe", 1.0),
        ("needrisk-recall@5", "nobody-knows", "nobody-knows", 1.0),
        ("needrisk-recall@5", "safe", "safe low", None),
        ("unneeded-risk@5", "mid high worst safe nobody-knows", "high", 3.0),
        ("unneeded-risk@2", "mid high worst", "high", 1.0),
        ("unneeded-risk4@5", "mid high worst safe nobody-knows", "high", 1.0),
        ("unneeded-risk@5", "mid high", "mid high", 0.0),
    ],
)
def test_risk_by_hand(metric, ranked, gold, expected):
    """Levels of the returned and of the needed tools."""
    assert value(metric, ranked, gold) == (None if expected is None else pytest.approx(expected, abs=1e-5))


def test_padding_with_safe_tools_lowers_rvr_and_not_unneeded_risk():
    """One unneeded tool of level 4 stays one, whatever stands beside it."""
    assert value("rvr@5", "safe high") == 0.5
    assert value("rvr@5", "safe high calm tame low") == 0.2
    assert value("unneeded-risk@5", "safe high") == value("unneeded-risk@5", "safe high calm tame low") == 1.0


def test_opr_leaves_out_queries_that_ask_for_power():
    """SRR where the words are harmless; nothing where one asks to delete."""
    assert value("opr@5", "high safe", text="Show my calendar") == 0.5
    assert value("opr@5", "high safe", text="DELETE the file") is None
    assert value("opr@5", "", text="Show my calendar") == 0.0


@pytest.mark.parametrize(
    ("metric", "delivered", "gold", "expected"),
    [
        ("set-size", "safe mid", "safe", 2.0),
        ("set-precision", "safe mid low", "safe low high", 2 / 3),
        ("set-f1", "safe mid", "safe low high", 2 / 5),  # 2 * 1 / (2 + 3)
        ("exact", "low safe", "safe low", 1.0),
        ("exact", "low safe mid", "safe low", 0.0),
        ("coverage", "low safe mid", "safe low", 1.0),
        ("coverage", "low mid", "safe low", 0.0),
        ("exposed-rvr", "safe mid high low", "safe", 2 / 4),
        ("exposed-rvr", "", "safe", 0.0),
        ("exposed-srr", "safe mid high low", "safe", 1 / 4),
        ("exposed-unneeded", "safe mid high worst", "high", 2.0),
        ("exposed-unneeded4", "safe mid high worst", "high", 1.0),
        ("exposed-needed", "safe mid high", "safe mid worst", 1 / 2),
        ("exposed-needed", "mid", "safe", None),
        ("abstain-wrong", "", "safe", 1.0),
        ("abstain-wrong", "mid", "safe", 0.0),
        ("exposed-max-risk", "low high", "safe", 4.0),
        ("exposed-max-risk", "nobody-knows", "safe", 3.0),
        ("exposed-sum-risk", "low high nobody-knows", "safe", 9.0),
    ],
)
def test_delivered_sets_by_hand(metric, delivered, gold, expected):
    """What the agent gets, against what it needs."""
    assert value(metric, gold=gold, delivered=delivered) == pytest.approx(expected)


def test_abstaining_by_hand():
    """Precision looks at empty answers, recall at requests that nothing serves."""
    assert value("abstain-precision", delivered="", gold="") == 1.0
    assert value("abstain-precision", delivered="", gold="safe") == 0.0
    assert value("abstain-precision", delivered="safe", gold="") is None
    assert value("abstain-recall", delivered="", gold="") == 1.0
    assert value("abstain-recall", delivered="safe", gold="") == 0.0
    assert value("abstain-recall", delivered="", gold="safe") is None


def _all():
    return [Metric(name, 5) if kind.cutoff else Metric(name) for name, kind in KINDS.items()]


@pytest.mark.parametrize("metric", _all(), ids=str)
def test_an_empty_answer_scores_zero_or_says_nothing(metric):
    """No tools: no relevance, no risk, no size."""
    if metric.name not in ("abstain-precision", "abstain-wrong"):
        assert value(str(metric), gold="safe") in (0.0, None)
        assert value(str(metric), gold="high") in (0.0, None)


@pytest.mark.parametrize("metric", _all(), ids=str)
def test_empty_gold_counts_for_the_abstain_metrics_alone(metric):
    """Whatever was answered."""
    found = value(str(metric), ranked="safe high", gold="", delivered="safe high")
    assert (found is not None) == (metric.name == "abstain-recall")


names_with_cutoff = st.sampled_from(sorted(name for name, kind in KINDS.items() if kind.cutoff))
names_without = st.sampled_from(sorted(name for name, kind in KINDS.items() if not kind.cutoff))
metrics = st.one_of(
    st.builds(Metric, names_with_cutoff, st.integers(1, 9_999_999)),
    st.builds(Metric, names_without),
    st.just(Metric("comp", "max")),
)


@given(metrics)
def test_metrics_print_and_parse_back(metric):
    """Parse is the inverse of print."""
    assert Metric.parse(str(metric)) == metric


@given(st.text(max_size=20))
def test_whatever_parses_prints_the_same(text):
    """Of any text, either an error of ours or the same text again."""
    try:
        assert str(Metric.parse(text)) == text
    except EvaluationError as error:
        assert "ndcg@K" in error.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ndgc@5", "there is no metric called 'ndgc'. Did you mean 'ndcg'?"),
        ("precision@5", "no metric called 'precision'"),
        ("ndcg", "ndcg: ndcg needs a cut-off, as in 'ndcg@5'"),
        ("ndcg@max", "ndcg@max: ndcg needs a cut-off"),
        ("mrr@10", "mrr@10: mrr takes no cut-off; write 'mrr'"),
        ("ndcg@0", "'ndcg@0' is no metric"),
        ("ndcg@05", "'ndcg@05' is no metric"),
        ("ndcg@-1", "'ndcg@-1' is no metric"),
        ("NDCG@5", "'NDCG@5' is no metric"),
        ("", "'' is no metric"),
    ],
)
def test_a_wrong_metric_is_refused_with_the_list(text, words):
    """The message says what is wrong and what there is."""
    with pytest.raises(EvaluationError) as error:
        Metric.parse(text)
    assert words in error.value.message
    assert ", ".join(metric_names()) in error.value.message
    assert error.value.metric == text


@pytest.mark.parametrize("k", [0, -1, "5", "most", None])
def test_a_metric_cannot_be_made_wrong(k):
    """The constructor refuses what the grammar refuses."""
    with pytest.raises(EvaluationError):
        Metric("ndcg", k)


def test_a_list_of_metrics_keeps_its_order_and_drops_repeats():
    """Blanks and empty entries are passed over; a list of nothing is refused."""
    assert [str(m) for m in parse_metrics(["mrr", " ndcg@5", "", "mrr"])] == ["mrr", "ndcg@5"]
    with pytest.raises(EvaluationError, match="no metric was named"):
        parse_metrics(["", " "])


def test_the_names_cover_the_table():
    """Every metric once, and comp@max."""
    assert {name.removesuffix("@K") for name in metric_names()} == KINDS.keys() | {"comp@max"}
    assert len(metric_names()) == len(KINDS) + 1


def test_a_toxic_set_needs_several_tools():
    """All three capabilities over two tools count, over one tool they do not, two never do."""
    can = {
        "reads": frozenset({Capability.PRIVATE, Capability.UNTRUSTED}),
        "sends": frozenset({Capability.EXTERNAL}),
        "all": frozenset(Capability),
    }

    def toxic(delivered):
        case = Case((), tuple(delivered.split()), frozenset({"x"}), LEVELS, "", 0, can)
        return Metric.parse("exposed-toxic").of(case)

    assert [toxic(d) for d in ("reads sends", "reads other", "all", "all sends", "reads sends all", "")] == [
        *(1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    ]
