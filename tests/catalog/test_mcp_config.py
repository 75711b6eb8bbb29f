"""Entries of ``mcpServers``."""

import pytest

from toolwise.catalog.mcp_config import server_config
from toolwise.errors import CatalogueError

OURS = {"PATH": "/bin", "HOME": "/home/me", "AWS_SECRET_ACCESS_KEY": "never shown", "TOKEN": "t0k3n-value"}


def test_a_command_gets_a_minimal_environment_and_its_own_values():
    """Of our environment a server sees the harmless names only, and over them what its entry says."""
    server = server_config("a", {"command": "run", "args": ["-x", 1], "env": {"HOME": "/h", "A": True}}, OURS)
    assert (server.transport, server.command, server.args) == ("stdio", "run", ("-x", "1"))
    assert server.env == {"PATH": "/bin", "HOME": "/h", "A": "true"}


def test_variables_are_filled_in_everywhere():
    """``${VAR}``, ``${env:VAR}`` and a default work in args, env, headers, command and url."""
    started = server_config(
        "a",
        {"command": "${HOME}/run", "args": ["${MODE:-fast}"], "env": {"T": "x${TOKEN}"}, "cwd": "${HOME}"},
        OURS,
    )
    assert (started.command, started.args, started.cwd) == ("/home/me/run", ("fast",), "/home/me")
    assert started.env["T"] == "xt0k3n-value"
    entry = {"url": "https://${HOST:-example.org}/mcp", "headers": {"Authorization": "Bearer ${env:TOKEN}"}}
    reached = server_config("b", entry, OURS)
    assert (reached.transport, reached.url) == ("http", "https://example.org/mcp")
    assert reached.headers == {"Authorization": "Bearer t0k3n-value"}


def test_other_dollars_are_left_alone():
    """Shell syntax that is no variable of ours stays as it is."""
    server = server_config("a", {"command": "sh", "args": ["-c", "echo $X ${y%z} $(pwd)"]}, OURS)
    assert server.args[1] == "echo $X ${y%z} $(pwd)"


@pytest.mark.parametrize(
    ("declared", "transport"),
    [("http", "http"), ("streamable-http", "http"), ("streamableHttp", "http"), ("sse", "sse")],
)
def test_hosts_spell_the_transport_in_several_ways(declared: str, transport: str):
    """Every spelling of the HTTP transports that hosts use is known."""
    assert server_config("a", {"type": declared, "url": "http://x/y"}, {}).transport == transport


def test_secrets_are_known_and_not_in_the_repr():
    """Header values, the bare token in them and the query of the address count as secrets."""
    entry = {
        "url": "https://me:passw0rd@x.org/mcp?key=abcdefgh",
        "headers": {"Authorization": "Bearer ${TOKEN}"},
    }
    server = server_config("a", entry, OURS)
    assert set(server.secrets) == {"Bearer t0k3n-value", "t0k3n-value", "key=abcdefgh", "me:passw0rd"}
    assert "t0k3n" not in repr(server)
    assert "abcdefgh" not in repr(server)


@pytest.mark.parametrize(
    ("entry", "pointer", "words"),
    [
        (3, "", "a number; expected an object"),
        ({}, "/command", "command is missing"),
        ({"command": ["a"]}, "/command", "command is a list; expected a string"),
        ({"command": "a", "args": "b"}, "/args", "args are a string; expected a list"),
        ({"command": "a", "args": [None]}, "/args/0", "args/0 is missing"),
        ({"command": "a", "env": []}, None, ""),
        ({"command": "a", "env": ["x"]}, "/env", "env is a list; expected an object"),
        ({"command": "a", "env": {"K": "${NOT_THERE}"}}, "/env/K", "${NOT_THERE}, which is not set"),
        ({"command": "a", "env": {"K": "${input:token}"}}, "/env/K", "${input:token}, which is not set"),
        ({"url": "ftp://x"}, "/url", "does not start with http"),
        (
            {"type": "carrier-pigeon", "url": "http://x"},
            "/type",
            "'carrier-pigeon'; expected stdio, http or sse",
        ),
        ({"type": "http"}, "/url", "url is missing"),
    ],
)
def test_senseless_entries_are_named(entry: object, pointer: str | None, words: str):
    """An entry that makes no sense is refused with the place in it and what was expected."""
    if pointer is None:
        assert server_config("a", entry, {}).env == {}
        return
    with pytest.raises(CatalogueError) as caught:
        server_config("a", entry, {})
    assert caught.value.pointer == pointer
    assert words in caught.value.message
