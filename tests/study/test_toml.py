"""Files of settings are edited in place: what an operator wrote beside the settings stays where it was."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairwise.study.settings import StudySettings
from fairwise.study.toml import edit_toml

TEXT = """\
# Ours.
title = "t"  # short
pairs = 4

# About the design.
[design]
anchors = 1

# Who.
[[relations]]
name = "a"  # first
words = "A"

[[relations]]
name = "b"
words = "B"
most = 3

# What is shown.
[[columns]]
name = "x"
label = "X"
"""
ROWS = st.lists(st.fixed_dictionaries({"name": st.sampled_from("abc"), "words": st.text(max_size=5)}), max_size=4)


@given(st.fixed_dictionaries({"title": st.text(max_size=9), "pairs": st.integers(0, 9)}), ROWS, st.integers(0, 9))
def test_only_what_differs_is_changed(top: dict[str, Any], rows: list[dict[str, str]], anchors: int) -> None:
    old = tomllib.loads(TEXT)
    new = {**old, **top, "design": {"anchors": anchors}, "relations": rows}
    after = edit_toml(TEXT, old, new)
    assert {"relations": [], **tomllib.loads(after)} == new
    assert all(
        comment in after for comment in ("# Ours.", "# short", "# About the design.", "# Who.", "# What is shown.")
    )
    assert edit_toml(TEXT, old, old) == TEXT


@pytest.mark.parametrize(
    "text",
    [
        "title='t'\ncolumns=[{name='x',label='X'}]\n# end\n",
        "title='t' # t\n[design]\nuniform = 3\nanchors = 1 # one\n[[columns]]\nname='x'\nlabel='X'\n",
        "design.anchors = 1\npairs = 4\ntitle='t'\n[[columns]]\nname='x'\nlabel='X'\n",
    ],
)
def test_settings_written_in_any_way_can_be_edited(text: str) -> None:
    settings = StudySettings.checked(tomllib.loads(text), "here")
    content = settings.content() | {"title": "new", "relations": [{"name": n, "words": n, "most": None} for n in "ab"]}
    for pairs, anchors in ((settings.pairs, 2), (9, 0)):
        new = StudySettings.checked(content | {"pairs": pairs, "design": {"anchors": anchors}}, "here")
        after = settings.edited(text, new)
        assert StudySettings.checked(tomllib.loads(after), "here") == new
        assert after.count("#") == text.count("#")  # edited in place: nothing of ours is added either
