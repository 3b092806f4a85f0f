"""Every page that users read, and what stands in it to be typed."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "deploy/README.md")),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if not {"_build", "gallery"} & set(page.parts)),
]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """What stands in fences of this language, also inside a list."""
    fence = re.compile(rf"^( *)```{language}\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
    return [dedent(found[2]) for found in fence.finditer(page.read_text(encoding="utf-8"))]


def snippets(page: Path) -> list[tuple[str, str | None]]:
    """Each Python snippet, and what the page says it prints, if that stands right below."""
    fence = re.compile(r"^( *)```python\n(.*?)^\1```\n(?:\s*^\1```text\n(.*?)^\1```)?", re.MULTILINE | re.DOTALL)
    found = fence.finditer(page.read_text(encoding="utf-8"))
    return [(dedent(one[2]), None if one[3] is None else dedent(one[3])) for one in found]


def commands(page: Path) -> list[str]:
    """Whole lines for a shell, without comments."""
    joined = [re.sub(r"\s*\\\n\s*", " ", block) for block in blocks(page, "sh")]
    lines = [re.sub(r"(^|\s)# .*", "", line).strip() for block in joined for line in block.splitlines()]
    return [line for line in lines if line]
