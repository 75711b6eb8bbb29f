"""What served past requests of a library, tools or none: how often, which together, what that teaches.

Only vectors of requests, ids of tools and what was fitted to both are kept, never what was asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from toolwise.errors import BrokenIndex
from toolwise.protocols import Floats, Ints
from toolwise.retrieve.adapter import Adapter
from toolwise.threads import frugal
from toolwise.whole_file import replace_file

FILE = "experience.safetensors"
"""Its name, beside a user's own weights."""
MOST = 5_000
"""Past requests that are kept, the latest of more."""


@dataclass(frozen=True, eq=False, slots=True)
class Recalled:
    """What experience says of K tools, for one request."""

    nearest: Floats
    """(K,): the greatest cosine to a past request that the tool served; 0 where it never served, NaN where
    past requests have no vectors."""
    uses: Floats
    """(K,): how many past requests each served."""
    together: Floats
    """(K, K): how many past requests two tools served together; the diagonal is ``uses``."""
    past: int
    """How many past requests there are."""
    belief: float
    """See :attr:`Lessons.belief`."""


@dataclass(frozen=True, slots=True)
class Lessons:
    """What past requests teach beside what they are."""

    adapter: Adapter | None = None
    """How requests are read; None: as the encoder reads them."""
    belief: float = 1.0
    """How far a set scorer's weights are believed beside the ranking: 0 where held-out requests were served
    better by the ranking alone."""


UNTAUGHT = Lessons()


class Experience:
    """Past requests of a library, the tools that served them or none, and what they teach."""

    def __init__(
        self,
        vectors: Floats,
        served: Sequence[Sequence[int]],
        size: int,
        lessons: Lessons = UNTAUGHT,
        unserved: Floats | None = None,
    ) -> None:
        """``vectors`` (T, D) of unit length, (0, 0) where there are none; the rows of the tools that served
        each; ``size`` tools in the library; ``unserved`` (F, D), requests that none of them served.
        """
        self._unserved: Floats = (
            np.zeros((0, 0), np.float32) if unserved is None else unserved.astype(np.float32)
        )
        self.past, self.lessons = len(served), lessons
        owner = np.repeat(np.arange(self.past), [len(rows) for rows in served])
        tool = np.array([row for rows in served for row in rows], dtype=np.int64)
        order = np.argsort(tool, kind="stable")
        self._vectors: Floats = vectors.astype(np.float32)
        self._owner: Ints = owner[order]
        self._tool: Ints = tool[order]
        self._start: Ints = np.searchsorted(self._tool, np.arange(size + 1))

    def nearest(self, vector: Floats, but: int = -1) -> Floats:
        """(N,): the greatest cosine of a past request that each tool served to one with unit ``vector`` (D,).

        0 for a tool that never served, NaN for all where past requests have no vectors.  The
        past request ``but`` is passed over.
        """
        size = len(self._start) - 1
        if self._vectors.shape[1] != len(vector):
            return np.full(size, np.nan, dtype=np.float32)
        found = np.zeros(size, dtype=np.float32)
        with frugal(self._vectors.size):
            cosines = self._vectors @ vector
        if but >= 0:
            cosines[but] = 0
        np.maximum.at(found, self._tool, cosines[self._owner])
        return found

    def nearest_unserved(self, vector: Floats) -> float:
        """The greatest cosine of unit ``vector`` (D,) to a past request that nothing served; 0 of none."""
        if not len(self._unserved) or self._unserved.shape[1] != len(vector):
            return 0.0
        with frugal(self._unserved.size):
            return float((self._unserved @ vector).max())

    def recall(self, nearest: Floats, rows: Ints) -> Recalled:
        """What it says of the tools at ``rows`` (K,); ``nearest`` (N,) as found for the request."""
        parts = [self._owner[self._start[row] : self._start[row + 1]] for row in rows.tolist()]
        touched = np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))
        served = np.zeros((len(rows), len(touched)), dtype=np.float32)
        for place, part in enumerate(parts):
            served[place, np.searchsorted(touched, part)] = 1
        with frugal(served.size * len(rows)):
            together: Floats = served @ served.T
        return Recalled(nearest[rows], together.diagonal(), together, self.past, self.lessons.belief)


