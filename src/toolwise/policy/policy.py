"""Policies: what may be exposed, as a frozen value read from a name or a TOML file."""

from __future__ import annotations

import errno
import tomllib
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolwise.errors import PolicyError
from toolwise.protocols import Ints
from toolwise.records import Level, Permission
from toolwise.wrong_value import unread, wrong_value

Count = Annotated[int, Field(strict=True)]
"""An integer; neither true nor the text of a number is one."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise _refused(error, type(self), f"a {type(self).__name__}") from error

    # As with pydantic's own constructors, parts of a value are validated past this one: an error there
    # knows its place in the whole.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


class Cap(_Frozen):
    """At most ``count`` tools of ``level`` or more in one answer."""

    level: Count = Field(ge=1, le=5)
    count: Count = Field(ge=0)


class Breadth(_Frozen):
    """At most ``count`` tools with ``permissions`` or more permission categories each in one answer."""

    permissions: Count = Field(ge=1, le=5)
    count: Count = Field(ge=0)


class Redundancy(_Frozen):
    """No two tools whose vectors have a cosine above ``cosine``; ``same_name``: only those of one name."""

    cosine: float = Field(ge=-1, le=1, strict=True)
    same_name: bool = False


FLOW_CHANCE = 0.08
"""Chosen out of fold as the dials are (results/dials.md)."""


class Policy(_Frozen):
    """What an answer may hold.  A limit that is None does not bind.

    The constructor raises PolicyError for an unknown limit or a wrong value.
    """

    name: str = "unnamed"
    """Shown in answers."""
    max_tools: Count = Field(default=5, ge=1, le=100)
    """Most tools in an answer."""
    max_level: Count | None = Field(default=None, ge=1, le=5)
    """Highest level an answer may hold."""
    named_level: Count | None = Field(default=None, ge=1, le=5)
    """Tools of this level or more must be allowed or pinned by their exact id."""
    caps: tuple[Cap, ...] = ()
    """How many tools of a level or more fit in one answer."""
    breadth: Breadth | None = None
    """How many tools with many permission categories fit in one answer."""
    forbidden_permissions: frozenset[Permission] = frozenset()
    """Permission categories no tool of an answer may have."""
    redundancy: Redundancy | None = None
    """When two tools are one too many."""
    forbid_flows: bool = False
    """Whether tools are kept apart that only together read private data, take in untrusted content and send
    outside."""
    flow_chance: float = Field(default=FLOW_CHANCE, ge=0.001, le=1, strict=True)
    """Chance of such a flow from which ``forbid_flows`` keeps tools apart whose capabilities are guessed; 1:
    only what is said of them counts, as it does among more than five tools."""
    excludes: tuple[tuple[str, str], ...] = ()
    """Pairs of globs: no answer holds a tool of the first and another of the second."""
    requires: tuple[tuple[str, str], ...] = ()
    """Pairs of a glob and an id: a tool of the first is only shown together with the second."""
    caution: float = Field(default=0.0, ge=0, le=1, strict=True)
    """How much completeness risk must bring, 0 (risk is free) to 1; see :func:`price`."""
    economy: float = Field(default=0.0, ge=0, le=1, strict=True)
    """How much completeness a tool must bring to join, 0 (tools are free) to 1."""
    budget_tokens: Count | None = Field(default=None, ge=1)
    """Most tokens the definitions of an answer may take."""
    allow: tuple[str, ...] = ("*",)
    """Globs; a tool must match one.  An entry without wildcard names a tool."""
    deny: tuple[str, ...] = ()
    """Globs; a tool must match none.  Stronger than ``allow`` and pins."""
    pins: tuple[str, ...] = ()
    """Ids of tools that join every answer the policy lets them into."""
    fit: bool = True
    """Whether tools that do not fit the request well enough are left out."""


CAUTION = 0.01
ECONOMY = 0.03
"""The dials of the built-in policies, chosen out of fold as was the cap of ``default`` (results/dials.md)."""


def price(policy: Policy, levels: Ints) -> NDArray[np.float64]:
    """What the risk of each tool costs in completeness (K,), from its level (K,).

    ``caution`` times (level - 2) / 3, nothing below level 3: at caution 1 a tool of level 5 must make
    all the difference to a request, at 0.1 a tenth of it.
    """
    over = np.clip(levels - int(Level.LOW), 0, None) / (int(Level.CRITICAL) - int(Level.LOW))
    return np.asarray(policy.caution * over, dtype=np.float64)


BUILT_IN: dict[str, Policy] = {
    "open": Policy(name="open", fit=False),
    "default": Policy(
        name="default",
        named_level=Level.CRITICAL,
        caps=(Cap(level=Level.HIGH, count=3),),
        redundancy=Redundancy(cosine=0.95, same_name=True),
        forbid_flows=True,
        caution=CAUTION,
        economy=ECONOMY,
    ),
    "paper": Policy(
        name="paper",
        caps=(Cap(level=Level.MEDIUM, count=1),),
        breadth=Breadth(permissions=2, count=2),
        redundancy=Redundancy(cosine=0.9),
        economy=ECONOMY,
    ),
    "strict": Policy(
        name="strict",
        max_level=Level.LOW,
        forbidden_permissions=frozenset({Permission.SHELL, Permission.WRITE, Permission.CODE}),
        redundancy=Redundancy(cosine=0.95, same_name=True),
        forbid_flows=True,
        caution=CAUTION,
        economy=ECONOMY,
    ),
}
"""The policies that ship.  ``paper`` is the rule filter of the risk-aware reranking paper (section 3)."""


_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP)


def load_policy(policy: Policy | str | Path) -> Policy:
    """A policy by built-in name or from a TOML file; a Policy is returned as it is.

    A file may build on another policy with ``extends = "NAME"``.  Raises
    PolicyError for an unknown name, an unreadable file or a wrong value.
    """
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str) and policy in BUILT_IN:
        return BUILT_IN[policy]
    path = Path(policy)
    try:
        values = tomllib.loads(_read(policy).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise PolicyError(
            f"{path} is not valid TOML: {unread(error)}. Correct the file.", policy=str(path)
        ) from error
    parent = values.pop("extends", None)
    if parent is not None and not (isinstance(parent, str) and parent in BUILT_IN):
        raise PolicyError(
            f"{path}: extends = {parent!r} is not a built-in policy; expected one of {', '.join(BUILT_IN)}.",
            policy=str(path),
        )
    return revise(BUILT_IN[parent] if parent else Policy(), name=values.pop("name", path.stem), **values)


def _read(policy: str | Path) -> bytes:
    """The bytes of a policy file; PolicyError with the system's reason where they cannot be had."""
    try:
        return Path(policy).read_bytes()
    except OSError as error:
        if error.errno not in _NO_FILE:
            raise PolicyError(
                f"{policy} cannot be read: {error.strerror or error}. Expected the TOML file of a policy.",
                policy=str(policy),
            ) from error
    except ValueError:  # a name that no file can have
        pass
    raise PolicyError(
        f"there is no policy called {str(policy)!r} and no such file. "
        f"Use one of {', '.join(BUILT_IN)}, or the path of a TOML file.",
        policy=str(policy),
    )


def revise(policy: Policy, /, **changes: Any) -> Policy:
    """``policy`` with some limits changed.  Raises PolicyError for an unknown limit or a wrong value."""
    try:
        return Policy.model_validate({**policy.model_dump(), **changes})
    except ValidationError as error:
        name = str(changes.get("name", policy.name))
        raise _refused(error, Policy, f"policy {name!r}", policy=name) from error


def _refused(error: ValidationError, model: type[BaseModel], what: str, **facts: Any) -> PolicyError:
    """The error of the house for the first wrong value of ``model``."""
    wrong = wrong_value(error)
    said = f"{wrong}. Correct it."
    if wrong.unknown:
        said = f"there is no limit called {wrong.where!r}."
        if "." not in wrong.where:
            said += f" The limits are {', '.join(model.model_fields)}."
    return PolicyError(
        f"{what}: {said}", limit=wrong.where, found=wrong.found, expected=wrong.expected, **facts
    )
