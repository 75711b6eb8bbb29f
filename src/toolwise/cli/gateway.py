"""``toolwise gateway``: one MCP server in front of many."""

from __future__ import annotations

import json
import logging
import re
import secrets
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.definitions import MOST_LINES, STYLES, differences
from toolwise.cli.render import as_json as json_line
from toolwise.cli.render import cell, data, words
from toolwise.errors import CatalogueError, ConfigError, GatewayError, MissingExtra, SourceNotFound
from toolwise.records import Json
from toolwise.wrong_value import unread

if TYPE_CHECKING:
    from toolwise.catalog.mcp_config import ServerConfig
    from toolwise.serve.gateway.gateway import Gateway
    from toolwise.serve.gateway.memory import Memory

app = typer.Typer(help="One MCP server in front of many: little and safe for the agent.")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHOWN_HASH = 32
"""Digits of a hash that are shown, hexadecimal: a server cannot find two definitions that share so many."""
_HASH = re.compile(r"[0-9a-f]{32,64}")
State = Annotated[
    Path, typer.Option("--state", metavar="DIR", help="Folder of the index, log and approvals.")
]


@app.callback(invoke_without_command=True)
def gateway(
    context: typer.Context,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The mcpServers file that MCP hosts read.")
    ] = None,
    settings: Annotated[
        Path | None, typer.Option(metavar="FILE", help="TOML file: profiles, tokens, budgets, approvals.")
    ] = None,
    policy: Annotated[str, typer.Option(help="A policy by name or TOML file.")] = "",
    profile: Annotated[str, typer.Option(help="Serve the list of this profile over stdio.")] = "",
    http: Annotated[str, typer.Option(metavar="HOST:PORT", help="Serve over HTTP instead of stdio.")] = "",
    state: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the index, log and approvals.")
    ] = None,
    split_calls: Annotated[
        bool, typer.Option("--split-calls", help="One call tool each for reading, writing and destroying.")
    ] = False,
) -> None:
    """Serve the tools of all servers of an mcpServers file as one MCP server, over stdio or HTTP."""
    if context.invoked_subcommand is not None:
        return
    if config is None:
        raise typer.BadParameter("expected --config FILE, the mcpServers file of an MCP host.")
    host, port = _address(http) if http else ("", 0)
    made = _make(config, settings, policy, state, split_calls)
    if profile and profile not in made.settings.profiles:
        there = ", ".join(sorted(made.settings.profiles)) or "none"
        raise ConfigError(f"there is no profile {profile!r}; the settings have {there}.", setting="profiles")
    _log_to_stderr()
    if http:
        from toolwise.serve.gateway.http import serve_http

        said = f"toolwise gateway on http://{http}/mcp, {len(made.upstreams)} servers behind it"
        serve_http(made, host, port, lambda: words().print(said))
        return
    if sys.stdin is None:
        raise GatewayError("standard input is closed. Start it from an MCP host, or serve over --http.")
    import anyio

    from toolwise.serve.gateway.stdio import serve_stdio

    made.open()
    anyio.run(serve_stdio, made, profile)


