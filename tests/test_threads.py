"""Small products run on one thread."""

from threadpoolctl import threadpool_info

from toolwise.threads import LARGE, frugal


def threads() -> set[int]:
    """How many threads BLAS may use now."""
    import numpy as np

    np.ones((2, 2)) @ np.ones(2)
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_small_products_run_on_one_thread_and_large_ones_as_before() -> None:
    """The limit holds inside alone, and not at all for large products."""
    before = threads()
    with frugal(LARGE - 1):
        assert threads() == {1}
    assert threads() == before
    with frugal(LARGE):
        assert threads() == before


def test_who_leaves_last_gives_the_threads_back() -> None:
    """Two overlap, one within the other or one after the other: the first to leave changes nothing."""
    before = threads()
    one, other = frugal(0), frugal(0)
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert threads() == {1}
    other.__exit__(None, None, None)
    assert threads() == before
