"""What the documents of the gateway promise."""

import json
import re
from pathlib import Path

import pytest

from toolwise.cli.gateway import read_servers
from toolwise.serve.gateway.settings import GatewaySettings, Profile, Token, load_settings

ROOT = Path(__file__).parent.parent.parent
GUIDE = (ROOT / "docs" / "gateway.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("model", [GatewaySettings, Profile, Token])
def test_every_setting_is_documented_with_its_default(model: type):
    """docs/gateway.md has a row for each, and the numbers are those of the code."""
    for name, field in model.model_fields.items():
        (row,) = re.findall(rf"^\| `{name}` \| (.*?) \|", GUIDE, re.MULTILINE)[:1] or [None]
        assert row is not None, name
        if isinstance(field.default, int | float) and not isinstance(field.default, bool):
            assert row == f"{field.default:g}", name
        elif isinstance(field.default, bool):
            assert row == str(field.default).lower(), name


def test_every_block_of_json_is_json():
    """What people copy has to parse."""
    blocks = re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)
    assert len(blocks) == 5
    for block in blocks:
        content = json.loads(block)
        (servers,) = (content[key] for key in ("mcpServers", "servers") if key in content)
        assert "toolwise" in servers


def test_the_python_block_compiles():
    """It is run by hand: it needs servers."""
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    compile(block, "gateway.md", "exec")


def test_the_examples_are_read():
    """The settings file and the configuration beside it."""
    settings = load_settings(ROOT / "examples" / "gateway" / "gateway.toml")
    assert settings.profiles["office"].size == 10
    assert settings.tokens["clerk"].profile == "office"
    assert len(read_servers(ROOT / "examples" / "gateway" / "mcp.json")) == 10
