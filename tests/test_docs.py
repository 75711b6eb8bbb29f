"""What the documents promise exists, and what exists is documented."""

import json
import re
from pathlib import Path

import pytest
import typer
from benchmarks.readme import filled

from toolwise import Selector, registry
from toolwise.cli import app
from toolwise.config import Settings
from toolwise.policy import BUILT_IN, Policy

ROOT = Path(__file__).parent.parent
CLI = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
POLICIES = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
ALL = "\n".join(
    path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
)


def commands() -> dict[str, list[str]]:
    """Every command with its options, as typer knows them."""
    group = typer.main.get_command(app)
    found: dict[str, list[str]] = {}

    def visit(path: str, command: object) -> None:
        children = getattr(command, "commands", None)
        if children:
            for name, child in children.items():
                visit(f"{path} {name}", child)
        if not children or command.invoke_without_command:  # type: ignore[attr-defined]
            options = [o for p in command.params for o in (*p.opts, *p.secondary_opts) if o.startswith("--")]  # type: ignore[attr-defined]
            found[path] = [o for o in options if o != "--help"]

    visit("toolwise", group)
    return found


def test_every_command_and_option_is_documented() -> None:
    """docs/cli.md names each of them."""
    for command, options in commands().items():
        assert command in CLI
        for option in options:
            assert option in CLI, f"{command} {option}"


def test_every_documented_option_exists() -> None:
    """No option of docs/cli.md is an invention."""
    known = {option for options in commands().values() for option in options}
    assert set(re.findall(r"`(--[a-z-]+)", CLI)) <= known


def test_every_setting_is_documented() -> None:
    """Name and variable of each setting stand in docs/cli.md."""
    for name in Settings.model_fields:
        assert f"| `{name}` | `TOOLWISE_{name.upper()}` |" in CLI


def test_every_limit_and_policy_is_documented() -> None:
    """docs/policies.md names all built-in policies and all limits."""
    for name in (*BUILT_IN, *Policy.model_fields):
        if name != "name":
            assert f"`{name}`" in POLICIES, name


@pytest.mark.parametrize("kind", ["encoder", "retriever", "format"])
def test_every_component_a_user_may_name_is_documented(kind: str) -> None:
    """docs/cli.md names each."""
    for name in registry.names(kind):
        assert f"`{name}" in CLI, name


def test_every_link_leads_to_a_file() -> None:
    """Relative links of README and docs exist."""
    for document in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_every_make_target_the_documents_name_exists() -> None:
    """`make X` in README or docs is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)", ALL)) <= targets


def test_every_result_the_documents_name_exists_and_says_how_it_was_made() -> None:
    """Files under results/ named in README or docs carry a command and a commit."""
    named = set(re.findall(r"results/([a-z_/]+)\.(?:md|json)", ALL))
    assert named
    for name in named:
        origin = json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8"))["provenance"]
        assert origin["command"].startswith(("python -m benchmarks.", "toolwise bench run "))
        assert origin["commit"]


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The snippet works as it stands, on the demo catalogue."""
    snippet = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert snippet is not None
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.jsonl").write_bytes((ROOT / "examples" / "demo" / "tools.jsonl").read_bytes())
    exec(compile(snippet[1], "README.md", "exec"), {})  # our own text


def test_the_numbers_of_the_readme_are_those_of_the_results() -> None:
    """`python -m benchmarks.readme` would change nothing."""
    assert filled(README) == README


def test_the_demo_answer_of_the_readme_is_what_comes_out(demo: Selector) -> None:
    """Tools, scores, levels and withheld tools of the block are those of the answer."""
    block = next(part for part in README.split("```") if "preview_bulk_refund" in part)
    request = block.strip().splitlines()[0]
    exposure = demo.select(request)
    shown = re.findall(r"^(\S+/\S+) +(\d\.\d\d) +L(\d)", block, re.MULTILINE)
    assert shown
    assert shown == [(t.id, f"{t.score:.2f}", str(t.level)) for t in exposure.tools[: len(shown)]]
    held = re.findall(r"^(\S+/\S+) +L(\d) +([a-z0-9-]+) ", block, re.MULTILINE)
    assert held == [(w.id, str(w.level), w.rule) for w in exposure.withheld]
    assert exposure.reason in " ".join(block.split())
    assert f"{exposure.tokens} tokens" in block


def test_the_table_of_policies_says_what_ships() -> None:
    """Numbers of the built-in policies, cell by cell."""
    table = POLICIES[POLICIES.index("| limit |") :].partition("\n\n")[0]
    lines = [line for line in table.splitlines() if "`" in line]
    names = re.findall(r"`(\w+)`", lines[0])
    rows = {re.findall(r"`(\w+)`", line)[0]: [c.strip() for c in line.split("|")[2:-1]] for line in lines[1:]}
    words = {1: "one", 2: "two", 3: "three"}
    for place, policy in enumerate(BUILT_IN[name] for name in names):
        for limit in ("max_tools", "max_level", "named_level"):
            value = getattr(policy, limit)
            assert rows[limit][place] == ("" if value is None else str(value)), (policy.name, limit)
        for dial in ("caution", "economy"):
            assert float(rows[dial][place]) == getattr(policy, dial), (policy.name, dial)
        caps = "".join(f"{words[cap.count]} of level {cap.level}+" for cap in policy.caps)
        assert rows["caps"][place] == caps, policy.name
