"""MonoT5 over a tiny model."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from toolwise.errors import EncoderError, MissingExtra
from toolwise.learn.monot5 import NO, YES, MonoT5Scorer, prompt

WORDS = ["\u2581Query:", "\u2581Document:", "\u2581Relevant:", "\u2581cloud", "\u2581river", "\u2581stone"]


def tiny(folder: Path, answers: Sequence[str] = (YES, NO)) -> Path:
    """A T5 of one layer with a tokenizer of whole words, in ``folder``."""
    torch = pytest.importorskip("torch", reason="the [train] extra is not installed")
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    words = ["<pad>", "</s>", "<unk>", *answers, *WORDS]
    whole = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    whole.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=whole, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(words),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
        pad_token_id=0,
    )
    T5ForConditionalGeneration(config).save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder


def test_the_input_is_that_of_the_published_models():
    """Request, text, and the question at the end."""
    assert prompt("fly", "flights.") == "Query: fly Document: flights. Relevant:"


def test_scores_are_log_probabilities_of_the_two_answers(tmp_path: Path):
    """They agree with the model's own logits at the first step, and differ between texts."""
    scorer = MonoT5Scorer(str(tiny(tmp_path)))
    found = scorer.score("cloud", ["cloud", "river river stone"])
    assert found.shape == (2,)
    assert (found < 0).all()
    assert found[0] != found[1]
    import torch

    inputs: Any = scorer._tokenizer([prompt("cloud", "cloud")], return_tensors="pt")
    start = torch.zeros((1, 1), dtype=torch.long)
    with torch.inference_mode():
        logits = scorer._model(input_ids=inputs["input_ids"], decoder_input_ids=start).logits[0, 0].numpy()
    yes, no = np.exp(logits[3]), np.exp(logits[4])
    assert found[0] == pytest.approx(np.log(yes / (yes + no)), abs=1e-4)


def test_a_score_does_not_depend_on_its_neighbours(tmp_path: Path):
    """Seventeen texts are two batches; the longest pads the others, and changes nothing."""
    scorer = MonoT5Scorer(str(tiny(tmp_path)))
    texts = ["cloud", "river " * 9, *(["stone"] * 15)]
    together = scorer.score("cloud", texts)
    alone = np.concatenate([scorer.score("cloud", [text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert scorer.score("cloud", []).shape == (0,)


def test_a_model_without_the_answers_is_refused(tmp_path: Path):
    """Its vocabulary is no T5 vocabulary."""
    folder = tiny(tmp_path, ["\u2581yes", "\u2581no"])
    with pytest.raises(EncoderError, match="lacks '\u2581true'"):
        MonoT5Scorer(str(folder))


def test_a_folder_without_a_model_is_named(tmp_path: Path):
    """The library's error becomes ours."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    with pytest.raises(EncoderError, match="cannot be loaded"):
        MonoT5Scorer(str(tmp_path))


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    """The error holds the line that installs it."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r'pip install "toolwise\[train\]"'):
        MonoT5Scorer("name")
