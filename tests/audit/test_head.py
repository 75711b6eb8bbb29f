"""The learned head: packaged weights and small ones of our own."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from tests.audit.test_rules import TOOLS
from tests.audit.tools import tool
from toolwise.audit.features import BUCKETS, FACTS, ngrams
from toolwise.audit.head import HeadAnnotator
from toolwise.audit.head_weights import FLAGS, OUTPUTS, PACKAGED, HeadWeights, load
from toolwise.encode.static import StaticEncoder
from toolwise.errors import AnnotatorError
from toolwise.records import Capability, Level, Permission, Verdict

HEAD = HeadAnnotator()
DIM = StaticEncoder().dim


def small(**changes) -> HeadWeights:
    """A head that says 0 for everything but what ``changes`` set."""
    weights = HeadWeights(
        hidden=np.zeros((1, DIM + len(FACTS), 2), np.float32),
        hidden_bias=np.zeros((1, 2), np.float32),
        output=np.zeros((1, 2, OUTPUTS), np.float32),
        output_bias=np.zeros((1, OUTPUTS), np.float32),
        grams=np.zeros((BUCKETS, OUTPUTS), np.int8),
        gram_scale=np.ones(OUTPUTS, np.float32),
        slope=np.ones(OUTPUTS, np.float32),
        offset=np.zeros(OUTPUTS, np.float32),
        cuts=np.array([1.5, 2.5, 3.5, 4.5], np.float32),
        flag_cuts=np.full(len(FLAGS), 0.5, np.float32),
        improbable=np.array([0.1, 0.1, 0.1, 0.02], np.float32),
    )
    return replace(weights, **changes)


def head_of(weights: HeadWeights, path) -> HeadAnnotator:
    """An annotator with these weights."""
    save_file(weights.tensors(), path, weights.metadata())
    return HeadAnnotator("static", weights=path)


def bucket(word: str) -> int:
    """Where a word of a name is hashed to."""
    return int(ngrams([tool(word)])[0].buckets[0])


def test_the_arithmetic_is_that_of_the_formula(tmp_path):
    """One word with weight 2 on "2 or more", offsets -1 elsewhere: sigmoid(2), then at most sigmoid(-1)."""
    grams = np.zeros((BUCKETS, OUTPUTS), np.int8)
    grams[bucket("zap"), 0] = 4
    offset = np.full(OUTPUTS, -1, np.float32)
    offset[0] = 0
    scale = np.full(OUTPUTS, 0.5, np.float32)
    head = head_of(small(grams=grams, gram_scale=scale, offset=offset), tmp_path / "a.safetensors")
    found = head.estimate([tool("zap")])
    high, low = 1 / (1 + np.exp(-2)), 1 / (1 + np.exp(1))
    assert np.allclose(found.at_least, [[high, low, low, low]], atol=1e-4)
    assert np.allclose(found.risk, [[1 - high, high - low, 0, 0, low]], atol=1e-4)
    # the expected level is 1 + .881 + 3 x .269 = 2.69, between the second and the third cut
    assert found.levels.tolist() == [3]
    assert found.telling == (('"zap" in the name',),)
    (verdict,) = head.annotate([tool("zap")])
    assert [(e.claim, e.because) for e in verdict.evidence] == [
        ("level>=3", 'learned: "zap" in the name (level 3 or more: 0.27)')
    ]


def test_an_improbable_level_is_denied(tmp_path):
    """P(4 or more) = sigmoid(-3) = .047 is under .1, so level 4 is as good as ruled out; for 5 it is not."""
    offset = np.array([3, 3, -3, -3, *([-9] * 8)], np.float32)
    grams = np.zeros((BUCKETS, OUTPUTS), np.int8)
    grams[bucket("zap"), 4] = 1
    head = head_of(small(grams=grams, offset=offset), tmp_path / "a.safetensors")
    (verdict,) = head.annotate([tool("zap")])
    assert [e.claim for e in verdict.evidence] == ["level>=3", "level<=3"]
    offset[2] = -2
    head = head_of(small(grams=grams, offset=offset), tmp_path / "b.safetensors")
    (verdict,) = head.annotate([tool("zap")])
    assert [e.claim for e in verdict.evidence] == ["level>=3"]


def test_a_hidden_unit_reads_vector_and_facts(tmp_path):
    """ReLU of 1 x "no parameters" - 0.5, times 4, on the shell flag: sigmoid(2) = .88."""
    hidden = np.zeros((1, DIM + len(FACTS), 2), np.float32)
    hidden[0, DIM + FACTS.index("no parameters"), 0] = 1
    output = np.zeros((1, 2, OUTPUTS), np.float32)
    output[0, 0, 4 + FLAGS.index(Permission.SHELL)] = 4
    bias = np.array([[-0.5, 0]], np.float32)
    head = head_of(small(hidden=hidden, hidden_bias=bias, output=output), tmp_path / "a.safetensors")
    found = head.estimate([tool("zap"), tool("zap", "", "x")]).flags[:, FLAGS.index(Permission.SHELL)]
    assert np.allclose(found, [1 / (1 + np.exp(-2)), 0.5], atol=1e-4)


def test_it_abstains_where_it_knows_no_word(tmp_path):
    """Small weights know one word; another name is not judged, nor is another script."""
    grams = np.zeros((BUCKETS, OUTPUTS), np.int8)
    grams[bucket("zap"), 0] = 1
    head = head_of(small(grams=grams), tmp_path / "a.safetensors")
    known, unknown = head.annotate([tool("zap"), tool("qux")])
    assert known.level is not None
    assert unknown == Verdict()
    assert HEAD.annotate([tool("削除", "ユーザーを削除します。")]) == [Verdict()]


@pytest.mark.parametrize(
    ("some", "least", "most"),
    [
        (tool("get_weather", "Get the weather forecast of a city.", "city"), 1, 1),
        (tool("delete_repository", "Permanently delete a repository.", "owner", "repo"), 4, 5),
        (tool("run_command", "Run a shell command on the machine.", "command"), 4, 5),
        (tool("create_note", "Create a note.", "title", "text"), 2, 3),
        (tool("list_emails", "List the emails in your inbox.", "folder"), 2, 3),
    ],
)
def test_plain_tools_get_plain_levels(some, least, most):
    """By the rubric, for tools nobody argues about."""
    (verdict,) = HEAD.annotate([some])
    assert least <= verdict.level <= most


def test_flags_of_plain_tools():
    """A shell is a shell; reading mail reads what is private and what anybody may have written."""
    shell, mail, sums = HEAD.annotate(
        [
            tool("run_command", "Run a shell command on the machine.", "command"),
            tool("read_email", "Read an email of your inbox.", "id"),
            tool("calculate_mean", "Calculate the mean of numbers.", "numbers"),
        ]
    )
    assert {Permission.SHELL, Permission.CODE} <= shell.permissions
    assert {Capability.PRIVATE, Capability.UNTRUSTED} <= mail.capabilities
    assert sums.level == Level.SAFE
    assert not sums.permissions
    assert not sums.capabilities


@settings(max_examples=30)
@given(st.lists(TOOLS, max_size=4))
def test_a_verdict_depends_on_that_tool_alone(some):
    """One verdict a tool, in order, alike in any company; never an exception for a tool's content."""
    assert HEAD.annotate(some) == [HEAD.annotate([one])[0] for one in some]


