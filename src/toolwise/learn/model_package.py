"""Put an exported encoder into the distribution that ships it, with the manifest its loader checks.

python -m toolwise.learn.model_package EXPORTED --training TUNED --into models/toolwise-minilm
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from toolwise.errors import EncoderError
from toolwise.learn.encoder import REPORT
from toolwise.learn.export_onnx import MODEL, TOKENIZER

WEIGHTS = Path("src") / "toolwise_minilm" / "weights"
SIZE_LIMIT = 25_000_000
"""Bytes of model and tokenizer."""


def fill(exported: Path, training: Path, distribution: Path, floor: float | None = None) -> None:
    """Copy model, tokenizer and the account of the training, and pin their hashes beside the ``floor``.

    Raises EncoderError where a file is missing or the model is over the limit.
    """
    files = {MODEL: exported / MODEL, TOKENIZER: exported / TOKENIZER, REPORT: training / REPORT}
    for path in files.values():
        if not path.is_file():
            raise EncoderError(f"{path} does not exist; expected an exported encoder.", path=path)
    size = sum(path.stat().st_size for path in files.values())
    if size > SIZE_LIMIT:
        raise EncoderError(f"{exported} takes {size} bytes, at most {SIZE_LIMIT}.", path=exported)
    into = distribution / WEIGHTS
    into.mkdir(parents=True, exist_ok=True)
    pinned = {}
    for name, path in files.items():
        content = path.read_bytes()
        (into / name).write_bytes(content)
        pinned[name] = hashlib.sha256(content).hexdigest()
    manifest = {"sha256": pinned} | ({} if floor is None else {"floor": floor})
    text = json.dumps(manifest, indent=2, sort_keys=True)
    (into / "manifest.json").write_text(text + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and fill the distribution."""
    parser = argparse.ArgumentParser(prog="python -m toolwise.learn.model_package", description=__doc__)
    parser.add_argument("exported", type=Path, help="folder of model.onnx and tokenizer.json")
    parser.add_argument("--training", type=Path, required=True, help="folder that the training wrote")
    parser.add_argument("--into", type=Path, required=True, help="folder of the distribution")
    parser.add_argument("--floor", type=float, help="cosine from which its vectors alone convince")
    given = parser.parse_args(arguments)
    fill(given.exported, given.training, given.into, given.floor)


if __name__ == "__main__":
    main()
