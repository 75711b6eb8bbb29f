"""Levels from the words of a tool's name, description and parameters.

First what a tool does (:class:`~toolwise.audit.verbs.Action`) and to what
gives a base level; then a few signs, each for itself, raise it.  The rubric is
the one of :class:`~toolwise.records.Level`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from toolwise.audit import lexicon as lex
from toolwise.audit.powers import capabilities, code, machine, permissions, private_key, shell
from toolwise.audit.reading import VAGUE, Reading, read
from toolwise.audit.verbs import TAKING_OUT, Action, stems
from toolwise.records import Evidence, Level, Tool, Verdict

_NAME = "rules"

Claim: TypeAlias = tuple[Level, str]
"""At least this level, because."""

HARMLESS = "effect:none"
"""Claim of the evidence that a tool only looks up or computes."""
DESTROYS = "effect:destroys"
"""Claim of the evidence that a tool deletes for good."""

_OWN = 1.25
"""Privacy above which data count as somebody's own; set on training workspaces of mcp_tasks."""

_KEYS = stems("key keys keypair")
_AUTHENTIC = stems("access auth authentication bearer oauth")
_FRESH = frozenset({"key", "token", "wallet"})
_DELETIONS = stems("delete rm drop destroy purge erase wipe uninstall reboot")
_PROGRAMS = tuple(sorted(stems("script code javascript python command execute")))
_ADMITTING = stems("add invite join")
_LIVE = (Action.WRITE, Action.EXECUTE, Action.DELETE)


def privacy(reading: Reading) -> float:
    """How much the words speak for somebody's own data; above ``_OWN`` it is."""
    weigh = lex.PRIVATE.get
    total = sum(1.5 * weigh(word, 0.0) for word in set(reading.name))
    total += sum(weigh(word, 0.0) for word in set(reading.lead) - set(reading.name))
    parameters = {word for _, words in reading.parameters for word in words}
    total += 0.5 * sum(weigh(word, 0.0) for word in parameters)
    others = reading.body.difference(reading.lead, reading.name)
    return total + 0.2 * sum(weigh(word, 0.0) for word in others)


def _secret(reading: Reading) -> str:
    words = {*reading.name, *reading.lead}
    if (word := reading.named(lex.SECRETS)) and "generat" not in reading.name:
        return f'reads "{word}"'
    if words & _KEYS and words & {"api", "privat", "pair", "ssh"} and "key" in reading.name:
        return "reads keys"
    if "token" in words and words & _AUTHENTIC and words.isdisjoint(lex.COINS):
        return "reads a token that authenticates"
    return ""


def _reads(reading: Reading) -> Claim:
    if why := _secret(reading):
        return Level.HIGH, why
    score = privacy(reading)
    if score > _OWN and (word := reading.named(lex.SENSITIVE)):
        return Level.MEDIUM, f'reads "{word}", which is sensitive'
    if score > 0 and (word := reading.says(lex.STORES)) and not reading.named(lex.SHAPE):
        return Level.MEDIUM, f'reads records out of "{word}"'
    if score > _OWN:
        return Level.LOW, "reads data that belong to somebody"
    return Level.SAFE, "only looks things up"


def _computes(reading: Reading) -> Claim:
    if reading.named(_FRESH) and (why := _secret(reading)):
        return Level.HIGH, why
    if reading.takes("path", "filenam", "filepath") or privacy(reading) > _OWN:
        return Level.LOW, "works on the user's own data"
    return Level.SAFE, "only computes"


def _changes(reading: Reading) -> Claim:
    if reading.action is Action.MINOR:
        small: Claim = (Level.LOW, "makes a small change")
        return max(small, _reads(reading)) if reading.verb in TAKING_OUT else small
    if (word := reading.named(lex.SMALL)) and not reading.named(lex.SENSITIVE):
        return Level.LOW, f'changes a "{word}", a small thing'
    return Level.MEDIUM, "makes a lasting change"


def _sends(reading: Reading) -> Claim:
    if word := reading.says(lex.MAIL):
        return Level.HIGH, f'sends by "{word}", which cannot be called back'
    if word := reading.named(lex.FINANCE):
        return Level.HIGH, f'sends "{word}"'
    return Level.MEDIUM, "speaks to others"


def _deletes(reading: Reading) -> Claim:
    if reading.named(lex.CACHE):
        return Level.LOW, "clears what can be made again"
    if (mass := reading.named(lex.MASS)) and not reading.named(lex.SMALL):
        return Level.CRITICAL, f'takes away many things at once ("{mass}")'
    if reading.says(_DELETIONS) and (word := reading.named(lex.WHOLES)):
        return Level.CRITICAL, f'deletes a "{word}" with all it holds'
    if reading.says(_DELETIONS) and (reading.verb in VAGUE or not reading.named(lex.SMALL)):
        return Level.HIGH, "deletes for good"
    return Level.MEDIUM, "takes something away"


def _pays(reading: Reading) -> Claim:
    if reading.named(frozenset({"transfer", "withdraw"})):
        return Level.CRITICAL, "moves money away"
    if mass := reading.named(lex.MASS):
        return Level.CRITICAL, f'moves money many times at once ("{mass}")'
    return Level.HIGH, "moves money or other value"


