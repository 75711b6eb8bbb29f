"""The ``toolwise`` command: thin skins over indexing and the selector.

Exit codes: 0 done; 2 wrong usage; 3 a source could not be read; 4 the index
cannot be used; 5 the encoder cannot be used; 6 the request makes no sense; 7
the policy is wrong; 8 the export failed; 9 a setting or component name is
wrong; 10 an optional dependency is missing; 11 a metric, gold sets, a run or a
split makes no sense; 12 a rival of the bench failed; 130 interrupted.
"""

from __future__ import annotations

import os
import sys

from toolwise.cli.app import app
from toolwise.errors import ToolwiseError

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line; errors of the house become one line on stderr and an exit code."""
    try:
        app()
    except ToolwiseError as error:
        print(f"toolwise: {error.message}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        print("toolwise: interrupted", file=sys.stderr)
        sys.exit(130)