def _log_to_stderr() -> None:
    """Our own warnings alone: what the SDK logs may repeat what servers and clients say."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    for name in ("mcp", "client", "httpx2", "uvicorn"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _make(config: Path, settings: Path | None, policy: str, state: Path | None, split_calls: bool) -> Gateway:
    for package in ("mcp", "jsonschema", "prometheus_client"):
        if find_spec(package) is None:
            raise MissingExtra(
                f'The gateway needs {package}. Run: pip install "toolwise[gateway]"', extra="gateway"
            )
    from toolwise.serve.gateway.gateway import Gateway
    from toolwise.serve.gateway.settings import load_settings

    chosen = load_settings(settings)
    changes: dict[str, Json] = {"policy": policy} if policy else {}
    if split_calls:
        changes["split_calls"] = True
    return Gateway(read_servers(config), state or default_state(config), chosen.model_copy(update=changes))


def read_servers(config: Path) -> list[ServerConfig]:
    """The servers of an ``mcpServers`` file; disabled ones are left out, wrong ones are named and left out.

    Raises SourceNotFound, or CatalogueError where the file holds no servers at all.
    """
    from toolwise.catalog.mcp_config import server_config
    from toolwise.config import environment

    try:
        content = json.loads(config.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SourceNotFound(
            f"{config} does not exist; expected the mcpServers file of an MCP host.", path=config
        ) from error
    except OSError as error:
        raise CatalogueError(f"{config} cannot be read: {error.strerror}.", path=config) from error
    except (ValueError, RecursionError) as error:
        raise CatalogueError(f"{config} is not JSON: {unread(error)}. Correct it.", path=config) from error
    entries = content.get("mcpServers", content.get("servers")) if isinstance(content, dict) else None
    if not isinstance(entries, dict):
        raise CatalogueError(
            f'{config}: expected an object "mcpServers" with one entry per server.', path=config
        )
    servers = []
    used = [n for n, e in sorted(entries.items()) if not (isinstance(e, dict) and e.get("disabled") is True)]
    for name in used:
        try:
            _check_name(name, used)
            servers.append(server_config(name, entries[name], environment()))
        except CatalogueError as error:
            words().print(f"server {name!r} is left out: {error.message}")
    if not servers:
        raise CatalogueError(f"{config}: none of its {len(entries)} servers can be started.", path=config)
    return servers


def _check_name(name: str, names: Iterable[str]) -> None:
    """Raise CatalogueError where ids of the server's tools, NAME/TOOL, may be those of another server's."""
    outer = next((other for other in names if name.startswith(f"{other}/")), None)
    if outer is not None:
        raise CatalogueError(f"its name begins like ids of the tools of {outer!r}; give one of them another")


def default_state(config: Path) -> Path:
    """Where a gateway of ``config`` keeps its state: one folder per file, in the home folder."""
    digest = sha256(str(config.resolve()).encode()).hexdigest()[:8]
    return Path.home() / ".toolwise" / "gateway" / f"{config.stem}-{digest}"


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 <= int(port) < 65_536:
        raise typer.BadParameter(f"--http {text!r}: expected HOST:PORT, as in 127.0.0.1:8765.")
    return host, int(port)


@app.command("token")
def token(name: Annotated[str, typer.Argument(help="Who the token is for.")]) -> None:
    """Make a bearer token: the token on stdout, its entry for the settings on stderr."""
    if not _NAME.fullmatch(name):
        raise typer.BadParameter(f"{name!r}: expected at most 64 letters, digits, - and _.")
    made = secrets.token_urlsafe(32)
    print(made)
    digest = sha256(made.encode()).hexdigest()
    scopes = 'scopes = ["read"]          # and "write", "destructive"'
    for line in (f"[tokens.{name}]", f'sha256 = "{digest}"', scopes):
        words().print(line)


@app.command("held")
def held(
    state: State,
    approve: Annotated[
        list[str] | None,
        typer.Option(metavar="ID@HASH", help="Approve this tool as it was shown; ID alone: as it is now."),
    ] = None,
    everything: Annotated[bool, typer.Option("--approve-all", help="Approve all of them.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per tool.")] = False,
) -> None:
    """Show the tools that are not approved as they are now, and what changed; approve what you have read."""
    from toolwise.serve.gateway.memory import Memory

    with closing(Memory(state, make=False)) as memory:
        found = _changed(memory, state)
        chosen = set(found) if everything else set(_meant(approve or (), found))
        for id_, one in found.items():
            one["approved"] = id_ in chosen
            if as_json:
                print(json_line(one))
            else:
                _show(one)
        hashes = {id_: one["content_hash"] for id_, one in found.items()}
        memory.approve(chosen, hashes, by="operator")
    words().print(f"{len(found)} held back, {len(chosen)} approved; a running gateway notices in a minute")


def _meant(given: Iterable[str], found: Mapping[str, dict[str, Json]]) -> Iterator[str]:
    """The changed tools that are to be approved; what stands against one is said."""
    for one in sorted(set(given)):
        id_, _, shown = one.rpartition("@")
        if id_ in found and _HASH.fullmatch(shown):  # first: a server may call another tool just so
            if found[id_]["content_hash"].startswith(shown):
                yield id_
            else:
                words().print(f"{id_} has changed again since it was shown; not approved", markup=False)
        elif one in found:
            yield one
        else:
            words().print(f"{one} is not held back; nothing to approve", markup=False)


def _changed(memory: Memory, state: Path) -> dict[str, dict[str, Json]]:
    """The tools that are not as they were approved, by id: what ``--json`` prints of each."""
    from toolwise.serve.gateway.approvals import Approved
    from toolwise.serve.gateway.definitions import definition, present

    tools = present(state)
    changed = memory.unapproved({id_: audited.tool.content_hash for id_, audited in tools.items()})
    never = Approved("", "", None)
    approved = dict.fromkeys(changed, never) | memory.approved(changed)
    return {
        id_: {
            "id": id_,
            "level": int(tools[id_].level),
            "content_hash": tools[id_].tool.content_hash,
            "old": approved[id_].definition,
            "old_approved_at": approved[id_].at,
            "old_approved_by": approved[id_].by,
            "new": definition(tools[id_].tool),
        }
        for id_ in changed
    }


def _show(one: dict[str, Json]) -> None:
    """One changed tool for a person."""
    console = data()
    mark = ", approved now" if one["approved"] else ""
    console.print(f"[bold]{cell(one['id'])}[/bold]  now of level {one['level']}{mark}", soft_wrap=True)
    at, by = one["old_approved_at"][:19], one["old_approved_by"]
    if not at:
        console.print("it was never approved; this is there now", style="dim")
    elif one["old"] is None:
        console.print(f"what was approved at {at} ({by}) was not kept; this is there now", style="dim")
    else:
        console.print(cell(f"--- approved at {at} ({by})\n+++ now", lines=True), style="dim")
    lines = differences(one["old"] or {}, one["new"])
    for line in lines[:MOST_LINES]:
        console.print(f"[{STYLES.get(line[0], 'default')}]{cell(line)}[/]", soft_wrap=True)
    if len(lines) > MOST_LINES:
        console.print(f"... {len(lines) - MOST_LINES:,} more lines; --json has them all", style="dim")
    if not one["approved"]:  # in quotes: the name is a server's, and the line is made to be copied
        told = shlex.quote(f"{one['id']}@{one['content_hash'][:_SHOWN_HASH]}")
        console.print(f"to approve this: --approve {cell(told)}", style="dim", soft_wrap=True)
    console.print()
