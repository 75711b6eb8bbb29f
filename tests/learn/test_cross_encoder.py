"""Training a cross-encoder: what it is shown and, with torch, that it learns and is readable."""

import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from toolwise.errors import EncoderError, MissingExtra
from toolwise.learn import cross_encoder
from toolwise.learn.cross_encoder import Group, Plan, Sampler, save, start, train
from toolwise.learn.data import Library, Request
from toolwise.records import Tool, ToolText

WORDS = "cloud river stone apple tiger piano lemon rocket candle anchor".split()


def library(name: str = "toy") -> Library:
    """Ten tools, each about one word; a request for each, and one for two of them."""
    tools = tuple(Tool(f"t/{w}", w, text=ToolText(f"Everything about {w}.")) for w in WORDS)
    requests = [Request(f"tell me of {w}", (row,)) for row, w in enumerate(WORDS)]
    return Library(name, tools, (*requests, Request("cloud and river", (0, 1))))


def test_the_needed_tool_is_first_and_no_other_needed_one_follows():
    """A group of the request for two has one of them in front and the other nowhere."""
    sampler = Sampler([library()], Plan(hard=3, random=2))
    group = sampler.group(0, 10, 1)
    assert group.request == "cloud and river"
    assert group.texts[0] == "river. Everything about river."
    assert len(group.texts) == len(set(group.texts)) == 6
    assert not any("cloud" in text for text in group.texts)


def test_negatives_fill_up_from_the_library_where_bm25_finds_few():
    """Only the needed tool shares a term with the request, so all five negatives are drawn at random."""
    group = Sampler([library()], Plan(hard=5, random=0)).group(0, 0, 0)
    assert len(group.texts) == 6


def test_hard_negatives_come_first():
    """The one other tool that the request names is always among the negatives."""
    tools = (*library().tools, Tool("t/storm", "storm", text=ToolText("A cloud with rain.")))
    storm = Library("toy", tools, (Request("cloud", (0,)),))
    for seed in range(5):
        group = Sampler([storm], Plan(hard=1, random=1, seed=seed)).group(0, 0, 0)
        assert group.texts[1] == "storm. A cloud with rain."


def test_every_pair_comes_once_before_any_comes_twice():
    """Twelve pairs of request and needed tool in the first twelve groups."""
    sampler = Sampler([library()], Plan())
    shown = [(g.request, g.texts[0]) for g in islice(iter(sampler), 12)]
    assert len(set(shown)) == 12


def test_a_large_library_gives_no_more_than_its_share(monkeypatch: pytest.MonkeyPatch):
    """At most four of twelve pairs each, from both libraries."""
    monkeypatch.setattr(cross_encoder, "MOST_PAIRS", 4)
    sampler = Sampler([library(), library("other")], Plan())
    assert [pair[0] for pair in sampler._pairs] == [0] * 4 + [1] * 4
    assert len(set(sampler._pairs)) == 8


