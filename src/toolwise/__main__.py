"""``python -m toolwise`` is the ``toolwise`` command; both start here."""

from __future__ import annotations

import os
import signal
from types import FrameType

_INTERRUPTED = 130


def main() -> None:
    """Run the command line; an interrupt while it is loaded ends the process without a word."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # else whoever started us has it ignored
        signal.signal(signal.SIGINT, _leave)
    from toolwise.cli import main as run

    signal.signal(signal.SIGINT, before)
    run()


def _leave(_: int, __: FrameType | None) -> None:
    """At once: what is half loaded cannot be unwound."""
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
