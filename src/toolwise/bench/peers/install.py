"""Install rivals: ``python -m toolwise.bench.peers.install [NAME ...]``, all of them by default."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from toolwise.bench.peers import RIVALS
from toolwise.bench.peers.process import FOLDER, install


def main(names: Sequence[str], folder: Path = FOLDER) -> int:
    """Install, report a line per rival, and return 1 where any failed."""
    failed = 0
    for name in names or RIVALS:
        (result,) = install([name], folder)
        failed += not result.ok
        lines = [f"{name:<20} {'ok' if result.ok else 'failed'}", *result.detail.splitlines()]
        sys.stdout.write("\n    ".join(lines) + "\n")
        sys.stdout.flush()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
