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


def verify(folder: Path = FOLDER) -> float | None:
    """Check every file against the manifest, which may hold a floor: the cosine that convinces alone.

    Raises EncoderError where a file is missing or another.
    """
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
    floor: float | None = manifest.get("floor")
    return floor


def encoder() -> OnnxEncoder:
    """The encoder ``minilm``.  Raises EncoderError for damaged files, MissingExtra without onnxruntime."""
    from toolwise.encode.onnx import OnnxEncoder

    return OnnxEncoder(FOLDER, floor=verify())
