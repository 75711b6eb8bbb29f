"""The weights of toolwise's minilm encoder and the factory that toolwise finds by entry point."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolwise.encode.onnx import OnnxEncoder

FOLDER = Path(__file__).parent / "weights"
MANIFEST = "manifest.json"


def verify(folder: Path = FOLDER) -> None:
    """Check every file against the manifest.  Raises EncoderError where one is missing or another."""
    from toolwise.errors import EncoderError

    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    for name, expected in manifest["sha256"].items():
        path = folder / name
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
        if found != expected:
            raise EncoderError(
                f"{path}: found {found}, expected sha256 {expected}. Install toolwise-minilm again.",
                path=path,
                found=found,
                expected=expected,
            )


def encoder() -> OnnxEncoder:
    """The encoder ``minilm``.  Raises EncoderError for damaged files, MissingExtra without onnxruntime."""
    from toolwise.encode.onnx import OnnxEncoder

    verify()
    return OnnxEncoder(FOLDER)
