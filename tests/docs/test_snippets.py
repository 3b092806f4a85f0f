"""Every Python snippet of every page runs, and every link leads somewhere."""

import re
from pathlib import Path

import pytest
from tests.support.pages import PAGES, ROOT, name_of, snippets

SNIPPETS = [
    pytest.param(text, printed, id=f"{name_of(page)}-{number}")
    for page in PAGES
    for number, (text, printed) in enumerate(snippets(page))
]
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]\d+)?")


def _numbers(text: str) -> list[float]:
    return [float(found) for found in _NUMBER.findall(text)]


def _words(text: str) -> list[str]:
    return _NUMBER.sub(" # ", text).split()


@pytest.mark.parametrize(("snippet", "printed"), SNIPPETS)
def test_snippet_runs_and_prints_what_the_page_says(
    snippet: str,
    printed: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "snippet", "exec"), {"__name__": "snippet"})
    if printed is not None:
        found = capsys.readouterr().out
        assert _words(found) == _words(printed), found
        # Sums of other processors and libraries differ in their last digits, and a search may end a call sooner.
        assert _numbers(found) == pytest.approx(_numbers(printed), rel=0.05, abs=0.002), found


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
