"""The command line, one file per command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run ``fairwise``; everything heavy is imported only by the command that needs it."""
    try:
        from fairwise.cli.app import run

        run()
    except KeyboardInterrupt:  # before the command had begun
        sys.exit(130)