def test_the_seed_decides_the_groups():
    """Equal seeds show the same, others do not."""
    first, again, other = (list(islice(iter(Sampler([library()], Plan(seed=s))), 6)) for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_nothing_to_learn_from_is_an_error():
    """Libraries of one tool or without requests teach nothing."""
    alone = Library("one", library().tools[:1], (Request("cloud", (0,)),))
    with pytest.raises(EncoderError, match="no request to train on"):
        Sampler([alone, Library("none", library().tools, ())], Plan())


def test_other_weights_than_minilm_are_refused(tmp_path: Path):
    """A folder without the verified files starts nothing."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    with pytest.raises(EncoderError, match=r"model\.safetensors does not exist"):
        start(tmp_path, 0)


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The error holds the line that installs it."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r'pip install "toolwise\[train\]"'):
        start(tmp_path, 0)


def tiny() -> tuple[Any, Any]:
    """A BERT of one layer with one output, and a tokenizer of whole words."""
    torch = pytest.importorskip("torch", reason="the [train] extra is not installed")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        *WORDS,
        "tell",
        "me",
        "of",
        "and",
        "everything",
        "about",
        ".",
    ]
    words_only = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    words_only.normalizer = normalizers.Lowercase()
    words_only.pre_tokenizer = pre_tokenizers.Whitespace()
    words_only.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words_only,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        num_labels=1,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return BertForSequenceClassification(config), tokenizer


def test_a_few_steps_lower_the_loss():
    """A tiny model learns to match two words: the last losses are well below the first."""
    model, tokenizer = tiny()
    plan = Plan(steps=300, groups=8, hard=2, random=1, rate=3e-3)
    losses = train(model, tokenizer, iter(Sampler([library()], plan)), plan)
    assert len(losses) == 300
    assert sum(losses[-20:]) < 0.5 * sum(losses[:20])
    assert not model.training


def test_training_is_repeatable():
    """The same seed gives the same losses, whatever was drawn before."""
    torch = pytest.importorskip("torch", reason="the [train] extra is not installed")
    found = []
    for _ in range(2):
        model, tokenizer = tiny()
        torch.manual_seed(len(found))
        plan = Plan(steps=3, rate=1e-3)
        found.append(train(model, tokenizer, iter(Sampler([library()], plan)), plan))
    assert found[0] == found[1]


def test_the_rate_rises_and_falls(monkeypatch: pytest.MonkeyPatch):
    """Over ten steps of which one rises, the last is a ninth of the greatest rate."""
    torch = pytest.importorskip("torch", reason="the [train] extra is not installed")
    rates: list[float] = []
    real = torch.optim.AdamW.step

    def step(self: Any, *args: Any, **options: Any) -> Any:
        rates.append(self.param_groups[0]["lr"])
        return real(self, *args, **options)

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    model, tokenizer = tiny()
    plan = Plan(steps=10, rate=9e-4)
    train(model, tokenizer, iter(Sampler([library()], plan)), plan)
    assert rates[0] == pytest.approx(9e-4)
    assert rates[-1] == pytest.approx(1e-4)
    assert rates == sorted(rates, reverse=True)


def test_what_is_saved_is_read_back(tmp_path: Path):
    """The folder holds safetensors, settings, tokenizer and how it was made, and gives the same scores."""
    model, tokenizer = tiny()
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    save(model.eval(), tokenizer, tmp_path / "new", {"plan": {"steps": 0}})
    assert {p.name for p in (tmp_path / "new").iterdir()} >= {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "training.json",
    }
    assert not list(tmp_path.rglob("*.bin"))
    assert json.loads((tmp_path / "new" / "training.json").read_text(encoding="utf-8")) == {
        "plan": {"steps": 0}
    }
    again = AutoModelForSequenceClassification.from_pretrained(str(tmp_path / "new"))
    reread = AutoTokenizer.from_pretrained(str(tmp_path / "new"))
    assert again.config.num_labels == 1
    pair = ("tell me of cloud", "everything about cloud")
    expected = model(**tokenizer(*pair, return_tensors="pt")).logits.item()
    assert again(**reread(*pair, return_tensors="pt")).logits.item() == pytest.approx(expected, abs=1e-6)


def test_sentence_transformers_reads_it(tmp_path: Path):
    """Where the library is installed, its CrossEncoder gives one score a pair."""
    library_ = pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    model, tokenizer = tiny()
    save(model.eval(), tokenizer, tmp_path, {})
    reader = library_.CrossEncoder(str(tmp_path), local_files_only=True)
    scores = reader.predict([("cloud", "about cloud"), ("cloud", "about river")], show_progress_bar=False)
    assert scores.shape == (2,)


def test_the_command_builds_with_what_it_is_given(monkeypatch: pytest.MonkeyPatch):
    """Folders, steps and seed go through."""
    given: list[Any] = []
    monkeypatch.setattr(cross_encoder, "build", lambda *arguments: given.extend(arguments))
    cross_encoder.main("--minilm m --into i --data d --steps 3 --seed 4".split())
    assert given == [Path("m"), Path("i"), Path("d"), Plan(steps=3, seed=4)]


def test_build_writes_how_the_weights_were_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The data read, the plan and the losses are in training.json."""
    monkeypatch.setattr(cross_encoder, "start", lambda folder, seed: tiny())
    monkeypatch.setattr(cross_encoder, "libraries", lambda data: (library(),))
    losses = cross_encoder.build(tmp_path, tmp_path / "out", tmp_path, Plan(steps=2, seed=5))
    made = json.loads((tmp_path / "out" / "training.json").read_text(encoding="utf-8"))
    assert (made["libraries"], made["requests"], made["plan"]["seed"]) == (1, 11, 5)
    assert made["loss"]["first"] == losses[:1]


def test_groups_are_plain_values():
    """A group compares by what it says."""
    endless: Iterator[Group] = iter(Sampler([library()], Plan()))
    assert isinstance(next(endless), Group)
    assert Group("r", ("a",)) == Group("r", ("a",))
