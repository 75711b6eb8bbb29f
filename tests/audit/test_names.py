"""Names that look like other names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.audit.names import alphabets, disguise, mixes_alphabets, plain, poses_as_ascii, skeleton


@pytest.mark.parametrize(
    ("name", "word"),
    [("s\u0435nd_email", "s\u0435nd"), ("read_f\u0456le", "f\u0456le"), ("r\u03b1nk", "r\u03b1nk")],
)
def test_a_word_of_two_alphabets_is_found(name, word):
    """Cyrillic or Greek letters among Latin ones that look like Latin ones."""
    assert mixes_alphabets(name) == word


@pytest.mark.parametrize(
    "name",
    [
        "send_email",
        "поиск_files",
        "长亭IP情报",
        "μmol",
        "TNFα",
        "IFNγ",
        "α-synuclein",
        "señal",
        "ЖKH",
        "Akaryakıt",
        "",
    ],
)
def test_honest_names_mix_no_alphabets(name):
    """Words of different scripts, units, genes, accents, letters that pass for nothing."""
    assert mixes_alphabets(name) == ""


@pytest.mark.parametrize(
    "name", ["\u0441\u043e\u0440\u0443", "\uff53end", "\U0001d4fcend_\U0001d4fe", "ΑΒΟΜ_x"]
)
def test_a_name_in_another_alphabet_or_font_poses_as_ascii(name):
    """Cyrillic throughout, full width, mathematical, Greek capitals."""
    assert poses_as_ascii(name)


@pytest.mark.parametrize("name", ["send", "поиск", "Akaryakıt", "été", "μm", "検索", ""])
def test_names_that_are_what_they_are_do_not(name):
    """ASCII itself among them."""
    assert not poses_as_ascii(name)


def test_look_alikes_share_a_skeleton():
    """Whatever alphabet, font, case or digit makes them look so."""
    alike = ["send_email", "s\u0435nd_email", "send_emai1", "Send_EmaiI", "serid_ernail".replace("ri", "n")]
    assert {skeleton(name) for name in alike} == {"send_emall"}
    assert skeleton("get_user") != skeleton("get_users")
    assert skeleton("modern") == skeleton("modem")


@given(st.text(max_size=30))
def test_any_text_has_a_skeleton(text):
    """And reads as something; letters belong to known alphabets or none."""
    assert isinstance(skeleton(text), str)
    assert plain(text).isascii() or not text.isascii()
    assert alphabets(text) <= {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"}


def test_the_more_disguised_name_is_the_impostor():
    """Foreign letters, then digits among letters; versions and numbers are no disguise."""
    assert [
        disguise(name)
        for name in ("s\u0435nd", "ma1l", "emai1", "1ist", "v1", "s3", "get_1", "top10", "mail")
    ] == [2, 1, 1, 1, 0, 0, 0, 0, 0]
