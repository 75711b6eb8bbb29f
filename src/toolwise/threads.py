"""One BLAS thread for small products.

A product of a few million numbers takes a fraction of a millisecond; shared out
among threads on a busy machine it waits for the slowest of them, ten
milliseconds and more.  Large products keep their threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

LARGE = 50_000_000
"""Multiplications from which threads are worth waiting for."""


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def frugal(multiplications: int) -> Iterator[None]:
    """Within it, numpy's products run on one thread unless they are large."""
    if multiplications >= LARGE:
        yield
        return
    with _controller().limit(limits=1):
        yield
