"""One BLAS thread for small products.

A product of a few million numbers takes a fraction of a millisecond; shared out
among threads on a busy machine it waits for the slowest of them, ten
milliseconds and more.  Large products keep their threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

LARGE = 50_000_000
"""Multiplications from which threads are worth waiting for."""


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _Shared:
    """The limit of the whole process: the first that enters sets it, the last that leaves gives it back."""

    def __init__(self) -> None:
        self._lock, self._within = Lock(), 0
        self._limiter: Any = None

    def enter(self) -> None:
        with self._lock:
            if self._within == 0:
                self._limiter = _controller().limit(limits=1)
            self._within += 1

    def leave(self) -> None:
        with self._lock:
            self._within -= 1
            if self._within == 0:
                self._limiter.restore_original_limits()


_shared = _Shared()


@contextmanager
def frugal(multiplications: int) -> Iterator[None]:
    """Within it, numpy's products run on one thread unless they are large."""
    if multiplications >= LARGE:
        yield
        return
    _shared.enter()
    try:
        yield
    finally:
        _shared.leave()
