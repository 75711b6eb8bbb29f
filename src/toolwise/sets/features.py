"""What a set scorer sees: numbers that mean the same in every library.

A request's pool of K candidates becomes features of each candidate (K, U), of
each pair (K, K, V) and of the request as a whole (G,).  None of them knows
which tool it is about, so weights carry over to tools nobody has seen; none
depends on the order of the pool.  What a catalogue does not say (tools without
a server) or nobody knows yet (what served past requests) is not a number, and
counts as what is usual.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from toolwise.audit.verbs import VERBS, Action
from toolwise.protocols import Bools, Floats, Ints
from toolwise.retrieve import terms
from toolwise.retrieve.hybrid import SCALE, Evidence
from toolwise.sets.facts import FIELDS, NO_ACTION, Facts, hashes

UNARY: Final = (
    "share,cosine_gap,cosine_z,lexical_share,rank,top,log_rank,below,above,"
    "clause,clause_tops,clause_mean,name_said,name_heard,verb_said,words_heard,rare_heard,"
    "parameters_said,brand_said,brand_any,server_best,server_size,server_mass,twin,twin_above,"
    "action_asked,required,"
    "reads,computes,minor,writes,sends,deletes,pays,runs,no_action,"
    "gives_asked,clauses,length,only_one,handles,names_given,recalled,recalled_gap,used"
).split(",")
"""Names of the features of a candidate, scores against the pool's best: other catalogues score otherwise."""
PAIR: Final = (
    "same_server,nouns,any_noun,same_name,cosine,feeds,feeds_read,parameters,same_action,both_read,both_change,"
    "look_then_change,look_then_change_noun,same_server_noun,told,spoken,clause_gain,same_clause,own_clauses,"
    "word_gain,word_overlap,name_gain,name_overlap,joint,explained,low,high,product,far,both_top,"
    "both_branded,many_clauses,one_clause_server,handles,used_together,mostly_together"
).split(",")
"""Names of the features of a pair."""
WHOLE: Final = (
    "clauses,length,best_cosine,best_lexical,best_fused,lead,second,fifth,entropy,near_best,heard,best_heard,"
    "name_heard,servers,mean_cosine,actions,change_asked,brand_said,agree,"
    "handles,numbers,names_given,quoted,links"
).split(",")
"""Names of the features of a request."""

