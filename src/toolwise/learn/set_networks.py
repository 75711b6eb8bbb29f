"""Set scorers under training: F(x, E) = F_align(x, E) + a term over the set (HYSET, eq. 2 to 6).

All share a table Z of unit tool vectors (N, D), a projection P (R, D) of the
frozen request vectors and the alignment; they differ in the term over the set.
Axes: B requests, K sets of a pool, M places of a set, U distinct tools of a batch.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from toolwise.protocols import Floats

HIDDEN = 32
"""Width of the terms of DeepSets and the Set Transformer."""
HEADS = 2


class SetNetwork:
    """Table, projection and alignment, without a term over the set (the ablation "no F_set").

    ``uniform`` replaces the softmax weights of the alignment by equal ones.
    """

    def __init__(self, torch: Any, table: Floats, width: int, *, uniform: bool = False) -> None:
        self.torch = torch
        self._uniform = uniform
        self.table = torch.nn.Parameter(torch.tensor(table))
        self.projection = torch.nn.Parameter(torch.eye(width, table.shape[1]))

    def over(self, table: Floats) -> SetNetwork:
        """The same scorer over other tools, ``table`` (N, D); for inference alone."""
        found = copy(self)
        found.table = self.torch.tensor(table)
        return found

    def parameters(self) -> list[Any]:
        """Everything that is trained."""
        return [self.table, self.projection]

    def renormalise(self) -> None:
        """Bring the rows of Z back to unit length (eq. 11); rows that are zero stay so."""
        with self.torch.no_grad():
            self.table /= self.table.norm(dim=1, keepdim=True).clamp(min=1e-9)

    def penalty(self) -> Any:
        """What lambda multiplies in eq. 10."""
        return self.table.new_zeros(())

    def unary(self, requests: Any, rows: Any) -> Any:
        """l(x, t) (B, U) of requests (B, R) and the tools at ``rows`` (U,)."""
        return requests @ self.projection @ self.table[rows].T

    def energy(self, requests: Any, members: Any) -> Any:
        """F (B, K) of ``members`` (B, K, M), rows of tools padded with -1; -inf where a set is empty."""
        torch = self.torch
        inside = members >= 0
        rows, local = torch.unique(members.clamp(min=0), return_inverse=True)
        vectors = self.table[rows]
        all_ = requests @ self.projection @ vectors.T  # (B, U)
        scores = all_.gather(1, local.flatten(1)).view(members.shape)
        found = self._aligned(scores, inside) + self.term(requests, vectors, local, inside)
        return found.masked_fill(~inside.any(-1), float("-inf"))

    def _aligned(self, scores: Any, inside: Any) -> Any:
        """F_align (B, K), eq. 6."""
        logits = self.torch.zeros_like(scores) if self._uniform else scores
        weights = logits.masked_fill(~inside, -1e9).softmax(-1)
        return (weights * scores).sum(-1)

    def term(self, requests: Any, vectors: Any, local: Any, inside: Any) -> Any:
        """The term over the set (B, K): vectors (U, D), places in them (B, K, M), which places are taken."""
        return vectors.new_zeros(local.shape[:2])


class Hyperedges(SetNetwork):
    """F_set with one symmetric matrix per size 2..M (eq. 3); they start at zero.

    ``shared`` ties them to one matrix, ``identity`` fixes them all to the identity.
    """

    def __init__(
        self,
        torch: Any,
        table: Floats,
        width: int,
        largest: int,
        *,
        uniform: bool = False,
        shared: bool = False,
        identity: bool = False,
    ) -> None:
        super().__init__(torch, table, width, uniform=uniform)
        self._largest, self._shared, self._identity = largest, shared, identity
        size = table.shape[1]
        count = 1 if shared or identity else largest - 1
        start = torch.eye(size).repeat(count, 1, 1) if identity else torch.zeros(count, size, size)
        self.halves = torch.nn.Parameter(start, requires_grad=not identity)

    def parameters(self) -> list[Any]:
        """Z, P and the matrices unless they are fixed."""
        return [*super().parameters(), *([] if self._identity else [self.halves])]

    def matrices(self) -> Any:
        """M_2 to M_M (M - 1, D, D), symmetric."""
        both = (self.halves + self.halves.transpose(1, 2)) / 2
        return both.expand(self._largest - 1, -1, -1)

    def penalty(self) -> Any:
        """Sum of the squared Frobenius norms; a shared matrix counts once."""
        if self._identity:
            return super().penalty()
        both = (self.halves + self.halves.transpose(1, 2)) / 2
        return both.square().sum()

    def term(self, requests: Any, vectors: Any, local: Any, inside: Any) -> Any:
        """Sum of z_a M_m z_b over pairs, as half of (sum z) M_m (sum z) less the squares."""
        torch = self.torch
        found = vectors.new_zeros(local.shape[:2])
        sizes = inside.sum(-1)
        for size, matrix in zip(range(2, self._largest + 1), self.matrices(), strict=True):
            here = sizes == size
            if not bool(here.any()):
                continue
            places = local[here][:, :size]  # (S, m): members come before the padding
            used, own = torch.unique(places, return_inverse=True)
            tools = vectors[used]
            turned = tools @ matrix
            squares = (turned * tools).sum(1)
            whole = torch.nn.functional.embedding_bag(own, tools, mode="sum")
            turned_whole = torch.nn.functional.embedding_bag(own, turned, mode="sum")
            pairs = ((whole * turned_whole).sum(1) - squares[own].sum(1)) / 2
            found = found.masked_scatter(here, pairs)
        return found


class _Tokens:
    """A small vector (H,) per request and tool: relu(A z + B r + (C z) * (D r))."""

    def __init__(self, torch: Any, width: int, size: int) -> None:
        self.torch = torch
        self.layers = torch.nn.ModuleList(
            [torch.nn.Linear(n, HIDDEN) for n in (size, width)]
            + [torch.nn.Linear(n, HIDDEN, bias=False) for n in (size, width)]
        )

    def __call__(self, requests: Any, vectors: Any, local: Any, then: Any) -> tuple[Any, Any]:
        """Tokens (B, K, M, H) and ``then`` of them; of one request, worked out once per tool."""
        plain, crossed = self.layers[0](vectors), self.layers[2](vectors)
        of_request, gate = self.layers[1](requests), self.layers[3](requests)
        if len(requests) == 1:
            tokens = self.torch.relu(plain + of_request + crossed * gate)
            return tokens[local], then(tokens)[local]
        found = plain[local] + of_request[:, None, None] + crossed[local] * gate[:, None, None]
        tokens = self.torch.relu(found)
        return tokens, then(tokens)


class DeepSets(SetNetwork):
    """A term rho(sum over E of phi(x, t)) beside the alignment (Zaheer et al., 2017)."""

    def __init__(self, torch: Any, table: Floats, width: int) -> None:
        super().__init__(torch, table, width)
        self._tokens = _Tokens(torch, width, table.shape[1])
        self._phi = torch.nn.Linear(HIDDEN, HIDDEN)
        self._rho = torch.nn.Sequential(
            torch.nn.Linear(HIDDEN, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 1)
        )

    def parameters(self) -> list[Any]:
        """Z, P and the layers."""
        modules = (self._tokens.layers, self._phi, self._rho)
        return [*super().parameters(), *(p for module in modules for p in module.parameters())]

    def term(self, requests: Any, vectors: Any, local: Any, inside: Any) -> Any:
        """(B, K)."""
        _, tokens = self._tokens(requests, vectors, local, lambda x: self.torch.relu(self._phi(x)))
        return self._rho((tokens * inside[..., None]).sum(-2)).squeeze(-1)


class SetTransformer(SetNetwork):
    """A term from one self-attention block and attention pooling beside the alignment (Lee et al., 2019)."""

    def __init__(self, torch: Any, table: Floats, width: int) -> None:
        super().__init__(torch, table, width)
        linear = torch.nn.Linear
        self._tokens = _Tokens(torch, width, table.shape[1])
        self._seed = torch.nn.Parameter(torch.zeros(1, HIDDEN))
        self._layers = torch.nn.ModuleList(
            linear(HIDDEN, width) for width in (3 * HIDDEN, HIDDEN, 2 * HIDDEN, HIDDEN, 1)
        )

    def parameters(self) -> list[Any]:
        """Z, P, the pooling seed and the layers."""
        modules = (self._tokens.layers, self._layers)
        return [*super().parameters(), self._seed, *(p for module in modules for p in module.parameters())]

    def term(self, requests: Any, vectors: Any, local: Any, inside: Any) -> Any:
        """(B, K)."""
        relu = self.torch.relu
        project, feed, keys_values, last, out = self._layers
        tokens, projected = self._tokens(requests, vectors, local, project)
        keep = inside | ~inside.any(
            -1, keepdim=True
        )  # an empty set attends to its padding, and counts nothing
        query, key, value = projected.chunk(3, -1)
        tokens = tokens + self._attend(query, key, value, keep)
        tokens = tokens + relu(feed(tokens))
        key, value = keys_values(tokens).chunk(2, -1)
        pooled = self._attend(self._seed.expand(*tokens.shape[:2], 1, HIDDEN), key, value, keep).squeeze(-2)
        return out(pooled + relu(last(pooled))).squeeze(-1)

    def _attend(self, query: Any, key: Any, value: Any, keep: Any) -> Any:
        """Attention in heads over the places of a set: queries (B, K, L, H) -> (B, K, L, H)."""
        shape = (*query.shape[:-1], HEADS, HIDDEN // HEADS)
        query = query.view(shape).transpose(-2, -3)
        key, value = (x.view(*x.shape[:-1], HEADS, HIDDEN // HEADS).transpose(-2, -3) for x in (key, value))
        scores = query @ key.transpose(-1, -2) / (HIDDEN // HEADS) ** 0.5
        scores = scores.masked_fill(~keep[..., None, None, :], float("-inf"))
        return (scores.softmax(-1) @ value).transpose(-2, -3).flatten(-2)
