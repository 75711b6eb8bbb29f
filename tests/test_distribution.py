"""The wheel holds what an installed toolwise needs."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_wheel_carries_weights_types_and_adapters_and_is_small(tmp_path: Path) -> None:
    """At most 10 MB, the table, the tokenizer, the marker of types and the scripts that rivals run."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for needed in (
        "toolwise/py.typed",
        "toolwise/weights/static/table.safetensors",
        "toolwise/weights/static/tokenizer.json",
        "toolwise/weights/static/README.md",
        "toolwise/bench/peers/adapters/peer_wire.py",
    ):
        assert needed in names
    assert wheel.stat().st_size < 10_000_000
    assert not any(name.startswith(("tests/", "results/")) for name in names)


@pytest.mark.slow
def test_an_installed_wheel_answers_without_the_checkout(tmp_path: Path) -> None:
    """In a virtual environment of its own, core dependencies only, from another folder."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(ROOT)], check=True)
    demo = ROOT / "examples" / "demo" / "tools.jsonl"
    subprocess.run([python, "-m", "toolwise", "index", demo, "--into", "i"], check=True, cwd=tmp_path)
    done = subprocess.run(
        [python, "-m", "toolwise", "select", "i", "draft an email", "--json"],
        check=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert '"mail/draft_email"' in done.stdout
    listed = subprocess.run([python, "-m", "pip", "list"], check=True, capture_output=True, text=True).stdout
    assert not {"torch", "fastapi", "mcp"} & {line.split()[0] for line in listed.splitlines()}
