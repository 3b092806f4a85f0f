"""docs/threat_model.md: every line has a test, every test that it names is there, every defence can be switched off."""

from __future__ import annotations

import re
from pathlib import Path

from tests.security.defences import DEFENCES, ROOT

PAGE = (ROOT / "docs" / "threat_model.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \| (yes|no) \|$", PAGE, flags=re.MULTILINE)


def test_every_line_names_tests_that_are_there_and_were_seen_failing() -> None:
    written = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("*.py"))
    assert len(LINES) > 60
    for threat, tests, seen in LINES:
        assert seen == "yes", threat
        named = re.findall(r"`(\w+)(\.py)?`", tests)
        assert named, threat
        for name, is_file in named:
            assert list(Path(ROOT / "tests").rglob(f"{name}.py")) if is_file else f"def {name}(" in written, name


def test_every_line_is_about_a_defence_that_can_be_switched_off() -> None:
    switched = {defence.test.rpartition("::")[2].rpartition("/")[2].removesuffix(".py") for defence in DEFENCES}
    for threat, tests, _ in LINES:
        assert switched & {name.removesuffix(".py") for name in re.findall(r"`([\w.]+)`", tests)}, threat
    on_page = {name.removesuffix(".py") for _, tests, _ in LINES for name in re.findall(r"`([\w.]+)`", tests)}
    assert switched <= on_page
    for defence in DEFENCES:
        for name, before, _ in defence.changes:
            assert (ROOT / "src" / "fairwise" / name).read_text(encoding="utf-8").count(before) == 1, defence.name