@settings(max_examples=30)
@given(TOOLS)
def test_probabilities_are_probabilities(some):
    """Five that sum to one, none negative; those of "n or more" never rise with n; decisions keep to 1..5."""
    found = HEAD.estimate([some])
    assert found.risk.min() >= 0
    assert np.allclose(found.risk.sum(axis=1), 1)
    assert (np.diff(found.at_least, axis=1) <= 0).all()
    assert 1 <= found.levels[0] <= 5
    assert np.array_equal(HEAD.risk([some]), found.risk)


def test_more_probable_risk_is_never_a_lower_level(tmp_path):
    """The level grows with the offset of all four outputs."""
    grams = np.zeros((BUCKETS, OUTPUTS), np.int8)
    grams[bucket("zap"), 5] = 1
    levels = []
    for offset in (-5, -1.5, -0.5, 0.5, 2, 6):
        offsets = np.full(OUTPUTS, offset, np.float32)
        head = head_of(small(grams=grams, offset=offsets), tmp_path / f"{offset}.safetensors")
        levels += head.estimate([tool("zap")]).levels.tolist()
    assert levels == sorted(levels)
    assert (levels[0], levels[-1]) == (1, 5)


def test_a_huge_description_is_bounded():
    """What comes after the part that is read changes nothing, and a megabyte is no trouble."""
    short = tool("get_weather", "Get the weather. " * 200)
    long = replace(
        short, text=replace(short.text, description=short.text.description + "delete all " * 90_000)
    )
    a, b = HEAD.annotate([short, long])
    assert a.level == b.level


def test_vectors_may_be_shared():
    """Those of the same encoder give the same verdict as encoding again."""
    some = [tool("get_weather", "Get the weather."), tool("pay", "Pay an invoice.", "amount")]
    assert HEAD.annotate(some, StaticEncoder().encode_tools(some)) == HEAD.annotate(some)
    assert HEAD.fingerprint == StaticEncoder().fingerprint


def test_packaged_weights_are_small_and_fit_the_packaged_table():
    """Both together stay under 2.2 MB; every number is finite."""
    assert sum(path.stat().st_size for path in PACKAGED.glob("*.safetensors")) < 2_200_000
    assert load(PACKAGED / "static.safetensors").fingerprint == StaticEncoder().fingerprint


def test_the_model_card_names_the_weights_that_are_there():
    """By their sha256: after training again the card has to be made again."""
    card = (PACKAGED / "README.md").read_text(encoding="utf-8")
    for path in PACKAGED.glob("*.safetensors"):
        assert hashlib.sha256(path.read_bytes()).hexdigest() in card


def test_the_choice_of_the_encoder_is_explicit():
    """A name without weights is refused, whatever is installed; the default is the static table."""
    assert HeadAnnotator("static").fingerprint == HEAD.fingerprint
    with pytest.raises(AnnotatorError, match="there are for static, minilm"):
        HeadAnnotator("openai")


def test_weights_for_other_features_or_vectors_are_refused(tmp_path):
    """A missing file, other facts, other shapes, numbers that are not finite, another encoder."""
    with pytest.raises(AnnotatorError, match="cannot be read"):
        load(tmp_path / "absent.safetensors")
    (tmp_path / "junk.safetensors").write_bytes(b"junk")
    with pytest.raises(AnnotatorError, match="cannot be read"):
        load(tmp_path / "junk.safetensors")
    path = tmp_path / "w.safetensors"
    save_file(small().tensors(), path, {**small().metadata(), "facts": "others"})
    with pytest.raises(AnnotatorError, match="other features"):
        load(path)
    for wrong in ({"cuts": np.zeros(3, np.float32)}, {"slope": np.full(OUTPUTS, np.nan, np.float32)}):
        save_file(small(**wrong).tensors(), path, small().metadata())
        with pytest.raises(AnnotatorError, match="do not fit"):
            load(path)
    save_file(small().tensors(), path, small(fingerprint="static:other").metadata())
    with pytest.raises(AnnotatorError, match="was trained on vectors of static:other"):
        HeadAnnotator("static", weights=path)
