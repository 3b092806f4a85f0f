"""What the page says about simulated people is so."""

import re
from pathlib import Path

from fairwise.simulation import KINDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "simulation.md").read_text(encoding="utf-8")


def test_the_examples_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})


def test_every_kind_is_explained() -> None:
    assert re.findall(r"^\| `([\w-]+)` \|", PAGE, flags=re.MULTILINE) == list(KINDS)
