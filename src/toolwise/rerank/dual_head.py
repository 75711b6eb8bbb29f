"""Two heads on a frozen encoder: how relevant a tool is to a request, and how risky it is.

After the risk-aware reranking paper, section 4.3: ``s(x, t) = f_rel(x, t) -
lam * f_risk(t)``, both heads two-layer perceptrons with ReLU and sigmoid.  Two
forms share one file format:

``paper``
    As published: ``f_rel = MLP([e(x); e(t)])``, ``f_risk = MLP(e(t))``.
``default``
    ``l = scale * (e(x) + P e(x)) . e(t)``, a residual on the cosine that starts
    as the encoder's own ranking; ``f_rel`` is the calibrated share of the
    softmax of ``l`` over the tools scored together; ``f_risk`` is the mean of
    four ordinal outputs P(r > 1..4), which is the expected (r - 1) / 4; and
    risk counts as far as the tool is not needed:
    ``s = f_rel - lam * f_risk * (1 - f_rel)``.

Axes: Q requests, N tools, D dimensions, H hidden units.  numpy only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from toolwise.encode.load import check_fingerprint, load_encoder
from toolwise.errors import BrokenIndex, EncoderError
from toolwise.protocols import Encoder, Floats
from toolwise.records import Candidate, Query, Shortlist
from toolwise.store import Index
from toolwise.whole_file import replace_file

LAM = 0.1
"""Weight of risk: the paper's operating point."""
FILE = "heads.safetensors"
"""The heads that belong to an index, in its folder."""
_CHUNK = 4_000_000
"""Hidden values held at once: pairs of request and tool are scored in blocks of about this many."""


def _sigmoid(values: Floats) -> Floats:
    with np.errstate(over="ignore"):  # exp of a very negative logit: 1 / inf is the 0 that is meant
        found = 1 / (1 + np.exp(-values))
    return np.asarray(found, np.float32)


class Heads(Protocol):
    """Both heads in one of the forms."""

    def relevance(self, queries: Floats, tools: Floats) -> Floats:
        """``f_rel`` of unit rows (Q, D) and (N, D) -> (Q, N) in 0..1; the tools are scored together."""

    def risk(self, tools: Floats) -> Floats:
        """``f_risk`` (N, D) -> (N,) in 0..1, 0 for level 1 and 1 for level 5."""

    def score(self, relevance: Floats, risk: Floats, lam: float) -> Floats:
        """Both (Q, N), (N,) -> the score (Q, N) that ranks."""

    def tensors(self) -> dict[str, Floats]:
        """The parameters by name."""


@dataclass(frozen=True)
class Perceptron:
    """Two layers, ReLU between, sigmoid behind."""

    first: Floats
    """(H, D)."""
    first_bias: Floats
    """(H,)."""
    second: Floats
    """(O, H)."""
    second_bias: Floats
    """(O,)."""

    def __call__(self, rows: Floats) -> Floats:
        """(N, D) -> (N, O) in 0..1."""
        hidden = np.maximum(rows @ self.first.T + self.first_bias, 0)
        return _sigmoid(hidden @ self.second.T + self.second_bias)

    def tensors(self, prefix: str) -> dict[str, Floats]:
        """The parameters by name."""
        names = ("first", "first_bias", "second", "second_bias")
        return {f"{prefix}.{name}": getattr(self, name) for name in names}

    @classmethod
    def of(cls, tensors: Mapping[str, Floats], prefix: str) -> Perceptron:
        """From parameters by name.  Raises KeyError for a missing one."""
        return cls(*(tensors[f"{prefix}.{n}"] for n in ("first", "first_bias", "second", "second_bias")))


