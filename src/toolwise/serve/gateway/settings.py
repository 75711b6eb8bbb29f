"""The settings of a gateway: one TOML file, all of it optional."""

from __future__ import annotations

import tomllib
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from toolwise.errors import ConfigError
from toolwise.serve.gateway.library import Changed
from toolwise.wrong_value import WrongValue, unread, wrong_value

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
SCOPES = ("read", "write", "destructive")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Profile(_Frozen):
    """A fixed list of tools, served at ``/mcp/NAME`` or chosen with ``--profile NAME``."""

    tasks: tuple[str, ...] = ()
    """Descriptions of the work, or example requests; the tools that serve them make the list."""
    tools: tuple[str, ...] = ()
    """Globs of ids that are on the list whatever the tasks."""
    size: int = Field(default=12, ge=1, le=100)
    """Most tools that the tasks bring in."""
    policy: str = ""
    """A policy by name or file; empty for the gateway's."""


class Token(_Frozen):
    """Who may come over HTTP, and what they may reach."""

    sha256: Digest
    """Of the token; ``toolwise gateway token NAME`` makes one."""
    scopes: frozenset[Annotated[str, StringConstraints(pattern="^(read|write|destructive)$")]] = frozenset(
        SCOPES
    )
    """Kinds of tools: ``read``, ``write``, ``destructive``."""
    policy: str = ""
    """A policy by name or file; empty for the gateway's."""
    profile: str = ""
    """The only profile this token opens; empty for every surface."""


class GatewaySettings(_Frozen):
    """How a gateway behaves."""

    policy: str = ""
    """A policy by name or file; empty for that of toolwise's settings."""
    changed: Changed = Changed.QUARANTINE
    """What becomes of tools whose definition is no longer the approved one."""
    approve_level: int = Field(default=4, ge=1, le=6)
    """Calls of tools of this level or more need a person's approval; 6: none do."""
    allow_calls: tuple[str, ...] = ()
    """Globs of ids that are called without approval for their level."""
    flow_guard: bool = True
    """Whether sending outside needs approval once a session has read private data and untrusted content."""
    max_calls: int | None = Field(default=None, ge=1)
    """Most calls in one session."""
    max_risk: int | None = Field(default=None, ge=1)
    """Most risk in one session: each call adds its level less two, where that is above zero."""
    split_calls: bool = False
    """Whether there is one call tool each for reading, writing and destroying."""
    dynamic_lists: bool = False
    """Whether found tools join the list of a session (clients up to 2025-11-25 alone)."""
    keep_arguments: bool = False
    """Whether arguments of calls are remembered as they are."""
    keep_days: int = Field(default=90, ge=1)
    """Days after which answers and calls are forgotten."""
    call_timeout: float = Field(default=120.0, gt=0)
    """Seconds an upstream may take to answer a call."""
    start_timeout: float = Field(default=30.0, gt=0)
    """Seconds an upstream may take to start and list its tools."""
    start_wait: float = Field(default=10.0, ge=0)
    """Seconds for which the first answer waits for servers that are still starting."""
    approval_timeout: float = Field(default=300.0, gt=0)
    """Seconds a person has to approve a call, or to answer a server's question."""
    session_idle: float = Field(default=3600.0, gt=0)
    """Seconds after which a silent session is forgotten, with what it has used up."""
    forward_elicitation: tuple[str, ...] = ("*",)
    """Globs of servers that may ask the person behind a client for input while they work on its call."""
    forward_sampling: tuple[str, ...] = ()
    """Globs of servers that may ask the client's model for a text."""
    forward_roots: tuple[str, ...] = ()
    """Globs of servers that may ask for the folders the client works in."""
    hosts: tuple[str, ...] = ()
    """Names under which clients reach the gateway over HTTP; other Host headers are then refused."""
    profiles: dict[Name, Profile] = Field(default_factory=dict)
    tokens: dict[Name, Token] = Field(default_factory=dict)

    def caller_of(self, token: str) -> str | None:
        """The name of the entry that ``token`` belongs to."""
        digest = sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
        return next((name for name, entry in sorted(self.tokens.items()) if entry.sha256 == digest), None)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def load_settings(path: Path | None) -> GatewaySettings:
    """The settings in a TOML file; the defaults without one.

    Raises ConfigError for an unreadable file, an unknown setting, a wrong value
    or a token of a profile that is not there.
    """
    if path is None:
        return GatewaySettings()
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        found = GatewaySettings.model_validate(values)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror or error}. Expected the TOML file of a gateway.",
            path=path,
        ) from error
    except ValidationError as error:
        raise _refused(path, wrong_value(error)) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {unread(error)}. Correct the file.", path=path) from error
    for name, token in sorted(found.tokens.items()):
        if token.profile and token.profile not in found.profiles:
            raise ConfigError(
                f"{path}: token {name!r} is for profile {token.profile!r}; "
                f"there are {', '.join(sorted(found.profiles)) or 'none'}.",
                path=path,
                setting=f"tokens.{name}.profile",
            )
    return found


def _refused(path: Path, fault: WrongValue) -> ConfigError:
    """The error for a value; what stands for a token is not repeated, it may be a secret."""
    if fault.unknown:
        told = f"there is no setting called {fault.where}. Correct the name, or take it out."
    elif fault.where.partition(".")[0] == "tokens":
        told = f"{fault.where}: expected {fault.expected}. Correct it."
    else:
        told = f"{fault}. Correct it."
    return ConfigError(f"{path}: {told}", path=path, setting=fault.where)
