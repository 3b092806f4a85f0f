"""docs/command_line.md and --help say the same: every command, every option, and an example that can be typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer

from fairwise.cli.app import app
from fairwise.cli.options import answer_map, column_map
from fairwise.judgments.files import translate_answers
from fairwise.tables.rows import Source

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "command_line.md").read_text(encoding="utf-8")
COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
SECTIONS = dict(re.findall(r"^##+ ([^\n]+)\n(.*?)(?=^##|\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
each_command = pytest.mark.parametrize("name", sorted(COMMANDS))


def options_of(name: str) -> set[str]:
    every = [word for param in COMMANDS[name].params for word in (*param.opts, *param.secondary_opts)]
    return {word for word in every if word.startswith("--")} - {"--help"}


def described_in(section: str) -> set[str]:
    """Options in a section's own words (its example apart) and in the option tables it refers to."""
    text = re.sub(r"```.*?```", "", SECTIONS[section], flags=re.DOTALL)
    tables = [title for title in SECTIONS if f"(#{title.lower().replace(' ', '-')})" in text and "options" in title]
    wanted = set(_OPTION.findall(text))
    if "are as in" in text:  # only some options of the table that is named
        tables = [title for title in tables if "are as in [" + title.lower() not in text]
    for title in tables:
        wanted |= set(re.findall(r"^\| `(--[a-z-]+)", SECTIONS[title], flags=re.MULTILINE))
    return wanted


def test_every_command_has_a_section_and_the_reverse() -> None:
    sections = {title.removeprefix("fairwise ") for title in SECTIONS if title.startswith("fairwise ")}
    assert sections == set(COMMANDS)
    assert set(re.findall(r"^\| \[`([\w-]+)`\]", PAGE, flags=re.MULTILINE)) == set(COMMANDS)


@each_command
def test_every_option_is_documented_and_the_reverse(name: str) -> None:
    assert described_in(f"fairwise {name}") == options_of(name)


def parsed(command_line: str) -> None:
    program, name, *words = shlex.split(command_line.replace("\\\n", " "))
    assert program == "fairwise"
    COMMANDS[name].make_context(name, words)


@each_command
def test_help_has_a_purpose_and_an_example_that_can_be_typed(name: str) -> None:
    text = COMMANDS[name].help
    purpose = text.split("\n\n")[0]
    assert 20 < len(purpose) < 140
    example = re.search(r"Example:\s*(?:\[bold\])?(fairwise .*?)(?:\[/bold\]|\n\n|\Z)", text, flags=re.DOTALL)
    assert example is not None
    assert example[1].split()[1] == name
    parsed(example[1])


@each_command
def test_the_example_in_the_documentation_can_be_typed(name: str) -> None:
    block = re.search(r"```sh\n(.*?)```", SECTIONS[f"fairwise {name}"], flags=re.DOTALL)
    assert block is not None
    assert block[1].split()[:2] == ["fairwise", name]
    parsed(block[1])


@each_command
def test_every_option_has_help(name: str) -> None:
    for param in COMMANDS[name].params:
        assert param.help, param.name
        assert param.help.endswith("."), param.name


def test_the_account_of_an_import_is_a_real_one() -> None:
    frame = pd.DataFrame({"rater": "x", "left": range(5), "right": "y", "choice": list("LRTL?")})
    columns = column_map(["judge=rater,a=left,b=right,answer=choice"])
    words = answer_map(["L=a_at_least_b,R=b_at_least_a,T=same,?=skip"])
    _, _, account = translate_answers(frame, Source("f.csv", np.arange(5)), columns, words, {})
    assert "\n".join(account.lines()) in PAGE
