"""Every Python snippet of every page runs, and every link leads somewhere."""

import re
from pathlib import Path

import pytest
from pages import PAGES, ROOT, blocks, name_of

SNIPPETS = [
    pytest.param(text, id=f"{name_of(page)}-{number}")
    for page in PAGES
    for number, text in enumerate(blocks(page, "python"))
]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippet_runs(snippet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "snippet", "exec"), {"__name__": "snippet"})


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    pictures = re.findall(r'<(?:img|source)[^>]* src(?:set)?="(?!https?://)([^"]+)"', text)
    for target in [*re.findall(r"\]\((?!https?://)([^)#\s]+)", text), *pictures]:
        assert (page.parent / target).exists(), target


def test_readme_names_exactly_the_two_commands() -> None:
    found = re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert found == ["demo", "test"]


def test_every_target_that_is_named_exists() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for page in PAGES:
        named = re.findall(r"`make ([\w-]+)`", page.read_text(encoding="utf-8"))
        assert set(named) <= set(targets), name_of(page)
