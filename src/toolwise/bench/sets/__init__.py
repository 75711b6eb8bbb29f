"""HYSET as published and what it is compared with, as systems of the bench by name.

``NAME`` or ``NAME:ENCODER``, the encoder being ``static`` by default;
``ENCODER`` may be any specification, or ``tuned``: the static table tuned on
the training requests.  ``budget:SYSTEM`` is any system that delivers at least
as many tools as HYSET, ``threshold:SYSTEM`` one cut by a score threshold to
HYSET's mean size on development requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from toolwise.bench.sets.systems import (
    BudgetSystem,
    HysetSystem,
    NetworkSystem,
    Options,
    PerToolSystem,
    ThresholdSystem,
)
from toolwise.bench.system import System
from toolwise.errors import RegistryError
from toolwise.learn.hyperedges import PAPER
from toolwise.sets.hyperedge import FIRST, MORE

__all__ = ["SET_HEADS", "set_system"]

_DESIGNS = {
    "hyset": "hyset",
    "hyset-shared-m": "shared-m",
    "hyset-identity-m": "identity-m",
    "hyset-no-f-set": "no-f-set",
    "hyset-uniform-pooling": "uniform-pooling",
    "hyset-no-expansion": "hyset",
    "hyset-by-request": "hyset",
}
_NETWORKS = ("deepsets", "set-transformer")
_WRAPPERS = ("budget", "threshold")

SET_HEADS = (*_DESIGNS, *_NETWORKS, "per-tool", *_WRAPPERS)
"""The names, without arguments."""


def set_system(name: str, seed: int, inner: Callable[[str], System]) -> System:
    """A set system by name; ``inner`` makes the system that a wrapper names.

    Raises RegistryError for a wrapper without a system.
    """
    head, _, argument = name.partition(":")
    if head in _WRAPPERS:
        if not argument:
            raise RegistryError(f"{head!r} wraps a system; write {head}:SYSTEM.", name=name)
        wrapped, reference = inner(argument), _reference(argument, seed)
        if head == "budget":
            return BudgetSystem(name, wrapped, reference)
        return ThresholdSystem(name, wrapped, reference)
    encoder = argument or "static"
    if head in _NETWORKS:
        return NetworkSystem(name, encoder, replace(PAPER, design=head, seed=seed))
    if head == "per-tool":
        return PerToolSystem(name, encoder, seed, Options())
    return _hyset(name, head, encoder, seed)


def _hyset(name: str, head: str, encoder: str, seed: int) -> HysetSystem:
    plan = replace(PAPER, design=_DESIGNS[head], seed=seed)
    more = 0 if head == "hyset-no-expansion" else MORE
    options = Options(by_request=head == "hyset-by-request")
    return HysetSystem(name, encoder, plan, options, FIRST + MORE - more, more)


def _reference(wrapped: str, seed: int) -> HysetSystem:
    """HYSET on the encoder of the wrapped system, so that both read the same vectors."""
    head, _, argument = wrapped.partition(":")
    learned = head in (*_DESIGNS, *_NETWORKS, "per-tool", "dense", "hybrid")
    return _hyset("hyset", "hyset", argument if argument and learned else "static", seed)
