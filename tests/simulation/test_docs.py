"""What the page says about simulated people is so."""

import re
from pathlib import Path

from fairwise.simulation import KINDS, PRINCIPLES, draw_panel

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "simulation.md").read_text(encoding="utf-8")


def test_the_examples_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})


def test_every_kind_is_explained() -> None:
    kinds = PAGE.partition("## Kinds")[2].partition("## ")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", kinds, flags=re.MULTILINE) == list(KINDS)


def test_every_principle_is_stated() -> None:
    stated = re.findall(r"^\| `([\w-]+)` \| (\d+) \| (.*) \|$", PAGE, flags=re.MULTILINE)
    panel = [respondent.kind for respondent in draw_panel()]
    assert stated == [(name, str(panel.count(name)), each.statement) for name, each in PRINCIPLES.items()]
