"""What tools elsewhere in the world do, to tell requests for what a library lacks.

A request that nothing in a library serves is often near to some tool of it all
the same: it asks for an operation that its service has not got, or for a
service like one that is there.  How near the best tool comes says more beside
how near a fixed catalogue of common operations comes, read by the same
encoder: a request to text one's landlord is nearer to a messenger than to a
library's mail tools.  (Speaker verification norms its scores likewise, by those of a
cohort of others.)
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np

from toolwise.protocols import Bools, Encoder, Floats
from toolwise.records import Tool, ToolText
from toolwise.threads import frugal
from toolwise.whole_file import replace_file

_log = logging.getLogger(__name__)
CATALOGUE = Path(__file__).parent.parent / "weights" / "elsewhere" / "operations.jsonl"
"""One operation per line: ``{"server", "name", "description"}``."""
FILE = "elsewhere.safetensors"
"""Their vectors, beside the other arrays of an index's generation."""
STANDING: Final = ("best", "first", "five", "twenty", "behind", "behind_five", "usual", "ahead")
"""Names of what :meth:`Elsewhere.standing` tells."""
NEAREST = 20
"""Operations that a request is compared with one by one."""
OFFERED = 0.5
"""Cosine of an operation to a tool from which the library offers it."""
BLOCK = 1_024
"""Tools compared at once."""
_LEAST = np.float32(0.03)


class Elsewhere:
    """The vectors of R common operations."""

    def __init__(self, vectors: Floats, nearest_tool: Floats | None = None) -> None:
        """Unit ``vectors`` (R, D), R at least ``NEAREST``; each one's greatest cosine (R,) to a tool."""
        self._vectors: Floats = vectors.astype(np.float32)
        nearest = np.full(len(vectors), -1.0) if nearest_tool is None else nearest_tool
        self._nearest_tool: Floats = nearest.astype(np.float32)
        self.offered: Bools = self._nearest_tool >= OFFERED
        """(R,): what the library itself does."""

    def tensors(self) -> dict[str, Floats]:
        """By name."""
        return {"vectors": self._vectors, "nearest_tool": self._nearest_tool}

    def beside(self, tools: Floats) -> Elsewhere:
        """The same for a library of these unit vectors (N, D): what it offers itself is not elsewhere."""
        nearest = np.full(len(self._vectors), -1, np.float32)
        with frugal(self._vectors.size * len(tools)):
            for start in range(0, len(tools), BLOCK):
                cosines = self._vectors @ tools[start : start + BLOCK].T
                np.maximum(nearest, cosines.max(axis=1), out=nearest)
        return Elsewhere(self._vectors, nearest)

    @property
    def dim(self) -> int:
        """D."""
        return int(self._vectors.shape[1])

    def nearest(self, vector: Floats, best: float) -> int | None:
        """The row of the operation nearest to a request; None where none is nearer than ``best``."""
        cosines = np.where(self.offered, -1, self.cosines(vector))
        row = int(np.argmax(cosines))
        return row if cosines[row] > best else None

    def cosines(self, vector: Floats) -> Floats:
        """(R,): how near a request's ``vector`` (D,) comes to each operation."""
        with frugal(self._vectors.size):
            found: Floats = self._vectors @ vector
        return found

    def standing(self, cosines: Floats, best: float) -> Floats:
        """How the best tool of a library stands among operations elsewhere, as :data:`STANDING` names it.

        ``cosines`` (R,) are a request's, ``best`` its greatest cosine to a tool.  In standard deviations from
        the mean of all R: the best tool; the nearest operation, the next four, the next fifteen; how far the
        tool is behind the first and behind the next four; then the mean itself, and log(1 + the operations
        that are nearer than the tool).  Operations that the library offers itself count in mean and deviation
        alone.
        """
        mean, spread = cosines.mean(), max(cosines.std(), _LEAST)
        cosines = np.where(self.offered, np.float32(-1), cosines)
        nearest = np.sort(np.partition(cosines, len(cosines) - NEAREST)[-NEAREST:])[::-1]
        first, five, twenty = ((part.mean() - mean) / spread for part in np.split(nearest, [1, 5]))
        own = (best - mean) / spread
        ahead = np.log1p((cosines > best).sum())
        told = [own, first, five, twenty, own - first, own - five, mean / spread, ahead]
        return np.array(told, dtype=np.float32)


@cache
def operations() -> tuple[Tool, ...]:
    """The catalogue, as tools."""
    rows = [json.loads(line) for line in CATALOGUE.read_text(encoding="utf-8").splitlines()]
    return tuple(_tool(row) for row in rows)


def _tool(row: Mapping[str, str]) -> Tool:
    about = row["description"]
    id_ = f"{row['server']}/{row['name']}"
    return Tool(id_, row["name"], server=row["server"], text=ToolText(about, ()))


@cache
def edition() -> str:
    """Which catalogue this is."""
    return sha256(CATALOGUE.read_bytes()).hexdigest()[:16]


def of(encoder: Encoder) -> Elsewhere:
    """The operations as an encoder reads them."""
    return Elsewhere(encoder.encode_tools(operations()))


def keep(folder: Path, encoder: Encoder, tools: Floats, before: Path) -> None:
    """Write into ``folder`` the operations as an encoder reads them, beside the tools (N, D) of a library.

    They are read anew only where the folder ``before`` holds none of this encoder and edition.
    """
    from safetensors.numpy import save

    known = (read(before, encoder.fingerprint) or of(encoder)).beside(tools)
    notes = {"encoder": encoder.fingerprint, "edition": edition()}
    tensors = {name: np.ascontiguousarray(one, dtype=np.float16) for name, one in known.tensors().items()}
    replace_file(folder / FILE, save(tensors, metadata=notes))


def read(folder: Path, encoder: str) -> Elsewhere | None:
    """What a folder holds; None where it is of another encoder or edition, or damaged."""
    from safetensors import SafetensorError, safe_open

    path = folder / FILE
    if not path.is_file():
        return None
    try:
        with safe_open(str(path), framework="numpy") as file:
            notes = file.metadata() or {}
            vectors, nearest = file.get_tensor("vectors"), file.get_tensor("nearest_tool")
        whole = vectors.ndim == 2 and nearest.shape == vectors.shape[:1] == (len(operations()),)
        if not (whole and np.isfinite(vectors).all() and np.isfinite(nearest).all()):
            raise ValueError("not a table of finite numbers")
    except (OSError, SafetensorError, ValueError) as error:
        _log.warning("%s cannot be read (%s): `toolwise index --rebuild` makes it again", path, error)
        return None
    same = notes.get("encoder") == encoder and notes.get("edition") == edition()
    return Elsewhere(vectors, nearest) if same else None