def keep(
    path: Path,
    vectors: Floats,
    served: Sequence[Sequence[str]],
    encoder: str,
    lessons: Lessons = UNTAUGHT,
    unserved: Floats | None = None,
    ids: Sequence[str] = (),
) -> None:
    """Write ``path`` atomically: unit ``vectors`` (T, D) by the encoder of this fingerprint, and tool ids.

    ``unserved`` (F, D) are requests that none of the tools ``ids`` served.
    """
    from safetensors.numpy import save

    known = sorted({id_ for ids in served[-MOST:] for id_ in ids})
    place = {id_: at for at, id_ in enumerate(known)}
    last = served[-MOST:]
    tensors: dict[str, np.ndarray] = {
        "vectors": np.ascontiguousarray(vectors[-MOST:], dtype=np.float16),
        "counts": np.array([len(ids) for ids in last], dtype=np.int64),
        "tools": np.array([place[id_] for ids in last for id_ in ids], dtype=np.int64),
    }
    notes = {"encoder": encoder, "tools": json.dumps(known), "belief": str(lessons.belief)}
    if unserved is not None and len(unserved):
        tensors["unserved"] = np.ascontiguousarray(unserved[-MOST:], dtype=np.float16)
        tensors["library"] = _marks(ids)
    if lessons.adapter is not None:
        tensors["residual"] = np.ascontiguousarray(lessons.adapter.residual, dtype=np.float16)
        notes["lexical"] = str(lessons.adapter.lexical)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, save(tensors, metadata=notes))


def read(path: Path, ids: Sequence[str], encoder: str) -> Experience | None:
    """The experience at ``path`` for a library of these tools; None where there is no file.

    Tools that are gone are left out.  Requests that nothing served are forgotten where there is a tool that
    was not there then: it may serve them.  Past requests read by another encoder keep their counts only, and
    teach nothing more.  Raises BrokenIndex for a damaged file.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        return None
    try:
        with safe_open(str(path), framework="numpy") as file:
            notes, held = file.metadata() or {}, frozenset(file.keys())
            vectors, counts, tools = (file.get_tensor(name) for name in ("vectors", "counts", "tools"))
            residual = file.get_tensor("residual") if "lexical" in notes else None
            had = file.get_tensor("library") if "unserved" in held else None
            same_tools = had is not None and bool(np.isin(_marks(ids), had).all())
            unserved = file.get_tensor("unserved") if same_tools else None
        if unserved is not None and (unserved.ndim != 2 or not np.isfinite(unserved).all()):
            raise ValueError("its unserved requests are not a table of finite numbers")
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise ValueError("its vectors are not a table of finite numbers")
        known = json.loads(notes["tools"])
        served = _rows(known, {id_: row for row, id_ in enumerate(ids)}, counts, tools)
        lessons = _lessons(notes, residual, vectors.shape[1])
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, IndexError) as error:
        raise BrokenIndex(
            f"{path} cannot be read: {error}. Expected what served past requests; "
            "delete it, or make it again with toolwise train experience.",
            path=path,
        ) from error
    same = notes.get("encoder") == encoder and len(vectors) == len(served)
    if not same:
        return Experience(np.zeros((0, 0), np.float32), served, len(ids))
    return Experience(vectors, served, len(ids), lessons, unserved)


def _marks(ids: Sequence[str]) -> np.ndarray:
    """(N,): eight bytes for each id."""
    return np.array(
        [int.from_bytes(sha256(id_.encode()).digest()[:8], "big") for id_ in ids], dtype=np.uint64
    )


def _lessons(notes: Mapping[str, str], residual: np.ndarray | None, width: int) -> Lessons:
    """What is written beside past requests.  Raises ValueError for what cannot be."""
    belief, lexical = float(notes.get("belief", 1)), float(notes.get("lexical", 1))
    if not (0 <= belief <= 1 and 0 <= lexical < np.inf):
        raise ValueError(f"a belief of {belief} or a weight of {lexical}")
    if residual is None:
        return Lessons(None, belief)
    if residual.shape != (width, width) or not np.isfinite(residual).all():
        raise ValueError(f"its map is not a finite square of {width}")
    return Lessons(Adapter(residual.astype(np.float32), lexical), belief)


def _rows(known: Sequence[str], row: Mapping[str, int], counts: Ints, tools: Ints) -> list[list[int]]:
    """The rows, in the library, of the tools that served each past request."""
    if int(counts.sum()) != len(tools):
        raise ValueError(f"{len(tools)} tools where the counts say {int(counts.sum())}")
    if min(counts.min(initial=0), tools.min(initial=0)) < 0:
        raise ValueError("a count or a place below 0")
    ends = np.cumsum(counts).tolist()
    names = [known[place] for place in tools.tolist()]
    return [
        [row[id_] for id_ in names[end - count : end] if id_ in row]
        for end, count in zip(ends, counts.tolist(), strict=True)
    ]
