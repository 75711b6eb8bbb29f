"""Policies by name and from files."""

import errno
from pathlib import Path

import pytest
from pydantic import ValidationError

from toolwise.errors import PolicyError
from toolwise.policy import BUILT_IN, Breadth, Cap, Policy, Redundancy, load_policy, revise
from toolwise.records import Permission


def _file(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_there_are_four_built_in_policies():
    """Each knows its own name and is returned by it."""
    assert list(BUILT_IN) == ["open", "default", "paper", "strict"]
    for name, policy in BUILT_IN.items():
        assert policy.name == name
        assert load_policy(name) is policy


def test_open_limits_nothing_but_the_number_of_tools():
    """Every other limit is absent."""
    policy = BUILT_IN["open"]
    assert policy == Policy(name="open", fit=False)
    assert (policy.max_tools, policy.caps, policy.max_level, policy.named_level) == (5, (), None, None)
    assert (policy.redundancy, policy.budget_tokens, policy.breadth) == (None, None, None)


def test_default_admits_three_tools_of_level_4_and_names_level_5():
    """Level 3 is not capped."""
    policy = BUILT_IN["default"]
    assert policy.caps == (Cap(level=4, count=3),)
    assert policy.named_level == 5
    assert policy.max_level is None
    assert policy.redundancy == Redundancy(cosine=0.95, same_name=True)


def test_paper_is_the_rule_filter_of_the_paper():
    """One tool of level 3 or more, two broad ones, no two alike."""
    policy = BUILT_IN["paper"]
    assert policy.caps == (Cap(level=3, count=1),)
    assert policy.breadth == Breadth(permissions=2, count=2)
    assert policy.redundancy == Redundancy(cosine=0.9)


def test_strict_is_read_only():
    """Levels 1 and 2, and nothing that writes or runs."""
    policy = BUILT_IN["strict"]
    assert policy.max_level == 2
    assert policy.forbidden_permissions == {Permission.SHELL, Permission.WRITE, Permission.CODE}


def test_a_policy_passes_through():
    """load_policy takes what is a policy already."""
    policy = Policy(max_tools=3)
    assert load_policy(policy) is policy


def test_a_file_sets_every_limit(tmp_path):
    """All of them, by their names; the policy is called as its file where it has no name."""
    path = _file(
        tmp_path,
        """
        max_tools = 3
        max_level = 4
        named_level = 4
        caps = [{level = 4, count = 1}, {level = 3, count = 2}]
        breadth = {permissions = 2, count = 1}
        forbidden_permissions = ["shell", "code"]
        redundancy = {cosine = 0.8}
        budget_tokens = 900
        allow = ["fs/*", "ключ/*"]
        deny = ["*/delete_*"]
        pins = ["fs/read"]
        fit = false
        """,
    )
    assert load_policy(str(path)) == load_policy(path)
    assert load_policy(path) == Policy(
        name="mine",
        max_tools=3,
        max_level=4,
        named_level=4,
        caps=(Cap(level=4, count=1), Cap(level=3, count=2)),
        breadth=Breadth(permissions=2, count=1),
        forbidden_permissions=frozenset({Permission.SHELL, Permission.CODE}),
        redundancy=Redundancy(cosine=0.8),
        budget_tokens=900,
        allow=("fs/*", "ключ/*"),
        deny=("*/delete_*",),
        pins=("fs/read",),
        fit=False,
    )


def test_a_file_builds_on_another_policy(tmp_path):
    """What it does not say is the parent's; a list replaces the parent's list."""
    path = _file(tmp_path, 'extends = "strict"\nname = "house"\nmax_level = 3\n')
    assert load_policy(path) == BUILT_IN["strict"].model_copy(update={"name": "house", "max_level": 3})
    path = _file(tmp_path, 'extends = "default"\ncaps = []\n')
    assert load_policy(path).caps == ()
    assert load_policy(path).named_level == 5


def test_an_empty_file_is_the_plain_policy(tmp_path):
    """No limit but the number of tools."""
    assert load_policy(_file(tmp_path, "")) == Policy(name="mine")


@pytest.mark.parametrize("parent", ['"nobody"', '""', "3", '["default"]', "{a = 1}"])
def test_the_parent_must_exist(tmp_path, parent):
    """Only built-in policies can be built on, whatever stands there."""
    with pytest.raises(PolicyError, match=r"extends.*open, default, paper, strict"):
        load_policy(_file(tmp_path, f"extends = {parent}\n"))


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("max_tools = 0", "max_tools"),
        ("max_tools = 101", "max_tools"),
        ('max_tools = "many"', "max_tools"),
        ('max_tools = "3"', "max_tools"),
        ("max_tools = true", "max_tools"),
        ("max_level = true", "max_level"),
        ("max_tools = 3.0", "max_tools"),
        ("caps = [{level = true, count = 1}]", "caps.0.level"),
        ("redundancy = {cosine = true}", "redundancy.cosine"),
        ("max_level = 6", "max_level"),
        ("budget_tokens = 0", "budget_tokens"),
        ("caps = [{level = 0, count = 1}]", "caps.0.level"),
        ("caps = [{level = 3}]", "caps.0.count"),
        ("caps = [{level = 3, count = -1}]", "caps.0.count"),
        ("redundancy = {cosine = 2}", "redundancy.cosine"),
        ("redundancy = {cosine = nan}", "redundancy.cosine"),
        ('forbidden_permissions = ["fly"]', "forbidden_permissions.0"),
        ('allow = "fs/*"', "allow"),
        ("pins = [3]", "pins.0"),
        ("name = 3", "name"),
    ],
)
def test_wrong_values_are_named(tmp_path, text, limit):
    """The message holds the place and what is wrong there, and no list of limits."""
    with pytest.raises(
        PolicyError, match=rf"{limit}( = .*| is missing): expected .*\. Correct it\.$"
    ) as caught:
        load_policy(_file(tmp_path, text))
    assert caught.value.limit == limit
    assert "The limits are" not in str(caught.value)


