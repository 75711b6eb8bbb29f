"""The clauses of a request: one that asks for several things is several searches.

A request is split at the ends of sentences, at commas, list marks and words
such as "and" or "then" (eleven languages); a piece of fewer than two index
terms goes with the piece before it.
"""

from __future__ import annotations

import re

from toolwise.retrieve.vocabulary import terms

LEAST_TERMS = 2

_WORDS = (
    "after that,afterwards,also,and,and also,and then,as well as,finally,then",  # English
    "y,y luego,luego,después,además,así como",  # Spanish
    "et,et puis,puis,ensuite,ainsi que,également",  # French
    "und,und dann,dann,danach,sowie,außerdem,anschließend",  # German
    "e,e depois,depois,também,e poi,poi,inoltre,nonché,infine",  # Portuguese, Italian
    "en dan,daarna,vervolgens,evenals",  # Dutch
    "и,затем,потом,а также,после этого",  # Russian
    "ثم,وبعد ذلك",  # Arabic
    "그리고,그런 다음,또한",  # Korean
)
_UNSPACED = "然后|然後|并且|並且|以及|接着|接著|同时|同時|另外|そして|それから|また、|さらに|次に"
_SPACED = "|".join(sorted({word for line in _WORDS for word in line.split(",")}, key=len, reverse=True))
_BREAK = re.compile(
    r"(?m:^)[ \t]*(?:[-*+•·–—]|\(?(?:\d{1,2}|[A-Za-z])[.)])[ \t]+"  # marks of a list, each on its line
    r"|(?<=[:;,.]\s)\d{1,2}\.\s|(?<!\S)\(?(?:\d{1,2}|[a-z])\)\s"  # or in a row: "do this: 1) ... 2) ..."
    r"|[.!?…]+(?=\s|$)|[。！？；，、،؛؟।\n;]|,(?=\s|$)|:(?=\s|$)|\s[-–—]+\s"
    rf"|{_UNSPACED}"
    rf"|(?<!\S)(?:{_SPACED})(?=\s)",
    re.IGNORECASE,
)


def clauses(text: str) -> list[str]:
    """The clauses of a request, at least one, in order; each has two index terms or more where the text has.

    >>> clauses("Book a flight to Oslo and then email the itinerary to Kim.")
    ['Book a flight to Oslo', 'email the itinerary to Kim']
    """
    found: list[str] = []
    waiting = ""
    for piece in _BREAK.split(text):
        waiting = f"{waiting} {piece.strip()}".strip()
        if not waiting:
            continue
        if len(terms(waiting)) >= LEAST_TERMS:
            found.append(waiting)
            waiting = ""
        elif found:
            found[-1] = f"{found[-1]} {waiting}"
            waiting = ""
    if waiting:
        found.append(waiting)
    return found or [text]
