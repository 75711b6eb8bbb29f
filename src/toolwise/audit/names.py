"""Names that look like other names."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_ALPHABETS: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})
"""Scripts whose letters pass for one another; CJK and others stand beside Latin in honest names."""
_WORD = re.compile(r"[^\W\d_]+")
_LOOKS: Final = str.maketrans(
    {
        **dict(zip("аеорсухіјѕԁһԛԝӏкѵԍ", "aeopcyxijsdhqwlkvg", strict=True)),
        **dict(zip("АВЕЗКМНОРСТУХІЈЅԌԚԜ", "ABE3KMHOPCTYXIJSGQW", strict=True)),
        **dict(zip("αονρυικχ", "aovpuikx", strict=True)),
        **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX", strict=True)),
        **dict(zip("օսհոցզ", "ouhngq", strict=True)),
        **dict(zip("ıɑɡʏꞵ", "iagyb", strict=True)),
    }
)
"""Letters that look like ASCII ones; our own choice of the clear cases."""
_ALIKE: Final = str.maketrans({"1": "l", "I": "l", "|": "l", "0": "o"})
_DIGIT_FOR_LETTER = re.compile(
    r"(?<=[^\W\d_])[01|](?=[^\W\d_])|(?<![^\W_])[01|](?=[a-z]{2})|(?<=[a-z]{2})[01|](?![^\W_])"
)
_LEAST_LETTERS = 3
_SYMBOLS = "αβγδκμµ"
"""Greek letters that stand at the edge of honest words: μmol, TNFα."""


def plain(name: str) -> str:
    """``name`` as the eye reads it: letters of other alphabets and fonts as the ASCII ones they look like."""
    return unicodedata.normalize("NFKC", name).translate(_LOOKS)


def skeleton(name: str) -> str:
    """The same text for all names that can be taken for one another at a glance, whatever their case."""
    bare = plain(name).translate(_ALIKE).casefold()
    return bare.replace("rn", "m").replace("vv", "w").replace("i", "l")


def disguise(name: str) -> int:
    """How likely ``name``, of two that look alike, is the impostor: 2 not ASCII, 1 digits in it, else 0."""
    return 2 if not name.isascii() else int(bool(_DIGIT_FOR_LETTER.search(name)))


def alphabets(word: str) -> frozenset[str]:
    """The alphabets that the letters of a word belong to."""
    first = (unicodedata.name(char, "").partition(" ")[0] for char in word if char.isalpha())
    return _ALPHABETS.intersection(first)


def mixes_alphabets(name: str) -> str:
    """The first word of ``name`` with letters of another alphabet that pass for its own, or ""."""
    words = (word.strip(_SYMBOLS) for word in _WORD.findall(name))
    return next((word for word in words if len(alphabets(word)) > 1 and plain(word).isascii()), "")


def poses_as_ascii(name: str) -> bool:
    """Whether ``name`` reads as ASCII by letters of another alphabet or font; Turkish ``ı`` is Latin."""
    foreign = [char for char in name if not char.isascii() and alphabets(char) != {"LATIN"}]
    seen = plain(name)
    return bool(foreign) and seen.isascii() and sum(map(str.isalpha, seen)) >= _LEAST_LETTERS
