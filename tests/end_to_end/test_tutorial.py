"""The operator's tutorial, followed to the letter in a real browser: nothing is missing, misnamed or out of order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.served import browsing
from tests.support.served_process import free_port
from tests.support.tutorial_walk import ROOT, TUTORIAL, follow

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page
    from tests.support.tutorial_reader import Section

pytestmark = pytest.mark.slow

TEXT = TUTORIAL.read_text(encoding="utf-8")
PICTURES = re.findall(r"!\[[^\]]{20,}\]\(\.\./figures/tutorial/(\w+)\.png\)", TEXT)
BEFORE_FAIRWISE = ["python3 --version", "make --version", "cd fairwise", "make demo", ". .venv/bin/activate"]


def tidy(text: str) -> str:
    return " ".join(text.split())


def bold(text: str) -> list[str]:
    return [tidy(name) for name in re.findall(r"\*\*(.+?)\*\*", text, re.DOTALL)]


def slanted(text: str) -> list[str]:
    return [tidy(words) for words in re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", text)]


def commands(text: str) -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


def told(text: str) -> list[str]:
    """What is to be pressed or typed, in its order: names in bold, and values as code."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [tidy(name or value) for name, value in re.findall(r"\*\*(.+?)\*\*|`(.+?)`", prose, re.DOTALL)]


def parts() -> dict[str, str]:
    """What stands under each heading, without the boxes on what could go wrong."""
    cut = re.split(r"^## (.*)$", re.sub(r"^>.*\n", "", TEXT, flags=re.MULTILINE), flags=re.MULTILINE)
    return dict(zip(cut[1::2], cut[2::2], strict=True))


def walked(browser: Browser, home: Path) -> list[Section]:
    def look(page: Page, name: str, part: Locator | None) -> None:
        assert page.get_by_role("alert").filter(visible=True).count() == 0, name
        assert part is None or part.first.is_visible(), name

    with browsing(browser, viewport={"width": 1100, "height": 800}) as (_, page):
        return follow(page, home, look, free_port())


def test_a_walk_through_it_finds_it_true_to_the_letter(browser: Browser, tmp_path: Path) -> None:
    """All in one test: a walk takes a minute, and tests that are run in parallel would each begin one."""
    walk = walked(browser, tmp_path)
    check_that_the_pictures_are_those_of_the_walk_in_its_order(walk)
    check_that_every_heading_is_walked_through(walk)
    check_that_every_name_in_bold_was_seen_where_it_is_told(walk)
    check_that_whatever_was_pressed_or_typed_is_told_in_that_order(walk)
    check_that_what_is_said_to_be_read_was_there(walk)
    check_that_commands_are_those_that_were_run(walk)
    check_that_what_commands_print_is_told(walk)


def check_that_the_pictures_are_those_of_the_walk_in_its_order(walk: list[Section]) -> None:
    assert [name for section in walk for name in section.pictures] == PICTURES


def test_every_picture_is_there_and_has_words_for_those_who_do_not_see_it() -> None:
    folder = ROOT / "docs" / "figures" / "tutorial"
    assert sorted(PICTURES) == sorted(file.stem for file in folder.iterdir())
    assert TEXT.count("](../figures/") == len(PICTURES)


def check_that_every_heading_is_walked_through(walk: list[Section]) -> None:
    assert [section.title for section in walk] == list(parts())[1:-1]  # but for installing, and the outlook


def check_that_every_name_in_bold_was_seen_where_it_is_told(walk: list[Section]) -> None:
    seen = {section.title: section.seen for section in walk}
    everywhere = set().union(*seen.values())
    missing = [
        (title, name)
        for title, text in parts().items()
        for name in bold(text)
        if name not in seen.get(title, everywhere)
    ]
    assert missing == []


def check_that_whatever_was_pressed_or_typed_is_told_in_that_order(walk: list[Section]) -> None:
    for section in walk:
        rest = iter(told(parts()[section.title]))
        missing = [what for what in section.did if what not in rest]  # an iterator goes on where it was
        assert missing == [], section.title


def check_that_what_is_said_to_be_read_was_there(walk: list[Section]) -> None:
    for section in walk:
        for words in slanted(parts()[section.title]):
            assert any(words in text for text in section.read), (section.title, words)


def check_that_commands_are_those_that_were_run(walk: list[Section]) -> None:
    run = [command for section in walk for command in section.commands]
    assert commands(TEXT) == [*BEFORE_FAIRWISE, *run]


def check_that_what_commands_print_is_told(walk: list[Section]) -> None:
    for section in walk:
        for block in re.findall(r"```text\n(.*?)```", parts()[section.title], re.DOTALL):
            for line in filter(None, map(str.strip, block.splitlines())):
                pattern = re.escape(line).replace("…", r"\S+")
                assert re.search(f"^{pattern}$", section.printed, re.MULTILINE), (section.title, line)


def test_boxes_name_what_there_is() -> None:
    source = Path(ROOT / "src" / "fairwise")
    code = tidy(
        " ".join(file.read_text(encoding="utf-8") for end in ("py", "html") for file in source.rglob(f"*.{end}"))
    )
    boxes = "\n".join(re.findall(r"^> ?(.*)$", TEXT, re.MULTILINE))
    named = [words for words in slanted(boxes) if words != "What could go wrong."]
    assert named
    assert [words for words in named if words not in code] == []
