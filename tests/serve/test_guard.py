"""What a session may still do, and who is asked first."""

import pytest

from toolwise.errors import CallRefused
from toolwise.records import Capability, Permission, to_bits
from toolwise.serve.gateway.guard import Guard, Kind, Session, Sessions, kind
from toolwise.serve.gateway.settings import GatewaySettings


def can(*capabilities: Capability) -> int:
    return to_bits(capabilities, Capability)


def guard(**settings: object) -> Guard:
    return Guard(GatewaySettings.model_validate(settings))


PRIVATE, UNTRUSTED, EXTERNAL = Capability


@pytest.mark.parametrize(
    ("level", "permissions", "expected"),
    [
        (1, (), Kind.READ),
        (3, (Permission.NETWORK, Permission.CREDENTIALS), Kind.READ),
        (2, (Permission.WRITE,), Kind.WRITE),
        (3, (Permission.SHELL,), Kind.WRITE),
        (1, (Permission.CODE,), Kind.WRITE),
        (4, (), Kind.DESTRUCTIVE),
        (5, (Permission.WRITE,), Kind.DESTRUCTIVE),
    ],
)
def test_the_kind_follows_level_and_permissions(level: int, permissions: tuple, expected: Kind):
    """From level 4 on destructive; below it writing where a tool can write, run a shell or code."""
    assert kind(level, to_bits(permissions, Permission)) is expected


def test_calls_run_out():
    """The third of two calls is refused, and the limit is a fact of the error."""
    judge, session = guard(max_calls=2), Session()
    for _ in range(2):
        judge.check_budget(session, 1)
        judge.charge(session, 1, 0)
    with pytest.raises(CallRefused, match="has made its 2 calls") as caught:
        judge.check_budget(session, 1)
    assert (caught.value.rule, caught.value.limit) == ("max-calls", 2)


def test_risk_runs_out_for_harmful_tools_alone():
    """Levels 3, 4 and 5 cost 1, 2 and 3; levels 1 and 2 cost nothing."""
    judge, session = guard(max_risk=3), Session()
    for level in (4, 1, 2, 3):
        judge.check_budget(session, level)
        judge.charge(session, level, 0)
    assert (session.calls, session.risk) == (4, 3)
    judge.check_budget(session, 2)
    with pytest.raises(CallRefused, match=r"used 3 of 3 units of risk and this call costs 1"):
        judge.check_budget(session, 3)


def test_high_levels_need_approval():
    """From the level of the settings on, unless the tool is named."""
    judge = guard(approve_level=4, allow_calls=["shop/*"])
    assert not judge.approval(Session(), "a/x", 3, 0)
    assert judge.approval(Session(), "a/x", 4, 0).reasons == ("it is of risk level 4",)
    assert not judge.approval(Session(), "shop/x", 5, 0)
    assert not guard(approve_level=6).approval(Session(), "a/x", 5, 0)


@pytest.mark.parametrize(
    ("read", "calls", "asked"),
    [
        ((), can(EXTERNAL), False),
        ((PRIVATE,), can(EXTERNAL), False),
        ((UNTRUSTED,), can(EXTERNAL), False),
        ((PRIVATE, UNTRUSTED), can(EXTERNAL), True),
        ((PRIVATE, UNTRUSTED), can(PRIVATE), False),
        ((PRIVATE,), can(UNTRUSTED, EXTERNAL), True),
        ((), can(PRIVATE, UNTRUSTED, EXTERNAL), True),
    ],
)
def test_sending_after_private_and_untrusted_reading_needs_approval(
    read: tuple[Capability, ...], calls: int, asked: bool
):
    """All three together are toxic, in whatever order they came; naming a tool does not help."""
    judge, session = guard(approve_level=6, allow_calls=["*"]), Session()
    for capability in read:
        judge.charge(session, 1, can(capability))
    assert bool(judge.approval(session, "a/send", 2, calls)) is asked
    assert not guard(approve_level=6, flow_guard=False).approval(session, "a/send", 2, calls)


def test_silent_sessions_are_forgotten():
    """After the idle time a session begins anew; one that speaks stays."""
    now = 0.0
    sessions = Sessions(10.0, clock=lambda: now)
    first = sessions.get("ann", "1")
    first.calls = 5
    sessions.get("ann", "2")
    now = 8.0
    assert sessions.get("ann", "1").calls == 5
    now = 15.0
    assert sessions.get("ann", "1").calls == 5
    assert len(sessions) == 1
    now = 26.0
    assert sessions.get("ann", "1").calls == 0


def test_sessions_of_two_callers_are_two():
    """The same session id of another token is another session."""
    sessions = Sessions(10.0)
    assert sessions.get("ann", "1") is not sessions.get("bob", "1")


def test_sessions_and_open_questions_are_bounded():
    """The longest silent session, and the oldest question, make room."""
    sessions = Sessions(1e9, most=3)
    kept = [sessions.get("ann", str(number)) for number in range(4)]
    assert len(sessions) == 3
    assert sessions.get("ann", "3") is kept[3]
    assert sessions.get("ann", "0") is not kept[0]
    session = Session()
    for number in range(100):
        session.await_answer(str(number), "x")
    assert next(iter(session.pending)) == "68"
    assert len(session.pending) == 32
