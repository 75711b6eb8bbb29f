"""Names a host accepts: at most 64 characters of ``[A-Za-z0-9_-]``, one per tool id, reversible.

An id of legal characters with at most one slash becomes itself, the slash
written as two underscores.  Every other id becomes a readable stub and sixteen hex
digits of its sha256.  A name depends on its id alone, so adding a server
renames nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from toolwise.errors import ExportError

LONGEST = 64
_DIGITS = 16
_PLAIN = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)?")
_HASHED = re.compile(rf"_[0-9a-f]{{{_DIGITS}}}$")
_ILLEGAL = re.compile(r"[^A-Za-z0-9-]+")


def export_name(id_: str) -> str:
    """The name under which a host sees the tool ``id_``."""
    plain = id_.replace("/", "__")
    reversible = _PLAIN.fullmatch(id_) and plain.replace("__", "/") == id_ and "___" not in plain
    if reversible and len(plain) <= LONGEST and not _HASHED.search(plain):
        return plain
    digest = sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    stub = _ILLEGAL.sub("_", id_).strip("_")[: LONGEST - _DIGITS - 1].rstrip("_")
    return f"{stub}_{digest}" if stub else f"tool_{digest}"


def original_ids(ids: Iterable[str]) -> dict[str, str]:
    """Exported name -> id for a whole catalogue.

    Raises ExportError, naming both ids, should two of them ever get one name.
    """
    found: dict[str, str] = {}
    for id_ in ids:
        name = export_name(id_)
        if found.setdefault(name, id_) != id_:
            raise ExportError(
                f"tools {found[name]!r} and {id_!r} would both be called {name!r}. Rename one of them.",
                name=name,
                ids=(found[name], id_),
            )
    return found