def _executes(reading: Reading) -> Claim:
    if why := shell(reading):
        return Level.CRITICAL, why
    if word := reading.says(lex.CODE):
        return Level.HIGH, f'runs "{word}"'
    if word := reading.named(lex.CHECKS):
        return Level.SAFE, f'runs a "{word}"'
    return Level.MEDIUM, "runs something"


_BASE: dict[Action, Callable[[Reading], Claim]] = {
    Action.READ: _reads,
    Action.COMPUTE: _computes,
    Action.MINOR: _changes,
    Action.WRITE: _changes,
    Action.SEND: _sends,
    Action.DELETE: _deletes,
    Action.PAY: _pays,
    Action.EXECUTE: _executes,
}


def _floors(reading: Reading) -> Iterator[Claim]:
    """Reasons for at least a level, whatever the action."""
    changing = reading.action is not None and reading.action >= Action.MINOR
    if changing:
        yield from _floors_of_change(reading)
    if reading.takes("mnemon") or private_key(reading):
        yield (Level.CRITICAL if changing else Level.HIGH), "takes a private key"
    if reading.says(frozenset({"env", "environ"})) and reading.says(frozenset({"var", "variabl", "env"})):
        yield Level.HIGH, "touches environment variables, where secrets are kept"
    if reading.takes(*_PROGRAMS) and (why := code(reading)):
        yield Level.HIGH, f"{why} it is given"
    if (word := reading.says(lex.ATTACKS)) and reading.takes("url", "target", "host", "ip", "domain"):
        yield Level.HIGH, f'attacks what it is given ("{word}")'
    if machine(reading):
        yield Level.HIGH, "acts by itself on a computer"


def _floors_of_change(reading: Reading) -> Iterator[Claim]:
    if word := reading.named(lex.SECURITY - {reading.verb}):
        yield Level.HIGH, f'changes "{word}", a security control'
    if word := reading.named(lex.CLUSTERS) or ("k8s" if reading.name[:3] == ("k", "8", "s") else ""):
        yield Level.HIGH, f'steers an installation ("{word}")'
    if any(phrase in reading.text for phrase in lex.FINAL):
        yield Level.HIGH, "says there is no way back"
    if reading.named(frozenset({"order"})) and reading.says(lex.PLACING):
        yield Level.HIGH, "places or withdraws an order"
    if word := reading.named(lex.STAKES):
        yield Level.HIGH, f'changes "{word}", where money is at stake'
    if reading.verb in _ADMITTING and reading.named(lex.PEOPLE) and reading.says(lex.CIRCLES):
        yield Level.HIGH, "lets somebody in"
    if reading.action in _LIVE and (word := reading.named(lex.LIVE)):
        yield Level.HIGH, f'changes a running system ("{word}")'
    if reading.says(lex.STORES) and reading.takes("sql", "queri", "statement"):
        yield Level.HIGH, "changes data by a statement it is given"
    if reading.named(frozenset({"remot"})) and (word := reading.named(lex.CONTROLS)):
        yield Level.HIGH, f'works the "{word}" of another machine'
    if reading.named(lex.SHELLS | lex.COMMANDS):
        yield Level.HIGH, "steers a command line"
    if reading.says(frozenset({"request", "proxi"})) and (word := reading.says(lex.REQUESTS)):
        yield Level.HIGH, f'makes any "{word}" request'
    if reading.action is Action.WRITE and reading.takes("password", "passwd"):
        yield Level.HIGH, "writes a password"


def _level(reading: Reading) -> list[Claim]:
    claims = list(_floors(reading))
    if reading.action is not None:
        claims.insert(0, _BASE[reading.action](reading))
    elif privacy(reading) < 0:
        # Never level 1: what it does with what is public, nobody knows.
        claims.insert(0, (Level.LOW, "speaks only of what is public"))
    return claims


def _evidence(reading: Reading, claims: Sequence[Claim]) -> Iterator[Evidence]:
    for level, why in sorted(claims, key=lambda claim: -claim[0]):
        because = f"{why}: {reading.because}" if reading.because else why
        yield Evidence(f"level>={int(level)}", _NAME, because)
    if reading.action in (Action.READ, Action.COMPUTE):
        yield Evidence(HARMLESS, _NAME, reading.because)
    if reading.action is Action.DELETE and claims[0][0] >= Level.HIGH:
        yield Evidence(DESTROYS, _NAME, reading.because)


def judge(tool: Tool) -> Verdict:
    """The verdict of the rules on one tool."""
    reading = read(tool)
    claims = _level(reading)
    level = max((level for level, _ in claims), default=None)
    may = dict(permissions(reading))
    can = dict(capabilities(reading, level or Level.MEDIUM))
    return Verdict(
        level,
        frozenset(may),
        frozenset(can),
        (
            *_evidence(reading, claims),
            *(Evidence(f"permission:{key}", _NAME, why) for key, why in sorted(may.items())),
            *(Evidence(f"capability:{key}", _NAME, why) for key, why in sorted(can.items())),
        ),
    )


class RuleAnnotator:
    """Judges tools by the word lists of :mod:`toolwise.audit.verbs` and :mod:`toolwise.audit.lexicon`.

    ``level`` is None only where neither name nor description holds anything the lists know.
    """

    name = _NAME

    def annotate(self, tools: Sequence[Tool]) -> list[Verdict]:
        """One verdict per tool, in order."""
        return [judge(tool) for tool in tools]
