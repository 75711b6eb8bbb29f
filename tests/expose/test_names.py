"""Exported names: legal, one per id, independent of each other."""

import re
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.errors import ExportError
from toolwise.expose import export_name, names, original_ids

LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")
ANY = st.text(max_size=100)
NEAR = st.text(alphabet="aA_-/. é0", max_size=9)
"""Ids of few characters, where most clashes lie."""


@pytest.mark.parametrize(
    ("id_", "name"),
    [
        ("github/create_issue", "github__create_issue"),
        ("get-weather", "get-weather"),
        ("A/b", "A__b"),
        ("a" * 64, "a" * 64),
        ("a" * 31 + "/" + "b" * 31, "a" * 31 + "__" + "b" * 31),
    ],
)
def test_plain_ids_become_themselves(id_, name):
    """Legal characters, at most one slash, at most 64 characters."""
    assert export_name(id_) == name


@pytest.mark.parametrize(
    ("id_", "stub"),
    [
        ("my.server/get user", "my_server_get_user"),
        ("a__b", "a_b"),
        ("a/b/c", "a_b_c"),
        ("größe/工具", "gr_e"),
        ("工具", "tool"),
        ("", "tool"),
        ("/", "tool"),
        ("___", "tool"),
    ],
)
def test_other_ids_get_a_stub_and_a_hash(id_, stub):
    """Readable where it can be, and ten digits of the sha256 of the id."""
    assert export_name(id_) == f"{stub}_{sha256(id_.encode()).hexdigest()[:16]}"


TRAPS = [
    ("a/b", "a__b"),
    ("a_/b", "a/_b"),
    ("a_/b", "a___b"),
    ("a/b/c", "a__b/c"),
    ("a/b/c", "a/b__c"),
    ("my.server/x", "my_server/x"),
    ("my server/x", "my.server/x"),
    ("s/" + "x" * 43 + "1" + "x" * 43, "s/" + "x" * 43 + "2" + "x" * 43),
    ("x" * 65, "x" * 66),
    ("Get", "get"),
    ("é", "e\u0301"),
    ("ａ", "a"),
    ("工具", "天气"),
    ("", "tool"),
    ("", "_"),
    ("a\n", "a"),
    ("a/", "a"),
    ("/a", "a"),
    ("a/", "a__"),
    (" a", "a"),
    ("\ud800", "\ud801"),
    ("\x00", ""),
]


@pytest.mark.parametrize(("one", "other"), TRAPS)
def test_ids_that_look_alike_get_two_names(one, other):
    """What separates the ids separates the names."""
    assert export_name(one) != export_name(other)


@pytest.mark.parametrize("id_", ["my.server/x", "工具", "", "a__b", "x" * 90])
def test_a_hashed_name_cannot_be_taken(id_):
    """An id that is spelt like the name of another gets a name of its own, and so on."""
    seen = {id_}
    for _ in range(4):
        id_ = export_name(id_)
        assert id_ not in seen or export_name(id_) == id_
        seen.add(id_)
    taken = export_name("my.server/x")
    assert export_name(taken) != taken
    assert export_name(taken.replace("_", "/", 1)) != taken


def test_names_that_only_end_like_a_hash_are_told_apart():
    """A server that calls a tool by the name another tool has."""
    other = export_name("a.b")  # a_b_<hash>
    assert original_ids(["a.b", other, f"x/{other}"])[export_name(other)] == other


@given(ANY | NEAR)
def test_names_are_legal(id_):
    """1 to 64 characters of the alphabet every host takes."""
    assert LEGAL.fullmatch(export_name(id_))


@given(st.sets(ANY | NEAR, max_size=40))
def test_names_go_both_ways(ids):
    """Every name leads back to its id, and no two ids share one."""
    back = original_ids(ids)
    assert len(back) == len(ids)
    assert {back[export_name(id_)] for id_ in ids} == ids


@given(
    st.sets(st.text(st.characters(categories=["Cs"]) | st.characters(codec="utf-8"), max_size=5), max_size=20)
)
def test_lone_surrogates_are_ids_too(ids):
    """What some JSON parsers let through."""
    assert len(original_ids(ids)) == len(ids)


@given(NEAR, st.lists(NEAR, max_size=5))
def test_a_name_depends_on_its_id_alone(id_, others):
    """Adding a server renames nothing."""
    name = export_name(id_)
    assert original_ids([*others, id_])[name] == original_ids([id_, *others])[name] == id_
    assert export_name(id_) == name


def test_a_repeated_id_is_one_tool():
    """No clash with itself."""
    assert original_ids(["a/b", "a/b"]) == {"a__b": "a/b"}


def test_a_clash_names_both_ids(monkeypatch):
    """Should two hashes ever agree."""
    monkeypatch.setattr(names, "_DIGITS", 0)
    with pytest.raises(ExportError, match=r"'a\.b' and 'a b' would both be called 'a_b_'") as caught:
        original_ids(["a.b", "a b"])
    assert caught.value.ids == ("a.b", "a b")
