"""``python -m fairwise``: the command line."""

from fairwise.cli import main

main()