@dataclass(frozen=True)
class PaperHeads:
    """The published form."""

    rel: Perceptron
    """Reads a request's vector and then a tool's: (H, 2 D)."""
    risky: Perceptron

    def relevance(self, queries: Floats, tools: Floats) -> Floats:
        """``MLP([e(x); e(t)])``; the first layer is applied to each half once."""
        dim = queries.shape[1]
        of_tools = tools @ self.rel.first[:, dim:].T + self.rel.first_bias  # (N, H)
        of_queries = queries @ self.rel.first[:, :dim].T  # (Q, H)
        block = max(1, _CHUNK // max(1, of_tools.size))
        logits = [
            np.maximum(of_queries[start : start + block, None] + of_tools, 0) @ self.rel.second[0]
            for start in range(0, len(queries), block)
        ]
        found = np.concatenate(logits) if logits else np.zeros((0, len(tools)), np.float32)
        return _sigmoid(found + self.rel.second_bias)

    def risk(self, tools: Floats) -> Floats:
        """``MLP(e(t))``."""
        found: Floats = self.risky(tools)[:, 0]
        return found

    def score(self, relevance: Floats, risk: Floats, lam: float) -> Floats:
        """``f_rel - lam * f_risk``."""
        return relevance - np.float32(lam) * risk

    def tensors(self) -> dict[str, Floats]:
        """The parameters by name."""
        return {**self.rel.tensors("rel"), **self.risky.tensors("risky")}


@dataclass(frozen=True)
class DefaultHeads:
    """The form that dev data prefers."""

    residual: Floats
    """P (D, D)."""
    scale: Floats
    """(1,): logits per cosine."""
    calibration: Floats
    """(2,): slope and offset from the log of a softmax share to a logit."""
    risky: Perceptron
    """Four outputs, P(r > 1) to P(r > 4)."""

    def relevance(self, queries: Floats, tools: Floats) -> Floats:
        """The calibrated softmax share of every tool among ``tools``."""
        if not len(tools):
            return np.zeros((len(queries), 0), np.float32)
        logits = (queries + queries @ self.residual) @ tools.T * self.scale  # (Q, N)
        logits = logits - logits.max(axis=1, keepdims=True)
        share = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return _sigmoid(share * self.calibration[0] + self.calibration[1])

    def risk(self, tools: Floats) -> Floats:
        """The mean of the four ordinal outputs."""
        found: Floats = self.risky(tools).mean(axis=1)
        return found

    def score(self, relevance: Floats, risk: Floats, lam: float) -> Floats:
        """``f_rel - lam * f_risk * (1 - f_rel)``: a risk that is needed costs nothing."""
        return relevance - np.float32(lam) * risk * (1 - relevance)

    def tensors(self) -> dict[str, Floats]:
        """The parameters by name."""
        own = {"residual": self.residual, "scale": self.scale, "calibration": self.calibration}
        return {**own, **self.risky.tensors("risky")}


def parameters(heads: Heads) -> int:
    """Number of trained values."""
    return sum(tensor.size for tensor in heads.tensors().values())


def save_heads(heads: Heads, path: str | Path, fingerprint: str) -> None:
    """Write the heads with the fingerprint of their encoder; the file is replaced as a whole."""
    from safetensors.numpy import save

    path = Path(path)
    form = "paper" if isinstance(heads, PaperHeads) else "default"
    tensors = {name: np.ascontiguousarray(tensor, np.float32) for name, tensor in heads.tensors().items()}
    replace_file(path, save(tensors, {"form": form, "encoder": fingerprint}))


def load_heads(path: str | Path) -> tuple[Heads, str]:
    """The heads of a file and the fingerprint of their encoder.

    Raises EncoderError for a file that is missing, damaged or of another kind.
    """
    from safetensors import SafetensorError, safe_open

    make = f"Make them by: toolwise train reranker {Path(path).parent} --requests FILE"
    try:
        with safe_open(str(path), framework="numpy") as file:
            meta = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        if meta.get("form") == "paper":
            rel = Perceptron.of(tensors, "rel")
            return PaperHeads(rel, Perceptron.of(tensors, "risky")), meta.get("encoder", "")
        if meta.get("form") == "default":
            own = (tensors["residual"], tensors["scale"], tensors["calibration"])
            return DefaultHeads(*own, Perceptron.of(tensors, "risky")), meta.get("encoder", "")
    except FileNotFoundError as error:
        raise EncoderError(f"{path} does not exist: there are no heads yet. {make}", path=path) from error
    except (OSError, SafetensorError, KeyError) as error:
        raise EncoderError(f"{path} holds no heads: {error}. {make}", path=path) from error
    raise EncoderError(
        f"{path} holds heads of the form {meta.get('form')!r}; expected 'paper' or 'default'. {make}",
        path=path,
    )


class DualHeadReranker:
    """Order a shortlist by both heads.

    ``vectors`` (N, D) are the unit rows of the index's tools.  A request in
    which the encoder reads nothing (a zero vector) keeps the order it comes in,
    for the heads would know no more than the tools' own merits.
    """

    def __init__(self, heads: Heads, encoder: Encoder, vectors: Floats, *, lam: float = LAM) -> None:
        self._heads, self._encoder, self._vectors, self._lam = heads, encoder, vectors, lam

    @classmethod
    def open(cls, index: Index, weights: str | Path | None = None, *, lam: float = LAM) -> DualHeadReranker:
        """Over an index, with heads trained for its encoder: by default ``heads.safetensors`` in its folder.

        Raises EncoderError, or BrokenIndex where the heads belong to another encoder.
        """
        path = Path(weights) if weights is not None else index.folder / FILE
        heads, fingerprint = load_heads(path)
        encoder = load_encoder(index.meta["encoder"])
        check_fingerprint(encoder, index.meta, index.folder)
        if fingerprint != encoder.fingerprint:
            raise BrokenIndex(
                f"{path} was trained for the encoder {fingerprint}, {index.folder} was made with "
                f"{encoder.fingerprint}. Train the heads again, or index with their encoder.",
                folder=index.folder,
                found=fingerprint,
                expected=encoder.fingerprint,
            )
        return cls(heads, encoder, index.vectors, lam=lam)

    def rerank(self, query: Query, shortlist: Shortlist) -> Shortlist:
        """The candidates by ``s``; equal scores in order of id."""
        vector = self._encoder.encode_queries([query.text])
        if not vector.any():
            kept = tuple(sorted(shortlist.candidates, key=lambda c: (-c.score, c.id)))
            return Shortlist(shortlist.query_id, kept, shortlist.confidence)
        ordered = sorted(shortlist.candidates, key=lambda c: c.id)
        rows = [candidate.row for candidate in ordered]
        tools = np.asarray(self._vectors[rows], np.float32)
        relevance = self._heads.relevance(vector, tools)
        scores = self._heads.score(relevance, self._heads.risk(tools), self._lam)[0]
        order = np.argsort(-scores, kind="stable")
        picked = tuple(Candidate(ordered[i].row, ordered[i].id, float(scores[i])) for i in order.tolist())
        return Shortlist(shortlist.query_id, picked, shortlist.confidence)
