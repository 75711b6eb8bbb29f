"""The entries of an ``mcpServers`` configuration: how each server is started or reached."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from toolwise.errors import CatalogueError
from toolwise.records import Json

_INHERITED = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ"),
    *("TMPDIR", "TEMP", "TMP", "PATHEXT", "COMSPEC", "SYSTEMROOT", "SYSTEMDRIVE", "PROGRAMFILES"),
    *("APPDATA", "LOCALAPPDATA", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH"),
)
_VARIABLE = re.compile(r"\$\{(?:(env|input):)?([A-Za-z_][\w-]*)(?::-([^}]*))?\}")
_TRANSPORTS = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server: a command to start (``stdio``) or an address to reach (``http``, ``sse``)."""

    name: str
    transport: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Everything the server process gets to see of the environment."""
    cwd: str | None = None
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Values that no message may repeat."""


def server_config(name: str, entry: Json, environment: Mapping[str, str]) -> ServerConfig:
    """Read one entry of ``mcpServers``; ``${VAR}`` and ``${VAR:-default}`` are filled from ``environment``.

    Raises CatalogueError, with the JSON pointer of the place as ``pointer``, where the entry makes no sense.
    """
    if not isinstance(entry, dict):
        raise CatalogueError(
            f"its entry is {_kind(entry)}; expected an object with 'command' or 'url'", pointer=""
        )
    url = next((entry[key] for key in ("url", "serverUrl", "httpUrl") if entry.get(key)), None)
    declared = entry.get("type", "http" if url else "stdio")
    transport = _TRANSPORTS.get(declared) if isinstance(declared, str) else None
    if transport is None:
        raise CatalogueError(f"its type is {declared!r}; expected stdio, http or sse", pointer="/type")
    if transport == "stdio":
        return _started(name, entry, environment)
    return _reached(name, entry, url, transport, environment)


def _started(name: str, entry: Mapping[str, Json], environment: Mapping[str, str]) -> ServerConfig:
    args = entry.get("args") or []
    if not isinstance(args, list):
        raise CatalogueError(f"its args are {_kind(args)}; expected a list of strings", pointer="/args")
    own = _texts(entry, "env", environment)
    cwd = entry.get("cwd")
    return ServerConfig(
        name,
        "stdio",
        command=_text(entry.get("command"), "/command", environment),
        args=tuple(_text(arg, f"/args/{i}", environment) for i, arg in enumerate(args)),
        env={key: environment[key] for key in _INHERITED if key in environment} | own,
        cwd=None if cwd is None else _text(cwd, "/cwd", environment),
        secrets=_secrets(own),
    )


def _reached(
    name: str, entry: Mapping[str, Json], url: Json, transport: str, environment: Mapping[str, str]
) -> ServerConfig:
    address = _text(url, "/url", environment)
    if not address.startswith(("http://", "https://")):
        raise CatalogueError("its url does not start with http:// or https://", pointer="/url")
    headers = _texts(entry, "headers", environment)
    credentials = {"query": address.partition("?")[2], "user": address.split("/")[2].rpartition("@")[0]}
    return ServerConfig(
        name, transport, url=address, headers=headers, secrets=_secrets(headers) + _secrets(credentials)
    )


def _texts(entry: Mapping[str, Json], key: str, environment: Mapping[str, str]) -> dict[str, str]:
    values = entry.get(key) or {}
    if not isinstance(values, dict):
        raise CatalogueError(
            f"its {key} is {_kind(values)}; expected an object of strings", pointer=f"/{key}"
        )
    return {str(k): _text(v, f"/{key}/{k}", environment) for k, v in values.items() if v is not None}


def _text(value: Json, pointer: str, environment: Mapping[str, str]) -> str:
    """A string, or a number or boolean as one, its variables filled in."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if not isinstance(value, str) or (not value and not pointer.startswith(("/env/", "/args/"))):
        what = "missing" if value in (None, "") else _kind(value)
        raise CatalogueError(f"its {pointer[1:]} is {what}; expected a string", pointer=pointer)

    def fill(match: re.Match[str]) -> str:
        kind, variable, default = match.groups()
        if kind != "input" and variable in environment:
            return environment[variable]
        if default is None:
            raise CatalogueError(
                f"it needs {match[0]}, which is not set; set the variable or write ${{{variable}:-default}}",
                pointer=pointer,
            )
        return str(default)

    return _VARIABLE.sub(fill, value)


def _secrets(values: Mapping[str, str]) -> tuple[str, ...]:
    words = {word for value in values.values() for word in (value, value.rpartition(" ")[2])}
    return tuple(sorted((word for word in words if len(word) >= 8), key=lambda word: (-len(word), word)))


def _kind(value: Json) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
