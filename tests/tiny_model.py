"""A random transformer over a handful of words, saved as sentence-transformers saves one."""

from collections.abc import Iterable
from pathlib import Path

import pytest


def save_tiny(folder: Path, words: Iterable[str], width: int) -> Path:
    """Two layers of ``width``, ids of the words from 4 on; skips the test where torch is not installed."""
    torch = pytest.importorskip("torch", reason="the [train] extra is not installed")
    transformers = pytest.importorskip("transformers", reason="the [train] extra is not installed")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = transformers.BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=width,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=2 * width,
            max_position_embeddings=512,
        )
        transformers.BertModel(config).save_pretrained(str(folder), safe_serialization=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder
