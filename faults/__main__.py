"""``python -m faults [load]``: one part of ``docs/faults.md`` each; ends with 1 if anything was lost or doubled."""

from __future__ import annotations

import sys

from faults import faults_part, load_part
from faults.report import FAULTS, LOAD, write_part


def main() -> None:
    heading, measured = (LOAD, load_part.measured) if sys.argv[1:] == ["load"] else (FAULTS, faults_part.measured)
    text, whole = measured()
    write_part(heading, text)
    print(text)
    sys.exit(not whole)


if __name__ == "__main__":
    main()
