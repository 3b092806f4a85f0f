"""The command line, one file per command."""

from __future__ import annotations


def main() -> None:
    """Run ``fairwise``; everything heavy is imported only by the command that needs it."""
    from fairwise.cli.app import run

    run()
