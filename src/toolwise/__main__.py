"""``python -m toolwise`` is the ``toolwise`` command."""

from toolwise.cli import main

main()
