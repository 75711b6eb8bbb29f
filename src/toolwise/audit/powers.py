"""Permissions and capabilities that the words of a tool speak of."""

from __future__ import annotations

from collections.abc import Iterator

from toolwise.audit import lexicon as lex
from toolwise.audit.reading import Reading
from toolwise.audit.verbs import PASSING, TAKING_OUT, Action, stems
from toolwise.records import Capability, Level, Permission

_RUNNING = stems("run execute evaluate eval exec inject")
_TYPING = stems("write type send paste approve")
_ADDRESSES = tuple(sorted(stems("url urls uri endpoint webhook")))
_ACTING = frozenset({"use", "action", "task", "agent"})
_STARTED = stems("deploy test workflow pipeline")
_BUILT = stems("migrate build hook")
_LOGIN = stems("login authenticate oauth")
_PAYING = frozenset(("transfer", "pay", "send"))


def permissions(reading: Reading) -> Iterator[tuple[Permission, str]]:
    """Each permission the words speak of, with the reason; some may come twice."""
    command = shell(reading)
    if command:
        yield Permission.SHELL, command
    if write := _writes(reading) or command:
        yield Permission.WRITE, write
    if reading.action is not Action.DELETE and (address := reading.takes(*_ADDRESSES)):
        yield Permission.NETWORK, f'takes "{address}"'
    if key := _credential(reading):
        yield Permission.CREDENTIALS, key
    if program := command or code(reading):
        yield Permission.CODE, program


def _writes(reading: Reading) -> str:
    if reading.action in (Action.WRITE, Action.DELETE, Action.MINOR):
        return "" if reading.verb in PASSING else reading.because
    if reading.action in (Action.READ, Action.COMPUTE) and (
        path := reading.takes("overwrit", "save", "output")
    ):
        return f'takes "{path}"'
    return ""


def shell(reading: Reading) -> str:
    """Why the tool can run any command; "" where nothing says so."""
    if reading.action in (Action.READ, Action.COMPUTE):
        return ""
    if machine(reading):
        return "acts by itself on a computer"
    runs = reading.action is Action.EXECUTE or reading.says(_RUNNING | _TYPING)
    word = reading.says(lex.SHELLS) or reading.named(lex.COMMANDS)
    word = word or (reading.says(lex.COMMANDS) and reading.takes(*lex.COMMANDS))
    return f'runs commands ("{word}")' if runs and word else ""


def machine(reading: Reading) -> bool:
    """Whether the tool works a whole computer or browser by itself."""
    return bool(reading.says(lex.AGENTS) and reading.says(_ACTING))


def code(reading: Reading) -> str:
    """Why the tool runs code; "" where nothing says so."""
    runs = reading.action is Action.EXECUTE or reading.says(_RUNNING)
    if runs and reading.action is not Action.READ and (word := reading.says(lex.CODE)):
        return f'runs "{word}"'
    if reading.action is Action.EXECUTE and reading.named(_STARTED):
        return reading.because
    if reading.action is Action.WRITE and (word := reading.named(_BUILT)):
        return f'runs a "{word}"'
    return ""


def _credential(reading: Reading) -> str:
    for spelt, stems_of_it in reading.parameters:
        words = frozenset(stems_of_it)
        if words & lex.KEY_PARAMETERS or words >= {"api", "key"} or words >= {"privat", "key"}:
            return f'takes "{spelt}"'
        if "token" in words and (len(words) == 1 or words & lex.TOKEN_QUALIFIERS):
            return f'takes "{spelt}"'
    word = reading.named(lex.SECRETS) or reading.named(_LOGIN)
    return f'name says "{word}"' if word else ""


def capabilities(reading: Reading, level: Level) -> Iterator[tuple[Capability, str]]:
    """Each capability the words speak of, with the reason, for a tool of this level."""
    action, command = reading.action, shell(reading)
    looks = action in (Action.READ, Action.COMPUTE, None)
    url = reading.takes("url")
    hands_out = reading.verb in TAKING_OUT and level >= Level.MEDIUM
    if command or hands_out or (looks and level > Level.SAFE):
        yield Capability.PRIVATE, command or "reads data that belong to somebody"
    if machine(reading) or (looks and _brings_in(reading, url)):
        yield Capability.UNTRUSTED, "reads what anybody may have written"
    if command or action is Action.SEND or (url and action is not Action.DELETE):
        yield Capability.EXTERNAL, command or url or reading.because
    elif action in (Action.WRITE, Action.EXECUTE, Action.PAY) and (word := reading.named(lex.OUTWARD)):
        yield Capability.EXTERNAL, f'name says "{word}"'
    elif action is Action.PAY and reading.named(_PAYING):
        yield Capability.EXTERNAL, reading.because


def _brings_in(reading: Reading, url: str) -> bool:
    return bool(url or (reading.says(lex.UNTRUSTED) and not reading.named(lex.FORMAL)))


def private_key(reading: Reading) -> bool:
    """Whether a parameter takes a private key."""
    return any({"privat", "key"} <= set(words) for _, words in reading.parameters)