_GIVEN = (
    re.compile(r"(?=[\w-]*[A-Za-z])(?=[\w-]*\d)[\w-]{3,}|[A-Za-z0-9]+_[A-Za-z0-9_]+|#\d+"),
    re.compile(r"(?<![\w-])\d[\d.,:]*(?![\w-])"),
    re.compile(r"(?<=[a-z,] )[A-Z][a-z]+"),
    re.compile(r"[\"“”„«»‘’`「」]|(?<!\w)'|'(?!\w)"),
    re.compile(
        r"https?://|www\.|\w@\w|(?<!\w)[~/]\w|\w\.(?:com|org|net|io|dev|pdf|csv|json|txt|md|py|png|jpg)\b"
    ),
)
_CHANGES = np.array([a >= Action.MINOR for a in Action] + [False])
_NAME, _NOUNS, _BRAND, _PARAMETERS, _GIVES, _WORDS, _NEEDS, _WANTS = range(len(FIELDS))
_KINDS = np.eye(NO_ACTION + 1, dtype=np.float32)
_LOOKS = np.array([a == Action.READ for a in Action] + [False])


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as words."""

    words: Ints
    """(W,): sorted distinct hashes of its stems."""
    actions: Bools
    """(A + 1,): which actions its verbs speak of; the last is never set."""
    length: float
    """Natural logarithm of 1 + its number of terms."""
    given: Floats
    """(5,): how many handles (words of letters and digits), numbers, names, quotations and links it gives,
    as log(1 + n)."""


def asked(text: str) -> Asked:
    """Read a request."""
    found = terms(text)
    actions = np.zeros(NO_ACTION + 1, dtype=bool)
    actions[[int(VERBS[one]) for one in set(found) if one in VERBS]] = True
    given = np.log1p([len(pattern.findall(text)) for pattern in _GIVEN]).astype(np.float32)
    return Asked(hashes(found), actions, float(np.log1p(len(found))), given)


def _share(part: Floats, whole: Floats) -> Floats:
    """``part / whole``, 0 where the whole is nothing."""
    shares: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return shares


class View:
    """The features of one request and pool, and the pieces they share."""

    def __init__(self, request: Asked, facts: Sequence[Facts], evidence: Evidence, vectors: Floats) -> None:
        """``facts`` and unit ``vectors`` (K, D) of the pool's tools, K at least 1."""
        self.request, self.evidence = request, evidence
        self.size = len(facts)
        self.cosines: Floats = vectors @ vectors.T  # (K, K)
        self.top = max(float(evidence.fused.max()), 1e-6)
        self.share: Floats = evidence.fused / np.float32(self.top)
        self.rank: Floats = (self.share > self.share[:, None]).sum(1).astype(np.float32)
        self._read_facts(facts)
        if evidence.recalled is not None:
            self.described *= evidence.recalled.belief
        self._read_clauses()
        self._hear()

    def _read_facts(self, facts: Sequence[Facts]) -> None:
        numbers = np.array([(f.server, f.action, f.required, f.label) for f in facts], dtype=np.int64)
        self.servers, self.actions, self.required, self.labels = numbers.T
        self.kin: Bools = (self.servers[:, None] == self.servers) & (self.servers != 0)
        np.fill_diagonal(self.kin, True)
        self.looks, self.changes = _LOOKS[self.actions], _CHANGES[self.actions]
        self._mentions = [one.mentions for one in facts]
        self._hashes = np.concatenate([one.hashes for one in facts])
        counts = np.stack([one.counts for one in facts])  # (K, F)
        self.counts: Floats = counts.astype(np.float32)
        self.described = float(((self.servers != 0) | (counts[:, _PARAMETERS] > 0)).mean())
        self._owners = np.repeat(np.arange(counts.size), counts.ravel())  # a tool's field, flat

    def _read_clauses(self) -> None:
        e = self.evidence
        scores = e.dense + e.words * np.square(e.lexical / np.float32(SCALE))  # (1 + C, K)
        self.count = len(scores) - 1
        part = slice(1, None) if self.count else slice(0, 1)
        self.clauses: Floats = scores[part] / np.maximum(e.best[part], 1e-6)[:, None]  # (max(C, 1), K)
        self.tops: Bools = self.clauses >= self.clauses.max(axis=1, keepdims=True) - 1e-6

    def _hear(self) -> None:
        """Which words of the request occur where: (K, F, W)."""
        words = self.request.words
        found = np.zeros((self.size * len(FIELDS), len(words)), dtype=np.float32)
        if len(words):
            places = np.minimum(np.searchsorted(words, self._hashes), len(words) - 1)
            hit = words[places] == self._hashes
            found[self._owners[hit], places[hit]] = 1
        heard = found.reshape(self.size, len(FIELDS), len(words))
        self.said: Floats = heard.sum(2)  # (K, F)
        self.named, self.heard = heard[:, _NAME], heard[:, _WORDS]  # (K, W) each
        rarity = np.log((self.size + 1) / (self.heard.sum(0) + 0.5)).astype(np.float32)
        self.rarity: Floats = rarity / np.float32(max(float(rarity.sum()), 1e-6))  # (W,)

    # -- of each candidate -------------------------------------------------

    @cached_property
    def unary(self) -> Floats:
        """(K, U), columns as in :data:`UNARY`."""
        found = np.empty((self.size, len(UNARY)), dtype=np.float32)
        columns = [
            *self._scores(),
            *self._words(),
            *self._neighbours(),
            *self._kinds(),
            *self._shape(),
            *self._memories(),
        ]
        for place, column in enumerate(columns):
            found[:, place] = column
        return found

    def _scores(self) -> list[Floats]:
        share, cosine = self.share, self.evidence.dense[0]
        lexical = self.evidence.lexical[0]
        ordered = np.sort(share)
        below = share - ordered[np.maximum(np.searchsorted(ordered, share) - 1, 0)]
        above = ordered[np.minimum(np.searchsorted(ordered, share, side="right"), self.size - 1)] - share
        return [
            share,
            cosine - cosine.max(),
            (cosine - cosine.mean()) / (cosine.std() + np.float32(0.02)),
            lexical / np.float32(max(float(lexical.max()), 1e-6)),
            self.rank / np.float32(16),
            (self.rank == 0).astype(np.float32),
            np.log1p(self.rank),
            below,
            above,
            self.clauses.max(axis=0),
            self.tops.mean(axis=0, dtype=np.float32),
            self.clauses.mean(axis=0),
        ]

    def _words(self) -> list[Floats]:
        part = _share(self.said, self.counts)  # (K, F)
        verb = self.said[:, _NAME] - np.minimum(self.said[:, _NOUNS], self.said[:, _NAME])
        return [
            part[:, _NAME],
            self.named @ self.rarity,
            np.minimum(verb, 1),
            self.said[:, _WORDS] / np.float32(max(len(self.request.words), 1)),
            self.heard @ self.rarity,
            part[:, _PARAMETERS],
            part[:, _BRAND],
            np.minimum(self.said[:, _BRAND], 1),
        ]

    def _neighbours(self) -> list[Floats]:
        share, self_ = self.share, np.eye(self.size, dtype=np.float32)
        off = self.cosines - 2 * self_
        better = np.where(self.rank < self.rank[:, None], off, 0)
        beside: list[Floats] = [
            np.where(self.kin & (self_ == 0), share, 0).max(axis=1),
            self.kin.sum(1) / np.float32(self.size),
            (self.kin @ share) / np.float32(max(float(share.sum()), 1e-6)),
        ]
        return [
            *(np.where(self.servers == 0, np.float32(np.nan), column) for column in beside),
            np.maximum(off.max(axis=1), 0),
            np.maximum(better.max(axis=1), 0),
        ]

    def _kinds(self) -> list[Floats]:
        return [
            self.request.actions[self.actions].astype(np.float32),
            np.minimum(self.required, 6) / np.float32(6),
            *_KINDS[:, self.actions],
        ]

    def _shape(self) -> list[float | Floats]:
        """Whether what it returns is asked for, and what a request says of itself."""
        given = self.request.given
        asks = np.minimum(self.said[:, _GIVES], 3) / np.float32(3)
        return [asks, self.count, self.request.length, float(self.count == 0), given[0], given[2]]

    def _memories(self) -> list[float | Floats]:
        """How near the past requests that a tool served come, and its share of all."""
        past = self.evidence.recalled
        if past is None:
            return [np.nan, np.nan, np.nan]
        used = np.sqrt(past.uses / np.float32(max(past.past, 1)))
        return [past.nearest, past.nearest - past.nearest.max(), used]

    # -- of each pair ------------------------------------------------------

    def pairs(self) -> Floats:
        """(K, K, V), columns as in :data:`PAIR`."""
        found = np.empty((len(PAIR), self.size, self.size), dtype=np.float32)
        columns = [*self._kinship(), *self._complements(), *self._strengths(), *self._shared_past()]
        for place, column in enumerate(columns):
            found[place] = column
        return found.transpose(1, 2, 0)

    def _kinship(self) -> list[NDArray[np.generic]]:
        held = self._held()
        nouns, needs, kin = held[:, _NOUNS], held[:, _NEEDS], self.kin
        shared = self._jaccard(held, _NOUNS)
        feeds = nouns @ needs.T > 0  # row a is named after what column b needs
        able = self.looks[:, None] & kin & ~np.eye(self.size, dtype=bool)
        reads = (held[:, _GIVES] @ needs.T > 0) & ~(needs @ needs.T > 0) & able
        spoken = held[:, _WORDS] @ held[:, _WANTS].T / np.maximum(self.counts[:, _WANTS], 1) * able
        told = self._told() & able
        orders = self.looks[:, None] & self.changes & kin
        orders = orders | orders.T
        return [
            kin,
            shared,
            shared > 0,
            self.labels[:, None] == self.labels,
            self.cosines,
            feeds | feeds.T,
            reads | reads.T,
            self._jaccard(held, _PARAMETERS),
            self.actions[:, None] == self.actions,
            self.looks[:, None] & self.looks,
            self.changes[:, None] & self.changes,
            orders,
            orders & (shared > 0),
            kin & (shared > 0),
            told | told.T,
            np.maximum(spoken, spoken.T),
        ]

    def _held(self) -> Floats:
        """(K, F, V): the fields of all tools over the words of the pool."""
        known, places = np.unique(self._hashes, return_inverse=True)
        found = np.zeros((self.size * len(FIELDS), len(known)), dtype=np.float32)
        found[self._owners, places] = 1
        return found.reshape(self.size, len(FIELDS), len(known))

    def _jaccard(self, held: Floats, field: int) -> Floats:
        sizes = self.counts[:, field]
        common: Floats = held[:, field] @ held[:, field].T
        union: Floats = sizes[:, None] + sizes - common
        return _share(common, union)

    def _told(self) -> Bools:
        """(K, K): the texts of column b speak of row a by name."""
        found = np.zeros((self.size, self.size), dtype=bool)
        labels = self.labels.tolist()
        for b, mentions in enumerate(self._mentions):
            if mentions:
                found[:, b] = [label in mentions for label in labels]
        return found

    def _complements(self) -> list[NDArray[np.generic]]:
        """What two candidates cover together beyond the better of them alone."""
        many = self.count > 0
        own, mean, tops = self.clauses.argmax(axis=0), self.clauses.mean(axis=0), self.tops.astype(np.float32)
        together = np.maximum(self.clauses[:, :, None], self.clauses[:, None, :]).mean(axis=0)
        apart = (tops.T @ (1 - tops)) * ((1 - tops).T @ tops) > 0
        found: list[NDArray[np.generic]] = [
            (together - np.maximum(mean[:, None], mean)) * many,
            (own[:, None] == own) & many,
            apart & many,
        ]
        for hits in (self.heard, self.named):
            weighted: Floats = hits * self.rarity
            alone, common = weighted.sum(1), weighted @ hits.T
            union: Floats = alone[:, None] + alone - common
            found += [union - np.maximum(alone[:, None], alone), _share(common, union)]
        return [*found, *self._spanned()]

    def _spanned(self) -> list[NDArray[np.generic]]:
        """How much nearer the request is to the sum of two tools, and to their plane, than to the nearer."""
        c, ab = self.evidence.dense[0], np.clip(self.cosines, -0.98, 0.98)
        near = np.maximum(c[:, None], c)
        joint = (c[:, None] + c) / np.sqrt(np.maximum(2 + 2 * ab, 0.1))
        square = (c[:, None] ** 2 + c**2 - 2 * c[:, None] * c * ab) / (1 - ab * ab)
        return [joint - near, np.sqrt(np.maximum(square, 0)) - near]

    def _strengths(self) -> list[NDArray[np.generic] | float]:
        share = self.share
        low, high = np.minimum(share[:, None], share), np.maximum(share[:, None], share)
        brand = self.said[:, _BRAND] > 0
        single = float(self.count == 0)
        return [
            low,
            high,
            low * high,
            high - low,
            np.maximum(self.rank[:, None], self.rank) < 3,
            brand[:, None] & brand,
            1 - single,
            self.kin * single,
            float(self.request.given[0]),
        ]

    def _shared_past(self) -> list[float | Floats]:
        """How often two tools served together, and how far one goes without the other seldom."""
        past = self.evidence.recalled
        if past is None:
            return [np.nan, np.nan]
        together, uses = past.together, past.uses
        return [np.log1p(together), together / (np.minimum(uses[:, None], uses) + 1)]

    # -- of the request ----------------------------------------------------

    @cached_property
    def whole(self) -> Floats:
        """(G,), columns as in :data:`WHOLE`."""
        request, dense, lexical = self.request, self.evidence.dense[0], self.evidence.lexical[0]
        ordered = np.sort(self.share)[::-1]
        weights = np.exp(6 * (np.maximum(ordered, -5) - 1))  # cosines below 0 alone would leave nothing
        weights = weights / weights.sum()
        last = self.size - 1
        first = int(np.argmax(self.share))
        agree = (int(np.argmax(dense)) == first) + (int(np.argmax(lexical)) == first)
        return np.array(
            [
                self.count,
                request.length,
                dense.max(),
                lexical.max() / SCALE,
                self.top,
                1 - ordered[min(1, last)],
                ordered[min(1, last)],
                ordered[min(4, last)],
                float(-(weights * np.log(weights + 1e-9)).sum()),
                (ordered > 0.8).mean(),
                self.heard.max(axis=0).mean() if len(request.words) else 0.0,
                (self.heard @ self.rarity).max(),
                (self.named @ self.rarity).max(),
                len(set(self.servers[self.rank < 5].tolist())) / 5 if self.servers.any() else np.nan,
                dense.mean(),
                request.actions.sum() / 4,
                (request.actions & _CHANGES).any(),
                (self.said[:, _BRAND] > 0).any(),
                agree / 2,
                *request.given,
            ],
            dtype=np.float32,
        )


def odds(first: Floats) -> Floats:
    """First scores (log odds, about two for one in two) as probabilities."""
    likely: Floats = (1 / (1 + np.exp(2 - np.clip(first, -40, 40)))).astype(np.float32)
    return likely
