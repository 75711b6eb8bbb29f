"""What splits share, and a split that shares nothing."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolwise.config import settings
from toolwise.errors import EvaluationError
from toolwise.evaluate import Overlap, Task, overlaps, refuse_overlap, scene_disjoint, scene_folds
from toolwise.evaluate.jsonl import read_tasks
from toolwise.evaluate.splits import normalised


def task(id_, text, gold=""):
    """A task whose gold tools are letters."""
    return Task(id_, text, frozenset(gold))


def test_shared_ids_texts_and_gold_sets_are_reported():
    """Texts as they read, gold sets as sets and on request alone; empty gold is no set."""
    train = [task("1", "Book a  room", "ab"), task("2", "Pay", "c"), task("3", "Sing")]
    test = [task("2", "Go", "ba"), task("4", "ｂook a room ", "d"), task("5", "Dance")]
    assert overlaps(train, test) == Overlap(ids=("2",), texts=("book a room",))
    assert overlaps(train, test, gold_sets=True).gold_sets == (("a", "b"),)
    assert not overlaps(train[2:], test[2:], gold_sets=True)
    assert str(Overlap()) == "nothing"


def test_overlap_is_refused_with_what_is_shared():
    """Counts and the first of each; splits apart pass."""
    train, test = [task("1", "a", "xy")], [task("1", "b", "xy")]
    with pytest.raises(EvaluationError, match=r"share 1 ids \(the first is '1'\)\. ") as error:
        refuse_overlap(train, test)
    assert error.value.overlap.ids == ("1",)
    with pytest.raises(EvaluationError, match="1 gold sets"):
        refuse_overlap(train, test, gold_sets=True)
    refuse_overlap(train, [task("2", "b", "xy")])


def test_texts_are_compared_by_what_a_reader_sees():
    """Case, blanks and compatibility forms do not matter; words do."""
    assert normalised(" Ｐay\u00a0the\nBILL ") == "pay the bill"
    assert normalised("STRASSE") == normalised("straße")
    assert normalised("pay bill") != normalised("paybill")


tasks = st.lists(
    st.builds(task, st.integers(0, 40).map(str), st.sampled_from("abcdefghijkl"), st.text("xyz", max_size=2)),
    min_size=1,
    max_size=30,
    unique_by=lambda t: t.id,
)


@given(tasks, st.floats(0.05, 0.9), st.integers(0, 5))
def test_no_gold_set_or_text_is_in_both_parts(all_tasks, share, seed):
    """Nothing is lost, nothing shared, the share is kept, each part in the order given."""
    try:
        train, test = scene_disjoint(all_tasks, np.random.default_rng(seed), share)
    except EvaluationError:
        assume(False)
    refuse_overlap(train, test, gold_sets=True)
    assert 0 < len(test) <= share * len(all_tasks)
    assert sorted(all_tasks, key=all_tasks.index) == sorted(train + test, key=all_tasks.index)
    for part in (train, test):
        assert part == [t for t in all_tasks if t in part]


@given(tasks, st.integers(0, 5), st.randoms(use_true_random=False))
def test_the_split_does_not_depend_on_the_order_of_queries(all_tasks, seed, shuffler):
    """The same queries and seed: the same test part."""
    shuffled = list(all_tasks)
    shuffler.shuffle(shuffled)
    try:
        _, test = scene_disjoint(all_tasks, np.random.default_rng(seed), 0.5)
    except EvaluationError:
        assume(False)
    _, again = scene_disjoint(shuffled, np.random.default_rng(seed), 0.5)
    assert {t.id for t in test} == {t.id for t in again}


def test_queries_stay_together_by_gold_set_text_and_both():
    """1 and 2 share a text, 2 and 3 a gold set: one group of three, too large for half of four."""
    chained = [task("1", "a", "x"), task("2", "A ", "y"), task("3", "b", "y"), task("4", "c", "z")]
    train, test = scene_disjoint(chained, np.random.default_rng(0), 0.5)
    assert [t.id for t in test] == ["4"]
    assert [t.id for t in train] == ["1", "2", "3"]


def test_an_impossible_share_is_refused():
    """Outside 0..1, or too small for any group."""
    for share in (0.0, 1.0, -1.0, 2.0):
        with pytest.raises(EvaluationError, match="between 0 and 1"):
            scene_disjoint([task("1", "a")], np.random.default_rng(0), share)
    with pytest.raises(EvaluationError, match="Raise the share"):
        scene_disjoint([task("1", "a", "x"), task("2", "b", "x")], np.random.default_rng(0), 0.5)


def test_toollens_is_split_by_scene():
    """Both splits together, anew: a tenth of the queries, and no gold set in both parts."""
    folder = settings().data / "toollens"
    if not folder.is_dir():
        pytest.skip("data set toollens is not here")
    everything = [t for split in ("train", "test") for t in read_tasks(folder / f"queries.{split}.jsonl")]
    train, test = scene_disjoint(everything, np.random.default_rng(0))
    refuse_overlap(train, test, gold_sets=True)
    assert len(train) + len(test) == 18_770
    assert 0.09 < len(test) / 18_770 <= 0.1


def test_folds_share_no_gold_set_text_or_id_and_hold_everything_once():
    """Nine queries, of which three share a gold set and two a text, in three folds of three."""
    queries = [
        Task("a", "one", frozenset({"x", "y"})),
        Task("b", "two", frozenset({"y", "x"})),
        Task("c", "three", frozenset({"x", "y"})),
        Task("d", "Four", frozenset({"z"})),
        Task("e", "four ", frozenset({"w"})),
        *(Task(id_, id_ * 3, frozenset({id_})) for id_ in "fghi"),
    ]
    folds = scene_folds(queries, 3, np.random.default_rng(0))
    assert sorted(task.id for fold in folds for task in fold) == list("abcdefghi")
    assert [len(fold) for fold in folds] == [3, 3, 3]
    for fold in folds:
        ids = {task.id for task in fold}
        assert ids & set("abc") in (set(), set("abc"))
        assert ids & set("de") in (set(), set("de"))
    assert folds == scene_folds(queries, 3, np.random.default_rng(0))


@pytest.mark.parametrize("parts", [0, 1, 3])
def test_folds_need_a_group_each(parts: int):
    """Two groups can be dealt into two folds and no other number."""
    queries = [Task("a", "one", frozenset({"x"})), Task("b", "two", frozenset({"y"}))]
    with pytest.raises(EvaluationError, match=f"{parts} folds of 2 queries with 2 distinct"):
        scene_folds(queries, parts, np.random.default_rng(0))