@pytest.mark.parametrize(("text", "limit"), [("max_tool = 3", "max_tool"), ('policy = "x"', "policy")])
def test_unknown_limits_are_named(tmp_path, text, limit):
    """The message holds the name, and the limits there are."""
    with pytest.raises(
        PolicyError, match=f"there is no limit called '{limit}'. The limits are name, max_tools"
    ) as caught:
        load_policy(_file(tmp_path, text))
    assert caught.value.limit == limit


def test_an_unknown_part_of_a_limit_is_named(tmp_path):
    """Without the list of whole limits."""
    with pytest.raises(PolicyError, match=r"there is no limit called 'caps\.0\.colour'\.$"):
        load_policy(_file(tmp_path, "caps = [{level = 3, count = 1, colour = 1}]"))


@pytest.mark.parametrize("refused", ["Permission denied", "Input/output error"])
def test_a_file_that_may_not_be_read_is_a_policy_error(tmp_path, monkeypatch, refused):
    """With the system's reason, and not as a file that is not there."""

    def refuse(self):
        raise OSError(errno.EACCES if refused.startswith("P") else errno.EIO, refused, str(self))

    path = _file(tmp_path, "max_tools = 3\n")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(PolicyError, match=f"mine.toml cannot be read: {refused}"):
        load_policy(path)


def test_an_unknown_name_lists_the_policies(tmp_path):
    """Neither a built-in nor a file; nor is a folder a policy."""
    with pytest.raises(PolicyError, match=r"no policy called 'defualt'.*open, default, paper, strict"):
        load_policy("defualt")
    with pytest.raises(PolicyError, match="no policy called"):
        load_policy(tmp_path)
    for name in ("x" * 5000, "", "a\0b"):
        with pytest.raises(PolicyError, match="no policy called"):
            load_policy(name)


@pytest.mark.parametrize(
    "content",
    [b"max_tools = ", b"\xff\xfe\x00", b"allow = " + b"[" * 100_000, b"max_tools = " + b"9" * 5_000],
)
def test_bad_toml_is_a_policy_error(tmp_path, content):
    """No traceback of the parser."""
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(PolicyError, match="not valid TOML"):
        load_policy(path)


@pytest.mark.parametrize(
    ("make", "says", "limit"),
    [
        (
            lambda: Policy(max_tools=0),
            "a Policy: max_tools = 0: expected 1 or more. Correct it.",
            "max_tools",
        ),
        (lambda: Policy(max_tols=3), "there is no limit called 'max_tols'. The limits are name", "max_tols"),
        (lambda: Cap(level=9, count=1), "a Cap: level = 9: expected 5 or less.", "level"),
        (
            lambda: Policy(caps=[{"level": 9, "count": 1}]),
            "a Policy: caps.0.level = 9: expected",
            "caps.0.level",
        ),
        (lambda: Policy(excludes=[["a"]]), "a Policy: excludes.0.1 is missing: expected", "excludes.0.1"),
        (lambda: Policy(name="x" * 999, deny="y" * 999), "a Policy: deny = 'yyyy", "deny"),
    ],
)
def test_a_policy_made_in_python_is_refused_in_our_words(make, says, limit):
    """With the place, what was found and what was expected, as attributes too; long values are cut."""
    with pytest.raises(PolicyError) as caught:
        make()
    assert says in str(caught.value)
    assert len(str(caught.value)) < 400
    assert caught.value.limit == limit
    assert caught.value.expected


def test_revising_makes_another_policy():
    """The original stays as it is."""
    policy = revise(BUILT_IN["default"], max_tools=2, deny=("x/*",))
    assert (policy.max_tools, policy.deny, policy.named_level) == (2, ("x/*",), 5)
    assert BUILT_IN["default"].max_tools == 5
    assert revise(BUILT_IN["paper"]) == BUILT_IN["paper"]
    with pytest.raises(PolicyError, match="max_tools"):
        revise(policy, max_tools=0)


def test_policies_are_frozen_and_hashable():
    """They serve as keys, and nobody loosens them on the way."""
    assert len({*BUILT_IN.values(), *(p.model_copy() for p in BUILT_IN.values())}) == 4
    with pytest.raises(ValidationError):
        BUILT_IN["strict"].max_level = 5


def test_every_limit_is_described():
    """The descriptions are what docs and help are made from."""
    for model in (Policy, Cap, Breadth, Redundancy):
        assert model.__doc__
    assert all(field.description for field in Policy.model_fields.values())
